"""What the tests of the packages share: where things are, and how to run programs."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "libpolygrad.so"


def output(command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a program; return what it printed. It must not fail."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=env)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


NO_NETWORK = re.compile(
    r"Failed to establish a new connection|name resolution|Could not resolve|Network is unreachable"
    r"|ConnectTimeout|EAI_AGAIN|ENOTFOUND|ENETUNREACH|ECONNREFUSED"
)


def skip_without_network(done: subprocess.CompletedProcess[str]) -> None:
    """Skip the test if a program failed because it could not reach its registry."""
    if done.returncode != 0 and NO_NETWORK.search(done.stdout + done.stderr):
        pytest.skip(f"no network for {done.args[0]}")


def digits() -> str:
    """Return the table of handwritten digits."""
    with gzip.open(ROOT / "examples" / "data" / "digits.csv.gz", "rt") as file:
        return file.read()


def bare_environment(*folders: Path) -> dict[str, str]:
    """Return an environment with these folders as PATH, in which no compiler is found."""
    path = os.pathsep.join(str(folder) for folder in folders)
    return {"PATH": path, "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}


def first_block(readme: Path, language: str) -> str:
    """Return the first example of a README in a language."""
    block = re.search(rf"^```{language}\n(.*?)^```", readme.read_text(), re.DOTALL | re.MULTILINE)
    assert block, f"{readme} has no example in {language}"
    return block.group(1)
