"""NumPy's functions on tensors: a namespace of the array API standard, revision 2024.12.

It has the names of the standard with its linear algebra, Fourier transforms and inspection, and
many of NumPy. Tensor.size is a method: see docs/api.md.
Types are promoted as the standard says, default types are float32 and int32. Nothing is computed
until it is needed, and all works with the transformations of polygrad.func.

>>> from polygrad import numpy as np
>>> x = np.asarray([3.0, 1.0, 2.0])
>>> np.median(x).item(), np.linalg.vector_norm(x - np.mean(x)).item()
(2.0, 1.4142135381698608)
>>> np.unique_values(np.asarray([2, 1, 2])).tolist()
[1, 2]
"""

from __future__ import annotations

import builtins
import importlib
import math
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

import numpy as _np

from polygrad._library import ArgumentError, integer, place, wrong
from polygrad.dtype import DType, dtypes, known_dtype
from polygrad.func import vmap
from polygrad.numpy import _operations
from polygrad.numpy._arrays import array as _array
from polygrad.numpy._arrays import tensors as _arrays
from polygrad.numpy._info import can_cast as can_cast
from polygrad.numpy._info import finfo as finfo
from polygrad.numpy._info import iinfo as iinfo
from polygrad.numpy._info import info
from polygrad.numpy._info import isdtype as isdtype
from polygrad.numpy._info import result_type as result_type
from polygrad.numpy._operations import *  # noqa: F403
from polygrad.numpy._padding import pad as pad
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polygrad._base import Operand, Sizes
    from polygrad.dtype import DTypeLike

__array_api_version__ = "2024.12"
ndarray = Tensor
e, pi, inf, nan, newaxis = math.e, math.pi, math.inf, math.nan, None
euler_gamma = 0.5772156649015329
bool = dtypes.bool
int8, int16, int32, int64 = dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64
uint8, uint16, uint32, uint64 = dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64
complex64, complex128 = dtypes.complex64, dtypes.complex128
float16, bfloat16 = dtypes.float16, dtypes.bfloat16
float32, float64 = dtypes.float32, dtypes.float64
bool_, half, single, double = bool, float16, float32, float64
csingle, cdouble = complex64, complex128


def __getattr__(name: str) -> Any:
    """Import linalg and fft when they are asked for: those of polygrad need this package."""
    if name in ("linalg", "fft"):
        return importlib.import_module(f"polygrad.numpy.{name}")
    raise AttributeError(f"module 'polygrad.numpy' has no attribute {name!r}")


def __array_namespace_info__() -> Any:
    """Return what the namespace has: capabilities, data types, devices and defaults."""
    return info


def _kind(dtype: Any, otherwise: DType) -> DType:
    return otherwise if dtype is None else known_dtype(dtype)


# New arrays


def asarray(
    obj: Any, /, *, dtype: Any = None, device: str | None = None, copy: Any = None
) -> Tensor:
    """Return a tensor of a tensor, an array, or nested sequences.

    With copy it has memory of its own; if copy is False, it must not need any.
    """
    if isinstance(obj, Tensor):
        if device is not None:
            obj = obj.to(device)
        same = dtype is None or known_dtype(dtype) == obj.dtype
        if copy is False and not same:
            raise ValueError(f"{place(obj)}: copy is False, but the data type changes")
        result: Tensor = obj if same else obj.cast(known_dtype(dtype))
        return result.clone() if copy and same else result
    if copy is False and not hasattr(obj, "__dlpack__"):
        raise ValueError(f"{place(obj)}: copy is False, but {type(obj).__name__} has no memory")
    if copy is None or copy is False or not isinstance(obj, _np.ndarray):
        return Tensor(obj, dtype=dtype, device=device)
    return Tensor(obj.copy(), dtype=dtype, device=device)


array = asarray
promote_types = result_type


def fromfunction(f: Callable[..., Any], shape: Sequence[int], dtype: Any = None) -> Any:
    """Return f of the positions of the elements of a shape, one argument for each axis."""
    return f(*meshgrid(*[arange(n, dtype=_kind(dtype, float32)) for n in shape], indexing="ij"))


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """Return the positions of the diagonal of an array with ndim axes of size n."""
    return (arange(n),) * ndim


def diag_indices_from(x: Operand) -> tuple[Tensor, ...]:
    """Return the positions of the diagonal of an array whose axes have one size."""
    sizes = _array(x).shape
    if len(set(sizes)) != 1 or len(sizes) < 2:
        raise wrong("x", f"an array of shape {sizes}", "two axes or more, of one size")
    return diag_indices(sizes[0], len(sizes))


def from_dlpack(x: Any, /, *, device: str | None = None, copy: Any = None) -> Tensor:
    """Return a tensor on the memory of an array of another library."""
    made = x if isinstance(x, Tensor) and not copy else Tensor.from_dlpack(x, copy=copy)
    return made if device is None else made.to(device)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: str | None = None,
) -> Tensor:
    """Return the numbers from start to stop, which is not one of them.

    Integers have the distance of the first two, as in NumPy.
    """
    first, last = (0, start) if stop is None else (start, stop)
    if not (step < 0 or step > 0):
        raise wrong("step", step, "another number")
    if not math.isfinite(last - first):
        raise wrong("stop", last, f"a number that is a finite distance from {first}")
    whole = builtins.all(isinstance(v, builtins.int) for v in (first, last, step))
    kind = _kind(dtype, int32 if whole else float32)
    count = builtins.max(math.ceil((last - first) / step), 0)
    if dtypes.is_int(kind) and not whole:
        first, step = int(first), int(first + step) - int(first)
    wide = int64 if dtypes.is_int(kind) else float64
    if count > 0 and kind == int32 and step != 0:
        return Tensor.arange(first, first + count * step, step, device=device)
    return (Tensor.arange(count, dtype=wide, device=device) * step + first).cast(kind)


def linspace(
    start: float,
    stop: float,
    /,
    num: int = 50,
    *,
    dtype: Any = None,
    device: str | None = None,
    endpoint: builtins.bool = True,
) -> Tensor:
    """Return num numbers from start to stop, without it unless endpoint."""
    parts = isinstance(start, complex) or isinstance(stop, complex)
    kind = _kind(dtype, complex64 if parts else float32)
    if integer("num", num) < 0:
        raise wrong("num", num, "0 or more")
    if num < 2:
        return full(num, start, dtype=kind, device=device)
    step = (stop - start) / (num - 1 if endpoint else num)
    at = Tensor.arange(num, dtype=float64, device=device)
    numbers = at * step + (complex(start) if parts else float(start))
    return ((at == num - 1).where(stop, numbers) if endpoint else numbers).cast(kind)


def logspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: builtins.bool = True,
    base: float = 10.0,
    dtype: Any = None,
) -> Tensor:
    """Return num powers of base with exponents from start to stop, without it unless endpoint."""
    exponents = linspace(start, stop, num, dtype=float64, endpoint=endpoint)
    return (exponents * math.log2(base)).exp2().cast(_kind(dtype, float32))


def geomspace(
    start: float, stop: float, num: int = 50, endpoint: builtins.bool = True, dtype: Any = None
) -> Tensor:
    """Return num numbers from start to stop, each one the same multiple of the one before."""
    if not start * stop > 0:
        raise wrong("stop", stop, f"a number other than 0, of the sign of {start}")
    sign, first, last = math.copysign(1, start), math.log2(abs(start)), math.log2(abs(stop))
    return logspace(first, last, num, endpoint, 2.0, dtype or float32) * sign


def empty(shape: Sizes, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Return a tensor for later writes."""
    return Tensor.empty(shape, dtype=_kind(dtype, float32), device=device)


def zeros(shape: Sizes, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Return zeros."""
    return Tensor.zeros(shape, dtype=_kind(dtype, float32), device=device)


def ones(shape: Sizes, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Return ones."""
    return Tensor.ones(shape, dtype=_kind(dtype, float32), device=device)


def full(
    shape: Sizes, fill_value: float, *, dtype: Any = None, device: str | None = None
) -> Tensor:
    """Return a tensor with one value everywhere."""
    sizes = (shape,) if isinstance(shape, builtins.int) else tuple(shape)
    kind = _kind(dtype, _array(fill_value).dtype)
    return Tensor.full(sizes, fill_value, dtype=kind, device=device)


def empty_like(x: Operand, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Return a tensor of the shape of x for later writes."""
    return zeros_like(x, dtype=dtype, device=device)


def zeros_like(x: Operand, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Return zeros in the shape of x."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Operand, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Return ones in the shape of x."""
    return full_like(x, 1, dtype=dtype, device=device)


def full_like(
    x: Operand, /, fill_value: float, *, dtype: Any = None, device: str | None = None
) -> Tensor:
    """Return a tensor of the shape of x with one value everywhere."""
    x = _array(x)
    return Tensor.full(x.shape, fill_value, dtype=_kind(dtype, x.dtype), device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: str | None = None,
) -> Tensor:
    """Return a matrix of zeros with ones on its diagonal k."""
    columns = n_rows if n_cols is None else n_cols
    k = builtins.max(builtins.min(k, columns), -n_rows)  # beyond, there are only zeros
    rows, at = Tensor.arange(n_rows).reshape(-1, 1), Tensor.arange(columns).reshape(1, -1)
    return (rows + k == at).cast(_kind(dtype, float32))


def identity(n: int, dtype: Any = None) -> Tensor:
    """Return a square matrix of zeros with ones on its diagonal."""
    return eye(n, dtype=dtype)


def tri(n: int, m: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:
    """Return a matrix of ones up to its diagonal k, zeros above."""
    return tril(ones((n, n if m is None else m), dtype=dtype), k=k)  # noqa: F405


def indices(dimensions: Sequence[int], dtype: Any = None) -> Tensor:
    """Return the positions of the elements of a shape, along each axis."""
    grid = meshgrid(*[arange(n, dtype=dtype) for n in dimensions], indexing="ij")
    return _operations.stack(grid)


def meshgrid(*arrays: Operand, indexing: str = "xy") -> list[Tensor]:
    """Return the coordinates of a grid with the given vectors as axes."""
    vectors = _arrays(arrays)
    return list(vectors[0].meshgrid(*vectors[1:], indexing=indexing)) if vectors else []


# Types


def astype(
    x: Operand, dtype: DTypeLike, /, *, copy: builtins.bool = True, device: str | None = None
) -> Tensor:
    """Return a tensor in another data type; a copy unless copy is False."""
    return asarray(_array(x), dtype=dtype, device=device, copy=copy or None)


# Shapes


def reshape(x: Operand, /, shape: Sizes, *, copy: Any = None) -> Tensor:
    """Return the elements in row-major order in another shape; -1 is inferred."""
    x = _array(x)
    sizes = (shape,) if isinstance(shape, builtins.int) else tuple(shape)
    return (x.clone() if copy else x).reshape(sizes)


def shape(x: Operand, /) -> tuple[int, ...]:
    """Return the sizes of the axes."""
    return _array(x).shape


def ndim(x: Operand, /) -> int:
    """Return the number of axes."""
    return _array(x).ndim


def size(x: Operand, /, axis: int | None = None) -> int:
    """Return the number of elements, or the size of an axis."""
    x = _array(x)
    return x.numel() if axis is None else x.size(axis)


def transpose(x: Operand, /, axes: Sizes | None = None) -> Tensor:
    """Return the axes in another order, reversed unless given."""
    return _operations.permute_dims(x, axes)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to."""
    try:
        return _np.broadcast_shapes(*shapes)
    except ValueError:
        raise ArgumentError(f"{place(shapes)}: {shapes} do not broadcast") from None


def broadcast_arrays(*arrays: Operand) -> list[Tensor]:
    """Return tensors expanded to the shape that all broadcast to."""
    xs = _arrays(arrays)
    to = broadcast_shapes(*[x.shape for x in xs])
    return [_operations.broadcast_to(x, to) for x in xs]


def concat(arrays: Sequence[Operand], /, *, axis: int | None = 0) -> Tensor:
    """Return arrays joined along an axis; flattened first if axis is None."""
    xs = _arrays(arrays)
    if axis is None:
        xs, axis = [x.flatten() for x in xs], 0
    return _operations.concat(xs, axis)


concatenate = concat


def append(x: Operand, values: Operand, axis: int | None = None) -> Tensor:
    """Return values behind x along an axis, or both flattened."""
    return concat((x, values), axis=axis)


def atleast_1d(x: Operand, /) -> Tensor:
    """Return x with one axis or more."""
    x = _array(x)
    return x if x.ndim else x.reshape(1)


def atleast_2d(x: Operand, /) -> Tensor:
    """Return x with two axes or more, new ones in front."""
    x = atleast_1d(x)
    return x if x.ndim > 1 else x.unsqueeze(0)


def atleast_3d(x: Operand, /) -> Tensor:
    """Return x with three axes or more; a matrix gets a last one."""
    x = atleast_2d(x)
    return x if x.ndim > 2 else x.unsqueeze(-1)


def vstack(arrays: Sequence[Operand], /) -> Tensor:
    """Return arrays joined along the first axis; vectors are rows."""
    return concat([atleast_2d(x) for x in arrays])


def hstack(arrays: Sequence[Operand], /) -> Tensor:
    """Return arrays joined along the second axis; vectors along their only one."""
    xs = [atleast_1d(x) for x in arrays]
    return concat(xs, axis=0 if xs[0].ndim == 1 else 1)


row_stack = vstack


def dstack(arrays: Sequence[Operand], /) -> Tensor:
    """Return arrays joined along the third axis."""
    return concat([atleast_3d(x) for x in arrays], axis=2)


def column_stack(arrays: Sequence[Operand], /) -> Tensor:
    """Return vectors, and matrices, joined as columns."""
    xs = [atleast_1d(x) for x in arrays]
    return concat([x.unsqueeze(1) if x.ndim == 1 else x for x in xs], axis=1)


def block(arrays: Any) -> Tensor:
    """Return nested lists of arrays joined to one: the innermost along the last axis.

    >>> block([[eye(2), ones((2, 1))], [zeros((1, 2)), 7 * ones((1, 1))]]).tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 7.0]]
    """

    def depth(item: Any) -> int:
        return 1 + builtins.max(map(depth, item)) if isinstance(item, list) else 0

    def widest(item: Any) -> int:
        items = item if isinstance(item, list) else ()
        return builtins.max(map(widest, items)) if items else _array(item).ndim

    levels = depth(arrays)
    axes = builtins.max(levels, widest(arrays))

    def join(item: Any, level: int) -> Tensor:
        if isinstance(item, list):
            return concat([join(part, level + 1) for part in item], axis=level - levels)
        x = _array(item)
        return x.reshape((1,) * (axes - x.ndim) + x.shape)

    return join(arrays, 0)


def split(x: Operand, parts: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Return equal parts along an axis, or the parts between positions."""
    length = _with_axes(x, 1).size(axis)
    if isinstance(parts, builtins.int) and (parts < 1 or length % parts):
        raise wrong("parts", parts, f"a number that divides {length}")
    return array_split(x, parts, axis)


def array_split(x: Operand, parts: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Return parts along an axis, the first ones larger by one if they cannot be equal."""
    x = _with_axes(x, 1)
    length = x.size(axis)
    if isinstance(parts, builtins.int):
        if parts < 1:
            raise wrong("parts", parts, "a number above 0")
        each, more = builtins.divmod(length, parts)
        sizes = [each + 1] * more + [each] * (parts - more)
    else:
        edges = [0, *[slice(None, p).indices(length)[1] for p in parts], length]
        sizes = [builtins.max(b - a, 0) for a, b in zip(edges, edges[1:])]
    starts = [builtins.sum(sizes[:i]) for i in range(len(sizes))]
    front = (slice(None),) * (axis % x.ndim)
    return [x[(*front, slice(s, s + n))] for s, n in zip(starts, sizes)]


def repeat(x: Operand, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Return each element repeated along an axis, or of the flattened array.

    repeats is a number, or one for each element: those of a tensor are computed.
    """
    counts = repeats.tolist() if isinstance(repeats, Tensor) else repeats
    return _operations.repeat(x, counts, axis)


def hsplit(x: Operand, parts: int | Sequence[int]) -> list[Tensor]:
    """Return parts along the second axis; those of a vector along its only one."""
    return split(x, parts, 0 if _with_axes(x, 1).ndim == 1 else 1)


def vsplit(x: Operand, parts: int | Sequence[int]) -> list[Tensor]:
    """Return parts along the first axis."""
    return split(_with_axes(x, 2), parts, 0)


def dsplit(x: Operand, parts: int | Sequence[int]) -> list[Tensor]:
    """Return parts along the third axis."""
    return split(_with_axes(x, 3), parts, 2)


def fliplr(x: Operand, /) -> Tensor:
    """Return the order of columns reversed."""
    return _operations.flip(_with_axes(x, 2), 1)


def flipud(x: Operand, /) -> Tensor:
    """Return the order of rows reversed."""
    return _operations.flip(_with_axes(x, 1), 0)


def _with_axes(x: Operand, least: int) -> Tensor:
    """Return x as a tensor that has some axes or more."""
    x = _array(x)
    if x.ndim < least:
        raise wrong("x", x, f"a tensor of {least} or more dimensions")
    return x


def cumulative_sum(
    x: Operand,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: builtins.bool = False,
) -> Tensor:
    """Return the sums of all elements up to each one; axis may be missing for vectors."""
    x = _vector_unless(x, axis)
    return _operations.cumulative_sum(x, axis, dtype, include_initial)


def cumulative_prod(
    x: Operand,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: builtins.bool = False,
) -> Tensor:
    """Return the products of all elements up to each one; axis may be missing for vectors."""
    x = _vector_unless(x, axis)
    return _operations.cumulative_prod(x, axis, dtype, include_initial)


cumsum = _operations.cumulative_sum

cumprod = _operations.cumulative_prod


def _vector_unless(x: Operand, axis: int | None) -> Tensor:
    """Return x as a tensor, a vector if no axis is given."""
    x = _array(x)
    if axis is None and x.ndim > 1:
        raise wrong("axis", axis, f"one of the {x.ndim} axes")
    return x


def copy(x: Operand) -> Tensor:
    """Return the elements in memory of their own."""
    return _array(x).clone()


# Selection


def where(condition: Operand, x: Any = None, y: Any = None, /, **sized: Any) -> Any:
    """Return the elements of x where condition is not 0, those of y elsewhere.

    Without x and y these are the positions of nonzero, which takes size and fill_value.
    """
    if (x is None) != (y is None):
        raise ArgumentError(f"{place(condition)}: expected both x and y, or none")
    if sized and x is not None:
        raise wrong(*sized.popitem(), "none beside x and y")
    if x is None:
        return nonzero(condition, **sized)  # noqa: F405
    chosen = _array(condition)
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        x = _array(x)
    if isinstance(x, Tensor):
        return chosen.where(x, _array(y, x))
    return chosen.where(_array(x, y), y)


def _matrix(n: int, m: int | None) -> Tensor:
    for name, size in (("n", n), ("m", m or 0)):
        if size < 0:
            raise wrong(name, size, "0 or more")
    return empty((n, n if m is None else m))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """Return the positions of the lower triangle of an (n, m) matrix, up to its diagonal k."""
    return tuple(_operations.tril_indices_from(_matrix(n, m), k))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """Return the positions of the upper triangle of an (n, m) matrix, from its diagonal k on."""
    return tuple(_operations.triu_indices_from(_matrix(n, m), k))


def mask_indices(n: int, f: Callable[..., Operand], k: int = 0) -> tuple[Tensor, ...]:
    """Return the positions at which f of an (n, n) matrix of ones, and of k, is not 0."""
    return tuple(_operations.nonzero(f(ones((n, n)), k)))


def ix_(*vectors: Operand) -> tuple[Tensor, ...]:
    """Return positions that select each element of the grid of vectors; of bool, the true ones."""
    xs, last = _arrays(vectors), len(vectors) - 1
    for x in xs:
        if x.ndim != 1:
            raise wrong("vectors", f"an array of shape {x.shape}", "arrays with one axis")
    xs = [x.nonzero().squeeze(1) if x.dtype == "bool" else x for x in xs]
    return tuple(x.reshape(*(1,) * i, -1, *(1,) * (last - i)) for i, x in enumerate(xs))


def select(conditions: Sequence[Operand], choices: Sequence[Operand], default: Any = 0) -> Tensor:
    """Return the elements of the first choice whose condition is true, or default."""
    result: Any = default
    for condition, choice in zip(reversed(conditions), reversed(choices)):
        result = where(condition, choice, result)
    return _array(result)


def piecewise(x: Operand, conditions: Sequence[Operand], functions: Sequence[Any]) -> Tensor:
    """Return the value of the function, or the number, whose condition is true, or of one more."""
    x = _array(x)
    values = [f(x) if callable(f) else f for f in functions]
    default = values[len(conditions)] if len(values) > len(conditions) else 0
    result = select(list(reversed(conditions)), values[len(conditions) - 1 :: -1], default)
    return result.cast(x.dtype)


def choose(indices: Operand, choices: Sequence[Operand]) -> Tensor:
    """Return, in each place, the element of the choice whose number stands there."""
    at, *xs = broadcast_arrays(indices, *choices)
    return _operations.take_along_axis(_operations.stack(xs), at.unsqueeze(0), 0).squeeze(0)


def compress(condition: Operand, x: Operand, axis: int | None = None) -> Tensor:
    """Return the elements along an axis where condition is true."""
    x = _array(x).flatten() if axis is None else _array(x)
    at = _operations.flatnonzero(condition)
    return _operations.take(x, at, 0 if axis is None else axis)


def apply_along_axis(f: Callable[[Tensor], Tensor], axis: int, x: Operand) -> Tensor:
    """Return f of each vector along an axis; f is called once, on a batch."""
    x = _operations.moveaxis(_with_axes(x, 1), axis, -1)
    for _ in range(x.ndim - 1):
        f = vmap(f)
    result = f(x)
    more = result.ndim - (x.ndim - 1)
    if not more:
        return result
    source = tuple(range(x.ndim - 1, result.ndim))
    at = axis % x.ndim
    return _operations.moveaxis(result, source, tuple(range(at, at + more)))


def apply_over_axes(f: Callable[..., Tensor], x: Operand, axes: Sizes) -> Tensor:
    """Return f(x, axis) for one axis after the other; an axis that f removes stays, of size 1."""
    x = _array(x)
    for axis in (axes,) if isinstance(axes, builtins.int) else axes:
        result = f(x, axis)
        x = result if result.ndim == x.ndim else _operations.expand_dims(result, axis)
    return x


def vectorize(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function of arrays, which broadcast, of a function of their elements."""

    def mapped(*args: Operand) -> Tensor:
        xs = broadcast_arrays(*args)
        g = f
        for _ in range(xs[0].ndim):
            g = vmap(g)
        return g(*xs)

    return mapped


# Sets


class UniqueCounts(NamedTuple):
    """The distinct elements and how often each is there."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The distinct elements and the position of each element in them."""

    values: Tensor
    inverse_indices: Tensor


class UniqueAll(NamedTuple):
    """The distinct elements, their first positions, the positions in them, and counts."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


def unique_all(
    x: Operand,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
    equal_nan: builtins.bool = False,
) -> UniqueAll:
    """Return the distinct elements in order, their first positions, inverse and counts."""
    return UniqueAll(*_operations.unique_all(x, size, fill_value, equal_nan))


def unique_counts(x: Operand, /, **sized: Any) -> UniqueCounts:
    """Return the distinct elements in order, and how often each is there."""
    found = unique_all(x, **sized)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Operand, /, **sized: Any) -> UniqueInverse:
    """Return the distinct elements in order, and the position of each element in them."""
    found = unique_all(x, **sized)
    return UniqueInverse(found.values, found.inverse_indices)


def unique(
    x: Operand,
    return_index: builtins.bool = False,
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    *,
    equal_nan: builtins.bool = True,
    **sized: Any,
) -> Any:
    """Return the distinct elements in order, and on request what unique_all has beside them.

    NaN are equal, as in NumPy.
    """
    found = unique_all(x, equal_nan=equal_nan, **sized)
    asked = (True, return_index, return_inverse, return_counts)
    parts = [part for part, wanted in zip(found, asked) if wanted]
    return tuple(parts) if len(parts) > 1 else parts[0]


# Products


def dot(x: Operand, y: Operand) -> Tensor:
    """Return the sum of products of the last axis of x and the last but one of y."""
    a, b = _array(x), _array(y)
    if not a.ndim or not b.ndim:
        return a * b
    return _operations.tensordot(a, b, -1, builtins.max(b.ndim - 2, 0))


def inner(x: Operand, y: Operand) -> Tensor:
    """Return the sums of products of the last axes."""
    a, b = _array(x), _array(y)
    return _operations.tensordot(a, b, -1, -1) if a.ndim and b.ndim else a * b


def vdot(x: Operand, y: Operand) -> Tensor:
    """Return the sum of the products of all elements."""
    return _operations.vecdot(_array(x).flatten(), _array(y).flatten())


def tensordot(x: Operand, y: Operand, /, axes: Any = 2) -> Tensor:
    """Return the sum of products over axes: a number of them, or those of both."""
    if isinstance(axes, builtins.int):
        return _operations.tensordot(x, y, axes)
    return _operations.tensordot(x, y, *axes)


def einsum(formula: str, *operands: Operand, optimize: Any = True) -> Tensor:
    """Return sums of products by a formula such as "ij,jk->ik".

    The order of products is that of the least cost, whatever NumPy's optimize is.
    """
    if not isinstance(formula, str):
        raise wrong("formula", formula, 'text such as "ij,jk->ik"')
    return Tensor.einsum(formula, *_arrays(operands))


def einsum_path(formula: str, *operands: Operand, optimize: Any = "greedy") -> Any:
    """Return the order of products as NumPy finds it, and a text about its cost."""
    if not isinstance(formula, str):
        raise wrong("formula", formula, 'text such as "ij,jk->ik"')
    stand_ins = [_np.broadcast_to(_np.float32(0), x.shape) for x in _arrays(operands)]
    return _np.einsum_path(formula, *stand_ins, optimize=optimize)


def gradient(f: Operand, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return the derivatives by differences: of one axis, or a list of all.

    spacing are distances or coordinates, one for all axes or one for each.
    """
    x = _array(f)
    axes = tuple(range(x.ndim)) if axis is None else axis
    axes = (axes,) if isinstance(axes, builtins.int) else tuple(axes)
    at = spacing * len(axes) if len(spacing) == 1 else spacing or (1,) * len(axes)
    if len(at) != len(axes):
        raise wrong("spacing", len(at), f"one, or {len(axes)}, one for each axis")
    found = [_operations.gradient(x, s, a, edge_order)[0] for s, a in zip(at, axes)]
    return found[0] if len(found) == 1 else found


def average(
    x: Operand,
    axis: Any = None,
    weights: Any = None,
    returned: Any = False,
    *,
    keepdims: builtins.bool = False,
) -> Any:
    """Return the mean along axes with weights; with returned, also the sum of the weights."""
    found = _operations.average(x, axis, weights, keepdims)
    return found if returned else found[0]


def trapezoid(y: Operand, x: Operand | None = None, dx: Operand = 1, axis: int = -1) -> Tensor:
    """Return the integral along an axis by the trapezoidal rule.

    x are the coordinates of the elements; without them, dx is their distance.
    """
    return _operations.trapezoid(y, dx if x is None else x, axis)


def take_along_axis(x: Operand, indices: Operand, /, axis: int | None = -1) -> Tensor:
    """Return the element at the index in each place along an axis, or of the flattened array.

    Negative ones count from the end; other axes broadcast. Indices out of range are errors where
    they are in memory, else give 0.
    """
    if axis is None:
        x, axis = _operations.ravel(x), 0
    return _operations.take_along_axis(x, indices, axis)


def _positions(obj: Any, x: Tensor, axis: int | None) -> Any:
    """Return the positions that a slice, an array or a mask stands for."""
    if isinstance(obj, slice):
        return list(range(*obj.indices(x.numel() if axis is None else x.shape[axis])))
    if isinstance(obj, (Tensor, _np.ndarray)):
        values = obj.tolist()
        mask = obj.dtype == "bool" and obj.ndim > 0
        return [i for i, kept in enumerate(values) if kept] if mask else values
    return obj


def delete(x: Operand, obj: Any, axis: int | None = None) -> Tensor:
    """Return the array without the elements at positions along an axis, or of the flattened array.

    obj is a number, several, a slice, or a mask; those of a tensor are computed.
    """
    x = _with_axes(x, 0 if axis is None else 1)
    return _operations.delete(x, _positions(obj, x, axis), axis)


def insert(x: Operand, obj: Any, values: Operand, axis: int | None = None) -> Tensor:
    """Return the array with values in front of positions along an axis, or of the flattened array.

    obj is as for delete.
    """
    x = _with_axes(x, 0 if axis is None else 1)
    return _operations.insert(x, _positions(obj, x, axis), values, axis)


def array_equiv(x: Operand, y: Operand) -> builtins.bool:
    """Return whether arrays broadcast and have equal elements then."""
    try:
        a, b = broadcast_arrays(x, y)
    except ArgumentError:
        return False
    return builtins.bool((a == b).all().item())


def isscalar(x: Any) -> builtins.bool:
    """Return whether something is a number and no array."""
    return isinstance(x, (builtins.bool, builtins.int, builtins.float, _np.generic))


def iscomplexobj(x: Operand) -> builtins.bool:
    """Return whether the data type is complex."""
    return _array(x).dtype in (complex64, complex128)


def isrealobj(x: Operand) -> builtins.bool:
    """Return whether the data type is not complex."""
    return not iscomplexobj(x)


def allclose(
    x: Operand, y: Operand, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: Any = False
) -> builtins.bool:
    """Return whether all elements are nearly equal."""
    close = _operations.isclose(x, y, rtol, atol, equal_nan)
    return builtins.bool(close.all().item())
