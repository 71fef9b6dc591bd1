"""Operations that Python calls in ways of its own."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from polygrad import _methods as op
from polygrad._base import Base, Operand, describe, make, operand, pair, to_dtype
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

    def clip(self, min_: Operand | None = None, max_: Operand | None = None) -> Self:
        """Return clamp(min_, max_)."""
        return self.clamp(min_, max_)

    def bitcast(self, dtype: DTypeLike) -> Self:
        """Return the same bits read as another data type; a gradient cannot pass.

        Where the sizes of the types differ, the last axis grows or shrinks.

        >>> Tensor([1.0]).bitcast("uint32").tolist()
        [1065353216]
        """
        if self.requires_grad:
            raise RuntimeError("bitcast: the tensor requires a gradient: detach it first")
        return self._call1(op.BITCAST, to_dtype(dtype))

    @classmethod
    def einsum(cls, formula: str, *operands: Any, dtype: DTypeLike | None = None) -> Self:
        """Sum products of elements, as the formula says; with dtype, operands are converted first.

        >>> a, b = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[5.0, 6.0], [7.0, 8.0]])
        >>> Tensor.einsum("ij,jk->ik", a, b).tolist(), Tensor.einsum("ii", a).item()
        ([[19.0, 22.0], [43.0, 50.0]], 5.0)
        """
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        if dtype is not None:
            operands = tuple(t.cast(dtype) for t in operands)
        return make(cls, op.EINSUM, operands, formula)

    def max_pool2d(
        self,
        kernel_size: Any = (2, 2),
        stride: Any = None,
        dilation: Any = 1,
        padding: Any = 0,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """Return the maximum of windows over as many last axes as kernel_size has numbers.

        With return_indices, also the place of each maximum in the flattened axes.

        >>> values, places = Tensor([[[[1.0, 2.0], [3.0, 6.0]]]]).max_pool2d(return_indices=True)
        >>> values.tolist(), places.tolist()
        ([[[[6.0]]]], [[[[3]]]])
        """
        window = (pair(kernel_size), stride, dilation, padding, bool(ceil_mode))
        if return_indices:
            return self._call(op.MAX_POOL2D_WITH_INDICES, *window)
        return self._call1(op.MAX_POOL2D, *window)

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of one axis.

        >>> Tensor.zeros(2, 3).size(), Tensor.zeros(2, 3).size(-1)
        ((2, 3), 3)
        """
        shape = describe(self)[0]
        if dim is None:
            return shape
        dim = index(dim)
        if not -len(shape) <= dim < len(shape):
            raise IndexError(f"dim: {dim} is out of range for {len(shape)} dimensions")
        return shape[dim]
