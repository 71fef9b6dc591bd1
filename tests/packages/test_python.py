"""The Python wheel carries the library and runs where nothing else is."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from places import LIBRARY, ROOT, bare_environment, first_block, output, skip_without_network

BINDING = ROOT / "bindings" / "python"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
    done = subprocess.run([*command, str(BINDING)], capture_output=True, text=True, check=False)
    skip_without_network(done)
    assert done.returncode == 0, done.stderr
    (made,) = folder.iterdir()
    return made


def test_wheel_holds_modules_and_library_only(wheel: Path) -> None:
    modules = {p.relative_to(BINDING) for p in (BINDING / "polygrad").rglob("*.py")}
    expected = {str(m) for m in modules} | {"polygrad/py.typed", "polygrad/libpolygrad.so"}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert archive.read("polygrad/libpolygrad.so") == LIBRARY.read_bytes()
    assert names == expected


def test_tag_is_true(wheel: Path) -> None:
    """The wheel is for any Python 3 and for systems with the glibc that the library needs."""
    needed = output(["readelf", "--version-info", str(LIBRARY)])
    newest = max(int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", needed))
    tag = re.fullmatch(r"polygrad-[\d.]+-py3-none-manylinux_2_(\d+)_\w+\.whl", wheel.name)
    assert tag, wheel.name
    assert int(tag.group(1)) == newest


def test_runs_in_an_empty_place(wheel: Path, tmp_path: Path) -> None:
    output([sys.executable, "-m", "venv", str(tmp_path / "venv")])
    scripts = tmp_path / "venv" / "bin"
    command = [str(scripts / "python"), "-m", "pip", "install", "--quiet", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    skip_without_network(done)
    assert done.returncode == 0, done.stderr

    example = first_block(BINDING / "README.md", "python")
    said = output(
        [str(scripts / "python"), "-c", example], cwd=tmp_path, env=bare_environment(scripts)
    )
    (promised,) = re.findall(r"print\(.*\)  # (.*)", example)
    assert said.strip() == promised
