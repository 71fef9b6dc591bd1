"""`make install` gives C and C++ programs all they need, wherever it is put."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import PREFIX, make
from places import ROOT, digits, output

HEADER = (ROOT / "include" / "polygrad.h").read_text()
VERSION = re.findall(r'#define POLY_VERSION "(.*)"', HEADER)[0]
SONAME = f"libpolygrad.so.{VERSION.split('.')[0]}"
FILES = {
    "include/polygrad.h",
    "lib/libpolygrad.so",
    f"lib/{SONAME}",
    f"lib/libpolygrad.so.{VERSION}",
    "lib/libpolygrad.a",
    "lib/pkgconfig/polygrad.pc",
    "lib/cmake/polygrad/polygrad-config.cmake",
    "lib/cmake/polygrad/polygrad-config-version.cmake",
    "share/doc/polygrad/LICENSE",
    "share/doc/polygrad/polygrad.supp",
}
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


def files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir()}


def test_what_is_installed(staged: Path) -> None:
    assert files(Path(f"{staged}{PREFIX}")) == FILES
    for name in FILES - {f"lib/libpolygrad.so.{VERSION}"}:
        text = Path(f"{staged}{PREFIX}/{name}").read_bytes()
        assert str(staged).encode() not in text, f"{name} names the folder of the package"


def test_folders_can_be_chosen(tmp_path: Path) -> None:
    where = {"PREFIX": "/usr", "LIBDIR": "lib/triplet", "INCLUDEDIR": "/usr/include/polygrad"}
    make("install", DESTDIR=tmp_path, **where)
    pkgconfig = tmp_path / "usr/lib/triplet/pkgconfig"
    found = pkg_config(pkgconfig, "--variable=includedir")
    assert (Path(found) / "polygrad.h").is_file()
    assert "rpath" not in pkg_config(pkgconfig, "--libs"), "the system's linker knows /usr"
    make("uninstall", DESTDIR=tmp_path, **where)
    assert files(tmp_path) == set()


def test_name_and_links_of_the_library(moved: Path) -> None:
    lib = moved / "lib"
    dynamic = output(["readelf", "-d", str(lib / "libpolygrad.so")])
    assert f"Library soname: [{SONAME}]" in dynamic
    needed = set(re.findall(r"Shared library: \[(.*?)\]", dynamic))
    assert needed <= {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
    assert (lib / "libpolygrad.so").resolve() == (lib / f"libpolygrad.so.{VERSION}").resolve()
    assert (lib / SONAME).resolve() == (lib / f"libpolygrad.so.{VERSION}").resolve()


@pytest.mark.parametrize("library", ["build/libpolygrad.so", f"build/libpolygrad.so.{VERSION}"])
def test_only_our_names_are_exported(library: str) -> None:
    symbols = output(["nm", "-D", "--defined-only", str(ROOT / library)]).splitlines()
    names = {line.split()[-1].split("@@")[0] for line in symbols} - {"POLYGRAD_2"}
    assert {"poly_ctx_new", "poly_last_error"} <= names
    assert {name for name in names if not name.startswith("poly_")} == set()


def pkg_config(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PKG_CONFIG_PATH": str(folder)}
    return output(["pkg-config", *arguments, "polygrad"], env=environment).strip()


def learns(program: Path) -> None:
    """Run an example without any hint where the library is, and look at what it printed."""
    environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    done = subprocess.run(
        [program], input=digits(), capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    losses = [float(loss) for loss in re.findall(r"loss (\d+\.\d+)", done.stdout)]
    assert len(losses) >= 3
    assert losses == sorted(losses, reverse=True), "the loss falls"
    assert losses[-1] < losses[0] / 10
    accuracy = re.search(r"^test accuracy: (\d\.\d+)$", done.stdout, re.MULTILINE)
    assert accuracy, done.stdout
    assert float(accuracy.group(1)) >= 0.95


def test_c_example_with_pkg_config(moved: Path, tmp_path: Path) -> None:
    flags = pkg_config(moved / "lib/pkgconfig", "--cflags", "--libs").split()
    source, program = ROOT / "examples/c/train.c", tmp_path / "train"
    output(["cc", "-std=c11", *STRICT, str(source), *flags, "-o", str(program)])
    learns(program)


def test_c_example_with_the_static_library(moved: Path, tmp_path: Path) -> None:
    flags = pkg_config(moved / "lib/pkgconfig", "--cflags").split()
    source, program = ROOT / "examples/c/train.c", tmp_path / "train"
    archive = str(moved / "lib/libpolygrad.a")
    output(
        [
            "cc",
            "-std=c11",
            *STRICT,
            str(source),
            *flags,
            archive,
            "-lm",
            "-pthread",
            "-o",
            str(program),
        ]
    )
    assert "polygrad" not in output(["readelf", "-d", str(program)])
    learns(program)


def test_cpp_example_with_cmake(moved: Path, tmp_path: Path) -> None:
    flags = f"-DCMAKE_CXX_FLAGS={' '.join(STRICT)}"
    prefix = f"-DCMAKE_PREFIX_PATH={moved}"
    source = str(ROOT / "examples/cpp")
    output(["cmake", "-S", source, "-B", str(tmp_path), prefix, flags])
    output(["cmake", "--build", str(tmp_path)])
    learns(tmp_path / "train")


@pytest.mark.parametrize(("wanted", "fits"), [("2", True), ("2.0.0 EXACT", True), ("3", False)])
def test_cmake_compares_versions(moved: Path, tmp_path: Path, wanted: str, fits: bool) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(p C)\n"
        f"find_package(polygrad {wanted} CONFIG QUIET)\n"
        'message(STATUS "found: ${polygrad_FOUND}")\n'
    )
    said = output(
        ["cmake", "-S", str(tmp_path), "-B", str(tmp_path), f"-DCMAKE_PREFIX_PATH={moved}"]
    )
    assert f"found: {int(fits)}" in said


def test_example_says_what_is_wrong_with_its_table(moved: Path, tmp_path: Path) -> None:
    flags = pkg_config(moved / "lib/pkgconfig", "--cflags", "--libs").split()
    program = tmp_path / "train"
    output(["cc", str(ROOT / "examples/c/train.c"), *flags, "-o", str(program)])
    done = subprocess.run([program], input="1,2,x\n", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "train: the table needs 65 numbers in each row\n"
