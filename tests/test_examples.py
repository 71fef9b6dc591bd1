"""The examples run, and do what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_digits_reaches_its_accuracy_and_draws(tmp_path: Path) -> None:
    picture = tmp_path / "digits.png"
    command = [sys.executable, str(ROOT / "examples" / "digits.py"), "--picture", str(picture)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    last_line = done.stdout.splitlines()[-1]
    accuracy = re.fullmatch(r"test accuracy: (\d\.\d{4})", last_line)
    assert accuracy, last_line
    assert float(accuracy.group(1)) >= 0.97
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "loss=" in done.stderr, "the progress bar shows the loss"
