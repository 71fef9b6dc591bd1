"""Programs on the device reference: tinygrad's kernels, and values from the public interface."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

COMPARE = Path(__file__).parent / "parity" / "programs" / "compare.py"

# Operations that users get composed otherwise than tinygrad composes them.
COMPOSED = """
from polygrad import Tensor
from polygrad.device import Device
x = Tensor([-1.0, 0.0, float("nan"), 2.5])
print(Device.backend, x.relu().tolist(), x.abs().tolist(), (x <= 1).tolist(), x.argmax().item())
"""


def run(device: str) -> str:
    """Return what the program prints on a device."""
    environment = {**os.environ, "POLY_DEVICE": device}
    command = [sys.executable, "-c", COMPOSED]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def test_kernels_of_programs_are_tinygrads_but_for_known_reasons():
    done = subprocess.run([sys.executable, COMPARE], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
    found = re.search(r"programs (\d+)/(\d+), (\d+) differ", done.stdout)
    assert found, done.stdout
    equal, whole, known = map(int, found.groups())
    assert equal + known == whole
    page = " ".join((COMPARE.parents[3] / "docs" / "guide" / "numerics.md").read_text().split())
    assert (
        f"Of {whole} programs in the interface that both share, the kernels of {equal} are" in page
    )
    assert f"for the other {known} " in page


def test_only_the_reference_composes_as_tinygrad_does():
    # tinygrad's forms lose NaN: relu makes it 0, x <= 1 is true, argmax is one too far.
    assert (
        run("interp")
        == "interp [0.0, 0.0, nan, 2.5] [1.0, 0.0, nan, 2.5] [True, True, False, False] 2"
    )
    assert run("reference").startswith("reference [0.0, 0.0, 0.0, 2.5]")
