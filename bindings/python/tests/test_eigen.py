"""Eigenvalues of general matrices, and the roots of polynomials."""

from itertools import product

import numpy as np
import pytest
from numeric import check_gradient
from turns import part

from polygrad import Tensor, func, linalg
from polygrad import numpy as pnp

RNG = np.random.default_rng(5)
TYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(1, 1), (2, 2), (3, 3), (4, 5, 5), (2, 1, 8, 8), (17, 17)]


def nearest(values, want):
    """Return the greatest distance of an eigenvalue from those of the same matrix."""
    distance = np.abs(values[..., :, None] - want[..., None, :])
    if not distance.size:
        return 0.0
    return max(distance.min(-1).max(), distance.min(-2).max())


def check(a, scale=1.0):
    """Compare eigenvalues with NumPy's, and eigenvectors with their definition."""
    values, vectors = (t.numpy() for t in linalg.eig(a))
    n, size = a.shape[-1], np.abs(a).max(initial=1e-300)
    error = np.finfo(a.dtype).eps * size * max(n, 4) * scale
    assert values.dtype == vectors.dtype == np.result_type(a.dtype, np.complex64)
    assert (values.shape, vectors.shape) == (a.shape[:-1], a.shape)
    assert np.abs(a @ vectors - vectors * values[..., None, :]).max() <= 4 * error
    rtol = max(n, 20) * np.finfo(a.dtype).eps
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=-2), 1, rtol=rtol)
    sizes = np.abs(vectors)
    greatest = sizes > sizes.max(-2, keepdims=True) * (1 - 1e-5)
    positive = (vectors.real > 0) & (np.abs(vectors.imag) < 1e-5)
    assert (greatest & positive).any(-2).all()
    assert nearest(linalg.eigvals(a).numpy(), values) <= 100 * error
    if np.isrealobj(a):  # conjugate pairs
        assert nearest(values, values.conj()) <= 4 * error
    return values


@pytest.mark.parametrize(("shape", "dtype"), part(product(SHAPES, TYPES)))
def test_eig(dtype, shape):
    a = RNG.normal(size=shape).astype(dtype)
    if dtype.startswith("c"):
        a = a + (1j * RNG.normal(size=shape)).astype(dtype)
    values = check(a)
    want = np.linalg.eigvals(a)
    assert nearest(values, want) <= 2000 * np.finfo(dtype).eps * np.abs(want).max()


def companion(p):
    a = np.diag(np.ones(len(p) - 2), -1)
    a[0] = -p[1:] / p[0]
    return a


@pytest.mark.parametrize(
    "a",
    [
        np.zeros((3, 3)),
        np.eye(5),
        np.roll(np.eye(12), 1, 0),  # shifts of 0 would never end
        np.diag(np.ones(11), 1) + 2 * np.eye(12),  # one eigenvector
        np.triu(RNG.normal(size=(9, 9))),
        np.tril(RNG.normal(size=(9, 9))),
        np.array([[0.0, 1.0], [-1.0, 0.0]]),
        np.array([[1e-200, 1.0], [0.0, 1e200]]),
        np.array([[1.0, 1e8, 0.0], [1e-8, 1.0, 1e8], [0.0, 1e-8, 1.0]]),
        np.kron(np.eye(3), [[1.0, 2.0], [-2.0, 1.0]]),
        companion(np.poly(np.arange(1.0, 13.0))),
        np.ones((6, 6)),
        np.linalg.qr(RNG.normal(size=(10, 10)))[0],
    ],
)
def test_eig_of_special_matrices(a):
    check(a)


@pytest.mark.parametrize("dtype, size", [("float32", 1e15), ("float64", 1e20), ("float64", 1e100)])
def test_balanced_matrices_have_eigenvalues_of_all_sizes(dtype, size):
    a = np.array([[0, 1 / size, 0], [1, 0, size], [0, 1 / size, 3]], dtype)
    want = np.array([1.5 - np.sqrt(3.25), 0, 1.5 + np.sqrt(3.25)])
    assert nearest(linalg.eigvals(a).numpy(), want) < 20 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype, power", [("float32", 14), ("float64", 100), ("float64", 140)])
def test_scaled_matrices_are_balanced(dtype, power):
    a = RNG.normal(size=(12, 12))
    scales = 10.0 ** RNG.integers(-power, power, 12)
    got = linalg.eigvals((a * scales[:, None] / scales).astype(dtype)).numpy()
    assert nearest(got, np.linalg.eigvals(a)) < 500 * np.finfo(dtype).eps


@pytest.mark.parametrize(("n", "dtype"), part(product([33, 66, 100], TYPES[:3])))
def test_larger_matrices(dtype, n):
    a = RNG.normal(size=(n, n)).astype(dtype)
    check(a)
    check(np.ones_like(a), n)  # whose norm is n
    check(a * np.logspace(0, -30, n, dtype=dtype)[:, None])


@pytest.mark.parametrize(("n", "dtype"), part(product([2, 3, 8, 40], TYPES)))
def test_permuted_triangular_matrices(dtype, n):
    """Their eigenvalues are elements of the diagonal, which no rotation changes."""
    a = np.triu(RNG.standard_normal((4, n, n))).astype(dtype)
    if np.iscomplexobj(a):
        a = a * (1 + 1j)
    a[1] = a[1].T
    order = RNG.permutation(n)
    a[2] = a[2][order][:, order]
    a[3] *= RNG.random((n, n)) < 0.2
    values, _ = (t.numpy() for t in linalg.eig(a))
    assert nearest(values, np.diagonal(a, axis1=-2, axis2=-1)) == 0
    # One block is left between single elements.
    half = n // 2
    a[0, half:, half:] = RNG.standard_normal((n - half, n - half))
    check(a[:1, order][:, :, order])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_subnormal_matrices(dtype):
    least = np.finfo(dtype).smallest_subnormal
    a = (RNG.integers(-9000, 9000, (3, 3)) * least).astype(dtype)
    b = a + a.T
    complexes = b.astype(np.result_type(dtype, np.complex64))
    for got, of in (
        (linalg.eigvals(a), np.linalg.eigvals(a / float(least))),
        (linalg.eigvalsh(b), np.linalg.eigvalsh(b / least)),
        (linalg.eigvalsh(complexes), np.linalg.eigvalsh(b / least)),
        (linalg.svd(a)[1], np.linalg.svd(a / least)[1]),
    ):
        assert nearest(got.numpy(), of * float(least)) <= 3 * float(least)


def test_real_eigenvalues_are_real():
    a = RNG.normal(size=(9, 9))
    values, vectors = (t.numpy() for t in linalg.eig(a + a.T))
    assert (values.imag == 0).all() and (vectors.imag == 0).all()
    np.testing.assert_allclose(np.sort(values.real), np.linalg.eigvalsh(a + a.T), atol=1e-12)


def test_eig_of_bad_and_empty_matrices():
    bad = np.array([np.eye(2), [[np.nan, 1.0], [0.0, 1.0]], [[np.inf, 1.0], [0.0, 1.0]]])
    values, vectors = (t.numpy() for t in linalg.eig(bad))
    assert (values[0] == 1).all() and np.isnan(values[1:]).all() and np.isnan(vectors[1:]).all()
    for f, complex_type in ((linalg.eig, "complex128"), (linalg.eigh, "float64")):
        for shape in ((0, 0), (3, 0, 0), (0, 2, 2)):
            values, vectors = f(Tensor(np.zeros(shape)))
            assert (values.shape, vectors.shape) == (shape[:-1], shape)
            assert values.dtype == complex_type
    assert pnp.linalg.eig(np.eye(2, dtype="float16")).eigenvalues.dtype == "complex64"
    with pytest.raises(ValueError, match=r"linalg.eig: a: has shape \(2,3\)"):
        linalg.eig(np.zeros((2, 3)))


def test_derivatives_of_eig():
    a, b = RNG.normal(size=(2, 5, 5))
    check_gradient(lambda t: (linalg.eigvals(t).abs() ** 3).sum(), a)
    check_gradient(lambda t: (linalg.eig(t)[1].abs() ** 4 * Tensor(b)).sum(), a)
    values, change = func.jvp(linalg.eigvals, (Tensor(a),), (Tensor(b),))
    step = 1e-6
    ahead, back = (linalg.eigvals(a + s * b).numpy() for s in (step, -step))
    for value, got in zip(values.numpy(), change.numpy()):
        near = [x[np.abs(x - value).argmin()] for x in (ahead, back)]
        np.testing.assert_allclose(got, (near[0] - near[1]) / (2 * step), rtol=1e-6, atol=1e-7)
    stack = RNG.normal(size=(3, 4, 4))
    mapped = func.vmap(linalg.eigvals)(Tensor(stack)).numpy()
    assert (mapped == linalg.eigvals(stack).numpy()).all()


@pytest.mark.parametrize(
    "p",
    [
        [1.0, -3.0, 2.0],
        [0.0, 0.0, 1.0, 0.0, 4.0, 0.0, 0.0],
        [2.0],
        [0.0, 0.0],
        [],
        [1.0, 0.0, 0.0],
        [3.0, 1 + 2j, 4.0],
        [1, 0, 1],
        np.poly(np.arange(1.0, 9.0)),
    ],
)
def test_roots(p):
    p = np.array(p)
    got, want = pnp.roots(Tensor(p.astype(np.result_type(p, np.float64)))).numpy(), np.roots(p)
    assert got.shape == want.shape and got.dtype == "complex128"
    assert nearest(got, want) < 1e-8


def test_polynomials_from_roots_and_quotients():
    for x in (np.arange(4.0), np.array([1j, 2.0]), RNG.normal(size=(3, 3)), np.zeros(0)):
        np.testing.assert_allclose(pnp.poly(x).numpy(), np.poly(x), atol=1e-12)
    p, q = RNG.normal(size=7), RNG.normal(size=3)
    for u, v in ((p, q), (q, p), (p, q[:1])):
        quotient, remainder = (t.numpy() for t in pnp.polydiv(u, v))
        want = np.polydiv(u, v)
        np.testing.assert_allclose(quotient, want[0], atol=1e-12)
        cut = remainder[remainder.size - want[1].size :]
        np.testing.assert_allclose(cut, want[1], atol=1e-10)
    with pytest.raises(ValueError, match="q"):
        pnp.polydiv(p, np.zeros(0))
    rooted = func.jit(lambda t: pnp.roots(t, strip_zeros=False))
    got = rooted(Tensor([1.0, -3.0, 2.0])).numpy()
    assert nearest(got, np.array([1, 2])) < 1e-6
