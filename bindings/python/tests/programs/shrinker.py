"""Runs a program on the library, and shortens one that fails."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from polygrad import Tensor
from programs.oracle import Reject, Step, expectations


def problem(steps: list[Step]) -> str:
    """Run a program; return its error or its first wrong value, else an empty string."""
    expected = iter(expectations(steps))

    def check(tensor: Tensor) -> None:
        want, error = next(expected)
        got = tensor.numpy()
        assert got.dtype == want.dtype, f"is {got.dtype}, expected {want.dtype}"
        if not error:
            np.testing.assert_array_equal(got, want)
        else:
            assert got.shape == want.shape
            wide = got.astype(np.float64), want.astype(np.float64)
            np.testing.assert_allclose(*wide, rtol=0, atol=error)

    def check_gradient(tensor: Tensor) -> None:
        assert tensor.grad is not None
        np.testing.assert_allclose(tensor.grad.numpy(), next(expected)[0], rtol=1e-2, atol=1e-2)

    scope: dict[str, Any] = {
        "np": np,
        "Tensor": Tensor,
        "operator": operator,
        "check": check,
        "check_gradient": check_gradient,
    }
    for step in steps:
        try:
            exec(step.line, scope)
        except Exception as error:
            return f"{step.line}: {type(error).__name__}: {error}"
    return ""


def shrunk(steps: list[Step]) -> list[Step]:
    """Remove the steps that a failing program does not need to fail."""
    size = max(1, len(steps) // 2)
    while size:
        for i in range(len(steps) - size, -1, -size):  # consumers before producers
            fewer = steps[:i] + steps[i + size :]
            try:
                found = problem(fewer)
            except (KeyError, Reject, IndexError, ValueError):
                continue
            if found and "NameError" not in found and graded(fewer):
                steps = fewer
        size //= 2
    return steps


def graded(steps: list[Step]) -> bool:
    """Report whether each check of a gradient still has its backward()."""
    lines = " ".join(step.line for step in steps)
    return ("check_gradient(" in lines) == (".backward()" in lines)
