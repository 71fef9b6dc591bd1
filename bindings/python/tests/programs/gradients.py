"""The gradient of a program, checked against finite differences of the oracle."""

from __future__ import annotations

import numpy as np

from programs.choices import Choices
from programs.oracle import Reject, State, Step, inexact


def gradient(g: Choices) -> list[Step]:
    """Return the steps that compare the gradient of a sum with finite differences."""
    leaf = next((n for n, v in g.state.values.items() if v.tracked), "")
    ends = [
        n
        for n, v in g.state.values.items()
        if v.tracked and not v.steps and n != leaf and g.dtype(n) == "float64"
    ]
    if not ends:
        return []
    end = ends[-1]
    before = list(g.steps)

    def run(state: State) -> None:
        data = state.values[leaf].array
        slopes = np.zeros(data.size)
        base = replayed(before, leaf, data, end)
        if not abs(base) < 2.0**36:
            raise Reject  # differences are lost
        for i in range(data.size):
            sides = []
            for h in (2.0**-12, -(2.0**-12)):
                moved = data.copy().reshape(-1)
                moved[i] += h
                try:
                    value = replayed(before, leaf, moved.reshape(data.shape), end)
                except (IndexError, ValueError) as error:
                    raise Reject from error  # the leaf decides an index or a shape
                sides.append((value - base) / h)
            if not abs(sides[0] - sides[1]) <= 0.02 * (1 + abs(sides[0])):
                raise Reject  # at an edge
            slopes[i] = sum(sides) / 2
        state.expected.append((slopes.reshape(data.shape), 0.0))

    return [
        Step(f"{end}.sum().backward()", lambda state: None),
        Step(f"check_gradient({leaf})", run),
    ]


def replayed(steps: list[Step], leaf: str, data: np.ndarray, end: str) -> float:
    """Return the sum of variable end where variable leaf holds other data."""
    state = State()
    with inexact():
        for step in steps:
            step.run(state)
            if step.line.startswith(f"{leaf} = "):
                state.values[leaf].root.flat = data.reshape(-1).copy()
        return float(state.values[end].array.sum())
