"""Index expressions."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import _methods as op
from polygrad._base import Base, describe
from polygrad._graph import plain_scalar
from polygrad.dtype import dtypes

if TYPE_CHECKING:
    from typing_extensions import Self

_ALL = (slice(None),)
_FAR = 1 << 46  # beyond any axis


class Indexing(Base):
    """Elements by index expressions."""

    __slots__ = ()

    def __getitem__(self, indices: Any) -> Self:
        """Select elements by integers, slices, None, ..., tensors of integers and masks.

        Lists and arrays of integers are tensors. An index out of range is an error; in a lazy
        tensor of indices it gives 0. A list with items other than numbers is a tuple. A mask is a
        bool tensor with the shape of the axes that it indexes, which become one axis; it is
        computed at once, since its count is the size of the result. With integers, slices, None
        and ... only, the result is a view: a write to it changes the tensor.

        >>> t = Tensor([[1, 2, 3], [4, 5, 6]])
        >>> t[1, ::-1].tolist(), t[..., 0].tolist(), t[:, Tensor([2, 0])].tolist()
        ([6, 5, 4], [1, 4], [[3, 1], [6, 4]])
        >>> t[t % 2 == 0].tolist(), t[:, [True, False, True]].tolist()
        ([2, 4, 6], [[1, 3], [4, 6]])
        """
        if type(indices) is int:  # a fast path for loops over rows
            return self._call1(op.GETITEM, (_bounded(indices),))
        indices = expression(indices)
        if all(item is Ellipsis for item in indices) and len(indices) < 2:
            return self
        # isinstance first: == of an array with a slice is an array.
        if isinstance(indices[0], slice) and indices == _ALL and describe(self)[0]:
            return self
        return self._call1(op.GETITEM, items(indices, self))


def expression(indices: Any) -> tuple[Any, ...]:
    """Return an index as the tuple of its items."""
    if isinstance(indices, list) and not all(map(_is_number, indices)):
        return tuple(indices)
    return indices if isinstance(indices, tuple) else (indices,)


def _is_number(item: Any) -> bool:
    return isinstance(item, (int, np.integer, np.bool_))


def _bounded(item: Any) -> Any:
    """Clamp an integer to ±_FAR, which fits C's int64 and selects the same elements of any axis."""
    return max(-_FAR, min(item, _FAR)) if type(item) is int else item


def items(indices: Any, of: Base) -> list[Any]:
    """Return the items of an index as arguments of an operation."""
    return [_as_tensor(item, of) for item in expression(indices)]


def _as_tensor(item: Any, of: Any) -> Any:
    """Return lists and arrays as tensors, other items as they are."""
    item = _bounded(plain_scalar(item))
    if isinstance(item, slice):
        ends: Any = (item.start, item.stop, item.step)
        return slice(*[_bounded(index(e) if type(e) is type(of) else e) for e in ends])
    if isinstance(item, (list, tuple, np.ndarray)):
        # An empty list would become floating.
        return type(of)(item, dtype=None if len(item) else dtypes.default_int)
    return item
