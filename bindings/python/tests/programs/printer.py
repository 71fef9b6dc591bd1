"""Programs and their numbers as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from programs.oracle import Step, expectations


def literal(array: np.ndarray) -> str:
    return f"np.array({array.tolist()!r}, {array.dtype.name!r})".replace("inf", "np.inf")


def number(x: Any) -> str:
    """Return a number as text."""
    x = x.item() if isinstance(x, (np.generic, np.ndarray)) else x
    if isinstance(x, float) and np.isinf(x):
        return f'float("{x}")'
    return repr(x)


def text(steps: list[Step]) -> str:
    """Return a program that runs without the oracle."""
    expected = iter(expectations(steps))
    lines = ["import numpy as np", "from polygrad import Tensor"]
    for step in steps:
        line = step.line
        if line.startswith("check("):
            line = f"np.testing.assert_array_equal({line[6:-1]}.numpy(), {literal(next(expected))})"
        elif line.startswith("check_gradient("):
            line = f"print({line[15:-1]}.grad.numpy(), {literal(next(expected))})"
        lines.append(line)
    return "\n".join(lines)
