"""Programs and their numbers as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from programs.oracle import Step, expectations


def literal(array: np.ndarray) -> str:
    more = f".reshape{array.shape}" if not array.size else ""
    text = f"np.array({array.tolist()!r}, {array.dtype.name!r}){more}"
    return text.replace("inf", "np.inf").replace("nan", "np.nan")


def number(x: Any) -> str:
    """Return a number as text."""
    x = x.item() if isinstance(x, (np.generic, np.ndarray)) else x
    if isinstance(x, float) and not np.isfinite(x):
        return f'float("{x}")'
    return repr(x)


def text(steps: list[Step]) -> str:
    """Return a program that runs without the oracle."""
    expected = iter(expectations(steps))
    lines = ["import operator", "import numpy as np", "from polygrad import Tensor"]
    for step in steps:
        line = step.line
        if line.startswith("check("):
            want, error = next(expected)
            call = f"np.testing.assert_allclose({line[6:-1]}.numpy(), {literal(want)}"
            line = f"{call}, rtol=0, atol={error})"
        elif line.startswith("check_gradient("):
            line = f"print({line[15:-1]}.grad.numpy(), {literal(next(expected)[0])})"
        lines.append(line)
    return "\n".join(lines)
