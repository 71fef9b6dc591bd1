"""What the READMEs show runs as printed, with the packages as a user installs them."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import opened, require_browser
from places import ROOT, Place, blocks, output

README = ROOT / "README.md"
ONE_LINERS = re.findall(r'`python -c "([^`]*)"` prints `([^`]*)`', README.read_text())


def learns(said: str) -> None:
    """The examples of the README train something and end with its loss."""
    loss = re.fullmatch(r"loss: (\d\.\d{4})", said.splitlines()[-1])
    assert loss, said
    assert float(loss.group(1)) < 1


def says_what_it_promises(code: str, said: str, comment: str) -> None:
    """A line that prints something ends with a comment that says what."""
    promised = re.findall(rf"(?:print|log|cat)\(.*{comment} (.*)$", code, re.MULTILINE)
    assert promised, "nothing is printed"
    assert said.split() == " ".join(promised).split()


def test_python(python_place: Place) -> None:
    for code in blocks(README, "python"):
        learns(python_place.run("python", "-c", code))
    code = blocks(ROOT / "bindings/python/README.md", "python")[0]
    says_what_it_promises(code, python_place.run("python", "-c", code), "#")


@pytest.mark.parametrize(("code", "printed"), ONE_LINERS)
def test_one_liner(python_place: Place, code: str, printed: str) -> None:
    assert python_place.run("python", "-c", code).strip() == printed


PAGES = [ROOT / "bindings/python/README.md", ROOT / "docs/guide/performance.md"]
COMMANDS = sorted({c for p in PAGES for c in re.findall(r"^python -m .*", p.read_text(), re.M)})


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_that_show_kernels(python_place: Place, command: str) -> None:
    lines = ["from polygrad import Tensor", "def forward():", "    return Tensor.ones(8, 8).exp()"]
    (python_place.folder / "model.py").write_text("\n".join(lines))
    said = python_place.run("bash", "-c", command)
    if " -o " in command:
        assert "<svg" in (python_place.folder / "graph.svg").read_text()
    else:
        assert re.search(r"^mov|^ +v?mov|GFLOP/s", said, re.MULTILINE), said


def test_js(js_place: Place) -> None:
    for code in blocks(README, "js"):
        learns(js_place.run("node", "-e", code))
    code = blocks(ROOT / "bindings/js/README.md", "js")[0]
    kind = "module" if re.search(r"^import ", code, re.MULTILINE) else "commonjs"
    says_what_it_promises(code, js_place.run("node", f"--input-type={kind}", "-e", code), "//")


@pytest.mark.parametrize("readme", [README, ROOT / "bindings/js/README.md"])
def test_page(js_place: Place, tmp_path: Path, readme: Path) -> None:
    require_browser()
    shutil.copytree(js_place.folder / "node_modules/polygrad/web", tmp_path / "web")
    for code in blocks(readme, "html"):
        done = "  document.documentElement.dataset.done = 'yes'\n</script>"
        page = f"<!doctype html>\n<link rel=icon href=data:,>\n{code.replace('</script>', done)}"
        (tmp_path / "web" / "index.html").write_text(page)
        said = opened(tmp_path / "web", "index.html")
        if readme == README:
            learns(said)
        else:
            says_what_it_promises(code, said, "//")


def test_r(r_place: Place) -> None:
    for code in blocks(README, "r"):
        learns(r_place.run("Rscript", "-e", code))
    code = blocks(ROOT / "bindings/r/README.md", "r")[0]
    assert r_place.run("Rscript", "-e", code).strip()


def test_c(moved: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PKG_CONFIG_PATH": str(moved / "lib/pkgconfig")}
    flags = output(["pkg-config", "--cflags", "--libs", "polygrad"], env=environment).split()
    for code in blocks(README, "c"):
        source, program = tmp_path / "example.c", tmp_path / "example"
        source.write_text(code)
        output(["cc", "-Wall", "-Wextra", "-Werror", source, *flags, "-o", program])
        says_what_it_promises(code.replace("printf", "print"), output([program]), "//")


def test_go(tmp_path: Path) -> None:
    output(["go", "mod", "download"], cwd=ROOT)  # skips without a network
    (install,) = re.findall(r"^\| Go .*`(go mod edit .*)`", README.read_text(), re.MULTILINE)
    output(["go", "mod", "init", "example"], cwd=tmp_path)
    output(install.replace("PATH", str(ROOT)).split(), cwd=tmp_path)
    for code in blocks(README, "go"):
        (tmp_path / "main.go").write_text(code)
        output(["go", "mod", "tidy"], cwd=tmp_path)
        said = output(["go", "run", "."], cwd=tmp_path)
        (promised,) = re.findall(r"Print.*// about (.*)$", code, re.MULTILINE)
        numbers = [[float(n) for n in re.findall(r"\d[\d.]*", text)] for text in (said, promised)]
        assert numbers[0] == pytest.approx(numbers[1], rel=0.05), said
        assert re.sub(r"\d[\d.]*", "0", said).split() == re.sub(r"\d+", "0", promised).split()


def test_targets_named_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    named = re.findall(r"`?make ([a-z]+)\b", README.read_text())
    assert named
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
