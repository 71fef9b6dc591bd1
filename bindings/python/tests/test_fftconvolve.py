"""Convolutions by Fourier transforms."""

import itertools

import numpy as np
import pytest
from numeric import check_gradient

from polygrad import Tensor, fft

RNG = np.random.default_rng(6)
SHAPES = [
    ((5,), (3,), None),
    ((3,), (7,), None),
    ((1,), (1,), None),
    ((101,), (30,), None),
    ((4, 9), (4, 3), None),
    ((8, 9), (3, 4), (0, 1)),
    ((4, 9), (1, 3), (1,)),
    ((2, 5), (2, 8), (-1,)),
    ((3, 7, 6), (3, 4, 2), (1, 2)),
]


def sums(x, y, mode, axes):
    """Convolve by the definition."""
    axes = [a % x.ndim for a in (range(x.ndim) if axes is None else axes)]
    size = [n + m - 1 if i in axes else max(n, m) for i, (n, m) in enumerate(zip(x.shape, y.shape))]
    out = np.zeros(size, np.result_type(x, y))
    for place in itertools.product(*(range(y.shape[a]) for a in axes)):
        one = tuple(
            slice(place[axes.index(i)], place[axes.index(i)] + 1) if i in axes else slice(None)
            for i in range(x.ndim)
        )
        to = tuple(
            slice(place[axes.index(i)], place[axes.index(i)] + x.shape[i])
            if i in axes
            else slice(None)
            for i in range(x.ndim)
        )
        out[to] += x * y[one]
    for a in axes:
        n, m = x.shape[a], y.shape[a]
        lo, count = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n)}.get(
            mode, (min(n, m) - 1, abs(n - m) + 1)
        )
        out = out.take(range(lo, lo + count), a)
    return out


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_fftconvolve(mode, dtype):
    for one, other, axes in SHAPES:
        x, y = (RNG.normal(size=s).astype(dtype) for s in (one, other))
        if dtype.startswith("c"):
            x, y = x + 1j * x[::-1], y - 2j * y
        got = fft.fftconvolve(Tensor(x), Tensor(y), mode, axes).numpy()
        want = sums(x, y, mode, axes)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert np.abs(got - want).max() <= 20 * np.finfo(dtype).eps * np.abs(want).max()


def test_derivatives_and_errors():
    x, y = RNG.normal(size=(5, 4)), RNG.normal(size=(2, 3))
    for mode in ("full", "same", "valid"):
        check_gradient(lambda a, b, m=mode: (fft.fftconvolve(a, b, m) ** 2).sum(), x, y)
    assert fft.fftconvolve(Tensor([1, 2]), Tensor([1, 1])).tolist() == [1.0, 3.0, 2.0]
    assert (
        fft.fftconvolve(Tensor(np.ones(3, "float16")), Tensor(np.ones(2, "float16"))).dtype
        == "float16"
    )
    for call, says in (
        (lambda: fft.fftconvolve(Tensor(x), Tensor(y[0])), "y: has shape"),
        (lambda: fft.fftconvolve(Tensor(x), Tensor(y), "half"), "mode"),
        (lambda: fft.fftconvolve(Tensor(x), Tensor(y), axes=(0,)), "equal sizes along axis 1"),
        (lambda: fft.fftconvolve(Tensor(x), Tensor(np.ones((2, 9))), "valid"), "at least as large"),
        (lambda: fft.fftconvolve(Tensor(x), Tensor(np.ones((0, 4)))), "one element or more"),
    ):
        with pytest.raises(ValueError, match=says):
            call()
