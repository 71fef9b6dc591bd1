"""The npm package carries the library; require and import both find it."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

from places import LIBRARY, Place


def test_package_holds_the_library(npm_package: Path) -> None:
    with tarfile.open(npm_package) as archive:
        (library,) = [m for m in archive.getmembers() if m.name.endswith(".so")]
        file = archive.extractfile(library)
        assert file is not None
        assert file.read() == LIBRARY.read_bytes()
        names = {m.name.removeprefix("package/") for m in archive.getmembers()}
    assert {"package.json", "README.md", "index.js", "index.d.ts", "LICENSE"} <= names
    assert not {name for name in names if name.startswith(("test/", "node_modules/"))}


def test_require_and_import(js_place: Place) -> None:
    sums = "console.log(JSON.stringify(Array.from(new Tensor([1, 2, 3]).mul(2).toArray())))"
    required = f"const {{ Tensor }} = require('polygrad'); {sums}"
    imported = f"import {{ Tensor }} from 'polygrad'; {sums}"
    for kind, code in (("commonjs", required), ("module", imported)):
        said = js_place.run("node", f"--input-type={kind}", "-e", code)
        assert json.loads(said) == [2, 4, 6]
