"""Random programs of the public interface, with numpy as the oracle.

A program is a list of steps: a line of Python on Tensors named v0, v1, ..., and a function that
does the same to the arrays of the oracle. A step without a single right answer (overflow of
int32, a number outside of a type's range) raises Reject and is left out.

    cd bindings/python/tests
    python -m programs 3000        # many programs, from seed 0
    python -m programs 1 1234      # the program of seed 1234
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[4] / "tests" / "table"))

from programs.generator import generate
from programs.printer import text
from programs.shrinker import problem, shrunk


def failure(seed: int) -> str:
    """Return the problem of the program of a seed, shortened; empty where it passes."""
    steps = generate(seed)
    if not problem(steps):
        return ""
    steps = shrunk(steps)
    return f"seed {seed}: {problem(steps)}\n{text(steps)}\n"
