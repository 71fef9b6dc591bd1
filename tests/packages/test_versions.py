"""All packages and the library have one version, that of the header."""

from __future__ import annotations

import json
import re

from places import ROOT, Place

HEADER = (ROOT / "include" / "polygrad.h").read_text()
(VERSION,) = re.findall(r'^#define POLY_VERSION "(.*)"', HEADER, re.MULTILINE)


def found(pattern: str, path: str) -> str:
    (version,) = re.findall(pattern, (ROOT / path).read_text(), re.MULTILINE)
    return str(version)


def test_packages() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
    assert found(r'^version = "(.*)"', "bindings/python/pyproject.toml") == VERSION
    assert found(r"^Version: (.*)", "bindings/r/DESCRIPTION") == VERSION
    package = json.loads((ROOT / "bindings" / "js" / "package.json").read_text())
    assert package["version"] == VERSION


def test_library_says_it(python_place: Place) -> None:
    code = "import polygrad._library as l; print(l.lib.poly_version().decode())"
    assert python_place.run("python", "-c", code).strip() == VERSION
