"""Programs of their own, which end or die as they should."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import polygrad

PACKAGE = Path(polygrad.__file__).parent


def run(program: str, **environment: str) -> subprocess.CompletedProcess:
    """Run a program with this package."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), **environment},
    )


def check(program: str, **environment: str) -> str:
    """Return what a program prints that must not fail."""
    done = run(program, **environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout
