"""polygrad.numpy and linalg against NumPy and SciPy: values, derivatives, batches, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax.lax.linalg
import jax.scipy.linalg
import jax.scipy.special
import numpy as np
import pytest
import scipy.linalg
import scipy.special

from polygrad import Tensor, linalg
from polygrad import numpy as pnp
from polygrad.func import grad, vmap

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def whole(low: int, high: int, *shape: int, dtype: str = "int32") -> np.ndarray:
    return RNG.integers(low, high, shape).astype(dtype)


def holes(*shape: int) -> np.ndarray:
    x = normal(*shape)
    x[RNG.random(shape) < 0.3] = np.nan
    return x


# A case: a name, a function of the namespace and of arrays, and arrays.
Function = Callable[..., Any]
CASES: list[tuple[str, Function, tuple[Any, ...]]] = []


def case(name: str, f: Function, *args: Any) -> None:
    CASES.append((f"{name} {len(CASES)}", f, args))


def same(names: str, *args: Any, **options: Any) -> None:
    for name in names.split():
        case(name, lambda m, *xs, n=name: getattr(m, n)(*xs, **options), *args)


METHODS = (
    "linear",
    "lower",
    "higher",
    "midpoint",
    "nearest",
    "inverted_cdf",
    "averaged_inverted_cdf",
    "hazen",
    "weibull",
    "closest_observation",
    "interpolated_inverted_cdf",
    "median_unbiased",
    "normal_unbiased",
)
MODES = ("constant", "edge", "reflect", "symmetric", "wrap")
EDGES = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 3.0])
same("signbit isposinf isneginf nan_to_num sinc", EDGES)
same("cbrt deg2rad rad2deg degrees radians absolute floor ceil trunc fix rint", normal(4, 5) * 100)
same("cbrt", EDGES)
same("modf frexp", normal(3, 4) * 1e5)
same("bitwise_count", whole(-100, 100, 50))
same("i0", normal(10) * 5)
for dtype in ("int8", "uint8", "int32", "int64", "uint64"):
    same("gcd lcm", whole(0, 11, 50, dtype=dtype), whole(0, 11, 50, dtype=dtype))
same("gcd lcm", whole(-1000, 1000, 50, dtype="int64"), whole(-1000, 1000, 50, dtype="int64"))
same("gcd", np.array([2**62, 6557470319842, 0]), np.array([2**40 * 3, 4052739537881, 0]))
for a, b in [(EDGES, EDGES[::-1].copy()), (np.full(8, 1.0), EDGES)]:
    same("nextafter fmax fmin heaviside logaddexp2 copysign logical_and logical_xor", a, b)
for number in (-1, 0, 3, 256):
    numbers = whole(0, 2, 6, dtype="uint64")
    for name in ("logical_and", "logical_or", "logical_xor"):
        case(f"{name} {number}", lambda m, x, f=name, v=number: getattr(m, f)(x, v), numbers)
same("nextafter", EDGES.astype("float32"), np.ones(8, "float32"))
same("ldexp", normal(6), np.array([0, 3, -5, 200, -1000, 1000]))
same("float_power", np.abs(normal(5)), normal(5))
same("divmod", whole(-20, 20, 30), whole(1, 7, 30))
LONG = np.array([2**63 + 4096, 6, 2, 1], "uint64")  # only float64 has a place for it and for -5
for dtype in ("int8", "int64"):
    signed = np.array([-5, 5, 7, 0], dtype)
    for xs in [(signed, LONG), (LONG, signed + (signed == 0).astype(dtype))]:
        same("add subtract multiply divide pow floor_divide remainder fmod divmod", *xs)
        same("maximum minimum fmax fmin hypot nextafter less equal outer vecdot float_power", *xs)
        case("promoted", lambda m, x, y: m.zeros(1, m.result_type(x, y)), *xs)
        case("joined", lambda m, x, y: (m.concat([x, y]), m.stack([x, y]), m.hstack([x, y])), *xs)
        case("clip where", lambda m, x, y: (m.clip(x, y, y), m.where(x < 5, x, y)), *xs)

for axis in (None, 0, 1, (0, 2)):
    for keepdims in (False, True):
        o = {"axis": axis, "keepdims": keepdims}
        same("sum prod max min mean any all var std ptp median count_nonzero", normal(3, 4, 5), **o)
        same("nansum nanprod nanmax nanmin nanmean nanvar nanstd nanmedian", holes(3, 14, 5), **o)
        for method in METHODS:
            for q in (0.3, np.array([0.0, 0.25, 1.0])):
                o = {"axis": axis, "keepdims": keepdims, "method": method}
                same("quantile nanquantile", normal(3, 4, 5), q, **o)
                same("percentile", normal(3, 4, 5), q * 100, **o)
for mode in MODES:
    for shape, width in [((4, 5), ((2, 3), (4, 0))), ((2, 3), 7), ((1, 2), ((3, 0), (0, 5)))]:
        same("pad", normal(*shape), width, mode=mode)
        same("pad", whole(-9, 9, *shape, dtype="int64"), width, mode=mode)
WIDTH = ((2, 3), (4, 0))
for x in (normal(4, 5), whole(-9, 9, 4, 5, dtype="int64")):
    for mode in ("maximum", "minimum", "mean", "median"):
        for length in (None, 2, ((1, 2), (3, 9))):
            same("pad", x, WIDTH, mode=mode, stat_length=length)
    same("pad", x, WIDTH, mode="linear_ramp")
    same("pad", x, WIDTH, mode="linear_ramp", end_values=((1, -7), (3, 4)))
    same("pad", x, WIDTH, mode="constant", constant_values=((1, 2), (3, 4)))
case(
    "einsum", lambda m, x, y: m.einsum("ij,jk->ik", x, y, optimize=True), normal(3, 4), normal(4, 5)
)
same("median mean", EDGES)
same("quantile", EDGES, 0.4)
for method in ("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "nearest"):
    for n in (1, 2, 10):  # elements, and the middle between two, at shares that float32 rounds
        same("quantile", normal(n), [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0], method=method)
same("nanquantile", holes(3, 7), np.array([[0.1, 0.5], [0.9, 1.0]]), axis=1)
same("var std nanvar nanstd nanmean", holes(4, 6) + 1j * normal(4, 6), axis=1)
same("nanargmax nanargmin", holes(4, 6), axis=1)
same("argmax argmin", normal(4, 6))
same("cov corrcoef", normal(3, 10))
same("cov corrcoef", normal(10))
same("cov", normal(3, 10), normal(2, 10), ddof=0)
same("cov", normal(10, 3), rowvar=False, bias=True)
same("cov", normal(3, 6), fweights=np.array([1, 2, 3, 1, 2, 3]))
same("cov", normal(3, 6), fweights=np.array([1, 2, 3, 1, 2, 3]), aweights=np.abs(normal(6)))
same("corrcoef", normal(3, 10), normal(2, 10))
same("cumulative_sum cumulative_prod", normal(3, 4), axis=1, include_initial=True)
same("cumsum nancumsum nancumprod", holes(3, 4))
same("cumsum cumprod", whole(-3, 3, 10, dtype="int64"))
for n in range(3):
    same("diff", normal(3, 6), n=n, axis=1)
same("diff", normal(3, 6), prepend=np.zeros((3, 1)), append=np.ones((3, 2)))
same("diff", np.array([True, False, False]))
same("ediff1d", normal(3, 4))
same("ediff1d", normal(5), to_end=normal(2), to_begin=normal(1))
same("gradient", normal(6, 7))
same("gradient", normal(6), np.array([0.0, 1, 3, 4, 7, 9]), edge_order=2)
same("gradient", normal(6, 7), 0.5, 2.0)
same("gradient", normal(6, 7), axis=1, edge_order=2)
case("trapezoid", lambda m, y: m.trapezoid(y, axis=0), normal(5, 3))
case("trapezoid", lambda m, y, x: m.trapezoid(y, x), normal(3, 5), np.sort(normal(5)))
same("unwrap", np.cumsum(normal(30) * 3) % (2 * np.pi))
same("unwrap", np.array([0, 181, 2, -180.0, 359]), period=360)
same("interp", normal(20) * 3, np.sort(normal(6)), normal(6))
same("interp", normal(20) * 3, np.sort(normal(6)), normal(6), left=-1.0, right=9.0)
same("interp", normal(20) * 300, normal(8) * 100, normal(8), period=360.0)
for ends in ([0.0, np.inf], [-np.inf, 5.0], [np.inf, np.inf]):
    same("interp", np.array([-1.0, 0, 0.5, 1, 2]), np.array([0.0, 1]), np.array(ends))
same("interp", np.array([0.5]), np.array([-np.inf, np.inf]), np.array([10.0, 10.0]))
for numbers in ([-np.inf, 2.0], [-np.inf, 2.0, 3.0], [-np.inf, np.inf], [1.0, np.inf]):
    same("median nanmedian", np.array(numbers))
same("cov", np.ones((1, 3)), rowvar=False, ddof=0)
same("cov", normal(3, 4), ddof=5)
same("var std nanvar nanstd", normal(3, 4), axis=0, ddof=1)
same("mean var", whole(0, 255, 40, dtype="uint8"), dtype="float64")
same("mean nansum", whole(0, 255, 40, dtype="int32"), dtype="int64")
same("nansum nanprod", np.array([[1, np.nan, 3], [np.nan, 300, 2]]), axis=1, dtype="int64")
same("nansum nanprod", whole(0, 255, 40, dtype="uint8"), dtype="uint8")
same("diff", normal(3, 4), prepend=0, append=normal(3, 2))
same("diff", normal(3, 4), axis=0, prepend=1.5)
same("fmod", np.array([-4.0, -0.0, 3.0, -3.0]), 2)
same("isclose allclose", np.array([True, False]), np.array([1.5, 0.2]))
same("isclose", np.array([1.0, 0.2]), np.array([True, False]))
for mode in ("constant", "mean"):
    same("pad", np.array([[True, False, True], [False, False, True]]), 1, mode=mode)
same("pad", np.array([True, False]), 1, constant_values=7)
same("angle", normal(5) + 1j * normal(5), deg=True)
same("trapezoid", normal(3, 5), dx=2.0)
same("average", normal(3, 5), 1, keepdims=True)
same("take_along_axis", normal(3, 4), np.array([11, 3, -1]), axis=None)
for obj in (np.array([1, 3]), slice(1, None, 2), np.array([True, False, True, False, True])):
    same("delete", normal(5), obj)
    same("insert", normal(5), obj, 7.0)
same("delete", normal(3, 4), slice(0, 2), axis=1)
case(
    "geomspace", lambda m, x: m.geomspace(-1, -1000, 4, endpoint=False) + x, np.zeros(4, "float32")
)
case("logspace", lambda m, x: m.logspace(0, 2, 5, base=3.0) + x, np.zeros(5, "float32"))
case("identity", lambda m, x: m.identity(3, "int32") + x, np.zeros(3))
for count in (-3, 3, 0, 30):
    same("unpackbits", whole(0, 255, 3, 3, dtype="uint8"), axis=1, count=count)
case("eigh", lambda m, x: m.linalg.eigh(x, UPLO="U")[0], np.triu(normal(4, 4)))
case("svd", lambda m, x: m.linalg.svd(x, compute_uv=False), normal(3, 4))

for x in (whole(0, 5, 30), normal(3, 4), np.array([2.0, np.nan, 1, np.nan])):
    case("unique_values", lambda m, x: m.sort(m.unique_values(x)), x)
    same("sort argsort", x, stable=True)
case("unique_all", lambda m, x: tuple(m.unique_all(x)), whole(0, 5, 6, 5))
case("unique_counts", lambda m, x: tuple(m.unique_counts(x)), normal(4))
case("unique_inverse", lambda m, x: tuple(m.unique_inverse(x)), whole(0, 3, 4, 5))
A, B = whole(0, 9, 20), whole(4, 14, 3, 5)
same("union1d intersect1d setdiff1d setxor1d", A, B)
same("isin", A, B, invert=True)
same("lexsort", (whole(0, 3, 20), whole(0, 3, 20), normal(20)))
same("lexsort", (normal(20), whole(0, 3, 20) + 1j * whole(0, 3, 20)))
for side in ("left", "right"):
    same("searchsorted", np.sort(A), B, side=side)
same("searchsorted", A, B, sorter=np.argsort(A))
for right in (False, True):
    same("digitize", normal(30), np.array([-1.0, 0, 0.5]), right=right)
    same("digitize", whole(-3, 3, 30), np.array([2, 0, -1]), right=right)
same("bincount", A)
same("bincount", A, weights=normal(20), minlength=15)
same("histogram", normal(50))
same("histogram", normal(50), bins=7, range=(-1.0, 2.0))
same("histogram", normal(50), bins=7, density=True)
same("histogram", normal(50), bins=np.array([-1.0, 0, 0.3, 2]), weights=normal(50))
same("nonzero argwhere flatnonzero where", whole(0, 2, 3, 4, 5))
same("extract", whole(0, 2, 12), normal(12))

same("take", normal(4, 5), np.array([[0, -1], [2, 1]]), axis=1)
same("take", normal(4, 5), np.array([0, 19, -20]))
same("take_along_axis", normal(4, 5), np.array([[0, -1]] * 4), axis=1)
same("take_along_axis", normal(4, 5), np.array([[0, -1, 2, 1, 0]]), axis=0)
same("unravel_index", whole(0, 60, 4, 3), (3, 4, 5))
for mode in ("raise", "clip", "wrap"):
    at = (whole(0, 3, 7), whole(0, 5, 7)) if mode == "raise" else (whole(-4, 5, 7), whole(-9, 9, 7))
    same("ravel_multi_index", at, (3, 5), mode=mode)
for sizes in ((4, 0, None), (3, 1, 5), (5, -2, 3), (2, -7, 2), (0, 0, 3)):
    same("tril_indices triu_indices", *sizes)
same("tril_indices_from triu_indices_from", normal(4, 3), k=-1)
case("mask_indices", lambda m: m.mask_indices(4, m.triu, 1))
case("ix_", lambda m, x: x[m.ix_(np.array([2, 0]), np.array([1, 3, 3]))], normal(4, 5))
same("spacing", EDGES)
same("spacing", np.array([0, 1e-40, -3.0, 3e38], "float32"))
same("iscomplex isreal iscomplexobj isrealobj", EDGES)
same("iscomplex isreal iscomplexobj isrealobj", np.array([1j, 2, np.nan, complex(1, np.nan)]))
for shape in ((4, 4), (7, 3), (3, 7), (3, 3, 3)):
    for value in (np.array(5.0), normal(2)):
        for wrap in (False, True):

            def filled(m: Any, x: Any, v: Any, wrap: bool = wrap) -> Any:
                if m is not np:
                    return m.fill_diagonal(x, v, wrap)
                x = x.copy()
                np.fill_diagonal(x, v, wrap)
                return x

            case("fill_diagonal", filled, normal(*shape), value)
for to in ((2,), (5, 5), (0, 2), (13,)):
    same("resize", normal(3, 4), to)
for start in (-3, 0, 2, 4):
    same("rollaxis", normal(2, 3, 4, 5), 2, start)
same("histogram_bin_edges", normal(50), 7)
same("histogram_bin_edges", normal(50), bins=7, range=(-1.0, 2.0))
same("delete", normal(4, 5), [1, -1], axis=1)
same("delete", normal(4, 5), [0, 7])
same("insert", normal(4, 5), 2, 7.0, axis=1)
same("insert", normal(4, 5), [0, 3, 5], normal(3), axis=1)
same("insert", normal(4, 5), 1, normal(5), axis=0)
same("insert", normal(6), [1, 1, 6], normal(3))

X = normal(2, 3, 4)
same("permute_dims matrix_transpose flip fliplr flipud ravel transpose atleast_3d", X)
same("moveaxis", X, (0, 1), (2, 0))
same("swapaxes", X, 0, -1)
for k in range(-1, 5):
    same("rot90", X, k, axes=(1, 2))
same("roll", X, 2)
same("roll", X, (1, -1), axis=(0, 2))
same("roll", X, (1, 2), axis=1)
same("roll", X, (1, 2))
same("expand_dims", X, axis=(0, -1))
same("tile", X, (2, 1, 3))
same("tile", X, 2)
same("repeat", X, 2)
same("repeat", X, [1, 0, 2], axis=1)
same("repeat", X, np.array([1, 0, 2]), axis=1)
same("concat stack vstack hstack dstack", [normal(2, 3), normal(2, 3)])
same("vstack hstack dstack column_stack", [normal(3), normal(3)])
same("concat", [normal(2, 3), normal(4)], axis=None)
same("append", normal(2, 3), normal(1, 3), axis=0)
same("unstack", X, axis=1)
same("tril triu", normal(4, 5), k=-1)
same("trace diagonal", X, offset=1)
same("diagflat", normal(2, 2), 1)
same("hsplit", normal(3, 4), 2)
same("vsplit", normal(4, 3), [1, 3])
same("dsplit", normal(2, 3, 4), 2)
same("diag_indices", 3)
same("diag_indices_from", normal(4, 4))
case("fromfunction", lambda m: m.fromfunction(lambda i, j: i * 10 + j, (2, 3)))
case("apply_over_axes", lambda m, x: m.apply_over_axes(m.sum, x, (0, 2)), normal(2, 3, 4))
same("array_equiv array_equal", normal(3), np.ones((2, 3)))
same("array_equiv", np.ones(3), np.ones((2, 3)))
same("diag", normal(4), -1)
same("diag", normal(4, 5), 1)
same("array_split", normal(7, 2), 3)
same("split", normal(7, 2), [2, 3])
same("packbits", whole(0, 2, 3, 11, dtype="uint8"), axis=1)
same("packbits", whole(0, 2, 20, dtype="uint8"), bitorder="little")
same("unpackbits", whole(0, 256, 3, 2, dtype="uint8"), axis=1, count=13)
same("unpackbits", whole(0, 256, 3, 2, dtype="uint8"), bitorder="little")
case("pad", lambda m, x: m.pad(x, ((1, 2), (0, 3)), mode="reflect"), normal(4, 5))
case("block", lambda m, a, b: m.block([[a, b], [b, a]]), normal(2, 3), normal(2, 3))
case("select", lambda m, x: m.select([x < 0, x > 1], [x, x * 2], -5.0), normal(9))
case("piecewise", lambda m, x: m.piecewise(x, [x < 0, x > 1], [lambda t: -t, 3, 7]), normal(9))
case("choose", lambda m, i, a: m.choose(i, [a, a * 2]), np.array([0, 1, 1]), normal(3))
case("compress", lambda m, a: m.compress(np.array([True, False, True]), a, 1), normal(2, 3))
same("broadcast_arrays", normal(3, 1), normal(4))

same("matmul vecdot", normal(2, 3, 4), normal(4))
same("matmul", whole(0, 5, 3, 4), whole(0, 5, 4, 2))
same("dot inner", normal(2, 3), normal(3))
same("dot", normal(2, 3), normal(4, 3, 5))
same("vdot outer", normal(2, 3), normal(6))
same("tensordot", normal(2, 3, 4), normal(3, 4, 5))
case("tensordot", lambda m, a, b: m.tensordot(a, b, axes=((0, 1), (1, 0))), X, normal(3, 2, 5))
same("matvec", normal(5, 2, 3), normal(3))
same("vecmat", normal(2, 3), normal(2, 3, 4))
same("kron", normal(2, 3), normal(3, 2))
same("kron", normal(2), normal(3, 2))
same("cross", normal(4, 3), normal(3))
for mode in ("full", "same", "valid"):
    for m in (1, 2, 3, 6, 7):
        same("convolve", normal(6), normal(m), mode=mode)
        same("convolve", whole(0, 9, 6), whole(0, 9, m), mode=mode)
    same("correlate", normal(7), normal(3), mode=mode)
same("polyval", normal(4), normal(3, 5))
same("polyadd polysub polymul", normal(4), normal(2))
same("polyder polyint", normal(5), 2)
same("polyfit", np.linspace(-1, 3, 20), normal(20), 3)
same("polyfit", np.linspace(-1, 3, 20), normal(20, 2), 2)
case("polyfit", lambda m, x, y: m.polyfit(x, y, 3, w=x**2), np.linspace(1, 3, 20), normal(20))
same("vander", normal(4), 3)
case("einsum", lambda m, a, b: m.einsum("ij,kj->ik", a, b), normal(2, 3), normal(4, 3))
for name in ("bartlett", "blackman", "hamming", "hanning"):
    for n in (0, 1, 2, 9):
        case(name, lambda m, n=n, name=name: getattr(m, name)(n))
case("kaiser", lambda m: m.kaiser(11, 6.5))
case("linspace", lambda m: m.linspace(1, 2, 7, endpoint=False))
case("logspace", lambda m: m.logspace(0, 2, 5))
case("geomspace", lambda m: m.geomspace(1, 256, 9))
case("tri", lambda m: m.tri(3, 4, 1))
case("indices", lambda m: m.indices((2, 3)))
case("eye", lambda m: m.eye(3, 4, k=-1))

SQUARE = normal(2, 4, 4)
TALL = normal(2, 5, 3)
POSITIVE = SQUARE @ SQUARE.swapaxes(-1, -2) + np.eye(4)


def algebra(names: str, *args: Any, **options: Any) -> None:
    for name in names.split():
        case(name, lambda m, *xs, n=name: getattr(m.linalg, n)(*xs, **options), *args)


algebra("det inv slogdet matrix_transpose trace svdvals matrix_norm vector_norm cond", SQUARE)
algebra("cholesky eigvalsh", POSITIVE)
algebra("pinv svdvals matrix_norm matrix_rank", TALL)
algebra("matrix_rank pinv", np.outer(normal(4), normal(3)))
algebra("solve", SQUARE, normal(2, 4, 3))
for order in (1, -1, 2, -2, np.inf, -np.inf, "nuc", "fro"):
    algebra("matrix_norm", TALL, ord=order, keepdims=True)
    algebra("cond", SQUARE, order)
for order in (1, 2, -2, "fro"):
    algebra("cond", np.array([[np.inf, 1], [2, 3]]), order)
    algebra("cond", np.zeros((2, 2)), order)
for order in (0, 1, 2, 3.5, -1, np.inf, -np.inf):
    algebra("vector_norm", TALL, ord=order, axis=1)
for n in (-2, 0, 1, 5):
    algebra("matrix_power", SQUARE, n)
algebra("tensorsolve", normal(2, 3, 6), normal(2, 3))
algebra("tensorinv", normal(2, 3, 6))
case("multi_dot", lambda m, *xs: m.linalg.multi_dot(xs), normal(3, 9), normal(9, 2), normal(2, 7))
case("multi_dot", lambda m, *xs: m.linalg.multi_dot(xs), normal(9), normal(9, 2), normal(2))


def flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in flat(part)]
    return [value.numpy() if isinstance(value, Tensor) else np.asarray(value)]


def given(value: Any) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return [Tensor(x) for x in value]
    if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
        return tuple(Tensor(x) for x in value)
    return Tensor(value) if isinstance(value, np.ndarray) and value.ndim else value


@pytest.mark.parametrize(("name", "f", "args"), CASES, ids=[c[0] for c in CASES])
@pytest.mark.filterwarnings("ignore")
def test_values(name: str, f: Function, args: tuple[Any, ...]) -> None:
    got, want = flat(f(pnp, *map(given, args))), flat(f(np, *args))
    assert [x.shape for x in got] == [x.shape for x in want]
    for x, y in zip(got, want):
        # Integers of NumPy have 64 bits, and what is made of none has float64.
        assert np.dtype(x.dtype).kind in (
            np.dtype(y.dtype).kind,
            "f" if y.dtype.kind == "f" else "iu",
        )
        exact = x.dtype == np.float64
        np.testing.assert_allclose(
            x, y, rtol=1e-11 if exact else 2e-5, atol=1e-12 if exact else 2e-5
        )


def test_scipy_linalg() -> None:
    for scale in (1e-3, 1.0, 40.0):
        x = normal(5, 5) * scale
        np.testing.assert_allclose(linalg.expm(Tensor(x)).numpy(), scipy.linalg.expm(x), rtol=1e-9)
    x, b = normal(5, 5), normal(5, 2)
    order, lower, upper = (t.numpy() for t in linalg.lu(Tensor(x)))
    np.testing.assert_allclose(x[order], lower @ upper, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(np.tril(lower), lower)
    for mine in (False, True):
        t = np.tril(x) if mine else np.triu(x)
        got = linalg.solve_triangular(Tensor(t), Tensor(b), lower=mine)
        want = scipy.linalg.solve_triangular(t, b, lower=mine)
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-10)
    for m in (x, x + 1j * normal(5, 5)):
        p, b = m @ m.conj().T + np.eye(5), m[:, :2]
        for upper in (False, True):
            c = linalg.cholesky(Tensor(p), upper)
            got = linalg.cho_solve(c, Tensor(b), lower=not upper)
            np.testing.assert_allclose(got.numpy(), np.linalg.solve(p, b), rtol=1e-10)
    q, r = pnp.linalg.qr(Tensor(normal(5, 3)))
    assert (q.shape, r.shape) == ((5, 3), (3, 3))


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (40, 1), (33, 70), (70, 33), (2, 3, 6, 4)])
def test_factors_of_rectangles(shape: tuple[int, ...]) -> None:
    x = normal(*shape)
    order, lower, upper = (t.numpy() for t in linalg.lu(Tensor(x)))
    for at in np.ndindex(shape[:-2]):
        permutation, their_lower, their_upper = scipy.linalg.lu(x[at])
        np.testing.assert_array_equal(permutation.argmax(0), order[at])
        np.testing.assert_allclose(lower[at], their_lower, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(upper[at], their_upper, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(5, 5), (40, 40), (2, 3, 4, 4), (0, 0), (2, 0, 0)])
def test_lu(shape: tuple[int, ...]) -> None:
    x = normal(*shape)
    lu, order = linalg.lu_factor(Tensor(x))
    assert (lu.shape, order.shape) == (shape, shape[:-1])
    for columns in ((), (3,)):
        b = normal(*shape[:-1], *columns)
        for trans in (False, True):
            got = linalg.lu_solve(lu, order, Tensor(b), trans).numpy()
            a = x.swapaxes(-1, -2) if trans else x
            y = a @ got if columns else (a @ got[..., None])[..., 0]
            np.testing.assert_allclose(y, b, rtol=1e-9, atol=1e-10)
    if shape == (5, 5):
        np.testing.assert_allclose(lu.numpy(), scipy.linalg.lu_factor(x)[0], rtol=1e-10)


SMOOTH: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "quantile": (lambda x: pnp.quantile(x, 0.3, axis=0), (normal(5, 2),)),
    "nanmean": (lambda x: pnp.nanvar(x, axis=0), (normal(5, 2),)),
    "lu_solve": (lambda x, b: linalg.lu_solve(*linalg.lu_factor(x), b), (normal(4, 4), normal(4))),
    "fill_diagonal": (pnp.fill_diagonal, (normal(3, 3), normal(2))),
    "resize": (lambda x: pnp.resize(x, (7,)), (normal(3),)),
    "cov": (lambda x: pnp.cov(x), (normal(3, 6),)),
    "corrcoef": (lambda x: pnp.corrcoef(x), (normal(3, 6),)),
    "gradient": (lambda x: pnp.gradient(x, edge_order=2), (normal(6),)),
    "trapezoid": (pnp.trapezoid, (normal(5), np.sort(normal(5)))),
    "interp": (pnp.interp, (normal(5), np.array([-2.0, 0, 1]), normal(3))),
    "polyfit": (lambda x, y: pnp.polyfit(x, y, 2), (np.linspace(0, 1, 6), normal(6))),
    "polyval": (pnp.polyval, (normal(3), normal(4))),
    "convolve": (pnp.convolve, (normal(6), normal(3))),
    "kron": (pnp.kron, (normal(2, 2), normal(2, 3))),
    "cbrt": (pnp.cbrt, (normal(4),)),
    "unwrap": (pnp.unwrap, (normal(6) * 5,)),
    "take_along_axis": (
        lambda x: pnp.take_along_axis(x, Tensor([[0, 1]]), 0),
        (normal(3, 2),),
    ),
    "insert": (lambda x, v: pnp.insert(x, [0, 2], v), (normal(4), normal(2))),
    "average": (lambda x, w: pnp.average(x, weights=w), (normal(5), np.abs(normal(5)))),
    "pinv": (linalg.pinv, (normal(4, 3),)),
    "expm": (linalg.expm, (normal(3, 3),)),
    "lu": (lambda x: linalg.lu(x)[2], (normal(3, 3),)),
    "lower": (lambda x: linalg.lu(x)[1], (normal(3, 3),)),
    "matrix_norm": (lambda x: linalg.matrix_norm(x, ord="nuc"), (normal(4, 3),)),
    "vector_norm": (linalg.vector_norm, (normal(4),)),
    "matrix_power": (lambda x: linalg.matrix_power(x, 3), (normal(3, 3),)),
    "tensorsolve": (linalg.tensorsolve, (normal(2, 3, 6), normal(2, 3))),
    "multi_dot": (
        lambda a, b, c: linalg.multi_dot([a, b, c]),
        (normal(2, 3),) * 1 + (normal(3, 2), normal(2, 2)),
    ),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_and_batches(name: str) -> None:
    f, args = SMOOTH[name]
    value = f(*map(Tensor, args)).numpy()
    weights = RNG.normal(size=value.shape)

    def loss(*xs: Tensor) -> Tensor:
        return (f(*xs) * Tensor(weights)).sum()

    step = 1e-6
    for i, x in enumerate(args):
        if name in ("interp", "polyfit") and i == (1 if name == "interp" else 0):
            continue
        found = grad(loss, argnums=i)(*map(Tensor, args)).numpy()
        direction = RNG.normal(size=x.shape)
        ends = []
        for sign in (1, -1):
            moved = list(args)
            moved[i] = x + sign * step * direction
            ends.append(loss(*map(Tensor, moved)).item())
        slope = (ends[0] - ends[1]) / (2 * step)
        assert np.sum(found * direction) == pytest.approx(slope, rel=1e-5, abs=1e-7)
    batch = [Tensor(np.stack([x, x * 1.0])) for x in args]
    np.testing.assert_allclose(vmap(f)(*batch).numpy(), np.stack([value, value]), rtol=1e-10)


def test_unique_values_alone() -> None:
    """They are sorted, without positions: the same as with them, and with the same gradient."""
    many = np.concatenate([normal(300).round(1), [0.0, -0.0, np.nan, np.inf, -np.inf, np.nan]])
    for dtype in ("float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"):
        x = (many if dtype[0] == "f" else np.where(np.isfinite(many), many, 1).clip(0)).astype(
            dtype
        )
        for equal in (True, False):
            wanted = np.unique(x, equal_nan=equal)
            np.testing.assert_array_equal(pnp.unique(x, equal_nan=equal).numpy(), wanted)
        np.testing.assert_array_equal(pnp.union1d(x[:9], x).numpy(), np.unique(x))
    x = Tensor(many[:300].reshape(30, 10), requires_grad=True)
    got, wanted = pnp.unique(x), pnp.unique_all(x)
    slopes = [(values.square().sum()).gradient(x)[0].numpy() for values in (got, wanted.values)]
    np.testing.assert_array_equal(*slopes)
    assert np.count_nonzero(slopes[0]) in (got.shape[0], got.shape[0] - 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_nan_in_unique(dtype: str) -> None:
    """They are one number for unique, as in NumPy, and many for unique_values."""
    a = np.array([[np.nan, 2, -np.nan, 1], [2, np.nan, -0.0, 0]]).astype(dtype)
    parts = {"return_index": True, "return_inverse": True, "return_counts": True}
    for chosen in ({}, {"equal_nan": False}, {"equal_nan": True}):
        wanted = np.unique(a, **parts, **chosen)
        for got, want in zip(pnp.unique(Tensor(a), **parts, **chosen), wanted, strict=True):
            np.testing.assert_array_equal(got.numpy(), want)
    np.testing.assert_array_equal(pnp.unique(a).numpy(), np.unique(a))
    np.testing.assert_array_equal(pnp.unique_values(a).numpy(), np.unique(a, equal_nan=False))
    assert pnp.unique(a, size=5, fill_value=7, equal_nan=True).tolist()[4:] == [7]


def test_sizes() -> None:
    """With size a result has as many elements as are asked for, also in a batch."""
    x = Tensor([3, 0, 3, 1])
    assert pnp.unique_values(x, size=5, fill_value=-1).tolist() == [0, 1, 3, -1, -1]
    assert pnp.unique_values(x, size=5).tolist() == [0, 1, 3, 0, 0]
    assert pnp.unique_values(x, size=2).tolist() == [0, 1]
    assert pnp.unique_counts(x, size=4).counts.tolist() == [1, 1, 2, 0]
    assert pnp.nonzero(x, size=4, fill_value=9)[0].tolist() == [0, 2, 3, 9]
    assert pnp.nonzero(x, size=2)[0].tolist() == [0, 2]
    assert pnp.argwhere(x, size=3).tolist() == [[0], [2], [3]]
    assert pnp.intersect1d(x, Tensor([3, 1]), size=3, fill_value=7).tolist() == [1, 3, 7]
    assert pnp.bincount(x, length=6).tolist() == [1, 1, 0, 2, 0, 0]
    rows = Tensor([[3, 0, 3, 1], [0, 0, 0, 2]])
    found = vmap(lambda r: pnp.flatnonzero(r, size=3, fill_value=-1))(rows)
    assert found.tolist() == [[0, 2, 3], [3, -1, -1]]
    assert vmap(lambda r: pnp.unique_values(r, size=3))(rows).tolist() == [[0, 1, 3], [0, 2, 0]]


@pytest.mark.parametrize("dtype", [None, "int32", "uint8", "int64", "float32"])
@pytest.mark.parametrize(
    "limits", [(0, 5, 2), (5, 0, -2.5), (2, 4, 0.5), (0.5, 3, 1), (3, 3), (4, 0), (7.1,)]
)
def test_ranges(limits: tuple[float, ...], dtype: str | None) -> None:
    expected, got = np.arange(*limits, dtype=dtype), pnp.arange(*limits, dtype=dtype).numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert dtype is None or got.dtype == dtype


def test_positions_beyond_32_bits() -> None:
    sizes = (70000, 70000)
    for at in (np.array([-1, 5], np.int32), np.array([3000000000], np.uint32)):
        got = [t.tolist() for t in pnp.unravel_index(Tensor(at), sizes)]
        wide = at.astype(np.int64) % (70000 * 70000)
        assert got == [x.tolist() for x in np.unravel_index(wide, sizes)]
    along = (np.array([60000], np.int32), np.array([5], np.int32))
    for mode in ("raise", "clip", "wrap"):
        got = pnp.ravel_multi_index([Tensor(x) for x in along], sizes, mode)
        assert got.tolist() == np.ravel_multi_index(along, sizes, mode).tolist() == [4200000005]
    assert pnp.unravel_index(Tensor([7]), (3, 4))[0].dtype == "int32"
    with pytest.raises(ValueError, match=r"ravel_multi_index: dims: .* 64 bits"):
        pnp.ravel_multi_index([Tensor([1])] * 2, (2**40, 2**40))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_spacing(dtype: str) -> None:
    x = np.array([1, -1, 3, 1000, 0], dtype)
    floats, got = x.astype(np.float32 if dtype == "int32" else dtype), pnp.spacing(x).numpy()
    want = np.copysign(np.spacing(abs(floats)), floats)  # NumPy's of -1 in float16 is another
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    assert pnp.spacing(Tensor([1.0, -3.0], dtype="bfloat16")).tolist() == [2**-7, -(2**-6)]


def test_grids_of_positions() -> None:
    for vectors in (([0, 1], [2]), ([0, 1],), ([True, False, True], [1, 2], [0])):
        got, want = pnp.ix_(*vectors), np.ix_(*vectors)
        assert [t.tolist() for t in got] == [x.tolist() for x in want]


def test_running_sums_of_numbers_have_one_axis() -> None:
    for name in ("cumsum", "cumprod"):
        for axis in (None, 0, -1):
            assert getattr(pnp, name)(Tensor(3.0), axis=axis).shape == (1,)


def test_bools_stay_bools() -> None:
    x = np.array([True, False, True])
    for name in ("diag", "diagflat", "nanprod", "prod", "sum", "nansum"):
        expected, got = getattr(np, name)(x), getattr(pnp, name)(x).numpy()
        assert (got.dtype.kind, got.tolist()) == (expected.dtype.kind, expected.tolist()), name
    for refused in (pnp.ptp, pnp.negative, pnp.positive, pnp.ediff1d):
        with pytest.raises(
            TypeError, match=rf"{refused.__name__}: (a|ary|x): is bool, expected numbers"
        ):
            refused(x)
    for both in (pnp.subtract, pnp.cross):
        with pytest.raises(TypeError, match=r"(a|x): is bool, expected numbers"):
            both(Tensor(x), Tensor(x))
    assert pnp.abs(x).tolist() == x.tolist()
    whole = np.array([-7, 7, -8, 8, -1, 0], np.int32)
    assert pnp.copysign(whole, whole).dtype == pnp.fabs(whole).dtype == "float32"
    assert pnp.rint(Tensor(whole)).dtype == pnp.rint(Tensor(x)).dtype == "float32"
    for divisor in (1, 2, 4, 1024, -4, 3):
        assert pnp.fmod(whole, divisor).tolist() == np.fmod(whole, divisor).tolist(), divisor


def test_true_beside_differences() -> None:
    for x in (np.array([1, 2]), np.array([True, False])):
        for options in ({"prepend": True}, {"append": True}, {"prepend": False}):
            assert pnp.diff(Tensor(x), **options).tolist() == np.diff(x, **options).tolist()
    assert pnp.ediff1d(Tensor([1, 4]), to_begin=True).tolist() == [1, 3]
    assert pnp.roll(Tensor([1, 2, 3]), ()).tolist() == [1, 2, 3]
    assert pnp.roll(Tensor([1, 2, 3]), (), axis=0).tolist() == [1, 2, 3]
    assert pnp.sum(Tensor([1, 2]), where=True).item() == 3


def test_functions_of_functions() -> None:
    x = normal(3, 4, 5)
    for axis in range(3):
        got = pnp.apply_along_axis(lambda v: v.cumsum(), axis, Tensor(x)).numpy()
        np.testing.assert_allclose(got, np.apply_along_axis(np.cumsum, axis, x), rtol=1e-12)
        got = pnp.apply_along_axis(lambda v: v.max(), axis, Tensor(x)).numpy()
        np.testing.assert_array_equal(got, x.max(axis))
    f = pnp.vectorize(lambda a, b: (a > b).where(a - b, a + b))
    a, b = normal(3, 1), normal(4)
    want = np.where(a > b, a - b, a + b)
    np.testing.assert_allclose(f(Tensor(a), Tensor(b)).numpy(), want, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: pnp.quantile([1.0, 2], 1.5), ValueError, "quantile: q: 1.5, expected 0 to 1"),
        (lambda: pnp.take([1, 2], [5]), IndexError, "take: indices: 5 is out of bounds"),
        (lambda: pnp.unravel_index([60], (3, 4, 5)), IndexError, "unravel_index: indices: 60 is"),
        (lambda: pnp.ravel_multi_index([[3]], (3,)), IndexError, "multi_index: 3 is"),
        (lambda: pnp.fill_diagonal([1, 2], 1), ValueError, "fill_diagonal: a: has 1 dim"),
        (lambda: pnp.rollaxis(pnp.ones((2, 3)), 2), ValueError, "rollaxis: axis: 2 is out"),
        (lambda: pnp.select([], []), ValueError, "select: condlist: empty"),
        (lambda: pnp.where([1], 2), ValueError, "where: expected both x and y"),
        (lambda: pnp.concat([[1.0], [[1.0]]]), ValueError, "concat: "),
        (lambda: pnp.gcd(1.5, Tensor([2.0])), TypeError, "gcd: operands: is float32"),
        (lambda: pnp.convolve([[1.0]], [1.0]), ValueError, "convolve: operands: have shapes"),
        (lambda: pnp.sort([1.0], axis=2), ValueError, "sort: .*: 2 is out of range"),
        (lambda: pnp.squeeze(pnp.ones((2, 3)), axis=0), ValueError, "squeeze: axis: 0 has size 2"),
        (lambda: pnp.linalg.solve(pnp.ones((2, 3)), [1, 2]), ValueError, "solve: a: has shape"),
        (lambda: pnp.broadcast_to([1, 2], (3,)), ValueError, "broadcast_to: shape: is"),
        (lambda: pnp.polyfit([1.0], [1.0, 2], 1), ValueError, "polyfit: y: has shape"),
        (lambda: pnp.unique_values([1], size=-1), ValueError, "unique_values: size: -1"),
        (lambda: pnp.linalg.matrix_norm(pnp.ones((2, 2)), ord="x"), ValueError, "matrix_norm: ord"),
        (lambda: pnp.isdtype(pnp.int8, "whole"), ValueError, "isdtype: kind: "),
        (lambda: pnp.cumulative_sum(pnp.ones((2, 2))), ValueError, "cumulative_sum: axis: None"),
        (lambda: pnp.cumulative_prod(pnp.ones((2, 2))), ValueError, "cumulative_prod: axis: None"),
        (lambda: pnp.flipud(2.0), ValueError, "flipud: m: .* 1 or more dimensions"),
        (lambda: pnp.fliplr([1.0]), ValueError, "fliplr: m: .* 2 or more dimensions"),
        (lambda: pnp.resize([1.0, 2], (-2, 2)), ValueError, "resize: new_shape: has a size of -2"),
        (lambda: pnp.arange(0, 3, 0), ValueError, "arange: step: 0, expected another number"),
        (lambda: pnp.arange(0, math.inf), ValueError, "arange: stop: inf, expected a number"),
        (lambda: pnp.linspace(0, 1, 2.5), TypeError, "linspace: num: a float, expected an integer"),
        (lambda: pnp.tril_indices(-1), ValueError, "tril_indices: n: -1, expected 0 or more"),
        (lambda: pnp.triu_indices(1, m=-1), ValueError, "triu_indices: m: -1, expected 0 or more"),
        (lambda: pnp.where([1], 1, 2, size=3), ValueError, "where: size: 3, expected none beside"),
        (lambda: pnp.ix_([[1]], [1]), ValueError, "ix_: vectors: an array of shape"),
        (lambda: linalg.lu_solve(np.eye(2), [0, 7], [1.0, 2]), IndexError, "lu_solve: order: 7 is"),
        (lambda: linalg.cho_solve(pnp.ones((2, 3)), [1, 2]), ValueError, "cho_solve: c: has shape"),
        (lambda: pnp.ones(3).__array_namespace__(api_version="1999"), ValueError, "api_version"),
    ],
)
def test_errors(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


LISTS = Path(__file__).resolve().parents[1] / "api"


@pytest.mark.parametrize(
    ("file", "namespace", "modules"),
    [
        ("numpy", "numpy", [np, jax.numpy]),
        ("numpy", "numpy.linalg", [np.linalg, jax.numpy.linalg]),
        ("numpy", "numpy.fft", [np.fft, jax.numpy.fft]),
        ("scipy", "scipy.special", [scipy.special, jax.scipy.special]),
        ("scipy", "scipy.linalg", [scipy.linalg, jax.scipy.linalg]),
        ("jax", "jax", [jax]),
        ("jax", "lax", [jax.lax]),
        ("jax", "lax.linalg", [jax.lax.linalg]),
        ("jax", "nn", [jax.nn]),
        ("jax", "random", [jax.random]),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_lists(file: str, namespace: str, modules: list[ModuleType]) -> None:
    """tests/api lists all names of the versions that are installed, but for modules."""
    with (LISTS / f"{file}.tsv").open() as lines:
        rows = [line.split() for line in lines]
    listed = {name for space, name in rows[1:] if space == namespace}
    for module in modules:
        for name in getattr(module, "__all__", None) or dir(module):
            private = name.startswith("_") or name.endswith("_p")
            if not private and not isinstance(getattr(module, name, module), ModuleType):
                assert name in listed, f"{module.__name__}.{name}"


def test_no_type_has_bits_of_both_signs() -> None:
    signed, unsigned = pnp.asarray(np.array([-1, 2])), pnp.asarray(LONG[:2])
    for name in ("bitwise_and", "bitwise_left_shift", "gcd", "lcm"):
        with pytest.raises(TypeError, match=rf"{name}: .*: is float64, expected an integer"):
            getattr(pnp, name)(signed, unsigned)


@pytest.mark.parametrize("keys", [(), [], np.zeros((0, 3))])
def test_the_order_of_no_keys(keys: Any) -> None:
    for lexsort in (np.lexsort, pnp.lexsort):
        with pytest.raises(TypeError, match=r"len > 0|keys: none, expected one or more"):
            lexsort(keys)
