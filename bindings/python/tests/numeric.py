"""What the tests of operations share: comparison with numpy and finite differences."""

from __future__ import annotations

import os
from typing import Any, Callable

import numpy as np

from polygrad import Tensor

GPU = os.environ.get("POLY_DEVICE") == "webgpu"
RNG = np.random.default_rng(0)


def close(got: Any, want: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Compare values, and that the shapes are equal."""
    got = np.asarray(got.numpy() if isinstance(got, Tensor) else got)
    want = np.asarray(want)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    np.testing.assert_allclose(
        got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=atol
    )


def check_gradient(
    function: Callable[..., Tensor], *arrays: np.ndarray, eps: float = 1e-5, rtol: float = 1e-5
) -> None:
    """Compare gradients with central differences, both in float64.

    The result is weighed with fixed numbers, so that every element of the result counts.
    """
    arrays = tuple(np.array(a, dtype=np.float64) for a in arrays)
    tensors = [Tensor(a.copy(), requires_grad=True) for a in arrays]
    out = function(*tensors)
    weight = np.random.default_rng(1).uniform(0.5, 1.5, out.shape)

    def value(*values: np.ndarray) -> float:
        result = function(*[Tensor(v.copy()) for v in values]).numpy()
        return float((result * weight).sum())

    (out * Tensor(weight)).sum().backward()
    for i, (array, tensor) in enumerate(zip(arrays, tensors)):
        want = np.zeros_like(array)
        for at in np.ndindex(array.shape):
            step = [a.copy() for a in arrays]
            step[i][at] += eps
            above = value(*step)
            step[i][at] -= 2 * eps
            want[at] = (above - value(*step)) / (2 * eps)
        assert tensor.grad is not None, f"argument {i} has no gradient"
        scale = max(1.0, float(np.abs(want).max(initial=0)))
        close(tensor.grad, want, rtol=rtol, atol=1e-6 * scale)
