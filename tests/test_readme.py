"""What the README shows must run as printed there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
ONE_LINERS = re.findall(r'`python -c "([^`]*)"` prints `([^`]*)`', README)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_readme_has_examples() -> None:
    assert BLOCKS
    assert ONE_LINERS


@pytest.mark.parametrize("code", BLOCKS)
def test_block_learns(code: str) -> None:
    last_line = run(code).splitlines()[-1]
    assert re.fullmatch(r"loss: \d\.\d{4}", last_line)
    assert float(last_line.split()[1]) < 1


@pytest.mark.parametrize(("code", "printed"), ONE_LINERS)
def test_one_liner(code: str, printed: str) -> None:
    assert run(code) == printed


def test_targets_named_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`?make ([a-z]+)\b", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
