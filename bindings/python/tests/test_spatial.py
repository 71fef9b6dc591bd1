"""Convolution, pooling and resizing against loops over their definitions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numeric import RNG, check_gradient, close

from polygrad import Tensor

Array = Any


def pairs(padding: Any, n: int) -> list[tuple[int, int]]:
    """Return the padding before and after each axis."""
    numbers = [padding] * n if isinstance(padding, int) else list(padding)
    if len(numbers) == n:
        return [(p, p) for p in numbers]
    return [(numbers[2 * i], numbers[2 * i + 1]) for i in reversed(range(n))]


def each(value: Any, n: int) -> list[int]:
    """Return a number for each axis."""
    return [value] * n if isinstance(value, int) else list(value)


def conv(
    x: Array,
    w: Array,
    groups: int = 1,
    stride: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
) -> Array:
    """Convolve, element by element."""
    n = w.ndim - 2
    stride, dilation = each(stride, n), each(dilation, n)
    x = np.pad(x, [(0, 0), (0, 0), *pairs(padding, n)])
    size = [
        (x.shape[2 + a] - dilation[a] * (w.shape[2 + a] - 1) - 1) // stride[a] + 1 for a in range(n)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *size))
    per_in, per_out = w.shape[1], w.shape[0] // groups
    for b, o, *at in itertools.product(*(range(s) for s in out.shape)):
        first = o // per_out * per_in
        for c, *k in itertools.product(range(per_in), *(range(s) for s in w.shape[2:])):
            where = tuple(at[a] * stride[a] + k[a] * dilation[a] for a in range(n))
            out[(b, o, *at)] += x[(b, first + c, *where)] * w[(o, c, *k)]
    return out


def conv_transpose(
    x: Array,
    w: Array,
    groups: int = 1,
    stride: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
) -> Array:
    """Add every element times the kernel to its places."""
    n = w.ndim - 2
    stride, dilation = each(stride, n), each(dilation, n)
    extra, pads = each(output_padding, n), pairs(padding, n)
    wide = [
        (x.shape[2 + a] - 1) * stride[a] + dilation[a] * (w.shape[2 + a] - 1) + 1 + extra[a]
        for a in range(n)
    ]
    per_in, per_out = x.shape[1] // groups, w.shape[1]
    out = np.zeros((x.shape[0], groups * per_out, *wide))
    for b, c, *at in itertools.product(*(range(s) for s in x.shape)):
        for o, *k in itertools.product(range(per_out), *(range(s) for s in w.shape[2:])):
            where = tuple(at[a] * stride[a] + k[a] * dilation[a] for a in range(n))
            out[(b, c // per_in * per_out + o, *where)] += x[(b, c, *at)] * w[(c, o, *k)]
    cut = tuple(slice(p, s - q) for (p, q), s in zip(pads, wide))
    return out[(slice(None), slice(None), *cut)]


def windows(
    shape: tuple[int, ...],
    kernel: list[int],
    stride: Any = None,
    dilation: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
) -> tuple[list[int], Any]:
    """Return the number of windows on each axis, and a function that gives the places of one."""
    n = len(kernel)
    stride = kernel if stride is None else each(stride, n)
    dilation, pads = each(dilation, n), pairs(padding, n)
    counts = []
    for a in range(n):
        inside = shape[a - n] + sum(pads[a]) - dilation[a] * (kernel[a] - 1) - 1
        count = (-(-inside // stride[a]) if ceil_mode else inside // stride[a]) + 1
        if ceil_mode and (count - 1) * stride[a] >= shape[a - n] + pads[a][0]:
            count -= 1  # it would begin in the padding at the end
        counts.append(count)

    def places(at: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [
            tuple(at[a] * stride[a] + k[a] * dilation[a] - pads[a][0] for a in range(n))
            for k in itertools.product(*(range(s) for s in kernel))
        ]

    return counts, places


def inside(place: tuple[int, ...], shape: tuple[int, ...], reach: list[tuple[int, int]]) -> bool:
    """Tell whether a place is in a shape that is extended on both sides."""
    return all(-p <= i < s + q for i, s, (p, q) in zip(place, shape, reach))


def max_pool(x: Array, kernel: list[int], **options: Any) -> tuple[Array, Array]:
    """Return maxima and where the first of each is."""
    n = len(kernel)
    spatial = x.shape[-n:]
    counts, places = windows(x.shape, kernel, **options)
    out, found = np.zeros((*x.shape[:-n], *counts)), np.zeros((*x.shape[:-n], *counts), int)
    none = [(0, 0)] * n
    for *lead, at in itertools.product(
        *(range(s) for s in x.shape[:-n]), itertools.product(*(range(c) for c in counts))
    ):
        real = sorted(p for p in places(at) if inside(p, spatial, none))
        best = max(real, key=lambda p: x[(*lead, *p)])
        out[(*lead, *at)] = x[(*lead, *best)]
        found[(*lead, *at)] = np.ravel_multi_index(best, spatial)
    return out, found


def avg_pool(x: Array, kernel: list[int], count_include_pad: bool = True, **options: Any) -> Array:
    """Return means; places beyond the padding never count."""
    n = len(kernel)
    spatial = x.shape[-n:]
    counts, places = windows(x.shape, kernel, **options)
    out = np.zeros((*x.shape[:-n], *counts))
    none, pads = [(0, 0)] * n, pairs(options.get("padding", 0), n)
    for *lead, at in itertools.product(
        *(range(s) for s in x.shape[:-n]), itertools.product(*(range(c) for c in counts))
    ):
        real = [x[(*lead, *p)] for p in places(at) if inside(p, spatial, none)]
        reach = pads if count_include_pad else none
        out[(*lead, *at)] = sum(real) / sum(inside(p, spatial, reach) for p in places(at))
    return out


CONVS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 7), (4, 3, 3), {}),
    ((1, 2, 9), (3, 2, 2), {"stride": 2, "padding": (2, 1), "dilation": 3}),
    ((2, 3, 5, 6), (4, 3, 3, 2), {}),
    ((2, 4, 5, 6), (6, 2, 3, 3), {"groups": 2, "padding": 1, "stride": (2, 1)}),
    ((1, 3, 6, 6), (3, 1, 2, 2), {"groups": 3, "dilation": (1, 2)}),
    ((1, 2, 5, 5), (2, 2, 3, 3), {"padding": (2, 0)}),
    ((1, 2, 5, 5), (2, 2, 3, 3), {"padding": (1, 0, 2, 1)}),
    ((1, 2, 3, 4, 5), (2, 2, 2, 3, 2), {"stride": (1, 2, 2), "padding": 1}),
    ((1, 1, 1, 1), (1, 1, 1, 1), {}),
]


@pytest.mark.parametrize(("x_shape", "w_shape", "options"), CONVS)
def test_conv(x_shape: Any, w_shape: Any, options: Any) -> None:
    x, w, b = RNG.normal(size=x_shape), RNG.normal(size=w_shape), RNG.normal(size=w_shape[0])
    want = conv(x, w, **options)
    close(Tensor(x).conv2d(Tensor(w), **options), want, rtol=1e-11, atol=1e-12)
    biased = want + b.reshape(-1, *[1] * (w.ndim - 2))
    close(Tensor(x).conv2d(Tensor(w), Tensor(b), **options), biased, rtol=1e-11, atol=1e-12)
    single = [Tensor(v.astype(np.float32)) for v in (x, w, b)]
    close(single[0].conv2d(*single[1:], **options), biased, rtol=1e-5, atol=1e-5)
    check_gradient(lambda p, q, r: p.conv2d(q, r, **options), x[:1], w, b)


TRANSPOSED: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 5), (3, 2, 3), {}),
    ((1, 2, 4), (2, 1, 3), {"stride": 3, "output_padding": 2, "padding": 1}),
    ((2, 4, 3, 4), (4, 2, 2, 3), {"groups": 2, "stride": 2, "output_padding": (1, 0)}),
    ((1, 2, 3, 3), (2, 2, 3, 2), {"dilation": 2, "padding": (1, 0, 0, 2)}),
    ((1, 1, 2, 2, 3), (1, 2, 2, 2, 2), {"stride": (2, 1, 2)}),
]


@pytest.mark.parametrize(("x_shape", "w_shape", "options"), TRANSPOSED)
def test_conv_transpose(x_shape: Any, w_shape: Any, options: Any) -> None:
    outs = w_shape[1] * options.get("groups", 1)
    x, w, b = RNG.normal(size=x_shape), RNG.normal(size=w_shape), RNG.normal(size=outs)
    want = conv_transpose(x, w, **options) + b.reshape(-1, *[1] * (w.ndim - 2))
    got = Tensor(x).conv_transpose2d(Tensor(w), Tensor(b), **options)
    close(got, want, rtol=1e-11, atol=1e-12)
    check_gradient(lambda p, q: p.conv_transpose2d(q, **options), x[:1], w)


POOLS: list[tuple[tuple[int, ...], list[int], dict[str, Any]]] = [
    ((2, 3, 6, 6), [2, 2], {}),
    ((1, 2, 7), [3], {"stride": 2, "padding": 1}),
    ((1, 2, 7), [3], {"stride": 2, "padding": 1, "ceil_mode": True}),
    ((1, 1, 8), [2], {"stride": 3, "ceil_mode": True}),
    ((1, 1, 5, 6), [2, 3], {"stride": (2, 1), "padding": (1, 0, 0, 1)}),
    ((1, 1, 7, 8), [3, 2], {"dilation": (1, 3), "stride": 1}),
    ((1, 1, 5, 5), [3, 3], {"stride": 2, "padding": 1, "ceil_mode": True}),
    ((1, 1, 4, 5, 6), [2, 2, 3], {"stride": (2, 3, 2), "ceil_mode": True}),
    ((3, 4), [2], {}),
]


@pytest.mark.parametrize(("shape", "kernel", "options"), POOLS)
def test_pools(shape: Any, kernel: Any, options: Any) -> None:
    x = RNG.normal(size=shape)
    want, places = max_pool(x, kernel, **options)
    close(Tensor(x).max_pool2d(kernel, **options), want, rtol=0, atol=0)
    values, found = Tensor(x).max_pool2d(kernel, return_indices=True, **options)
    close(values, want, rtol=0, atol=0)
    close(found, places, rtol=0, atol=0)
    for count in (True, False):
        mean = Tensor(x).avg_pool2d(kernel, count_include_pad=count, **options)
        close(mean, avg_pool(x, kernel, count, **options), rtol=1e-12, atol=1e-12)
        check_gradient(
            lambda t, c=count: t.avg_pool2d(kernel, count_include_pad=c, **options), x[:1]
        )
    check_gradient(lambda t: t.max_pool2d(kernel, **options), x[:1])


def test_pool_of_equals_and_infinities() -> None:
    x = np.array([[[[1.0, 1.0], [1.0, 1.0]]], [[[-np.inf] * 2] * 2]])
    values, places = Tensor(x).max_pool2d(padding=1, return_indices=True)
    close(values, [[[[1, 1], [1, 1]]], [[[-np.inf] * 2] * 2]])
    assert places.numpy()[0].tolist() == [[[0, 1], [2, 3]]]
    small = np.array([[[-128, -127, -126]]], np.int8)
    got = Tensor(small).max_pool2d((2,), stride=1, padding=1)
    assert got.tolist() == [[[-128, -127, -126, -126]]]
    assert got.dtype == "int8"


def test_unpool() -> None:
    x = RNG.normal(size=(2, 3, 6, 4))
    values, places = Tensor(x).max_pool2d(return_indices=True)
    back = values.max_unpool2d(places).numpy()
    assert back.shape == x.shape
    kept = back != 0
    assert kept.sum() == values.numel()
    np.testing.assert_array_equal(back[kept], x[kept])
    wide = values.max_unpool2d(places, output_size=(2, 3, 7, 4))
    assert wide.shape == (2, 3, 7, 4)
    odd = RNG.normal(size=(1, 1, 7))
    options: dict[str, Any] = {"stride": 2, "padding": 1}
    values, places = Tensor(odd).max_pool2d((3,), return_indices=True, **options)
    # Windows that overlap may have the same greatest value: values for one place are added.
    close(values.max_unpool2d(places, (3,), **options).sum(), values.numpy().sum())


def resize(x: Array, size: tuple[int, ...], mode: str, align: bool) -> Array:
    """Resize the last axes, one after the other."""
    for a, new in zip(range(x.ndim - len(size), x.ndim), size):
        old, at = x.shape[a], np.arange(new)
        if mode != "linear":
            half = 0.5 if mode == "nearest-exact" else 0
            x = np.take(x, np.floor((at + half) * (old / new)).astype(int), a)
            continue
        place = at * (old - 1) / max(new - 1, 1) if align else (at + 0.5) * old / new - 0.5
        place = np.clip(place, 0, old - 1)
        low, high = np.floor(place).astype(int), np.ceil(place).astype(int)
        part = (place - low).reshape(-1, *[1] * (x.ndim - a - 1))
        x = np.take(x, low, a) * (1 - part) + np.take(x, high, a) * part
    return x


@pytest.mark.parametrize(
    ("mode", "align"),
    [("linear", False), ("linear", True), ("nearest", False), ("nearest-exact", False)],
)
@pytest.mark.parametrize("size", [(5,), (3, 7), (8, 2), (1, 4), (2, 5, 3)])
def test_interpolate(size: tuple[int, ...], mode: str, align: bool) -> None:
    x = RNG.normal(size=(2, 3, 4, 5))
    want = resize(x, size, mode, align)
    close(Tensor(x).interpolate(size, mode, align), want, rtol=1e-12, atol=1e-12)
    close(Tensor(x.astype(np.float32)).interpolate(size, mode, align), want, atol=1e-5)
    check_gradient(lambda t: t.interpolate(size, mode, align), x[:1, :1])


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "area"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint32", "uint64"])
def test_resized_integers(mode: str, dtype: str) -> None:
    """Neither differences nor sums wrap, and integers that float32 does not have stay."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    for value in (low, high, min(high, (1 << 24) + 1)):
        got = Tensor(np.full((1, 1, 5, 4), value, dtype)).interpolate((7, 6), mode)
        close(got.numpy().astype(float), np.full((1, 1, 7, 6), float(value)), rtol=1e-14)
    x = np.where(np.arange(20).reshape(1, 1, 5, 4) % 3 > 0, high, low).astype(dtype)
    want = np.clip(Tensor(x.astype(float)).interpolate((7, 6), mode).numpy(), low, high)
    got = Tensor(x).interpolate((7, 6), mode).numpy().astype(float)
    np.testing.assert_allclose(got, want, atol=max(1.0, high * 1e-14))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x, w: x.conv2d(w, stride=0), "conv2d: stride"),
        (lambda x, w: x.conv2d(w, groups=2), "conv2d: weight"),
        (lambda x, w: x.conv2d(w, Tensor.ones(3)), "conv2d: bias: has shape"),
        (lambda x, w: x.conv2d(w, padding=(1, 2, 3)), "padding: has 3 pairs"),
        (lambda x, w: x.conv2d(w, stride=(1, 2, 3)), "stride: has 3 numbers"),
        (lambda x, w: x.max_pool2d((9, 9)), "kernel_size"),
        (lambda x, w: x.max_pool2d((0, 1)), "kernel"),
        (lambda x, w: x.avg_pool2d((2, 2), dilation=-1), "dilation"),
        (lambda x, w: x.interpolate((0,)), "size"),
        (lambda x, w: x.interpolate((2,), "cubic"), "mode"),
        (lambda x, w: x.interpolate((2,), "nearest", True), "align_corners"),
        (lambda x, w: x.max_unpool2d(x.int()[:1]), "indices"),
    ],
)
def test_errors(call: Any, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        call(Tensor.ones(2, 3, 4, 4), Tensor.ones(2, 3, 2, 2))
