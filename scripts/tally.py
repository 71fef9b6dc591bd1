"""Count tests in the output of test tools: `go test -json`, JUnit XML, our own list for R."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Tally:
    """Counts of passed, failed and skipped tests, the failures' output, and reasons for skips."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    times: list[tuple[float, str]] = field(default_factory=list)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.failures + other.failures,
            self.reasons + other.reasons,
            self.times + other.times,
        )

    def fail(self, message: str) -> None:
        """Count one failure with its output."""
        self.failed += 1
        self.failures.append(message.rstrip())

    def skip(self, reason: str) -> None:
        """Count one test that did not run, and why."""
        self.skipped += 1
        self.reasons.append(reason.strip())

    def took(self, name: str, seconds: float) -> None:
        """Note how long a package or a program of tests ran."""
        self.times.append((seconds, name))

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


class GoTally:
    """Reads `go test -json` line by line.

    A test with subtests is not counted itself, unless it fails and none of its subtests does.
    A package that fails without a failing test (it did not build, it panicked, it ran out of
    time) counts as one failure.
    """

    def __init__(self) -> None:
        self._verdict: dict[tuple[str, str], str] = {}
        self._said: dict[tuple[str, str], list[str]] = {}
        self._built: dict[str, list[str]] = {}
        self._broken: dict[str, str] = {}
        self._took: dict[str, float] = {}

    def feed(self, line: str) -> str | None:
        """Take one line; return a line of progress when a package has ended."""
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            self._said.setdefault(("", ""), []).append(line)
            return None
        action, package, test = event["Action"], event.get("Package", ""), event.get("Test", "")
        if action == "build-output":
            self._built.setdefault(event["ImportPath"], []).append(event["Output"])
        elif action == "output":
            self._said.setdefault((package, test), []).append(event["Output"])
        elif action in ("pass", "fail", "skip"):
            if test:
                self._verdict[package, test] = action
                return None
            if action == "fail":
                self._broken[package] = event.get("FailedBuild", "")
            if action == "skip":
                return None
            self._took[package] = event.get("Elapsed", 0)
            return f"{action} {package} {event.get('Elapsed', 0):.1f}s"
        return None

    def result(self) -> Tally:
        """Return the count of everything fed so far."""
        total = Tally(times=[(seconds, package) for package, seconds in self._took.items()])
        failed_packages = set()
        verdicts_below: dict[tuple[str, str], set[str]] = {}
        for (package, test), verdict in self._verdict.items():
            for parent in _parents(test):
                verdicts_below.setdefault((package, parent), set()).add(verdict)
        for (package, test), verdict in self._verdict.items():
            below = verdicts_below.get((package, test))
            if below and (verdict != "fail" or "fail" in below):
                continue
            if verdict == "pass":
                total.passed += 1
            elif verdict == "skip":
                lines = [line.strip() for line in self._said.get((package, test), [])]
                why = [line for line in lines if not line.startswith(("===", "---"))]
                total.skip(f"{package} {test}: {' '.join(why)}")
            else:
                failed_packages.add(package)
                said = "".join(self._said.get((package, test), []))
                total.fail(f"{package} {test}\n{said}")
        for package, build in self._broken.items():
            if package in failed_packages:
                continue
            said = "".join(self._built.get(build, []) + self._said.get((package, ""), []))
            unfinished = [
                "".join(lines)
                for (p, test), lines in self._said.items()
                if p == package and test and (p, test) not in self._verdict
            ]
            total.fail(f"{package}\n{said}{''.join(unfinished)}")
        return total

    def stray_output(self) -> str:
        """Return the lines that were not events, as the go command prints for bad arguments."""
        return "".join(self._said.get(("", ""), []))


def _parents(test: str) -> list[str]:
    """Return the names of the tests that a subtest is part of."""
    return [test[:i] for i, letter in enumerate(test) if letter == "/"]


def count_go(lines: Iterable[str]) -> Tally:
    """Count the tests of one whole `go test -json` output."""
    go = GoTally()
    for line in lines:
        go.feed(line)
    return go.result()


def count_testthat(path: Path) -> Tally:
    """Count the tests in the list that scripts/test_r.R writes."""
    total = Tally()
    for test in json.loads(path.read_text()):
        if test["status"] == "passed":
            total.passed += 1
        elif test["status"] == "skipped":
            total.skip(f"{test['name']}: {test['message']}")
        else:
            total.fail(f"{test['name']}\n{test['message']}")
    return total


def count_junit(path: Path) -> Tally:
    """Count the tests in a JUnit XML file, as pytest and Node's runner write it."""
    total = Tally()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        problem, skipped = case.find("failure"), case.find("skipped")
        if problem is None:
            problem = case.find("error")
        name = f"{case.get('classname')}.{case.get('name')}"
        if problem is not None:
            total.fail(f"{name}\n{problem.text or problem.get('message') or ''}")
        elif skipped is not None:
            total.skip(f"{name}: {skipped.get('message') or ''}")
        else:
            total.passed += 1
    return total
