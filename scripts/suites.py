"""The suites of `make test`: their parts, and how these are run and counted."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tally import GoTally, Tally, count_junit, count_testthat
from turns import WEEK, today, turn

ROOT = Path(__file__).resolve().parent.parent
# Without it packages are compiled again, twice for tests, with the library's PGO profile.
NO_PROFILE = "-pgo=off"
GO = os.environ.get("GO", "go")
JS = ROOT / "bindings" / "js"
BROWSER = ROOT / "tests" / "browser"
R_BUILT = ROOT / "build" / "r"
BINDING_READY = ROOT / "scripts" / "binding.sh"
# The JavaScript binding on the WebAssembly module.
ON_WASM = {"POLYGRAD_ENGINE": "wasm", "POLYGRAD_WASM": str(ROOT / "build" / "polygrad.wasm")}
NO_NETWORK = re.compile(r"EAI_AGAIN|ENOTFOUND|ENETUNREACH|ECONNREFUSED|ETIMEDOUT")
# Packages with concurrent goroutines, and their tests of these: the race detector makes tests ten
# times slower.
RACE_CHECKED = {
    "./exec": "Threads|SideBySide|Share|Pool|Poll|Cache|Launches",
    "./exec/wasm": ".",
    "./capi/handle": ".",
}
# Notes of R CMD check that are accepted: the size of the library in the package, and checks that
# need a network or tidy. bindings/r/cran-comments.md explains them.
R_NOTES = {"installed package size", "for future file timestamps", "HTML version of manual"}
# Packages of Go whose tests are programs in C, and the names of those tests.
C_TESTS = {"./tests/abi": ".", "./tests/table": "^TestC(ReachesEveryOperation)?$"}
# Packages of Go that compute on the devices: those that take longest.
COMPUTING = (
    "./core/tensor", "./exec", "./exec/native", "./tests/fuzz", "./tests/native", "./tests/table",
)  # fmt: skip
# Go packages that run on one day of three only, and on which: wasmlink, whose modules browsers load
# every day anyway, and comparisons with files of others.
SELDOM = {
    "./scripts/wasmlink": 0, "./tests/parity": 1, "./tests/parity/replay": 1, "./tests/interp": 2,
}  # fmt: skip
# Go packages that Node runs as WebAssembly (GOOS=wasip1), and their tests that run kernels or
# manage memory.
WASIP1 = {
    "./exec/pages": "Ranges|Growing|Cache",
    "./exec/wasm": ".",
    "./exec": "Caches|Poll|Pool|Arenas|Flat|Repeat|Scattered|Open|Inspect|Layouts|Streams|Shares",
    "./core/settings": ".",
    ".": "Memory|Writes|Goroutines|Example",
}
# The Python tests that compute: they run for each instruction set level. Go tests go through the
# levels themselves, for the table of operations, the fuzzers and the shapes of kernels.
LEVEL_FILES = (
    "assign", "conv_gradients", "elementwise", "indexing", "instance", "jit", "linalg", "movement",
    "nn", "nn_spatial", "optim", "programs", "reduce", "sequences", "spatial", "variable",
)  # fmt: skip
# The Python tests of `make test-fast`: one file for each kind of call, a few seconds.
FAST_FILES = (
    "elementwise", "indexing", "jit", "movement", "nn", "optim", "reduce", "table", "tensor",
)  # fmt: skip
# The threads of NumPy and PyTorch would spin between the matrix products of tests, and take half of
# the processor time.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
# The number of packages that go test runs at once: other parts of suites run concurrently.
HALF = max(1, (os.cpu_count() or 1) // 2)
# Every day each case of the table of operations runs in one of the bindings. On day 0 Python has
# part 0, and the others have the following parts.
BINDINGS = 3
JS_TABLE, R_TABLE = 1, 2
# The number of days in which Node runs all test files on the WebAssembly module.
WASM_FILES = 3
# Patterns of the declarations of tests.
PYTEST = r"^ *def test_"
JS_TEST = r"^ *(test|it|someDays)\("
# Held while tools are installed: two package managers must not run at once.
INSTALLING = threading.Lock()
# Held while something is built that several suites use.
MAKING = threading.Lock()
# Browsers, and pages in them, as tests/browser/run.mjs knows them.
BROWSERS = ("chromium", "chromium-plain", "chromium-webgpu", "firefox", "firefox-webgpu")
# Instruction set levels (values of POLY_CPU), highest first, with the CPU flags that they need.
LEVELS = {
    "avx512": "avx512f avx512bw avx512dq avx512vl avx2 fma f16c bmi1 bmi2",
    "avx2": "avx2 fma f16c bmi1 bmi2",
    "sse4": "sse4_2 popcnt",
    "wasm": "",
}


def lint_go() -> Tally:
    """Run gofmt and go vet; each is one test."""
    # gofmt lists what it would change and still exits with 0.
    total = check("gofmt", ["gofmt", "-l", *tracked("*.go")], silent=True)
    return total + check("go vet", [GO, "vet", NO_PROFILE, "./..."])


def lint_go_more() -> Tally:
    """Run staticcheck, which also analyzes the dependencies."""
    staticcheck = [GO, "tool", "-modfile=scripts/lint.mod", "staticcheck", "./..."]
    flags = " ".join([os.environ.get("GOFLAGS", "-buildvcs=false"), NO_PROFILE])
    return check("staticcheck", staticcheck, settings={"GOFLAGS": flags})


def lint_python() -> Tally:
    """Run the checkers of Python."""
    python = [sys.executable, "-m"]
    total = check("ruff check", [*python, "ruff", "check", "."])
    total += check("ruff format", [*python, "ruff", "format", "--check", "."])
    return total + check("mypy", [*python, "mypy"])


def lint_c() -> Tally:
    """Check the header and the examples with C and C++ compilers."""
    missing = require("gcc", "g++")
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-Iinclude"]
    total = Tally()
    for standard in ("c11", "c++17"):
        if missing:
            total.skip(f"gcc -std={standard}: {missing}")
            continue
        language = "c++" if "+" in standard else "c"
        sources = tracked("examples/*.cpp" if language == "c++" else "examples/*.c")
        command = ["gcc", f"-std={standard}", *flags, "-x", language]
        total += check(f"gcc -std={standard}", [*command, "include/polygrad.h", *sources])
    return total


def lint_js() -> Tally:
    """Run the linter of JavaScript, and the compiler of TypeScript over the declarations."""
    unready = js_unready("lint of JavaScript", r'"(lint|types)":', "bindings/js/package.json")
    if unready:
        return unready
    total = check("eslint", ["npm", "run", "--silent", "lint"], folder=JS)
    eslint = [str(JS / "node_modules" / ".bin" / "eslint"), "-c", str(JS / "eslint.config.mjs")]
    total += check("eslint of tools", [*eslint, "scripts", "site", "tests/browser", "bench/web"])
    return total + check("tsc", ["npm", "run", "--silent", "types"], folder=JS)


def check(
    name: str,
    command: list[str],
    folder: Path = ROOT,
    silent: bool = False,
    settings: Mapping[str, str] = {},
) -> Tally:
    """Run one checker, which must exit with 0 and, if asked, say nothing."""
    done = run(command, folder, settings)
    total = Tally()
    if done.returncode == 0 and not (silent and done.stdout):
        total.passed += 1
    else:
        total.fail(f"{name}\n{done.stdout}")
    say(f"{'fail' if total.failed else 'pass'} {name}")
    return total


def go_packages(options: list[str], computing: bool | None = None) -> Tally:
    """Run tests of Go: those of packages that compute on the devices, of others today, or all."""
    done = run([GO, "list", "./..."])
    if done.returncode != 0:
        total = Tally()
        total.fail(f"go list\n{done.stdout}")
        return total
    found = [f"./{package.partition('/')[2]}" for package in done.stdout.split()]
    wanted = [p for p in found if computing in (None, p in COMPUTING) and C_TESTS.get(p) != "."]
    if computing is not None:
        wanted = [p for p in wanted if p not in SELDOM or today(3, SELDOM[p])]
    return go_test([*options, f"-skip={C_TESTS['./tests/table']}", *wanted])


def go_computing() -> Tally:
    """Run the Go tests of the packages that compute on the devices."""
    return go_packages([f"-p={HALF}"], computing=True)


def go_others() -> Tally:
    """Run the Go tests of all other packages."""
    return go_packages([f"-p={HALF}"], computing=False)


def go_race() -> Tally:
    """Run the tests of concurrent goroutines with the race detector and -short."""
    total = Tally()
    for package, names in RACE_CHECKED.items():
        total += go_test(["-race", "-short", f"-run={names}", package])
    return total


def run_wasip1() -> Tally:
    """Run tests of Go as WebAssembly, whose kernels Node runs."""
    missing = require("node")
    if missing:
        files = [f"{package}/*_test.go" for package in WASIP1]
        return left_out("wasip1", missing, r"^func Test", *files)
    runner = f"node --no-warnings {ROOT / 'tests' / 'wasm' / 'run.mjs'}"
    options = ["-short", "-ldflags=-w -checklinkname=0", f"-exec={runner}"]
    total = Tally()
    for package, names in WASIP1.items():
        target = {"GOOS": "wasip1", "GOARCH": "wasm"}
        total += go_test([*options, f"-run={names}", package], target)
    return total


def run_c() -> Tally:
    """Run the tests that are programs in C."""
    missing = require("gcc", "g++", "nm")
    if missing:
        return left_out("c", missing, r"^func Test", "tests/abi/*_test.go")
    require("valgrind")  # one test needs it, and is skipped without
    total = go_test([of_today(["tests/abi"], r"Test(?!Main\b)\w+", 2), "./tests/abi"])
    return total + go_test([f"-run={C_TESTS['./tests/table']}", "./tests/table"])


def of_today(folders: Iterable[str], names: str, parts: int, *always: str) -> str:
    """Return go test's -run option for today's part of the tests of packages, of so many parts.

    Tests whose names begin with one of always run every day.
    """
    files = [file for folder in folders for file in sorted((ROOT / folder).glob("*_test.go"))]
    found = re.findall(rf"^func ({names})\(", "\n".join(map(Path.read_text, files)), re.MULTILINE)
    chosen = [t for i, t in enumerate(found) if t.startswith(always) or today(parts, i)]
    return f"-run=^({'|'.join(chosen)})$"


def go_test(arguments: list[str], settings: Mapping[str, str] = {}) -> Tally:
    """Run `go test` on packages, reporting each as it ends.

    Compilers in tests make much garbage; with GOGC=300 (a heap of four times the live data) they
    take a fifth less processor time.
    """
    # -vet=off: lint_go vets. -ldflags=-w: without debug information linking takes half the time.
    options = ["-json", "-timeout=15m", "-vet=off", NO_PROFILE, "-ldflags=-w"]
    command = [GO, "test", *options, *arguments]
    go = GoTally()
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={"GOGC": "300", **os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
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


def python_binding() -> Tally:
    """Run the tests of the Python binding."""
    return pytest("binding", ["bindings/python/tests"])


def python_docs_and_tools() -> Tally:
    """Run the examples in docstrings, the tools' tests and tests across languages."""
    total = pytest("docstrings", ["--doctest-modules", "--pyargs", "polygrad"])
    folders = ["scripts", "tests", "bench", "--ignore=tests/packages", "--ignore=tests/peers"]
    return total + pytest("tools, README, examples", folders)


def share(first: int = 0, parts: int = WEEK) -> dict[str, str]:
    """Return POLY_PART for today's part of so many parts; first is the part of day 0."""
    day = turn()
    return {"POLY_PART": "0/1" if day is None else f"{(day + first) % parts}/{parts}"}


def run_level(level: str) -> Tally:
    """Run tests with POLY_CPU set to a level, unless it is the processor's own level."""
    if "POLY_CPU" in os.environ:
        why = f"POLY_CPU={os.environ['POLY_CPU']} asks for one of them"
    else:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        flags = {flag for line in lines if line.startswith("flags") for flag in line.split()}
        able = [name for name, needs in LEVELS.items() if flags.issuperset(needs.split())]
        if level == able[0]:
            return Tally()  # the other suites run at this level
        why = "" if level in able else "this processor does not have it"
    files = [f"bindings/python/tests/test_{name}.py" for name in LEVEL_FILES]
    if why:
        return left_out(level, why, PYTEST, *files)
    # Without this test: its devices do not depend on the level.
    other = "bindings/python/tests/test_programs.py::test_random_programs_on_other_devices"
    settings = {"POLY_DEVICE": "native", "POLY_CPU": level, **share(list(LEVELS).index(level))}
    return pytest(f"binding, {level}", [*files, f"--deselect={other}"], settings)


ARRAY_API = "tests/peers/test_array_api.py"


def run_array_api() -> Tally:
    """Run the tests of the array API standard."""
    return run_peers("array API", [ARRAY_API])


def run_other_peers() -> Tally:
    """Compare with PyTorch, JAX and the others that are installed."""
    return run_peers("peers", [f for f in tracked("tests/peers/test_*.py") if f != ARRAY_API])


def run_peers(name: str, files: list[str]) -> Tally:
    """Compare with PyTorch and transformers, where make test-peers has installed them."""
    python = ROOT / "build" / "test-peers" / "bin" / "python"
    if not (ROOT / "build" / "test-peers" / "installed").exists():
        return left_out("peers", "PyTorch and transformers are not installed", PYTEST, *files)
    path = {"PYTHONPATH": str(ROOT / "bindings" / "python")}
    return pytest(name, files, path, str(python))


WGPU = "bindings/python/tests/test_wgpu.py"


def run_webgpu() -> Tally:
    """Run the tests of WebGPU, on the processor: wgpu-native on lavapipe."""
    packages = ("exec/webgpu", "tests/table", "tests/fuzz", ".", "model")
    go_files = [f"{package}/webgpu_test.go" for package in packages]
    counted = r"^(func Test|def test_)", *go_files, WGPU
    missing = require("lavapipe")
    if missing:
        return left_out("webgpu", missing, *counted)
    folder = ROOT / "build" / "webgpu"
    library = folder / "wgpu" / "resources" / "libwgpu_native-release.so"
    if not library.exists() or not (folder / "cffi").exists():
        with INSTALLING:
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"]
            done = run([*pip, "--target", str(folder), "wgpu>=0.32,<0.33", "cffi", "pycparser"])
        if done.returncode != 0 or not library.exists():
            why = "PyPI's wgpu, which carries wgpu-native, is not installed"
            return left_out("webgpu", why, *counted)
    (driver,) = Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json")
    settings = {"POLY_WEBGPU": str(library), "VK_ICD_FILENAMES": str(driver)}
    # TestFuzz and TestGo always run: the fuzzer and the table select a part themselves.
    chosen = of_today(packages, r"Test\w*WebGPU\w*", 3, "TestFuzz", "TestGo")
    total = go_test([chosen, *(f"./{package}" for package in packages)], settings)
    # Without the table of operations, which has run in Go, and counts of kernels: GPUs fuse others.
    names = [*(name for name in FAST_FILES if name != "table"), "variable", "programs"]
    calls = [f"bindings/python/tests/test_{name}.py" for name in names]
    calls += ["tests/test_examples.py::test_gpt2_writes_a_token_in_one_submit"]
    rest = ["-k", "not keeps_its_number_of_kernels and not on_other_devices"]
    on_gpu = {**settings, **share(), "POLY_DEVICE": "webgpu", "POLY_PROGRAMS": "60"}
    total += pytest("webgpu", [*calls, *rest], on_gpu)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return total + pytest("wgpu", [WGPU], {**settings, "PYTHONPATH": path.rstrip(os.pathsep)})


def run_dawn() -> Tally:
    """Run Node's tests on the WebAssembly module with npm's webgpu, on Chromium's SwiftShader."""
    files = [f"test/{name}.test.js" for name in ("webgpu", "programs")]
    counted = [f"bindings/js/{file}" for file in files]
    driver = Path("/usr/lib/chromium/vk_swiftshader_icd.json")
    missing = require("chromium", "node", "npm")
    if missing or not driver.exists():
        why = missing or f"SwiftShader ({driver}) is not there"
        return left_out("js: webgpu", why, JS_TEST, *counted)
    folder = ROOT / "build" / "dawn"
    package = folder / "node_modules" / "webgpu" / "index.js"
    if not package.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}\n")
        with INSTALLING:
            run(["npm", "install", "--no-audit", "--no-fund", "webgpu@0.6"], folder)
    if not package.exists():
        return left_out("js: webgpu", "npm's webgpu (Dawn) is not installed", JS_TEST, *counted)
    unready = js_unready("js: webgpu", JS_TEST, counted[0])
    if unready:
        return unready
    failed = wasm_failed()
    if failed:
        return failed
    settings = {**ON_WASM, "POLY_WEBGPU": str(package), "VK_ICD_FILENAMES": str(driver)}
    total = node_tests("js: webgpu", files[:1], JS, settings)
    return total + node_tests("js: webgpu", files[1:], JS, {**settings, "POLY_DEVICE": "webgpu"})


def run_packages() -> Tally:
    """Build each package and use it in an empty folder."""
    missing = require("gcc", "g++", "cmake", "pkg-config", "make", "readelf")
    if missing:
        return left_out("packages", missing, PYTEST, "tests/packages/test_*.py")
    return pytest("packages", ["tests/packages"])


def pytest(
    name: str,
    arguments: list[str],
    settings: Mapping[str, str] = {},
    python: str = sys.executable,
) -> Tally:
    """Run pytest with environment variables, which may select a part, and count its JUnit file."""
    command = [python, "-m", "pytest", "-q", *arguments]
    if "POLY_PART" in settings:
        paths = [str(ROOT / "scripts"), *filter(None, [os.environ.get("PYTHONPATH")])]
        settings = {**settings, "PYTHONPATH": os.pathsep.join(paths)}
        command += ["-p", "partly"]
    return reported(
        f"python: {name}",
        command,
        lambda report: [f"--junit-xml={report}"],
        settings={**ONE_THREAD, **settings},
    )


def run_js() -> Tally:
    """Run the tests of the JavaScript binding on the native library."""
    return run_node("js", {"POLYGRAD_ENGINE": "native", **share(JS_TABLE, BINDINGS)})


def wasm_failed() -> Tally | None:
    """Build the WebAssembly module that ON_WASM names, once; return the failure, if any."""
    with MAKING:
        return _wasm_failed()


@functools.cache
def _wasm_failed() -> Tally | None:
    done = run([str(ROOT / "scripts" / "wasm.sh"), ON_WASM["POLYGRAD_WASM"]])
    if done.returncode == 0:
        return None
    total = Tally()
    total.fail(f"scripts/wasm.sh\n{done.stdout}")
    return total


def run_js_wasm() -> Tally:
    """Run the tests of the JavaScript binding on the WebAssembly module."""
    failed = wasm_failed()
    if failed:
        return failed
    # Today's part of the files; browsers run the files on the module as well.
    return run_node("js-wasm", {**ON_WASM, **share()}, WASM_FILES)


def run_node(name: str, settings: Mapping[str, str], parts: int = 1) -> Tally:
    """Run today's part of the JavaScript binding's test files with Node, of so many parts.

    The table of operations always runs: it selects a part itself.
    """
    unready = js_unready(name, JS_TEST, "bindings/js/test/**/*.test.*js")
    if unready:
        return unready
    files = sorted(str(p.relative_to(JS)) for p in (JS / "test").rglob("*.test.*js"))
    chosen = [f for i, f in enumerate(files) if today(parts, i) or f == "test/table.test.js"]
    return node_tests(name, chosen, JS, settings)


def node_tests(
    name: str, files: list[str], folder: Path = ROOT, settings: Mapping[str, str] = {}
) -> Tally:
    """Run files of tests with Node's test runner."""
    command = ["node", "--test", "--test-reporter=junit"]
    return reported(
        name,
        command,
        lambda report: [f"--test-reporter-destination={report}", *files],
        folder,
        settings=settings,
    )


def run_browser(name: str, parts: int = WEEK) -> Tally:
    """Run the tests of the JavaScript binding in pages of a browser."""
    more = ("lavapipe",) if name == "firefox-webgpu" else ()
    tools = ("node", "npm", name.partition("-")[0], *more)
    unready = js_unready(name, JS_TEST, "bindings/js/test/*.test.js", "browser", tools)
    if unready:
        return unready
    with MAKING:
        made = run(["make", "web"])
    if made.returncode != 0:
        total = Tally()
        total.fail(f"make web\n{made.stdout}")
        return total
    command = ["node", str(BROWSER / "run.mjs"), name]
    # Different browsers have different parts on the same day.
    settings = share(BROWSERS.index(name), parts)
    return reported(name, command, lambda report: ["--report", str(report)], settings=settings)


def run_site() -> Tally:
    """Click through the pages of the site in Chromium."""
    files = "tests/browser/site/*.test.mjs"
    unready = js_unready("site", JS_TEST, files, "browser", ("node", "npm", "chromium"))
    if unready:
        return unready
    with MAKING:
        made = run(["make", "site"])
    if made.returncode != 0:
        total = Tally()
        total.fail(f"make site\n{made.stdout}")
        return total
    return node_tests("site", tracked(files), settings=share(0, 3))


def run_browser_tools() -> Tally:
    """Run the tests of the page server and of the replacements for Node in pages."""
    files = "tests/browser/*.test.mjs"
    unready = js_unready("browser tools", JS_TEST, files, "browser")
    if unready:
        return unready
    return node_tests("browser tools", tracked(files))


def js_unready(
    name: str,
    pattern: str,
    files: str,
    packages: str = "js",
    tools: tuple[str, ...] = ("node", "npm"),
) -> Tally | None:
    """Install Node, other tools and packages that tests need; return the failure, if any."""
    missing = require(*tools)
    if missing:
        return left_out(name, missing, pattern, files)
    with INSTALLING:
        done = run([str(BINDING_READY), packages])
    if done.returncode == 0:
        return None
    if NO_NETWORK.search(done.stdout):
        return left_out(name, "npm does not reach its registry", pattern, files)
    total = Tally()
    total.fail(f"npm ci\n{done.stdout}")
    return total


def run_r() -> Tally:
    """Build and install the R package and run its tests."""
    missing = require("R")
    if missing:
        return left_out("r", missing, r"^test_that\(", "bindings/r/tests/testthat/test-*.R")
    total = check("R CMD build and INSTALL", [str(BINDING_READY), "r"])
    if total.failed:
        return total
    script = str(ROOT / "scripts" / "test_r.R")
    command = ["Rscript", script, str(R_BUILT / "library"), "bindings/r/tests/testthat"]
    settings = share(R_TABLE, BINDINGS)
    return total + reported(
        "r", command, lambda report: [str(report)], count=count_testthat, settings=settings
    )


def run_r_check() -> Tally:
    """Run R CMD check as CRAN does; warnings and notes other than R_NOTES fail, too."""
    if require("R"):
        return Tally()  # run_r reports it
    if run([str(BINDING_READY), "r"]).returncode != 0:
        return Tally()  # run_r reports it
    (package,) = R_BUILT.glob("polygrad_*.tar.gz")
    # run_r runs the tests; CRAN's servers need not be reached; suggested packages may be missing.
    rules = ["_R_CHECK_CRAN_INCOMING_=false", "_R_CHECK_FORCE_SUGGESTS_=false"]
    command = ["env", *rules, "R", "CMD", "check", "--as-cran", "--no-manual", "--no-tests"]
    start = time.monotonic()
    done = run([*command, package.name], package.parent)
    status = re.search(r"^Status: (.*)", done.stdout, re.MULTILINE)
    total = Tally()
    notes = set(re.findall(r"^\* checking (.*) \.\.\. NOTE", done.stdout, re.MULTILINE)) - R_NOTES
    if done.returncode == 0 and status and "WARNING" not in status.group(1) and not notes:
        total.passed += 1
    else:
        total.fail(f"R CMD check: {', '.join(sorted(notes))}\n{done.stdout}")
    total.took("R CMD check", time.monotonic() - start)
    say(f"{'fail' if total.failed else 'pass'} R CMD check: {status.group(1) if status else ''}")
    return total


def reported(
    name: str,
    command: list[str],
    report_to: Callable[[Path], list[str]],
    folder: Path = ROOT,
    count: Callable[[Path], Tally] = count_junit,
    settings: Mapping[str, str] = {},
) -> Tally:
    """Run a test tool that writes a report, and count the tests in the report."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary) / "report"
        done = run([*command, *report_to(report)], folder, settings)
        total = count(report) if report.exists() else Tally()
    if done.returncode != 0 and total.failed == 0:
        total.fail(f"{name}: exited with {done.returncode}\n{done.stdout}")
    elif total.passed + total.failed + total.skipped == 0:
        total.fail(f"{name}: no tests\n{done.stdout}")
    total.took(name, time.monotonic() - start)
    say(f"{'fail' if total.failed else 'pass'} {name} {time.monotonic() - start:.1f}s")
    return total


def require(*tools: str) -> str:
    """Install tools where that is possible; return a message about the missing ones."""
    with INSTALLING:
        done = run([str(ROOT / "scripts" / "require.sh"), *tools])
    return "" if done.returncode == 0 else done.stdout.strip()


def left_out(name: str, why: str, pattern: str, *files: str) -> Tally:
    """Count every test in files as skipped, with the reason; pattern matches its declaration."""
    say(f"skip {name}: {why}")
    total = Tally()
    for path in sorted(path for names in files for path in ROOT.glob(names)):
        for _ in re.finditer(pattern, path.read_text(), re.MULTILINE):
            total.skip(f"{name}: {why}")
    if total.skipped == 0:
        total.fail(f"{name}: there are no tests in {', '.join(files)}")
    return total


def run(
    command: list[str], folder: Path = ROOT, settings: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[str]:
    """Run a command with stderr merged into stdout. A missing command counts as failed."""
    environment = {"LANG": "C.UTF-8", **os.environ, **settings}
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
    """Print a line of progress, unbuffered."""
    print(line, flush=True)


def tracked(pattern: str) -> list[str]:
    """List the files of the project that match a pattern, without built ones."""
    return [
        str(path.relative_to(ROOT))
        for path in sorted(ROOT.rglob(pattern))
        if not {".venv", "build", "node_modules"} & set(path.relative_to(ROOT).parts)
    ]


def fast_go() -> Tally:
    """Run the Go tests of all packages with -short; Go leaves out packages that did not change."""
    return go_packages(["-short"])


def fast_python() -> Tally:
    """Run a selection of the Python tests, at the processor's own level."""
    return pytest("quick", [f"bindings/python/tests/test_{name}.py" for name in FAST_FILES])


Part = Callable[[], Tally]


@dataclass(frozen=True)
class Weekly:
    """A part of a suite that runs on some days of the week, or if the suite is named."""

    name: str
    run: Part
    days: tuple[int, ...]

    def __post_init__(self) -> None:
        assert self.days and set(self.days) <= set(range(WEEK))

    def __call__(self) -> Tally:
        """Run the part."""
        return self.run()

    def is_today(self) -> bool:
        """Report whether this is one of the days."""
        return any(today(WEEK, day) for day in self.days)


@dataclass(frozen=True)
class Suite:
    """A suite; its parts may run concurrently."""

    title: str
    parts: tuple[Part, ...]


def level_part(level: str) -> Part:
    """Return the part of a suite that runs a level."""
    return lambda: run_level(level)


def browser_part(name: str) -> Part:
    """Return the part of a suite that runs a browser."""
    return functools.partial(run_browser, name)


# Parts to start first, the longest ones, so that no long part remains when all others have ended.
# Parts that compile the same Go packages are apart: started together, both would compile them.
FIRST: tuple[Part, ...] = (
    go_computing, run_other_peers, python_binding, run_packages, go_others, run_webgpu, run_site,
    python_docs_and_tools, run_c, lint_go, run_r, run_js,
)  # fmt: skip
SUITES = {
    "go": Suite("Go", (go_computing, go_others, Weekly("race detector", go_race, (0,)))),
    "peers": Suite("Peers", (run_array_api, run_other_peers)),
    "webgpu": Suite("WebGPU", (run_webgpu, Weekly("js: webgpu", run_dawn, (1, 4)))),
    "wasip1": Suite("Go as WebAssembly", (Weekly("wasip1", run_wasip1, (2, 5)),)),
    "c": Suite("C", (run_c,)),
    "python": Suite("Python", (python_binding, python_docs_and_tools)),
    "js": Suite("JavaScript", (run_js,)),
    "js-wasm": Suite("JavaScript, WebAssembly", (run_js_wasm,)),
    "browser": Suite(
        "Browsers",
        (
            run_site,
            browser_part("chromium"),
            browser_part("firefox"),
            browser_part("chromium-webgpu"),
            browser_part("chromium-plain"),
            Weekly("firefox-webgpu", lambda: run_browser("firefox-webgpu", 1), (3,)),
            run_browser_tools,
        ),
    ),
    "r": Suite("R", (run_r, Weekly("R CMD check", run_r_check, (1,)))),
    "levels": Suite("Levels", tuple(level_part(level) for level in LEVELS)),
    "packages": Suite("Packages", (run_packages,)),
    "lint": Suite(
        "Linters",
        (lint_go, Weekly("staticcheck", lint_go_more, (3, 6)), lint_python, lint_c, lint_js),
    ),
}
# Suites that run only if they are named.
QUICK = {
    "fast-go": Suite("Go, quick", (fast_go,)),
    "fast-python": Suite("Python, quick", (fast_python,)),
}
