package tensor

import "polygrad/core/uop"

// Functions whose formulas in tinygrad lose their relative accuracy somewhere, or NaN, or make NaN of infinity,
// written so that they do not.

// fullErf is erf by Cody's approximations; see erfc. The first one is good farther than it is used there.
func fullErf(x *uop.UOp) *uop.UOp {
	s := signOf(x)
	a := mul(x, s)
	limit := 0.5
	if x.DType.Itemsize() <= 4 {
		limit = 1 // where the approximation is still better than what the tail leaves of 1
	}
	near, far := le(a, limit), gt(a, 4)
	return where(near, erfNear(where(near, x, 0)), mul(s, sub(1, erfcTail(a, a, near, far))))
}

// fullSoftplus is max(y, 0) + log(1 + e^-|y|) for y = beta*x, over beta. Its gradient at 0 is 1/2.
func fullSoftplus(x *uop.UOp, beta float64) *uop.UOp {
	y := mul(x, beta)
	r := add(where(lt(y, 0), 0, y), log1p(exp(neg(mul(y, signOf(y))))))
	return mul(r, 1/beta)
}

// fullElu is x above 0, else alpha*(e^(x/width) - 1).
func fullElu(x *uop.UOp, alpha, width float64) *uop.UOp {
	above := gt(x, 0)
	return where(above, x, mul(alpha, expm1(mul(where(above, 0, x), 1/width))))
}

// reluNaN is max(x, 0) and keeps NaN; its gradient at 0 is 0.
func reluNaN(x *uop.UOp) *uop.UOp {
	if !x.DType.IsFloat() {
		return relu(x)
	}
	return where(bitOr(gt(x, 0), isNaN(x)), x, 0)
}

// between0And is x limited to 0..top.
func between0And(x *uop.UOp, top float64) *uop.UOp { return where(gt(x, top), top, reluNaN(x)) }

// Relu is max(x, 0), NaN of NaN; its gradient at 0 is 0.
func Relu(x *uop.UOp) (*uop.UOp, error) { return run1("Relu", reluNaN, x) }

// Relu6 is x limited to 0..6, NaN of NaN.
func Relu6(x *uop.UOp) (*uop.UOp, error) {
	return run1("Relu6", func(x *uop.UOp) *uop.UOp {
		if !x.DType.IsFloat() {
			return relu6(x)
		}
		return between0And(x, 6)
	}, x)
}

// HardSigmoid is the line x/6 + 1/2 cut at 0 and 1.
func HardSigmoid(x *uop.UOp) (*uop.UOp, error) { return HardSigmoidBy(x, 1.0/6, 0.5) }

// HardSigmoidBy is the line alpha x + beta cut at 0 and 1.
func HardSigmoidBy(x *uop.UOp, alpha, beta float64) (*uop.UOp, error) {
	return runFloat("HardSigmoid", func(x *uop.UOp) *uop.UOp { return between0And(add(mul(x, alpha), beta), 1) }, x)
}

// HardSwish is x*relu6(x+3)/6, also of infinities.
func HardSwish(x *uop.UOp) (*uop.UOp, error) {
	return runFloat("HardSwish", func(x *uop.UOp) *uop.UOp {
		above := bitOr(gt(x, -3), isNaN(x))
		x = where(above, x, 0)
		return mul(x, same(mul(between0And(add(x, 3), 6), 1.0/6), -1))
	}, x)
}

// Sign is -1, 0 or 1, NaN of NaN.
func Sign(x *uop.UOp) (*uop.UOp, error) {
	return run1("Sign", func(x *uop.UOp) *uop.UOp {
		if !x.DType.IsFloat() {
			return sign(x)
		}
		return where(isNaN(x), x, sign(x))
	}, x)
}

// fullLe is a <= b, false beside NaN, where not a > b is true.
func fullLe(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if !x.DType.IsFloat() {
		return le(x, y)
	}
	return bitOr(lt(x, y), eq(x, y))
}

// Le is a <= b, false beside NaN.
func Le(a, b *uop.UOp) (*uop.UOp, error) { return run2("Le", fullLe, a, b) }

// Ge is a >= b, false beside NaN.
func Ge(a, b *uop.UOp) (*uop.UOp, error) {
	return run2("Ge", func(a, b operand) *uop.UOp { return fullLe(b, a) }, a, b)
}

// LogSumExp is log(sum(e^x)) over axes, without overflow: infinite where the greatest element is, which is then not subtracted.
func LogSumExp(x *uop.UOp, axes []int, keepdim bool) (r *uop.UOp, err error) {
	defer guard("LogSumExp", &err)
	need("x", x)
	return fullLogSumExp(x, axes, keepdim), nil
}

func fullLogSumExp(x *uop.UOp, axes []int, keepdim bool) *uop.UOp {
	x = asFloat(x)
	m := detach(maxOf(x, axes, true))
	m = where(isFinite(m), m, 0)
	r := log(sum(exp(sub(x, m)), axes, keepdim))
	return add(r, reshape(m, r.Shape()))
}

// fullAbs is |x|, of -0 too; its gradient at 0 is 0.
func fullAbs(x *uop.UOp) *uop.UOp {
	if !x.DType.IsFloat() {
		return abs(x)
	}
	return where(gt(x, 0), x, where(eq(x, 0), 0, neg(x)))
}

// fullCopySign is |a| with the sign of b. The gradient of b is 0.
func fullCopySign(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if !x.DType.IsFloat() {
		return copysign(x, y)
	}
	m := fullAbs(x)
	return add(where(negative(y), neg(m), m), mul(sign(y), 0))
}

// fullLerp goes from a to b, and meets b at w = 1.
func fullLerp(a, b, w *uop.UOp) *uop.UOp {
	if !a.DType.IsFloat() || !b.DType.IsFloat() || !w.DType.IsFloat() {
		return lerp(a, b, w)
	}
	out := uop.LeastUpper(uop.LeastUpper(a.DType, b.DType), w.DType)
	a, b, w = atLeastF32(a), atLeastF32(b), atLeastF32(w)
	d := sub(b, a)
	return cast(where(lt(fullAbs(w), 0.5), add(a, mul(d, w)), sub(b, mul(d, sub(1, w)))), out)
}

// fullLogAddExp is the greater one and log(1 + e^-|a-b|). Equal infinities are not subtracted.
func fullLogAddExp(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	x = asFloat(x)
	dt := x.DType
	x, y = atLeastF32(x), atLeastF32(cast(y, dt))
	second := lt(x, y)
	most, d := where(second, y, x), where(second, sub(x, y), sub(y, x))
	d = where(bitAnd(isInf(x), eq(x, y)), 0, d)
	return cast(add(most, log1p(exp(d))), dt)
}

// fullClamp is clamp by bounds that may be NaN: the result is NaN there.
func fullClamp(x *uop.UOp, lo, hi operand) *uop.UOp {
	bound := func(x *uop.UOp, b operand, beyond func(a, b operand) *uop.UOp) *uop.UOp {
		t, ok := b.(*uop.UOp)
		if !ok || !t.DType.IsFloat() {
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

// Abs is |x|, 0 of -0; its gradient at 0 is 0.
func Abs(x *uop.UOp) (*uop.UOp, error) { return run1("Abs", fullAbs, x) }

// CopySign is |a| with the sign of b, that of -0 too.
func CopySign(a, b *uop.UOp) (*uop.UOp, error) {
	return run2("CopySign", fullCopySign, a, b)
}

// Lerp is a + (b-a)*w, exactly b at w = 1, computed in float32 at least.
func Lerp(a, b, w *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Lerp", &err)
	needSame("operands", a, b, w)
	return fullLerp(a, b, w), nil
}

// LogAddExp is log(e^a + e^b), without overflow, also of infinities, accurate where the result is near 0.
func LogAddExp(a, b *uop.UOp) (*uop.UOp, error) {
	return run2("LogAddExp", fullLogAddExp, a, b)
}

// Erf is the error function, with a relative error of a few units in the last place.
func Erf(x *uop.UOp) (*uop.UOp, error) { return run1("Erf", inFloat(fullErf), x) }

// Softplus is log(1+e^(beta*x))/beta, without overflow and accurate below 0; beta must not be 0.
func Softplus(x *uop.UOp, beta float64) (r *uop.UOp, err error) {
	defer guard("Softplus", &err)
	need("x", x)
	if beta == 0 {
		fail("beta", "is 0")
	}
	return inFloat(func(x *uop.UOp) *uop.UOp { return fullSoftplus(x, beta) })(x), nil
}

// LogSigmoid is log(sigmoid(x)), without underflow and accurate above 0.
func LogSigmoid(x *uop.UOp) (*uop.UOp, error) {
	return run1("LogSigmoid", inFloat(func(x *uop.UOp) *uop.UOp { return neg(fullSoftplus(neg(x), 1)) }), x)
}

// Mish is x*tanh(softplus(x)).
func Mish(x *uop.UOp) (*uop.UOp, error) {
	return run1("Mish", inFloat(func(x *uop.UOp) *uop.UOp { return mul(x, tanh(fullSoftplus(x, 1))) }), x)
}

// Elu is x for x > 0, else alpha*(e^x-1), accurate near 0.
func Elu(x *uop.UOp, alpha float64) (*uop.UOp, error) {
	return run1("Elu", inFloat(func(x *uop.UOp) *uop.UOp { return fullElu(x, alpha, 1) }), x)
}

// Celu is x for x > 0, else alpha*(e^(x/alpha)-1), accurate near 0; alpha must not be 0.
func Celu(x *uop.UOp, alpha float64) (r *uop.UOp, err error) {
	defer guard("Celu", &err)
	need("x", x)
	if alpha == 0 {
		fail("alpha", "is 0")
	}
	return inFloat(func(x *uop.UOp) *uop.UOp { return fullElu(x, alpha, alpha) })(x), nil
}

// Selu is gamma*Elu(x, alpha).
func Selu(x *uop.UOp, alpha, gamma float64) (*uop.UOp, error) {
	return run1("Selu", inFloat(func(x *uop.UOp) *uop.UOp { return mul(gamma, fullElu(x, alpha, 1)) }), x)
}
