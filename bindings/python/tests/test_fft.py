"""polygrad.fft against numpy.fft: lengths, axes, norms, derivatives and batches."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from turns import part

from polygrad import Tensor, fft
from polygrad.func import grad, jvp, vmap

LENGTHS = [1, 2, 3, 4, 5, 8, 12, 16, 17, 31, 32, 61, 64, 67, 97, 128, 131, 210, 1000, 1009, 1024]
EXACT = {"float32": 2e-6, "float64": 2e-14}


def numbers(*shape: int, dtype: str = "float64") -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    z = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return z.astype("complex64" if dtype == "float32" else "complex128")


def same(got: np.ndarray, want: np.ndarray, error: float) -> None:
    assert got.shape == want.shape
    assert np.linalg.norm(got - want) <= error * np.linalg.norm(want)


@pytest.mark.parametrize(("n", "dtype"), part(product(LENGTHS, EXACT)))
def test_transforms_along_an_axis(n: int, dtype: str) -> None:
    x, error = numbers(2, n, 3, dtype=dtype), EXACT[dtype]
    exact = x.astype("complex128")
    last, real = np.ascontiguousarray(np.moveaxis(x, 1, 2)), np.ascontiguousarray(x.real)
    half = np.ascontiguousarray(x[:, : n // 2 + 1])
    for norm in ("backward", "ortho", "forward"):
        same(
            fft.fft(Tensor(x), axis=1, norm=norm).numpy(),
            np.fft.fft(exact, axis=1, norm=norm),
            error,
        )
        same(fft.ifft(Tensor(last), norm=norm).numpy(), np.fft.ifft(last, norm=norm), error)
        same(
            fft.rfft(Tensor(real), axis=1, norm=norm).numpy(),
            np.fft.rfft(exact.real, axis=1, norm=norm),
            error,
        )
        same(
            fft.irfft(Tensor(half), n=n, axis=1, norm=norm).numpy(),
            np.fft.irfft(half.astype("complex128"), n=n, axis=1, norm=norm),
            error,
        )
        same(
            fft.hfft(Tensor(half), n=n, axis=1, norm=norm).numpy(),
            np.fft.hfft(half, n=n, axis=1, norm=norm),
            error,
        )
        same(
            fft.ihfft(Tensor(real), axis=1, norm=norm).numpy(),
            np.fft.ihfft(real, axis=1, norm=norm),
            error,
        )
    assert fft.fft(Tensor(x)).dtype == x.dtype.name
    same(fft.fft(Tensor(last), n=n + 3).numpy(), np.fft.fft(last, n=n + 3), error)
    same(
        fft.rfft(Tensor(real), n=max(n - 2, 1), axis=1).numpy(),
        np.fft.rfft(real, n=max(n - 2, 1), axis=1),
        error,
    )
    same(fft.fft(Tensor(real), axis=1).numpy(), np.fft.fft(real, axis=1), error)


def test_transforms_over_axes() -> None:
    x = numbers(4, 6, 10)
    real = np.ascontiguousarray(x.real)
    for name in ("fft2", "ifft2", "fftn", "ifftn"):
        for options in ({}, {"axes": (0, 2)}, {"s": (5, 8), "axes": (2, 0)}, {"norm": "ortho"}):
            got = getattr(fft, name)(Tensor(x), **options).numpy()
            same(got, getattr(np.fft, name)(x, **options), 1e-14)
    for name in ("rfft2", "rfftn"):
        got = getattr(fft, name)(Tensor(real), s=(5, 8), axes=(0, 1)).numpy()
        same(got, getattr(np.fft, name)(real, s=(5, 8), axes=(0, 1)), 1e-14)
        same(getattr(fft, name)(Tensor(real)).numpy(), getattr(np.fft, name)(real), 1e-14)
    for name in ("irfft2", "irfftn"):
        same(getattr(fft, name)(Tensor(x)).numpy(), getattr(np.fft, name)(x), 1e-14)
        got = getattr(fft, name)(Tensor(x), s=(4, 9), axes=(1, 2)).numpy()
        same(got, getattr(np.fft, name)(x, s=(4, 9), axes=(1, 2)), 1e-14)
    assert fft.fft(Tensor.zeros(0, 4)).shape == (0, 4)
    assert fft.irfft(Tensor.zeros(0, 4)).shape == (0, 6)


@pytest.mark.parametrize(
    "shape, axis", [((1021, 600), 1), ((3, 1000, 250), 1), ((900, 700), 0), ((2, 640, 600), -2)]
)
def test_batches_larger_than_the_cache(shape: tuple[int, ...], axis: int) -> None:
    x = numbers(*shape, dtype="float32")
    same(fft.fft(Tensor(x), axis=axis).numpy(), np.fft.fft(x, axis=axis), 2e-6)
    same(fft.ifft(Tensor(x), axis=axis).numpy(), np.fft.ifft(x, axis=axis), 2e-6)
    same(fft.fft(Tensor(x.real.copy()), axis=axis).numpy(), np.fft.fft(x.real, axis=axis), 2e-6)
    twice = fft.fft(fft.fft(Tensor(x), axis=axis), axis=axis)
    same(twice.numpy(), np.fft.fft(np.fft.fft(x, axis=axis), axis=axis), 2e-6)
    weights = numbers(*shape, dtype="float32").real.copy()
    got = grad(lambda t: (fft.fft(t, axis=axis).real * Tensor(weights)).sum())(Tensor(x.real))
    same(got.numpy(), np.fft.fft(weights, axis=axis).real, 2e-6)


def test_frequencies_and_shifts() -> None:
    for n in (1, 2, 5, 8):
        np.testing.assert_allclose(fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5), 1e-6)
        np.testing.assert_allclose(fft.rfftfreq(n, d=2).numpy(), np.fft.rfftfreq(n, 2), 1e-6)
    x = np.arange(30.0).reshape(5, 6)
    for axes in (None, 0, (1,), (0, 1)):
        for name in ("fftshift", "ifftshift"):
            got = getattr(fft, name)(Tensor(x), axes=axes).numpy()
            np.testing.assert_array_equal(got, getattr(np.fft, name)(x, axes=axes))


@pytest.mark.parametrize("n", [8, 9, 67])
def test_derivatives_and_batches(n: int) -> None:
    """The transform is linear: its gradient is the transform of the cotangent, as JAX has it."""
    x, w = numbers(n), numbers(n + 100)[:n]
    z, u = Tensor(x), Tensor(w)
    real = Tensor(x.real.copy())
    got = grad(lambda z: (fft.fft(z) * u).sum().real)(z)
    same(got.numpy(), np.fft.fft(w), 1e-13)
    got = grad(lambda z: (fft.ifft(z) * u).sum().real)(z)
    same(got.numpy(), np.fft.ifft(w), 1e-13)
    z.requires_grad = True
    (fft.fft(z) * u).sum().real.backward()
    same(z.grad.numpy(), np.fft.fft(w), 1e-13)
    z.requires_grad = False
    _, tangent = jvp(fft.fft, (z,), (u,))
    same(tangent.numpy(), np.fft.fft(w), 1e-13)
    half = n // 2 + 1
    tangent = jvp(lambda x: fft.irfft(fft.rfft(x), n=n), (real,), (u.real,))[1]
    same(tangent.numpy(), w.real, 1e-13)
    got = grad(lambda x: (fft.rfft(x).real * u.real[:half]).sum())(real).numpy()
    rows = np.fft.rfft(np.eye(n)).real
    same(got, rows @ w.real[:half], 1e-12)
    many = numbers(3, n)
    same(vmap(fft.fft)(Tensor(many)).numpy(), np.fft.fft(many), 1e-13)
    rows = Tensor(many.real.T.copy())
    same(vmap(fft.rfft, in_axes=1)(rows).numpy(), np.fft.rfft(many.real), 1e-13)


def test_values_at_quarters_are_exact() -> None:
    x = np.arange(1.0, 9.0)
    got = fft.fft(Tensor(x)).numpy()
    assert got[4] == -4
    assert got[0] == 36
    assert fft.rfft(Tensor(x[:4], dtype="float32")).numpy().tolist() == [10, -2 + 2j, -2]


def test_infinite_and_missing_numbers_spread_along_their_axis_only() -> None:
    x = np.ones((3, 8))
    x[0, 2], x[1, 5] = np.inf, np.nan
    got = fft.rfft(Tensor(x)).numpy()
    assert np.isnan(got[:2]).all()
    same(got[2], np.fft.rfft(x[2]), 1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fft.fft(Tensor(1.0)), "fft.fft: a: is a scalar, expected 1 dimension or more"),
        (
            lambda: fft.rfft(Tensor([1.0j])),
            "fft.rfft: a: is complex64, expected real numbers",
        ),
        (
            lambda: fft.rfftn(Tensor([1.0j])),
            "fft.rfftn: a: is complex64, expected real numbers",
        ),
        (lambda: fft.fft(Tensor([1.0]), n=0), "fft.fft: n: 0, expected 1 or more"),
        (
            lambda: fft.fft(Tensor([1.0]), axis=3),
            "fft.fft: axis: 3 is out of range for 1 dimensions",
        ),
        (lambda: fft.fft(Tensor([1.0]), norm="x"), 'fft.fft: norm: "x", expected one of'),
        (
            lambda: fft.fftn(Tensor([1.0]), s=(2, 2)),
            "fft.fftn: s: has 2 sizes, expected at most one for each of 1",
        ),
        (
            lambda: fft.rfft2(Tensor([[1.0]]), s=(0, 2)),
            "fft.rfft2: s: has the size 0, expected 1 or more",
        ),
        (
            lambda: fft.fftfreq(4, dtype="int32"),
            "fft.fftfreq: dtype: int32?, expected a floating type",
        ),
        (lambda: fft.fftfreq(0), "fft.fftfreq: n: 0, expected 1 or more"),
        (lambda: fft.rfftfreq(3, d=0), "fft.rfftfreq: d: 0, expected a spacing other than 0"),
    ],
)
def test_refusals(call, message: str) -> None:
    with pytest.raises((TypeError, ValueError, IndexError), match=message):
        call()
