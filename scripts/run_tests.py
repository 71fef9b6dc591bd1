"""Run every suite of the project and print the sum.

python scripts/run_tests.py [SUITE...]     suites: lint, go, python (all of them without names)

The last line is `N passed, M failed, K skipped`; the exit code is 1 when anything failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tally import GoTally, Tally, count_junit

ROOT = Path(__file__).resolve().parent.parent
GO = os.environ.get("GO", "go")
# Under the race detector each test takes about ten times as long.
RACE_CHECKED = ("./exec", "./exec/wasm", "./capi/handle")


def run_lint() -> Tally:
    """Run each checker; each is one test."""
    python = sys.executable
    staticcheck = [GO, "tool", "-modfile=scripts/lint.mod", "staticcheck", "./..."]
    checkers = {
        "gofmt": ["gofmt", "-l", *tracked("*.go")],
        "go vet": [GO, "vet", "./..."],
        "staticcheck": staticcheck,
        "ruff check": [python, "-m", "ruff", "check", "."],
        "ruff format": [python, "-m", "ruff", "format", "--check", "."],
        "mypy": [python, "-m", "mypy"],
    }
    total = Tally()
    for name, command in checkers.items():
        done = run(command)
        # gofmt lists what it would change and still exits with 0.
        clean = done.returncode == 0 and not (name == "gofmt" and done.stdout)
        say(f"{'pass' if clean else 'fail'} {name}")
        if clean:
            total.passed += 1
        else:
            total.fail(f"{name}\n{done.stdout}")
    return total


def run_go() -> Tally:
    """Run all Go tests, and those of the packages where goroutines meet with the race detector."""
    total = go_test(["./..."])
    return total + go_test(["-race", "-short", *RACE_CHECKED])


def go_test(arguments: list[str]) -> Tally:
    """Run `go test` on packages, reporting each as it ends."""
    command = [GO, "test", "-json", "-timeout=15m", *arguments]
    go = GoTally()
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            progress = go.feed(line)
            if progress:
                say(progress)
    total = go.result()
    if process.returncode != 0 and total.failed == 0:
        total.fail(f"go test exited with {process.returncode}\n{go.stray_output()}")
    return total


def run_python() -> Tally:
    """Run the Python tests, the examples in docstrings, and what crosses languages."""
    total = pytest("binding", ["bindings/python/tests"])
    total += pytest("docstrings", ["--doctest-modules", "--pyargs", "polygrad"])
    total += pytest("tools, README, examples", ["scripts", "tests"])
    return total


def pytest(name: str, arguments: list[str]) -> Tally:
    """Run pytest and count its JUnit file."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "junit.xml"
        start = time.monotonic()
        done = run([sys.executable, "-m", "pytest", "-q", f"--junit-xml={report}", *arguments])
        total = count_junit(report) if report.exists() else Tally()
    if done.returncode != 0 and total.failed == 0:
        total.fail(f"pytest {' '.join(arguments)} exited with {done.returncode}\n{done.stdout}")
    verdict = "fail" if total.failed else "pass"
    say(f"{verdict} python: {name} {time.monotonic() - start:.1f}s")
    return total


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command in the root of the project; its errors go with its output."""
    return subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def tracked(pattern: str) -> list[str]:
    """List the files of the project that match, without what was built."""
    return [
        str(path.relative_to(ROOT))
        for path in sorted(ROOT.rglob(pattern))
        if not {".venv", "build", "node_modules"} & set(path.relative_to(ROOT).parts)
    ]


def say(line: str) -> None:
    """Print a line of progress at once."""
    print(line, flush=True)


SUITES: dict[str, Callable[[], Tally]] = {"lint": run_lint, "go": run_go, "python": run_python}


def main() -> int:
    """Run the suites named on the command line."""
    names = sys.argv[1:] or list(SUITES)
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        print(f"run_tests.py: unknown suite {unknown[0]!r}; there are {', '.join(SUITES)}")
        return 2
    total = Tally()
    for name in names:
        total += SUITES[name]()
    for failure in total.failures:
        print(f"\n--- {failure}")
    print(f"\n{total}" if total.failures else total, flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
