"""Puts libpolygrad.so into the package: takes a built one, or builds it with Go.

POLYGRAD_LIB names a library to take. Otherwise build/libpolygrad.so of the checkout is used, and
built when it is missing or older than its sources.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NAME = "libpolygrad.so"
SOURCES = ("capi", "core", "exec", "include", "model", "render")


def library() -> Path:
    """Return the path of the library, which is built if necessary."""
    given = os.environ.get("POLYGRAD_LIB")
    if given:
        path = Path(given).resolve()
        if not path.is_file():
            raise SystemExit(f"POLYGRAD_LIB: {path} does not exist")
        return path
    beside = HERE / "polygrad" / NAME
    if not (ROOT / "go.mod").is_file():
        if beside.is_file():
            return beside
        raise SystemExit("no checkout to build the library from: set POLYGRAD_LIB to its path")
    built = ROOT / "build" / NAME
    if not built.is_file() or built.stat().st_mtime < newest_source():
        build(built)
    return built


def newest_source() -> float:
    """Return when a source of the library was changed last."""
    files = [ROOT / "go.mod"]
    for folder in SOURCES:
        for pattern in ("*.go", "*.c", "*.h", "*.map", "*.rules"):
            files += (ROOT / folder).rglob(pattern)
    return max(f.stat().st_mtime for f in files if not f.name.endswith("_test.go"))


def build(path: Path) -> None:
    """Build the library with Go."""
    if shutil.which(os.environ.get("GO", "go")) is None:
        raise SystemExit(
            "building polygrad needs Go 1.26 (https://go.dev/dl) and gcc, or POLYGRAD_LIB"
        )
    subprocess.run([ROOT / "scripts" / "library.sh", path], check=True)


class BuildWithLibrary(build_py):
    """Copies the library beside the modules."""

    def run(self) -> None:
        """Copy modules and library."""
        if not self.editable_mode:  # what an earlier build left would be packed too
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "polygrad" / NAME
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(library(), target)
        else:
            library()


def platform_tag(path: Path, default: str) -> str:
    """Return the systems that the library runs on, by PEP 600.

    It needs nothing but the C library, so what counts is the newest symbol version of glibc.
    """
    minors = [int(m) for m in re.findall(rb"\0GLIBC_2\.(\d+)", path.read_bytes())]
    if not minors or not default.startswith("linux_"):
        return default
    return f"manylinux_2_{max(minors)}_{default[len('linux_') :]}"


class PlatformWheel(bdist_wheel):
    """A wheel for any Python 3 on this platform."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tag: the library is for one platform, the modules for every Python 3."""
        return "py3", "none", platform_tag(library(), super().get_tag()[2])


class WithLibrary(Distribution):
    """A distribution that is not pure Python."""

    def has_ext_modules(self) -> bool:
        """Say that the wheel belongs to a platform."""
        return True


setup(cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel}, distclass=WithLibrary)
