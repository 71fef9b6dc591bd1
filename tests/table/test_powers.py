"""Powers of float32: products in float64 for small whole exponents, else 2**(y*log2(x))."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polygrad import Tensor

Array = np.ndarray[Any, Any]


def units(got: Array, want: Array) -> float:
    """Return the greatest error in units in the last place."""
    rounded = want.astype(np.float32)
    usual = np.isfinite(rounded) & (np.abs(rounded) > 1e-37)
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(rounded))
    errors = np.abs(got[usual].astype(np.float64) - want[usual]) / np.spacing(
        np.abs(rounded[usual])
    )
    return float(errors.max())


@pytest.mark.parametrize("exponent", [4, 5, 7, 16, 31, 64, -4, -9, -64])
def test_whole_exponents(exponent: int) -> None:
    x = np.exp2(np.random.default_rng(1).uniform(-120, 120, 20000) / abs(exponent))
    x = np.concatenate([x, -x]).astype(np.float32)
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.float64), exponent)
    assert units((Tensor(x) ** exponent).numpy(), want) <= 0.5001


def test_small_whole_numbers_are_exact() -> None:
    x, y = (g.ravel().astype(np.float32) for g in np.mgrid[-12:13, 0:7])
    np.testing.assert_array_equal((Tensor(x) ** Tensor(y)).numpy(), x.astype(np.float64) ** y)


def test_gradients_are_those_of_products() -> None:
    x = Tensor([0.5, -1.5, 2.0], requires_grad=True)
    (x**5).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 5 * np.array([0.5, -1.5, 2.0]) ** 4, rtol=1e-6)
