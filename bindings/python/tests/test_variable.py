"""Variables in shapes and indices: every value gives what numbers in its place give."""

import numpy as np
import pytest

from polygrad import Tensor, Variable, dtypes
from polygrad.variable import SymInt

N = Variable("n", 1, 6)
M = Variable("m", 2, 5)
X = Tensor.arange(48).reshape(6, 8).float().realize()


def test_variables_compute():
    n, m = N.bind(5), M.bind(3)
    for name, size, value in [
        ("sum", n + m + 1, 9),
        ("difference", 10 - n, 5),
        ("product", n * m * 2, 30),
        ("quotient", (n + 2) // 2, 3),
        ("quotient of a negative number", (n - 12) // 2, -4),
        ("negative divisor", n // -2, -3),
        ("remainder", n % 3, 2),
        ("remainder of a negative number", (n - 12) % 5, 3),
        ("sign of the divisor", (12 - n) % -5, -3),
        ("number before", 7 // n, 1),
        ("negative", -n, -5),
        ("minimum", n.minimum(4), 4),
        ("maximum", n.maximum(m), 5),
    ]:
        assert size.val == value, name


def test_equal_sizes_are_equal():
    assert N * 4 // 4 == N and N + M == M + N and N.bind(3) * 2 == N.bind(3) + N.bind(3)
    assert N.bind(3) != N.bind(4) and N.bind(3) != N and N != 3
    assert N - N == 0 and len({N.bind(2), N.bind(2), N}) == 2
    assert Variable("n", 1, 6) == N and Variable("n", 1, 7) != N


def test_bounds_and_order():
    assert ((N + M).min, (N + M).max) == (3, 11)
    assert N < 7 and N <= 6 and N >= 1 and N > 0 and not N > 6 and bool(N)
    for compare in (lambda: N < 3, lambda: N.bind(2) >= 3, lambda: bool(N - 3)):
        with pytest.raises(ValueError, match="depends on values"):
            compare()


def test_values():
    assert N.bind(4).unbind() == (N, 4) and N.bind(4).val == 4
    assert (N.bind(4) * M).variables == {N: 4, M: None}
    assert (N.bind(4) * M.bind(2) + 1).unbound == N * M + 1
    assert repr(N * 2 + 1) == "n*2+1" and repr(N.bind(3)) == "n=3" and "n=3" in repr(N.bind(3) + M)
    with pytest.raises(ValueError, match="bind its variables"):
        _ = (N + 1).val


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Variable("", 1, 2), ValueError),
        (lambda: Variable("n", 3, 2), ValueError),
        (lambda: Variable("n", 0, 1 << 40), ValueError),
        (lambda: N.bind(7), ValueError),
        (lambda: N.bind(1.5), TypeError),
        (lambda: N + 1.5, TypeError),
        (lambda: N // (M - 3), ValueError),
        (lambda: X[N.bind(5) + 2], IndexError),
        (lambda: X[: N.bind(6) + 1], IndexError),
        (lambda: X.reshape(N.bind(2), 24), ValueError),
        (lambda: X.shrink(((N.bind(5), N.bind(5) - 1), (0, 1))), IndexError),
        (lambda: X[: N.bind(2)] + X[: N.bind(3)], ValueError),
        (lambda: X[: N.bind(3)][3], IndexError),
        (lambda: Tensor.zeros(N.bind(2) - 5), ValueError),
        (lambda: X[:N].sum().item(), RuntimeError),
    ],
)
def test_bad_sizes(make, error):
    with pytest.raises(error):
        make()


def halves(x, i, j):
    return x[:i].cat(x[i:, :], dim=0)


CASES = {
    "slice": lambda x, i, j: x[:i],
    "both axes": lambda x, i, j: x[:i, :j] * 2,
    "from": lambda x, i, j: x[i - 1 :],
    "window": lambda x, i, j: x[:, i : i + 2],
    "step": lambda x, i, j: x[:i, ::3] + 1,
    "step over a size": lambda x, i, j: x[:i][::2],
    "backwards": lambda x, i, j: x[:i][::-1],
    "element": lambda x, i, j: x[i - 1] + 1,
    "the last": lambda x, i, j: x[:i][-1],
    "from the end": lambda x, i, j: x[-i],
    "slice from the end": lambda x, i, j: x[-i:],
    "shrink": lambda x, i, j: x.shrink(((0, i), (j, j + 3))),
    "pad": lambda x, i, j: x[:i].pad(((1, 8 - i), (0, 0))),
    "pad by a value": lambda x, i, j: x[:2].pad(((i, 0), (0, j)), value=3.0),
    "expand": lambda x, i, j: x[:1].expand(i, 8),
    "repeat": lambda x, i, j: x[:2, :3].repeat(i, 2),
    "reshape": lambda x, i, j: x[:i].reshape(i, 2, 4).sum(1),
    "flatten": lambda x, i, j: x[:i].flatten(),
    "argmax": lambda x, i, j: (x[:i, :j] * 5 % 7).argmax(0),
    "argmin of all": lambda x, i, j: (x[:i] * 5 % 7).argmin(),
    "index tensor": lambda x, i, j: x[:i][Tensor([0, -1, 0])],
    "two index tensors": lambda x, i, j: x[:i, :j][Tensor([0, -1]), Tensor([[1], [-2]])],
    "permute": lambda x, i, j: x[:i, :j].permute(1, 0).contiguous(),
    "cat": lambda x, i, j: x[:i].cat(x[:j], dim=0),
    "halves": halves,
    "sum": lambda x, i, j: x[:i, :j].sum(),
    "sum of columns": lambda x, i, j: x[:i].sum(0),
    "mean": lambda x, i, j: x[:i, :j].mean(1),
    "variance": lambda x, i, j: x[:i].var(),
    "max": lambda x, i, j: x[:i].max(0),
    "product": lambda x, i, j: (x[:i, :j] / 10).prod(1),
    "softmax": lambda x, i, j: (x[:, :j] / 8).softmax(1),
    "log_softmax": lambda x, i, j: (x[:, :j] / 8).log_softmax(),
    "matmul over it": lambda x, i, j: x[:, :j] @ x[:j, :].permute(0, 1)[:, :3],
    "matmul beside it": lambda x, i, j: x[:i] @ x.permute(1, 0),
    "outer": lambda x, i, j: x[0, :i].unsqueeze(1) * x[0, :j].unsqueeze(0),
    "where": lambda x, i, j: (x[:i] > 5).where(x[:i], -1.0),
    "value": lambda x, i, j: x * i + j,
    "full of it": lambda x, i, j: Tensor.full((2, 3), i) + j,
    "zeros": lambda x, i, j: Tensor.zeros(i, 2) + 1,
    "arange": lambda x, i, j: Tensor.arange(i, i + 7, j),
    "norm": lambda x, i, j: x[:i].layernorm(),
    "attention": lambda x, i, j: (
        x[:3]
        .reshape(1, 3, 8)
        .scaled_dot_product_attention(x[:i].reshape(1, i, 8) / 9, x[:i].reshape(1, i, 8))
    ),
    "convolution": lambda x, i, j: (
        x[:, : i + 2].reshape(6, 1, i + 2).conv2d(Tensor.ones(2, 1, 3), stride=2, padding=1)
    ),
    "pooling": lambda x, i, j: x[:, : i + 2].reshape(1, 6, i + 2).max_pool2d((2, 2), stride=(2, 1)),
    "cast": lambda x, i, j: x[:i].cast(dtypes.int32) // 3,
    "cumsum": lambda x, i, j: x[:i, :j].cumsum(0) + x[:i, :j].cumsum(1),
    "cummax": lambda x, i, j: (x[:i, :j] * 5 % 7).cummax(1)[1],
    "cummin": lambda x, i, j: (x[:i, :j] * 5 % 7).cummin(0)[0],
    "cumprod": lambda x, i, j: (x[:i, :j] / 10).permute(1, 0).cumprod(0),
    "logcumsumexp": lambda x, i, j: (x[:i, :j] / 8).logcumsumexp(1),
    "sort": lambda x, i, j: (x[:i, :j] * 5 % 7).sort(1)[0],
    "argsort": lambda x, i, j: (x[:i, :j] * 5 % 7).sort(0, descending=True)[1],
    "greatest": lambda x, i, j: (x[:i, :j] * 5 % 7).topk(1, 0)[1],
    "bitcast": lambda x, i, j: x[:i].bitcast(dtypes.int32),
}


@pytest.mark.parametrize("name", CASES)
def test_variables_give_what_numbers_give(name):
    f = CASES[name]
    for i, j in [(1, 2), (4, 3), (6, 5), (2, 5)]:
        want = f(X, i, j).numpy()
        got = f(X, N.bind(i), M.bind(j))
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, err_msg=f"{i}, {j}")
        values = tuple(n.val if isinstance(n, SymInt) else n for n in got.shape)
        assert values == want.shape and got.dtype == f(X, i, j).dtype


def test_results_with_symbolic_shapes_are_tensors_like_others():
    i = N.bind(4)
    y = (X[:i] + 1).realize()
    assert y.shape == (i, 8) and y.numel() == i * 8 and y.ndim == 2
    np.testing.assert_array_equal(y.numpy(), X.numpy()[:4] + 1)
    np.testing.assert_array_equal((y * 2)[:3].numpy(), (X.numpy()[:3] + 1) * 2)
    np.testing.assert_array_equal(y.clone().numpy(), y.numpy())
    np.testing.assert_array_equal(y.sum(0).numpy(), y.numpy().sum(0))
    assert y[:4].shape == (4, 8)


def test_bounds_beyond_an_axis_read_zeros():
    """A program serves all values of its variables: none of them may read other memory."""
    wide = Variable("wide", 1, 1000)
    t = Tensor([1.0, 2.0, 3.0])
    assert t[: wide.bind(3)].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(IndexError):
        t[: wide.bind(4)]


def test_gradients_flow_through_symbolic_sizes():
    for k in (1, 3, 6):
        x = Tensor(np.arange(1, 7, dtype=np.float32), requires_grad=True)
        (x[: N.bind(k)] ** 2).mean().backward()
        want = np.where(np.arange(6) < k, 2 * np.arange(1, 7) / k, 0)
        np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6)


@pytest.mark.parametrize(
    "draw",
    [
        lambda n: Tensor.rand(n, 2),
        lambda n: Tensor.randn(n, 2),
        lambda n: Tensor.randint(n, 2, low=3, high=90),
        lambda n: Tensor.uniform(n, 2, low=0.5),
        lambda n: Tensor.normal(n, 2, mean=2.0),
        lambda n: (X[:n] * 0 + 1).dropout(0.5)[:, :2],
    ],
)
def test_random_tensors_are_the_front_of_those_of_the_greatest_size(draw):
    """One program draws for all sizes."""

    def drawn(n):
        Tensor.manual_seed(7)
        with Tensor.train():
            return draw(n).numpy()

    most = drawn(N.bind(6))
    assert len(np.unique(most)) > 1
    for n in (1, 4):
        got = drawn(N.bind(n))
        assert got.shape == (n, 2)
        np.testing.assert_array_equal(got, most[:n])


@pytest.mark.parametrize("rows, k, columns", [(100, 64, 96), (40, 17, 300), (9, 600, 130)])
def test_products_of_variable_size(rows, k, columns):
    """Tiles, what is left behind them, packed operands and sums over a variable number of rows."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((rows, k)), rng.standard_normal((k, columns))
    left, right, turned = (Tensor(v.astype(np.float32)).realize() for v in (a, b, b.T))
    for n in (1, 2, 6, 7, rows // 2 + 1, rows - 1, rows):
        part = left[: Variable("rows", 1, rows).bind(n)]
        want = np.maximum.reduce(a[:n] @ b)
        for product in (part @ right, part @ turned.T):
            np.testing.assert_allclose(product.max(0).numpy(), want, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(part.sum(0).numpy(), a[:n].sum(0), rtol=1e-4, atol=1e-4)
        across = left.T[:, : Variable("rows", 1, rows).bind(n)]
        np.testing.assert_allclose(
            (right.T @ across).sum(1).numpy(), (b.T @ a[:n].T).sum(1), rtol=1e-4, atol=1e-3
        )


@pytest.mark.parametrize("length", [1, 15, 33, 64])
def test_attention_of_variable_length(length):
    """Queries and keys of one variable number, and keys alone."""
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((2, 3, 64, 16)).astype(np.float32) for _ in range(3))
    n = Variable("length", 1, 64).bind(length)

    def expected(q):
        scores = q @ k[:, :, :length].swapaxes(2, 3) / 4
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v[:, :, :length]

    keys, values = Tensor(k)[:, :, :n], Tensor(v)[:, :, :n]
    some = Tensor(q).scaled_dot_product_attention(keys, values)
    np.testing.assert_allclose(some.numpy(), expected(q), atol=1e-5)
    every = Tensor(q)[:, :, :n].scaled_dot_product_attention(keys, values).sum(2)
    np.testing.assert_allclose(every.numpy(), expected(q[:, :, :length]).sum(2), atol=1e-4)


@pytest.mark.parametrize("length", [1, 2, 66, 131])
def test_rows_of_variable_length(length: int) -> None:
    """What is done to rows is done in one kernel, also if other rows have another length."""
    rng = np.random.default_rng(length)
    x, y = (rng.normal(size=(37, 131)).astype(np.float32) for _ in range(2))
    n, m = Variable("n", 1, 131).bind(length), Variable("m", 1, 131).bind(100)
    a, b, short = Tensor(x)[:, :n], Tensor(y)[:, :n], Tensor(x)[:, :m]
    wide, other = x[:, :length].astype(np.float64), y[:, :length].astype(np.float64)
    e = np.exp(wide - wide.max(1, keepdims=True))
    weights = e / e.sum(1, keepdims=True)
    for got, want in (
        ((a.softmax(-1) * b).sum(1), (weights * other).sum(1)),
        (a.max(1) - short.max(1), wide.max(1) - x[:, :100].max(1)),
        (a.max(1) + Tensor(x).sum(1), wide.max(1) + x.sum(1)),
        (((a * b).sum(0, keepdim=True) * a).sum(1), ((wide * other).sum(0) * wide).sum(1)),
    ):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-4)


STEPS = [
    lambda t: t.exp(),
    lambda t: t * 2 - 1,
    lambda t: (t > 0).where(t, -t),
    lambda t: t.softmax(-1),
    lambda t: t.softmax(0),
    lambda t: t.layernorm(),
    lambda t: t - t.max(0, keepdim=True),
    lambda t: t * t.sum(1, keepdim=True),
    lambda t: t / (1e-3 + t.abs().sum()),
    lambda t: t.T * 2,
    lambda t: t @ t.T / 1024,
    lambda t: t.T @ t / 128,
    lambda t: t.sum(0, keepdim=True),
    lambda t: t.sum(1, keepdim=True),
    lambda t: t.max(0, keepdim=True),
    lambda t: t.mean(1, keepdim=True),
    lambda t: (t > 0.5).any(0, keepdim=True).cast(t.dtype),
    lambda t: t.cumsum(0) / 40,
    lambda t: t.cumsum(1) / 150,
    lambda t: t.cummax(1)[0],
    lambda t: t.sort(0)[0],
    lambda t: t.sort(1, descending=True)[0] * t,
]


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_on_slices_of_variable_size(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(8):
        rows, columns = int(rng.choice([2, 3, 8, 17, 40])), int(rng.choice([2, 7, 31, 70, 150]))
        dtype = str(rng.choice(["float32", "float16", "float64"]))
        data = rng.uniform(-1, 1, (rows, columns)).astype(dtype)
        x, steps = (
            Tensor(data),
            [STEPS[i] for i in rng.integers(len(STEPS), size=rng.integers(1, 4))],
        )
        sizes = [Variable("a", 1, rows), Variable("b", 1, columns)]
        for _ in range(2):
            a, b = int(rng.integers(1, rows + 1)), int(rng.integers(1, columns + 1))
            varied = int(rng.integers(1, 4))
            got = x[
                : sizes[0].bind(a) if varied & 1 else a, : sizes[1].bind(b) if varied & 2 else b
            ]
            want = Tensor(np.ascontiguousarray(data[:a, :b]))
            for step in steps:
                got, want = step(got), step(want)
            tolerance = 2e-2 if dtype == "float16" else 1e-3
            np.testing.assert_allclose(got.numpy(), want.numpy(), tolerance, tolerance)


@pytest.mark.parametrize("length", [1, 20, 700])
def test_gradients_of_prefixes_and_sorts_of_variable_size(length: int) -> None:
    data = np.random.default_rng(length).normal(size=(3, 700)).astype(np.float32)
    n, weight = Variable("n", 1, 700).bind(length), Tensor.arange(700)[:length] / 700
    fixed, whole = Tensor(np.ascontiguousarray(data[:, :length])), Tensor(data)
    for function in (
        lambda x: x.cumsum(1).sin(),
        lambda x: (x / 2).exp().cummax(1)[0] * x,
        lambda x: x.logcumsumexp(1),
        lambda x: x.sort(1)[0] * x,
        lambda x: x.sort(1, descending=True)[0].square() * x,
    ):
        (want,) = (function(fixed) * weight).sum().gradient(fixed)
        some = Tensor.arange(700)[:n] / 700
        (got,) = (function(whole[:, :n]) * some).sum().gradient(whole)
        np.testing.assert_allclose(got.numpy()[:, :length], want.numpy(), 1e-3, 1e-3)
        assert (got.numpy()[:, length:] == 0).all()


@pytest.mark.parametrize("length", [1, 5, 40])
def test_triangles_of_variable_size(length: int) -> None:
    x = np.random.default_rng(length).normal(size=(2, 40, 8)).astype(np.float32)
    n = Variable("n", 1, 40).bind(length)
    some, want = Tensor(x)[:, :n], Tensor(np.ascontiguousarray(x[:, :length]))
    np.testing.assert_array_equal(some.tril(-1).numpy(), want.tril(-1).numpy())
    np.testing.assert_array_equal(some.triu(2).numpy(), want.triu(2).numpy())
    got = some.scaled_dot_product_attention(some, some, is_causal=True).numpy()
    causal = want.scaled_dot_product_attention(want, want, is_causal=True).numpy()
    np.testing.assert_allclose(got, causal, atol=1e-6)


def test_views_whose_positions_have_large_parts() -> None:
    """A position fits into 32 bits, though the row number times the elements of a row may not."""
    wide = np.arange(50 * 7000, dtype=np.float32).reshape(50, 7000)
    bytes_ = np.arange(16 * 130 * 700).astype(np.int8).reshape(16, 130, 700)
    n, m = Variable("n", 1, 50), Variable("m", 1, 16)
    x, y = Tensor(wide), Tensor(bytes_)
    for length in (50, 49, 7):
        turned = x[: n.bind(length)].T.flatten()
        np.testing.assert_array_equal(turned.numpy(), wide[:length].T.ravel())
        np.testing.assert_array_equal((turned + 1).numpy(), wide[:length].T.ravel() + 1)
    for length in (16, 15):
        turned = y[: m.bind(length)].permute(2, 1, 0).flatten()
        want = bytes_[:length].transpose(2, 1, 0).ravel()
        np.testing.assert_array_equal(turned.numpy(), want)
