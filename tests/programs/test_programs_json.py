"""The file is what its generator writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def test_the_file_is_generated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run the generator into another place and compare."""
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "programs.json"
    code = f"import pathlib, generate; generate.PATH = pathlib.Path({str(out)!r}); generate.main()"
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(HERE)}, check=True)
    assert json.loads(out.read_text()) == json.loads((HERE.parent / "programs.json").read_text())
