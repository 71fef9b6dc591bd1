"""The examples run, and do what they say."""

from __future__ import annotations

import contextlib
import doctest
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import nbclient
import nbformat
import pytest
from turns import part

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"


def run_example(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run one to its end; its standard error, where progress is shown, is a terminal."""
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("4H", 24, 100, 0, 0))  # lines, columns
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=end, text=True) as process:
        os.close(end)
        shown = b""
        with contextlib.suppress(OSError):  # nobody writes any more
            while part := os.read(terminal, 4096):
                shown += part
        os.close(terminal)
        assert process.stdout is not None
        out = process.stdout.read()
    errors = shown.decode(errors="replace")
    assert process.returncode == 0, errors
    assert "100%" in errors, "a progress bar goes to its end"
    return subprocess.CompletedProcess(command, 0, out, errors)


def number(pattern: str, text: str) -> float:
    """Return the number that the group of a pattern stands for."""
    found = re.search(pattern, text, re.MULTILINE)
    assert found, f"{pattern!r} is not in {text!r}"
    return float(found.group(1))


def digits_reaches_its_accuracy_and_draws(tmp_path: Path) -> None:
    picture = tmp_path / "digits.png"
    done = run_example("digits.py", "--picture", picture)
    assert number(r"^test accuracy: (\d\.\d{4})\n\Z", done.stdout) >= 0.97
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "loss=" in done.stderr, "the progress bar shows the loss"


def digits_cnn_reads_nearly_all_digits(_: Path) -> None:
    done = run_example("digits_cnn.py")
    assert number(r"^test accuracy: (\d\.\d{4})$", done.stdout) >= 0.985


def maml_fits_a_curve_after_one_step(_: Path) -> None:
    done = run_example("maml.py")
    assert number(r"^before: (\d+\.\d+)$", done.stdout) > 4
    assert number(r"^error of new curves after one step: (\d+\.\d+)$", done.stdout) < 1.8


def neural_ode_learns_a_spiral(_: Path) -> None:
    done = run_example("neural_ode.py")
    assert number(r"^first loss: (\d+\.\d+)$", done.stdout) > 1
    assert number(r"^last loss: (\d+\.\d+)$", done.stdout) < 0.01


def rnn_adds_marked_numbers(_: Path) -> None:
    done = run_example("rnn.py", "--steps", 800)
    assert number(r"^error: (\d+\.\d+)$", done.stdout) < 0.02


def private_digits_are_read(_: Path) -> None:
    done = run_example("private_digits.py")
    assert number(r"^test accuracy: (\d\.\d{4})$", done.stdout) >= 0.93


def chargpt_writes_words(_: Path) -> None:
    done = run_example("chargpt.py", "--steps", 400, "--length", 300, "--temperature", 0.5)
    assert done.stdout.startswith("You may ")
    assert number(r"^words of the text: (\d\.\d\d)$", done.stdout) >= 0.5


def chargpt_knows_other_texts(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("one two three four five six seven\n" * 50)
    done = run_example(
        "chargpt.py", "--text", text, "--prompt", "one", "--steps", 60, "--length", 40
    )
    assert done.stdout.startswith("one two three four five six")


def tabular_fits_with_each_family(tmp_path: Path) -> None:
    done = run_example("tabular.py", "--save", tmp_path)
    names = ("plane", "mlp", "tabm", "nam")
    fit = {n: number(rf"^{n} +R2 on held-back rows: (\d\.\d+)$", done.stdout) for n in names}
    assert min(fit["mlp"], fit["tabm"]) > 0.92, fit
    # Column by column a product of two cannot be had, but more than with a plane.
    assert fit["plane"] + 0.05 < fit["nam"] < fit["mlp"], fit
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mlp.bundle", "nam.bundle", "tabm.bundle"]


def finetune_profits_from_what_is_in_the_file(tmp_path: Path) -> None:
    base = tmp_path / "base.safetensors"
    done = run_example("finetune.py", "--base", base)
    tuned = number(r"^fine-tuned +accuracy on \d+ digits: (\d\.\d+)$", done.stdout)
    afresh = number(r"^afresh +accuracy on \d+ digits: (\d\.\d+)$", done.stdout)
    assert tuned > 0.93
    assert tuned > afresh + 0.03
    again = run_example("finetune.py", "--base", base)
    assert "training" not in again.stderr, "the base is trained once"
    assert again.stdout == done.stdout


TRAINED = (
    digits_reaches_its_accuracy_and_draws,
    digits_cnn_reads_nearly_all_digits,
    maml_fits_a_curve_after_one_step,
    neural_ode_learns_a_spiral,
    rnn_adds_marked_numbers,
    private_digits_are_read,
    chargpt_writes_words,
    chargpt_knows_other_texts,
    tabular_fits_with_each_family,
    finetune_profits_from_what_is_in_the_file,
)


@pytest.mark.parametrize("example", part(TRAINED), ids=lambda f: f.__name__)
def test_what_examples_train(example: Callable[[Path], None], tmp_path: Path) -> None:
    example(tmp_path)


def test_spectrum_hears_the_melody() -> None:
    command = [sys.executable, str(EXAMPLES / "spectrum.py")]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert re.search(r"^heard: C4 E4 G4 C5 B4 G4 F4 D4$", out, re.MULTILINE), out
    assert number(r"^greatest error: (\d\.\d+) Hz", out) < 1
    assert number(r"^signal to noise after the filter: (\d+\.\d) dB$", out) > 10


def test_hmc_draws_from_the_posterior() -> None:
    command = [sys.executable, str(EXAMPLES / "hmc.py")]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # As other samplers find: mu is 4.4 (deviation 3.3), tau 3.6.
    assert number(r"^accepted: (\d\.\d\d)$", out) > 0.9
    assert abs(number(r"^mu: (\d+\.\d+)", out) - 4.4) < 0.3
    assert abs(number(r"deviation (\d+\.\d+)", out) - 3.3) < 0.3
    assert abs(number(r"^tau: (\d+\.\d+)$", out) - 3.6) < 0.4


def test_chargpt_refuses_a_prompt_of_strange_letters() -> None:
    command = [sys.executable, str(EXAMPLES / "chargpt.py"), "--prompt", "déjà"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--prompt: 'déjà': ['à', 'é'], expected what the text has" in done.stderr


def test_notebook_runs() -> None:
    notebook = nbformat.read(EXAMPLES / "tour.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs for cell in cells), "it is kept without results"
    where = {"metadata": {"path": str(EXAMPLES)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=where).execute()
    shown = [out for cell in cells for out in cell.outputs]
    kinds = {kind for out in shown for kind in out.get("data", {})}
    assert {"text/html", "image/png"} <= kinds
    printed = "".join(out.text for out in shown if out.output_type == "stream")
    assert number(r"loss [\d.]+ at first, ([\d.]+) at last", printed) < 0.05


@pytest.mark.parametrize("cgo", part(["0", "1"], 2))
def test_go_reads_digits_with_and_without_cgo(cgo: str) -> None:
    command = ["go", "run", "./examples/go", "-epochs", "10"]
    environment = {**os.environ, "CGO_ENABLED": cgo}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    assert number(r"^(\d+\.\d) % of the 359", done.stdout) > 95
    assert ("kernels are WebAssembly" in done.stderr) == (cgo == "0")


@pytest.mark.parametrize("device", ["native", "webgpu"])
def test_gpt2_writes_a_token_in_one_submit(device: str) -> None:
    if device == "webgpu" and "POLY_WEBGPU" not in os.environ:
        pytest.skip("no library of WebGPU: POLY_WEBGPU")
    command = ["go", "run", "./examples/gpt2", "-device", device, "-tokens", "8"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert f"191040 weights, 3 layers of width 64, on {device}" in done.stdout
    assert re.search(r"^tokens: \[(\d+ ){7}\d+\]$", done.stdout, re.MULTILINE)
    if device == "webgpu":
        assert "the last token: 1 submit, " in done.stdout
        assert " 1 wait, " in done.stdout
        assert number(r"(\d+) bytes from it", done.stdout) == 4 * 512


@pytest.mark.parametrize("suffix", ["py", "ipynb", "mjs"])
def test_the_readme_lists_all(suffix: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [p.name for p in EXAMPLES.glob(f"*.{suffix}") if f"(examples/{p.name})" not in readme]
    assert not missing


PAGES = sorted((ROOT / "docs").rglob("*.md"))
DOCTESTS = [page for page in PAGES if ">>> " in page.read_text()]


@pytest.mark.parametrize("page", DOCTESTS, ids=lambda page: page.stem)
def test_the_examples_of_the_pages_are_true(page: Path) -> None:
    done = doctest.testfile(str(page), module_relative=False)
    assert done.attempted > 2
    assert done.failed == 0


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.stem)
def test_links_lead_to_files(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    assert not [link for link in links if not (page.parent / link).exists()]


def test_the_figures_of_the_pages_are_those_of_the_benchmark() -> None:
    results = (ROOT / "bench" / "RESULTS.md").read_text()
    comparison = (ROOT / "docs" / "guide" / "comparison.md").read_text()
    rows = re.search(r"(\d+ of \d+) rows take at most 1\.05", results.replace("\n", " "))
    assert rows
    for text in ((ROOT / "README.md").read_text(), comparison):
        assert rows.group(1) in text
    slower = re.findall(r"\((\d\.\d\d)(?: times as long as \w+)?\)", comparison)
    assert len(slower) == 5
    assert all(f"{ratio} **missed**" in results for ratio in slower)
    steps = (ROOT / "docs" / "guide" / "steps.md").read_text()
    times = re.search(
        r"takes ([\d.]+) micro\w+ as a loop, ([\d.]+) with .* and ([\d.]+) with", steps
    )
    found = re.findall(
        r"step of 16-16-4.*?\| ([\d.]+) \|.*?\| ([\d.]+) \|.*?\| ([\d.]+) \|", results, re.DOTALL
    )
    assert times and [times.groups()] == found
    speeds = re.search(
        r"([\d.]+) tokens a second instead of ([\d.]+) with",
        (ROOT / "docs/guide/performance.md").read_text(),
    )
    assert speeds
    for dtype, speed in zip(("int8", "float32"), speeds.groups()):
        assert re.search(rf"^\| polygrad \| {dtype} \| \**{speed}\** \|", results, re.MULTILINE)
