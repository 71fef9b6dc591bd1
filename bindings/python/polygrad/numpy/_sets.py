"""Sets: the distinct elements of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from polygrad.numpy import _operations

if TYPE_CHECKING:
    from polygrad._base import Operand
    from polygrad.tensor import Tensor

__all__ = ["intersect1d", "unique", "unique_all", "unique_counts", "unique_inverse"]


class UniqueCounts(NamedTuple):
    """The distinct elements and how often each occurs."""

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
    *,
    size: int | None = None,
    fill_value: Any = None,
    equal_nan: bool = False,
    axis: int | None = None,
) -> UniqueAll:
    """Return the distinct elements in order, their first positions, inverse and counts.

    With an axis they are the distinct slices along it, in lexicographic order.
    """
    return UniqueAll(*_operations.unique_all(x, size, fill_value, equal_nan, axis))


def unique_counts(x: Operand, **sized: Any) -> UniqueCounts:
    """Return the distinct elements in order, and how often each occurs."""
    found = unique_all(x, **sized)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Operand, **sized: Any) -> UniqueInverse:
    """Return the distinct elements in order, and the position of each element in them."""
    found = unique_all(x, **sized)
    return UniqueInverse(found.values, found.inverse_indices)


def unique(
    ar: Operand,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    **sized: Any,
) -> Any:
    """Return the distinct elements in order, and on request the other results of unique_all.

    With an axis they are the distinct slices along it. NaN are equal, as in NumPy. They are always
    sorted, whatever sorted is.
    """
    if axis is None and not (return_index or return_inverse or return_counts):
        return _operations.unique_values(ar, equal_nan=equal_nan, **sized)
    found = unique_all(ar, equal_nan=equal_nan, axis=axis, **sized)
    asked = (True, return_index, return_inverse, return_counts)
    parts = [part for part, wanted in zip(found, asked) if wanted]
    return tuple(parts) if len(parts) > 1 else parts[0]


def intersect1d(
    ar1: Operand,
    ar2: Operand,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Return the distinct elements that are in both arrays, in ascending order.

    With return_indices also the first position of each in the two flattened arrays.
    """
    common = _operations.intersect1d(ar1, ar2, assume_unique, size, fill_value)
    if not return_indices:
        return common
    places = []
    for x in map(_operations.ravel, (ar1, ar2)):
        order = _operations.argsort(x)
        places.append(_operations.take(order, _operations.searchsorted(x, common, sorter=order)))
    return (common, *places)
