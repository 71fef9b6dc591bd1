"""The R package carries the library and needs no compiler once it is installed."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

from places import LIBRARY, Place


def test_package_holds_the_library(r_package: Path) -> None:
    with tarfile.open(r_package) as archive:
        file = archive.extractfile("polygrad/tools/libpolygrad.so.gz")
        assert file is not None
        assert gzip.decompress(file.read()) == LIBRARY.read_bytes()
        names = {m.name for m in archive.getmembers()}
    assert {"polygrad/DESCRIPTION", "polygrad/NAMESPACE", "polygrad/README.md"} <= names
    assert not {name for name in names if name.endswith((".o", ".Rproj"))}


def test_runs_where_no_compiler_is(r_place: Place) -> None:
    said = r_place.run("Rscript", "-e", "library(polygrad); print(as.array(Tensor(c(1, 2)) * 3))")
    assert said.split() == ["[1]", "3", "6"]
