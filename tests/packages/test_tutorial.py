"""The tutorial runs and prints what it says, with the packages as a user installs them."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest
import tutorial
from places import ROOT, output

PAGES = ROOT / "docs" / "tutorial"
# The network that all languages train.
TENSORS = {
    "hidden.weight": [32, 2],
    "hidden.bias": [32],
    "output.weight": [2, 32],
    "output.bias": [2],
}


def saved(path: Path) -> dict[str, list[int]]:
    """Return the names and shapes of a safetensors file."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    return {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}


def follow(language: str, folder: Path, environment: dict[str, str]) -> None:
    """Do what a page says in a new folder; compare what is printed."""
    folder.mkdir()
    shown = tutorial.run(PAGES / f"{language}.md", folder, environment)
    assert len(shown) >= 3
    for printed, expected in shown:
        assert printed == expected
    assert saved(folder / "moons.safetensors") == TENSORS


@pytest.mark.parametrize("language", ["python", "javascript", "r"])
def test_bindings(language: str, request: pytest.FixtureRequest) -> None:
    short = {"javascript": "js"}.get(language, language)
    place = request.getfixturevalue(f"{short}_place")
    follow(language, place.folder / "tutorial", place.environment)


def test_c(moved: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PKG_CONFIG_PATH": str(moved / "lib/pkgconfig")}
    follow("c", tmp_path / "tutorial", environment)


def test_go(tmp_path: Path) -> None:
    output(["go", "mod", "download"], cwd=ROOT)  # skips without a network
    follow("go", tmp_path / "tutorial", {**os.environ, "POLYGRAD": str(ROOT)})


def test_every_page_is_followed() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == {"python", "javascript", "r", "c", "go"}


def test_a_page_that_says_something_else_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh a.sh\necho 8000\n```\n```sh\nsh a.sh\n```\n```text\n8000\n```\n")
    ((printed, expected),) = tutorial.run(page, tmp_path, os.environ)
    assert printed == expected != "8000\n"
    page.write_text("```sh\necho 1\n```\n```text\n2\n```\n```sh\necho 3\n```\n")
    assert tutorial.run(page, tmp_path, os.environ) == [("1\n", "2\n"), ("3\n", "")]
    page.write_text("```sh\nfalse\n```\n```sh\necho 3\n```\n")
    with pytest.raises(AssertionError):
        tutorial.run(page, tmp_path, os.environ)
