"""Tensor methods that rearrange, select and join elements."""

from __future__ import annotations

import ctypes
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import _prototypes as c
from polygrad._base import Base, T, call, made
from polygrad._graph import CTX, Node, describe, dims, handles, integers, several
from polygrad._library import fail, last_error, lib
from polygrad.dtype import dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

_NONE = -(1 << 63)  # POLY_INDEX_NONE
_LARGEST = (1 << 63) - 1


def sizes(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the integers of f(2, 3) or f((2, 3)) or f([2, 3]).

    >>> sizes((2, 3)), sizes(((2, 3),))
    ((2, 3), (2, 3))
    """
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    return shape


def _pairs(arg: Sequence[Any], ndim: int, missing: list[tuple[int, int]]) -> Any:
    """Return pairs, one an axis, as int64[n][2]; None stands for what is missing."""
    pairs = [missing[i] if p is None and i < ndim else p for i, p in enumerate(arg)]
    flat: list[int] = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"expected a pair of integers for each axis, got {pair!r}")
        flat += pair
    return (ctypes.c_int64 * len(flat))(*integers(flat, "pairs")), len(pairs)


def join(name: str, tensors: Sequence[T], dim: int) -> T:
    """Join tensors by a function of the library."""
    if not tensors:
        raise ValueError(f"{name}: no tensors to join")
    nodes = tuple(t._node for t in tensors)
    handle = getattr(lib, name)(CTX, handles(nodes), len(nodes), dim)
    return made(type(tensors[0]), handle, nodes)


class Movement(Base):
    """Views, indexing and joining. No data moves until a value is needed."""

    __slots__ = ()

    def reshape(self, *shape: Any) -> Self:
        """Return the same elements in another shape; one size may be -1.

        >>> Tensor.arange(6).reshape(2, -1).tolist()
        [[0, 1, 2], [3, 4, 5]]
        """
        new = sizes(shape)
        if None in new:
            old = describe(self._node)[0]
            new = tuple(old[i] if s is None else s for i, s in enumerate(new))
        return call("poly_reshape", self, dims(new), len(new))

    def view(self, *shape: Any) -> Self:
        """Return reshape(*shape)."""
        return self.reshape(*shape)

    def expand(self, *shape: Any) -> Self:
        """Repeat axes of size 1 up to a shape; -1 keeps a size.

        >>> Tensor([[1], [2]]).expand(2, 3).tolist()
        [[1, 1, 1], [2, 2, 2]]
        """
        new = tuple(-1 if s is None else s for s in sizes(shape))
        return call("poly_expand", self, dims(new), len(new))

    def permute(self, *order: Any) -> Self:
        """Reorder the axes: axis i of the result is axis order[i] of self.

        >>> Tensor([[1, 2, 3], [4, 5, 6]]).permute(1, 0).tolist()
        [[1, 4], [2, 5], [3, 6]]
        """
        new = sizes(order)
        return call("poly_permute", self, dims(new, "order"), len(new))

    def transpose(self, dim0: int = -2, dim1: int = -1) -> Self:
        """Swap two axes.

        >>> Tensor([[1, 2, 3], [4, 5, 6]]).transpose(0, 1).shape
        (3, 2)
        """
        return call("poly_transpose", self, dim0, dim1)

    @property
    def T(self) -> Self:
        """The tensor with its last two axes swapped.

        >>> Tensor([[1, 2]]).T.tolist()
        [[1], [2]]
        """
        return self.transpose(-2, -1)

    def squeeze(self, dim: int | None = None) -> Self:
        """Remove an axis of size 1, or all of them; a longer axis stays.

        >>> Tensor([[[1], [2]]]).squeeze().tolist()
        [1, 2]
        """
        if dim is None:
            return call("poly_squeeze_all", self)
        return call("poly_squeeze", self, dim)

    def unsqueeze(self, dim: int) -> Self:
        """Add an axis of size 1.

        >>> Tensor([1, 2]).unsqueeze(0).shape
        (1, 2)
        """
        return call("poly_unsqueeze", self, dim)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Self:
        """Join the axes start_dim to end_dim into one.

        >>> Tensor.zeros(2, 3, 4).flatten(1).shape
        (2, 12)
        """
        return call("poly_flatten", self, start_dim, end_dim)

    def unflatten(self, dim: int, sizes: Sequence[int]) -> Self:
        """Split an axis into several.

        >>> Tensor.zeros(2, 12).unflatten(1, (3, -1)).shape
        (2, 3, 4)
        """
        return call("poly_unflatten", self, dim, dims(sizes), len(sizes))

    def shrink(self, arg: Sequence[tuple[int, int] | None]) -> Self:
        """Keep elements start (included) to end (excluded) of each axis; None keeps all.

        >>> Tensor([[1, 2, 3], [4, 5, 6]]).shrink(((0, 1), (1, 3))).tolist()
        [[2, 3]]
        """
        shape = describe(self._node)[0] if None in arg else ()
        pairs, n = _pairs(arg, len(shape), [(0, s) for s in shape])
        return call("poly_shrink", self, pairs, n)

    def pad(self, arg: Sequence[Any], value: float = 0.0) -> Self:
        """Add elements of a value before and after each axis; None adds none.

        Instead of pairs, arg may be a flat list, (before, after) of the last axis first.

        >>> Tensor([1, 2]).pad(((1, 2),)).tolist(), Tensor([1.0]).pad((0, 1), value=9).tolist()
        ([0, 1, 2, 0, 0], [1.0, 9.0])
        """
        shape = describe(self._node)[0]
        if arg and all(isinstance(p, int) for p in arg):
            if len(arg) % 2 or len(arg) > 2 * len(shape):
                raise ValueError(
                    f"pad: {len(arg)} numbers, expected two for each of up to {len(shape)} axes"
                )
            given = [(arg[i], arg[i + 1]) for i in range(0, len(arg), 2)]
            arg = [(0, 0)] * (len(shape) - len(given)) + given[::-1]
        pairs, n = _pairs(arg, len(shape), [(0, 0)] * len(shape))
        if value == 0:
            return call("poly_pad", self, pairs, n)
        return call("poly_pad_value", self, pairs, n, value)

    def flip(self, axis: int | Sequence[int], *more: int) -> Self:
        """Reverse the order along axes.

        >>> Tensor([[1, 2], [3, 4]]).flip(0).tolist()
        [[3, 4], [1, 2]]
        """
        axes = (*several(axis), *more)
        return call("poly_flip", self, dims(axes, "axis"), len(axes))

    def repeat(self, *repeats: Any) -> Self:
        """Repeat the tensor along each axis.

        >>> Tensor([1, 2]).repeat(2, 2).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
        """
        counts = sizes(repeats)
        return call("poly_repeat", self, dims(counts, "repeats"), len(counts))

    def rearrange(self, formula: str, **lengths: int) -> Self:
        """Rearrange axes as einops does.

        >>> Tensor.zeros(2, 12).rearrange("b (h w) -> h b w", h=3).shape
        (3, 2, 4)
        """
        names = " ".join(lengths).encode()
        values = dims(tuple(lengths.values()))
        node = self._node
        handle = lib.poly_rearrange(
            CTX, formula.encode(), node.handle, None, 0, names, values, len(lengths), None, None
        )
        return made(type(self), handle, (node,))

    # Joining

    def cat(self, *args: Self, dim: int = 0) -> Self:
        """Join tensors along an axis.

        >>> Tensor.cat(Tensor([[1, 2]]), Tensor([[3, 4]]), dim=1).tolist()
        [[1, 2, 3, 4]]
        """
        return join("poly_cat", _given(self, args), dim)

    def stack(self, *args: Self, dim: int = 0) -> Self:
        """Join tensors of one shape along a new axis.

        >>> Tensor.stack(Tensor([1, 2]), Tensor([3, 4])).tolist()
        [[1, 2], [3, 4]]
        """
        return join("poly_stack", _given(self, args), dim)

    def split(self, sizes: int | Sequence[int], dim: int = 0) -> tuple[Self, ...]:
        """Cut along an axis into parts of given sizes, or of one size (the last may be smaller).

        >>> [t.tolist() for t in Tensor([1, 2, 3, 4, 5]).split(2)]
        [[1, 2], [3, 4], [5]]
        """
        if hasattr(sizes, "__iter__"):
            parts = integers(sizes, "sizes")
        else:
            size = index(sizes)
            if size <= 0:
                raise ValueError(f"split: sizes: {size}, expected a positive size")
            n = self._size(dim)
            parts = integers([min(size, n - i) for i in range(0, max(n, 1), size)], "sizes")
        count = len(parts)
        node = self._node
        out = (ctypes.c_void_p * count)()
        lengths = (ctypes.c_int64 * count)(*parts)
        if lib.poly_split(CTX, node.handle, lengths, count, dim, out) != 0:
            fail()
        return tuple(made(type(self), handle, (node,)) for handle in out)

    def chunk(self, n: int, dim: int = 0) -> list[Self]:
        """Cut along an axis into at most n parts of equal size.

        >>> [t.tolist() for t in Tensor([1, 2, 3, 4, 5]).chunk(2)]
        [[1, 2, 3], [4, 5]]
        """
        if n <= 0:
            raise ValueError(f"chunk: n: {n}, expected a positive number")
        size = self._size(dim)
        return list(self.split(max(1, -(-size // n)), dim)) if size else [self]

    def _size(self, dim: int) -> int:
        shape = describe(self._node)[0]
        dim = index(dim)
        if not -len(shape) <= dim < len(shape):
            raise IndexError(f"dim: {dim} is out of range for {len(shape)} dimensions")
        return shape[dim]

    # Indexing

    def __getitem__(self, indices: Any) -> Self:
        """Select elements by integers, slices, None, ... and tensors of integers.

        >>> t = Tensor([[1, 2, 3], [4, 5, 6]])
        >>> t[1, ::-1].tolist(), t[..., 0].tolist(), t[:, Tensor([2, 0])].tolist()
        ([6, 5, 4], [1, 4], [[3, 1], [6, 4]])
        """
        items = indices if isinstance(indices, tuple) else (indices,)
        kinds: list[int] = []
        numbers: list[int] = []
        tensors: list[int | None] = []
        source = [self._node]
        for item in items:
            kind, values, node = _index_item(item, self)
            kinds.append(kind)
            numbers += values
            tensors.append(node.handle if node else None)
            if node:
                source.append(node)
        n = len(kinds)
        handle = lib.poly_index(
            CTX,
            self._node.handle,
            (ctypes.c_int32 * n)(*kinds),
            (ctypes.c_int64 * (3 * n))(*numbers),
            (ctypes.c_void_p * n)(*tensors),
            n,
        )
        if handle is None:
            fail(ValueError if "step" in last_error() else IndexError)
        return made(type(self), handle, tuple(source))

    def gather(self, dim: int, index: Base) -> Self:
        """Select along an axis by a tensor of indices with as many axes as self.

        >>> Tensor([[1, 2], [3, 4]]).gather(1, Tensor([[0, 0], [1, 0]])).tolist()
        [[1, 1], [4, 3]]
        """
        handle = lib.poly_gather_axis(CTX, self._node.handle, dim, index._node.handle)
        return made(type(self), handle, (self._node, index._node))

    def one_hot(self, num_classes: int) -> Self:
        """Turn class numbers into rows with a 1 at the place of the class.

        >>> Tensor([0, 2]).one_hot(3).tolist()
        [[1, 0, 0], [0, 0, 1]]
        """
        return call("poly_one_hot", self, num_classes)

    def tril(self, diagonal: int = 0) -> Self:
        """Return the lower triangle of the last two axes, 0 elsewhere.

        >>> Tensor([[1, 2], [3, 4]]).tril().tolist()
        [[1, 0], [3, 4]]
        """
        return call("poly_tril", self, None, 0, diagonal)

    def triu(self, diagonal: int = 0) -> Self:
        """Return the upper triangle of the last two axes, 0 elsewhere.

        >>> Tensor([[1, 2], [3, 4]]).triu(1).tolist()
        [[0, 2], [0, 0]]
        """
        return call("poly_triu", self, None, 0, diagonal)


def _given(first: T, rest: tuple[T, ...]) -> list[T]:
    """Return the tensors of f(a, b) or f([a, b])."""
    if isinstance(first, (list, tuple)):
        return [*first, *rest]
    return [first, *rest]


def _bounded(value: int) -> int:
    """Return an index, or one as good for any axis if it is too large for C."""
    return max(-_LARGEST, min(value, _LARGEST))


def _index_item(item: Any, of: Any) -> tuple[int, tuple[int, int, int], Node | None]:
    """Return kind, numbers and tensor of one item of an index expression."""
    if isinstance(item, (bool, np.bool_)):
        raise IndexError("index: a bool is not an index, expected integers, slices, tensors")
    if isinstance(item, (int, np.integer)):
        return c.POLY_INDEX_INT, (_bounded(int(item)), 0, 0), None
    if item is None:
        return c.POLY_INDEX_NEWAXIS, (0, 0, 0), None
    if item is Ellipsis:
        return c.POLY_INDEX_ELLIPSIS, (0, 0, 0), None
    if isinstance(item, slice):
        bounds = tuple(
            _NONE if v is None else _bounded(index(v)) for v in (item.start, item.stop, item.step)
        )
        return c.POLY_INDEX_SLICE, bounds, None  # type: ignore[return-value]
    if isinstance(item, (list, tuple, np.ndarray)):
        # An empty list says nothing of its type.
        item = type(of)(item, dtype=None if len(item) else dtypes.default_int)
    if isinstance(item, Base):
        return c.POLY_INDEX_TENSOR, (0, 0, 0), item._node
    raise IndexError(
        f"index: {type(item).__name__} is not an index, "
        "expected integers, slices, None, ... and tensors"
    )
