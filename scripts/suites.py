"""The suites of `make test`: how each is run and counted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tally import GoTally, Tally, count_junit, count_testthat

ROOT = Path(__file__).resolve().parent.parent
GO = os.environ.get("GO", "go")
JS = ROOT / "bindings" / "js"
R_BUILT = ROOT / "build" / "r"
BINDING_READY = ROOT / "scripts" / "binding.sh"
NO_NETWORK = re.compile(r"EAI_AGAIN|ENOTFOUND|ENETUNREACH|ECONNREFUSED|ETIMEDOUT")
# Packages where goroutines meet and the tests in which they do: the race detector makes them ten
# times as long.
RACE_CHECKED = {
    "./exec": "Threads|SideBySide|Share|Pool|Poll|Cache|Launches",
    "./exec/wasm": ".",
    "./capi/handle": ".",
}
# What R CMD check may note: the size of the library that the package carries, and what it cannot do
# on a machine without a network or tidy. bindings/r/cran-comments.md explains them.
R_NOTES = {"installed package size", "for future file timestamps", "HTML version of manual"}
# Packages of Go whose tests are programs in C, and the names of those tests.
C_TESTS = {"./tests/abi": ".", "./tests/table": "^TestC"}
# Tests of Go that are run for each kind of processor; ./tests/native does that by itself.
LEVEL_TESTS = {
    "./tests/table": "^TestGoNative",
    "./tests/fuzz": "^TestFuzzNative",
    "./exec": "^Test(Products|Turns|Sums|ContextsSideBySide)",
}
# The tests of Python that are run for each kind of processor: those that compute.
LEVEL_FILES = (
    "assign", "conv_gradients", "elementwise", "indexing", "instance", "jit", "linalg", "movement",
    "nn", "nn_spatial", "optim", "reduce", "sequences", "signals", "spatial", "table", "variable",
)  # fmt: skip
# The kinds of processors by the values of POLY_CPU, the most capable first, and what they need.
LEVELS = {
    "avx512": "avx512f avx512bw avx512dq avx512vl avx2 fma f16c bmi1 bmi2",
    "avx2": "avx2 fma f16c bmi1 bmi2",
    "sse4": "sse4_2 popcnt",
    "wasm": "",
}


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
        # gofmt lists what it would change and still exits with 0.
        total += check(name, command, silent=name == "gofmt")
    return total + lint_c() + lint_js()


def lint_c() -> Tally:
    """Let the compilers of C and C++ look at the header and the examples."""
    missing = require("gcc", "g++")
    if missing:
        return skipped("lint of C", missing)
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-Iinclude"]
    total = Tally()
    for standard in ("c11", "c++17"):
        language = "c++" if "+" in standard else "c"
        sources = tracked("examples/*.cpp" if language == "c++" else "examples/*.c")
        command = ["gcc", f"-std={standard}", *flags, "-x", language]
        total += check(f"gcc -std={standard}", [*command, "include/polygrad.h", *sources])
    return total


def lint_js() -> Tally:
    """Run the linter of JavaScript, and the compiler of TypeScript over the declarations."""
    unready = js_unready("lint of JavaScript")
    if unready:
        return unready
    total = check("eslint", ["npm", "run", "--silent", "lint"], folder=JS)
    return total + check("tsc", ["npm", "run", "--silent", "types"], folder=JS)


def check(name: str, command: list[str], folder: Path = ROOT, silent: bool = False) -> Tally:
    """Run one checker, which must exit with 0 and, if asked, say nothing."""
    done = run(command, folder)
    total = Tally()
    if done.returncode == 0 and not (silent and done.stdout):
        total.passed += 1
    else:
        total.fail(f"{name}\n{done.stdout}")
    say(f"{'fail' if total.failed else 'pass'} {name}")
    return total


def run_go() -> Tally:
    """Run all Go tests, and those of the packages where goroutines meet with the race detector."""
    done = run([GO, "list", "./..."])
    packages = [p for p in done.stdout.split() if f"./{p.partition('/')[2]}" not in C_TESTS]
    total = go_test(packages if done.returncode == 0 else ["./..."])
    total += go_test(["-skip=^TestC", "./tests/table"])
    for package, names in RACE_CHECKED.items():
        total += go_test(["-race", "-short", f"-run={names}", package])
    return total


def run_c() -> Tally:
    """Run the tests that are programs in C."""
    missing = require("gcc", "g++", "nm")
    if missing:
        return skipped("c", missing)
    total = Tally()
    require("valgrind")  # a test looks at memory with it, and is skipped without
    for package, names in C_TESTS.items():
        total += go_test([f"-run={names}", package])
    return total


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
    total += pytest(
        "tools, README, examples", ["scripts", "tests", "bench", "--ignore=tests/packages"]
    )
    return total


def run_levels() -> Tally:
    """Run what computes, for each kind of processor that this one can be besides its own."""
    if "POLY_CPU" in os.environ:
        return skipped("levels", f"POLY_CPU={os.environ['POLY_CPU']} asks for one of them")
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = {flag for line in lines if line.startswith("flags") for flag in line.split()}
    able = [level for level, needs in LEVELS.items() if flags.issuperset(needs.split())]
    total = Tally()
    for level in LEVELS:
        if level not in able:
            total += skipped(level, "this processor does not have it")
        elif level != able[0]:
            total += run_level(level)
    return total


def run_level(level: str) -> Tally:
    """Run what computes with POLY_CPU set."""
    before = os.environ.copy()
    os.environ.update(POLY_DEVICE="native", POLY_CPU=level)
    try:
        say(f"POLY_CPU={level}")
        total = Tally()
        for package, names in LEVEL_TESTS.items():
            total += go_test([f"-run={names}", package])
        files = [f"bindings/python/tests/test_{name}.py" for name in LEVEL_FILES]
        total += pytest(f"binding, {level}", files)
        total += run_js(f"js, {level}", "table.test.js")
        if (R_BUILT / "library" / "polygrad").exists():
            total += test_r(f"r, {level}", "table")
        return total
    finally:
        os.environ.clear()
        os.environ.update(before)


def run_packages() -> Tally:
    """Make each package and use it in an empty place."""
    missing = require("gcc", "g++", "cmake", "pkg-config", "make", "readelf")
    if missing:
        return skipped("packages", missing)
    return pytest("packages", ["tests/packages"])


def pytest(name: str, arguments: list[str]) -> Tally:
    """Run pytest and count its JUnit file."""
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    return reported(f"python: {name}", command, lambda report: [f"--junit-xml={report}"])


def run_js(name: str = "js", pattern: str = "*.test.*js") -> Tally:
    """Run the tests of the JavaScript binding with Node's test runner."""
    unready = js_unready(name)
    if unready:
        return unready
    files = sorted(str(p.relative_to(JS)) for p in (JS / "test").rglob(pattern))
    command = ["node", "--test", "--test-reporter=junit"]
    return reported(
        name, command, lambda report: [f"--test-reporter-destination={report}", *files], JS
    )


def js_unready(name: str) -> Tally | None:
    """Make Node and the packages that the binding needs be there; count what is wrong."""
    missing = require("node", "npm")
    if missing:
        return skipped(name, missing)
    done = run([str(BINDING_READY), "js"])
    if done.returncode == 0:
        return None
    if NO_NETWORK.search(done.stdout):
        return skipped(name, "npm does not reach its registry")
    total = Tally()
    total.fail(f"npm ci\n{done.stdout}")
    return total


def run_r() -> Tally:
    """Build and install the R package, run its tests, and let R check it as CRAN would."""
    missing = require("R")
    if missing:
        return skipped("r", missing)
    total = check("R CMD build and INSTALL", [str(BINDING_READY), "r"])
    if total.failed:
        return total
    total += test_r("r")
    (package,) = R_BUILT.glob("polygrad_*.tar.gz")
    return total + r_check(package)


def test_r(name: str, *only: str) -> Tally:
    """Run the tests of the R package that was installed, all files or those with a name."""
    script = str(ROOT / "scripts" / "test_r.R")
    command = ["Rscript", script, str(R_BUILT / "library"), "bindings/r/tests/testthat"]
    return reported(name, command, lambda report: [str(report), *only], count=count_testthat)


def r_check(package: Path) -> Tally:
    """Let R check a package as CRAN would; warnings and notes beyond R_NOTES fail, too."""
    # The tests were run; CRAN's servers need not be reached; suggested packages may be missing.
    rules = ["_R_CHECK_CRAN_INCOMING_=false", "_R_CHECK_FORCE_SUGGESTS_=false"]
    command = ["env", *rules, "R", "CMD", "check", "--as-cran", "--no-manual", "--no-tests"]
    done = run([*command, package.name], package.parent)
    status = re.search(r"^Status: (.*)", done.stdout, re.MULTILINE)
    total = Tally()
    notes = set(re.findall(r"^\* checking (.*) \.\.\. NOTE", done.stdout, re.MULTILINE)) - R_NOTES
    if done.returncode == 0 and status and "WARNING" not in status.group(1) and not notes:
        total.passed += 1
    else:
        total.fail(f"R CMD check: {', '.join(sorted(notes))}\n{done.stdout}")
    say(f"{'fail' if total.failed else 'pass'} R CMD check: {status.group(1) if status else ''}")
    return total


def reported(
    name: str,
    command: list[str],
    report_to: Callable[[Path], list[str]],
    folder: Path = ROOT,
    count: Callable[[Path], Tally] = count_junit,
) -> Tally:
    """Run a test tool that writes a report, and count that."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary) / "report"
        done = run([*command, *report_to(report)], folder)
        total = count(report) if report.exists() else Tally()
    if done.returncode != 0 and total.failed == 0:
        total.fail(f"{name}: exited with {done.returncode}\n{done.stdout}")
    elif total.passed + total.failed + total.skipped == 0:
        total.fail(f"{name}: no tests\n{done.stdout}")
    say(f"{'fail' if total.failed else 'pass'} {name} {time.monotonic() - start:.1f}s")
    return total


def require(*tools: str) -> str:
    """Make tools be there, installing them where that is possible; say what is missing."""
    done = run([str(ROOT / "scripts" / "require.sh"), *tools])
    return "" if done.returncode == 0 else done.stdout.strip()


def skipped(name: str, why: str) -> Tally:
    """Count a suite that cannot run here as one skipped test, and say why."""
    say(f"skip {name}: {why}")
    total = Tally()
    total.skip(f"{name}: {why}")
    return total


def run(command: list[str], folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command; its errors go with its output. A command that is not there fails."""
    environment = {"LANG": "C.UTF-8", **os.environ}
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        return subprocess.CompletedProcess(command, 127, stdout=str(error))


def say(line: str) -> None:
    """Print a line of progress at once."""
    print(line, flush=True)


def tracked(pattern: str) -> list[str]:
    """List the files of the project that match, without what was built."""
    return [
        str(path.relative_to(ROOT))
        for path in sorted(ROOT.rglob(pattern))
        if not {".venv", "build", "node_modules"} & set(path.relative_to(ROOT).parts)
    ]


@dataclass(frozen=True)
class Suite:
    """A suite by the name it has on the command line."""

    run: Callable[[], Tally]
    title: str


SUITES = {
    "lint": Suite(run_lint, "Linters"),
    "go": Suite(run_go, "Go"),
    "c": Suite(run_c, "C"),
    "python": Suite(run_python, "Python"),
    "js": Suite(run_js, "JavaScript"),
    "r": Suite(run_r, "R"),
    "levels": Suite(run_levels, "Levels"),
    "packages": Suite(run_packages, "Packages"),
}
