"""Tensor methods that work element by element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polygrad import _prototypes as c
from polygrad._base import Base, Operand, as_operand, call, combine, large, made, operand
from polygrad._graph import CTX
from polygrad._library import ArgumentError, fail, lib
from polygrad.dtype import DTypeLike, dtypes, to_dtype
from polygrad.variable import SymInt

if TYPE_CHECKING:
    from typing_extensions import Self

# Methods of the class below are called float, int and bool.
_float = float
_int = int
_bool = bool

_binary = lib.poly_binary
_binary_float = lib.poly_binary_float
_binary_int = lib.poly_binary_int
_binary_bool = lib.poly_binary_bool


class Elementwise(Base):
    """Arithmetic, comparisons, functions and activations."""

    __slots__ = ()

    def _with(self, op: _int, other: Any, swapped: _int = 0) -> Self:
        """Combine the tensor and an operand, or the operand and the tensor."""
        node = self._node
        kind = type(other)
        if kind is float:
            handle = _binary_float(CTX, op, node.handle, other, swapped)
        elif kind is int:
            if not -(1 << 63) <= other < 1 << 63:
                return self._with(op, large(other, self), swapped)
            handle = _binary_int(CTX, op, node.handle, other, swapped)
        elif isinstance(other, Base):
            second = other._node
            if swapped:
                handle = _binary(CTX, op, second.handle, node.handle)
            else:
                handle = _binary(CTX, op, node.handle, second.handle)
            return made(type(self), handle, (node, second))
        elif kind is bool:
            handle = _binary_bool(CTX, op, node.handle, other, swapped)
        elif isinstance(other, np.generic):
            return self._with(op, other.item(), swapped)
        elif isinstance(other, (np.ndarray, list, tuple)):
            return self._with(op, type(self)(other), swapped)  # type: ignore[call-arg]
        elif isinstance(other, SymInt):
            return self._with(op, as_operand(other, self), swapped)
        else:
            return cast("Self", NotImplemented)
        return made(type(self), handle, (node,))

    def _method(self, op: _int, other: Any, swapped: _bool) -> Self:
        result = self._with(op, other, int(swapped))
        if result is NotImplemented:
            raise TypeError(f"expected a tensor or a number, got {type(other).__name__}")
        return result

    # Arithmetic

    def __add__(self, x: Operand) -> Self:
        return self._with(c.POLY_ADD, x)

    def __radd__(self, x: Operand) -> Self:
        return self._with(c.POLY_ADD, x, 1)

    def __sub__(self, x: Operand) -> Self:
        return self._with(c.POLY_SUB, x)

    def __rsub__(self, x: Operand) -> Self:
        return self._with(c.POLY_SUB, x, 1)

    def __mul__(self, x: Operand) -> Self:
        return self._with(c.POLY_MUL, x)

    def __rmul__(self, x: Operand) -> Self:
        return self._with(c.POLY_MUL, x, 1)

    def __truediv__(self, x: Operand) -> Self:
        return self._with(c.POLY_DIV, x)

    def __rtruediv__(self, x: Operand) -> Self:
        return self._with(c.POLY_DIV, x, 1)

    def __floordiv__(self, x: Operand) -> Self:
        return self._with(c.POLY_FLOORDIV, x)

    def __rfloordiv__(self, x: Operand) -> Self:
        return self._with(c.POLY_FLOORDIV, x, 1)

    def __mod__(self, x: Operand) -> Self:
        return self._with(c.POLY_MOD, x)

    def __rmod__(self, x: Operand) -> Self:
        return self._with(c.POLY_MOD, x, 1)

    def __pow__(self, x: Operand) -> Self:
        return self._with(c.POLY_POW, x)

    def __rpow__(self, x: Operand) -> Self:
        return self._with(c.POLY_POW, x, 1)

    def __and__(self, x: Operand) -> Self:
        return self._with(c.POLY_AND, x)

    def __rand__(self, x: Operand) -> Self:
        return self._with(c.POLY_AND, x, 1)

    def __or__(self, x: Operand) -> Self:
        return self._with(c.POLY_OR, x)

    def __ror__(self, x: Operand) -> Self:
        return self._with(c.POLY_OR, x, 1)

    def __xor__(self, x: Operand) -> Self:
        return self._with(c.POLY_XOR, x)

    def __rxor__(self, x: Operand) -> Self:
        return self._with(c.POLY_XOR, x, 1)

    def __lshift__(self, x: Operand) -> Self:
        return self._with(c.POLY_SHL, x)

    def __rlshift__(self, x: Operand) -> Self:
        return self._with(c.POLY_SHL, x, 1)

    def __rshift__(self, x: Operand) -> Self:
        return self._with(c.POLY_SHR, x)

    def __rrshift__(self, x: Operand) -> Self:
        return self._with(c.POLY_SHR, x, 1)

    def __neg__(self) -> Self:
        return call("poly_neg", self)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return call("poly_abs", self)

    def __invert__(self) -> Self:
        return call("poly_bitwise_not", self)

    def add(self, x: Operand, reverse: _bool = False) -> Self:
        """Return self + x.

        >>> Tensor([1.0, 2.0]).add(10).tolist()
        [11.0, 12.0]
        """
        return self._method(c.POLY_ADD, x, reverse)

    def sub(self, x: Operand, reverse: _bool = False) -> Self:
        """Return self - x.

        >>> Tensor([1.0, 2.0]).sub(1, reverse=True).tolist()
        [0.0, -1.0]
        """
        return self._method(c.POLY_SUB, x, reverse)

    def mul(self, x: Operand, reverse: _bool = False) -> Self:
        """Return self * x.

        >>> Tensor([1.0, 2.0]).mul(Tensor([3.0, 4.0])).tolist()
        [3.0, 8.0]
        """
        return self._method(c.POLY_MUL, x, reverse)

    def div(self, x: Operand, reverse: _bool = False, rounding_mode: str | None = None) -> Self:
        """Return self / x; rounding_mode "floor" or "trunc" rounds the quotient.

        >>> Tensor([1, 2]).div(4).tolist(), Tensor([-7]).div(2, rounding_mode="trunc").tolist()
        ([0.25, 0.5], [-3])
        """
        ops = {None: c.POLY_DIV, "floor": c.POLY_FLOORDIV, "trunc": c.POLY_TRUNCDIV}
        if rounding_mode not in ops:
            raise ArgumentError(
                f"rounding_mode: {rounding_mode!r}, expected None, 'floor', 'trunc'"
            )
        return self._method(ops[rounding_mode], x, reverse)

    def idiv(self, x: Operand, reverse: _bool = False) -> Self:
        """Return self // x rounded towards zero, for integers.

        >>> Tensor([-7, 7]).idiv(2).tolist()
        [-3, 3]
        """
        return self._method(c.POLY_TRUNCDIV, x, reverse)

    def mod(self, x: Operand, reverse: _bool = False) -> Self:
        """Return self % x with the sign of x, as Python does.

        >>> Tensor([-7, 7]).mod(4).tolist()
        [1, 3]
        """
        return self._method(c.POLY_MOD, x, reverse)

    def pow(self, x: Operand, reverse: _bool = False) -> Self:
        """Return self ** x.

        Integers to the power of a float give float32; to that of an integer below 0 they raise
        an error.

        >>> Tensor([1.0, 2.0, 3.0]).pow(2).tolist()
        [1.0, 4.0, 9.0]
        """
        return self._method(c.POLY_POW, x, reverse)

    def maximum(self, x: Operand) -> Self:
        """Return the larger of self and x, element by element.

        >>> Tensor([1.0, 5.0]).maximum(3).tolist()
        [3.0, 5.0]
        """
        return self._method(c.POLY_MAXIMUM, x, False)

    def minimum(self, x: Operand) -> Self:
        """Return the smaller of self and x, element by element.

        >>> Tensor([1.0, 5.0]).minimum(3).tolist()
        [1.0, 3.0]
        """
        return self._method(c.POLY_MINIMUM, x, False)

    def bitwise_and(self, x: Operand, reverse: _bool = False) -> Self:
        """Return self & x, for integers and bools."""
        return self._method(c.POLY_AND, x, reverse)

    def bitwise_or(self, x: Operand, reverse: _bool = False) -> Self:
        """Return self | x, for integers and bools."""
        return self._method(c.POLY_OR, x, reverse)

    def bitwise_xor(self, x: Operand, reverse: _bool = False) -> Self:
        """Return self ^ x, for integers and bools."""
        return self._method(c.POLY_XOR, x, reverse)

    def bitwise_not(self) -> Self:
        """Return ~self, for integers and bools."""
        return call("poly_bitwise_not", self)

    def lshift(self, x: Operand, reverse: _bool = False) -> Self:
        """Return self << x, for unsigned integers."""
        return self._method(c.POLY_SHL, x, reverse)

    def rshift(self, x: Operand, reverse: _bool = False) -> Self:
        """Return self >> x, for unsigned integers."""
        return self._method(c.POLY_SHR, x, reverse)

    def logaddexp(self, other: Operand) -> Self:
        """Return log(e^self + e^other) without overflow.

        >>> round(Tensor([1000.0]).logaddexp(Tensor([1000.0])).item(), 3)
        1000.693
        """
        return self._method(c.POLY_LOGADDEXP, other, False)

    def copysign(self, other: Operand) -> Self:
        """Return |self| with the sign of other.

        >>> Tensor([1.0, 2.0]).copysign(Tensor([-3.0, 3.0])).tolist()
        [-1.0, 2.0]
        """
        return self._method(c.POLY_COPYSIGN, other, False)

    def fmod(self, x: Operand, reverse: _bool = False) -> Self:
        """Return the remainder of the division rounded towards zero: it has the sign of self.

        >>> Tensor([-7.0, 7.0]).fmod(4).tolist()
        [-3.0, 3.0]
        """
        return self._method(c.POLY_TRUNCMOD, x, reverse)

    def atan2(self, x: Operand, reverse: _bool = False) -> Self:
        """Return the angle of the point (x, self), in -pi .. pi.

        >>> Tensor([0.0, 1.0]).atan2(Tensor([1.0, 0.0])).numpy().round(4)
        array([0.    , 1.5708], dtype=float32)
        """
        return self._method(c.POLY_ATAN2, x, reverse)

    def hypot(self, other: Operand) -> Self:
        """Return sqrt(self^2 + other^2) without overflow.

        >>> Tensor([3.0]).hypot(4.0).tolist()
        [5.0]
        """
        return self._method(c.POLY_HYPOT, other, False)

    def lerp(self, end: Base, weight: Operand) -> Self:
        """Return self + (end - self) * weight.

        >>> Tensor([1.0, 2.0]).lerp(Tensor([5.0, 6.0]), 0.5).tolist()
        [3.0, 4.0]
        """
        by = operand(weight, self)
        handle = lib.poly_lerp(CTX, self._node.handle, end._node.handle, by.handle)
        return made(type(self), handle, (self._node, end._node, by))

    # Comparisons give bool tensors: 1.0 and 0.0 in arithmetic.

    def __lt__(self, x: Operand) -> Self:
        return self._with(c.POLY_LT, x)

    def __le__(self, x: Operand) -> Self:
        return self._with(c.POLY_LE, x)

    def __gt__(self, x: Operand) -> Self:
        return self._with(c.POLY_GT, x)

    def __ge__(self, x: Operand) -> Self:
        return self._with(c.POLY_GE, x)

    def __eq__(self, x: object) -> Self:  # type: ignore[override]
        return self._with(c.POLY_EQ, x)

    def __ne__(self, x: object) -> Self:  # type: ignore[override]
        return self._with(c.POLY_NE, x)

    __hash__ = object.__hash__

    def eq(self, x: Operand) -> Self:
        """Return self == x as a bool tensor.

        >>> Tensor([1.0, 2.0]).eq(2).tolist()
        [False, True]
        """
        return self._method(c.POLY_EQ, x, False)

    def ne(self, x: Operand) -> Self:
        """Return self != x as a bool tensor."""
        return self._method(c.POLY_NE, x, False)

    def isclose(
        self,
        other: Operand,
        rtol: _float = 1e-05,
        atol: _float = 1e-08,
        equal_nan: _bool = False,
    ) -> Self:
        """Tell where |self - other| <= atol + rtol * |other|, or both are the same infinity.

        >>> Tensor([1.0, 2.0]).isclose(Tensor([1.000001, 2.1])).tolist()
        [True, False]
        """
        return combine("poly_isclose", self, as_operand(other, self), rtol, atol, equal_nan)

    def allclose(
        self,
        other: Operand,
        rtol: _float = 1e-05,
        atol: _float = 1e-08,
        equal_nan: _bool = False,
    ) -> _bool:
        """Tell whether isclose holds everywhere.

        >>> Tensor([1.0, 2.0]).allclose([1.0, 2.0])
        True
        """
        other = as_operand(other, self)
        result: Any = combine("poly_allclose", self, other, rtol, atol, equal_nan)
        return _bool(result.item())

    def where(self, x: Operand, y: Operand) -> Self:
        """Return x where self is true, y elsewhere.

        >>> (Tensor([1.0, -2.0, 3.0]) > 0).where(Tensor([10.0, 20.0, 30.0]), 0).tolist()
        [10.0, 0.0, 30.0]
        """
        if isinstance(x, Base):
            first, second = x._node, operand(y, x)
        elif isinstance(y, Base):
            first, second = operand(x, y), y._node
        else:
            make: Any = type(self)
            first, second = make.full((), x)._node, make.full((), y)._node
        handle = lib.poly_where_op(CTX, self._node.handle, first.handle, second.handle)
        return made(type(self), handle, (self._node, first, second))

    def masked_fill(self, mask: Base, value: Operand) -> Self:
        """Return self with value where mask is true.

        >>> Tensor([1.0, 2.0]).masked_fill(Tensor([True, False]), 9).tolist()
        [9.0, 2.0]
        """
        fill = operand(value, self)
        handle = lib.poly_where_op(CTX, mask._node.handle, fill.handle, self._node.handle)
        return made(type(self), handle, (mask._node, fill, self._node))

    def clamp(self, min_: Operand | None = None, max_: Operand | None = None) -> Self:
        """Return self with values below min_ and above max_ replaced by these.

        The bounds are numbers or tensors.

        >>> Tensor([-2.0, 0.5, 2.0]).clamp(-1, 1).tolist()
        [-1.0, 0.5, 1.0]
        """
        if min_ is None and max_ is None:
            raise ValueError("clamp: min_ and max_ are both None")
        if not all(b is None or isinstance(b, (_int, _float)) for b in (min_, max_)):
            bounds = [None if b is None else as_operand(b, self) for b in (min_, max_)]
            return combine("poly_clip", self, *bounds)
        low = -math.inf if min_ is None else min_
        high = math.inf if max_ is None else max_
        return call("poly_clamp", self, low, high)

    def clip(self, min_: Operand | None = None, max_: Operand | None = None) -> Self:
        """Return clamp(min_, max_)."""
        return self.clamp(min_, max_)

    # Functions

    def exp(self) -> Self:
        """Return e^x."""
        return call("poly_exp", self)

    def exp2(self) -> Self:
        """Return 2^x.

        >>> Tensor([0.0, 3.0]).exp2().tolist()
        [1.0, 8.0]
        """
        return call("poly_exp2", self)

    def expm1(self) -> Self:
        """Return e^x - 1, accurate near 0."""
        return call("poly_expm1", self)

    def log(self) -> Self:
        """Return the natural logarithm; NaN for negative numbers."""
        return call("poly_log", self)

    def log2(self) -> Self:
        """Return the logarithm to base 2.

        >>> Tensor([1.0, 8.0]).log2().tolist()
        [0.0, 3.0]
        """
        return call("poly_log2", self)

    def log10(self) -> Self:
        """Return the logarithm to base 10."""
        return call("poly_log10", self)

    def log1p(self) -> Self:
        """Return log(1+x), accurate near 0."""
        return call("poly_log1p", self)

    def sqrt(self) -> Self:
        """Return the square root; NaN for negative numbers.

        >>> Tensor([4.0, 9.0]).sqrt().tolist()
        [2.0, 3.0]
        """
        return call("poly_sqrt", self)

    def rsqrt(self) -> Self:
        """Return 1 / sqrt(x)."""
        return call("poly_rsqrt", self)

    def reciprocal(self) -> Self:
        """Return 1 / x.

        >>> Tensor([2.0, 4.0]).reciprocal().tolist()
        [0.5, 0.25]
        """
        return call("poly_reciprocal", self)

    def square(self) -> Self:
        """Return x * x.

        >>> Tensor([-3.0, 2.0]).square().tolist()
        [9.0, 4.0]
        """
        return call("poly_square", self)

    def neg(self) -> Self:
        """Return -x."""
        return call("poly_neg", self)

    def abs(self) -> Self:
        """Return |x|.

        >>> Tensor([-3.0, 2.0]).abs().tolist()
        [3.0, 2.0]
        """
        return call("poly_abs", self)

    def sign(self) -> Self:
        """Return -1, 0 or +1; NaN stays NaN.

        >>> Tensor([-3.0, 0.0, 2.0]).sign().tolist()
        [-1.0, 0.0, 1.0]
        """
        return call("poly_sign", self)

    def sin(self) -> Self:
        """Return the sine."""
        return call("poly_sin", self)

    def cos(self) -> Self:
        """Return the cosine."""
        return call("poly_cos", self)

    def tan(self) -> Self:
        """Return the tangent."""
        return call("poly_tan", self)

    def asin(self) -> Self:
        """Return the arc sine, in -pi/2 .. pi/2."""
        return call("poly_asin", self)

    def acos(self) -> Self:
        """Return the arc cosine, in 0 .. pi."""
        return call("poly_acos", self)

    def atan(self) -> Self:
        """Return the arc tangent, in -pi/2 .. pi/2."""
        return call("poly_atan", self)

    def sinh(self) -> Self:
        """Return the hyperbolic sine."""
        return call("poly_sinh", self)

    def cosh(self) -> Self:
        """Return the hyperbolic cosine."""
        return call("poly_cosh", self)

    def asinh(self) -> Self:
        """Return the inverse hyperbolic sine."""
        return call("poly_asinh", self)

    def acosh(self) -> Self:
        """Return the inverse hyperbolic cosine."""
        return call("poly_acosh", self)

    def atanh(self) -> Self:
        """Return the inverse hyperbolic tangent."""
        return call("poly_atanh", self)

    def ceil(self) -> Self:
        """Round up.

        >>> Tensor([-1.5, 1.5]).ceil().tolist()
        [-1.0, 2.0]
        """
        return call("poly_ceil", self)

    def floor(self) -> Self:
        """Round down.

        >>> Tensor([-1.5, 1.5]).floor().tolist()
        [-2.0, 1.0]
        """
        return call("poly_floor", self)

    def trunc(self) -> Self:
        """Round towards zero.

        >>> Tensor([-1.5, 1.5]).trunc().tolist()
        [-1.0, 1.0]
        """
        return call("poly_trunc", self)

    def round(self) -> Self:
        """Round to the nearest integer, halves to the even one.

        >>> Tensor([-1.5, 0.5, 1.5, 2.4]).round().tolist()
        [-2.0, 0.0, 2.0, 2.0]
        """
        return call("poly_round_f", self)

    def isnan(self) -> Self:
        """Tell where the tensor is NaN.

        >>> Tensor([1.0, float("nan")]).isnan().tolist()
        [False, True]
        """
        return call("poly_isnan", self)

    def isinf(self, detect_positive: _bool = True, detect_negative: _bool = True) -> Self:
        """Tell which elements are infinite, of one sign or of both.

        >>> t = Tensor([-np.inf, 1.0, np.inf])
        >>> t.isinf().tolist(), t.isinf(detect_negative=False).tolist()
        ([True, False, True], [False, False, True])
        """
        if detect_positive and detect_negative:
            return call("poly_isinf", self)
        wanted = math.inf if detect_positive else -math.inf if detect_negative else math.nan
        return self.eq(wanted)

    def isfinite(self) -> Self:
        """Tell where the tensor is neither infinite nor NaN."""
        return call("poly_isfinite", self)

    def logical_not(self) -> Self:
        """Tell where the tensor is 0.

        >>> Tensor([0, 2]).logical_not().tolist()
        [True, False]
        """
        return call("poly_logical_not", self)

    def erf(self) -> Self:
        """Return the error function."""
        return call("poly_erf", self)

    def erfc(self) -> Self:
        """Return 1 - erf(x), accurate in the tail."""
        return call("poly_erfc", self)

    def erfinv(self) -> Self:
        """Return the inverse of erf, for -1 < x < 1."""
        return call("poly_erfinv", self)

    def ndtri(self) -> Self:
        """Return the quantile of the normal distribution, for 0 < x < 1."""
        return call("poly_ndtri", self)

    def lgamma(self) -> Self:
        """Return log |gamma(x)|; infinite at 0, -1, -2, …."""
        return call("poly_lgamma", self)

    def digamma(self) -> Self:
        """Return the derivative of lgamma; NaN at its poles -1, -2, …."""
        return call("poly_digamma", self)

    # Activations

    def relu(self) -> Self:
        """Return max(0, x).

        >>> Tensor([-1.0, 2.0]).relu().tolist()
        [0.0, 2.0]
        """
        return call("poly_relu", self)

    def relu6(self) -> Self:
        """Return relu(x), at most 6.

        >>> Tensor([-1.0, 2.0, 8.0]).relu6().tolist()
        [0.0, 2.0, 6.0]
        """
        return call("poly_relu6", self)

    def leaky_relu(self, neg_slope: _float = 0.01) -> Self:
        """Return x where it is positive, neg_slope * x elsewhere.

        >>> Tensor([-4.0, 2.0]).leaky_relu(0.25).tolist()
        [-1.0, 2.0]
        """
        return call("poly_leaky_relu", self, neg_slope)

    def sigmoid(self) -> Self:
        """Return 1 / (1 + e^-x).

        >>> Tensor([0.0]).sigmoid().tolist()
        [0.5]
        """
        return call("poly_sigmoid", self)

    def logsigmoid(self) -> Self:
        """Return log(sigmoid(x)) without overflow."""
        return call("poly_logsigmoid", self)

    def tanh(self) -> Self:
        """Return the hyperbolic tangent."""
        return call("poly_tanh_act", self)

    def gelu(self) -> Self:
        """Return 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
        return call("poly_gelu", self)

    def quick_gelu(self) -> Self:
        """Return x * sigmoid(1.702 x)."""
        return call("poly_quick_gelu", self)

    def silu(self) -> Self:
        """Return x * sigmoid(x)."""
        return call("poly_silu", self)

    def swish(self) -> Self:
        """Return x * sigmoid(x)."""
        return call("poly_silu", self)

    def elu(self, alpha: _float = 1.0) -> Self:
        """Return x where it is positive, alpha * (e^x - 1) elsewhere."""
        return call("poly_elu", self, alpha)

    def celu(self, alpha: _float = 1.0) -> Self:
        """Return max(0, x) + min(0, alpha * (e^(x/alpha) - 1))."""
        return call("poly_celu", self, alpha)

    def selu(self, alpha: _float = 1.67326, gamma: _float = 1.0507) -> Self:
        """Return gamma * elu(x, alpha)."""
        return call("poly_selu", self, alpha, gamma)

    def softplus(self, beta: _float = 1.0) -> Self:
        """Return log(1 + e^(beta x)) / beta without overflow."""
        return call("poly_softplus", self, beta)

    def mish(self) -> Self:
        """Return x * tanh(softplus(x))."""
        return call("poly_mish", self)

    def softsign(self) -> Self:
        """Return x / (1 + |x|).

        >>> Tensor([-1.0, 3.0]).softsign().tolist()
        [-0.5, 0.75]
        """
        return call("poly_softsign", self)

    def hardtanh(self, min_val: _float = -1, max_val: _float = 1) -> Self:
        """Return x clamped to min_val .. max_val.

        >>> Tensor([-1.5, 0.5]).hardtanh().tolist()
        [-1.0, 0.5]
        """
        return call("poly_hardtanh", self, min_val, max_val)

    def hardswish(self) -> Self:
        """Return x * relu6(x + 3) / 6."""
        return call("poly_hardswish", self)

    def hardsigmoid(self, alpha: _float = 1 / 6, beta: _float = 0.5) -> Self:
        """Return alpha * x + beta clamped to 0 .. 1.

        >>> Tensor([-9.0, 0.0, 9.0]).hardsigmoid().tolist()
        [0.0, 0.5, 1.0]
        """
        return call("poly_hardsigmoid_by", self, alpha, beta)

    # Types

    def cast(self, dtype: DTypeLike) -> Self:
        """Return the tensor in another data type.

        >>> Tensor([1.7, -1.7]).cast("int32").tolist()
        [1, -1]
        """
        return call("poly_cast_by_id", self, to_dtype(dtype).id)

    def bitcast(self, dtype: DTypeLike) -> Self:
        """Return the same bits read as another data type; a gradient cannot pass.

        Where the sizes of the types differ, the last axis grows or shrinks.

        >>> Tensor([1.0]).bitcast("uint32").tolist()
        [1065353216]
        """
        if self._node.tracked:
            raise RuntimeError("bitcast: the tensor requires a gradient: detach it first")
        handle = lib.poly_bitcast_by_id(CTX, self._node.handle, to_dtype(dtype).id)
        if handle is None:
            fail(ArgumentError)
        result = made(type(self), handle, (self._node,))
        result._node.shows = True
        return result

    def float(self) -> Self:
        """Return cast("float32")."""
        return self.cast(dtypes.float32)

    def double(self) -> Self:
        """Return cast("float64")."""
        return self.cast(dtypes.float64)

    def half(self) -> Self:
        """Return cast("float16")."""
        return self.cast(dtypes.float16)

    def bfloat16(self) -> Self:
        """Return cast("bfloat16")."""
        return self.cast(dtypes.bfloat16)

    def short(self) -> Self:
        """Return cast(dtypes.int16)."""
        return self.cast(dtypes.int16)

    def int(self) -> Self:
        """Return cast("int32")."""
        return self.cast(dtypes.int32)

    def long(self) -> Self:
        """Return cast("int64")."""
        return self.cast(dtypes.int64)

    def bool(self) -> Self:
        """Return cast("bool").

        >>> Tensor([0.0, 2.0]).bool().tolist()
        [False, True]
        """
        return self.cast(dtypes.bool)
