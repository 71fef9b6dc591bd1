"""Tensor methods that rearrange and join elements, in the call forms of Python."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import _methods as op
from polygrad._base import Base, T, describe, join, make
from polygrad._graph import plain
from polygrad._library import ArgumentError, c_text
from polygrad.dtype import DTypeLike
from polygrad.variable import SymInt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self


def sizes(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the integers of f(2, 3) or f((2, 3)) or f([2, 3]).

    >>> sizes((2, 3)), sizes(((2, 3),))
    ((2, 3), (2, 3))
    """
    if shape and isinstance(shape[0], np.ndarray):
        shape = (plain(shape[0]), *shape[1:])
    if shape and isinstance(shape[0], (tuple, list)):
        if len(shape) > 1:
            raise ArgumentError(f"shape: {shape!r}, expected integers or one list of them")
        shape = tuple(shape[0])
    return shape


def given(first: T, rest: tuple[T, ...]) -> list[T]:
    """Return the tensors of f(a, b) or f([a, b])."""
    if isinstance(first, (list, tuple)):
        if rest:
            raise ArgumentError("expected tensors or one list of them, got a list and more")
        if not first:
            raise ArgumentError("no tensors, expected one or more")
        return list(first)
    return [first, *rest]


class Movement(Base):
    """Views and joining. No data moves until a value is needed."""

    __slots__ = ()

    def reshape(self, shape: Any, *args: Any) -> Self:
        """Return the same elements in another shape; one size may be -1.

        >>> Tensor.arange(6).reshape(2, -1).tolist()
        [[0, 1, 2], [3, 4, 5]]
        """
        new = sizes((shape, *args))
        if None in new:
            old = describe(self)[0]
            new = tuple(old[i] if s is None else s for i, s in enumerate(new))
        return self._call1(op.RESHAPE, new)

    def view(self, shape: Any, *args: Any) -> Self:
        """Return reshape(shape, *args)."""
        return self.reshape(shape, *args)

    def expand(self, shape: Any, *args: Any) -> Self:
        """Repeat axes of size 1 up to a shape; -1 keeps a size.

        >>> Tensor([[1], [2]]).expand(2, 3).tolist()
        [[1, 1, 1], [2, 2, 2]]
        """
        return self._call1(op.EXPAND, [-1 if s is None else s for s in sizes((shape, *args))])

    def permute(self, order: Any, *args: Any) -> Self:
        """Reorder the axes: axis i of the result is axis order[i] of self.

        >>> Tensor([[1, 2, 3], [4, 5, 6]]).permute(1, 0).tolist()
        [[1, 4], [2, 5], [3, 6]]
        """
        return self._call1(op.PERMUTE, sizes((order, *args)))

    @property
    def T(self) -> Self:
        """The tensor with its last two axes swapped.

        >>> Tensor([[1, 2]]).T.tolist()
        [[1], [2]]
        """
        return self._call1(op.TRANSPOSE, -2, -1)

    def shrink_to(self, shape: Any, *args: Any) -> Self:
        """Keep the first elements of each axis, as many as a shape says; None keeps all.

        >>> Tensor([[1, 2], [3, 4]]).shrink_to(1, None).tolist()
        [[1, 2]]
        """
        new = sizes((shape, *args))
        return self._call1(op.SHRINK, [None if s is None else (0, s) for s in new])

    def pad(self, padding: Sequence[Any], mode: str = "constant", value: float = 0.0) -> Self:
        """Add elements before and after each axis; None adds none.

        They are a value, or elements of the tensor: mode is "constant", "reflect" (mirrored at
        the edge), "replicate" (the edge) or "circular" (from the other end). Instead of pairs,
        padding may be a flat list, (before, after) of the last axis first. A negative number
        cuts elements off.

        >>> Tensor([1, 2]).pad(((1, 2),)).tolist(), Tensor([1.0]).pad((0, 1), value=9).tolist()
        ([0, 1, 2, 0, 0], [1.0, 9.0])
        >>> Tensor([1, 2, 3]).pad((2, 1), mode="reflect").tolist()
        [3, 2, 1, 2, 3, 2]
        """
        padding = plain(padding)
        if padding and all(isinstance(p, (int, np.integer, SymInt)) for p in padding):
            ndim = len(describe(self)[0])
            if len(padding) % 2 or len(padding) > 2 * ndim:
                raise ArgumentError(
                    f"pad: {len(padding)} numbers, expected two for each of up to {ndim} axes"
                )
            pairs = [(padding[i], padding[i + 1]) for i in range(0, len(padding), 2)]
            padding = [(0, 0)] * (ndim - len(pairs)) + pairs[::-1]
        return self._call1(op.PAD, [plain(p) for p in padding], mode, value)

    def pad_to(self, shape: Any, *args: Any) -> Self:
        """Add zeros at the end of axes up to a shape; None keeps a size.

        >>> Tensor([[1, 2]]).pad_to(2, 3).tolist()
        [[1, 2, 0], [0, 0, 0]]
        """
        old, new = describe(self)[0], sizes((shape, *args))
        if len(new) != len(old):
            raise ArgumentError(
                f"pad_to: {len(new)} sizes, expected one for each of {len(old)} axes"
            )
        return self.pad([None if s is None else (0, s - o) for s, o in zip(new, old)])

    def flip(self, axis: int | Sequence[int], *args: int) -> Self:
        """Reverse the order along axes.

        >>> Tensor([[1, 2], [3, 4]]).flip(0).tolist()
        [[3, 4], [1, 2]]
        """
        return self._call1(op.FLIP, sizes((axis, *args)))

    def repeat(self, repeats: Any, *args: Any) -> Self:
        """Repeat the tensor along each axis.

        >>> Tensor([1, 2]).repeat(2, 2).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
        """
        return self._call1(op.REPEAT, sizes((repeats, *args)))

    def rearrange(self, formula: str, **sizes: int) -> Self:
        """Rearrange axes as einops does.

        >>> Tensor.zeros(2, 12).rearrange("b (h w) -> h b w", h=3).shape
        (3, 2, 4)
        """
        c_text("rearrange: formula", formula)
        return self._call1(op.REARRANGE, formula, sizes)

    # Joining

    def cat(self, *args: Self, dim: int = 0) -> Self:
        """Join tensors along an axis.

        >>> Tensor.cat(Tensor([[1, 2]]), Tensor([[3, 4]]), dim=1).tolist()
        [[1, 2, 3, 4]]
        """
        return join(given(self, args), op.CAT, dim)[0]

    def stack(self, *args: Self, dim: int = 0) -> Self:
        """Join tensors of one shape along a new axis.

        >>> Tensor.stack(Tensor([1, 2]), Tensor([3, 4])).tolist()
        [[1, 2], [3, 4]]
        """
        return join(given(self, args), op.STACK, dim)[0]

    def meshgrid(self, *args: Self, indexing: str = "ij") -> tuple[Self, ...]:
        """Lay vectors along the axes of a grid; indexing "xy" swaps the first two axes.

        >>> [t.tolist() for t in Tensor([1, 2]).meshgrid(Tensor([3, 4, 5]))]
        [[[1, 1, 1], [2, 2, 2]], [[3, 4, 5], [3, 4, 5]]]
        """
        return join(given(self, args), op.MESHGRID, indexing)

    @classmethod
    def einsum(cls, formula: str, *operands: Any, dtype: DTypeLike | None = None) -> Self:
        """Sum products of elements, as the formula says; with dtype, operands are converted first.

        >>> a, b = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[5.0, 6.0], [7.0, 8.0]])
        >>> Tensor.einsum("ij,jk->ik", a, b).tolist(), Tensor.einsum("ii", a).item()
        ([[19.0, 22.0], [43.0, 50.0]], 5.0)
        """
        c_text("einsum: formula", formula)
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        if dtype is not None:
            operands = tuple(t.cast(dtype) for t in operands)
        return make(cls, op.EINSUM, operands, formula)

    def chunk(self, chunks: int, dim: int = 0) -> list[Self]:
        """Cut along an axis into at most so many parts of equal size.

        >>> [t.tolist() for t in Tensor([1, 2, 3, 4, 5]).chunk(2)]
        [[1, 2, 3], [4, 5]]
        """
        return list(self._call(op.CHUNK, index(chunks), dim))

    def _size(self, dim: int) -> int:
        shape = describe(self)[0]
        dim = index(dim)
        if not -len(shape) <= dim < len(shape):
            raise IndexError(f"dim: {dim} is out of range for {len(shape)} dimensions")
        size: int = shape[dim]
        return size
