"""What holds for any shape, type and value: operations against numpy, with drawn arguments.

The table of cases has what is easily forgotten; here Hypothesis draws the rest, the same each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from cases.elementwise import ARITHMETIC, FUNCTIONS, KEEP_TYPE
from cases.reduce import REDUCTIONS
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from turns import part

from polygrad import Tensor, dtypes

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

tries = settings(
    max_examples=12,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9)
FILLED = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=9)
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
# The units in the last place.
EPSILON = {"bfloat16": 2**-7, "float16": 2**-10, "float32": 2**-23, "float64": 2**-52}
# What products lie well within the type, their parts too.
LARGEST = {"bfloat16": 2.0**127, "float16": 2.0**11, "float32": 2.0**127, "float64": 2.0**1023}
SEEDS = st.integers(0, 2**32)


def reals(seed: int, dtype: str, shape: Shape, low: float = -3, high: float = 3) -> Tensor:
    """Return a tensor of numbers between low and high, rounded to its type."""
    values = np.random.default_rng(seed).uniform(low, high, shape)
    return Tensor(values).cast(dtype).realize()


def exact(x: Tensor) -> Array:
    """Return the values as numpy can compute with them."""
    return x.cast("float64").numpy() if dtypes.is_float(x.dtype) else x.numpy()


def apply(op: str, a: Tensor, b: Tensor) -> Tensor:
    """Call a method of two tensors."""
    named = "__floordiv__" if op == "floordiv" else op
    result: Tensor = getattr(a, named)(b)
    return result


def agree(got: Tensor, want: Any, dtype: str, ulps: float = 4) -> None:
    """Compare with what numpy finds, where the greatest value says what is near 0."""
    want = np.asarray(want)
    assert got.dtype == dtype, f"dtype {got.dtype.name}, expected {dtype}"
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    if dtype not in EPSILON:
        np.testing.assert_array_equal(got.numpy(), want.astype(dtype))
        return
    eps = EPSILON[dtype] * ulps
    scale = float(np.abs(want).max(initial=0, where=np.isfinite(want)))
    np.testing.assert_allclose(exact(got), want, rtol=eps, atol=eps * max(scale, 1))


def called(x: Tensor, op: str) -> Tensor:
    """Return a function of a tensor; real and imag are properties."""
    value = getattr(x, op)
    return value if op in ("real", "imag") else value()


@pytest.mark.parametrize("dtype", EPSILON)
@pytest.mark.parametrize("op", part(FUNCTIONS))
@tries
@given(seed=SEEDS, shape=SHAPES)
def test_functions(op: str, dtype: str, seed: int, shape: Shape) -> None:
    function, low, high = FUNCTIONS[op]
    x = reals(seed, dtype, shape, low, high)
    # In float64 the references have errors of their own.
    agree(called(x, op), function(exact(x)), dtype, 4 if dtype != "float64" else 4096)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", part(KEEP_TYPE))
@tries
@given(data=st.data(), shape=SHAPES)
def test_functions_of_integers(op: str, dtype: str, data: st.DataObject, shape: Shape) -> None:
    x = data.draw(hnp.arrays(dtype, shape))
    if op == "sign":
        want = (x > 0).astype(dtype) - (x < 0).astype(dtype)
    elif op == "hardtanh":
        want = np.minimum(x, 1) if dtype.startswith("u") else np.clip(x, -1, 1)
    elif op in ("ceil", "floor", "trunc", "round"):
        want = x
    else:
        with np.errstate(over="ignore"):
            want = FUNCTIONS[op][0](x)
    agree(called(Tensor(x.copy()), op), want, dtype)


TWO_SHAPES = hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=6)


@pytest.mark.parametrize("dtype", EPSILON)
@pytest.mark.parametrize("op", part(ARITHMETIC, 3))
@tries
@given(seed=SEEDS, shapes=TWO_SHAPES)
def test_arithmetic(op: str, dtype: str, seed: int, shapes: Any) -> None:
    low = 0.3 if op == "pow" else -3
    a = reals(seed, dtype, shapes.input_shapes[0], low)
    b = reals(seed + 1, dtype, shapes.input_shapes[1], low)
    if op in ("floordiv", "mod"):
        # A quotient next to an integer may be rounded to the other side of it.
        whole = np.divide(exact(a), exact(b))
        assume(bool((np.abs(whole - np.round(whole)) > 64 * EPSILON[dtype] * np.abs(whole)).all()))
    with np.errstate(all="ignore"):
        agree(apply(op, a, b), ARITHMETIC[op](exact(a), exact(b)), dtype, 64 if op == "mod" else 8)


WHOLE: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "__lt__": np.less,
    "__le__": np.less_equal,
    "__gt__": np.greater,
    "__ge__": np.greater_equal,
    "__eq__": np.equal,
    "__ne__": np.not_equal,
}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", part([*WHOLE, *COMPARISONS]))
@tries
@given(data=st.data(), shapes=TWO_SHAPES)
def test_integers(op: str, dtype: str, data: st.DataObject, shapes: Any) -> None:
    a, b = (data.draw(hnp.arrays(dtype, shape)) for shape in shapes.input_shapes)
    if op in ("floordiv", "mod"):
        b = np.where((b == 0) | (b == np.array(-1).astype(dtype)), np.ones_like(b), b)
    got = apply(op, Tensor(a.copy()), Tensor(b.copy()))
    with np.errstate(over="ignore"):
        want = {**WHOLE, **COMPARISONS}[op](a, b)
    agree(got, want, "bool" if op in COMPARISONS else dtype)


@pytest.mark.parametrize("dtype", EPSILON)
@pytest.mark.parametrize("op", COMPARISONS)
@tries
@given(seed=SEEDS, shapes=TWO_SHAPES)
def test_comparisons(op: str, dtype: str, seed: int, shapes: Any) -> None:
    # Of few values, so that many are equal; one is NaN.
    rng = np.random.default_rng(seed)
    a, b = (rng.choice([0.0, -0.0, 1.5, -1.5, np.nan, np.inf], s) for s in shapes.input_shapes)
    got = getattr(Tensor(a).cast(dtype), op)(Tensor(b).cast(dtype))
    agree(got, COMPARISONS[op](a, b), "bool")


@st.composite
def shape_and_axes(draw: st.DrawFn, shapes: Any = SHAPES) -> tuple[Shape, Any]:
    """Draw a shape and which of its axes are reduced: None, one or several, also from the end."""
    shape = draw(shapes)
    n = len(shape)
    if n == 0:
        return shape, None
    axes = draw(st.none() | st.integers(-n, n - 1) | st.sets(st.integers(0, n - 1), min_size=1))
    if isinstance(axes, set):
        axes = tuple(a - n if draw(st.booleans()) else a for a in sorted(axes))
    return shape, axes


@pytest.mark.parametrize("dtype", EPSILON)
@pytest.mark.parametrize("op", [op for op in REDUCTIONS if op not in ("any", "all")])
@tries
@given(seed=SEEDS, way=shape_and_axes(FILLED), keepdim=st.booleans())
def test_reductions(op: str, dtype: str, seed: int, way: Any, keepdim: bool) -> None:
    shape, axes = way
    x = reals(seed, dtype, shape, 0.7, 1.4)
    want = REDUCTIONS[op](exact(x), axis=axes, keepdims=keepdim)
    assume(np.abs(want).max() < LARGEST[dtype])  # products of thousands of factors overflow
    agree(getattr(x, op)(axis=axes, keepdim=keepdim), want, dtype, 4 + x.numel() ** 0.5 * 4)


# The type that sums and products of integers have.
COUNTED = {
    "int64": "int64",
    "uint64": "uint64",
    "uint8": "uint32",
    "uint16": "uint32",
    "uint32": "uint32",
}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", ["sum", "max", "min", "any", "all"])
@tries
@given(data=st.data(), way=shape_and_axes(), keepdim=st.booleans())
def test_reductions_of_integers(
    op: str, dtype: str, data: st.DataObject, way: Any, keepdim: bool
) -> None:
    shape, axes = way
    assume(op == "sum" or 0 not in shape)
    x = data.draw(hnp.arrays(dtype, shape))
    got = getattr(Tensor(x.copy()), op)(axis=axes, keepdim=keepdim)
    if op == "sum":
        out = COUNTED.get(dtype, "int32")
        agree(got, x.sum(axis=axes, keepdims=keepdim, dtype=out), out)
    else:
        want = getattr(np, op)(x, axis=axes, keepdims=keepdim)
        agree(got, want, "bool" if op in ("any", "all") else dtype)


@pytest.mark.parametrize("op", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint64"])
@tries
@given(seed=SEEDS, shape=FILLED, data=st.data())
def test_first_of_the_greatest(
    op: str, dtype: str, seed: int, shape: Shape, data: st.DataObject
) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = np.random.default_rng(seed).integers(0, 5, shape)
    agree(getattr(Tensor(x).cast(dtype), op)(axis), getattr(np, op)(x, axis), "int32")


@pytest.mark.parametrize("op", ["cumsum", "cumprod", "cummax", "cummin"])
@tries
@given(seed=SEEDS, shape=FILLED, data=st.data())
def test_scans(op: str, seed: int, shape: Shape, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = reals(seed, "float64", shape, 0.5, 1.5)
    function = {"cummax": np.maximum.accumulate, "cummin": np.minimum.accumulate}.get(
        op
    ) or getattr(np, op)
    got = getattr(x, op)(axis)
    if isinstance(got, tuple):
        got, places = got
        np.testing.assert_array_equal(
            np.take_along_axis(exact(x), places.numpy(), axis), got.numpy()
        )
    agree(got, function(exact(x), axis), "float64", 64)


@pytest.mark.parametrize("dtype", part(["float32", "int8", "uint8", "int64", "float16"], 5))
@pytest.mark.parametrize("descending", [False, True])
@tries
@given(seed=SEEDS, shape=FILLED, data=st.data())
def test_sorting(
    dtype: str, descending: bool, seed: int, shape: Shape, data: st.DataObject
) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = Tensor(np.random.default_rng(seed).integers(0, 9, shape)).cast(dtype)
    values, places = x.sort(axis, descending)
    want = np.sort(exact(x), axis)
    agree(values, np.flip(want, axis) if descending else want, dtype)
    np.testing.assert_array_equal(np.take_along_axis(exact(x), places.numpy(), axis), exact(values))
    k = data.draw(st.integers(0, shape[axis]))
    top, _ = x.topk(k, axis)
    agree(top, np.take(np.flip(want, axis), range(k), axis), dtype)


# Movements. Each draws arguments for a shape and says what it does to a tensor and to an array.
Step = tuple[str, Callable[[Any], Any], Callable[[Array], Array]]


def _reshape(draw: st.DrawFn, shape: Shape) -> Step:
    to, left = [], int(np.prod(shape, dtype=int))
    while left > 1 and len(to) < 5:
        size = draw(st.sampled_from([d for d in range(1, left + 1) if left % d == 0]))
        to.append(size)
        left //= size
    to.append(left)
    return f"reshape{to}", lambda t: t.reshape(to), lambda x: x.reshape(to)


def _permute(draw: st.DrawFn, shape: Shape) -> Step:
    order = draw(st.permutations(range(len(shape))))
    return f"permute{order}", lambda t: t.permute(*order), lambda x: x.transpose(order)


def _flip(draw: st.DrawFn, shape: Shape) -> Step:
    axes = sorted(draw(st.sets(st.integers(0, len(shape) - 1))))
    return f"flip{axes}", lambda t: t.flip(axes), lambda x: np.flip(x, axes)


def _expand(draw: st.DrawFn, shape: Shape) -> Step:
    to = [draw(st.integers(1, 4)) if n == 1 else n for n in shape]
    return f"expand{to}", lambda t: t.expand(to), lambda x: np.broadcast_to(x, to)


def _pad(draw: st.DrawFn, shape: Shape) -> Step:
    by = tuple((draw(st.integers(0, 3)), draw(st.integers(0, 3))) for _ in shape)
    return f"pad{by}", lambda t: t.pad(by), lambda x: np.pad(x, by)


def _slice(draw: st.DrawFn, shape: Shape) -> Step:
    at = draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=6))
    return f"{at}", lambda t: t[at], lambda x: np.asarray(x[at])


def _roll(draw: st.DrawFn, shape: Shape) -> Step:
    axis, by = draw(st.integers(0, len(shape) - 1)), draw(st.integers(-9, 9))
    return f"roll({by}, {axis})", lambda t: t.roll(by, axis), lambda x: np.roll(x, by, axis)


def _repeat(draw: st.DrawFn, shape: Shape) -> Step:
    by = [draw(st.integers(1, 2)) for _ in shape]
    return f"repeat{by}", lambda t: t.repeat(*by), lambda x: np.tile(x, by)


def _join(draw: st.DrawFn, shape: Shape) -> Step:
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    return (
        f"cat({axis})",
        lambda t: t.cat(t.flip(axis), dim=axis),
        lambda x: np.concatenate([x, np.flip(x, axis)], axis),
    )


def _plus(draw: st.DrawFn, shape: Shape) -> Step:
    return "+ itself turned round", lambda t: t + t.flip(0), lambda x: x + np.flip(x, 0)


MOVEMENTS = [_reshape, _permute, _flip, _expand, _pad, _slice, _roll, _repeat, _join, _plus]


@st.composite
def movements(draw: st.DrawFn) -> tuple[Shape, list[Step]]:
    """Draw a shape and up to six movements, each possible for what the one before leaves."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=6))
    x, steps = np.zeros(shape), []
    for _ in range(draw(st.integers(1, 6))):
        if x.ndim == 0 or x.size == 0 or x.size > 5000:
            break
        step = draw(st.sampled_from(MOVEMENTS))(draw, x.shape)
        if step[2](x).ndim <= 8:
            x = step[2](x)
            steps.append(step)
    return shape, steps


@pytest.mark.parametrize("dtype", ["float32", "int8", "int64", "bool"])
@settings(tries, max_examples=100)
@given(program=movements(), seed=SEEDS)
def test_movements(dtype: str, program: Any, seed: int) -> None:
    shape, steps = program
    x = np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)
    t = Tensor(x.copy())
    for _, of_tensor, of_array in steps:
        t, x = of_tensor(t), of_array(x)
    agree(t, x, dtype)


@settings(tries, max_examples=40)
@given(program=movements(), seed=SEEDS)
def test_gradients_of_movements(program: Any, seed: int) -> None:
    shape, steps = program
    rng = np.random.default_rng(seed)
    x = Tensor(rng.uniform(-1, 1, shape), requires_grad=True)
    t = x
    for _, of_tensor, _ in steps:
        t = of_tensor(t)
    weights = rng.integers(-9, 9, t.shape).astype(np.float64)
    (t * Tensor(weights)).sum().backward()
    # Movements are linear: the gradient of x[i] is the weighted result of the i-th unit vector.
    want = np.zeros(shape)
    for i in np.ndindex(*shape):
        unit = np.zeros(shape)
        unit[i] = 1
        for _, _, of_array in steps:
            unit = of_array(unit)
        want[i] = (unit * weights).sum()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), want, atol=1e-9)


@settings(tries, max_examples=100)
@given(data=st.data(), shape=FILLED, seed=SEEDS)
def test_indices(data: st.DataObject, shape: Shape, seed: int) -> None:
    x = np.random.default_rng(seed).uniform(-1, 1, shape)
    at = data.draw(
        hnp.basic_indices(shape, allow_newaxis=True)
        | hnp.integer_array_indices(shape, dtype=np.int64, result_shape=FILLED)
    )
    want = np.asarray(x[at])
    if isinstance(at, tuple) and any(isinstance(i, np.ndarray) for i in at):
        at = tuple(Tensor(i) if isinstance(i, np.ndarray) and seed % 2 else i for i in at)
    agree(Tensor(x.copy())[at], want, "float64")


@settings(tries, max_examples=60)
@given(data=st.data(), shape=FILLED, seed=SEEDS)
def test_setting_items(data: st.DataObject, shape: Shape, seed: int) -> None:
    x = np.random.default_rng(seed).uniform(-1, 1, shape)
    at = data.draw(hnp.basic_indices(shape) | hnp.arrays(bool, shape))
    t = Tensor(x.copy()).realize()
    x[at] = 7.5
    t[at] = 7.5
    agree(t, x, "float64")


@st.composite
def products(draw: st.DrawFn) -> tuple[Shape, Shape]:
    """Draw the shapes of two factors of a product of matrices, vectors or batches of matrices."""
    shapes = draw(
        hnp.mutually_broadcastable_shapes(signature=np.matmul.signature, max_dims=2, max_side=20)
    )
    return shapes.input_shapes


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@settings(tries, max_examples=40)
@given(shapes=products(), seed=SEEDS)
def test_products(dtype: str, shapes: Any, seed: int) -> None:
    a, b = reals(seed, dtype, shapes[0]), reals(seed + 1, dtype, shapes[1])
    agree(a @ b, exact(a) @ exact(b), dtype, 16)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@tries
@given(shapes=products(), seed=SEEDS)
def test_products_of_integers(dtype: str, shapes: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 100, s).astype(dtype) for s in shapes)
    out = COUNTED.get(dtype, "int32")
    wide = np.matmul(a, b, dtype=np.int64)
    agree(Tensor(a.copy()).matmul(Tensor(b.copy()), dtype=out), wide, out)


@st.composite
def windows(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the shapes and options of a convolution in one to three dimensions."""
    n = draw(st.integers(1, 3))
    groups = draw(st.integers(1, 3))
    kernel = [draw(st.integers(1, 3)) for _ in range(n)]
    dilation = [draw(st.integers(1, 2)) for _ in range(n)]
    padding = [draw(st.integers(0, 2)) for _ in range(n)]
    least = [max(1, d * (k - 1) + 1 - 2 * p) for k, d, p in zip(kernel, dilation, padding)]
    size = [draw(st.integers(m, m + 4)) for m in least]
    return {
        "x": (draw(st.integers(1, 3)), groups * draw(st.integers(1, 3)), *size),
        "out": groups * draw(st.integers(1, 3)),
        "kernel": kernel,
        "groups": groups,
        "stride": [draw(st.integers(1, 3)) for _ in range(n)],
        "dilation": dilation,
        "padding": padding,
    }


def convolved(x: Array, w: Array, o: dict[str, Any]) -> Array:
    """Return the convolution of arrays, window by window."""
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in o["padding"]]])
    reach = [d * (k - 1) + 1 for k, d in zip(o["kernel"], o["dilation"])]
    size = [(s - r) // t + 1 for s, r, t in zip(x.shape[2:], reach, o["stride"])]
    out = np.zeros((x.shape[0], w.shape[0], *size))
    inputs, outputs = x.shape[1] // o["groups"], w.shape[0] // o["groups"]
    for at in np.ndindex(*size):
        cut = tuple(
            slice(a * t, a * t + r, d) for a, t, r, d in zip(at, o["stride"], reach, o["dilation"])
        )
        for g in range(o["groups"]):
            window = x[(slice(None), slice(g * inputs, (g + 1) * inputs), *cut)]
            own = slice(g * outputs, (g + 1) * outputs)
            axes = list(range(1, w.ndim))
            out[(slice(None), own, *at)] = np.tensordot(window, w[own], (axes, axes))
    return out


@settings(tries, max_examples=40)
@given(options=windows(), seed=SEEDS)
def test_convolutions(options: dict[str, Any], seed: int) -> None:
    x = reals(seed, "float64", options["x"])
    shape = (options["out"], options["x"][1] // options["groups"], *options["kernel"])
    w = reals(seed + 1, "float64", shape)
    named = {name: options[name] for name in ("groups", "stride", "dilation", "padding")}
    x.requires_grad = w.requires_grad = True
    out = x.conv2d(w, **named)
    want = convolved(exact(x), exact(w), options)
    agree(out.detach(), want, "float64", 64)
    # It is linear in both: the gradients say how the weighted result grows with each.
    weights = np.random.default_rng(seed).uniform(-1, 1, want.shape)
    (out * Tensor(weights)).sum().backward()
    for tensor in (x, w):
        assert tensor.grad is not None
        total = (tensor.grad.numpy() * tensor.numpy()).sum()
        np.testing.assert_allclose(total, (want * weights).sum(), rtol=1e-9, atol=1e-9)
