"""Complex tensors against numpy: values, types, memory, gradients, errors."""

from __future__ import annotations

import functools
import operator
import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest
from turns import part

from polygrad import Tensor, dtypes, linalg, nn
from polygrad import numpy as pnp
from polygrad.func import grad, jit, jvp, vjp, vmap

TYPES = (np.complex64, np.complex128)
SHAPES = ((), (1,), (5,), (3, 4), (2, 3, 4), (2, 0, 3), (1, 17))


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def close(got: Any, want: Any, scale: float = 1) -> None:
    want = np.asarray(want)
    array = got.numpy()
    assert array.dtype == want.dtype
    assert array.shape == want.shape
    tol = scale * (1e-12 if want.dtype in (np.complex128, np.float64) else 2e-5)
    np.testing.assert_allclose(array, want, rtol=tol, atol=tol)


# Creation and exchange


def test_creation() -> None:
    x = Tensor([1 + 2j, 3])
    assert x.dtype == dtypes.complex64
    assert x.tolist() == [1 + 2j, 3 + 0j]
    assert repr(x) == "Tensor([1.+2.j, 3.+0.j], shape=(2,), dtype=complex64)"
    assert Tensor(2j).item() == 2j
    assert complex(Tensor(2j)) == 2j
    assert Tensor([1, 2], dtype="complex128").tolist() == [1, 2]
    assert Tensor.full((2,), 1j).tolist() == [1j, 1j]
    assert Tensor.full((2,), 0.1j, dtype="complex128").tolist() == [0.1j, 0.1j]
    assert Tensor.zeros(2, dtype="complex64").tolist() == [0, 0]
    assert Tensor.ones(2, dtype=complex).tolist() == [1, 1]
    assert Tensor.eye(2, dtype="complex64").tolist() == [[1, 0], [0, 1]]
    assert x.ones_like().dtype == dtypes.complex64
    assert x.full_like(3).tolist() == [3, 3]
    with pytest.raises(TypeError, match="complex numbers, expected real ones for float32"):
        Tensor([1j], dtype="float32")


@pytest.mark.parametrize("dtype", TYPES)
def test_memory_is_shared_with_numpy(dtype: Any) -> None:
    array = numbers((2, 3), dtype)
    x = Tensor(array)
    assert x.numpy().ctypes.data == array.ctypes.data
    x[0, 1] = 5 - 1j
    assert array[0, 1] == 5 - 1j
    array[1] = 2j
    assert x[1].tolist() == [2j] * 3
    row = x[1]
    row.assign(row * 2)
    assert array[1].tolist() == [4j] * 3
    assert x.T.numpy().strides == array.T.strides
    back = np.from_dlpack(x)
    assert back.dtype == dtype
    assert back.tolist() == array.tolist()
    assert Tensor.from_dlpack(array).tolist() == array.tolist()


def test_views_and_writes() -> None:
    a = numbers((3, 4), np.complex64)
    x = Tensor(a.copy())
    view = x[1:, ::2]
    view *= 2
    want = a.copy()
    want[1:, ::2] *= 2
    close(x, want)
    lazy = x + 1
    flat = lazy.reshape(12)
    flat[3] = 7j
    want = want + 1
    want.reshape(12)[3] = 7j
    close(lazy, want)
    total = lazy.sum()
    lazy.assign(0)
    close(total, want.sum())
    x[Tensor([0, 2]), 1] = Tensor([1j, 2j])
    assert x[:, 1].tolist()[::2] == [1j, 2j]
    mask = np.abs(a) > 1
    x[Tensor(mask)] = 0
    assert np.all(x.numpy()[mask] == 0)


# Values


BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "eq": np.equal,
    "ne": np.not_equal,
}


@pytest.mark.parametrize(
    "other", ["complex64", "complex128", "float32", "float64", "int32", "bool"]
)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", BINARY)
def test_operators(name: str, dtype: str, other: str) -> None:
    x = numbers((3, 4), dtype)
    y = numbers((4,), complex, 1)
    y = (y if other.startswith("complex") else np.abs(y) * 2 + 1).astype(other)
    kind = "complex128" if "complex128" in (dtype, other) or other == "float64" else "complex64"
    with np.errstate(all="ignore"):
        for a, b in ((x, y), (y, x)):
            want = BINARY[name](a.astype("complex128"), b.astype("complex128"))
            got = getattr(Tensor(a), name)(Tensor(b))
            close(got, want if name in ("eq", "ne") else want.astype(kind), 10)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int32"])
def test_complex_numbers_take_the_type_beside_them(dtype: str) -> None:
    x = np.arange(1, 4).astype(dtype)
    kind = "complex128" if dtype in ("float64", "complex128") else "complex64"
    close(Tensor(x) * 0.1j, (x * 0.1j).astype(kind))
    close(1j - Tensor(x), (1j - x).astype(kind))
    close(Tensor(x) == 1 + 0j, x == 1)
    assert (Tensor(x) / 2j).dtype == kind
    assert (Tensor(x) + np.complex64(1j)).dtype == kind


UNARY = [
    "abs",
    "angle",
    "conj",
    "exp",
    "log",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "log2",
    "log10",
    "log1p",
    "expm1",
    "exp2",
    "sign",
    "square",
    "reciprocal",
    "isnan",
    "isinf",
    "isfinite",
    "neg",
    "rsqrt",
]
NUMPY = {f"a{f}": f"arc{f}" for f in ["sin", "cos", "tan", "sinh", "cosh", "tanh"]} | {
    "neg": "negative"
}


def reference(name: str, z: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if name == "rsqrt":
        return 1 / np.sqrt(z)
    f = getattr(np, NUMPY.get(name, name))
    return np.asarray(f(z))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", UNARY)
def test_functions(name: str, dtype: Any) -> None:
    z = numbers((500,), dtype)
    z[:50] *= 8
    z[50:100] *= dtype(1e-3)
    want = reference(name, z.astype(np.complex128))
    if want.dtype.kind in "cf":
        want = want.astype(dtype if want.dtype.kind == "c" else z.real.dtype)
    got = getattr(Tensor(z), name)().numpy()
    assert got.dtype == want.dtype
    tol = 1e-12 if dtype is np.complex128 else 1e-5
    if got.dtype == bool:
        assert np.all(got == want)
    elif name != "log1p":  # where numpy loses digits
        assert np.all(np.abs(got - want) <= tol * np.abs(want))


@pytest.mark.parametrize("name", ["log", "sqrt", "asin", "acos", "atan", "asinh", "acosh", "atanh"])
def test_branch_cuts(name: str) -> None:
    """On a cut, the sign of 0 says which side is meant."""
    far = [-3.0, -1.5, -0.5, 0.5, 1.5, 3.0]
    z = np.array([complex(a, b) for a in far for b in (0.0, -0.0)])
    z = np.concatenate([z, [complex(b, a) for a in far for b in (0.0, -0.0)]])
    close(getattr(Tensor(z), name)(), reference(name, z))


def test_functions_at_infinity() -> None:
    ends = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf]
    z = np.array([complex(a, b) for a in ends for b in ends])
    for name in ("sqrt", "log", "asin", "acos", "acosh", "asinh", "tanh", "abs", "angle"):
        with np.errstate(all="ignore"):
            want = reference(name, z)
        got = getattr(Tensor(z), name)().numpy()
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want), err_msg=name)
        parts = (
            [(got, want)]
            if got.dtype.kind == "f"
            else [(got.real, want.real), (got.imag, want.imag)]
        )
        for a, b in parts:
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-300, err_msg=name)
    np.testing.assert_array_equal(Tensor(z).isinf().numpy(), np.isinf(z))
    np.testing.assert_array_equal(Tensor(z).isfinite().numpy(), np.isfinite(z))


def test_powers() -> None:
    z = numbers((100,), np.complex128)
    for e in (0, 1, 2, 3, -2, 17, 0.5, -0.5, 2.5):
        close(Tensor(z) ** e, z**e, 1000)
    close(2 ** Tensor(z), 2**z)
    assert (Tensor([0j]) ** Tensor([0j, 2, 1 + 1j])).tolist() == [1, 0, 0]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_reductions(shape: tuple[int, ...], dtype: Any) -> None:
    z = numbers(shape, dtype)
    x = Tensor(z)
    for axis in [None, *range(len(shape))]:
        close(x.sum(axis), z.sum(axis))
        close(x.prod(axis), z.prod(axis))
        if z.size:
            close(x.mean(axis), z.mean(axis))
            close(x.var(axis, correction=0), z.var(axis))
            close(x.std(axis, correction=0), z.std(axis))
        np.testing.assert_array_equal(x.any(axis).numpy(), z.any(axis))
        np.testing.assert_array_equal(x.all(axis).numpy(), z.all(axis))
        if axis is not None:
            close(x.cumsum(axis), z.cumsum(axis))
            close(x.cumprod(axis), z.cumprod(axis))


@pytest.mark.parametrize("dtype", TYPES)
def test_products(dtype: Any) -> None:
    for s, t in (
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((4, 2, 3), (4, 3, 5)),
    ):
        a, b = numbers(s, dtype), numbers(t, dtype, 1)
        close(Tensor(a) @ Tensor(b), a @ b)
        close(Tensor(a) @ Tensor(b.real.copy()), a @ b.real)
        close(Tensor(a.real.copy()) @ Tensor(b), a.real @ b)
    a, b, c = numbers((3, 4), dtype), numbers((4, 5), dtype, 1), numbers((5, 3), dtype, 2)
    for formula, given in (
        ("ij,jk->ik", (a, b)),
        ("ij,jk,ki->", (a, b, c)),
        ("ij->ji", (a,)),
        ("ij,ij->i", (a, a)),
        ("ij,kj->ikj", (a, a)),
    ):
        close(Tensor.einsum(formula, *map(Tensor, given)), np.einsum(formula, *given))


def test_movement_and_selection() -> None:
    z = numbers((3, 4), np.complex64)
    x = Tensor(z)
    close(x.reshape(2, 6), z.reshape(2, 6))
    close(x.T, z.T)
    close(x.flip(1), z[:, ::-1])
    close(x.pad(((1, 0), (0, 2))), np.pad(z, ((1, 0), (0, 2))))
    close(x.pad(((1, 0), (0, 2)), value=2), np.pad(z, ((1, 0), (0, 2)), constant_values=2))
    close(x.expand(2, 3, 4), np.broadcast_to(z, (2, 3, 4)))
    close(x.cat(x * 2, dim=1), np.concatenate([z, z * 2], 1))
    close(x.stack(x), np.stack([z, z]))
    close(x.tril(), np.tril(z))
    close(x.roll(1, 0), np.roll(z, 1, 0))
    close(x.repeat(2, 1), np.tile(z, (2, 1)))
    close(x.diagonal(), z.diagonal())
    at = np.array([[2, 0], [1, 1]])
    close(x[Tensor(at)], z[at])
    close(x.gather(1, Tensor(at)), np.take_along_axis(z[:2], at, 1))
    close(x[Tensor(np.abs(z) > 1)], z[np.abs(z) > 1])
    close((x.real > 0).where(x, 0), np.where(z.real > 0, z, 0))
    close((x.real > 0).where(x, Tensor(z.real.copy())), np.where(z.real > 0, z, z.real))
    close(x.masked_fill(x.real > 0, 1), np.where(z.real > 0, 1, z).astype(z.dtype))
    index = np.array([[0, 1, 2, 0]])
    want = z.copy()
    want[index[0], range(4)] = 9j
    close(x.scatter(0, Tensor(index), Tensor(np.full((1, 4), 9j, np.complex64))), want)
    want = z.copy()
    np.add.at(want, (index[0], range(4)), 1j)
    close(
        x.scatter_reduce(0, Tensor(index), Tensor(np.full((1, 4), 1j, np.complex64)), "sum"), want
    )
    close(x.cast("complex128"), z.astype(np.complex128))
    assert x.cast("bool").all().item()


def test_jitted_and_lazy_values_agree() -> None:
    z = numbers((8,), np.complex64)
    f = jit(lambda x: (x * x.conj()).real.sum() + (x.exp() * 2j).imag)
    for scale in (1, 2, 3):
        x = Tensor(z * scale)
        want = (np.abs(z * scale) ** 2).sum() + (np.exp(z * scale) * 2j).imag
        np.testing.assert_allclose(f(x).numpy(), want, rtol=1e-5)
    x = Tensor(z) + 1
    after = x.exp()
    x.realize()
    close(after, np.exp(z + 1))


@pytest.mark.parametrize(("lead", "dtype"), part(product([(), (2,), (2, 3)], TYPES), 6))
def test_linear_algebra(lead: tuple[int, ...], dtype: Any) -> None:
    a, b = numbers((*lead, 4, 4), dtype), numbers((*lead, 4, 2), dtype, 1)
    a += 3 * np.eye(4, dtype=dtype)
    h = a @ a.conj().swapaxes(-1, -2) + np.eye(4, dtype=dtype)
    wide = numbers((*lead, 3, 5), dtype, 2)
    close(Tensor(a).solve(Tensor(b)), np.linalg.solve(a, b), 100)
    close(Tensor(a).solve(Tensor(b[..., 0].copy())), np.linalg.solve(a, b[..., :1])[..., 0], 100)
    close(Tensor(a).solve(Tensor(b.real.copy())), np.linalg.solve(a, b.real), 100)
    close(Tensor(a).inv(), np.linalg.inv(a), 100)
    close(Tensor(h).cholesky(), np.linalg.cholesky(h), 100)
    close(Tensor(h).cholesky(upper=True), np.linalg.cholesky(h).conj().swapaxes(-1, -2), 100)
    for upper in (False, True):
        for transpose in (False, True):
            t = np.triu(a) if upper else np.tril(a)
            want = np.linalg.solve(t.swapaxes(-1, -2) if transpose else t, b)
            got = Tensor(a).triangular_solve(Tensor(b), upper=upper, transpose=transpose)
            close(got, want, 1000)
    close(linalg.pinv(wide), np.linalg.pinv(wide), 100)
    close(linalg.svdvals(wide), np.linalg.svd(wide, compute_uv=False), 100)
    for shape in ((0, 3), (2, 3, 0)):
        assert linalg.svdvals(Tensor(np.zeros(shape, np.complex64))).dtype == "float32"
    assert np.all(linalg.matrix_rank(wide).numpy() == 3)
    close(linalg.matrix_power(a, 3), np.linalg.matrix_power(a, 3), 1000)
    close(linalg.matrix_power(a, -2), np.linalg.matrix_power(a, -2), 1000)
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        close(linalg.matrix_norm(wide, ord=order), np.linalg.norm(wide, order, (-2, -1)), 100)
    for order in (0, 1, 2, 3, np.inf, -np.inf):
        want = np.linalg.norm(wide, order, -1).astype(wide.real.dtype)
        close(linalg.vector_norm(wide, ord=order, axis=-1), want, 100)
    x, _, rank, s = Tensor(wide).lstsq(Tensor(numbers((*lead, 3, 2), dtype, 3)))
    close(x, np.linalg.pinv(wide) @ numbers((*lead, 3, 2), dtype, 3), 100)
    close(s, np.linalg.svd(wide, compute_uv=False), 100)
    assert np.all(rank.numpy() == 3)


def test_matrix_exponential_of_a_rotation() -> None:
    t = np.array([[0, 1j], [1j, 0]])
    want = np.array([[np.cos(1), 1j * np.sin(1)], [1j * np.sin(1), np.cos(1)]])
    close(linalg.expm(t), want)


def test_gradients_of_linear_algebra() -> None:
    a = numbers((3, 3), np.complex128) + 3 * np.eye(3)
    b = numbers((3,), np.complex128, 1)
    got = grad(lambda x: x.solve(Tensor(b)).abs().square().sum())(Tensor(a)).numpy()
    for i in range(3):
        for step in (1e-6, 1e-6j):
            moved = [a.copy(), a.copy()]
            moved[0][i, 1] += step
            moved[1][i, 1] -= step
            plus, minus = (np.sum(np.abs(np.linalg.solve(m, b)) ** 2) for m in moved)
            slope = (plus - minus) / 2e-6
            want = got[i, 1].real if step == 1e-6 else -got[i, 1].imag
            np.testing.assert_allclose(slope, want, rtol=1e-5, atol=1e-7)


def adjoint(a: Any) -> Any:
    return a.conj().swapaxes(-1, -2)


def unitary(products: Any) -> None:
    want = np.broadcast_to(np.eye(products.shape[-1], dtype=products.dtype), products.shape)
    close(Tensor(products), want, 100)


SIZES = [(1, 1), (2, 2), (4, 2), (2, 4), (2, 5, 5), (3, 7, 5), (17, 14)]


@pytest.mark.parametrize(("shape", "dtype"), part(product(SIZES, TYPES)))
def test_decompositions(shape: tuple[int, ...], dtype: Any) -> None:
    a = numbers(shape, dtype)
    k = min(shape[-2:])
    for mode in ("reduced", "complete"):
        q, r = (t.numpy() for t in linalg.qr(a, mode))
        close(Tensor(q @ r), a, 100)
        unitary(adjoint(q) @ q)
        close(Tensor(r), np.linalg.qr(a, mode)[1], 1000)
        assert np.all(np.tril(r, -1) == 0)
        assert np.all(np.diagonal(r, 0, -2, -1).imag == 0)
    for full in (False, True):
        u, s, vh = (t.numpy() for t in linalg.svd(a, full))
        close(Tensor((u[..., :k] * s[..., None, :]) @ vh[..., :k, :]), a, 100)
        close(Tensor(s), np.linalg.svd(a, compute_uv=False), 100)
        unitary(adjoint(u) @ u)
        unitary(vh @ adjoint(vh))
    if shape[-1] == shape[-2]:
        close(linalg.det(a), np.linalg.det(a), 1000)
        for got, want in zip(linalg.slogdet(a), np.linalg.slogdet(a)):
            close(got, want, 1000)
        h = a + adjoint(a)
        for upper in (False, True):
            half = np.triu(h) if upper else np.tril(h)
            w, v = (t.numpy() for t in linalg.eigh(half, upper))
            close(Tensor(w), np.linalg.eigvalsh(h), 100)
            close(Tensor((v * w[..., None, :]) @ adjoint(v)), h, 100)
            unitary(adjoint(v) @ v)


def test_decompositions_of_singular_empty_and_infinite_matrices() -> None:
    flat = np.outer([1, 2j, 3, 1j], [1, 1j, -1, 0])
    q, r = (t.numpy() for t in linalg.qr(flat))
    np.testing.assert_allclose(q @ r, flat, atol=1e-14)
    np.testing.assert_allclose(adjoint(q) @ q, np.eye(4), atol=1e-14)
    u, s, vh = (t.numpy() for t in linalg.svd(flat))
    np.testing.assert_allclose((u * s) @ vh, flat, atol=1e-14)
    np.testing.assert_allclose(adjoint(u) @ u, np.eye(4), atol=1e-14)
    zero = np.zeros((3, 3), np.complex128)
    assert linalg.det(zero).item() == 0
    assert [t.item() for t in linalg.slogdet(zero)] == [0, -np.inf]
    w, v = (t.numpy() for t in linalg.eigh(np.kron(np.eye(8), [[1, 1j], [-1j, 1]])))
    np.testing.assert_allclose(w, [0] * 8 + [2] * 8, atol=1e-14)
    np.testing.assert_allclose(adjoint(v) @ v, np.eye(16), atol=1e-14)
    empty = np.zeros((2, 0, 0), np.complex64)
    assert linalg.det(empty).tolist() == [1, 1]
    assert [t.shape for t in linalg.svd(np.zeros((0, 3), np.complex64))] == [(0, 0), (0,), (3, 3)]
    for x in (np.nan, np.inf, 1j * np.inf):
        bad = np.full((2, 2), x, np.complex128)
        assert np.isnan(linalg.svdvals(bad).numpy()).all()
        assert np.isnan(linalg.eigvalsh(bad).numpy()).all()


def change(f: Any, a: Any) -> Any:
    """The gradient of a real function by differences, as JAX has it: dL/dre - i dL/dim."""
    out = np.zeros_like(a)
    for i in np.ndindex(*a.shape):
        for step in (1e-6, 1e-6j):
            e = np.zeros_like(a)
            e[i] = step
            out[i] += (f(a + e) - f(a - e)) / 2e-6 * (1 if step == 1e-6 else -1j)
    return out


@pytest.mark.parametrize("name", ["det", "slogdet", "qr", "svdvals", "svd", "eigh", "pinv", "real"])
def test_gradients_of_decompositions(name: str) -> None:
    a, w = numbers((4, 3), np.complex128), numbers((4, 3), np.complex128, 1)
    square, v = a[:3] + 2 * np.eye(3), w[:3]

    def ours(x: Tensor) -> Tensor:
        if name == "det":
            return (x[:3].det() * (1 + 2j)).real
        if name == "slogdet":
            sign, log = x[:3].slogdet()
            return (sign * (1 + 2j)).real + log
        if name == "qr":
            q, r = linalg.qr(x)
            return ((q * Tensor(w)).sum() + (r * Tensor(v)).sum()).real
        if name == "svdvals":
            return (linalg.svdvals(x) * Tensor(v[0].real.copy())).sum()
        if name == "svd":  # the phases of singular vectors are free
            u, s, vh = linalg.svd(x, False)
            return (((u * s.exp().unsqueeze(-2)) @ vh) * Tensor(w)).sum().real
        if name == "eigh":
            values, vectors = linalg.eigh(x[:3] + x[:3].conj().T)
            powers = (vectors * values.sin().unsqueeze(-2)) @ vectors.conj().T
            return (powers * Tensor(v)).sum().real
        p = linalg.pinv(x.real if name == "real" else x)
        return (p * Tensor(w.T.copy())).sum().real

    def theirs(x: Any) -> Any:
        if name == "det":
            return (np.linalg.det(x[:3]) * (1 + 2j)).real
        if name == "slogdet":
            sign, log = np.linalg.slogdet(x[:3])
            return (sign * (1 + 2j)).real + log
        if name == "qr":
            q, r = np.linalg.qr(x)
            return ((q * w).sum() + (r * v).sum()).real
        if name == "svdvals":
            return (np.linalg.svd(x, compute_uv=False) * v[0].real).sum()
        if name == "svd":
            u, s, vh = np.linalg.svd(x, full_matrices=False)
            return ((u * np.exp(s)) @ vh * w).sum().real
        if name == "eigh":
            values, vectors = np.linalg.eigh(x[:3] + adjoint(x[:3]))
            return ((vectors * np.sin(values)) @ adjoint(vectors) * v).sum().real
        return (np.linalg.pinv(x.real if name == "real" else x) * w.T).sum().real

    x = np.concatenate([square, a[3:]])
    np.testing.assert_allclose(grad(ours)(Tensor(x)).numpy(), change(theirs, x), 1e-5, 1e-7)


def test_gradient_of_a_pseudo_inverse_where_singular_values_are_equal() -> None:
    w = numbers((3, 3), np.complex128).real.copy()
    x = np.eye(3)
    got = grad(lambda x: (linalg.pinv(x) * Tensor(w)).sum())(Tensor(x)).numpy()
    np.testing.assert_allclose(got, -w, rtol=1e-12)


HOLOMORPHIC = [
    "exp",
    "expm1",
    "exp2",
    "log",
    "log1p",
    "log2",
    "log10",
    "sqrt",
    "rsqrt",
    "sinh",
    "cosh",
    "tanh",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "asinh",
    "acosh",
    "atan",
    "atanh",
]


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_derivatives_on_the_axes(name: str) -> None:
    """Where a part is 0, values have cases of their own, which derivatives must not see."""
    f = {"asin": np.arcsin, "acos": np.arccos, "asinh": np.arcsinh, "acosh": np.arccosh}.get(name)
    f = f or {"atan": np.arctan, "atanh": np.arctanh}.get(name) or getattr(np, name, None)
    f = f or (lambda z: z**-0.5)
    z = np.array([0.3, 0.9, 1.7, 0.4j, 1.2j, -0.7j, 0.5 + 0.5j])
    if name in ("asin", "acos", "atanh", "acosh"):
        z = z[np.abs(z.real) < 1] if name != "acosh" else z[z.real != 0] + 1  # off the cuts
    if name in ("atan", "asinh"):
        z = z[np.abs(z.imag) < 1]
    weight = 1 - 2j
    step = 1e-6
    slope = (f(z + step) - f(z - step)) / (2 * step)
    got = grad(lambda x: (getattr(x, name)() * weight).sum().real)(Tensor(z)).numpy()
    np.testing.assert_allclose(got, slope * weight, 1e-7, 1e-8)
    step = 1e-4
    slope = (f(z + step) - 2 * f(z) + f(z - step)) / step**2
    first = grad(lambda x: (getattr(x, name)() * weight).sum().real)
    got = grad(lambda x: first(x).sum().real)(Tensor(z)).numpy()
    np.testing.assert_allclose(got, slope * weight, 1e-5, 1e-5)


def test_derivatives_of_powers_on_the_axes() -> None:
    z = np.array([1j, 2j, -0.7j, 0.5, 4, -4, -0.5, 1 - 2j])
    for e in (0.5, -0.5, 1.5, -1.5, 2, -1, 3, 0.3, 2.5):
        slope = grad(lambda x, e=e: (x**e).real.sum())(Tensor(z)).numpy()
        np.testing.assert_allclose(slope, e * z ** (e - 1), 1e-10, 1e-12, err_msg=str(e))


def test_files(tmp_path: Any) -> None:
    z = numbers((2, 3), np.complex64)
    path = tmp_path / "z.safetensors"
    nn.state.safe_save({"z": Tensor(z)}, str(path))
    assert np.array_equal(nn.state.safe_load(str(path))["z"].numpy(), z)
    assert np.array_equal(pickle.loads(pickle.dumps(Tensor(z))).numpy(), z)


# Derivatives: those of JAX


def test_gradient_of_a_real_function() -> None:
    z = numbers((4,), np.complex128)
    close(grad(lambda x: (x * x.conj()).real.sum())(Tensor(z)), 2 * z.conj())
    close(grad(lambda x: x.abs().sum())(Tensor(z)), z.conj() / np.abs(z))
    close(grad(lambda x: (x * x).real.sum())(Tensor(z)), 2 * z)
    close(grad(lambda x: (x.exp()).imag.sum())(Tensor(z)), -1j * np.exp(z))
    x = Tensor(z, requires_grad=True)
    (x * x).real.sum().backward()
    close(x.grad, 2 * z)
    y = x * 2
    (y.exp().realize() * y).real.sum().backward()
    close(x.grad, 2 * z + 2 * np.exp(2 * z) * (1 + 2 * z))
    with pytest.raises(Exception, match="complex128"):
        grad(lambda x: (x * x).sum())(Tensor(z))


@pytest.mark.parametrize(
    "name",
    [
        "exp",
        "log",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "asin",
        "acos",
        "atan",
        "asinh",
        "acosh",
        "atanh",
        "square",
        "reciprocal",
    ],
)
def test_derivatives_are_holomorphic(name: str) -> None:
    """The tangent is f'(z) t, and the cotangent c f'(z), without a conjugate."""
    z, t = numbers((20,), np.complex128), numbers((20,), np.complex128, 1)

    def f(x):
        return getattr(x, name)()

    step = 1e-6
    slope = (reference(name, z + step) - reference(name, z - step)) / (2 * step)
    _, tangent = jvp(f, (Tensor(z),), (Tensor(t),))
    np.testing.assert_allclose(tangent.numpy(), slope * t, rtol=1e-6, atol=1e-8)
    _, pullback = vjp(f, Tensor(z))
    (cotangent,) = pullback(Tensor(t))
    np.testing.assert_allclose(cotangent.numpy(), slope * t, rtol=1e-6, atol=1e-8)


def test_vmap() -> None:
    z = numbers((3, 4), np.complex64)
    close(vmap(lambda x: x.sum() * x)(Tensor(z)), z.sum(1, keepdims=True) * z)
    close(vmap(lambda x: x * 2j, in_axes=1, out_axes=1)(Tensor(z)), z * 2j)
    close(vmap(grad(lambda x: (x * x.conj()).real.sum()))(Tensor(z)), 2 * z.conj())


# Errors


@pytest.mark.parametrize("call", ["lt", "le", "gt", "ge", "maximum", "minimum"])
def test_complex_numbers_have_no_order(call: str) -> None:
    x = Tensor([1j, 2])
    f = getattr(operator, call) if hasattr(operator, call) else getattr(Tensor, call)
    with pytest.raises(
        ValueError, match=f"Tensor.{call}: operands: are complex64: complex numbers have no order"
    ):
        f(x, x)
    with pytest.raises(ValueError, match="complex numbers have no order"):
        f(Tensor([1.0, 2.0]), x)


@pytest.mark.parametrize(
    "call",
    [
        "max",
        "min",
        "floor",
        "ceil",
        "trunc",
        "relu",
        "gelu",
        "sigmoid",
        "argmax",
        "erf",
        "softmax",
    ],
)
def test_what_complex_numbers_lack(call: str) -> None:
    with pytest.raises((ValueError, TypeError), match=rf"Tensor.{call}: .*complex64"):
        getattr(Tensor([1j, 2, 3]), call)()
    with pytest.raises((ValueError, TypeError), match="complex64"):
        Tensor([1j]) // 2


def test_casts_to_real_types_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Tensor.cast: dtype: float32 has no imaginary part"):
        Tensor([1j]).cast("float32")
    with pytest.raises(TypeError):
        float(Tensor(1j))
    x = Tensor([1.0])
    with pytest.raises(TypeError, match="complex numbers, expected real ones for float32"):
        x[0] = 1j


@pytest.mark.parametrize("dtype", TYPES)
def test_sort(dtype: Any) -> None:
    rng = np.random.default_rng(3)
    parts = np.array([0.0, -0.0, 1, -2, np.nan, np.inf, -np.inf])
    z = rng.choice(parts, (3, 50)) + 0j
    z.imag = rng.choice(parts, (3, 50))
    z = z.astype(dtype)
    for axis in (0, 1):
        got = pnp.sort(Tensor(z), axis=axis).numpy()
        np.testing.assert_array_equal(got, np.sort(z, axis=axis))
        at = pnp.argsort(Tensor(z), axis=axis).numpy()
        np.testing.assert_array_equal(at, np.argsort(z, axis=axis, kind="stable"))
    values, at = Tensor(z).sort(descending=True)
    np.testing.assert_array_equal(values.numpy(), np.sort(z)[:, ::-1])
    np.testing.assert_array_equal(np.take_along_axis(z, at.numpy(), 1), values.numpy())
    x = Tensor(z[0, :0])
    assert pnp.sort(x).shape == (0,)
    w = numbers((6,), np.complex128)
    got = grad(lambda x: (x.sort()[0] * Tensor(w)).sum().real)(Tensor(w)).numpy()
    np.testing.assert_array_equal(got[np.argsort(w)], w)
    np.testing.assert_array_equal(got[np.argsort(w)], w)


@pytest.mark.parametrize("dtype", TYPES)
def test_statistics_conjugate_as_numpy(dtype: Any) -> None:
    rng = np.random.default_rng(5)
    a = (rng.standard_normal((2, 5)) + 1j * rng.standard_normal((2, 5))).astype(dtype)
    weights = np.array([1, 2, 3, 0.5, 1], a.real.dtype)
    x = Tensor(a)
    near = functools.partial(np.testing.assert_allclose, rtol=2e-5, atol=2e-5)
    near(pnp.cov(x).numpy(), np.cov(a))
    near(pnp.cov(x, aweights=Tensor(weights)).numpy(), np.cov(a, aweights=weights))
    near(pnp.corrcoef(x).numpy(), np.corrcoef(a))
    for mode in ("full", "same", "valid"):
        for n, m in [(5, 3), (5, 4), (3, 5), (4, 5), (2, 5), (1, 4), (4, 4)]:
            found = pnp.correlate(x[0, :n], x[1, :m], mode).numpy()
            near(found, np.correlate(a[0, :n], a[1, :m], mode))
    near(pnp.vecmat(x[0, :2], x).numpy(), np.einsum("i,ij->j", a[0, :2].conj(), a))
    near(pnp.matvec(x, x[0]).numpy(), a @ a[0])
    for decimals in (-1, 0, 1):
        near(pnp.round(x * 30, decimals).numpy(), np.round(a * 30, decimals))


@pytest.mark.parametrize("dtype", TYPES)
def test_sets_and_searches_have_numpys_order(dtype: Any) -> None:
    rng = np.random.default_rng(6)
    a = (rng.integers(-2, 3, 99) + 1j * rng.integers(-2, 3, 99)).astype(dtype)
    a[::30] = np.nan
    a[5:8] = complex(1, np.nan), complex(np.nan, 2), complex(-0.0, 0)
    x, ascending = Tensor(a), np.sort(a)
    for got, want in zip(pnp.unique_all(x), np.unique_all(a), strict=True):
        np.testing.assert_array_equal(got.numpy(), want)
    parts = {"return_index": True, "return_inverse": True, "return_counts": True}
    for equal_nan in (True, False):
        wanted = np.unique(a, **parts, equal_nan=equal_nan)
        for got, want in zip(pnp.unique(x, **parts, equal_nan=equal_nan), wanted, strict=True):
            np.testing.assert_array_equal(got.numpy(), want)
    for side in ("left", "right"):
        np.testing.assert_array_equal(
            pnp.searchsorted(Tensor(ascending), x, side=side).numpy(),
            np.searchsorted(ascending, a, side=side),
        )
    np.testing.assert_array_equal(pnp.isin(x, x[:9]).numpy(), np.isin(a, a[:9]))
    b = a[~np.isnan(a)]
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        got = getattr(pnp, name)(Tensor(b[:40]), Tensor(b[40:] + 1))
        np.testing.assert_array_equal(got.numpy(), getattr(np, name)(b[:40], b[40:] + 1))


def test_cholesky_reads_real_diagonals() -> None:
    a = np.array([[4 + 3j, 0], [1 - 1j, 5 - 2j]])
    np.testing.assert_allclose(
        linalg.cholesky(Tensor(a)).numpy(), np.linalg.cholesky(a), atol=1e-14
    )
    gradient = grad(lambda x: pnp.real(linalg.cholesky(x) * (1 + 2j)).sum())(Tensor(a)).numpy()
    np.testing.assert_array_equal(gradient.diagonal().imag, 0)
