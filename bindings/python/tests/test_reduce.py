"""Reductions, norms, products and losses against numpy, forward and backward."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from numeric import RNG, check_gradient, close
from turns import part

from polygrad import Tensor, dtypes, numpy

X = RNG.uniform(-2, 2, (2, 3, 4))

SIMPLE = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
}


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (1, -1), ()])
@pytest.mark.parametrize("name", SIMPLE)
def test_reductions(name, axis, keepdim):
    want = SIMPLE[name](X, axis=axis, keepdims=keepdim)
    close(getattr(Tensor(X), name)(axis=axis, keepdim=keepdim), want)
    single = X.astype(np.float32)
    close(getattr(Tensor(single), name)(axis=axis, keepdim=keepdim), want, rtol=1e-5)
    check_gradient(lambda t: getattr(t, name)(axis=axis, keepdim=keepdim), X)


@pytest.mark.parametrize("correction", [0, 1])
@pytest.mark.parametrize("axis", [None, 1, (0, 2)])
def test_variance(axis, correction):
    close(Tensor(X).var(axis, correction=correction), X.var(axis, ddof=correction))
    close(Tensor(X).std(axis, correction=correction), X.std(axis, ddof=correction))
    check_gradient(lambda t: t.var(axis, correction=correction), X)
    check_gradient(lambda t: t.std(axis, correction=correction), X)


def test_any_all_and_positions():
    b = RNG.integers(0, 2, (3, 4))
    close(Tensor(b).any(1), b.any(1))
    close(Tensor(b).all(0), b.all(0))
    close(Tensor(X).argmax(), X.argmax())
    close(Tensor(X).argmax(1), X.argmax(1))
    close(Tensor(X).argmin(-1, keepdim=True), X.argmin(-1)[..., None])
    assert Tensor([1, 3, 3]).argmax().item() == 1
    wide = RNG.integers(-9, 9, (70, 90)).astype(np.float32)
    for value in (np.nan, np.inf, -np.inf):
        for _ in range(2):
            wide.flat[RNG.integers(0, wide.size)] = value
        close(Tensor(wide).argmax(), wide.argmax())
        close(Tensor(wide).argmin(), wide.argmin())


def test_types_of_sums():
    assert Tensor([True, True]).sum().dtype == dtypes.int32
    assert Tensor(np.array([200, 100], dtype=np.uint8)).sum().item() == 300
    assert Tensor(np.array([1, 2], dtype=np.int32)).mean().item() == 1.5
    half = Tensor(np.full(10000, 0.1, dtype=np.float16))
    assert half.sum().dtype == dtypes.float16
    assert abs(half.sum().item() - 1000) < 1


def test_long_sums_are_accurate():
    x = RNG.uniform(0, 1, 1_000_000).astype(np.float32)
    want = x.astype(np.float64).sum()
    assert abs(Tensor(x).sum().item() - want) / want < 1e-6


def test_cumsum_and_logsumexp():
    close(Tensor(X).cumsum(1), X.cumsum(1))
    want = np.log(np.exp(X).sum(1))
    close(Tensor(X).logsumexp(1), want)
    close(Tensor(X + 1000).logsumexp(1), want + 1000)
    check_gradient(lambda t: t.logsumexp(1), X)
    check_gradient(lambda t: t.cumsum(2), X)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis):
    close(Tensor(X).softmax(axis), softmax(X, axis))
    close(Tensor(X).log_softmax(axis), np.log(softmax(X, axis)))
    check_gradient(lambda t: t.softmax(axis), X)
    check_gradient(lambda t: t.log_softmax(axis), X)


@pytest.mark.parametrize("axis", [-1, 0, (1, 2)])
def test_layernorm(axis):
    want = (X - X.mean(axis, keepdims=True)) / np.sqrt(X.var(axis, keepdims=True) + 1e-5)
    close(Tensor(X).layernorm(axis), want, rtol=1e-6)
    check_gradient(lambda t: t.layernorm(axis), X)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((4,), (4,)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((1, 1), (1, 1)),
    ],
)
def test_matmul(a, b):
    x, y = RNG.uniform(-1, 1, a), RNG.uniform(-1, 1, b)
    close(Tensor(x) @ Tensor(y), x @ y)
    close(Tensor(x).dot(Tensor(y)), x @ y)
    check_gradient(lambda t, u: t @ u, x, y)


def test_larger_matmul():
    a = RNG.uniform(-1, 1, (65, 130)).astype(np.float32)
    b = RNG.uniform(-1, 1, (130, 67)).astype(np.float32)
    close(Tensor(a) @ Tensor(b), a @ b, rtol=1e-4, atol=1e-4)


def test_linear():
    x, w, b = RNG.uniform(-1, 1, (3, 4)), RNG.uniform(-1, 1, (5, 4)), RNG.uniform(-1, 1, 5)
    close(Tensor(x).linear(Tensor(w), Tensor(b)), x @ w.T + b)
    close(Tensor(x).linear(Tensor(w)), x @ w.T)
    check_gradient(lambda t, u, v: t.linear(u, v), x, w, b)


@pytest.mark.parametrize(
    ("formula", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ij->ji", [(2, 3)]),
        ("ij->", [(2, 3)]),
        ("ii", [(3, 3)]),
        ("ii->i", [(3, 3)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("i,j->ij", [(2,), (3,)]),
        ("ij,ij->i", [(2, 3), (2, 3)]),
        ("a b, b c, c d -> a d", [(2, 3), (3, 4), (4, 2)]),
    ],
)
def test_einsum(formula, shapes):
    arrays = [RNG.uniform(-1, 1, s) for s in shapes]
    close(Tensor.einsum(formula, *map(Tensor, arrays)), np.einsum(formula, *arrays))
    check_gradient(lambda *ts: Tensor.einsum(formula, *ts), *arrays)


def test_triangular():
    a = RNG.uniform(-1, 1, (2, 4, 4))
    spd = a @ a.swapaxes(-1, -2) + 4 * np.eye(4)
    lower = np.linalg.cholesky(spd)
    close(Tensor(spd).cholesky(), lower)
    close(Tensor(spd).cholesky(upper=True), lower.swapaxes(-1, -2))
    b = RNG.uniform(-1, 1, (2, 4, 3))
    close(Tensor(lower).triangular_solve(Tensor(b)), np.linalg.solve(lower, b))
    upper = lower.swapaxes(-1, -2)
    close(Tensor(upper).triangular_solve(Tensor(b), upper=True), np.linalg.solve(upper, b))
    got = Tensor(lower).triangular_solve(Tensor(b), transpose=True)
    close(got, np.linalg.solve(upper, b))
    unit = np.tril(lower, -1) + np.eye(4)
    got = Tensor(lower).triangular_solve(Tensor(b[..., 0]), unit_diagonal=True)
    close(got, np.linalg.solve(unit, b[..., :1])[..., 0])
    check_gradient(lambda t: (t @ t.T + Tensor(4 * np.eye(3))).cholesky(), a[0, :3, :3], rtol=1e-4)


def test_attention():
    q, k, v = (RNG.uniform(-1, 1, (2, 4, 3)) for _ in range(3))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(3)
    close(Tensor(q).scaled_dot_product_attention(Tensor(k), Tensor(v)), softmax(scores, -1) @ v)
    hidden = np.where(np.tril(np.ones((4, 4))), scores, -np.inf)
    causal = Tensor(q).scaled_dot_product_attention(Tensor(k), Tensor(v), is_causal=True)
    close(causal, softmax(hidden, -1) @ v)
    check_gradient(lambda a, b, c: a.scaled_dot_product_attention(b, c), q, k, v)


def test_cross_entropy():
    x = RNG.uniform(-2, 2, (4, 3))
    classes = np.array([0, 2, 1, 2])
    want = -np.log(softmax(x, 1))[np.arange(4), classes].mean()
    close(Tensor(x).cross_entropy(Tensor(classes)), want)
    close(Tensor(x).cross_entropy(Tensor(classes.astype(np.float32))), want)
    close(Tensor(x).sparse_categorical_crossentropy(Tensor(classes)), want)
    # A class that cannot be: of probability 0, where it is not the target.
    masked = np.concatenate([x, np.full((len(x), 1), -np.inf, np.float32)], 1)
    close(Tensor(masked).sparse_categorical_crossentropy(Tensor(classes)), want)
    close(Tensor(masked).cross_entropy(Tensor(classes)), want)
    target = softmax(RNG.uniform(-1, 1, (4, 3)), 1)
    want = -(target * np.log(softmax(x, 1))).sum(1).mean()
    close(Tensor(x).cross_entropy(Tensor(target)), want)
    check_gradient(lambda t: t.cross_entropy(Tensor(classes)), x)
    check_gradient(lambda t, u: t.cross_entropy(u), x, target)
    close(
        Tensor(x.T.copy()).cross_entropy(Tensor(classes), axis=0),
        -np.log(softmax(x, 1))[np.arange(4), classes].mean(),
    )


def test_losses_of_infinities() -> None:
    x, y = Tensor([0.0, math.inf, 3.0]), Tensor([math.inf, 1.0, -math.inf])
    for loss in (Tensor.l1_loss, Tensor.huber_loss, Tensor.mse_loss):
        assert loss(x, y, reduction="none").tolist() == [math.inf] * 3, loss
    assert not Tensor([3e38]).isclose(Tensor([-3e38])).item()
    assert Tensor(math.nan).argmax().item() == 0


def test_binary_cross_entropy():
    p = RNG.uniform(0.1, 0.9, (3, 4))
    y = RNG.integers(0, 2, (3, 4)).astype(np.float64)
    want = -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()
    close(Tensor(p).binary_crossentropy(Tensor(y)), want)
    logits = np.log(p / (1 - p))
    close(Tensor(logits).binary_crossentropy_logits(Tensor(y)), want)
    check_gradient(lambda t: t.binary_crossentropy(Tensor(y)), p)
    check_gradient(lambda t: t.binary_crossentropy_logits(Tensor(y)), logits)


@pytest.mark.parametrize(
    ("error", "function"),
    [
        (IndexError, lambda t: t.sum(3)),
        (ValueError, lambda t: t.sum((0, 0))),
        (IndexError, lambda t: t.softmax(5)),
        (IndexError, lambda t: t.argmax(7)),
        (TypeError, lambda t: t.argmax((0, 1))),
        (ValueError, lambda t: t @ Tensor.zeros(5, 2)),
        (ValueError, lambda t: Tensor(1.0) @ t),
        (ValueError, lambda t: t.linear(Tensor.zeros(5, 9))),
        (ValueError, lambda t: t.cross_entropy(Tensor.zeros(9))),
        (ValueError, lambda t: Tensor.einsum("ij,jk->ik", t)),
        (ValueError, lambda t: Tensor.einsum("ij->ij", t)),
        (ValueError, lambda t: Tensor.einsum("abc->abd", t)),
        (ValueError, lambda t: Tensor.einsum("a1c->ac", t)),
        (ValueError, lambda t: t.cholesky()),
        (ValueError, lambda t: Tensor.eye(3).triangular_solve(Tensor.zeros(2))),
    ],
)
def test_errors(error, function):
    with pytest.raises(error):
        function(Tensor(X))


def test_the_terms_of_a_reduction_stay_whole():
    x = (1e8 + RNG.integers(0, 100, 1000) * 8).astype(np.float32)
    assert (Tensor(x) - 1e8).sum().item() == (x - np.float32(1e8)).sum()
    assert (Tensor(x) - Tensor([1e8])).sum().item() == (x - np.float32(1e8)).sum()
    y = RNG.uniform(0.9, 1.1, 400).astype(np.float32)
    close((Tensor(y * np.float32(1e30)) * Tensor([1e-30])).prod(), np.prod(y), rtol=1e-4)
    assert Tensor.rand(64).prod().item() < 1


FUNCTIONS = ["exp", "log", "log2", "sin", "tanh", "sqrt", "sigmoid", "gelu", "erf", "erfc", "atan"]
FUNCTIONS += ["lgamma", "digamma", "softplus", "log1p"]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_maximum_of_a_function_is_one_of_its_values(name, dtype):
    for n in (3, 40, 1000):
        x = Tensor(np.linspace(1, 3, n), dtype=dtype)
        for y, axis in ((getattr(x, name)(), None), (getattr(x.reshape(-1, 1), name)(), 0)):
            for found in (y.max(axis), y.min(axis)):
                assert (y == found).any().item()
    x = Tensor([1.0, 3.0, 2.0], dtype=dtype, requires_grad=True)
    getattr(x, name)().max().backward()
    assert np.isfinite(x.grad.numpy()).all()


@pytest.mark.parametrize(
    ("rounded", "dtype"), part(product([False, True], ["float32", "float64", "int32"]), 6)
)
def test_quantiles_of_many_elements(dtype, rounded):
    """Elements of many are found by counting, without a sort, also among equal ones."""
    rng = np.random.default_rng(3)
    a = rng.standard_normal((260, 1030)) * 100
    a = (np.round(a / 40) if rounded else a).astype(dtype)
    for q in 0.0, 0.3337, 0.5, 1.0:
        for axis, x in ((1, a), (0, a.T), (0, a.reshape(-1))):
            want = np.quantile(x.astype("float64"), q, axis)
            np.testing.assert_allclose(Tensor(x).quantile(q, axis).numpy(), want, rtol=1e-5)
    shares = np.array([0.1, 0.1003, 0.5, 0.75])
    for axis in 0, 1, None:
        want = np.quantile(a.astype("float64"), shares, axis)
        got = numpy.quantile(Tensor(a), Tensor(shares), axis).numpy()
        np.testing.assert_allclose(got, want, rtol=1e-5)
    if dtype != "int32":
        a[3, 700] = np.nan
        got = Tensor(a).quantile(0.5, 1).numpy()
        assert np.isnan(got[3]) and not np.isnan(np.delete(got, 3)).any()


def test_gradient_of_a_quantile_of_many_elements():
    """It adds to the two elements beside the place."""
    a = np.random.default_rng(4).permutation(1 << 18).astype(np.float32)
    x = Tensor(a, requires_grad=True)
    x.quantile(0.25).backward()
    want = np.zeros_like(a)
    place = 0.25 * (len(a) - 1)
    order = np.argsort(a)
    want[order[int(place)]], want[order[int(place) + 1]] = 1 - place % 1, place % 1
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6)


@pytest.mark.parametrize("n", [4, 1 << 18])
def test_gradient_of_a_quantile_between_equal_elements(n):
    """Each of the two has its share: the other one does not change with it."""
    x = Tensor(np.float32([3, 1, 1] + [0] * (n // 2 - 1) + [3] * (n // 2 - 2)), requires_grad=True)
    x.quantile(0.5).backward()
    assert x.grad[:3].tolist() == [0, 0.5, 0.5]
    y = Tensor([1.0, 1.0, 2.0, 5.0], requires_grad=True)
    y.quantile(0.25).backward()
    np.testing.assert_allclose(y.grad.numpy(), [0.25, 0.75, 0, 0], rtol=1e-6)
    lowest = Tensor([-np.inf, -np.inf, 1.0], requires_grad=True)
    lowest.quantile(0.25).backward()
    assert lowest.grad.tolist() == [1, 0, 0]


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_means_of_integers_whose_sum_overflows(kind):
    limits = np.iinfo(kind)
    x = RNG.integers(limits.min, limits.max, (40, 300), kind, endpoint=True)
    x[0], x[1], x[2] = limits.max, limits.min, np.arange(300)
    x[3] = 3
    for axis in (0, 1, None):
        want = np.mean(x.astype(np.float64), axis)
        np.testing.assert_allclose(Tensor(x).mean(axis).numpy(), want, 1e-5, limits.max * 1e-7)
    rows = Tensor(x).mean(1).numpy()
    assert rows[0] == np.float32(limits.max) and rows[1] == np.float32(limits.min)
    assert rows[2] == 149.5 and rows[3] == 3
