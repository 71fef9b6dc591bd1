package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Functions whose formulas in tinygrad lose relative accuracy, drop NaN, or make NaN of infinity, rewritten without these flaws.

// accurateErf is erf by Cody's approximations; see erfc.
func accurateErf(x *uop.UOp) *uop.UOp {
	if asTinygrad(x) {
		return erf(x)
	}
	return smooth("erf", erfShort, erfLong, func(x, _ *uop.UOp) *uop.UOp { return mul(bell(x), 2/math.SqrtPi) }, x)
}

func erfLong(x *uop.UOp) *uop.UOp {
	s := signOf(x)
	a := mul(x, s)
	near, far := le(a, 0.5), gt(a, 4)
	return where(near, erfNear(where(near, x, 0)), mul(s, sub(1, erfcTail(a, a, near, far))))
}

// accurateSoftplus is max(y, 0) + log(1 + e^-|y|) for y = beta*x, over beta. Its gradient at 0 is 1/2.
func accurateSoftplus(x *uop.UOp, beta float64) *uop.UOp {
	if asTinygrad(x) {
		return softplus(x, beta)
	}
	y := mul(x, beta)
	return mul(add(where(lt(y, 0), 0, y), logOf1AndExp(y)), 1/beta)
}

const logOf1AndExpName = "log(1+e^-|x|)"

// logOf1AndExp is log(1 + e^-|x|).
func logOf1AndExp(x *uop.UOp) *uop.UOp {
	below := func(x *uop.UOp) *uop.UOp { return where(lt(x, neg(x)), x, neg(x)) }
	shortForm := func(x *uop.UOp) *uop.UOp { return log1pBelow1(exp(below(x))) }
	long := func(x *uop.UOp) *uop.UOp { return log1pLong(exp(below(x))) }
	return smooth(logOf1AndExpName, shortForm, long, func(x, _ *uop.UOp) *uop.UOp { return neg(mul(signOf(x), sigmoid(below(x)))) }, x)
}

// accurateElu is x above 0, else alpha*(e^(x/width) - 1).
func accurateElu(x *uop.UOp, alpha, width float64) *uop.UOp {
	above := gt(x, 0)
	below := mul(where(above, 0, x), 1/width)
	return where(above, x, mul(alpha, expm1(below)))
}

// reluNaN is max(x, 0) and keeps NaN; its gradient at 0 is 0.
func reluNaN(x *uop.UOp) *uop.UOp {
	if !x.DType.IsFloat() || asTinygrad(x) {
		return relu(x)
	}
	return where(bitOr(gt(x, 0), isNaN(x)), x, 0)
}

// between0And clamps x to 0..top.
func between0And(x *uop.UOp, top float64) *uop.UOp { return where(gt(x, top), top, reluNaN(x)) }

// Relu is max(x, 0), NaN of NaN; its gradient at 0 is 0.
func Relu(x *uop.UOp) (*uop.UOp, error) { return run1("Relu", reluNaN, x) }

// Relu6 is x limited to 0..6, NaN of NaN.
func Relu6(x *uop.UOp) (*uop.UOp, error) {
	return run1("Relu6", func(x *uop.UOp) *uop.UOp {
		if !x.DType.IsFloat() || asTinygrad(x) {
			return relu6(x)
		}
		return between0And(x, 6)
	}, x)
}

// HardSigmoid is the line x/6 + 1/2 cut at 0 and 1.
func HardSigmoid(x *uop.UOp) (*uop.UOp, error) { return HardSigmoidBy(x, 1.0/6, 0.5) }

// HardSigmoidBy is the line alpha x + beta cut at 0 and 1.
func HardSigmoidBy(x *uop.UOp, alpha, beta float64) (*uop.UOp, error) {
	return runFloat("HardSigmoid", func(x *uop.UOp) *uop.UOp {
		if asTinygrad(x) {
			return hardsigmoid(x, alpha, beta)
		}
		return between0And(add(mul(x, alpha), beta), 1)
	}, x)
}

// HardSwish is x*relu6(x+3)/6, also of infinities.
func HardSwish(x *uop.UOp) (*uop.UOp, error) {
	return runFloat("HardSwish", func(x *uop.UOp) *uop.UOp {
		if asTinygrad(x) {
			return hardswish(x)
		}
		above := bitOr(gt(x, -3), isNaN(x))
		x = where(above, x, 0)
		return mul(x, same(mul(between0And(add(x, 3), 6), 1.0/6), -1))
	}, x)
}

// Sign is -1, 0 or 1, NaN of NaN.
func Sign(x *uop.UOp) (*uop.UOp, error) { return run1("Sign", sign, x) }

// accurateLe is a <= b, false for NaN, unlike not a > b.
func accurateLe(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if !x.DType.IsFloat() || asTinygrad(x) {
		return le(a, b)
	}
	return bitOr(lt(x, y), eq(x, y))
}

// Le is a <= b, false for NaN.
func Le(a, b *uop.UOp) (*uop.UOp, error) { return run2("Le", accurateLe, a, b) }

// Ge is a >= b, false for NaN.
func Ge(a, b *uop.UOp) (*uop.UOp, error) {
	return run2("Ge", func(a, b operand) *uop.UOp { return accurateLe(b, a) }, a, b)
}

// LogSumExp is log(sum(e^x)) over axes, without overflow. An infinite maximum is the result; it is not subtracted.
func LogSumExp(x *uop.UOp, axes []int, keepdim bool) (r *uop.UOp, err error) {
	defer guard("LogSumExp", &err)
	need("x", x)
	return accurateLogSumExp(x, axes, keepdim), nil
}

func accurateLogSumExp(x *uop.UOp, axes []int, keepdim bool) *uop.UOp {
	x = asFloat(x)
	if asTinygrad(x) {
		return logSumExp(x, axes, keepdim)
	}
	return finiteLogSumExp(x, axes, keepdim)
}

// finiteLogSumExp shifts by the maximum where that is finite.
func finiteLogSumExp(x *uop.UOp, axes []int, keepdim bool) *uop.UOp {
	m := detach(maxOf(x, axes, true))
	m = where(isFinite(m), m, 0)
	r := logOfSum(sum(exp(sub(x, m)), axes, keepdim))
	return add(r, reshape(m, r.Shape()))
}

// logOfSum is log(x), but -inf with gradient 0 at x = 0: for a sum of exponentials whose exponents are all -inf.
func logOfSum(x *uop.UOp) *uop.UOp { return where(eq(x, 0), math.Inf(-1), log(x)) }

// accurateLerp interpolates from a to b, exactly b at w = 1.
func accurateLerp(a, b, w *uop.UOp) *uop.UOp {
	if !a.DType.IsFloat() || !b.DType.IsFloat() || !w.DType.IsFloat() || asTinygrad(a) {
		return lerp(a, b, w)
	}
	out := uop.LeastUpper(uop.LeastUpper(a.DType, b.DType), w.DType)
	a, b, w = atLeastF32(a), atLeastF32(b), atLeastF32(w)
	d := sub(b, a)
	return cast(where(lt(abs(w), 0.5), add(a, mul(d, w)), sub(b, mul(d, sub(1, w)))), out)
}

// accurateLogAddExp is max(a, b) + log(1 + e^-|a-b|). Equal infinities are not subtracted.
func accurateLogAddExp(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if asTinygrad(x) {
		return logAddExp(a, b)
	}
	x = asFloat(x)
	dt := x.DType
	x, y = atLeastF32(x), atLeastF32(cast(y, dt))
	d := where(bitAnd(isInf(x), eq(x, y)), 0, sub(x, y))
	return cast(add(where(lt(x, y), y, x), logOf1AndExp(d)), dt)
}

// accurateClamp is clamp with bounds that may be NaN: the result is NaN there.
func accurateClamp(x *uop.UOp, lo, hi operand) *uop.UOp {
	if asTinygrad(x) {
		return clamp(x, lo, hi)
	}
	bound := func(x *uop.UOp, b operand, beyond func(a, b operand) *uop.UOp) *uop.UOp {
		t, ok := b.(*uop.UOp)
		if !ok || !t.DType.IsFloat() || neverNaN(t) {
			return where(beyond(x, b), b, x)
		}
		return where(bitOr(beyond(x, t), isNaN(t)), t, x)
	}
	if lo != nil {
		x = bound(x, lo, lt)
	}
	if hi != nil {
		x = bound(x, hi, gt)
	}
	return x
}

// neverNaN reports whether a tensor is a constant other than NaN.
func neverNaN(x *uop.UOp) bool {
	for x.Op == uop.Reshape || x.Op == uop.Expand {
		x = x.Src[0]
	}
	return x.Op == uop.ConstOp && !math.IsNaN(x.ConstVal().F())
}

// Abs is |x|, 0 of -0; its gradient at 0 is 0.
func Abs(x *uop.UOp) (*uop.UOp, error) { return run1("Abs", abs, x) }

// CopySign is |a| with the sign of b, where -0 is negative.
func CopySign(a, b *uop.UOp) (*uop.UOp, error) {
	return run2("CopySign", copysign, a, b)
}

// Lerp is a + (b-a)*w, exactly b at w = 1, computed in float32 at least.
func Lerp(a, b, w *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Lerp", &err)
	needSame("operands", a, b, w)
	return accurateLerp(a, b, w), nil
}

// LogAddExp is log(e^a + e^b), without overflow, also of infinities, accurate where the result is near 0.
func LogAddExp(a, b *uop.UOp) (*uop.UOp, error) {
	return run2("LogAddExp", accurateLogAddExp, a, b)
}

// Erf is the error function, with a relative error of a few units in the last place.
func Erf(x *uop.UOp) (*uop.UOp, error) { return run1("Erf", inFloat(accurateErf), x) }

// Softplus is log(1+e^(beta*x))/beta, without overflow and accurate below 0; beta must not be 0.
func Softplus(x *uop.UOp, beta float64) (r *uop.UOp, err error) {
	defer guard("Softplus", &err)
	need("x", x)
	if beta == 0 {
		fail("beta", "is 0, expected another number")
	}
	return inFloat(func(x *uop.UOp) *uop.UOp { return accurateSoftplus(x, beta) })(x), nil
}

// LogSigmoid is log(sigmoid(x)), without underflow and accurate above 0.
func LogSigmoid(x *uop.UOp) (*uop.UOp, error) {
	return run1("LogSigmoid", inFloat(func(x *uop.UOp) *uop.UOp {
		if asTinygrad(x) {
			return logSigmoid(x)
		}
		return neg(accurateSoftplus(neg(x), 1))
	}), x)
}

// Mish is x*tanh(softplus(x)).
func Mish(x *uop.UOp) (*uop.UOp, error) {
	return run1("Mish", inFloat(func(x *uop.UOp) *uop.UOp {
		if asTinygrad(x) {
			return mul(x, tanh(accurateSoftplus(x, 1)))
		}
		value := func(x *uop.UOp) *uop.UOp {
			_, n := mishParts(x)
			return mul(x, div(n, add(n, 2)))
		}
		return smooth("mish", nil, value, func(x, _ *uop.UOp) *uop.UOp {
			e, n := mishParts(x)
			r := reciprocal(add(n, 2))
			return mul(r, add(n, mul(mul(mul(mul(4, x), e), add(e, 1)), r)))
		}, x)
	}), x)
}

// mishParts are e = e^x and n = e(e+2), for tanh(log(1+e)) = n/(n+2), which is 1 from 20 on.
func mishParts(x *uop.UOp) (e, n *uop.UOp) {
	e = exp(where(gt(x, 20), 20, x))
	return e, mul(e, add(e, 2))
}

// Elu is x for x > 0, else alpha*(e^x-1), accurate near 0.
func Elu(x *uop.UOp, alpha float64) (*uop.UOp, error) {
	return run1("Elu", inFloat(func(x *uop.UOp) *uop.UOp {
		if asTinygrad(x) {
			return elu(x, alpha)
		}
		return accurateElu(x, alpha, 1)
	}), x)
}

// Celu is x for x > 0, else alpha*(e^(x/alpha)-1), accurate near 0; alpha must not be 0.
func Celu(x *uop.UOp, alpha float64) (r *uop.UOp, err error) {
	defer guard("Celu", &err)
	need("x", x)
	if alpha == 0 {
		fail("alpha", "is 0, expected another number")
	}
	return inFloat(func(x *uop.UOp) *uop.UOp {
		if asTinygrad(x) {
			return celu(x, alpha)
		}
		return accurateElu(x, alpha, alpha)
	})(x), nil
}

// Selu is gamma*Elu(x, alpha).
func Selu(x *uop.UOp, alpha, gamma float64) (*uop.UOp, error) {
	return run1("Selu", inFloat(func(x *uop.UOp) *uop.UOp {
		if asTinygrad(x) {
			return selu(x, alpha, gamma)
		}
		return mul(gamma, accurateElu(x, alpha, 1))
	}), x)
}
