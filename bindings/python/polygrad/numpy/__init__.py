"""NumPy's functions on tensors: a namespace of the array API standard, revision 2024.12.

It has the names of the standard with its linear algebra, Fourier transforms and inspection, and
many of NumPy. Tensor.size is a method: see docs/api.md.
Types are promoted as in the standard; default types are float32 and int32. Nothing is computed
until it is needed, and all functions work with the transformations of polygrad.func.

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
import re
from typing import TYPE_CHECKING, Any, Callable

import numpy as _np

from polygrad._library import ArgumentError, wrong
from polygrad._library import place as _place
from polygrad.dtype import dtypes, known_dtype
from polygrad.func import vmap
from polygrad.numpy import _operations
from polygrad.numpy._arrays import array as _array
from polygrad.numpy._arrays import tensors as _arrays
from polygrad.numpy._creation import *  # noqa: F403
from polygrad.numpy._creation import asarray, empty, ones
from polygrad.numpy._fits import polyfit as polyfit
from polygrad.numpy._fits import vander as vander
from polygrad.numpy._histograms import histogram as histogram
from polygrad.numpy._histograms import histogram2d as histogram2d
from polygrad.numpy._histograms import histogram_bin_edges as histogram_bin_edges
from polygrad.numpy._histograms import histogramdd as histogramdd
from polygrad.numpy._info import can_cast as can_cast
from polygrad.numpy._info import finfo as finfo
from polygrad.numpy._info import iinfo as iinfo
from polygrad.numpy._info import info
from polygrad.numpy._info import isdtype as isdtype
from polygrad.numpy._info import result_type as result_type
from polygrad.numpy._operations import *  # noqa: F403
from polygrad.numpy._padding import pad as pad
from polygrad.numpy._sets import *  # noqa: F403
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
    """Import linalg and fft on first use: polygrad.linalg and polygrad.fft import this package."""
    if name in ("linalg", "fft"):
        return importlib.import_module(f"polygrad.numpy.{name}")
    raise AttributeError(f"module 'polygrad.numpy' has no attribute {name!r}")


def __array_namespace_info__() -> Any:
    """Return an object that describes the namespace: capabilities, data types, devices."""
    return info


promote_types = result_type


# Types


def astype(
    x: Operand, dtype: DTypeLike, /, *, copy: builtins.bool = True, device: str | None = None
) -> Tensor:
    """Return a tensor in another data type; a copy unless copy is False."""
    return asarray(_array(x), dtype=dtype, device=device, copy=copy or None)


def clip(
    a: Operand,
    min: Operand | None = None,
    max: Operand | None = None,
    *,
    a_min: Operand | None = None,
    a_max: Operand | None = None,
) -> Tensor:
    """Return the elements clamped to [min, max], or [a_min, a_max]; either may be left out."""
    if (a_min is not None and min is not None) or (a_max is not None and max is not None):
        raise ArgumentError(f"{_place(a)}: a_min and min, or a_max and max, are one argument")
    return _operations.clip(a, min if a_min is None else a_min, max if a_max is None else a_max)


# Shapes


def reshape(a: Operand, shape: Sizes, order: str = "C", *, copy: Any = None) -> Tensor:
    """Return the elements in another shape, in which -1 is inferred.

    They are read and written in row-major order, or with order "F" in column-major order.
    """
    a = _array(a)
    sizes = (shape,) if isinstance(shape, builtins.int) else tuple(shape)
    if _column_major(order):
        return _operations.permute_dims(_operations.permute_dims(a).reshape(sizes[::-1]))
    return (a.clone() if copy else a).reshape(sizes)


def ravel(a: Operand, order: str = "C") -> Tensor:
    """Return the elements as a vector, in row-major order, with order "F" in column-major order."""
    a = _array(a)
    return (_operations.permute_dims(a) if _column_major(order) else a).flatten()


def _column_major(order: str) -> builtins.bool:
    if order not in ("C", "F", "A", "K"):  # all arrays are row-major: A and K are C
        raise wrong("order", order, '"C" or "F"')
    return order == "F"


def shape(a: Operand) -> tuple[int, ...]:
    """Return the sizes of the axes."""
    return _array(a).shape


def ndim(a: Operand) -> int:
    """Return the number of axes."""
    return _array(a).ndim


def size(a: Operand, axis: Sizes | None = None) -> int:
    """Return the number of elements, or the product of the sizes of axes."""
    a = _array(a)
    if axis is None:
        return a.numel()
    return math.prod(a.size(i) for i in ((axis,) if isinstance(axis, builtins.int) else axis))


def transpose(a: Operand, axes: Sizes | None = None) -> Tensor:
    """Return the axes in another order, reversed unless given."""
    return _operations.permute_dims(a, axes)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to."""
    try:
        return _np.broadcast_shapes(*shapes)
    except ValueError:
        raise ArgumentError(f"{_place(shapes)}: {shapes} do not broadcast") from None


def broadcast_arrays(*arrays: Operand) -> list[Tensor]:
    """Return tensors expanded to the shape that all broadcast to."""
    xs = _arrays(arrays)
    to = broadcast_shapes(*[x.shape for x in xs])
    return [_operations.broadcast_to(x, to) for x in xs]


def concat(arrays: Sequence[Operand], axis: int | None = 0, *, dtype: Any = None) -> Tensor:
    """Concatenate arrays along an axis; they are flattened first if axis is None."""
    xs = _arrays(arrays)
    if axis is None:
        xs, axis = [x.flatten() for x in xs], 0
    return _cast(_operations.concat(xs, axis), dtype)


concatenate = concat


def stack(arrays: Sequence[Operand], axis: int = 0, *, dtype: Any = None) -> Tensor:
    """Stack arrays of one shape along a new axis."""
    return _cast(_operations.stack(arrays, axis), dtype)


def _cast(x: Tensor, dtype: Any) -> Tensor:
    return x if dtype is None else x.cast(known_dtype(dtype))


def append(arr: Operand, values: Operand, axis: int | None = None) -> Tensor:
    """Append values to arr along an axis; without an axis both are flattened."""
    return concat((arr, values), axis)


def atleast_1d(x: Operand, /) -> Tensor:
    """Return x with at least one axis."""
    x = _array(x)
    return x if x.ndim else x.reshape(1)


def atleast_2d(x: Operand, /) -> Tensor:
    """Return x with at least two axes; new ones come first."""
    x = atleast_1d(x)
    return x if x.ndim > 1 else x.unsqueeze(0)


def atleast_3d(x: Operand, /) -> Tensor:
    """Return x with at least three axes; a matrix gets a new last axis."""
    x = atleast_2d(x)
    return x if x.ndim > 2 else x.unsqueeze(-1)


def vstack(tup: Sequence[Operand], *, dtype: Any = None) -> Tensor:
    """Concatenate arrays along the first axis; vectors are rows."""
    return concat([atleast_2d(x) for x in tup], dtype=dtype)


def hstack(tup: Sequence[Operand], *, dtype: Any = None) -> Tensor:
    """Concatenate arrays along the second axis, vectors along their only axis."""
    xs = [atleast_1d(x) for x in tup]
    return concat(xs, 0 if xs and xs[0].ndim == 1 else 1, dtype=dtype)


row_stack = vstack


def dstack(tup: Sequence[Operand], *, dtype: Any = None) -> Tensor:
    """Concatenate arrays along the third axis."""
    return concat([atleast_3d(x) for x in tup], 2, dtype=dtype)


def column_stack(tup: Sequence[Operand]) -> Tensor:
    """Concatenate vectors, as columns, and matrices."""
    xs = [atleast_1d(x) for x in tup]
    return concat([x.unsqueeze(1) if x.ndim == 1 else x for x in xs], 1)


def block(arrays: Any) -> Tensor:
    """Concatenate nested lists of arrays: the innermost lists along the last axis.

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


def split(ary: Operand, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Split an array along an axis into equal parts, or at positions."""
    length = _with_axes(ary, 1, "ary").size(axis)
    parts = indices_or_sections
    if isinstance(parts, builtins.int) and (parts < 1 or length % parts):
        raise wrong("indices_or_sections", parts, f"a number that divides {length}")
    return array_split(ary, parts, axis)


def array_split(
    ary: Operand, indices_or_sections: int | Sequence[int], axis: int = 0
) -> list[Tensor]:
    """Split an array along an axis; if parts cannot be equal, the first ones are larger by one."""
    x, parts = _with_axes(ary, 1, "ary"), indices_or_sections
    length = x.size(axis)
    if isinstance(parts, builtins.int):
        if parts < 1:
            raise wrong("indices_or_sections", parts, "a number above 0")
        each, more = builtins.divmod(length, parts)
        sizes = [each + 1] * more + [each] * (parts - more)
    else:
        edges = [0, *[slice(None, p).indices(length)[1] for p in parts], length]
        sizes = [builtins.max(b - a, 0) for a, b in zip(edges, edges[1:])]
    starts = [builtins.sum(sizes[:i]) for i in range(len(sizes))]
    front = (slice(None),) * (axis % x.ndim)
    return [x[(*front, slice(s, s + n))] for s, n in zip(starts, sizes)]


def repeat(
    a: Operand, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None
) -> Tensor:
    """Return each element repeated along an axis, or of the flattened array.

    repeats is a number, or one for each element. A tensor of repeats is computed, unless
    total_repeat_length gives the size of the result; if repeats give less, the last element is
    repeated.
    """
    if total_repeat_length is not None:
        a, axis = (ravel(a), 0) if axis is None else (_array(a), axis)
        counts = _operations.broadcast_to(_array(repeats), (a.size(axis),))
        ends = _operations.cumulative_sum(counts)
        at = _operations.searchsorted(ends, Tensor.arange(total_repeat_length), "right")
        return _operations.take(a, at, axis, mode="clip")
    counts = repeats.tolist() if isinstance(repeats, Tensor) else repeats
    return _operations.repeat(a, counts, axis)


def hsplit(ary: Operand, indices_or_sections: int | Sequence[int]) -> list[Tensor]:
    """Split an array along the second axis, a vector along its only axis."""
    return split(ary, indices_or_sections, 0 if _with_axes(ary, 1, "ary").ndim == 1 else 1)


def vsplit(ary: Operand, indices_or_sections: int | Sequence[int]) -> list[Tensor]:
    """Split an array along the first axis."""
    return split(_with_axes(ary, 2, "ary"), indices_or_sections, 0)


def dsplit(ary: Operand, indices_or_sections: int | Sequence[int]) -> list[Tensor]:
    """Split an array along the third axis."""
    return split(_with_axes(ary, 3, "ary"), indices_or_sections, 2)


def fliplr(m: Operand) -> Tensor:
    """Return the columns in reverse order."""
    return _operations.flip(_with_axes(m, 2, "m"), 1)


def flipud(m: Operand) -> Tensor:
    """Return the rows in reverse order."""
    return _operations.flip(_with_axes(m, 1, "m"), 0)


def _with_axes(x: Operand, least: int, name: str) -> Tensor:
    """Return an argument as a tensor, checked to have at least `least` axes."""
    x = _array(x)
    if x.ndim < least:
        raise wrong(name, x, f"a tensor of {least} or more dimensions")
    return x


def cumulative_sum(
    x: Operand,
    axis: int | None = None,
    dtype: Any = None,
    *,
    include_initial: builtins.bool = False,
) -> Tensor:
    """Return the cumulative sum along an axis, which may be left out for vectors."""
    x = _vector_unless(x, axis)
    return _operations.cumulative_sum(x, axis, dtype, include_initial=include_initial)


def cumulative_prod(
    x: Operand,
    axis: int | None = None,
    dtype: Any = None,
    *,
    include_initial: builtins.bool = False,
) -> Tensor:
    """Return the cumulative product along an axis, which may be left out for vectors."""
    x = _vector_unless(x, axis)
    return _operations.cumulative_prod(x, axis, dtype, include_initial=include_initial)


cumsum = _operations.cumulative_sum

cumprod = _operations.cumulative_prod


def _vector_unless(x: Operand, axis: int | None) -> Tensor:
    """Return x as a tensor; without an axis it must be a vector."""
    x = _array(x)
    if axis is None and x.ndim > 1:
        raise wrong("axis", axis, f"one of the {x.ndim} axes")
    return x


def copy(a: Operand) -> Tensor:
    """Return the elements in memory of their own."""
    return _array(a).clone()


# Selection


def where(condition: Operand, x: Any = None, y: Any = None, /, **sized: Any) -> Any:
    """Return the elements of x where condition is not 0, those of y elsewhere.

    Without x and y these are the positions of nonzero, which takes size and fill_value.
    """
    if (x is None) != (y is None):
        raise ArgumentError(f"{_place(condition)}: expected both x and y, or none")
    if sized and x is not None:
        raise wrong(*sized.popitem(), "none beside x and y")
    if x is None:
        return nonzero(condition, **sized)  # noqa: F405
    chosen = _array(condition)
    x = _array(x, y)
    if (y := _array(y, x)).dtype != x.dtype:
        x = x.cast(result_type(x, y))
    return chosen.where(x, y)


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


def mask_indices(
    n: int, mask_func: Callable[..., Operand], k: int = 0, **sized: Any
) -> tuple[Tensor, ...]:
    """Return the positions at which mask_func of an (n, n) matrix of ones, and of k, is not 0."""
    return tuple(_operations.nonzero(mask_func(ones((n, n)), k), **sized))


def ix_(*vectors: Operand) -> tuple[Tensor, ...]:
    """Return index arrays that select the grid of vectors; bool vectors select true positions."""
    xs, last = _arrays(vectors), len(vectors) - 1
    for x in xs:
        if x.ndim != 1:
            raise wrong("vectors", f"an array of shape {x.shape}", "arrays with one axis")
    xs = [x.nonzero().squeeze(1) if x.dtype == "bool" else x for x in xs]
    return tuple(x.reshape(*(1,) * i, -1, *(1,) * (last - i)) for i, x in enumerate(xs))


def select(condlist: Sequence[Operand], choicelist: Sequence[Operand], default: Any = 0) -> Tensor:
    """Return the elements of the first choice whose condition is true, or default."""
    if not condlist:
        raise wrong("condlist", "empty", "one condition or more")
    if len(condlist) != len(choicelist):
        raise wrong("choicelist", f"{len(choicelist)} arrays", f"{len(condlist)}, as condlist")
    result: Any = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        result = where(condition, choice, result)
    return _array(result)


def piecewise(
    x: Operand, condlist: Sequence[Operand], funclist: Sequence[Any], *args: Any, **kw: Any
) -> Tensor:
    """Return the value of the function, or the number, whose condition is true.

    One more function or number is the default. args and kw are further arguments of the functions.
    """
    x, n = _array(x), len(condlist)
    if len(funclist) not in (n, n + 1):
        raise wrong("funclist", f"{len(funclist)} functions", f"{n}, or {n + 1} with a default")
    values = [f(x, *args, **kw) if callable(f) else f for f in funclist]
    default = values[n] if len(values) > n else 0
    result = select(list(reversed(condlist)), values[n - 1 :: -1], default)
    return result.cast(x.dtype)


def choose(a: Operand, choices: Sequence[Operand], *, mode: str = "raise") -> Tensor:
    """Return elements selected from choices: a has the index of the choice for each position.

    mode is as in take, for indices out of range.
    """
    at, *xs = broadcast_arrays(a, *choices)
    if mode == "raise":
        return _operations.take_along_axis(stack(xs), at.unsqueeze(0), 0).squeeze(0)
    numbers = _operations.take(Tensor.arange(len(xs)), at, 0, mode=mode)
    return _operations.take_along_axis(stack(xs), numbers.unsqueeze(0), 0).squeeze(0)


def compress(condition: Operand, a: Operand, axis: int | None = None, **sized: Any) -> Tensor:
    """Return the elements along an axis where condition is true; size is as in flatnonzero."""
    a, axis = (_array(a).flatten(), 0) if axis is None else (_array(a), axis)
    kept, n = _array(condition).flatten(), a.size(axis)
    if kept.numel() > n and not sized and kept[n:].any().item():
        raise wrong("condition", f"true behind the {n} elements", f"{n} conditions")
    return _operations.take(a, _operations.flatnonzero(kept[:n], **sized), axis)


def apply_along_axis(
    func1d: Callable[..., Tensor], axis: int, arr: Operand, *args: Any, **kwargs: Any
) -> Tensor:
    """Apply func1d to each vector along an axis; it is called once, on a batch.

    args and kwargs are its further arguments.
    """
    x = _operations.moveaxis(_with_axes(arr, 1, "arr"), axis, -1)

    def f(v: Tensor) -> Tensor:
        return func1d(v, *args, **kwargs)

    for _ in range(x.ndim - 1):
        f = vmap(f)
    result = f(x)
    more = result.ndim - (x.ndim - 1)
    if not more:
        return result
    source = tuple(range(x.ndim - 1, result.ndim))
    at = axis % x.ndim
    return _operations.moveaxis(result, source, tuple(range(at, at + more)))


def apply_over_axes(func: Callable[..., Tensor], a: Operand, axes: Sizes) -> Tensor:
    """Apply func(a, axis) to one axis after the other; an axis that func removes gets size 1."""
    x = _array(a)
    for axis in (axes,) if isinstance(axes, builtins.int) else axes:
        result = func(x, axis)
        x = result if result.ndim == x.ndim else _operations.expand_dims(result, axis)
    return x


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Sequence[int | str] = (), signature: str | None = None
) -> Callable[..., Any]:
    """Return a function of arrays, which broadcast, from a function of their elements.

    excluded are positions and names of arguments that are passed unchanged. With a signature such
    as "(n),(n)->()" pyfunc is a function of arrays with as many axes as each operand has in it.
    """
    inner = [0 if core == "()" else core.count(",") + 1 for core in _cores(signature)]

    def vectorized(*args: Any, **kwargs: Any) -> Any:
        names: list[Any] = [*range(len(args)), *kwargs]
        given = dict(zip(names, [*args, *kwargs.values()]))
        varied = [name for name in names if name not in excluded]
        xs, axes = _arrays([given[name] for name in varied]), inner or [0] * len(varied)
        if len(axes) != len(xs):
            raise wrong("signature", signature, f"one of {len(xs)} arrays")
        for i, (x, n) in enumerate(zip(xs, axes)):
            if x.ndim < n:
                raise wrong(f"args[{i}]", f"an array of shape {x.shape}", f"{n} or more axes")
        cores = [x.shape[x.ndim - n :] for x, n in zip(xs, axes)]
        outer = broadcast_shapes(*[x.shape[: x.ndim - n] for x, n in zip(xs, axes)])

        def f(*elements: Tensor) -> Any:
            now = {**given, **dict(zip(varied, elements))}
            return pyfunc(*[now[i] for i in range(len(args))], **{k: now[k] for k in kwargs})

        for _ in outer:
            f = vmap(f)
        return f(*[_operations.broadcast_to(x, (*outer, *core)) for x, core in zip(xs, cores)])

    return vectorized


def _cores(signature: str | None) -> list[str]:
    """Return the axes of the operands in a signature of vectorize."""
    if signature is None:
        return []
    text = signature.replace(" ", "")
    if not re.fullmatch(r"\([\w,]*\)(,\([\w,]*\))*->\([\w,]*\)(,\([\w,]*\))*", text):
        raise wrong("signature", signature, 'a text such as "(n),(n)->()"')
    return re.findall(r"\([\w,]*\)", text.split("->")[0])


def sort(
    a: Operand,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
) -> Tensor:
    """Return the elements sorted along an axis, or those of the flattened array.

    NaN is the greatest number; complex numbers are sorted by their real, then by their imaginary
    parts. All kinds are stable.
    """
    return _operations.sort(*_flat_unless(a, axis), kind, descending, stable)


def argsort(
    a: Operand,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
) -> Tensor:
    """Return the positions, int32, of the elements in the order of sort."""
    return _operations.argsort(*_flat_unless(a, axis), kind, descending, stable)


def partition(a: Operand, kth: Sizes, axis: int | None = -1, kind: str | None = None) -> Tensor:
    """Return the elements along an axis, or of the flattened array, sorted."""
    x, axis = _flat_unless(a, axis)
    return _operations.partition(x, kth, axis, kind)


def argpartition(a: Operand, kth: Sizes, axis: int | None = -1, kind: str | None = None) -> Tensor:
    """Return the positions of the elements of partition."""
    x, axis = _flat_unless(a, axis)
    return _operations.argpartition(x, kth, axis, kind)


def _flat_unless(a: Operand, axis: int | None) -> tuple[Tensor, int]:
    """Return an array and the axis; without an axis the flattened array and 0."""
    return (_array(a).flatten(), 0) if axis is None else (_array(a), axis)


def trim_zeros(filt: Operand, trim: str = "fb", axis: Any = None) -> Tensor:
    """Return an array without leading ("f") and trailing ("b") zeros along axes, all by default.

    The array is computed.
    """
    x, ends = _array(filt), trim.lower()
    if set(ends) - set("fb"):
        raise wrong("trim", trim, '"f", "b" or "fb"')
    axes = range(x.ndim) if axis is None else axis
    kept, at = [(0, n) for n in x.shape], _np.argwhere(x.numpy())
    for a in (axes,) if isinstance(axes, builtins.int) else axes:
        n, places = x.size(a), at[:, a]
        if len(at):
            kept[a] = (places.min() * ("f" in ends), places.max() + 1 if "b" in ends else n)
        else:
            kept[a] = (0, 0)
    return x.shrink(kept)


def sort_complex(a: Operand) -> Tensor:
    """Return the elements sorted along the last axis, as complex numbers."""
    a = _array(a)
    wide = complex128 if a.dtype in (float64, complex128) else complex64
    return _operations.sort(a).cast(wide)


# Products


def dot(a: Operand, b: Operand) -> Tensor:
    """Return the sums of products over the last axis of a and the second last axis of b."""
    a, b = _array(a), _array(b)
    if not a.ndim or not b.ndim:
        return a * b
    return _operations.tensordot(a, b, -1, builtins.max(b.ndim - 2, 0))


def inner(a: Operand, b: Operand) -> Tensor:
    """Return the sums of products over the last axes of both."""
    a, b = _array(a), _array(b)
    return _operations.tensordot(a, b, -1, -1) if a.ndim and b.ndim else a * b


def vdot(a: Operand, b: Operand) -> Tensor:
    """Return the inner product of all elements; those of a are conjugated."""
    return _operations.vecdot(_array(a).flatten(), _array(b).flatten())


def tensordot(a: Operand, b: Operand, axes: Any = 2) -> Tensor:
    """Return sums of products over axes: the number of axes, or the axes of a and of b."""
    if isinstance(axes, builtins.int):
        return _operations.tensordot(a, b, axes)
    return _operations.tensordot(a, b, *axes)


def einsum(subscripts: str, *operands: Operand, optimize: Any = True) -> Tensor:
    """Return sums of products by subscripts such as "ij,jk->ik".

    Products are computed in the cheapest order; NumPy's argument optimize is ignored.
    """
    if not isinstance(subscripts, str):
        raise wrong("subscripts", subscripts, 'text such as "ij,jk->ik"')
    return Tensor.einsum(subscripts, *_arrays(operands))


def einsum_path(subscripts: str, *operands: Operand, optimize: Any = "greedy") -> Any:
    """Return the contraction order that NumPy finds, and a text about its cost."""
    if not isinstance(subscripts, str):
        raise wrong("subscripts", subscripts, 'text such as "ij,jk->ik"')
    stand_ins = [_np.broadcast_to(_np.float32(0), x.shape) for x in _arrays(operands)]
    return _np.einsum_path(subscripts, *stand_ins, optimize=optimize)


def gradient(f: Operand, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return derivatives by finite differences: along one axis, or a list for several.

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
    a: Operand,
    axis: Any = None,
    weights: Any = None,
    returned: Any = False,
    *,
    keepdims: builtins.bool = False,
) -> Any:
    """Return the mean along axes with weights; with returned, also the sum of the weights."""
    found = _operations.average(a, axis, weights, keepdims=keepdims)
    return found if returned else found[0]


def trapezoid(y: Operand, x: Operand | None = None, dx: Operand = 1, axis: int = -1) -> Tensor:
    """Return the integral along an axis by the trapezoidal rule.

    x are the coordinates of the elements; without them, dx is their distance.
    """
    return _operations.trapezoid(y, dx if x is None else x, axis)


def take_along_axis(arr: Operand, indices: Operand, axis: int | None = -1) -> Tensor:
    """Return the elements at indices along an axis, or of the flattened array.

    Negative indices count from the end; other axes broadcast. Indices out of range are an error if
    their tensor is computed, else give 0.
    """
    if axis is None:
        arr, axis = ravel(arr), 0
    return _operations.take_along_axis(arr, indices, axis)


def _positions(obj: Any, x: Tensor, axis: int | None) -> Any:
    """Return a slice, an array or a mask as a list of positions."""
    if isinstance(obj, slice):
        return list(range(*obj.indices(x.numel() if axis is None else x.shape[axis])))
    if isinstance(obj, (Tensor, _np.ndarray)):
        values = obj.tolist()
        mask = obj.dtype == "bool" and obj.ndim > 0
        size = x.numel() if axis is None else x.shape[axis]
        if mask and obj.shape != (size,):
            raise wrong("obj", f"a mask of shape {tuple(obj.shape)}", f"one of shape ({size},)")
        return [i for i, kept in enumerate(values) if kept] if mask else values
    return obj


def delete(arr: Operand, obj: Any, axis: int | None = None) -> Tensor:
    """Return the array without the elements at positions along an axis, or of the flattened array.

    obj is a position, several, a slice, or a mask; a tensor of them is computed.
    """
    x = _with_axes(arr, 0 if axis is None else 1, "arr")
    return _operations.delete(x, _positions(obj, x, axis), axis)


def insert(arr: Operand, obj: Any, values: Operand, axis: int | None = None) -> Tensor:
    """Return the array with values inserted before positions along an axis or of the flat array.

    obj is as for delete.
    """
    x = _with_axes(arr, 0 if axis is None else 1, "arr")
    return _operations.insert(x, _positions(obj, x, axis), values, axis)


def array_equiv(a1: Operand, a2: Operand) -> builtins.bool:
    """Return whether two arrays broadcast to equal arrays."""
    try:
        a, b = broadcast_arrays(a1, a2)
    except ArgumentError:
        return False
    return builtins.bool((a == b).all().item())


def isscalar(element: Any) -> builtins.bool:
    """Return whether a value is a number, not an array."""
    return isinstance(element, (builtins.bool, builtins.int, builtins.float, complex, _np.generic))


def iscomplexobj(x: Operand) -> builtins.bool:
    """Return whether the data type is complex."""
    return _array(x).dtype in (complex64, complex128)


def isrealobj(x: Operand) -> builtins.bool:
    """Return whether the data type is not complex."""
    return not iscomplexobj(x)


def allclose(
    a: Operand, b: Operand, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: Any = False
) -> builtins.bool:
    """Return whether all elements are nearly equal."""
    close = _operations.isclose(a, b, rtol, atol, equal_nan)
    return builtins.bool(close.all().item())
