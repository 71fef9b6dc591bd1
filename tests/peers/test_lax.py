"""Operations of polygrad.lax against jax.lax: values, gradients, tangents and batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax as jlax

from polygrad import Tensor, lax
from polygrad.func import grad, jvp, vmap

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _types_of_64_bits() -> Iterator[None]:
    """Compare in float64."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def rounded(x: np.ndarray) -> np.ndarray:
    """Return numbers many of which are equal, without -0: for top_k of JAX it is less than 0."""
    return np.round(x) + 0.0


def whole(low: int, high: int, *shape: int, dtype: str = "int32") -> np.ndarray:
    return RNG.integers(low, high, shape).astype(dtype)


# A case: a name, operands, and a function of lax, of one of the two, and the operands. Operands of
# floats are differentiated.
Case = tuple[str, list[np.ndarray], Callable[..., Any]]
CASES: list[Case] = []


def case(name: str, *operands: np.ndarray) -> Callable[[Callable[..., Any]], None]:
    return lambda f: CASES.append((name, list(operands), f))


for start in ([0, 1], [2, 3], [-4, 9], [1, 0]):
    case("dynamic_slice", normal(4, 5), np.array(start))(
        lambda m, x, s: m.dynamic_slice(x, (s[0], s[1]), (2, 3))
    )
    case("dynamic_update_slice", normal(4, 5), normal(2, 3), np.array(start))(
        lambda m, x, u, s: m.dynamic_update_slice(x, u, (s[0], s[1]))
    )
for at in (0, 2, 7, -9):
    case("dynamic_slice_in_dim", normal(3, 5), np.array(at))(
        lambda m, x, i: m.dynamic_slice_in_dim(x, i, 2, 1)
    )
    case("dynamic_update_slice_in_dim", normal(3, 5), normal(3, 2), np.array(at))(
        lambda m, x, u, i: m.dynamic_update_slice_in_dim(x, u, i, 1)
    )
for keep in (True, False):
    case("dynamic_index_in_dim", normal(3, 5), np.array(1))(
        lambda m, x, i, keep=keep: m.dynamic_index_in_dim(x, i, 1, keep)
    )
case("dynamic_update_index_in_dim", normal(3, 5), normal(3), np.array(1))(
    lambda m, x, u, i: m.dynamic_update_index_in_dim(x, u, i, 1)
)

# Operand, positions and the numbers of gathers: offset, collapsed, map, batching of both, sizes.
GATHERS: list[tuple[tuple[int, ...], np.ndarray, tuple[Any, ...], tuple[int, ...]]] = [
    ((5,), whole(-2, 8, 7, 1), ((), (0,), (0,)), (1,)),
    ((5, 3), whole(-2, 8, 4, 1), ((1,), (0,), (0,)), (1, 3)),
    ((5, 3), whole(-1, 4, 2, 2, 2), ((0, 3), (), (1, 0)), (2, 2)),
    ((5, 3, 4), whole(0, 4, 6, 2), ((1,), (0, 2), (2, 0)), (1, 3, 1)),
    ((4, 5), whole(0, 5, 4, 3, 1), ((), (1,), (1,), (0,), (0,)), (1, 1)),
    ((4, 2, 5), whole(-1, 6, 3, 4, 1), ((2,), (2,), (2,), (0,), (1,)), (1, 2, 1)),
    ((5,), whole(0, 3, 1, dtype="int64"), ((0,), (), (0,)), (3,)),
    ((3, 3), whole(0, 2, 4, 0), ((0, 2), (), ()), (2, 2)),
    ((3, 3), whole(0, 2, 0, 2), ((), (0, 1), (0, 1)), (1, 1)),
    ((9,), whole(0, 255, 5, 1, dtype="uint8"), ((), (0,), (0,)), (1,)),
]
for shape, at_, numbers, sizes in GATHERS:
    for mode in ("fill", "clip"):
        case(f"gather {mode}", normal(*shape), at_)(
            lambda m, x, i, n=numbers, s=sizes, mode=mode: m.gather(
                x, i, m.GatherDimensionNumbers(*n), s, mode=mode
            )
        )
        updates = jax.eval_shape(
            lambda x, i, n=numbers, s=sizes: jlax.gather(x, i, jlax.GatherDimensionNumbers(*n), s),
            normal(*shape),
            at_,
        ).shape
        for name in ("scatter_add", "scatter_mul", "scatter_min", "scatter_max"):
            case(f"{name} {mode}", normal(*shape), normal(*updates), at_)(
                lambda m, x, u, i, n=numbers, mode=mode, name=name: getattr(m, name)(
                    x, i, u, m.ScatterDimensionNumbers(*n), mode=mode
                )
            )
for mode in ("fill", "clip"):
    rows = ((1,), (0,), (0,))
    case(f"scatter {mode}", normal(6, 3), normal(3, 3), np.array([[4], [9], [0]]))(
        lambda m, x, u, i, n=rows, mode=mode: m.scatter(
            x, i, u, m.ScatterDimensionNumbers(*n), mode=mode
        )
    )
case("gather fill_value", normal(5), np.array([[1], [9]]))(
    lambda m, x, i: m.gather(
        x, i, m.GatherDimensionNumbers((), (0,), (0,)), (1,), mode="fill", fill_value=-3.5
    )
)
for kind in ("int32", "uint8", "bool"):
    case(f"gather {kind}", whole(0, 2, 5, dtype=kind), np.array([[1], [9], [-1]]))(
        lambda m, x, i: m.gather(x, i, m.GatherDimensionNumbers((), (0,), (0,)), (1,), mode="fill")
    )

for config in ([(1, 2, 0), (0, 0, 2)], [(-1, 2, 1), (3, -2, 0)], [(-2, -1, 3), (-1, -3, 1)]):
    case("pad", normal(4, 5), np.array(0.5))(lambda m, x, v, c=config: m.pad(x, v, c))
case("pad", normal(0, 3), np.array(0.5))(lambda m, x, v: m.pad(x, v, [(1, 1, 2), (0, 1, 1)]))
case("rev", normal(4, 5))(lambda m, x: m.rev(x, (1,)))
case("clamp", normal(4, 5))(lambda m, x: m.clamp(-0.5, x, 0.5))
case("clamp", normal(4, 5), -abs(normal(4, 5)), abs(normal(4, 5)))(
    lambda m, x, a, b: m.clamp(a, x, b)
)
case("select_n", whole(0, 3, 4, 5), normal(4, 5), normal(4, 5), normal(4, 5))(
    lambda m, w, *c: m.select_n(w, *c)
)
case("select_n", np.array(True), normal(4, 5), normal(4, 5))(lambda m, w, *c: m.select_n(w, *c))

for axes in ((0,), (1,), (0, 2), (0, 1, 2), ()):
    for name in ("sum", "prod", "max", "min"):
        case(f"reduce_{name}", normal(3, 4, 5))(
            lambda m, x, a=axes, name=name: getattr(m, f"reduce_{name}")(x, a)
        )
    for name in ("and", "or", "xor"):
        for kind in ("int32", "uint8", "bool"):
            case(f"reduce_{name}", whole(0, 2 if kind == "bool" else 90, 3, 4, 5, dtype=kind))(
                lambda m, x, a=axes, name=name: getattr(m, f"reduce_{name}")(x, a)
            )
    case("reduce by a function", normal(3, 4, 5) / 4)(
        lambda m, x, a=axes: m.reduce(
            x, x.sum() * 0 if m is lax else np.float64(0), lambda p, q: p + q + p * q, a
        )
    )
for name in ("argmax", "argmin"):
    for axis in (0, 1):
        case(name, rounded(normal(4, 5)))(
            lambda m, x, n=name, a=axis: getattr(m, n)(x, a, "int64" if m is lax else np.int64)
        )

WINDOWS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3), {}),
    ((2, 2), {"window_strides": (2, 1), "padding": "SAME"}),
    ((3, 2), {"padding": [(1, 2), (0, 1)], "window_dilation": (2, 1)}),
    ((2, 2), {"window_strides": (1, 2), "padding": [(0, 1), (2, 0)], "base_dilation": (2, 3)}),
    ((3, 3), {"padding": [(-1, 3), (1, -1)], "window_strides": (2, 2)}),
    ((9, 1), {}),
]
JAX_OPS = {"add": jlax.add, "max": jlax.max, "min": jlax.min, "mul": jlax.mul}
FIRST = {"add": 0.0, "max": -np.inf, "min": np.inf, "mul": 1.0}
for window, options in WINDOWS:
    for name in ("add", "max", "min", "mul"):
        case(f"reduce_window {name}", normal(5, 6))(
            lambda m, x, w=window, o=options, n=name: m.reduce_window(
                x,
                FIRST[n],
                n if m is lax else JAX_OPS[n],
                w,
                o.get("window_strides", (1, 1)),
                o.get("padding", "VALID"),
                o.get("base_dilation"),
                o.get("window_dilation"),
            )
        )
for kind in ("int32", "uint8"):
    case(f"reduce_window {kind}", whole(0, 9, 5, 6, dtype=kind))(
        lambda m, x, k=kind: m.reduce_window(
            x,
            np.array(2, k)[()] if m is jlax else 2,
            "add" if m is lax else jlax.add,
            (2, 2),
            (1, 2),
            "SAME",
        )
    )
case("reduce_window by a function", normal(5, 6) / 4)(
    lambda m, x: m.reduce_window(x, 0.0, lambda p, q: p + q + p * q, (2, 2), (1, 2), "SAME")
)

CONVS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 7, 6), (4, 3, 2, 3), {"window_strides": (1, 1), "padding": "VALID"}),
    ((2, 3, 7, 6), (4, 3, 2, 3), {"window_strides": (2, 1), "padding": "SAME"}),
    (
        (2, 4, 7, 6),
        (6, 2, 2, 3),
        {"window_strides": (1, 2), "padding": [(1, 0), (2, -1)], "feature_group_count": 2},
    ),
    (
        (2, 3, 5, 4),
        (4, 3, 2, 2),
        {
            "window_strides": (1, 1),
            "padding": [(1, 1), (0, 1)],
            "lhs_dilation": (2, 3),
            "rhs_dilation": (1, 2),
        },
    ),
    ((4, 3, 6), (6, 3, 2), {"window_strides": (1,), "padding": "VALID", "batch_group_count": 2}),
    (
        (2, 6, 5, 3),
        (3, 2, 3, 4),
        {
            "window_strides": (1, 1),
            "padding": "SAME",
            "dimension_numbers": ("NHWC", "HWIO", "NHWC"),
        },
    ),
    (
        (6, 2, 3),
        (2, 3, 4),
        {"window_strides": (2,), "padding": "VALID", "dimension_numbers": ("HNC", "HIO", "CNH")},
    ),
    ((2, 3, 2), (4, 3, 5), {"window_strides": (1,), "padding": "VALID"}),
    ((2, 3), (4, 3), {"window_strides": (), "padding": "VALID"}),
]
for left, right, options in CONVS:
    case("conv_general_dilated", normal(*left), normal(*right))(
        lambda m, x, w, o=options: m.conv_general_dilated(x, w, **o)
    )
for strides, padding in (((2, 1), "SAME"), ((1, 3), "VALID"), ((2, 2), [(1, 0), (2, 1)])):
    for transposed in (False, True):
        right = (2, 3, 5, 4) if transposed else (2, 3, 4, 5)
        case("conv_transpose", normal(2, 4, 5, 4), normal(*right))(
            lambda m, x, w, s=strides, p=padding, t=transposed: m.conv_transpose(
                x, w, s, p, transpose_kernel=t
            )
        )

DOTS: list[tuple[tuple[int, ...], tuple[int, ...], Any]] = [
    ((3, 4), (4, 5), (((1,), (0,)), ((), ()))),
    ((3, 4), (5, 3), (((0,), (1,)), ((), ()))),
    ((2, 3, 4), (4, 5, 2), (((2,), (0,)), ((0,), (2,)))),
    ((2, 3, 4, 5), (5, 2, 6, 3), (((3, 1), (0, 3)), ((0,), (1,)))),
    ((3,), (4,), (((), ()), ((), ()))),
    ((3, 0), (0, 4), (((1,), (0,)), ((), ()))),
    ((2, 3), (2, 3), (((), ()), ((0, 1), (0, 1)))),
]
for left, right, numbers in DOTS:
    case("dot_general", normal(*left), normal(*right))(
        lambda m, x, y, n=numbers: m.dot_general(x, y, n)
    )
case("dot_general int8", whole(-9, 9, 3, 4, dtype="int8"), whole(-9, 9, 4, 5, dtype="int8"))(
    lambda m, x, y: m.dot_general(
        x, y, (((1,), (0,)), ((), ())), preferred_element_type="int32" if m is lax else np.int32
    )
)

for axis in (0, 1):
    case("sort", normal(5, 6))(lambda m, x, a=axis: m.sort(x, a))
    case("sort of two", rounded(normal(5, 6)), normal(5, 6))(
        lambda m, x, y, a=axis: m.sort((x, y), a)[1]
    )
    case("sort by two", rounded(normal(5, 6)), rounded(normal(5, 6)), normal(5, 6))(
        lambda m, x, y, z, a=axis: m.sort((x, y, z), a, num_keys=2)[2]
    )
    case("sort_key_val", whole(0, 3, 5, 6), normal(5, 6))(
        lambda m, x, y, a=axis: m.sort_key_val(x, y, a)[1]
    )
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        for reverse in (False, True):
            case(name, normal(4, 5))(lambda m, x, a=axis, n=name, r=reverse: getattr(m, n)(x, a, r))
case("cumsum int8", whole(-9, 9, 20, dtype="int8"))(lambda m, x: m.cumsum(x, 0))
case("top_k", normal(4, 7))(lambda m, x: m.top_k(x, 3)[0])
case("top_k positions", rounded(normal(4, 7)))(lambda m, x: m.top_k(x, 3)[1])
SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -3e38, 1.0039062, 65504.0, 65520, 1e-8]
)
for kind in ("float64", "float32", "float16"):
    for bits in ((5, 10), (8, 7), (4, 3), (2, 1), (11, 4), (3, 30)):
        case(f"reduce_precision {kind}", np.concatenate([SPECIAL, normal(30)]).astype(kind))(
            lambda m, x, b=bits: m.reduce_precision(x, *b)
        )
for old, new, shape in (
    ("float32", "int32", (3,)),
    ("float32", "uint8", (2, 3)),
    ("uint8", "float32", (2, 4)),
    ("int16", "uint64", (3, 4)),
    ("float64", "uint16", ()),
):
    case("bitcast_convert_type", whole(0, 99, *shape, dtype=old))(
        lambda m, x, new=new: m.bitcast_convert_type(x, new)
    )
case("broadcasted_iota", normal(1))(
    lambda m, _: m.broadcasted_iota("int32" if m is lax else np.int32, (2, 3, 4), 1)
)


# What JAX cannot differentiate, in full or with all arguments.
WITHOUT_DERIVATIVES = ("scatter_mul", "scatter_min", "scatter_max", "reduce_window", "cumlog")


def arrays(x: Any) -> np.ndarray:
    return np.asarray(x.numpy() if isinstance(x, Tensor) else x)


def is_float(x: np.ndarray) -> bool:
    return x.dtype.kind == "f"


def same(got: Any, want: Any) -> None:
    got, want = arrays(got), arrays(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    np.testing.assert_allclose(
        got.astype("float64"),
        want.astype("float64"),
        rtol=1e-9 if got.itemsize > 4 else 1e-5,
        atol=1e-9,
    )


@pytest.mark.parametrize(("name", "operands", "f"), CASES)
def test_lax(name: str, operands: list[np.ndarray], f: Callable[..., Any]) -> None:
    tensors = [Tensor(x) for x in operands]

    def ours(*xs: Any) -> Any:
        return f(lax, *xs)

    def theirs(*xs: Any) -> Any:
        return f(jlax, *xs)

    want = theirs(*map(jax.numpy.asarray, operands))
    got = ours(*tensors)
    same(got, want)
    # A batch of each operand alone, and of all.
    for k in [*range(len(operands)), None]:
        axes = [0 if k in (None, i) else None for i in range(len(operands))]
        many = [
            np.stack([x, x[::-1] if x.ndim else x]) if a == 0 else x for x, a in zip(operands, axes)
        ]
        same(
            vmap(ours, tuple(axes))(*map(Tensor, many)),
            jax.vmap(theirs, tuple(axes))(*map(jax.numpy.asarray, many)),
        )
    numbers = tuple(i for i, x in enumerate(operands) if is_float(x))
    if not numbers or not is_float(arrays(want)) or not arrays(want).size or "precision" in name:
        return
    outside = ~np.isfinite(arrays(want))
    weights = np.where(outside, 0, np.cos(np.arange(outside.size)).reshape(outside.shape))
    floats = [operands[i] for i in numbers]

    def placed(xs: Any, of: list[Any]) -> list[Any]:
        given = iter(xs)
        return [next(given) if i in numbers else x for i, x in enumerate(of)]

    def our_floats(*xs: Any) -> Any:
        return Tensor(outside).where(0.0, ours(*placed(xs, tensors)))

    def their_floats(*xs: Any) -> Any:
        return jax.numpy.where(outside, 0, theirs(*placed(xs, operands)))

    tangents = [np.sin(np.arange(x.size)).reshape(x.shape) for x in floats]
    moved = jvp(our_floats, tuple(map(Tensor, floats)), tuple(map(Tensor, tangents)))[1]
    every = tuple(range(len(floats)))
    found = grad(lambda *xs: (our_floats(*xs) * Tensor(weights)).sum(), argnums=every)(
        *map(Tensor, floats)
    )
    if name.startswith(WITHOUT_DERIVATIVES):
        ends = [their_floats(*[x + s * t for x, t in zip(floats, tangents)]) for s in (1e-6, -1e-6)]
        slope = (arrays(ends[0]) - arrays(ends[1])) / 2e-6
        np.testing.assert_allclose(arrays(moved), slope, rtol=1e-5, atol=1e-6)
        # The same product of the Jacobian with two vectors in both modes.
        total = sum((arrays(g) * t).sum() for g, t in zip(found, tangents))
        np.testing.assert_allclose(total, (weights * arrays(moved)).sum(), rtol=1e-9, atol=1e-9)
        return
    given = [jax.numpy.asarray(x) for x in floats]

    @jax.jit
    def derivatives(*xs: Any) -> Any:
        gradients = jax.grad(lambda *xs: (their_floats(*xs) * weights).sum(), every)(*xs)
        return gradients, jax.jvp(their_floats, xs, tuple(tangents))[1]

    expected, their_moved = derivatives(*given)
    for g, w in zip(found, expected, strict=True):
        same(g, w)
    same(moved, their_moved)


def test_equal_values() -> None:
    """Equal elements share the gradient of a maximum, those of a window, too, unlike in JAX."""
    x = Tensor([2.0, 2.0, 1.0])
    assert grad(lambda x: lax.reduce_max(x, (0,)))(x).tolist() == [0.5, 0.5, 0]
    assert grad(lambda x: lax.reduce_window(x, float("-inf"), "max", (2,)).sum())(x).tolist() == [
        0.5,
        1.5,
        0,
    ]


def test_select_and_scatter_add() -> None:
    x, source = rounded(normal(6, 7)), normal(3, 4)
    for name, padding in (("ge", [(0, 1), (1, 1)]), ("le", [(1, 0), (0, 2)])):
        got = lax.select_and_scatter_add(Tensor(source), Tensor(x), name, (2, 3), (2, 2), padding)
        select = {"ge": jlax.ge_p, "le": jlax.le_p}[name]
        from jax._src.lax import windowed_reductions

        want = windowed_reductions._select_and_scatter_add(
            jax.numpy.asarray(source), jax.numpy.asarray(x), select, (2, 3), (2, 2), tuple(padding)
        )
        same(got, want)
