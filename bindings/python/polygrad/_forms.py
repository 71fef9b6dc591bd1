"""Operations that Python calls in ways of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad import _methods as op
from polygrad._base import Base, Operand, describe, operand, to_dtype
from polygrad._library import integer
from polygrad._methods import Methods
from polygrad.dtype import DTypeLike

if TYPE_CHECKING:
    from typing_extensions import Self


class Forms(Methods):
    """Operations that the descriptions do not say all about."""

    __slots__ = ()

    def where(self, x: Operand, y: Operand) -> Self:
        """Return x where self is true, y elsewhere.

        >>> (Tensor([1.0, -2.0, 3.0]) > 0).where(Tensor([10.0, 20.0, 30.0]), 0).tolist()
        [10.0, 0.0, 30.0]
        """
        first = operand(x, y if isinstance(y, Base) else self)
        return self._call1(op.WHERE, first, operand(y, first if isinstance(first, Base) else self))

    def bitcast(self, dtype: DTypeLike) -> Self:
        """Return the same bits read as another data type; a gradient cannot pass.

        Where the sizes of the types differ, the last axis grows or shrinks.

        >>> Tensor([1.0]).bitcast("uint32").tolist()
        [1065353216]
        """
        if self.requires_grad:
            raise RuntimeError("bitcast: the tensor requires a gradient: detach it first")
        return self._call1(op.BITCAST, to_dtype(dtype))

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of one axis.

        >>> Tensor.zeros(2, 3).size(), Tensor.zeros(2, 3).size(-1)
        ((2, 3), 3)
        """
        shape = describe(self)[0]
        if dim is None:
            return shape
        dim = integer("size: dim", dim)
        if not -len(shape) <= dim < len(shape):
            raise IndexError(f"dim: {dim} is out of range for {len(shape)} dimensions")
        return shape[dim]
