"""The packages, each made once and installed in an empty place."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import ROOT, Place, output, without_compilers
from turns import today

PREFIX = "/opt/polygrad"
Factory = pytest.TempPathFactory
# A language has one day of three: making and installing its packages takes longest.
DAYS = {"javascript": 0, "python": 1, "go": 1, "c": 2, "r": 2}
MADE = {"npm_package": "javascript", "wheel": "python", "r_package": "r", "staged": "c"}


def language_of(item: pytest.Item) -> str | None:
    """Return the language whose package a test needs."""
    made = [MADE[name] for name in getattr(item, "fixturenames", []) if name in MADE]
    called = item.callspec.params.get("language") if hasattr(item, "callspec") else None
    return called or ("go" if item.name == "test_go" else made[0] if made else None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of languages that have another day."""
    left = [i for i in items if (name := language_of(i)) and not today(3, DAYS[name])]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="session")
def bare(tmp_path_factory: Factory) -> dict[str, str]:
    """An environment in which no compiler and nothing of this checkout is found."""
    programs = without_compilers(tmp_path_factory.mktemp("bare") / "bin")
    kept = {k: v for k, v in os.environ.items() if "CERT" in k or k in ("HOME", "TMPDIR")}
    return {**kept, "PATH": str(programs), "LANG": "C.UTF-8"}


def require(*tools: str) -> None:
    """Skip the test if tools are missing and cannot be installed."""
    command = [str(ROOT / "scripts" / "require.sh"), *tools]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip().splitlines()[-1])


def require_browser() -> None:
    """Install what opens pages in Chromium, or skip the test."""
    require("chromium", "node", "npm")
    output([ROOT / "scripts" / "binding.sh", "browser"])


def opened(folder: Path, page: str, *options: str) -> str:
    """Open a page of a folder in Chromium; return what it wrote to the console until it is done."""
    return output(["node", ROOT / "tests" / "browser" / "show.mjs", folder, page, *options])


def make(target: str, **variables: object) -> str:
    """Run make without the flags of the make that runs the tests."""
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    settings = [f"{name}={value}" for name, value in variables.items()]
    return output(["make", "-s", target, *settings], cwd=ROOT, env=environment)


@pytest.fixture(scope="session")
def staged(tmp_path_factory: Factory) -> Iterator[Path]:
    """What make install put below DESTDIR."""
    require("gcc", "g++", "cmake", "pkg-config", "readelf")
    folder = tmp_path_factory.mktemp("stage")
    make("install", PREFIX=PREFIX, DESTDIR=folder)
    yield folder
    make("uninstall", PREFIX=PREFIX, DESTDIR=folder)
    left = [p for p in folder.rglob("*") if not p.is_dir()]
    assert left == [], "make uninstall removes what make install made"


@pytest.fixture(scope="session")
def moved(staged: Path, tmp_path_factory: Factory) -> Path:
    """The installed files in another place than they were installed to."""
    folder = tmp_path_factory.mktemp("moved") / "polygrad"
    shutil.copytree(f"{staged}{PREFIX}", folder, symlinks=True)
    return folder


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: Factory) -> Path:
    """The wheel of the Python binding."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder]
    output([*command, ROOT / "bindings" / "python"])
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="session")
def python_place(wheel: Path, bare: dict[str, str], tmp_path_factory: Factory) -> Place:
    """An environment of Python that holds the wheel and what it asks for."""
    folder = tmp_path_factory.mktemp("python")
    output([sys.executable, "-m", "venv", folder / "venv"])
    scripts = folder / "venv" / "bin"
    output([scripts / "python", "-m", "pip", "install", "--quiet", wheel], cwd=folder)
    return Place(folder, {**bare, "PATH": f"{scripts}{os.pathsep}{bare['PATH']}"})


@pytest.fixture(scope="session")
def npm_package(tmp_path_factory: Factory) -> Path:
    """What npm pack makes."""
    require("node", "npm")
    make("web")
    folder = tmp_path_factory.mktemp("npm")
    command = ["npm", "pack", "--silent", "--pack-destination", folder]
    output(command, cwd=ROOT / "bindings" / "js")
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="session")
def js_place(npm_package: Path, bare: dict[str, str], tmp_path_factory: Factory) -> Place:
    """A folder into which the npm package was installed, without a compiler."""
    place = Place(tmp_path_factory.mktemp("js"), bare)
    place.run("npm", "install", "--no-audit", "--no-fund", npm_package)
    return place


@pytest.fixture(scope="session")
def r_package() -> Path:
    """What R CMD build made, for the suite of R, too; it was installed in a library of its own."""
    require("R")
    output([ROOT / "scripts" / "binding.sh", "r"])
    (made,) = (ROOT / "build" / "r").glob("polygrad_*.tar.gz")
    return made


@pytest.fixture(scope="session")
def r_place(r_package: Path, bare: dict[str, str], tmp_path_factory: Factory) -> Place:
    """The library of R that holds the package only. Its glue was compiled here, as CRAN does."""
    environment = {**bare, "R_LIBS": str(r_package.parent / "library")}
    return Place(tmp_path_factory.mktemp("r"), environment)
