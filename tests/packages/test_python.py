"""The Python wheel carries the library and says truly where it runs."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from places import LIBRARY, ROOT, Place, output

BINDING = ROOT / "bindings" / "python"


def test_wheel_holds_modules_and_library_only(wheel: Path) -> None:
    modules = {p.relative_to(BINDING) for p in (BINDING / "polygrad").rglob("*.py")}
    expected = {str(m) for m in modules} | {"polygrad/py.typed", "polygrad/libpolygrad.so"}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert archive.read("polygrad/libpolygrad.so") == LIBRARY.read_bytes()
    assert names == expected


def test_tag_names_the_c_library_that_is_needed(wheel: Path) -> None:
    needed = output(["readelf", "--version-info", LIBRARY])
    newest = max(int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", needed))
    tag = re.fullmatch(r"polygrad-[\d.]+-py3-none-manylinux_2_(\d+)_\w+\.whl", wheel.name)
    assert tag, wheel.name
    assert int(tag.group(1)) == newest


def test_library_of_the_wheel_is_used(python_place: Place) -> None:
    code = "import polygrad._library as l; print(l.lib._name)"
    assert str(python_place.folder) in python_place.run("python", "-c", code)
