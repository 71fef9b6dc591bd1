"""What the tests of the packages share: where things are, and how to run programs."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "libpolygrad.so"

NO_NETWORK = re.compile(
    r"Failed to establish a new connection|name resolution|Could not resolve|Network is unreachable"
    r"|ConnectTimeout|EAI_AGAIN|ENOTFOUND|ENETUNREACH|ECONNREFUSED"
)
COMPILER = re.compile(
    r"(.*-)?(gcc|g\+\+|cpp|clang|clang\+\+|ld|as|gold)(-[\d.]+)?|cc|c\+\+|c\d\d|go"
)


def output(
    command: Sequence[object], cwd: Path | None = None, env: dict[str, str] | None = None
) -> str:
    """Run a program; return what it printed. It must not fail, but for a lack of network."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd, env=env)
    if done.returncode != 0 and NO_NETWORK.search(done.stdout + done.stderr):
        pytest.skip(f"no network for {words[0]}")
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


def digits() -> str:
    """Return the table of handwritten digits."""
    with gzip.open(ROOT / "examples" / "data" / "digits.csv.gz", "rt") as file:
        return file.read()


def without_compilers(folder: Path) -> Path:
    """Fill a folder with links to the programs of this system except those that compile."""
    folder.mkdir()
    for path in os.environ["PATH"].split(os.pathsep):
        for program in Path(path).glob("*"):
            link = folder / program.name
            if not COMPILER.fullmatch(program.name) and not link.is_symlink():
                link.symlink_to(program)
    return folder


def blocks(readme: Path, language: str) -> list[str]:
    """Return the examples of a README in a language; there must be one."""
    pattern = rf"^```{language}\n(.*?)^```"
    found: list[str] = re.findall(pattern, readme.read_text(), re.DOTALL | re.MULTILINE)
    assert found, f"{readme} has no example in {language}"
    return found


@dataclass(frozen=True)
class Place:
    """An empty folder in which one package was installed, and how to run a program there."""

    folder: Path
    environment: dict[str, str]

    def run(self, *command: object) -> str:
        """Run a program without a compiler in reach; return what it printed."""
        return output(command, cwd=self.folder, env=self.environment)
