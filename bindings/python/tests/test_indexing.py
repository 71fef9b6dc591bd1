"""Selecting, scattering and sorting against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numeric import RNG, check_gradient, close

from polygrad import Tensor

NAN, INF = float("nan"), float("inf")


def test_index_select() -> None:
    x = RNG.normal(size=(3, 4, 2))
    for axis in range(-3, 3):
        at = RNG.integers(0, x.shape[axis], 5)
        close(Tensor(x).index_select(axis, Tensor(at)), np.take(x, at, axis))
    far = Tensor([-2, 4]) + 1  # computed with the rest, so that nobody looks at it before
    close(Tensor(x).index_select(0, far), np.stack([x[-1], np.zeros((4, 2))]))
    at = Tensor([2, 0, 2])
    check_gradient(lambda t: t.index_select(1, at), x[:1])


def scattered(x: Any, axis: int, index: Any, src: Any, combine: Any = None) -> Any:
    """Write src into a copy of x; combine gets all values for one place and the one of x."""
    out, met = x.copy(), {}
    for at in np.ndindex(index.shape):
        place = list(at)
        place[axis] = index[at]
        met.setdefault(tuple(place), []).append(src[at])
    for place, values in met.items():
        out[place] = values[-1] if combine is None else combine(values, x[place])
    return out


SHAPES: list[tuple[tuple[int, ...], int, tuple[int, ...]]] = [
    ((5,), 0, (7,)),
    ((3, 4), 1, (2, 6)),
    ((3, 4), 0, (5, 3)),
    ((2, 3, 4), -2, (2, 5, 4)),
]
REDUCTIONS: dict[str, Any] = {
    "sum": lambda v: sum(v),
    "prod": np.prod,
    "mean": np.mean,
    "amax": max,
    "amin": min,
}


@pytest.mark.parametrize(("shape", "axis", "size"), SHAPES)
def test_scatter(shape: Any, axis: int, size: Any) -> None:
    x, src = RNG.normal(size=shape), RNG.normal(size=size)
    index = RNG.integers(0, shape[axis], size)
    at = Tensor(index.astype(np.int32))
    want = scattered(x, axis, index, src)
    close(Tensor(x).scatter(axis, at, Tensor(src)), want)
    check_gradient(lambda t, s: t.scatter(axis, at, s), x, src)
    for name, combine in REDUCTIONS.items():
        got = Tensor(x).scatter_reduce(axis, at, Tensor(src), name)
        close(got, scattered(x, axis, index, src, lambda v, o, f=combine: f([*v, o])), 1e-11)
        got = Tensor(x).scatter_reduce(axis, at, Tensor(src), name, include_self=False)
        close(got, scattered(x, axis, index, src, lambda v, o, f=combine: f(v)), 1e-11)
        check_gradient(lambda t, s, n=name: t.scatter_reduce(axis, at, s, n), x, src)


def test_place_of_one_element() -> None:
    """The kernel that marks the one place runs after those that compute which it is."""
    every = Tensor(np.array([[1, -8, 8]], np.int16)).all(axis=None, keepdim=True)
    counts = (Tensor(np.array([-2, -8, 8, -2])) % 4).cast("int64").bincount(minlength=4)
    x = every.where(counts.cast("float16"), Tensor(256.0, dtype="float16"))
    row = every.isin(x == x).cast("int32")
    padded = x.cast("int32").pad(((2, 1), (2, 2)), value=1)
    set_ = padded.scatter_reduce(0, row, padded, "sum", include_self=False)
    order = counts.sort(0, False)[0].sort(0, True)[1]
    assert order.tolist() == [2, 3, 0, 1]
    want = np.ones((4, 8), int)
    want[2, 2:6] = [2, 0, 2, 0]
    assert set_.numpy().tolist() == want.tolist()


def test_counts_of_many() -> None:
    """Parts of a large tensor are counted apart, and then what is left of it."""
    for n in (1 << 17, (1 << 17) + 3):
        x = np.random.default_rng(4).integers(0, 97, n)
        counts = Tensor(x).bincount(minlength=99)
        assert np.array_equal(counts.numpy(), np.bincount(x, minlength=99))
        counts = Tensor(x.astype("float32")).histogram(13, 3.5, 90.5)[0]
        assert np.array_equal(counts.numpy(), np.histogram(x, 13, (3.5, 90.5))[0])


def test_scatter_of_numbers() -> None:
    x, at = Tensor([[1.0, 2.0, 3.0]]), Tensor([[2, 0]])
    assert x.scatter(1, at, 9).tolist() == [[9.0, 2.0, 9.0]]
    assert x.scatter(1, at, 2, reduce="add").tolist() == [[3.0, 2.0, 5.0]]
    assert x.scatter(1, at, 2, reduce="multiply").tolist() == [[2.0, 2.0, 6.0]]
    assert Tensor([1, 2]).scatter(0, Tensor([0]), 2.7).tolist() == [2, 2]
    assert x.scatter(1, at, x[:, :2], reduce="add").tolist() == [[3.0, 2.0, 4.0]]
    with pytest.raises(ValueError, match="reduce"):
        x.scatter(1, at, 1, reduce="max")
    with pytest.raises(ValueError, match="reduce"):
        x.scatter_reduce(1, at, x, "max")
    with pytest.raises((ValueError, TypeError), match="scatter: src"):
        x.scatter(1, at, Tensor([[1, 2]]))
    with pytest.raises((ValueError, TypeError), match="scatter: index"):
        x.scatter(1, Tensor([2]), Tensor([1.0]))


def test_masked_select_and_nonzero() -> None:
    x = RNG.normal(size=(4, 5))
    for mask in (x > 0, x > 9, x < 9, (x > 0)[:1], (x > 0)[:, :1]):
        wide = np.broadcast_to(mask, x.shape)
        close(Tensor(x).masked_select(Tensor(mask.copy())), x[wide])
    for y in (x > 0, np.zeros((2, 3)), np.array([0.0, NAN, -0.0, 2.0]), np.arange(24) % 5 % 3):
        close(Tensor(y).nonzero(), np.argwhere(y))
    close(Tensor((np.arange(24) % 5 % 3).reshape(2, 3, 4)).nonzero()[:2], [[0, 0, 1], [0, 0, 2]])
    with pytest.raises((ValueError, TypeError), match="mask"):
        Tensor(x).masked_select(Tensor(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint64, np.bool_])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        *(((7,), 0), ((3, 8), 1), ((5, 2, 3), 0), ((4, 1), -1), ((40, 17), 0), ((3, 33, 6), 1)),
        *(((8192,), 0), ((17, 512), 1), ((4096, 3), 0)),
    ],
)
def test_sort(shape: Any, axis: int, dtype: Any) -> None:
    x = RNG.integers(0, 5, shape).astype(dtype)
    if x.dtype.kind == "f":
        x.flat[[0, -1]] = NAN, INF
    values, places = Tensor(x).sort(axis)
    order = np.argsort(x, axis, kind="stable")
    assert values.dtype == Tensor(x).dtype
    close(values, np.sort(x, axis))
    close(places, order)
    close(Tensor(x).argsort(axis), order)
    # Descending: equal values keep their order there too.
    down, at = Tensor(x).sort(axis, descending=True)
    close(down, np.flip(np.sort(x, axis), axis))
    back = np.argsort(np.flip(x, axis), axis, kind="stable")
    order = np.flip(x.shape[axis] - 1 - back, axis)
    close(at, order)
    k = min(2, x.shape[axis])
    for largest in (True, False):
        top, at = Tensor(x).topk(k, axis, largest)
        values, places = Tensor(x).sort(axis, largest)
        close(top, np.take(values.numpy(), range(k), axis))
        close(at, np.take(places.numpy(), range(k), axis))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.uint8])
def test_unique_of_ranges(dtype: Any) -> None:
    info = np.iinfo(dtype)
    ends = [
        (0, 0),
        (3, 99),
        (info.min, info.max),
        (info.max - 3, info.max),
        (info.min, info.min + 200),
    ]
    ends += [(-70000, 70000)] if info.min < -70000 else []
    for low, high in ends:
        for n in (0, 1, 9, 5000):
            x = RNG.integers(low, high, n, dtype, endpoint=True)
            x[: 2 * (n > 1)] = [low, high][: 2 * (n > 1)]
            values, inverse, counts = Tensor(x.reshape(n, 1)).unique()
            wanted, places, numbers = np.unique(x, return_inverse=True, return_counts=True)
            assert values.dtype == Tensor(x).dtype
            assert values.numpy().tolist() == wanted.tolist()
            assert inverse.numpy().tolist() == places.reshape(n, 1).tolist()
            assert counts.numpy().tolist() == numbers.tolist()


def test_sort_gradients() -> None:
    x = RNG.normal(size=(3, 5))
    check_gradient(lambda t: t.sort(1)[0], x)
    check_gradient(lambda t: t.topk(2, 0)[0], x)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_running(axis: int) -> None:
    x = RNG.normal(size=(4, 6))
    close(Tensor(x).cumprod(axis), np.cumprod(x, axis), 1e-11)
    close(Tensor(x).logcumsumexp(axis), np.log(np.cumsum(np.exp(x), axis)), 1e-11)
    for name, f, g in (("cummax", np.maximum, np.argmax), ("cummin", np.minimum, np.argmin)):
        values, places = getattr(Tensor(x), name)(axis)
        close(values, f.accumulate(x, axis))
        first = [g(np.take(x, range(i + 1), axis), axis) for i in range(x.shape[axis])]
        close(places, np.stack(first, axis))
        check_gradient(lambda t, n=name: getattr(t, n)(axis)[0], x)
    check_gradient(lambda t: t.cumprod(axis), x)
    check_gradient(lambda t: t.logcumsumexp(axis), x)


def test_running_of_infinities() -> None:
    x = Tensor([-INF, 0.0, INF, 1.0])
    assert x.logcumsumexp().tolist() == [-INF, 0.0, INF, INF]
    values, places = Tensor([1.0, NAN, 3.0]).cummax()
    close(values, [1.0, NAN, NAN])
    assert places.tolist() == [0, 1, 1]


def test_long_running() -> None:
    x = RNG.normal(size=1500)
    close(Tensor(x).cumsum(), np.cumsum(x), 1e-9, 1e-9)
    close(Tensor(x).cummax()[0], np.maximum.accumulate(x))
    close(Tensor(1 + x / 1e3).cumprod(0), np.cumprod(1 + x / 1e3), 1e-9)


def test_movement() -> None:
    x = RNG.normal(size=(3, 4))
    for mode in ("reflect", "replicate", "circular", "symmetric"):
        how = {"replicate": "edge", "circular": "wrap"}.get(mode, mode)
        close(Tensor(x).pad(((2, 1), (0, 3)), mode), np.pad(x, ((2, 1), (0, 3)), how))
        close(Tensor(x).pad(((7, 1), (0, 9)), mode), np.pad(x, ((7, 1), (0, 9)), how))
        check_gradient(lambda t, m=mode: t.pad((1, 2, 7, 0), m), x)
    for shifts, axes in ((2, None), (-1, 0), ((1, -2), (0, 1)), (9, 1)):
        close(Tensor(x).roll(shifts, axes), np.roll(x, shifts, axes))
    for axis in (None, 0, 1):
        close(Tensor(x).repeat_interleave(3, axis), np.repeat(x, 3, axis))
    close(Tensor(x).unfold(1, 2, 1), np.lib.stride_tricks.sliding_window_view(x, 2, 1))
    y = Tensor(x.astype(np.float32), requires_grad=True)
    assert y.unfold(1, 0, 1).shape == (*x.shape[:1], x.shape[1] + 1, *x.shape[2:], 0)
    (gradient,) = y.unfold(1, 0, 1).sum().gradient(y)
    close(gradient, np.zeros(x.shape))
    for offset in (-2, -1, 0, 1, 3):
        close(Tensor(x).diagonal(offset), np.diagonal(x, offset))
    close(Tensor(RNG.normal(size=(2, 3, 4))).diagonal(1, 0, 2).shape, (3, 2))
    close(Tensor(x[0]).diag(), np.diag(x[0]))
    for indexing in ("ij", "xy"):
        want = np.meshgrid(x[0], x[1, :2], x[2, :3], indexing=indexing)  # type: ignore[call-overload]
        got = Tensor(x[0]).meshgrid(Tensor(x[1, :2]), Tensor(x[2, :3]), indexing=indexing)
        for g, w in zip(got, want):
            close(g, w)
    with pytest.raises(ValueError, match="mode"):
        Tensor(x).pad(((1, 1), (1, 1)), "mirror")
    with pytest.raises(ValueError, match="shifts"):
        Tensor(x).roll((1, 2), 0)
    with pytest.raises(ValueError, match=r"padding|pairs"):
        Tensor(x).pad(((0, 0), (-5, 0)), "reflect")


def test_setitem_keeps_gradients() -> None:
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y[1] = 7.0
    y[-1:] = x[:1] * 10
    assert y.tolist() == [2.0, 7.0, 10.0]
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [12.0, 0.0, 0.0]
    with pytest.raises(RuntimeError, match="a gradient flows through it"):
        x[0] = y[0]
    z = Tensor.zeros(2, 2)
    z[:, 1] = x[:2]
    z.sum().backward()
    assert z.tolist() == [[0.0, 1.0], [0.0, 2.0]]
    assert x.grad.tolist() == [13.0, 1.0, 0.0]


# Masks and lists

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
MASKS: dict[str, Any] = {
    "of all axes": lambda x, like: x[x > 5],
    "of the first axes": lambda x, like: x[like(CUBE[:, :, 0] > 3)],
    "of a later axis": lambda x, like: x[0, like([True, False, True]), ::-1],
    "after ...": lambda x, like: x[..., like([True, False, True, True])],
    "of the last axes": lambda x, like: x[..., like(CUBE[0] > 3)],
    "with slices": lambda x, like: x[like(CUBE[:, :, 0] > 3), 1:3],
    "list": lambda x, like: x[:, [True, False, True]],
    "nothing": lambda x, like: x[x > 100],
    "everything": lambda x, like: x[x > -1],
    "of size 0": lambda x, like: x[like(np.zeros((2, 0), bool))],
}


@pytest.mark.parametrize("name", MASKS)
def test_masks(name: str) -> None:
    select = MASKS[name]
    x = Tensor(CUBE.copy(), requires_grad=True)
    selected = select(x, Tensor)
    np.testing.assert_array_equal(selected.numpy(), select(CUBE, np.array))
    (selected * selected).sum().backward()
    want = np.zeros(24, dtype=np.float32)
    chosen = select(CUBE, np.array).reshape(-1).astype(int)
    want[chosen] = 2 * chosen
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy().reshape(-1), want)


def test_masks_replace() -> None:
    x = Tensor(CUBE.copy(), requires_grad=True)
    y = x * 1
    y[x > 5] = 0
    np.testing.assert_array_equal(y.numpy(), np.where(CUBE > 5, 0, CUBE))
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), CUBE <= 5)
    z = Tensor(CUBE.copy())
    z[z[:, :, 0] > 3] = Tensor([1.0, 2.0, 3.0, 4.0])
    want = CUBE.copy()
    want[want[:, :, 0] > 3] = [1, 2, 3, 4]
    np.testing.assert_array_equal(z.numpy(), want)


@pytest.mark.parametrize(
    "index",
    [
        lambda x: x[Tensor([True])],
        lambda x: x[True],
        lambda x: x[Tensor(True), [0]],
        lambda x: x[x[:, :2] > 0],
        lambda x: x[..., Tensor([True, False])],
        lambda x: x[1.5],
        lambda x: x["a"],
        lambda x: x[Tensor([1.5])],
        lambda x: x[2],
        lambda x: x[:, -4],
        lambda x: x[0, 0, 0, 0],
        lambda x: x[..., ...],
        lambda x: Tensor(1.0)[:],
    ],
)
def test_bad_indices(index: Any) -> None:
    with pytest.raises(IndexError):
        index(Tensor(CUBE.copy()))
    with pytest.raises(ValueError, match="step 0"):
        Tensor(CUBE.copy())[::0]


def test_lists_of_other_things_are_tuples() -> None:
    x = Tensor(CUBE.copy())
    np.testing.assert_array_equal(x[[slice(None), [1, 2]]].numpy(), CUBE[:, [1, 2]])
    np.testing.assert_array_equal(x[[[0, 1], [0, 1]]].numpy(), CUBE[[0, 1], [0, 1]])
    np.testing.assert_array_equal(x[[1, 0]].numpy(), CUBE[[1, 0]])
    assert x[[]].shape == (0, 3, 4)
    x[[[0, 1], [0, 1]]] = -1
    want = CUBE.copy()
    want[[0, 1], [0, 1]] = -1
    np.testing.assert_array_equal(x.numpy(), want)


def test_what_selects_everything_is_the_tensor() -> None:
    x = Tensor(CUBE.copy())
    assert x[...] is x[:] is x[()] is x


def test_indices_of_one_element_by_each_other() -> None:
    x = Tensor([[2]], dtype="uint8")
    zero = (x % 1).cast("int32")
    same = x.minimum(x) % 1
    assert x[zero].maximum(x.detach()[same.cast("int8")]).tolist() == [[[2]]]


def test_positions_of_lists_and_arrays_must_exist() -> None:
    x = Tensor(np.arange(24).reshape(2, 3, 4))
    for index, error in (
        (([0, 2],), "2 is out of bounds for axis 0 of size 2"),
        ((slice(None), [-4]), "-4 is out of bounds for axis 1 of size 3"),
        ((..., np.array([[4, 0]], "uint8")), "4 is out of bounds for axis 2 of size 4"),
        ((None, [True, False], [3]), "3 is out of bounds for axis 1 of size 3"),
        ((0, (1, 2, 3)), "3 is out of bounds for axis 1 of size 3"),
    ):
        with pytest.raises(IndexError, match=error):
            x[index]
        with pytest.raises(IndexError):
            x.numpy()[index]
    assert x[[], [-3]].shape == (0, 4)
    assert x[..., [-4, 3], None].tolist() == x.numpy()[..., [-4, 3], None].tolist()


@pytest.mark.parametrize("shift", range(1, 14))
def test_positions_of_groups(shift: int) -> None:
    """The lanes of a vector have one position or several, also from the middle of a group on."""
    numbers = np.random.default_rng(shift).standard_normal(3 * 2**12 + 7).astype(np.float32)
    x = Tensor(numbers).realize()
    for start in (0, 1, 2**shift - 1, 2**shift + 8):
        at = np.arange(start, start + 2**13)
        positions = Tensor.arange(start, start + 2**13)
        close(x[positions // 2**shift], numbers[at >> shift])
        close(x[positions >> shift], numbers[at >> shift])
        close(x[positions % 2**shift], numbers[at % 2**shift])
        close(x[positions & (2**shift - 1)], numbers[at % 2**shift])


def test_masks_without_axes():
    a = np.arange(6.0).reshape(2, 3)
    for hold in (True, False):
        mask, own = Tensor(np.array(hold)), np.array(hold)
        np.testing.assert_array_equal(Tensor(a)[mask].numpy(), a[own])
        np.testing.assert_array_equal(Tensor(a)[:, mask].numpy(), a[:, own])
        np.testing.assert_array_equal(Tensor(a)[1, mask, ::-1].numpy(), a[1][own, ::-1])
        assert Tensor(3.0)[mask].tolist() == [3.0] * hold
        for value in (7.0, a + 1):
            want, got = a.copy(), Tensor(a) + 0
            want[own], got[mask] = value, Tensor(value) if isinstance(value, np.ndarray) else value
            np.testing.assert_array_equal(got.numpy(), want)
    with pytest.raises(IndexError, match="mask of shape"):
        Tensor(a)[Tensor(np.array(True)), [0, 1]]


def test_masks_of_masks():
    mask = np.array([[True, False, True], [False, True, True]])
    for chosen in (mask, ~mask, np.zeros((2, 3), bool)):
        taken = Tensor(mask)[Tensor(chosen)]
        assert taken.dtype == "bool"
        np.testing.assert_array_equal(taken.numpy(), mask[chosen])
