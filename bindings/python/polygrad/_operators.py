"""Operators of tensors, and the methods behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad import _methods as op
from polygrad import _prototypes as c
from polygrad._base import Base, Operand, T, as_tensor, operand, pair, to_dtype
from polygrad._methods import Methods
from polygrad.dtype import DTypeLike

if TYPE_CHECKING:
    from typing_extensions import Self


def _method(x: T, code: int, other: Any, swapped: bool) -> T:
    result = x._binary(code, other, bool(swapped))
    if result is NotImplemented:
        raise TypeError(f"expected a tensor or a number, got {type(other).__name__}")
    return result


class Operators(Methods):
    """Arithmetic and comparisons."""

    __slots__ = ()

    # Arithmetic

    def __add__(self, x: Operand) -> Self:
        return self._binary(c.POLY_ADD, x)

    def __radd__(self, x: Operand) -> Self:
        return self._binary(c.POLY_ADD, x, True)

    def __sub__(self, x: Operand) -> Self:
        return self._binary(c.POLY_SUB, x)

    def __rsub__(self, x: Operand) -> Self:
        return self._binary(c.POLY_SUB, x, True)

    def __mul__(self, x: Operand) -> Self:
        return self._binary(c.POLY_MUL, x)

    def __rmul__(self, x: Operand) -> Self:
        return self._binary(c.POLY_MUL, x, True)

    def __truediv__(self, x: Operand) -> Self:
        return self._binary(c.POLY_DIV, x)

    def __rtruediv__(self, x: Operand) -> Self:
        return self._binary(c.POLY_DIV, x, True)

    def __floordiv__(self, x: Operand) -> Self:
        return self._binary(c.POLY_FLOORDIV, x)

    def __rfloordiv__(self, x: Operand) -> Self:
        return self._binary(c.POLY_FLOORDIV, x, True)

    def __mod__(self, x: Operand) -> Self:
        return self._binary(c.POLY_MOD, x)

    def __rmod__(self, x: Operand) -> Self:
        return self._binary(c.POLY_MOD, x, True)

    def __pow__(self, x: Operand) -> Self:
        return self._binary(c.POLY_POW, x)

    def __rpow__(self, x: Operand) -> Self:
        return self._binary(c.POLY_POW, x, True)

    def __and__(self, x: Operand) -> Self:
        return self._binary(c.POLY_AND, x)

    def __rand__(self, x: Operand) -> Self:
        return self._binary(c.POLY_AND, x, True)

    def __or__(self, x: Operand) -> Self:
        return self._binary(c.POLY_OR, x)

    def __ror__(self, x: Operand) -> Self:
        return self._binary(c.POLY_OR, x, True)

    def __xor__(self, x: Operand) -> Self:
        return self._binary(c.POLY_XOR, x)

    def __rxor__(self, x: Operand) -> Self:
        return self._binary(c.POLY_XOR, x, True)

    def __lshift__(self, x: Operand) -> Self:
        return self._binary(c.POLY_SHL, x)

    def __rlshift__(self, x: Operand) -> Self:
        return self._binary(c.POLY_SHL, x, True)

    def __rshift__(self, x: Operand) -> Self:
        return self._binary(c.POLY_SHR, x)

    def __rrshift__(self, x: Operand) -> Self:
        return self._binary(c.POLY_SHR, x, True)

    def __matmul__(self, x: Operand) -> Self:
        return self.matmul(x)

    def __rmatmul__(self, x: Operand) -> Self:
        return self.matmul(x, reverse=True)

    def __neg__(self) -> Self:
        return self._call1(op.NEG)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return self._call1(op.ABS)

    def __invert__(self) -> Self:
        return self._call1(op.BITWISE_NOT)

    def add(self, x: Operand, reverse: bool = False) -> Self:
        """Return self + x.

        >>> Tensor([1.0, 2.0]).add(10).tolist()
        [11.0, 12.0]
        """
        return _method(self, c.POLY_ADD, x, reverse)

    def sub(self, x: Operand, reverse: bool = False) -> Self:
        """Return self - x.

        >>> Tensor([1.0, 2.0]).sub(1, reverse=True).tolist()
        [0.0, -1.0]
        """
        return _method(self, c.POLY_SUB, x, reverse)

    def mul(self, x: Operand, reverse: bool = False) -> Self:
        """Return self * x.

        >>> Tensor([1.0, 2.0]).mul(Tensor([3.0, 4.0])).tolist()
        [3.0, 8.0]
        """
        return _method(self, c.POLY_MUL, x, reverse)

    # Comparisons give bool tensors: 1.0 and 0.0 in arithmetic.

    def __lt__(self, x: Operand) -> Self:
        return self._binary(c.POLY_LT, x)

    def __le__(self, x: Operand) -> Self:
        return self._binary(c.POLY_LE, x)

    def __gt__(self, x: Operand) -> Self:
        return self._binary(c.POLY_GT, x)

    def __ge__(self, x: Operand) -> Self:
        return self._binary(c.POLY_GE, x)

    def __eq__(self, x: object) -> Self:  # type: ignore[override]
        return self._binary(c.POLY_EQ, x)

    def __ne__(self, x: object) -> Self:  # type: ignore[override]
        return self._binary(c.POLY_NE, x)

    __hash__ = object.__hash__

    def allclose(
        self, other: Operand, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> Any:
        """Tell whether isclose holds everywhere.

        >>> Tensor([1.0, 2.0]).allclose([1.0, 2.0])
        True
        """
        other = as_tensor(other, self)
        result: Any = self._call1(op.ALLCLOSE, other, rtol, atol, equal_nan)
        return result.item()

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

    def isinf(self, detect_positive: bool = True, detect_negative: bool = True) -> Self:
        """Tell where values are infinite, of either sign or of one.

        >>> Tensor([1.0, float("inf"), -float("inf")]).isinf(detect_negative=False).tolist()
        [False, True, False]
        """
        if detect_positive and detect_negative:
            return self._call1(op.ISINF)
        if detect_positive or detect_negative:
            return self.eq(float("inf") if detect_positive else -float("inf"))
        return self.ne(self)

    def bitcast(self, dtype: DTypeLike) -> Self:
        """Return the same bits read as another data type; a gradient cannot pass.

        Where the sizes of the types differ, the last axis grows or shrinks.

        >>> Tensor([1.0]).bitcast("uint32").tolist()
        [1065353216]
        """
        if self.requires_grad:  # type: ignore[attr-defined]
            raise RuntimeError("bitcast: the tensor requires a gradient: detach it first")
        return self._call1(op.BITCAST, to_dtype(dtype))

    def dot(self, w: Operand, dtype: DTypeLike | None = None) -> Self:
        """Return the matrix product."""
        return self.matmul(w, dtype=dtype)

    def linear(
        self, weight: Self, bias: Self | None = None, dtype: DTypeLike | None = None
    ) -> Self:
        """Return x @ weight + bias for a weight of shape (in, out).

        A weight of one axis multiplies element by element; one of shape (out, in), as nn.Linear
        keeps it, is turned where only that fits. With dtype, all three are converted first.

        >>> Tensor([1.0, 2.0]).linear(Tensor([[3.0], [4.0]]), Tensor([0.5])).tolist()
        [11.5]
        """
        x = self
        if dtype is not None:
            x, weight = self.cast(dtype), weight.cast(dtype)
            bias = bias if bias is None else bias.cast(dtype)
        return x._call1(op.LINEAR, weight, bias)

    def conv2d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: Any = 1,
        dilation: Any = 1,
        padding: Any = 0,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """Convolve (N, in, …) with weight (out, in/groups, …), and add bias (out).

        The windows slide over one, two, three or more axes, as many as weight has beyond two. An
        axis of size i becomes
        (i + padding - dilation * (kernel - 1) - 1) // stride + 1 long. With dtype, self and weight
        are converted first.

        >>> x = Tensor.arange(9).reshape(1, 1, 3, 3).float()
        >>> x.conv2d(Tensor.ones(1, 1, 2, 2)).tolist()
        [[[[8.0, 12.0], [20.0, 24.0]]]]
        """
        x = self
        if dtype is not None:
            x, weight = self.cast(dtype), weight.cast(dtype)
        return x._call1(op.CONV2D, weight, bias, groups, stride, dilation, padding)

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
