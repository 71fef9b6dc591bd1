"""The npm package carries the library; require, import and pages find it."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from conftest import opened, require_browser
from places import LIBRARY, ROOT, Place, output

PARTS = ("polygrad.wasm", "polygrad-deferred.wasm", "polygrad-models.wasm")
SUMS = "console.log(JSON.stringify(Array.from(new Tensor([1, 2, 3]).mul(2).toArray())))"
PROGRAMS = {
    "commonjs": f"const {{ Tensor }} = require('polygrad'); {SUMS}",
    "module": f"import {{ Tensor }} from 'polygrad'; {SUMS}",
}
PAGE = """<!doctype html>
<meta http-equiv="Content-Security-Policy" content="script-src 'self' 'wasm-unsafe-eval'">
<link rel="icon" href="data:,">
<script type="module" src="app.js"></script>
"""


def test_package_holds_the_library(npm_package: Path) -> None:
    with tarfile.open(npm_package) as archive:
        members = {m.name.removeprefix("package/"): m for m in archive.getmembers()}
        (name,) = [name for name in members if name.endswith(".so")]
        web = ((f"web/{part}", ROOT / "build" / "js" / part) for part in PARTS)
        for member, built in ((name, LIBRARY), *web):
            file = archive.extractfile(members[member])
            assert file is not None
            assert file.read() == built.read_bytes()
    # What Chrome compiles at once on the main thread of a page.
    assert all(members[f"web/{part}"].size < 8_000_000 for part in PARTS[1:])
    names = set(members)
    assert {"package.json", "README.md", "index.js", "index.d.ts", "LICENSE"} <= names
    modules = ("", "-worker", "-remote", "-remote-worker", "-random", "-func")
    assert {"web/package.json", *(f"web/polygrad{name}.js" for name in modules)} <= names
    assert not {name for name in names if name.startswith(("test/", "node_modules/"))}


@pytest.mark.usefixtures("npm_package")
def test_training_needs_little() -> None:
    """The part of the module that a page waits for, compressed: by quality 11, 1.46 MB of 1.68."""
    quality = "{ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 9 } }"  # in a tenth of its time
    size = f"zlib.brotliCompressSync(fs.readFileSync(process.argv[1]), {quality}).length"
    assert int(output(["node", "-p", size, ROOT / "build" / "js" / PARTS[0]])) < 1_730_000


def test_packing_leaves_nothing(npm_package: Path) -> None:
    assert npm_package.exists()
    assert not {"native", "web", "LICENSE"} & {p.name for p in (ROOT / "bindings" / "js").iterdir()}


def test_require_and_import(js_place: Place) -> None:
    for kind, code in PROGRAMS.items():
        said = js_place.run("node", f"--input-type={kind}", "-e", code)
        assert json.loads(said) == [2, 4, 6]


@pytest.mark.parametrize("missing", ["polygrad/native", "koffi"])
def test_without_native_code(js_place: Place, tmp_path: Path, missing: str) -> None:
    """What runs then is WebAssembly, of which one warning tells."""
    shutil.copytree(js_place.folder / "node_modules", tmp_path / "node_modules")
    shutil.rmtree(tmp_path / "node_modules" / missing)
    for kind, code in PROGRAMS.items():
        done = subprocess.run(
            ["node", f"--input-type={kind}", "-e", code],
            cwd=tmp_path,
            env=js_place.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout) == [2, 4, 6]
        assert done.stderr.count("polygrad runs as WebAssembly, which is slower: ") == 1
        why = "Cannot find module 'koffi'" if missing == "koffi" else "libpolygrad.so not found"
        assert why in done.stderr


@pytest.mark.parametrize("isolated", [True, False])
def test_bundled_for_a_page(js_place: Place, tmp_path: Path, isolated: bool) -> None:
    require_browser()
    done = "document.documentElement.dataset.done = 'yes'"
    (tmp_path / "app.mjs").write_text(f"{PROGRAMS['module']}; {done}\n")
    (tmp_path / "node_modules").symlink_to(js_place.folder / "node_modules")
    served = tmp_path / "served"
    served.mkdir()
    esbuild = ROOT / "bindings" / "js" / "node_modules" / ".bin" / "esbuild"
    options = ["--bundle", "--format=esm", f"--outfile={served / 'app.js'}", "--log-level=warning"]
    output([esbuild, "app.mjs", *options], cwd=tmp_path)
    for name in (*PARTS, "polygrad-worker.js"):
        shutil.copy(js_place.folder / "node_modules/polygrad/web" / name, served)
    (served / "index.html").write_text(PAGE)
    said = opened(served, "index.html", *([] if isolated else ["--plain"]))
    assert json.loads(said.splitlines()[-1]) == [2, 4, 6]
    assert ("this page is not cross-origin isolated" in said) == (not isolated)
