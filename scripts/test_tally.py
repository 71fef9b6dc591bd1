"""The sum at the end of `make test` must not hide a failure."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import run_tests
import suites
from tally import GoTally, Tally, count_go, count_junit, count_testthat
from turns import WEEK, part, turn

HERE = Path(__file__).resolve().parent


def event(action: str, test: str = "", **more: str) -> str:
    fields = {"Action": action, "Package": "m/p", **more}
    if test:
        fields["Test"] = test
    return json.dumps(fields)


def counts(tally: Tally) -> tuple[int, int, int]:
    return tally.passed, tally.failed, tally.skipped


def test_go_counts_each_verdict_once() -> None:
    tally = count_go(
        [
            event("pass", "A"),
            event("output", "B", Output="=== RUN   B\n"),
            event("output", "B", Output="    b_test.go:7: no device\n"),
            event("skip", "B"),
            event("output", "C", Output="bad\n"),
            event("fail", "C"),
            event("fail"),
        ]
    )
    assert counts(tally) == (1, 1, 1)
    assert tally.failures == ["m/p C\nbad"]
    assert tally.reasons == ["m/p B: b_test.go:7: no device"]


def test_go_counts_subtests_instead_of_their_parent() -> None:
    assert counts(count_go([event("pass", "A/x"), event("pass", "A/y"), event("pass", "A")])) == (
        2,
        0,
        0,
    )
    assert counts(
        count_go([event("pass", "A/x"), event("fail", "A/y"), event("fail", "A"), event("fail")])
    ) == (1, 1, 0)


def test_go_does_not_take_a_common_prefix_for_a_parent() -> None:
    assert counts(count_go([event("pass", "A"), event("pass", "AB")])) == (2, 0, 0)


def test_go_counts_a_parent_that_fails_by_itself() -> None:
    assert counts(count_go([event("pass", "A/x"), event("fail", "A"), event("fail")])) == (1, 1, 0)


def test_go_counts_a_package_that_does_not_build() -> None:
    lines = [
        json.dumps({"ImportPath": "m/p", "Action": "build-output", "Output": "p.go:1: oops\n"}),
        json.dumps({"ImportPath": "m/p", "Action": "build-fail"}),
        event("fail", FailedBuild="m/p"),
    ]
    tally = count_go(lines)
    assert counts(tally) == (0, 1, 0)
    assert "oops" in tally.failures[0]


def test_go_counts_a_test_that_never_ended() -> None:
    tally = count_go([event("run", "A"), event("output", "A", Output="panic: x\n"), event("fail")])
    assert counts(tally) == (0, 1, 0)
    assert "panic: x" in tally.failures[0]


def test_go_reports_progress_when_a_package_ends() -> None:
    go = GoTally()
    assert go.feed(event("pass", "A")) is None
    assert (
        go.feed(json.dumps({"Action": "pass", "Package": "m/p", "Elapsed": 1.25}))
        == "pass m/p 1.2s"
    )
    assert go.result().times == [(1.25, "m/p")]
    go.feed("no such flag\n")
    assert go.stray_output() == "no such flag\n"


def test_junit(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text(
        "<testsuites><testsuite>"
        '<testcase classname="c" name="good"/>'
        '<testcase classname="c" name="bad"><failure message="m">why</failure></testcase>'
        '<testcase classname="c" name="broken"><error message="no fixture"/></testcase>'
        '<testcase classname="c" name="left"><skipped message="no gpu"/></testcase>'
        "</testsuite></testsuites>"
    )
    tally = count_junit(path)
    assert counts(tally) == (1, 2, 1)
    assert tally.failures == ["c.bad\nwhy", "c.broken\nno fixture"]
    assert tally.reasons == ["c.left: no gpu"]


def test_testthat(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    tests = [
        {"name": "a: good", "status": "passed", "message": ""},
        {"name": "a: left", "status": "skipped", "message": "no device"},
        {"name": "a: bad", "status": "failed", "message": "1 is not 2"},
    ]
    path.write_text(json.dumps(tests))
    tally = count_testthat(path)
    assert counts(tally) == (1, 1, 1)
    assert tally.failures == ["a: bad\n1 is not 2"]
    assert tally.reasons == ["a: left: no device"]


def test_what_is_left_out_is_counted_test_by_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "ROOT", HERE)
    tally = suites.left_out("tools", "no tools", suites.PYTEST, Path(__file__).name)
    text = Path(__file__).read_text()
    assert counts(tally) == (0, 0, text.count("\ndef test_"))
    assert set(tally.reasons) == {"tools: no tools"}
    assert counts(suites.left_out("tools", "no tools", suites.PYTEST, "nothing_*.py")) == (0, 1, 0)


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        (suites.JS_TEST, "bindings/js/test/**/*.test.*js"),
        (r"^test_that\(", "bindings/r/tests/testthat/test-*.R"),
        (r"^func Test", "tests/abi/*_test.go"),
        (suites.PYTEST, "tests/peers/test_*.py"),
    ],
)
def test_declarations_of_tests_are_found(pattern: str, files: str) -> None:
    assert suites.left_out("some", "no tools", pattern, files).skipped > 10


def test_parts_run_side_by_side_and_failures_of_the_runner_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def part() -> Tally:
        done = Tally(passed=2)
        done.skip("no tools")
        done.took("m/p", 7)
        return done

    def broken() -> Tally:
        raise OSError("no such program")

    known = {"a": suites.Suite("A", (part, part)), "b": suites.Suite("B", (broken,))}
    monkeypatch.setattr(run_tests, "SUITES", known)
    monkeypatch.setattr(sys, "argv", ["run_tests.py"])
    assert run_tests.main() == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "4 passed, 1 failed, 2 skipped"
    assert "A: 4 passed, 0 failed, 2 skipped (0 s)" in said
    assert "B: 0 passed, 1 failed, 0 skipped (0 s)" in said
    assert "skipped no tools (2 tests)" in said
    assert "Slowest: m/p 7 s, m/p 7 s" in said
    assert "OSError: no such program" in said


def go_tests() -> set[str]:
    """Return the tests of the C interface that a day has, and one that each has."""
    chosen = suites.of_today(["tests/abi"], r"Test(?!Main\b)\w+", 2, "TestSymbols")
    assert re.search(r"\bTestSymbols\b", chosen)
    return set(re.findall(r"\bTest\w+", chosen))


def test_a_week_has_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("POLY_PART", raising=False)
    ran: list[int | None] = []

    def noted() -> Tally:
        ran.append(turn())
        return Tally()

    weekly = suites.Weekly("some", noted, (2, 5))
    monkeypatch.setattr(run_tests, "SUITES", {"a": suites.Suite("A", (weekly,))})
    monkeypatch.setattr(sys, "argv", ["run_tests.py"])
    found, shares, tests = [], set(), set()
    for day in range(20000, 20000 + WEEK):
        monkeypatch.setenv("POLY_TESTS", str(day))
        run_tests.main()
        found += part(range(20))
        shares.add(suites.share(3)["POLY_PART"])
        tests |= go_tests()
    assert [day % WEEK for day in ran if day] == [2, 5]
    assert capsys.readouterr().out.count("On other days: some\n") == WEEK - 2
    assert sorted(found) == list(range(20))
    assert shares == {f"{i}/{WEEK}" for i in range(WEEK)}
    monkeypatch.setenv("POLY_TESTS", "all")
    run_tests.main()
    assert ran[2:] == [None]
    assert part(range(20)) == list(range(20))
    assert suites.share(3) == {"POLY_PART": "0/1"}
    assert tests == go_tests()
    assert len(tests) > 20
    monkeypatch.setattr(sys, "argv", ["run_tests.py", "a"])
    monkeypatch.setenv("POLY_TESTS", "20000")
    run_tests.main()
    assert ran[3:] == [20000], "who names a suite gets all of its parts"
    for days in ((), (WEEK,)):
        with pytest.raises(AssertionError):
            suites.Weekly("some", noted, days)


def test_tallies_add_up() -> None:
    one = Tally(passed=1)
    one.fail("x\n")
    one.skip("y")
    one.skip("z")
    assert str(one + Tally(4, 0, 0)) == "5 passed, 1 failed, 2 skipped"
    assert (one + Tally()).failures == ["x"]
    assert (one + Tally()).reasons == ["y", "z"]


@pytest.mark.parametrize("name", ["nonsense", "--help"])
def test_runner_refuses_what_it_does_not_know(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "run_tests.py"), name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert all(f" {suite}" in done.stdout for suite in suites.SUITES)
