package tensor

import "polygrad/core/uop"

// Functions whose formulas in tinygrad lose their relative accuracy somewhere, written so that they do not.

// fullErf is erf by Cody's approximations; see erfc. The first one is good a little farther than it is used there.
func fullErf(x *uop.UOp) *uop.UOp {
	s := signOf(x)
	a := mul(x, s)
	near, far := le(a, 0.5), gt(a, 4)
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

// FullErf is Erf with a relative error of a few units in the last place.
func FullErf(x *uop.UOp) (*uop.UOp, error) { return run1("FullErf", inFloat(fullErf), x) }

// FullSoftplus is Softplus that is accurate below 0 too; beta must not be 0.
func FullSoftplus(x *uop.UOp, beta float64) (r *uop.UOp, err error) {
	defer guard("FullSoftplus", &err)
	need("x", x)
	if beta == 0 {
		fail("beta", "is 0")
	}
	return inFloat(func(x *uop.UOp) *uop.UOp { return fullSoftplus(x, beta) })(x), nil
}

// FullLogSigmoid is LogSigmoid that is accurate above 0 too.
func FullLogSigmoid(x *uop.UOp) (*uop.UOp, error) {
	return run1("FullLogSigmoid", inFloat(func(x *uop.UOp) *uop.UOp { return neg(fullSoftplus(neg(x), 1)) }), x)
}

// FullMish is Mish that is accurate below 0 too.
func FullMish(x *uop.UOp) (*uop.UOp, error) {
	return run1("FullMish", inFloat(func(x *uop.UOp) *uop.UOp { return mul(x, tanh(fullSoftplus(x, 1))) }), x)
}

// FullElu is Elu that is accurate near 0 too.
func FullElu(x *uop.UOp, alpha float64) (*uop.UOp, error) {
	return run1("FullElu", inFloat(func(x *uop.UOp) *uop.UOp { return fullElu(x, alpha, 1) }), x)
}

// FullCelu is Celu that is accurate near 0 too; alpha must not be 0.
func FullCelu(x *uop.UOp, alpha float64) (r *uop.UOp, err error) {
	defer guard("FullCelu", &err)
	need("x", x)
	if alpha == 0 {
		fail("alpha", "is 0")
	}
	return inFloat(func(x *uop.UOp) *uop.UOp { return fullElu(x, alpha, alpha) })(x), nil
}

// FullSelu is Selu that is accurate near 0 too.
func FullSelu(x *uop.UOp, alpha, gamma float64) (*uop.UOp, error) {
	return run1("FullSelu", inFloat(func(x *uop.UOp) *uop.UOp { return mul(gamma, fullElu(x, alpha, 1)) }), x)
}
