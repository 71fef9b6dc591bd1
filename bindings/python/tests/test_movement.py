"""Views, indexing and joining against numpy, forward and backward."""

from __future__ import annotations

import numpy as np
import pytest
from numeric import RNG, check_gradient, close

from polygrad import Tensor
from polygrad import numpy as pnp

X = RNG.uniform(-1, 1, (2, 3, 4))

VIEWS = {
    "reshape": (lambda t: t.reshape(4, 6), lambda x: x.reshape(4, 6)),
    "reshape -1": (lambda t: t.reshape(-1, 2), lambda x: x.reshape(-1, 2)),
    "reshape tuple": (lambda t: t.reshape((24,)), lambda x: x.reshape(24)),
    "view": (lambda t: t.view(6, 4), lambda x: x.reshape(6, 4)),
    "permute": (lambda t: t.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1)),
    "permute negative": (lambda t: t.permute(-1, 0, 1), lambda x: x.transpose(2, 0, 1)),
    "transpose": (lambda t: t.transpose(), lambda x: x.swapaxes(0, 1)),
    "transpose 0 1": (lambda t: t.transpose(0, 1), lambda x: x.swapaxes(0, 1)),
    "T": (lambda t: t.T, lambda x: x.swapaxes(-2, -1)),
    "unsqueeze": (lambda t: t.unsqueeze(1), lambda x: x[:, None]),
    "unsqueeze -1": (lambda t: t.unsqueeze(-1), lambda x: x[..., None]),
    "squeeze": (lambda t: t.unsqueeze(0).squeeze(), lambda x: x),
    "squeeze 0": (lambda t: t.unsqueeze(0).squeeze(0), lambda x: x),
    "squeeze longer": (lambda t: t.squeeze(1), lambda x: x),
    "flatten": (lambda t: t.flatten(), lambda x: x.reshape(-1)),
    "flatten 1": (lambda t: t.flatten(1), lambda x: x.reshape(2, 12)),
    "unflatten": (lambda t: t.unflatten(2, (2, -1)), lambda x: x.reshape(2, 3, 2, 2)),
    "expand": (
        lambda t: t.unsqueeze(1).expand(2, 5, 3, 4),
        lambda x: np.broadcast_to(x[:, None], (2, 5, 3, 4)),
    ),
    "expand -1": (
        lambda t: t.unsqueeze(0).expand(3, -1, -1, -1),
        lambda x: np.broadcast_to(x[None], (3, 2, 3, 4)),
    ),
    "shrink": (lambda t: t.shrink(((0, 1), None, (1, 3))), lambda x: x[0:1, :, 1:3]),
    "pad": (lambda t: t.pad(((1, 0), None, (0, 2))), lambda x: np.pad(x, ((1, 0), (0, 0), (0, 2)))),
    "pad flat": (lambda t: t.pad((1, 2)), lambda x: np.pad(x, ((0, 0), (0, 0), (1, 2)))),
    "pad value": (
        lambda t: t.pad(((0, 0), (1, 1), (0, 0)), value=3.5),
        lambda x: np.pad(x, ((0, 0), (1, 1), (0, 0)), constant_values=3.5),
    ),
    "flip": (lambda t: t.flip(1), lambda x: np.flip(x, 1)),
    "flip several": (lambda t: t.flip((0, -1)), lambda x: np.flip(x, (0, 2))),
    "repeat": (lambda t: t.repeat(1, 2, 3), lambda x: np.tile(x, (1, 2, 3))),
    "repeat more": (lambda t: t.repeat(2, 1, 1, 1), lambda x: np.tile(x, (2, 1, 1, 1))),
    "rearrange": (
        lambda t: t.rearrange("a b (c d) -> (a c) d b", c=2),
        lambda x: x.reshape(2, 3, 2, 2).transpose(0, 2, 3, 1).reshape(4, 2, 3),
    ),
    "rearrange 1": (
        lambda t: t.rearrange("a b c -> a 1 b c"),
        lambda x: x[:, None],
    ),
    "tril": (lambda t: t.tril(), np.tril),
    "triu 1": (lambda t: t.triu(1), lambda x: np.triu(x, 1)),
    "int": (lambda t: t[1], lambda x: x[1]),
    "int -1": (lambda t: t[-1, 2], lambda x: x[-1, 2]),
    "slice": (lambda t: t[:, 1:], lambda x: x[:, 1:]),
    "slice step": (lambda t: t[:, ::2, ::3], lambda x: x[:, ::2, ::3]),
    "slice back": (lambda t: t[:, ::-1, 3:0:-2], lambda x: x[:, ::-1, 3:0:-2]),
    "slice clipped": (lambda t: t[:, 1:100, -3:], lambda x: x[:, 1:100, -3:]),
    "slice empty": (lambda t: t[:, 2:1], lambda x: x[:, 2:1]),
    "none": (lambda t: t[:, None, ..., None], lambda x: x[:, None, ..., None]),
    "ellipsis": (lambda t: t[..., 1], lambda x: x[..., 1]),
    "tensor": (lambda t: t[:, Tensor([2, 0, 0])], lambda x: x[:, [2, 0, 0]]),
    "list": (lambda t: t[[1, 0, 1]], lambda x: x[[1, 0, 1]]),
    "two tensors": (
        lambda t: t[Tensor([0, 1]), Tensor([2, 1])],
        lambda x: x[[0, 1], [2, 1]],
    ),
    "tensor 2-D": (lambda t: t[0, Tensor([[0, 1], [2, 0]])], lambda x: x[0, [[0, 1], [2, 0]]]),
    "cat": (lambda t: Tensor.cat(t, t * 2, dim=1), lambda x: np.concatenate([x, x * 2], 1)),
    "cat list": (lambda t: Tensor.cat([t, t], dim=-1), lambda x: np.concatenate([x, x], -1)),
    "stack": (lambda t: Tensor.stack(t, t * 2, dim=1), lambda x: np.stack([x, x * 2], 1)),
    "stack -1": (lambda t: t.stack(t, dim=-1), lambda x: np.stack([x, x], -1)),
    "split": (lambda t: t.split(2, dim=2)[1], lambda x: x[..., 2:]),
    "split sizes": (lambda t: t.split([1, 3], dim=2)[1], lambda x: x[..., 1:]),
    "chunk": (lambda t: t.chunk(3, dim=2)[1], lambda x: x[..., 2:]),
    "contiguous": (lambda t: t.permute(2, 1, 0).contiguous(), lambda x: x.transpose(2, 1, 0)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name):
    got, want = VIEWS[name]
    close(got(Tensor(X)), want(X))
    close(got(Tensor(X.astype(np.float32))), want(X.astype(np.float32)))
    if name != "slice empty":
        check_gradient(got, X)


def test_views_of_integers():
    x = np.arange(24, dtype=np.int64).reshape(2, 3, 4)
    for name in ("permute", "pad", "flip", "slice back", "tensor", "cat", "repeat"):
        got, want = VIEWS[name]
        assert got(Tensor(x)).dtype == "int64"
        close(got(Tensor(x)), want(x))


def test_gather():
    x = RNG.uniform(-1, 1, (3, 4))
    index = RNG.integers(0, 4, (3, 6))
    close(Tensor(x).gather(1, Tensor(index)), np.take_along_axis(x, index, 1))
    check_gradient(lambda t: t.gather(1, Tensor(index)), x)


def test_one_hot():
    close(Tensor([0, 2, 1]).one_hot(4), np.eye(4)[[0, 2, 1]])


def test_iteration_and_length():
    t = Tensor([[1, 2], [3, 4]])
    assert len(t) == 2
    assert [row.tolist() for row in t] == [[1, 2], [3, 4]]
    with pytest.raises(TypeError):
        len(Tensor(1.0))


def test_split_and_chunk_parts():
    t = Tensor.arange(10)
    assert [p.tolist() for p in t.split(4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [p.shape[0] for p in t.chunk(3)] == [4, 4, 2]
    assert [p.tolist() for p in t.split((7, 3))][1] == [7, 8, 9]


def test_setitem():
    t = Tensor([[1, 2], [3, 4]])
    t[0] = 9
    t[1, Tensor([0])] = Tensor([7])
    assert t.tolist() == [[9, 9], [7, 4]]


def test_zero_sizes():
    t = Tensor.zeros(0, 3)
    assert t.shape == (0, 3)
    assert t.numpy().shape == (0, 3)
    assert (t + 1).tolist() == []
    assert t.sum().item() == 0
    assert t.sum(0).tolist() == [0, 0, 0]
    assert Tensor.cat(t, Tensor.ones(2, 3)).shape == (2, 3)
    assert t.reshape(3, 0).T.shape == (0, 3)
    assert Tensor.zeros(0)[::-1].tolist() == []
    assert (Tensor.zeros(0, 2) @ Tensor.zeros(2, 4)).shape == (0, 4)
    assert (Tensor.ones(2, 0) @ Tensor.ones(0, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_zeros_keep_their_signs(dtype: str) -> None:
    x = np.array([-0.0, 0.0, 1.0, -np.inf, np.nan], dtype)
    t = Tensor(x)
    cases = [(t + 0.0, x + 0.0), (t - 0.0, x - 0.0), (0.0 - t, 0.0 - x), (t + -0.0, x)]
    for value in (0.0, -0.0, -1.0):
        cases.append((t.pad(((1, 2),), value=value), np.pad(x, (1, 2), constant_values=value)))
    for ours, want in cases:
        np.testing.assert_array_equal(np.signbit(ours.numpy()), np.signbit(want))
        np.testing.assert_array_equal(ours.numpy(), want)


@pytest.mark.parametrize("seed", range(8))
def test_joined_parts_keep_the_signs_of_zeros(seed: int) -> None:
    rng = np.random.default_rng(seed)
    makers = [
        lambda x: (Tensor(x), x),
        lambda x: (-Tensor(x), -x),
        lambda x: ((Tensor(x) > 0).where(Tensor(x), -0.0), np.where(x > 0, x, np.float32(-0.0))),
        lambda x: ((Tensor(x) > 0).where(0.0, Tensor(x)), np.where(x > 0, np.float32(0), x)),
        lambda x: (Tensor.full(x.shape, -0.0), np.full_like(x, -0.0)),
        lambda x: (Tensor.full(x.shape, 0.0), np.full_like(x, 0.0)),
    ]
    for _ in range(10):
        axis, other = int(rng.integers(2)), int(rng.integers(1, 40))
        parts = []
        for size in rng.choice([0, 1, 2, 3, 4, 8, 33, 64], rng.integers(2, 7)):
            shape = (size, other) if axis == 0 else (other, size)
            x = rng.choice([0.0, -0.0, 1.0, -2.5, np.inf], shape).astype("float32")
            parts.append(makers[rng.integers(len(makers))](x))
        joined = Tensor.cat(*(ours for ours, _ in parts), dim=axis)
        want = np.concatenate([x for _, x in parts], axis)
        for ours, theirs in ((joined, want), (joined.flip(0), want[::-1]), (-joined.T, -want.T)):
            np.testing.assert_array_equal(np.signbit(ours.numpy()), np.signbit(theirs))
            np.testing.assert_array_equal(ours.numpy(), theirs)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("sizes", [(1, 2), (3, 0, 1), (5, 7, 2, 9), (1,) * 24])
def test_joined_zeros_keep_their_signs(dtype: str, sizes: tuple[int, ...]) -> None:
    for axis in (0, 1):
        parts = [np.full((n, 3) if axis == 0 else (3, n), -0.0, dtype) for n in sizes]
        joined = Tensor.cat(*map(Tensor, parts), dim=axis)
        ones = Tensor(np.ones(joined.shape, dtype))
        assert np.signbit(ones.copysign(joined.flip(0)).numpy()).all()
        assert np.signbit(joined.numpy()).all()


@pytest.mark.parametrize(
    ("error", "function"),
    [
        (ValueError, lambda t: t.reshape(5, 5)),
        (ValueError, lambda t: t.reshape(-1, -1)),
        (ValueError, lambda t: t.reshape(-1, 7)),
        (TypeError, lambda t: t.reshape(2.5, 2)),
        (ValueError, lambda t: t.expand(2, 3, 5)),
        (ValueError, lambda t: t.permute(0, 1)),
        (ValueError, lambda t: t.permute(0, 0, 1)),
        (IndexError, lambda t: t.transpose(0, 3)),
        (IndexError, lambda t: t.unsqueeze(9)),
        (IndexError, lambda t: t.squeeze(3)),
        (IndexError, lambda t: t.shrink(((0, 5), None, None))),
        (IndexError, lambda t: t.shrink(((1, 0), None, None))),
        (ValueError, lambda t: t.shrink((1, 2))),
        (ValueError, lambda t: t.pad((1, 2, 3))),
        (IndexError, lambda t: t.flip(3)),
        (IndexError, lambda t: t[2]),
        (IndexError, lambda t: t[0, 0, 0, 0]),
        (IndexError, lambda t: t[..., ...]),
        (IndexError, lambda t: t[1.5]),
        (IndexError, lambda t: t["a"]),
        (IndexError, lambda t: t[True]),
        (ValueError, lambda t: t[::0]),
        (ValueError, lambda t: Tensor.cat(t, Tensor.zeros(2, 2))),
        (ValueError, lambda t: Tensor.cat(t, Tensor.zeros(2, 9, 4), dim=0)),
        (IndexError, lambda t: Tensor.cat(t, t, dim=3)),
        (ValueError, lambda t: Tensor.stack(t, Tensor.zeros(2))),
        (ValueError, lambda t: t.split([1, 2])),
        (ValueError, lambda t: t.split(0)),
        (IndexError, lambda t: t.split(1, dim=5)),
        (ValueError, lambda t: t.chunk(0)),
        (ValueError, lambda t: t.rearrange("a b -> b a")),
        (ValueError, lambda t: t.rearrange("a b c -> a b d")),
        (ValueError, lambda t: t.rearrange("a (b c) d -> a b c d", b=2)),
        (ValueError, lambda t: Tensor(1.0).tril()),
    ],
)
def test_errors(error, function):
    with pytest.raises(error):
        function(Tensor(X))


def test_an_empty_list_selects_nothing():
    assert Tensor.zeros(3, 2)[[]].shape == (0, 2)


def test_no_sizes_are_the_shape_of_a_scalar() -> None:
    x = Tensor([[3.0]])
    assert x.reshape(*()).shape == x.view().shape == x.reshape(()).shape == ()
    scalar = x.reshape()
    for same in (scalar.expand(*()), scalar.permute(*()), scalar.flip(*()), scalar.repeat(*())):
        assert same.shape == () and same.item() == 3.0
    with pytest.raises(ValueError, match="reshape: shape: cannot reshape"):
        Tensor([1.0, 2.0]).reshape(*())


def test_orders_of_scalars_and_padding_of_numpy():
    for order in ((0,), (0, 0), (-1,)):
        with pytest.raises(ValueError, match="is no permutation, expected each of 0 axes once"):
            Tensor(1.0).permute(*order)
    assert Tensor(1.0).permute(()).shape == ()
    for width in (-1, (0, -1), ((0, 0), (0, 0), (-1, 0))):
        with pytest.raises(ValueError, match=r"pad: pad_width: .*, expected whole numbers of 0"):
            pnp.pad(Tensor(X), width)
    assert str(pnp.vander(Tensor([True, False])).dtype).endswith("int32")
    for products in (lambda v, m: pnp.vecmat(m, v), pnp.matvec):
        with pytest.raises(ValueError, match="expected at least"):
            products(Tensor([1.0, 2.0]), Tensor([1.0, 2.0]))


@pytest.mark.parametrize("shape", [(64, 128), (33, 65), (7, 5)])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float16", "float32", "float64"])
def test_elements_of_every_size(dtype: str, shape: tuple[int, int]) -> None:
    """Stacks, repeats, triangles, transposes and bits: vectors of small elements, of masks too."""
    x = (RNG.integers(0, 2 if dtype == "bool" else 200, shape)).astype(dtype)
    y = x[::-1, ::-1].copy()
    a, b = Tensor(x), Tensor(y)
    for n in (2, 3, 4, 7):
        stacked = Tensor.stack(*([a, b] * 4)[:n], dim=-1)
        np.testing.assert_array_equal(stacked.numpy(), np.stack(([x, y] * 4)[:n], -1))
        repeated = a.repeat_interleave(n, 1)
        np.testing.assert_array_equal(repeated.numpy(), np.repeat(x, n, 1))
    for k in (-3, 0, 2):
        np.testing.assert_array_equal(a.tril(k).numpy(), np.tril(x, k))
        np.testing.assert_array_equal(a.triu(k).numpy(), np.triu(x, k))
    chosen = Tensor.stack(a, (a == b).where(a, b), dim=-1)
    np.testing.assert_array_equal(chosen.numpy(), np.stack([x, np.where(x == y, x, y)], -1))
    np.testing.assert_array_equal(a.T.contiguous().numpy(), x.T)
    np.testing.assert_array_equal((a.T == b.T).numpy(), x.T == y.T)
    np.testing.assert_array_equal(a.flip(0).T.contiguous().numpy(), x[::-1].T)
    if x.itemsize > 1:
        np.testing.assert_array_equal(a.bitcast("uint8").numpy(), x.view(np.uint8))
