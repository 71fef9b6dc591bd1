"""Derivatives where they are easily wrong, against float64 differences and JAX.

What is taken where a function has no derivative is stated here, and in docs/guide/functions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest
import torch
from jax import numpy as jnp

from polygrad import Tensor, fft, lax, linalg
from polygrad import numpy as pn
from polygrad.func import grad, jacfwd, jacrev, jvp

INF, NAN = float("inf"), float("nan")
RNG = np.random.default_rng(3)
COMPLEX = np.exp(1j * np.arange(5))


@pytest.fixture(autouse=True)
def _types_of_64_bits() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def array(x: Any) -> np.ndarray:
    return np.asarray(x.numpy() if isinstance(x, Tensor) else x)


def differences(f: Callable[[Tensor], Tensor], x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Return the Jacobian by central differences in float64."""
    columns = []
    for i in range(x.size):
        e = np.zeros(x.size)
        e[i] = step
        e = e.reshape(x.shape)
        ends = [array(f(Tensor(x + s * e))) for s in (1, -1)]
        columns.append((ends[0] - ends[1]) / (2 * step))
    return np.stack(columns, -1).reshape(*columns[0].shape, *x.shape)


def both(f: Callable[[Tensor], Tensor], x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return array(jacfwd(f)(Tensor(x))), array(jacrev(f)(Tensor(x)))


def separate(n: int) -> np.ndarray:
    """Return a symmetric matrix whose eigenvalues lie apart."""
    q = np.linalg.qr(RNG.normal(size=(n, n)))[0]
    return q @ np.diag(np.arange(1.0, n + 1)) @ q.T


SQUARE, TALL, WIDE = RNG.normal(size=(4, 4)), RNG.normal(size=(5, 3)), RNG.normal(size=(3, 5))
POSITIVE = separate(4)
B = RNG.normal(size=(4, 2))


def symmetric(x: Any) -> Any:
    return (x + x.T) / 2


# Functions with a derivative there: by differences. Both modes, and the second derivative too.
SMOOTH: dict[str, tuple[Callable[[Tensor], Tensor], np.ndarray]] = {
    "x ** 2 at 0": (lambda x: x**2, np.array([0.0, -1.5, 2.0])),
    "x ** 3 at 0": (lambda x: x**3, np.array([0.0, -1.5, 2.0])),
    "x ** 0 at 0": (lambda x: x**0, np.array([0.0, -1.5, 2.0])),
    "x ** 2.0 as a tensor": (lambda x: x ** Tensor(np.array(2.0)), np.array([0.0, -1.5, 2.0])),
    "prod": (lambda x: x.prod(), np.array([1.5, -2.0, 0.5])),
    "prod with a zero": (lambda x: x.prod(), np.array([1.5, 0.0, 0.5])),
    "prod with two zeros": (lambda x: x.prod(), np.array([0.0, 0.0, 0.5])),
    "prod along an axis": (lambda x: x.prod(1), np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]])),
    "cumprod": (lambda x: x.cumprod(0), np.array([1.5, -2.0, 0.5])),
    "cumprod with zeros": (lambda x: x.cumprod(0), np.array([2.0, 0.0, 3.0, 0.0, 5.0])),
    "lax.cumprod in reverse": (lambda x: lax.cumprod(x, 0, True), np.array([2.0, 0.0, 3.0, 5.0])),
    "logcumsumexp": (lambda x: x.logcumsumexp(0), np.array([-1.0, 700.0, 699.0, -700.0])),
    "logsumexp": (lambda x: x.logsumexp(), np.array([-700.0, 1.0, 2.0])),
    "norm": (lambda x: x.square().sum().sqrt(), np.array([3.0, 4.0])),
    "where": (lambda x: (x > 0).where(x.sqrt(), x * 2), np.array([4.0, -1.0])),
    "log_softmax": (lambda x: x.log_softmax(0), np.array([1000.0, 0.0, -1000.0])),
    "softplus": (lambda x: x.softplus(), np.array([-800.0, 0.0, 800.0])),
    "sigmoid": (lambda x: x.sigmoid(), np.array([-800.0, 0.0, 800.0])),
    "tanh": (lambda x: x.tanh(), np.array([-400.0, 0.0, 400.0])),
    "cholesky": (lambda x: symmetric(x).cholesky(), POSITIVE),
    "qr q": (lambda x: x.qr()[0][:, :3], TALL),
    "qr r": (lambda x: x.qr()[1], TALL),
    "qr r of a wide matrix": (lambda x: x.qr()[1], WIDE),
    "eigh values": (lambda x: symmetric(x).eigh()[0], POSITIVE),
    "eigh projections": (
        lambda x: symmetric(x).eigh()[1][:, 1:2] @ symmetric(x).eigh()[1][:, 1:2].T,
        POSITIVE,
    ),
    "svd values": (lambda x: x.svd()[1], TALL),
    "svd projections": (
        lambda x: x.svd(full_matrices=False)[0][:, :1] @ x.svd(full_matrices=False)[2][:1],
        TALL,
    ),
    "solve": (lambda x: x.solve(Tensor(B)), SQUARE),
    "solve of the right side": (lambda x: Tensor(SQUARE).solve(x), B),
    "inv": (lambda x: x.inv(), SQUARE),
    "det": (lambda x: x.det(), SQUARE),
    "slogdet": (lambda x: x.slogdet()[1], SQUARE),
    "lu": (lambda x: linalg.lu(x)[2], SQUARE),
    "lu, the lower factor": (lambda x: linalg.lu(x)[1], SQUARE),
    "lu of a tall matrix": (lambda x: linalg.lu(x)[1], TALL),
    "lu of a wide matrix": (lambda x: linalg.lu(x)[2], WIDE),
    "pinv": (lambda x: linalg.pinv(x), TALL),
    "pinv of a wide matrix": (lambda x: linalg.pinv(x), WIDE),
    "fft": (lambda x: (fft.fft(x) * Tensor(COMPLEX)).real, np.array([1.0, -2.0, 0.5, 3.0, 0.0])),
    "irfft of rfft": (lambda x: fft.irfft(fft.rfft(x) ** 2), np.array([1.0, -2.0, 0.5, 3.0])),
    "lstsq": (lambda x: x.lstsq(Tensor(RNG_B))[0], TALL),
    "det of a singular matrix": (
        lambda x: x.det(),
        np.outer([1.0, 2, 3], [4.0, 5, 6]) + np.diag([1.0, 0, 0]),
    ),
    "det of a matrix of rank 1": (lambda x: x.det(), np.outer([1.0, 2, 3], [1.0, -1, 2])),
    "det of zeros": (lambda x: x.det(), np.zeros((2, 2))),
    "det of zeros, 3x3": (lambda x: x.det(), np.zeros((3, 3))),
    "det of a singular matrix with pivots": (
        lambda x: x.det(),
        np.array([[0, 0, 1.0], [0, 0, 2], [1, 2, 3]]),
    ),
    "det of a matrix of rank 2 of 4": (
        lambda x: x.det(),
        np.outer([1.0, 2, 3, 4], [1.0, -1, 2, 0]) + np.outer([0, 1.0, -1, 2], [2.0, 1, 0, 1]),
    ),
}
RNG_B = RNG.normal(size=(5, 2))


@pytest.mark.parametrize("rank", [70, 69])
def test_determinant_of_a_large_matrix(rank: int) -> None:
    u, s, v = np.linalg.svd(RNG.normal(size=(70, 70)) / 4)
    s[rank:] = 0
    x = Tensor(u * s @ v)
    x.requires_grad = True
    value = x.det()
    slope = value.gradient(x)[0]
    Tensor.realize(value, slope)
    sign = np.linalg.det(u) * np.linalg.det(v)
    others = np.array([np.delete(s, i).prod() for i in range(70)])
    near = 1e-12 * others[-1]
    np.testing.assert_allclose(value.numpy(), sign * s.prod(), rtol=1e-12, atol=near)
    np.testing.assert_allclose(slope.numpy(), sign * (u * others @ v), rtol=1e-10, atol=near)


@pytest.mark.parametrize("name", SMOOTH)
def test_differences(name: str) -> None:
    f, x = SMOOTH[name]
    want = differences(f, x)
    for got in both(f, x):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives(name: str) -> None:
    f, x = SMOOTH[name]
    direction = np.cos(np.arange(x.size)).reshape(x.shape)
    weights: list[np.ndarray] = []

    def slope(x: Tensor) -> Tensor:
        def loss(x: Tensor) -> Tensor:
            y = f(x)
            if not weights:
                weights.append(np.sin(1 + np.arange(int(np.prod(y.shape)))).reshape(y.shape))
            return (y * Tensor(weights[0])).sum()

        return grad(loss)(x)

    got = array(jvp(slope, (Tensor(x),), (Tensor(direction),))[1])
    step = 1e-5
    want = (
        array(slope(Tensor(x + step * direction))) - array(slope(Tensor(x - step * direction)))
    ) / (2 * step)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * max(1, np.abs(want).max()))


# Where there is no derivative, or an infinite one: the convention. The last entry is a function of
# JAX that has the same.
NUMPY = {"max": jnp.maximum, "min": jnp.minimum}
CONVENTIONS: dict[str, tuple[Callable[[Any], Any], list[float], list[float], Any]] = {
    "relu at 0": (lambda x: x.relu(), [0.0, -1, 2], [0, 0, 1], jax.nn.relu),
    "abs at 0": (lambda x: x.abs(), [0.0, -1, 2], [0, -1, 1], None),
    "sqrt at 0": (lambda x: x.sqrt(), [0.0, 4], [INF, 0.25], jnp.sqrt),
    "max with ties": (lambda x: x.max(), [3.0, 1, 3, 3], [1 / 3, 0, 1 / 3, 1 / 3], jnp.max),
    "min with ties": (lambda x: x.min(), [3.0, 1, 1], [0, 0.5, 0.5], jnp.min),
    "maximum of equals": (
        lambda x: x.maximum(2.0),
        [2.0, 1, 3],
        [0.5, 0, 1],
        lambda x: jnp.maximum(x, 2.0),
    ),
    "minimum of equals": (
        lambda x: x.minimum(2.0),
        [2.0, 1, 3],
        [0.5, 1, 0],
        lambda x: jnp.minimum(x, 2.0),
    ),
    "sort with ties": (
        lambda x: x.sort()[0][0],
        [1.0, 1, 0, 0],
        [0, 0, 1, 0],
        lambda x: jnp.sort(x)[0],
    ),
    "median": (lambda x: pn.median(x), [3.0, 1, 2, 5], [0.5, 0, 0.5, 0], jnp.median),
    "median with ties": (lambda x: pn.median(x), [3.0, 1, 3], [1, 0, 0], jnp.median),
    "where with NaN not taken": (
        lambda x: (x > 0).where(x.maximum(1e-9).log(), 0.0),
        [-1.0, 2],
        [0, 0.5],
        lambda x: jnp.where(x > 0, jnp.log(jnp.maximum(x, 1e-9)), 0.0),
    ),
    "logsumexp of -inf": (
        lambda x: x.logsumexp(),
        [-INF, 0, 0],
        [0, 0.5, 0.5],
        jax.scipy.special.logsumexp,
    ),
    "logsumexp of -inf only": (lambda x: x.logsumexp(), [-INF, -INF], [0, 0], None),
    "logcumsumexp of -inf": (
        lambda x: x.logcumsumexp(0).sum(),
        [-INF, 0.0, 0.0],
        [0, 1.5, 0.5],
        None,
    ),
    "softmax of -inf": (
        lambda x: x.softmax(0)[1],
        [-INF, 0, 0],
        [0, 0.25, -0.25],
        lambda x: jax.nn.softmax(x)[1],
    ),
    "x ** 0.5 at 0": (lambda x: x**0.5, [0.0, 4], [INF, 0.25], lambda x: x**0.5),
    "0 ** x": (
        lambda x: Tensor(0.0, dtype="float64") ** x,
        [2.0, 1.0],
        [0, 0],
        lambda x: jnp.zeros(()) ** x,
    ),
    "round": (lambda x: x.round(), [0.5, 1.2], [0, 0], jnp.round),
    "sign": (lambda x: x.sign(), [0.0, 1.2], [0, 0], jnp.sign),
}


@pytest.mark.parametrize("name", CONVENTIONS)
def test_conventions(name: str) -> None:
    f, numbers, want, theirs = CONVENTIONS[name]
    x = np.array(numbers)
    got = array(grad(lambda x: f(x).sum())(Tensor(x)))
    np.testing.assert_allclose(got, want)
    if theirs is not None:
        np.testing.assert_allclose(got, np.asarray(jax.grad(lambda x: theirs(x).sum())(x)))
    direction = np.array([1.0, *([0.0] * (x.size - 1))])
    moved = array(jvp(lambda x: f(x).sum(), (Tensor(x),), (Tensor(direction),))[1])
    np.testing.assert_allclose(moved, want[0])


@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_of_a_matrix_that_is_not_symmetric(n: int, upper: bool) -> None:
    """The gradient and the tangent are those of the symmetric part, though one triangle is read."""
    w = RNG.normal(size=(n, n))
    for turn in (0, 1j):
        a = RNG.normal(size=(n, n)) + turn * RNG.normal(size=(n, n))
        a, v = a @ a.conj().T + n * np.eye(n), a

        def ours(x: Tensor) -> Tensor:
            return pn.sum(pn.real(linalg.cholesky(x, upper=upper)) * Tensor(w))

        def theirs(x: Any) -> Any:
            return (jnp.linalg.cholesky(x, upper=upper).real * w).sum()

        got, want = array(grad(ours)(Tensor(a))), np.asarray(jax.grad(theirs)(a))
        np.testing.assert_allclose(got, want, atol=1e-14)
        moved = array(jvp(ours, (Tensor(a),), (Tensor(v),))[1])
        np.testing.assert_allclose(moved, jax.jvp(theirs, (a,), (v,))[1], rtol=1e-9, atol=1e-12)
        if not turn:
            x = torch.tensor(a, requires_grad=True)
            (torch.linalg.cholesky(x, upper=upper) * torch.tensor(w)).sum().backward()
            np.testing.assert_allclose(got, x.grad.numpy(), atol=1e-14)
        half = np.triu(a) if upper else np.tril(a)
        one = linalg.cholesky(Tensor(half), upper=upper).numpy()
        np.testing.assert_allclose(one, np.linalg.cholesky(a, upper=upper), atol=1e-12)


def test_norm_at_zero() -> None:
    """The norm has no derivative at 0: infinity times 0 is NaN, as in JAX. where makes it 0."""
    x = np.zeros(3)
    got = array(grad(lambda x: x.square().sum().sqrt())(Tensor(x)))
    assert np.isnan(got).all()
    assert np.isnan(np.asarray(jax.grad(lambda x: jnp.sqrt((x**2).sum()))(x))).all()

    def safe(x: Tensor) -> Tensor:
        s = x.square().sum()
        return (s > 0).where(s.sqrt(), 0.0)

    assert array(grad(safe)(Tensor(x))).tolist() == [0, 0, 0]


def test_equal_eigenvalues() -> None:
    """Functions that do not depend on the choice of vectors are differentiable, others finite."""
    x = np.diag([2.0, 2.0, 5.0])
    total = array(grad(lambda x: symmetric(x).eigh()[0].sum())(Tensor(x)))
    np.testing.assert_allclose(total, np.eye(3), atol=1e-12)
    power = array(grad(lambda x: (symmetric(x).eigh()[0] ** 2).sum())(Tensor(x)))
    np.testing.assert_allclose(power, 2 * x, atol=1e-12)
    values = array(grad(lambda x: (x.svd()[1] ** 2).sum())(Tensor(x)))
    np.testing.assert_allclose(values, 2 * x, atol=1e-12)
    vectors = array(grad(lambda x: symmetric(x).eigh()[1].square().sum())(Tensor(x)))
    assert np.isfinite(vectors).all()
