"""Tensor methods that select and replace elements."""

from __future__ import annotations

import ctypes
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import _prototypes as c
from polygrad._base import Base, Number, as_operand, call, combine, made
from polygrad._graph import CTX, Node, describe, dims, plain_scalar
from polygrad._library import ArgumentError, fail, last_error, lib
from polygrad.dtype import dtypes
from polygrad.variable import SymInt

if TYPE_CHECKING:
    from typing_extensions import Self

_NONE = -(1 << 63)  # POLY_INDEX_NONE
_LARGEST = (1 << 63) - 1
_ALL = (slice(None),)
_SMALLEST = -(1 << 46)  # far smaller numbers encode symbolic sizes
_SCATTER = {
    "sum": c.POLY_REDUCE_SUM,
    "prod": c.POLY_REDUCE_PROD,
    "mean": c.POLY_REDUCE_MEAN,
    "amax": c.POLY_REDUCE_MAX,
    "amin": c.POLY_REDUCE_MIN,
}


class Indexing(Base):
    """Indexing, gathering and scattering."""

    __slots__ = ()

    def __getitem__(self, indices: Any) -> Self:
        """Select elements by integers, slices, None, ..., tensors of integers and masks.

        Lists and arrays are tensors, whose positions must exist: what a tensor of positions takes
        from beyond an axis is 0. A list with items other than numbers is a tuple. A mask is a
        bool tensor with the shape of the axes that it indexes, which become one axis; it is
        computed at once, since its count is the size of the result. An index of integers, slices,
        None and ... only is a view: it shows later writes.

        >>> t = Tensor([[1, 2, 3], [4, 5, 6]])
        >>> t[1, ::-1].tolist(), t[..., 0].tolist(), t[:, Tensor([2, 0])].tolist()
        ([6, 5, 4], [1, 4], [[3, 1], [6, 4]])
        >>> t[t % 2 == 0].tolist(), t[:, [True, False, True]].tolist()
        ([2, 4, 6], [[1, 3], [4, 6]])
        """
        indices = expression(indices)
        if all(item is Ellipsis for item in indices) and len(indices) < 2:
            return self
        # An array does not tell by == whether it is a slice.
        if isinstance(indices[0], slice) and indices == _ALL and describe(self._node)[0]:
            return self
        items, source = _items(indices, self)
        handle = lib.poly_index(CTX, self._node.handle, *items)
        if handle is None:
            fail(ValueError if "step" in last_error() else IndexError)
        result = made(type(self), handle, source)
        result._node.shows = len(source) == 1
        return result

    def gather(self, dim: int, index: Base) -> Self:
        """Select along an axis by a tensor of indices with as many axes as self.

        >>> Tensor([[1, 2], [3, 4]]).gather(1, Tensor([[0, 0], [1, 0]])).tolist()
        [[1, 1], [4, 3]]
        """
        index = as_operand(index, self)
        handle = lib.poly_gather_axis(CTX, self._node.handle, dim, index._node.handle)
        return made(type(self), handle, (self._node, index._node))

    def index_select(self, dim: int, index: Base) -> Self:
        """Select along an axis by a vector of indices.

        >>> Tensor([[1, 2], [3, 4]]).index_select(1, Tensor([1, 1, 0])).tolist()
        [[2, 2, 1], [4, 4, 3]]
        """
        nodes = (self._node, as_operand(index, self)._node)
        handle = lib.poly_index_select(CTX, nodes[0].handle, dim, nodes[1].handle)
        return made(type(self), handle, nodes)

    def scatter(self, dim: int, index: Base, src: Base | Number, reduce: str | None = None) -> Self:
        """Write src along an axis by index: for axis 1, out[i, index[i, j]] = src[i, j].

        Of several values for one place the last one wins. A number as src may be combined with
        the old element, by reduce "add" or "multiply".

        >>> Tensor([[0, 0, 0]]).scatter(1, Tensor([[2, 0]]), Tensor([[5, 6]])).tolist()
        [[6, 0, 5]]
        """
        if reduce not in (None, "add", "multiply"):
            raise TypeError(f"scatter: reduce: {reduce!r}, expected None, 'add' or 'multiply'")
        index = as_operand(index, self)
        if isinstance(src, (np.ndarray, list, tuple)) and np.ndim(src):
            src = type(self)(src, dtype=describe(self._node)[1])
        if isinstance(src, Base):
            if reduce is not None:
                raise TypeError("scatter: reduce is for a number as src: see scatter_reduce")
            values = src
        else:
            shape, dtype = describe(index._node)[0], describe(self._node)[1]
            values = type(self).full(shape, src, dtype)  # type: ignore[attr-defined]
        if reduce is not None:
            return self.scatter_reduce(dim, index, values, "sum" if reduce == "add" else "prod")
        nodes = (self._node, index._node, values._node)
        handle = lib.poly_scatter(CTX, nodes[0].handle, dim, nodes[1].handle, nodes[2].handle)
        return made(type(self), handle, nodes)

    def scatter_reduce(
        self, dim: int, index: Base, src: Base, reduce: str, include_self: bool = True
    ) -> Self:
        """Combine values of src for one place: reduce is "sum", "prod", "mean", "amax" or "amin".

        include_self says whether what self holds there counts too.

        >>> x = Tensor([[1, 1, 1]])
        >>> x.scatter_reduce(1, Tensor([[2, 2]]), Tensor([[5, 6]]), "sum").tolist()
        [[1, 1, 12]]
        """
        if reduce not in _SCATTER:
            names = list(_SCATTER)
            raise ArgumentError(f"scatter_reduce: reduce: {reduce!r}, expected one of {names}")
        if isinstance(src, (np.ndarray, list, tuple)):
            src = type(self)(src, dtype=describe(self._node)[1])  # type: ignore[call-arg]
        at, values = as_operand(index, self)._node, as_operand(src, self)._node
        x, at, values = nodes = (self._node, at, values)
        how = _SCATTER[reduce]
        handle = lib.poly_scatter_reduce(
            CTX, x.handle, dim, at.handle, values.handle, how, include_self
        )
        return made(type(self), handle, nodes)

    def masked_select(self, mask: Self) -> Self:
        """Return the elements for which a bool mask holds, as a vector.

        The mask is computed at once, since its count is the size of the result.

        >>> Tensor([1, 2, 3]).masked_select(Tensor([True, False, True])).tolist()
        [1, 3]
        """
        mask = as_operand(mask, self)
        wide: Any = call("poly_expand", mask, *_shape_of(self))
        count = int(wide.sum().item())
        return combine("poly_masked_select", self, mask, count)

    def nonzero(self) -> Self:
        """Return the indices of the elements that are not 0, one in each row.

        The tensor is computed at once, since its count is the size of the result.

        >>> Tensor([[0, 1], [2, 0]]).nonzero().tolist()
        [[0, 1], [1, 0]]
        """
        some: Any = self
        return call("poly_nonzero", self, int((some != 0).sum().item()))

    def one_hot(self, num_classes: int = -1) -> Self:
        """Turn class numbers into rows with a 1 at the place of the class.

        Without num_classes the tensor is computed: the number is its greatest value + 1.

        >>> Tensor([0, 2]).one_hot(3).tolist()
        [[1, 0, 0], [0, 0, 1]]
        """
        if num_classes == -1:
            some: Any = self
            num_classes = int(some.max().item()) + 1
        return call("poly_one_hot", self, num_classes)

    def _with_item(self, indices: Any, value: Any) -> Self:
        """Return the tensor with a part replaced by value."""
        new = as_operand(value, self)
        items, source = _items(indices, self)
        nodes = (*source, new._node)
        handle = lib.poly_setitem(CTX, self._node.handle, *items, new._node.handle)
        if handle is None:
            fail(ArgumentError if "value" in last_error() else IndexError)
        return made(type(self), handle, nodes)


def _shape_of(tensor: Base) -> tuple[Any, int]:
    shape = describe(tensor._node)[0]
    return dims(shape), len(shape)


def expression(indices: Any) -> tuple[Any, ...]:
    """Return an index as the tuple of its items."""
    if isinstance(indices, list) and not all(map(_is_number, indices)):
        return tuple(indices)
    return indices if isinstance(indices, tuple) else (indices,)


def _is_number(item: Any) -> bool:
    return isinstance(item, (int, np.integer, np.bool_))


def _items(indices: Any, of: Base) -> tuple[tuple[Any, ...], tuple[Node, ...]]:
    """Return an index as arguments for C, and the nodes that take part."""
    given = expression(indices)
    items = [_as_tensor(item, of) for item in given]
    for i, item in enumerate(items):
        if item is not given[i] and isinstance(item, Base):
            _check_positions(items, i, describe(of._node)[0])
    items = _without_masks(items, of)
    kinds: list[int] = []
    numbers: list[int] = []
    tensors: list[int | None] = []
    source = [of._node]
    for item in items:
        kind, values, node = _index_item(item)
        kinds.append(kind)
        numbers += values
        tensors.append(node.handle if node else None)
        if node:
            source.append(node)
    n = len(kinds)
    arrays = (
        (ctypes.c_int32 * n)(*kinds),
        (ctypes.c_int64 * (3 * n))(*numbers),
        (ctypes.c_void_p * n)(*tensors),
        n,
    )
    return arrays, tuple(source)


def _as_tensor(item: Any, of: Any) -> Any:
    """Return lists and arrays as tensors, other items as they are."""
    item = plain_scalar(item)
    if isinstance(item, (list, tuple, np.ndarray)):
        # An empty list says nothing of its type.
        return type(of)(item, dtype=None if len(item) else dtypes.default_int)
    return item


def _check_positions(items: list[Any], i: int, shape: tuple[Any, ...]) -> None:
    """Refuse positions of a list or array, which are known, that an axis does not have."""
    node = items[i]._node
    axis = _axis(items, i, len(shape))
    if describe(node)[1] is dtypes.bool or not node.data.size or axis >= len(shape):
        return
    low, high, n = int(node.data.min()), int(node.data.max()), shape[axis]
    if isinstance(n, int) and not -n <= low <= high < n:
        bad = high if high >= n else low
        raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {n}")


def _axis(items: list[Any], i: int, ndim: int) -> int:
    """Return the axis that an item of an index begins at."""
    if any(other is Ellipsis for other in items[:i]):
        return ndim - sum(map(_axes, items[i:]))
    return sum(map(_axes, items[:i]))


def _axes(item: Any) -> int:
    """Return the number of axes that an item of an index takes; ... counts as none."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, Base):
        shape, dtype = describe(item._node)
        return len(shape) if dtype is dtypes.bool else 1
    return 1


def _without_masks(items: list[Any], of: Base) -> list[Any]:
    """Return an index with the positions where masks hold instead of the masks."""
    result: list[Any] = []
    shape = describe(of._node)[0]
    for i, item in enumerate(items):
        if not isinstance(item, Base) or describe(item._node)[1] is not dtypes.bool:
            result.append(item)
            continue
        mask: Any = item
        axis = _axis(items, i, len(shape))
        n = len(mask.shape)
        if n == 0 or mask.shape != shape[axis : axis + n]:
            raise IndexError(
                f"index: a mask of shape {mask.shape}, expected that of axes "
                f"{axis} to {axis + max(n, 1) - 1} of a tensor of shape {shape}"
            )
        places = mask.nonzero()
        result += [places[:, k] for k in range(n)]
    return result


def _bounded(value: Any) -> int:
    """Return an index, or one as good for any axis if it is too large for C."""
    if isinstance(value, SymInt):
        return value._size
    return max(_SMALLEST, min(index(value), _LARGEST))


def _index_item(item: Any) -> tuple[int, tuple[int, int, int], Node | None]:
    """Return kind, numbers and tensor of one item of an index expression."""
    if isinstance(item, (bool, np.bool_)):
        raise IndexError("index: a bool is not an index, expected integers, slices, tensors")
    if isinstance(item, (int, np.integer)):
        return c.POLY_INDEX_INT, (_bounded(int(item)), 0, 0), None
    if isinstance(item, SymInt):
        return c.POLY_INDEX_INT, (item._size, 0, 0), None
    if item is None:
        return c.POLY_INDEX_NEWAXIS, (0, 0, 0), None
    if item is Ellipsis:
        return c.POLY_INDEX_ELLIPSIS, (0, 0, 0), None
    if isinstance(item, slice):
        bounds = tuple(
            _NONE if v is None else _bounded(v) for v in (item.start, item.stop, item.step)
        )
        return c.POLY_INDEX_SLICE, bounds, None  # type: ignore[return-value]
    if isinstance(item, Base):
        return c.POLY_INDEX_TENSOR, (0, 0, 0), item._node
    raise IndexError(
        f"index: {type(item).__name__} is not an index, "
        "expected integers, slices, None, ... and tensors"
    )
