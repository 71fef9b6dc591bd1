"""Tensor methods that rearrange and join elements."""

from __future__ import annotations

import ctypes
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import _prototypes as c
from polygrad._base import Base, T, call, made, view
from polygrad._graph import CTX, describe, dims, handles, integers, plain, several
from polygrad._library import ArgumentError, ChoiceError, c_text, fail, lib
from polygrad.variable import SymInt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

_FLAT = -(1 << 31)  # POLY_AXIS_FLAT
_PAD_MODES = {
    "reflect": c.POLY_PAD_REFLECT,
    "replicate": c.POLY_PAD_REPLICATE,
    "circular": c.POLY_PAD_CIRCULAR,
}

# A method below has an argument called dims.
numbers = dims


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


def _pairs(arg: Sequence[Any], ndim: int, missing: list[tuple[int, int]]) -> Any:
    """Return pairs, one an axis, as int64[n][2]; None stands for a default pair."""
    pairs = [missing[i] if p is None and i < ndim else plain(p) for i, p in enumerate(arg)]
    flat: list[int] = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ArgumentError(f"expected a pair of integers for each axis, got {pair!r}")
        flat += pair
    return (ctypes.c_int64 * len(flat))(*integers(flat, "pairs")), len(pairs)


def join(name: str, tensors: Sequence[T], dim: int) -> T:
    """Join tensors by a function of the library."""
    if not tensors:
        raise ArgumentError(f"{name}: no tensors to join")
    nodes = tuple(t._node for t in tensors)
    handle = getattr(lib, name)(CTX, handles(nodes), len(nodes), dim)
    return made(type(tensors[0]), handle, nodes)


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
            old = describe(self._node)[0]
            new = tuple(old[i] if s is None else s for i, s in enumerate(new))
        return view("poly_reshape", self, dims(new), len(new))

    def view(self, shape: Any, *args: Any) -> Self:
        """Return reshape(shape, *args)."""
        return self.reshape(shape, *args)

    def expand(self, shape: Any, *args: Any) -> Self:
        """Repeat axes of size 1 up to a shape; -1 keeps a size.

        >>> Tensor([[1], [2]]).expand(2, 3).tolist()
        [[1, 1, 1], [2, 2, 2]]
        """
        new = tuple(-1 if s is None else s for s in sizes((shape, *args)))
        return call("poly_expand", self, dims(new), len(new))

    def permute(self, order: Any, *args: Any) -> Self:
        """Reorder the axes: axis i of the result is axis order[i] of self.

        >>> Tensor([[1, 2, 3], [4, 5, 6]]).permute(1, 0).tolist()
        [[1, 4], [2, 5], [3, 6]]
        """
        new = sizes((order, *args))
        return view("poly_permute", self, dims(new, "order"), len(new))

    def transpose(self, dim0: int = 1, dim1: int = 0) -> Self:
        """Swap two axes.

        >>> Tensor([[1, 2, 3], [4, 5, 6]]).transpose(0, 1).shape
        (3, 2)
        """
        return view("poly_transpose", self, dim0, dim1)

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
            return view("poly_squeeze_all", self)
        return view("poly_squeeze", self, dim)

    def unsqueeze(self, dim: int) -> Self:
        """Add an axis of size 1.

        >>> Tensor([1, 2]).unsqueeze(0).shape
        (1, 2)
        """
        return view("poly_unsqueeze", self, dim)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Self:
        """Join the axes start_dim to end_dim into one.

        >>> Tensor.zeros(2, 3, 4).flatten(1).shape
        (2, 12)
        """
        return view("poly_flatten", self, start_dim, end_dim)

    def unflatten(self, dim: int, sizes: Sequence[int]) -> Self:
        """Split an axis into several.

        >>> Tensor.zeros(2, 12).unflatten(1, (3, -1)).shape
        (2, 3, 4)
        """
        return view("poly_unflatten", self, dim, dims(sizes), len(sizes))

    def shrink(self, arg: Sequence[tuple[int, int] | None]) -> Self:
        """Keep elements start (included) to end (excluded) of each axis; None keeps all.

        >>> Tensor([[1, 2, 3], [4, 5, 6]]).shrink(((0, 1), (1, 3))).tolist()
        [[2, 3]]
        """
        shape = describe(self._node)[0] if any(p is None for p in arg) else ()
        pairs, n = _pairs(arg, len(shape), [(0, s) for s in shape])
        return view("poly_shrink", self, pairs, n)

    def shrink_to(self, shape: Any, *args: Any) -> Self:
        """Keep the first elements of each axis, as many as a shape says; None keeps all.

        >>> Tensor([[1, 2], [3, 4]]).shrink_to(1, None).tolist()
        [[1, 2]]
        """
        return self.shrink([None if s is None else (0, s) for s in sizes((shape, *args))])

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
        shape = describe(self._node)[0]
        padding = plain(padding)
        if padding and all(isinstance(p, (int, np.integer, SymInt)) for p in padding):
            if len(padding) % 2 or len(padding) > 2 * len(shape):
                raise ArgumentError(
                    f"pad: {len(padding)} numbers, expected two for each of up to {len(shape)} axes"
                )
            given = [(padding[i], padding[i + 1]) for i in range(0, len(padding), 2)]
            padding = [(0, 0)] * (len(shape) - len(given)) + given[::-1]
        pairs, n = _pairs(padding, len(shape), [(0, 0)] * len(shape))
        if mode != "constant":
            if mode not in _PAD_MODES:
                names = ["constant", *_PAD_MODES]
                raise ChoiceError(f"pad: mode: {mode!r}, expected one of {names}")
            return call("poly_pad_mode", self, pairs, n, _PAD_MODES[mode])
        if value == 0:
            return call("poly_pad", self, pairs, n)
        return call("poly_pad_value", self, pairs, n, value)

    def pad_to(self, shape: Any, *args: Any) -> Self:
        """Add zeros at the end of axes up to a shape; None keeps a size.

        >>> Tensor([[1, 2]]).pad_to(2, 3).tolist()
        [[1, 2, 0], [0, 0, 0]]
        """
        old, new = describe(self._node)[0], sizes((shape, *args))
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
        axes = sizes((axis, *args))
        return view("poly_flip", self, dims(axes, "axis"), len(axes))

    def repeat(self, repeats: Any, *args: Any) -> Self:
        """Repeat the tensor along each axis.

        >>> Tensor([1, 2]).repeat(2, 2).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
        """
        counts = sizes((repeats, *args))
        return call("poly_repeat", self, dims(counts, "repeats"), len(counts))

    def repeat_interleave(self, repeats: int, dim: int | None = None) -> Self:
        """Repeat each element along an axis, or of the flattened tensor, in place.

        >>> Tensor([1, 2]).repeat_interleave(2).tolist()
        [1, 1, 2, 2]
        """
        return call("poly_repeat_interleave", self, repeats, _FLAT if dim is None else dim)

    def unfold(self, dim: int, size: int, step: int) -> Self:
        """Replace an axis by its windows of a size, one every step elements.

        The windows are a new last axis.

        >>> Tensor.arange(5).unfold(0, 2, 2).tolist()
        [[0, 1], [2, 3]]
        """
        return call("poly_unfold", self, dim, size, step)

    def roll(self, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Self:
        """Move elements along axes; what leaves one end enters at the other.

        Without dims, the flattened tensor is moved.

        >>> Tensor([1, 2, 3, 4]).roll(1).tolist()
        [4, 1, 2, 3]
        """
        by = several(shifts)
        if dims is None:
            return call("poly_roll", self, numbers(by, "shifts"), None, len(by))
        axes = several(dims)
        if len(by) != len(axes):
            raise ArgumentError(f"roll: {len(by)} shifts for {len(axes)} axes")
        return call("poly_roll", self, numbers(by, "shifts"), numbers(axes, "dims"), len(by))

    def diagonal(self, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Self:
        """Return the diagonal of two axes as the last axis; offset moves it to the right.

        >>> Tensor([[1, 2], [3, 4]]).diagonal().tolist()
        [1, 4]
        """
        return view("poly_diagonal", self, offset, dim1, dim2)

    def diag(self) -> Self:
        """Return the square matrix with a vector on its diagonal.

        >>> Tensor([1, 2]).diag().tolist()
        [[1, 0], [0, 2]]
        """
        return call("poly_diag", self)

    def rearrange(self, formula: str, **sizes: int) -> Self:
        """Rearrange axes as einops does.

        >>> Tensor.zeros(2, 12).rearrange("b (h w) -> h b w", h=3).shape
        (3, 2, 4)
        """
        wanted, names = c_text("rearrange: formula", formula), " ".join(sizes).encode()
        values = dims(tuple(sizes.values()))
        node = self._node
        handle = lib.poly_rearrange(
            CTX, wanted, node.handle, None, 0, names, values, len(sizes), None, None
        )
        result = made(type(self), handle, (node,))
        result._node.shows = True
        return result

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

    def meshgrid(self, *args: Self, indexing: str = "ij") -> tuple[Self, ...]:
        """Lay vectors along the axes of a grid; indexing "xy" swaps the first two axes.

        >>> [t.tolist() for t in Tensor([1, 2]).meshgrid(Tensor([3, 4, 5]))]
        [[[1, 1, 1], [2, 2, 2]], [[3, 4, 5], [3, 4, 5]]]
        """
        if indexing not in ("ij", "xy"):
            raise ArgumentError(f"meshgrid: indexing: {indexing!r}, expected 'ij' or 'xy'")
        tensors = _given(self, args)
        nodes = tuple(t._node for t in tensors)
        out = (ctypes.c_void_p * len(nodes))()
        if lib.poly_meshgrid(CTX, handles(nodes), len(nodes), indexing == "xy", out) != 0:
            fail()
        return tuple(made(type(tensors[0]), h, (n,)) for h, n in zip(out, nodes))

    def split(self, sizes: int | Sequence[int], dim: int = 0) -> tuple[Self, ...]:
        """Cut along an axis into parts of given sizes, or of one size (the last may be smaller).

        >>> [t.tolist() for t in Tensor([1, 2, 3, 4, 5]).split(2)]
        [[1, 2], [3, 4], [5]]
        """
        sizes = plain(sizes)
        if hasattr(sizes, "__iter__"):
            parts = integers(sizes, "sizes")
        else:
            size = index(sizes)
            if size <= 0:
                raise ArgumentError(f"split: sizes: {size}, expected a positive size")
            n = self._size(dim)
            parts = integers([min(size, n - i) for i in range(0, max(n, 1), size)], "sizes")
        count = len(parts)
        node = self._node
        out = (ctypes.c_void_p * count)()
        lengths = (ctypes.c_int64 * count)(*parts)
        if lib.poly_split(CTX, node.handle, lengths, count, dim, out) != 0:
            fail()
        results = tuple(made(type(self), handle, (node,)) for handle in out)
        for part in results:
            part._node.shows = True
        return results

    def chunk(self, chunks: int, dim: int = 0) -> list[Self]:
        """Cut along an axis into at most so many parts of equal size.

        >>> [t.tolist() for t in Tensor([1, 2, 3, 4, 5]).chunk(2)]
        [[1, 2, 3], [4, 5]]
        """
        if chunks <= 0:
            raise ArgumentError(f"chunk: chunks: {chunks}, expected a positive number")
        size = self._size(dim)
        return list(self.split(max(1, -(-size // chunks)), dim)) if size else [self]

    def _size(self, dim: int) -> int:
        shape = describe(self._node)[0]
        dim = index(dim)
        if not -len(shape) <= dim < len(shape):
            raise IndexError(f"dim: {dim} is out of range for {len(shape)} dimensions")
        return shape[dim]

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
        if rest:
            raise ArgumentError("expected tensors or one list of them, got a list and more")
        return list(first)
    return [first, *rest]
