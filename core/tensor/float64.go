package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Functions of float64 by the bits of powers of two, where the long formulas take several exponentials, logarithms or divisions. As for
// float32, branches that are not taken may be anything, since each function states its derivative.

// wideForm is the formula of a function, nil if that is the long one.
func wideForm(name string) func(x *uop.UOp) *uop.UOp {
	switch name {
	case "sinh":
		return sinhWide
	case "cosh":
		return coshWide
	case "expm1":
		return expm1Wide
	case "asinh":
		return asinhWide
	case "acosh":
		return acoshWide
	case "log1p":
		return log1pWide
	case logOf1AndExpName:
		return func(x *uop.UOp) *uop.UOp { return log1pWide(exp(where(lt(x, neg(x)), x, neg(x)))) }
	}
	return nil
}

func bits64(x *uop.UOp) *uop.UOp    { return bitcast(x, uop.Uint64) }
func float64Of(b *uop.UOp) *uop.UOp { return bitcast(b, uop.Float64) }

// whole64 added to a small number rounds it: the last bits of the sum are those of an integer.
const whole64 = 3 << 51

// smallest64 is above the numbers that lose bits when they are halved.
const smallest64 = 1e-300

// powerOfWhole is 2^n for whole n from -1022 to 1023.
func powerOfWhole(n *uop.UOp) *uop.UOp {
	return float64Of(shiftLeft(bits64(add(n, whole64+1023.0)), 52))
}

// withoutLn2Wide is r for x = n ln 2 + r with |r| <= (ln 2)/2, and the bits of n + whole64.
func withoutLn2Wide(x *uop.UOp) (r, bits *uop.UOp) {
	sum := mulAdd(x, log2e, float64(whole64))
	n := sub(sum, float64(whole64))
	return mulAdd(n, -1.42860682030941723212e-6, mulAdd(n, -6.93145751953125e-1, x)), bits64(sum)
}

// hyperbolicWide is hyperbolic with Taylor series of cosh(r) - 1 and sinh(r), whose errors are below 2^-57.
func hyperbolicWide(x *uop.UOp) (sinh, cosh *uop.UOp) {
	r, n := withoutLn2Wide(clamp(x, -710.8, 710.8))
	z := square(r)
	s := mulAdd(mul(r, z), horner(z, inverseFactorials(x, 0, 13, 2)[:6]...), r)
	c := mul(z, horner(z, 1.0/479001600, 1.0/3628800, 1.0/40320, 1.0/720, 1.0/24, 0.5))
	const bias = 1023 - 2
	// a negative number is a power that is out of range, far below the other one
	up := maximum(float64Of(shiftLeft(add(n, bias), 52)), 0)
	down := maximum(float64Of(shiftLeft(sub(bias, n), 52)), 0)
	most, least := add(up, down), sub(up, down)
	return mul(2, mulAdd(s, most, mulAdd(c, least, least))), mul(2, mulAdd(s, least, mulAdd(c, most, most)))
}

func sinhWide(x *uop.UOp) *uop.UOp {
	y, _ := hyperbolicWide(x)
	return where(lt(abs(x), smallest64), x, y)
}

func coshWide(x *uop.UOp) *uop.UOp {
	_, y := hyperbolicWide(x)
	return y
}

// expm1Wide is expm1Short with a polynomial of an error of 2^-57.
func expm1Wide(x *uop.UOp) *uop.UOp {
	r, n := withoutLn2Wide(clamp(x, -40, 709.9))
	p := horner(r, 2.0976981062261385e-09, 2.5113924489352478e-08, 2.75570695371632e-07, 2.7557228703982112e-06, 2.4801587557816733e-05,
		0.00019841269903350976, 0.0013888888888778353, 0.008333333333313897, 0.041666666666666824, 0.16666666666666688, 0.5)
	half := float64Of(shiftLeft(add(n, 1023-1), 52))
	y := mul(2, mulAdd(mulAdd(square(r), p, r), half, sub(half, 0.5)))
	return where(lt(abs(x), smallest64), x, y)
}

// log1pWide is log(u) for u = 1+x, and what was rounded off u over it: the slope of the logarithm times that.
func log1pWide(x *uop.UOp) *uop.UOp {
	u := add(x, 1)
	y := log(u)
	rest := div(sub(x, sub(u, 1)), u)
	inside := bitAnd(gt(x, -1), lt(x, beyondSquares))
	return where(eq(x, 0), x, where(inside, add(y, rest), y))
}

// beyondSquares is where x^2 + 1 and x^2 - 1 are x^2, and log(1+x) is log(x).
const beyondSquares = 1e17

// asinhWide is log(1 + a + a^2/(1+sqrt(a^2+1))) for a = |x|, and log(2a) far away.
func asinhWide(x *uop.UOp) *uop.UOp {
	const sign = 1 << 63
	a := float64Of(bitAnd(bits64(x), sign-1))
	far := gt(a, beyondSquares)
	z := square(a)
	y := log1pWide(where(far, a, add(a, div(z, add(1, sqrt(add(z, 1)))))))
	y = add(y, where(far, likeConst(x, math.Ln2), 0))
	return float64Of(bitOr(bits64(y), sub(bits64(x), bits64(a))))
}

// acoshWide is log(1 + t + sqrt(t(t+2))) for t = x-1, and log(2x) far away.
func acoshWide(x *uop.UOp) *uop.UOp {
	far := gt(x, beyondSquares)
	t := sub(x, 1)
	y := add(log1pWide(where(far, t, add(t, sqrt(mul(t, add(t, 2)))))), where(far, likeConst(x, math.Ln2), 0))
	return where(lt(x, 1), likeConst(x, math.NaN()), y)
}
