"""Creation of arrays: from data, by shape, and ranges of numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from polygrad._library import integer, place, wrong
from polygrad.dtype import DType, dtypes, known_dtype
from polygrad.numpy import _operations
from polygrad.numpy._arrays import array as _array
from polygrad.numpy._arrays import tensors
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polygrad._base import Operand, Sizes

__all__ = [
    "arange",
    "array",
    "asarray",
    "diag_indices",
    "diag_indices_from",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "frombuffer",
    "fromfunction",
    "fromiter",
    "full",
    "full_like",
    "geomspace",
    "identity",
    "indices",
    "linspace",
    "load",
    "logspace",
    "meshgrid",
    "ones",
    "ones_like",
    "save",
    "savez",
    "tri",
    "zeros",
    "zeros_like",
]


def _kind(dtype: Any, otherwise: DType) -> DType:
    return otherwise if dtype is None else known_dtype(dtype)


def asarray(
    a: Any, dtype: Any = None, *, device: str | None = None, copy: bool | None = None
) -> Tensor:
    """Return a tensor of a tensor, an array, or nested sequences.

    With copy it has memory of its own; if copy is False, it is an error if a copy is necessary.
    """
    if isinstance(a, Tensor):
        if device is not None:
            a = a.to(device)
        same = dtype is None or known_dtype(dtype) == a.dtype
        if copy is False and not same:
            raise ValueError(f"{place(a)}: copy is False, but the data type changes")
        result: Tensor = a if same else a.cast(known_dtype(dtype))
        return result.clone() if copy and same else result
    if copy is False and not hasattr(a, "__dlpack__"):
        raise ValueError(f"{place(a)}: copy is False, but {type(a).__name__} has no memory")
    if copy is None or copy is False or not isinstance(a, np.ndarray):
        return Tensor(a, dtype=dtype, device=device)
    return Tensor(a.copy(), dtype=dtype, device=device)


def array(
    object: Any,
    dtype: Any = None,
    copy: bool | None = None,
    *,
    ndmin: int = 0,
    device: str | None = None,
) -> Tensor:
    """Return what asarray returns, with ndmin axes or more: new ones of size 1 come first."""
    x = asarray(object, dtype, device=device, copy=copy)
    return x.reshape((1,) * (ndmin - x.ndim) + x.shape) if x.ndim < ndmin else x


def fromfunction(function: Callable[..., Any], shape: Sequence[int], dtype: Any = None) -> Any:
    """Call a function with the coordinates of all elements of a shape, one argument per axis."""
    return function(*indices(shape, dtype=_kind(dtype, dtypes.float32), sparse=False))


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1) -> Tensor:
    """Return the numbers of an iterable, the first count if that is not negative."""
    return Tensor(np.fromiter(iter, known_dtype(dtype).numpy, count))


def frombuffer(buffer: Any, dtype: Any = None, count: int = -1, offset: int = 0) -> Tensor:
    """Return a buffer's elements from an offset on as a tensor, float32 unless dtype is given."""
    return Tensor(np.frombuffer(buffer, _kind(dtype, dtypes.float32).numpy, count, offset))


def load(file: Any) -> Any:
    """Return the tensor in a NumPy file, .npy, or a dict of the tensors in an archive, .npz."""
    found = np.load(file, allow_pickle=False)
    if isinstance(found, np.ndarray):
        return Tensor(found)
    with found:
        return {name: Tensor(found[name]) for name in found.files}


def save(file: Any, arr: Operand) -> None:
    """Write a file of NumPy, .npy."""
    np.save(file, _array(arr).numpy(), allow_pickle=False)


def savez(file: Any, *args: Operand, **kwds: Operand) -> None:
    """Write an archive of NumPy, .npz: args have the names arr_0, arr_1 and so on."""
    named = {f"arr_{i}": x for i, x in enumerate(args)}
    if not named.keys().isdisjoint(kwds):
        raise wrong("kwds", sorted(named.keys() & kwds), "names other than those of args")
    arrays: dict[str, Any] = {k: _array(x).numpy() for k, x in {**named, **kwds}.items()}
    np.savez(file, **arrays)


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """Return the positions of the diagonal of an array with ndim axes of size n."""
    return (arange(n),) * ndim


def diag_indices_from(arr: Operand) -> tuple[Tensor, ...]:
    """Return the positions of the diagonal of an array whose axes have one size."""
    sizes = _array(arr).shape
    if len(set(sizes)) != 1 or len(sizes) < 2:
        raise wrong("arr", f"an array of shape {sizes}", "two axes or more, of one size")
    return diag_indices(sizes[0], len(sizes))


def from_dlpack(x: Any, /, *, device: str | None = None, copy: Any = None) -> Tensor:
    """Return a tensor that shares the memory of another library's array."""
    made = x if isinstance(x, Tensor) and not copy else Tensor.from_dlpack(x, copy=copy)
    return made if device is None else made.to(device)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: Any = None,
    *,
    device: str | None = None,
) -> Tensor:
    """Return the numbers from start to stop, without stop.

    For an integer type the step is that between the first two truncated values, as in NumPy.
    """
    first, last = (0, start) if stop is None else (start, stop)
    if not (step < 0 or step > 0):
        raise wrong("step", step, "another number")
    if not math.isfinite(last - first):
        raise wrong("stop", last, f"a number that is a finite distance from {first}")
    whole = all(isinstance(v, int) for v in (first, last, step))
    kind = _kind(dtype, dtypes.int32 if whole else dtypes.float32)
    count = max(math.ceil((last - first) / step), 0)
    if dtypes.is_int(kind) and not whole:
        first, step = int(first), int(first + step) - int(first)
    wide = dtypes.int64 if dtypes.is_int(kind) else dtypes.float64
    if count > 0 and kind == dtypes.int32 and step != 0:
        return Tensor.arange(first, first + count * step, step, device=device)
    return (Tensor.arange(count, dtype=wide, device=device) * step + first).cast(kind)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: str | None = None,
) -> Any:
    """Return num evenly spaced numbers from start to stop, without stop unless endpoint.

    start and stop are numbers, or arrays that broadcast: axis is then the axis of the numbers.
    """
    if integer("num", num) < 0:
        raise wrong("num", num, "0 or more")
    numbers = (int, float, complex, np.generic)
    first: Any = start
    last: Any = stop
    if isinstance(start, numbers) and isinstance(stop, numbers):
        parts = any(isinstance(v, (complex, np.complexfloating)) for v in (start, stop))
        kind = dtypes.complex64 if parts else dtypes.float32
        first, last = (complex(start), complex(stop)) if parts else (float(first), float(last))
    else:
        first, last = tensors((start, stop))
        kind = (first * 1.0 + last).dtype
        wide = dtypes.complex128 if kind in (dtypes.complex64, dtypes.complex128) else "float64"
        first, last = first.cast(wide), last.cast(wide)
    gaps = num - 1 if endpoint else num
    step = (last - first) / gaps if gaps > 0 else math.nan
    at = Tensor.arange(num, dtype=dtypes.float64, device=device)
    if isinstance(first, Tensor):
        at = at.reshape(-1, *(1,) * max(first.ndim, last.ndim))
    made = at * (step if gaps > 0 else 0) + first
    if endpoint and num > 1:
        made = (at == num - 1).where(last, made)
    kind = _kind(dtype, kind)
    made = _operations.moveaxis((made.floor() if dtypes.is_int(kind) else made).cast(kind), 0, axis)
    return (
        (
            made,
            step.cast("float32" if dtypes.is_int(kind) else kind)
            if isinstance(step, Tensor)
            else step,
        )
        if retstep
        else made
    )


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Return num powers of base with exponents from start to stop, without it unless endpoint.

    start and stop may be arrays, as those of linspace.
    """
    exponents: Tensor = linspace(start, stop, num, endpoint, dtype=dtypes.float64, axis=axis)
    return ((exponents * 0 + base) ** exponents).cast(_kind(dtype, dtypes.float32))


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Return num numbers in a geometric progression from start to stop.

    start and stop may be arrays, as those of linspace. Both have the same sign.
    """
    first, last = (x.cast(dtypes.float64) for x in tensors((start, stop)))
    if not (first * last > 0).all().item():
        raise wrong("stop", stop, f"a number other than 0, of the sign of {start}")
    powers = logspace(
        first.abs().log2(), last.abs().log2(), num, endpoint, 2.0, dtypes.float64, axis
    )
    sign = _operations.expand_dims(first.sign() + last * 0, axis)
    return (powers * sign).cast(_kind(dtype, dtypes.float32))


def empty(shape: Sizes, dtype: Any = None, *, device: str | None = None) -> Tensor:
    """Return a tensor with unspecified values, to be written later."""
    return Tensor.empty(shape, dtype=_kind(dtype, dtypes.float32), device=device)


def zeros(shape: Sizes, dtype: Any = None, *, device: str | None = None) -> Tensor:
    """Return zeros."""
    return Tensor.zeros(shape, dtype=_kind(dtype, dtypes.float32), device=device)


def ones(shape: Sizes, dtype: Any = None, *, device: str | None = None) -> Tensor:
    """Return ones."""
    return Tensor.ones(shape, dtype=_kind(dtype, dtypes.float32), device=device)


def full(shape: Sizes, fill_value: Any, dtype: Any = None, *, device: str | None = None) -> Tensor:
    """Return a tensor with one value everywhere, or with those of an array that broadcasts."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    value = _array(fill_value)
    kind = _kind(dtype, value.dtype)
    if value.ndim:
        return _operations.broadcast_to(value.cast(kind), sizes).clone()
    return Tensor.full(sizes, fill_value, dtype=kind, device=device)


def empty_like(
    prototype: Operand,
    dtype: Any = None,
    *,
    shape: Sizes | None = None,
    device: str | None = None,
) -> Tensor:
    """Return a tensor of the shape of prototype, or of shape, whose values are written later."""
    return full_like(prototype, 0, dtype, shape=shape, device=device)


def zeros_like(
    a: Operand, dtype: Any = None, *, shape: Sizes | None = None, device: str | None = None
) -> Tensor:
    """Return zeros in the shape of a, or in shape if it is given."""
    return full_like(a, 0, dtype, shape=shape, device=device)


def ones_like(
    a: Operand, dtype: Any = None, *, shape: Sizes | None = None, device: str | None = None
) -> Tensor:
    """Return ones in the shape of a, or in shape if it is given."""
    return full_like(a, 1, dtype, shape=shape, device=device)


def full_like(
    a: Operand,
    fill_value: Any,
    dtype: Any = None,
    *,
    shape: Sizes | None = None,
    device: str | None = None,
) -> Tensor:
    """Return a tensor filled with a value, in the shape of a, or in shape if it is given."""
    a = _array(a)
    sizes = a.shape if shape is None else shape
    return full(sizes, fill_value, _kind(dtype, a.dtype), device=device)


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = None, *, device: str | None = None
) -> Tensor:
    """Return an (N, M) matrix, square without M, of zeros with ones on its diagonal k."""
    columns = N if M is None else M
    for name, n in (("N", N), ("M", columns)):
        if n < 0 or n % 1:
            raise wrong(name, n, "a whole number of 0 or more" if n % 1 else "0 or more")
    k = max(min(k, columns), -N)  # diagonals beyond these are empty as well
    rows = Tensor.arange(N, device=device).reshape(-1, 1)
    at = Tensor.arange(columns, device=device).reshape(1, -1)
    return (rows + k == at).cast(_kind(dtype, dtypes.float32))


def identity(n: int, dtype: Any = None) -> Tensor:
    """Return a square matrix of zeros with ones on its diagonal."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:
    """Return an (N, M) matrix of ones up to its diagonal k, zeros above."""
    return _operations.tril(ones((N, N if M is None else M), dtype), k)


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """Return the coordinates of the elements of a shape along each axis.

    With sparse they are a tuple of arrays that broadcast: all axes but their own have size 1.
    """
    vectors = [arange(n, dtype=dtype) for n in dimensions]
    grid = meshgrid(*vectors, indexing="ij", sparse=sparse)
    if sparse:
        return tuple(grid)
    return _operations.stack(grid) if grid else empty((0,), _kind(dtype, dtypes.int32))


def meshgrid(*xi: Operand, indexing: str = "xy", sparse: bool = False) -> list[Tensor]:
    """Return the coordinates of a grid with the given vectors as axes.

    With sparse the arrays broadcast: all axes but their own have size 1.
    """
    vectors = tensors(xi)
    if not vectors:
        return []
    if not sparse:
        return list(vectors[0].meshgrid(*vectors[1:], indexing=indexing))
    if indexing not in ("xy", "ij"):
        raise wrong("indexing", indexing, '"xy" or "ij"')
    n, order = len(vectors), list(range(len(vectors)))
    if indexing == "xy" and n > 1:
        order[:2] = 1, 0
    return [
        x.reshape(tuple(-1 if i == at else 1 for i in range(n))) for x, at in zip(vectors, order)
    ]
