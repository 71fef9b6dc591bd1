"""Arguments for every described operation, in several sizes and types.

The descriptions of core/tensor/ops say which parameters an operation has; arguments of each kind
are made by its shape class. OVERRIDES has the operations whose arguments depend on each other.
"""

from __future__ import annotations

import functools
import importlib
import json
import math
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tasks import Array, Input, Task, aligned, normal

ROOT = Path(__file__).resolve().parents[2]
# The descriptions, for the workers of a run.
FILE = ROOT / "build" / "operations.json"


class NoCounterpart(LookupError):
    """A peer has no function for an operation: its time is left out of the row."""


def counterpart(
    name: str, names: dict[str, Callable[..., Any] | None], places: Sequence[Any]
) -> Callable[..., Any]:
    """Return a peer's function of an operation: that in names, or the same name in a module."""
    if name in names:
        found = names[name]
    else:
        candidates = (getattr(place, name, None) for place in places)
        found = next((candidate for candidate in candidates if callable(candidate)), None)
    if found is None:
        raise NoCounterpart(name)
    return found


SIZES = ("cache", "memory", "odd")
TINY = "tiny"
SHAPES = {"cache": (128, 512), "memory": (2000, 2048), "odd": (127, 1021), TINY: (3, 5)}
Operation = dict[str, Any]


class At(NamedTuple):
    """An argument that stands for an input, by its index."""

    input: int


@dataclass
class Call:
    """A call of an operation: inputs in their order, x first, and the other arguments."""

    inputs: list[Input]
    args: list[Any] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    label: str = ""

    def but(self, **options: Any) -> Call:
        """Return the call with other options."""
        label = " ".join([*filter(None, [self.label]), *(f"{k} {v}" for k, v in options.items())])
        return Call(self.inputs, self.args, self.options | options, label)


class Size(str):
    """A shape class."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of a matrix."""
        return SHAPES[self]

    def pick(self, cache: Any, memory: Any, odd: Any, tiny: Any) -> Any:
        """Return the argument of this shape class."""
        return {"cache": cache, "memory": memory, "odd": odd, TINY: tiny}[self]


def uniform(low: float, high: float) -> Callable[..., Input]:
    """Return a factory of inputs, uniform between two numbers."""

    def make(*shape: int) -> Input:
        return lambda rng: aligned(rng.uniform(low, high, shape).astype(np.float32))

    return make


def whole(low: int, high: int, dtype: Any = np.int32) -> Callable[..., Input]:
    """Return a factory of inputs of integers from low, below high."""

    def make(*shape: int) -> Input:
        return lambda rng: aligned(rng.integers(low, high, shape).astype(dtype))

    return make


def positions(high: int, *shape: int) -> Input:
    """Return indices below high, in int64 as numpy and PyTorch have them."""
    return whole(0, high, np.int64)(*shape)


def distinct(*shape: int) -> Input:
    """Return an input of distinct numbers, whose sorted order is unique."""
    count = math.prod(shape)

    def make(rng: np.random.Generator) -> Array:
        return aligned((rng.permutation(count).reshape(shape) - count / 2).astype(np.float32))

    return make


def mask(*shape: int) -> Input:
    """Return an input of bools."""
    return lambda rng: aligned(rng.integers(0, 2, shape).astype(bool))


def symmetric(*shape: int) -> Input:
    """Return positive definite matrices."""

    def make(rng: np.random.Generator) -> Array:
        a = rng.standard_normal(shape, np.float32)
        n = np.float32(shape[-1])
        return aligned(a @ a.swapaxes(-1, -2) / n + np.eye(shape[-1], dtype=np.float32))

    return make


def regular(*shape: int) -> Input:
    """Return diagonally dominant matrices."""

    def make(rng: np.random.Generator) -> Array:
        a = rng.standard_normal(shape, np.float32) / np.float32(math.sqrt(shape[-1]))
        return aligned(a + 2 * np.eye(*shape[-2:], dtype=np.float32))

    return make


BITS = whole(-1000, 1000)
# Inputs in the domain of a function, and where it does not just overflow; the default is normal.
DOMAINS: dict[str, Callable[..., Input]] = {
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt", "pow"), uniform(0.1, 4)),
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv"), uniform(-0.99, 0.99)),
    **dict.fromkeys(("ndtri", "log1p", "logit"), uniform(0.01, 0.99)),
    **dict.fromkeys(("acosh", "lgamma", "digamma"), uniform(1.1, 8)),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"), BITS),
    **dict.fromkeys(("lshift", "rshift"), whole(0, 8)),
    **dict.fromkeys(("reciprocal", "div", "floordiv", "mod", "fmod"), uniform(0.5, 9)),
    **dict.fromkeys(("prod", "cumprod"), uniform(0.9999, 1.0001)),
    "any": lambda *shape: lambda rng: aligned(np.zeros(shape, bool)),  # all false: no early exit
    "all": lambda *shape: lambda rng: aligned(np.ones(shape, bool)),
    **dict.fromkeys(("sort", "argsort", "cummax", "cummin"), distinct),
    "idiv": whole(1, 1000),
}


def _images(size: Size, channels: int | None = None) -> tuple[int, ...]:
    n, c, h, w = size.pick((1, 16, 28, 28), (16, 64, 56, 56), (3, 13, 37, 41), (2, 4, 6, 6))
    return (n, c if channels is None else channels, h, w)


def _conv(size: Size) -> Iterator[Call]:
    n, c, h, w = _images(size)
    out = size.pick(16, 64, 17, 4)
    x = normal(n, c, h, w)
    length = h * w

    def weight(*shape: int) -> Input:
        return normal(*shape, scale=0.05)

    yield Call([x, weight(out, c, 3, 3), normal(out)], [At(1), At(2)], {"padding": 1}, "3x3")
    yield Call([x, weight(out, c, 3, 3)], [At(1)], {"stride": 2, "padding": 1}, "3x3 stride 2")
    yield Call([x, weight(out, c, 3, 3)], [At(1)], {"padding": 2, "dilation": 2}, "3x3 dilation 2")
    yield Call([x, weight(out, c, 1, 1)], [At(1)], {}, "1x1")
    yield Call([x, weight(c, 1, 3, 3)], [At(1)], {"groups": c, "padding": 1}, "3x3 depthwise")
    if size != "odd":
        grouped = [x, weight(out, c // 4, 3, 3)]
        yield Call(grouped, [At(1)], {"groups": 4, "padding": 1}, "3x3 4 groups")
    yield Call([normal(n, c, length), weight(out, c, 5)], [At(1)], {"padding": 2}, "1-d 5")
    sides = (8, h // 2, w // 2)
    yield Call(
        [normal(n, c, *sides), weight(out, c, 3, 3, 3)], [At(1)], {"padding": 1}, "3-d 3x3x3"
    )


def _conv_transpose(size: Size) -> Iterator[Call]:
    n, c, h, w = _images(size)
    out, x = size.pick(16, 32, 11, 4), normal(n, c, h // 2, w // 2)

    def weight(*shape: int) -> Input:
        return normal(*shape, scale=0.05)

    yield Call([x, weight(c, out, 3, 3), normal(out)], [At(1), At(2)], {"padding": 1}, "3x3")
    strided = {"stride": 2, "padding": 1, "output_padding": 1}
    yield Call([x, weight(c, out, 3, 3)], [At(1)], strided, "3x3 stride 2")
    yield Call([x, weight(c, out, 2, 2)], [At(1)], {"stride": 2}, "2x2 stride 2")
    yield Call([x, weight(c, 1, 3, 3)], [At(1)], {**strided, "groups": c}, "3x3 stride 2 depthwise")
    row = [normal(n, c, h * w // 4), weight(c, out, 4)]
    yield Call(row, [At(1)], {"stride": 2, "padding": 1}, "1-d 4 stride 2")


def _pool(size: Size) -> Iterator[Call]:
    x = [normal(*_images(size))]
    yield Call(x, [2], {}, "2x2")
    yield Call(x, [3], {"stride": 2, "padding": 1}, "3x3 stride 2")
    yield Call(x, [3], {"stride": 1, "padding": 1}, "3x3 stride 1")
    yield Call(
        [normal(*_images(size)[:2], size.pick(784, 3136, 1517, 9))], [[3]], {"stride": 2}, "1-d 3"
    )


def _unpool(size: Size) -> Iterator[Call]:
    n, c, h, w = _images(size)
    h, w = h // 2, w // 2

    def chosen(rng: np.random.Generator) -> Array:
        rows = 2 * np.arange(h)[:, None] + rng.integers(0, 2, (n, c, h, w))
        columns = 2 * np.arange(w) + rng.integers(0, 2, (n, c, h, w))
        return aligned((rows * 2 * w + columns).astype(np.int64))

    yield Call([normal(n, c, h, w), chosen], [At(1)], {"kernel_size": 2}, "2x2")


def _interpolate(size: Size) -> Iterator[Call]:
    n, c, h, w = _images(size)
    x = [normal(n, c, h, w)]
    for mode in ("linear", "nearest", "nearest-exact", "bicubic", "area"):
        yield Call(x, [[2 * h, 2 * w]], {"mode": mode}, f"{mode} x2")
    yield Call(x, [[2 * h, 2 * w]], {"mode": "linear", "align_corners": True}, "linear corners")
    yield Call(x, [[h * 2 // 3, w * 2 // 3]], {"mode": "linear"}, "linear x2/3")
    yield Call([normal(n, c, h * w)], [[2 * h * w]], {"mode": "linear"}, "linear 1-d x2")


def _even(size: Size) -> tuple[int, ...]:
    return tuple(2 * n for n in _images(size)[2:])


def _columns(size: Size) -> Iterator[Call]:
    yield Call([normal(*_images(size))], [[3, 3]], {"padding": 1}, "3x3")


def _folded(size: Size) -> Iterator[Call]:
    n, c, h, w = _images(size)
    yield Call([normal(n, c * 9, h * w)], [[h, w], [3, 3]], {"padding": 1}, "3x3")


def _distances(size: Size) -> Iterator[Call]:
    n, m, k = size.pick((64, 64, 16), (1000, 1000, 64), (127, 255, 33), (3, 4, 2))
    for p in (1.0, 2.0):
        yield Call([normal(n, k), normal(m, k)], [At(1)], {"p": p}, f"p {p}")


def _ctc(size: Size) -> Iterator[Call]:
    t, n, c, s = size.pick((20, 4, 20, 5), (200, 32, 64, 30), (101, 7, 33, 13), (4, 2, 3, 2))

    def lengths(most: int) -> Input:
        return lambda rng: np.full(n, most, np.int64)

    x, targets = uniform(-5, -1)(t, n, c), whole(1, c, np.int64)(n, s)
    yield Call([x, targets, lengths(t), lengths(s)], [At(1), At(2), At(3)])


def _pad(size: Size) -> Iterator[Call]:
    for mode in ("constant", "reflect", "replicate", "circular"):
        yield Call([normal(*_images(size))], [[1, 2, 2, 1]], {"mode": mode}, mode)


def _products(size: Size) -> Iterator[Call]:
    n, k, m = size.pick((64, 64, 64), (1024, 1024, 1024), (255, 257, 259), (3, 4, 5))
    yield Call([normal(n, k), normal(k, m)], [At(1)])
    yield Call([normal(n, k), normal(k)], [At(1)], {}, "vector")
    if size != TINY:
        n, k, m = size.pick((32, 32, 32), (128, 128, 128), (31, 67, 33), ())
        yield Call([normal(20, n, k), normal(20, k, m)], [At(1)], {}, "batched")


def _dot(size: Size) -> Iterator[Call]:
    n = math.prod(size.shape)
    yield Call([normal(n), normal(n)], [At(1)])


def _linear(size: Size) -> Iterator[Call]:
    n, k, m = size.pick((32, 64, 64), (1024, 1024, 1024), (67, 255, 129), (3, 4, 5))
    yield Call([normal(n, k), normal(k, m), normal(m)], [At(1), At(2)])


def _einsum(size: Size) -> Iterator[Call]:
    b, i, j, k = size.pick((4, 32, 32, 32), (16, 256, 256, 256), (3, 65, 67, 129), (2, 3, 4, 5))
    yield Call([normal(b, i, k), normal(b, j, k)], ["bik,bjk->bij"], {}, "bik,bjk->bij")
    yield Call([normal(b, i, k), normal(b, j, k)], ["bik,bjk->ij"], {}, "bik,bjk->ij")
    yield Call([normal(i, j, k)], ["ijk->kji"], {}, "ijk->kji")


def _attention(size: Size) -> Iterator[Call]:
    shape = size.pick((1, 4, 64, 32), (2, 12, 512, 64), (2, 3, 127, 33), (1, 2, 3, 4))
    yield Call([normal(*shape)] * 3, [At(1), At(2)])
    yield Call([normal(*shape)] * 3, [At(1), At(2)], {"is_causal": True}, "causal")


def _square(make: Callable[..., Input]) -> Callable[[Size], Iterator[Call]]:
    def calls(size: Size) -> Iterator[Call]:
        yield Call([make(*size.pick((32, 32), (256, 256), (61, 61), (3, 3)))])
        yield Call(
            [make(*size.pick((16, 8, 8), (512, 16, 16), (33, 13, 13), (2, 3, 3)))], label="batched"
        )

    return calls


def _with_columns(make: Callable[..., Input]) -> Callable[[Size], Iterator[Call]]:
    def calls(size: Size) -> Iterator[Call]:
        for call in _square(make)(size):
            shape = call.inputs[0](np.random.default_rng(0)).shape
            columns = normal(*shape[:-1], 5)
            yield Call([*call.inputs, columns], [At(1)], {}, call.label)

    return calls


def _triangular(*shape: int) -> Input:
    make = regular(*shape)
    return lambda rng: aligned(np.tril(make(rng)))


def _gather(size: Size) -> Iterator[Call]:
    n, m = size.shape
    yield Call([normal(n, m), positions(n, n, m)], [0, At(1)], {}, "dim 0")
    yield Call([normal(n, m), positions(m, n, m)], [1, At(1)], {}, "dim 1")


def _index_select(size: Size) -> Iterator[Call]:
    n, m = size.shape
    yield Call([normal(n, m), positions(n, n)], [0, At(1)], {}, "dim 0")
    yield Call([normal(n, m), positions(m, m)], [1, At(1)], {}, "dim 1")


def _scatter(*reductions: str | None) -> Callable[[Size], Iterator[Call]]:
    def once(n: int, m: int) -> Input:  # distinct indices in a column, for a deterministic result
        return lambda rng: aligned(np.argsort(rng.random((n, m)), 0).astype(np.int64))

    def calls(size: Size) -> Iterator[Call]:
        n, m = size.shape
        for reduction in reductions:
            to = positions(n, n, m) if reduction else once(n, m)
            inputs = [uniform(0.5, 1.5)(n, m), to, uniform(0.5, 1.5)(n, m)]
            options = {"reduce": reduction} if reduction else {}
            yield Call(inputs, [0, At(1), At(2)], options, reduction or "")

    return calls


def _classes(size: Size) -> tuple[int, int]:
    return size.pick((64, 100), (512, 10007), (127, 1021), (3, 5))  # type: ignore[no-any-return]


def _cross_entropy(size: Size) -> Iterator[Call]:
    n, c = _classes(size)
    plain = Call([normal(n, c), positions(c, n)], [At(1)])
    yield plain
    yield plain.but(reduction="none")
    yield plain.but(label_smoothing=0.1)


def _sparse(size: Size) -> Iterator[Call]:
    yield from _cross_entropy(size)
    plain = next(_cross_entropy(size))
    yield plain.but(ignore_index=1)


def _nll(size: Size) -> Iterator[Call]:
    n, c = _classes(size)
    yield Call([normal(n, c), positions(c, n)], [At(1)])
    yield Call(
        [normal(n, c), positions(c, n), uniform(0.5, 1.5)(c)], [At(1), At(2)], {}, "weighted"
    )


def _probabilities(size: Size) -> Iterator[Call]:
    inside = uniform(0.01, 0.99)
    yield Call([inside(*size.shape), inside(*size.shape)], [At(1)])


def _norm(*more: Any) -> Callable[[Size], Iterator[Call]]:
    def calls(size: Size) -> Iterator[Call]:
        yield Call([normal(*size.shape)])
        weights = [normal(size.shape[-1]) for _ in range(len(more))]
        options: dict[str, Any] = {name: At(1 + i) for i, name in enumerate(more)}
        yield Call([normal(*size.shape), *weights], [], options, " ".join(more))

    return calls


def _groupnorm(size: Size) -> Iterator[Call]:
    shape = _images(size, size.pick(16, 64, 12, 4))
    yield Call([normal(*shape)], [4])
    yield Call(
        [normal(*shape), normal(shape[1]), normal(shape[1])],
        [4],
        {"weight": At(1), "bias": At(2)},
        "affine",
    )


def _batchnorm(size: Size) -> Iterator[Call]:
    shape = _images(size)
    c = (shape[1],)
    inputs = [normal(*shape), normal(*c), normal(*c), normal(*c), uniform(0.5, 2)(*c)]
    yield Call(inputs, [At(1), At(2), At(3), At(4)])


def _each(make: Callable[..., Input], *calls: tuple[Any, ...]) -> Callable[[Size], Iterator[Call]]:
    """Return calls with one input and arguments that do not depend on its size."""

    def made(size: Size) -> Iterator[Call]:
        for args in calls:
            label = " ".join(map(str, args)) if len(calls) > 1 else ""
            yield Call([make(*size.shape)], list(args), {}, label)

    return made


def _sized(args: Callable[[int, int], Sequence[Any]]) -> Callable[[Size], Iterator[Call]]:
    """Return a call with one matrix and arguments that depend on its size."""
    return lambda size: iter([Call([normal(*size.shape)], list(args(*size.shape)))])


def _joined(size: Size) -> Iterator[Call]:
    n, m = size.shape
    for dim in (0, 1):
        yield Call([normal(n, m), normal(n, m), normal(n, m)], [], {"dim": dim}, f"dim {dim}")
    few = size.pick((4, 16), (100, 640), (7, 31), (2, 2))
    yield Call([normal(*few)] * 32, [], {"dim": 1}, "32 tensors, dim 1")


def _made(*options: tuple[Any, ...]) -> Callable[[Size], Iterator[Call]]:
    return lambda size: (Call([], [size.shape, *o]) for o in options or ((),))


def _length(size: Size) -> int:
    return math.prod(size.shape)


def _items(size: Size) -> Iterator[Call]:
    n, m = size.shape
    yield Call([normal(n, m), positions(n, n)], [[At(1)]], {}, "rows")
    yield Call([normal(n, m), positions(m, m)], [[slice(None), At(1)]], {}, "columns")
    yield Call([normal(n, m), positions(n, n), positions(m, n)], [[At(1), At(2)]], {}, "points")
    yield Call([normal(n, m)], [[slice(None), slice(1, None, 2)]], {}, "slice")


def _with_item(size: Size) -> Iterator[Call]:
    n, m = size.shape
    rows = normal(len(range(1, n, 2)), m)
    yield Call([normal(n, m), rows], [[slice(1, None, 2)], At(1)], {}, "slice")

    def once(rng: np.random.Generator) -> Array:
        return aligned(rng.permutation(n)[: n // 2].astype(np.int64))

    yield Call([normal(n, m), normal(n // 2, m), once], [[At(2)], At(1)], {}, "rows")


def _embedding(size: Size) -> Iterator[Call]:
    n, m = size.shape
    yield Call(
        [normal(n, m), positions(n, *size.pick((4, 16), (8, 512), (7, 33), (2, 3)))], [At(1)]
    )


def _masked(size: Size) -> Iterator[Call]:
    yield Call([normal(*size.shape), mask(*size.shape)], [At(1)])


def _sought(size: Size) -> Iterator[Call]:
    n, m = size.pick((1000, 1 << 14), (1 << 16, 1 << 20), (999, 9973), (5, 3))

    def ordered(rng: np.random.Generator) -> Array:
        return aligned(np.sort(rng.standard_normal(n, np.float32)))

    yield Call([ordered, normal(m)], [At(1)])


def _counted(size: Size) -> Input:
    return positions(size.pick(100, 1000, 97, 4), _length(size))


def _choices(size: Size) -> Iterator[Call]:
    n, c = size.pick((16, 64), (256, 1000), (31, 101), (2, 5))
    yield Call([uniform(0.1, 1)(n, c)], [1])


OVERRIDES: dict[str, Callable[[Size], Iterator[Call]]] = {
    "where": lambda s: iter(
        [Call([mask(*s.shape), normal(*s.shape), normal(*s.shape)], [At(1), At(2)])]
    ),
    "masked_fill": lambda s: iter([Call([normal(*s.shape), mask(*s.shape)], [At(1), 2.0])]),
    "masked_select": _masked,
    "pow": lambda s: iter(
        [
            Call([uniform(0.1, 4)(*s.shape), uniform(-2, 3)(*s.shape)], [At(1)]),
            Call([uniform(0.1, 4)(*s.shape)], [2.5], {}, "2.5"),
            Call([uniform(0.1, 4)(*s.shape)], [3], {}, "3"),
        ]
    ),
    "clamp": _each(normal, (-0.5, 0.5)),
    "clip": _each(normal, (-0.5, 0.5)),
    "cast": _each(normal, ("int32",), ("float16",), ("int8",)),
    "bitcast": _each(normal, ("int32",)),
    "quantile": _each(distinct, (0.3,), (0.3, 0), (0.3, 1)),
    "topk": _each(distinct, (3, 1), (3, 0)),
    "reshape": _sized(lambda n, m: [(m, n)]),
    "view": _sized(lambda n, m: [(m, n)]),
    "unflatten": lambda s: iter(
        [Call([normal(s.shape[0], 6 * s.shape[1])], [1, (2, 3, s.shape[1])])]
    ),
    "unsqueeze": _each(normal, (1,)),
    "expand": lambda s: iter(
        [
            Call([normal(s.shape[0], 1)], [s.shape], {}, "columns"),
            Call([normal(1, s.shape[1])], [s.shape], {}, "rows"),
        ]
    ),
    "squeeze": lambda s: iter([Call([normal(s.shape[0], 1, s.shape[1])], [1])]),
    "repeat": _each(normal, ((2, 3),)),
    "repeat_interleave": _each(normal, (3, 0), (3, 1)),
    "permute": lambda s: iter([Call([normal(s.shape[0] // 2, 2, s.shape[1])], [(2, 0, 1)])]),
    "flip": _each(normal, ((0,),), ((1,),)),
    "shrink": _sized(lambda n, m: [((1, n - 1), (1, m - 1))]),
    "pad": _pad,
    "roll": _each(normal, ((2,), (0,)), ((2,), (1,)), ((2, 3), (0, 1))),
    "unfold": lambda s: iter(
        [
            Call([normal(*s.shape)], [1, 3, 1], {}, "step 1"),
            Call([normal(*s.shape)], [0, 2, 2], {}, "step 2"),
        ]
    ),
    "shrink_to": _sized(lambda n, m: [(n - 1, m - 1)]),
    "pad_to": _sized(lambda n, m: [(n + 1, m + 2)]),
    "diagonal": _each(normal, ()),
    "diag": lambda s: iter([Call([normal(s.shape[0])])]),
    "rearrange": _each(normal, ("a b -> b a",)),
    "cat": _joined,
    "stack": _joined,
    "meshgrid": lambda s: iter([Call([normal(s.shape[0]), normal(s.shape[1])])]),
    "split": _sized(lambda n, m: [(m // 2, m - m // 2), 1]),
    "chunk": _each(normal, (3, 0)),
    "getitem": _items,
    "with_item": _with_item,
    "gather": _gather,
    "index_select": _index_select,
    "scatter": _scatter(None, "add", "multiply"),
    "scatter_reduce": _scatter("sum", "prod", "mean", "amax", "amin"),
    "nonzero": _each(mask, ()),
    "one_hot": lambda s: iter([Call([positions(s.shape[1], s.shape[0])], [s.shape[1]])]),
    "embedding": _embedding,
    "matmul": _products,
    "dot": _dot,
    "linear": _linear,
    "einsum": _einsum,
    "scaled_dot_product_attention": _attention,
    "cholesky": _square(symmetric),
    "triangular_solve": _with_columns(_triangular),
    "solve": _with_columns(regular),
    "lstsq": _with_columns(regular),
    "inv": _square(regular),
    "det": _square(regular),
    "slogdet": _square(regular),
    "qr": _square(regular),
    "svd": _square(regular),
    "eigh": _square(symmetric),
    "newton_schulz": lambda s: iter(
        [
            Call(
                [normal(*s.pick((32, 32), (256, 256), (61, 67), (3, 3)))],
                [5, [3.4445, -4.775, 2.0315]],
            )
        ]
    ),
    "keccak": lambda s: iter(
        [Call([whole(0, 256, np.uint8)(*s.pick((16, 100), (512, 1000), (7, 333), (2, 5)))])]
    ),
    "hash": lambda s: iter([Call([whole(0, 256, np.uint8)(s.pick(1 << 12, 1 << 22, 9999, 16))])]),
    "conv2d": _conv,
    "conv_transpose2d": _conv_transpose,
    "avg_pool2d": _pool,
    "max_pool2d": _pool,
    "max_pool2d_with_indices": _pool,
    "max_unpool2d": _unpool,
    "interpolate": _interpolate,
    "im2col": _columns,
    "col2im": _folded,
    "cdist": _distances,
    "ctc_loss": _ctc,
    "pixel_shuffle": lambda s: iter([Call([normal(*_images(s, 16))], [2])]),
    "pixel_unshuffle": lambda s: iter([Call([normal(*_images(s, 4)[:2], *_even(s))], [2])]),
    "layernorm": _norm("weight", "bias"),
    "rmsnorm": _norm("weight"),
    "groupnorm": _groupnorm,
    "batchnorm": _batchnorm,
    "batchnorm_stats": lambda s: iter([Call([normal(*_images(s))])]),
    "cross_entropy": _cross_entropy,
    "sparse_categorical_crossentropy": _sparse,
    "binary_crossentropy": _probabilities,
    "binary_crossentropy_logits": _probabilities,
    "nll_loss": _nll,
    "full": _made((3.5,)),
    "const_like": _each(normal, (3.5,)),
    "full_like": _each(normal, (3.5,)),
    "arange": lambda s: iter([Call([], [_length(s)])]),
    "linspace": lambda s: iter([Call([], [0.0, 1.0, _length(s)])]),
    "eye": lambda s: iter([Call([], [s.shape[0], s.shape[1]])]),
    "randperm": lambda s: iter([Call([], [s.pick(10000, 1 << 20, 99991, 5)])]),
    "multinomial": _choices,
    "searchsorted": _sought,
    "isin": lambda s: iter([Call([whole(0, 10**6)(*s.shape), whole(0, 10**6)(1000)], [At(1)])]),
    "unique": lambda s: iter([Call([_counted(s)])]),
    "bincount": lambda s: iter([Call([_counted(s)])]),
    "histogram": lambda s: iter([Call([normal(*s.shape)], [50, -3.0, 3.0])]),
}
# The shapes of their results depend on values: they run eagerly.
EAGER = {"masked_select", "nonzero", "unique", "bincount"}
# Not unique: factors up to signs, gradients by half of a symmetric matrix, random results.
UNCOMPARED = {"qr", "svd", "eigh", "lstsq", "cholesky", "dropout"}
# Without a gradient, or with one that is 0 everywhere or ambiguous.
FLAT = {"sign", "ceil", "floor", "trunc", "round", "floordiv"}
FLAT |= {"zeros_like", "ones_like", "full_like", "const_like", "empty_like"}
FLAT |= {"searchsorted", "histogram", "qr", "svd", "eigh", "lstsq", "dropout"}


def generic(op: Operation, size: Size) -> Iterator[Call]:
    """Return calls with arguments made by the kinds of the parameters."""
    make = DOMAINS.get(op["Name"], normal)
    inputs = [make(*size.shape)] * {"method": 1, "joiner": 3, "maker": 0}[op["Form"]]
    args: list[Any] = []
    for param in op["Params"]:
        if param["Optional"]:
            continue
        if param["Kind"] in ("tensor", "operand"):
            inputs.append(make(*size.shape))
            args.append(At(len(inputs) - 1))
        elif param["Kind"] in ("shape", "newshape"):
            args.append(size.shape)
        else:
            raise KeyError(f"{op['Name']}: no argument for {param['Name']}, see OVERRIDES")
    call = Call(inputs, args)
    if not any(p["Name"] in ("axis", "dim") and p["Default"] for p in op["Params"]):
        yield call
    for param in op["Params"]:
        if param["Name"] in ("axis", "dim"):
            yield from (call.but(**{param["Name"]: axis}) for axis in (0, 1))
        elif param["Name"] not in ("reduction",):
            yield from (call.but(**{param["Name"]: choice}) for choice in param["Choices"] or ())


def calls(op: Operation, size: str) -> Iterator[Call]:
    """Return the calls of an operation in a shape class."""
    return OVERRIDES.get(op["Name"], functools.partial(generic, op))(Size(size))


@functools.cache
def framework(name: str) -> Any:
    """Return the module of this package for a framework."""
    return importlib.import_module(f"sweep.{name}")


@dataclass(frozen=True)
class Program:
    """The program of a worker: a call by the function names of a framework."""

    op: Operation
    call: Call
    results: Sequence[Sequence[int]] = ()  # shapes of what the gradients of the results have

    @property
    def eager(self) -> bool:
        """Whether the operation can only be called, not compiled."""
        return self.op["Name"] in EAGER

    @property
    def inputs(self) -> int:
        """Return the number of operands of the call."""
        return len(self.call.inputs)

    def __call__(self, f: Any, *arrays: Any) -> Any:
        """Call the operation; with its gradients, which follow the operands."""
        return framework(f.__name__.rpartition(".")[2]).run(self, *arrays)

    def apply(self, function: Callable[..., Any], arrays: Sequence[Any]) -> Any:
        """Call a function with the arguments; a joiner has a list of tensors."""

        def given(value: Any) -> Any:
            kind = type(value)
            if kind is At:
                return arrays[value.input]
            return [given(v) for v in value] if kind is list else value

        form = self.op["Form"]
        first = arrays[:1] if form == "method" else (list(arrays),) if form == "joiner" else ()
        if isinstance(function, property):
            return function.__get__(first[0])
        args = [given(a) for a in self.call.args]
        if not self.call.options:
            return function(*first, *args)
        options = {name: given(value) for name, value in self.call.options.items()}
        return function(*first, *args, **options)


def _typed(make: Input, dtype: str) -> Input:
    def convert(rng: np.random.Generator) -> Array:
        found = make(rng)
        to = {"f": np.float64, "i": np.int64}.get(found.dtype.kind) if dtype != "float32" else None
        return found if to is None else aligned(found.astype(to))

    return convert


class Case(NamedTuple):
    """A row: its name and how its task is made."""

    name: str
    op: Operation
    call: Call
    size: str
    dtype: str


def described() -> list[Operation]:
    """Return the descriptions of all operations."""
    command = ["go", "run", "./bench/sweep/table"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    found: list[Operation] = json.loads(done.stdout)
    return found


def cases(operations: Sequence[Operation], sizes: Sequence[str] = SIZES) -> Iterator[Case]:
    """Return all rows that have no gradients."""
    for op in operations:
        for size in sizes:
            for call in calls(op, size):
                for dtype in ("float32", "float64") if call.inputs else ("float32",):
                    label = f" {call.label}" * bool(call.label)
                    yield Case(f"{op['Name']}{label}, {size}, {dtype}", op, call, size, dtype)


GRADIENTS = ", gradients of "


def task(case: Case, results: Sequence[Sequence[int]] = ()) -> Task:
    """Return the task of a case; with gradients, if shapes of results are given."""
    inputs = [_typed(make, case.dtype) for make in case.call.inputs]
    inputs += [_typed(normal(*shape), case.dtype) for shape in results]
    name = case.name
    if results:
        name += GRADIENTS + " ".join("x".join(map(str, shape)) for shape in results)
    return Task(name, case.op["Topic"], Program(case.op, case.call, results), inputs)


@functools.cache
def _known() -> dict[str, Case]:
    return {case.name: case for case in cases(json.loads(FILE.read_text()))}


def find(name: str) -> Task:
    """Return a task of the running sweep by its name."""
    plain, _, shapes = name.partition(GRADIENTS)
    results = [[int(n) for n in shape.split("x") if n] for shape in shapes.split(" ")]
    return task(_known()[plain], results if plain != name else ())
