"""polygrad.fft against numpy.fft: lengths, axes, norms, derivatives and batches."""

from __future__ import annotations

import numpy as np
import pytest

from polygrad import Tensor, fft
from polygrad.func import grad, jvp, vmap

LENGTHS = [1, 2, 3, 4, 5, 8, 12, 16, 17, 31, 32, 61, 64, 67, 97, 128, 131, 210, 1000, 1009, 1024]
EXACT = {"float32": 2e-6, "float64": 2e-14}


def numbers(*shape: int, dtype: str = "float64") -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    z = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return z.astype("complex64" if dtype == "float32" else "complex128")


def planes(z: np.ndarray) -> tuple[Tensor, Tensor]:
    return Tensor(np.ascontiguousarray(z.real)), Tensor(np.ascontiguousarray(z.imag))


def complex_of(z: tuple[Tensor, Tensor]) -> np.ndarray:
    return z[0].numpy() + 1j * z[1].numpy()


def same(got: np.ndarray, want: np.ndarray, error: float) -> None:
    assert got.shape == want.shape
    assert np.linalg.norm(got - want) <= error * np.linalg.norm(want)


@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("n", LENGTHS)
def test_transforms_along_an_axis(n: int, dtype: str) -> None:
    x, error = numbers(2, n, 3, dtype=dtype), EXACT[dtype]
    exact = x.astype("complex128")
    last, real = np.ascontiguousarray(np.moveaxis(x, 1, 2)), np.ascontiguousarray(x.real)
    half = np.ascontiguousarray(x[:, : n // 2 + 1])
    for norm in ("backward", "ortho", "forward"):
        same(
            complex_of(fft.fft(*planes(x), axis=1, norm=norm)),
            np.fft.fft(exact, axis=1, norm=norm),
            error,
        )
        same(complex_of(fft.ifft(*planes(last), norm=norm)), np.fft.ifft(last, norm=norm), error)
        same(
            complex_of(fft.rfft(Tensor(real), axis=1, norm=norm)),
            np.fft.rfft(exact.real, axis=1, norm=norm),
            error,
        )
        same(
            fft.irfft(*planes(half), n=n, axis=1, norm=norm).numpy(),
            np.fft.irfft(half.astype("complex128"), n=n, axis=1, norm=norm),
            error,
        )
        same(
            fft.hfft(*planes(half), n=n, axis=1, norm=norm).numpy(),
            np.fft.hfft(half, n=n, axis=1, norm=norm),
            error,
        )
        same(
            complex_of(fft.ihfft(Tensor(real), axis=1, norm=norm)),
            np.fft.ihfft(real, axis=1, norm=norm),
            error,
        )
    assert fft.fft(*planes(x))[0].dtype == dtype
    same(complex_of(fft.fft(*planes(last), n=n + 3)), np.fft.fft(last, n=n + 3), error)
    same(
        complex_of(fft.rfft(Tensor(real), n=max(n - 2, 1), axis=1)),
        np.fft.rfft(real, n=max(n - 2, 1), axis=1),
        error,
    )
    same(complex_of(fft.fft(Tensor(real), axis=1)), np.fft.fft(real, axis=1), error)


def test_transforms_over_axes() -> None:
    x = numbers(4, 6, 10)
    real = np.ascontiguousarray(x.real)
    for name in ("fft2", "ifft2", "fftn", "ifftn"):
        for options in ({}, {"axes": (0, 2)}, {"s": (5, 8), "axes": (2, 0)}, {"norm": "ortho"}):
            got = complex_of(getattr(fft, name)(*planes(x), **options))
            same(got, getattr(np.fft, name)(x, **options), 1e-14)
    for name in ("rfft2", "rfftn"):
        got = complex_of(getattr(fft, name)(Tensor(real), s=(5, 8), axes=(0, 1)))
        same(got, getattr(np.fft, name)(real, s=(5, 8), axes=(0, 1)), 1e-14)
        same(complex_of(getattr(fft, name)(Tensor(real))), getattr(np.fft, name)(real), 1e-14)
    for name in ("irfft2", "irfftn"):
        same(getattr(fft, name)(*planes(x)).numpy(), getattr(np.fft, name)(x), 1e-14)
        got = getattr(fft, name)(*planes(x), s=(4, 9), axes=(1, 2)).numpy()
        same(got, getattr(np.fft, name)(x, s=(4, 9), axes=(1, 2)), 1e-14)
    assert [t.shape for t in fft.fft(Tensor.zeros(0, 4))] == [(0, 4)] * 2
    assert fft.irfft(Tensor.zeros(0, 4)).shape == (0, 6)


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
    """The transform is linear: its gradient is the transform with the conjugate roots."""
    x, w = numbers(n), numbers(n + 100)[:n]
    re, im = planes(x)
    u, v = planes(w)

    def loss(re: Tensor, im: Tensor) -> Tensor:
        a, b = fft.fft(re, im)
        return (a * u + b * v).sum()

    back = np.fft.ifft(w, norm="forward")
    got = grad(loss, argnums=(0, 1))(re, im)
    same(got[0].numpy() + 1j * got[1].numpy(), back, 1e-13)
    _, tangents = jvp(fft.fft, (re, im), (u, v))
    same(complex_of(tangents), np.fft.fft(w), 1e-13)
    half = n // 2 + 1
    tangent = jvp(lambda x: fft.irfft(*fft.rfft(x), n=n), (re,), (u,))[1]
    same(tangent.numpy(), w.real, 1e-13)
    got = grad(lambda x: (fft.rfft(x)[0] * u[:half]).sum())(re).numpy()
    rows = np.fft.rfft(np.eye(n)).real
    same(got, rows @ w.real[:half], 1e-12)
    many = numbers(3, n)
    same(complex_of(vmap(fft.fft)(*planes(many))), np.fft.fft(many), 1e-13)
    same(
        complex_of(vmap(fft.rfft, in_axes=1)(Tensor(many.real.T.copy()))),
        np.fft.rfft(many.real),
        1e-13,
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fft.fft(Tensor(1.0)), "fft.fft: x: is a scalar, expected 1 dimension or more"),
        (
            lambda: fft.fft(Tensor([1.0, 2.0]), Tensor([1.0])),
            r"fft.fft: imag: has shape \(1\), expected that of the real part, \(2\)",
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
        (lambda: fft.fftfreq(0), "fft.fftfreq: n: 0, expected 1 or more"),
        (lambda: fft.rfftfreq(3, d=0), "fft.rfftfreq: d: 0, expected a spacing other than 0"),
    ],
)
def test_refusals(call, message: str) -> None:
    with pytest.raises((ValueError, IndexError), match=message):
        call()
