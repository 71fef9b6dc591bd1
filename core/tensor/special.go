package tensor

import (
	"math"

	"polygrad/core/uop"
)

// horner is a polynomial, highest coefficient first.
func horner(x *uop.UOp, c ...float64) *uop.UOp {
	r := mulAdd(x, c[0], c[1])
	for _, v := range c[2:] {
		r = mulAdd(r, x, v)
	}
	return r
}

// hornerPair is horner as the sum of an even and an odd polynomial, for long ones: half as many operations wait for one another.
func hornerPair(x *uop.UOp, c ...float64) *uop.UOp {
	var parts [2][]float64
	for i, v := range c {
		parts[(len(c)-1-i)%2] = append(parts[(len(c)-1-i)%2], v)
	}
	z := square(x)
	return mulAdd(horner(z, parts[1]...), x, horner(z, parts[0]...))
}

// mulAdd is x*y + z, rounded once where the processor can do that. The simplifier leaves it as it is.
func mulAdd(x *uop.UOp, y, z operand) *uop.UOp {
	if !x.DType.IsFloat() || asTinygrad(x) {
		return add(mul(x, y), z)
	}
	x, b := matched(x, y)
	x, c := matched(x, z)
	x, b = spread(x, b)
	return x.Alu(uop.MulAcc, b, c)
}

// same is x, as max(x, floor) with a floor below any x. The simplifier treats floating point sums and products as exact: it
// gathers the terms of x in x*a + x*b and moves the 1 in (x-1) + y to the end. Where a formula depends on that rounding,
// same(x) keeps the terms apart.
func same(x *uop.UOp, floor float64) *uop.UOp { return maximum(x, floor) }

// inFloat computes f in float32 at least and converts the result back.
func inFloat(f func(*uop.UOp) *uop.UOp) func(*uop.UOp) *uop.UOp {
	return func(x *uop.UOp) *uop.UOp {
		x = asFloat(x)
		if asTinygrad(x) {
			return f(x)
		}
		return cast(f(atLeastF32(x)), x.DType)
	}
}

// signOf is -1 below 0, else 1, with no gradient.
func signOf(x *uop.UOp) *uop.UOp { return where(lt(x, 0), likeConst(x, -1), likeConst(x, 1)) }

// signWithZero is -1 for -0, too.
func signWithZero(x *uop.UOp) *uop.UOp {
	if asTinygrad(x) {
		return signOf(x)
	}
	return where(negative(x), likeConst(x, -1), likeConst(x, 1))
}

// accurateExp is e^x with an error of a few units in the last place for every x.
func accurateExp(x *uop.UOp) *uop.UOp { return scaledExp(x, 0) }

// scaledExp is e^x * 2^by, which may be finite where e^x overflows: x = n ln 2 + r, with n ln 2 subtracted in two parts. exp(x)
// alone loses digits in the product x/ln 2 on some devices.
func scaledExp(x *uop.UOp, by float64) *uop.UOp {
	hi, lo := 0.693359375, -2.12194440054690583e-4
	if x.DType == uop.Float64 {
		hi, lo = 6.93145751953125e-1, 1.42860682030941723212e-6
	}
	limit := 140.0
	if x.DType == uop.Float64 {
		limit = 1100
	}
	x = clamp(x, -limit, limit)
	n := detach(floor(add(mul(x, log2e), 0.5)))
	r := sub(sub(x, mul(n, hi)), mul(same(n, -4096), lo))
	// in two steps, since 2^n can be out of range where e^x is not
	half := floor(mul(n, 0.5))
	rest := sub(n, half)
	if by != 0 {
		rest = add(rest, by)
	}
	if x.DType == uop.Float64 && !asTinygrad(x) {
		return mul(mul(exp2(mul(r, log2e)), powerOfWhole(half)), powerOfWhole(rest))
	}
	return mul(mul(exp2(mul(r, log2e)), exp2(half)), exp2(rest))
}

// log1pLong is log(1+x): 2 atanh(x/(2+x)) as a series near 0, where 1+x would round x away.
func log1pLong(x *uop.UOp) *uop.UOp {
	near := bitAnd(gt(x, -0.5), lt(x, 0.5))
	small := where(near, x, 0)
	twice := mul(2, atanhSeries(div(small, add(small, 2)), 8, 18))
	return where(near, twice, log(add(1, where(near, 1, x))))
}

// atanhSeries is s + s^3/3 + s^5/5 …, with enough terms for float32 or float64.
func atanhSeries(s *uop.UOp, n32, n64 int) *uop.UOp {
	n := n32
	if s.DType == uop.Float64 {
		n = n64
	}
	c := make([]float64, n)
	for i := range c {
		c[i] = 1 / float64(2*(n-1-i)+1)
	}
	return mul(s, horner(square(s), c...))
}

// expm1Long is e^x - 1: its Taylor series near 0, where the subtraction would cancel.
func expm1Long(x *uop.UOp) *uop.UOp {
	near := bitAnd(gt(x, -0.5), lt(x, 0.5))
	small := where(near, x, 0)
	return where(near, mul(small, horner(small, inverseFactorials(x, 10, 17, 1)...)), sub(accurateExp(x), 1))
}

// inverseFactorials are 1/k! for k = 1, 1+step …, highest first, in float32 or float64.
func inverseFactorials(x *uop.UOp, n32, n64, step int) []float64 {
	n := n32
	if x.DType == uop.Float64 {
		n = n64
	}
	var c []float64
	f := 1.0
	for k := 1; k <= n; k++ {
		f *= float64(k)
		if (k-1)%step == 0 {
			c = append([]float64{1 / f}, c...)
		}
	}
	return c
}

// sinhLong is (e^x - e^-x)/2, and its Taylor series near 0.
func sinhLong(x *uop.UOp) *uop.UOp {
	near := bitAnd(gt(x, -1), lt(x, 1))
	small := where(near, x, 0)
	far := sub(scaledExp(x, -1), scaledExp(neg(x), -1))
	return where(near, mul(small, horner(square(small), inverseFactorials(x, 11, 21, 2)...)), far)
}

// coshLong is (e^x + e^-x)/2.
func coshLong(x *uop.UOp) *uop.UOp {
	return add(scaledExp(x, -1), scaledExp(neg(x), -1))
}

// huge is where sqrt(x^2 + 1) is x and log(x + x) is log(2x) in every type.
const huge = 1e9

// asinhLong is log(x + sqrt(x^2+1)), written with log1p near 0 and as log(2x) far away; odd.
func asinhLong(x *uop.UOp) *uop.UOp {
	s := signWithZero(x)
	a := mul(x, s)
	far := gt(a, huge)
	near := where(far, 1, a)
	n2 := square(near)
	return mul(s, where(far, add(log(where(far, a, 1)), ln2), log1pLong(add(near, div(n2, add(1, sqrt(add(n2, 1))))))))
}

// acoshLong is log(x + sqrt(x^2-1)), written with log1pLong(t + sqrt(t)*sqrt(t+2)) for t = x-1 and as log(2x) far away. Below 1 it is
// NaN, below -1 with the formula's gradient 1/sqrt(x^2-1): that of -acosh(-x).
func acoshLong(x *uop.UOp) *uop.UOp {
	s := signOf(x)
	a := mul(s, x)
	far := gt(a, huge)
	t := same(sub(where(far, 2, a), 1), -huge)
	r := where(far, add(log(where(far, a, 1)), ln2), log1pLong(add(t, mul(sqrt(t), sqrt(add(t, 2))))))
	return add(mul(s, r), where(lt(x, 1), likeConst(x, math.NaN()), 0))
}

// atanhLong is (log(1+a) - log(1-a))/2 for a = |x|, and its series near 0; odd.
func atanhLong(x *uop.UOp) *uop.UOp {
	s := signOf(x)
	a := mul(x, s)
	near := lt(a, 0.4)
	far := where(near, 0.5, a)
	return where(near, atanhSeries(where(near, x, 0), 11, 22), mul(mul(s, 0.5), sub(log(add(1, far)), log(sub(1, far)))))
}

// arcSeries is (asin(s) - s)/s for z = s^2 <= 1/4, a rational approximation from FreeBSD's e_asin.c.
func arcSeries(z *uop.UOp) *uop.UOp {
	p := horner(z, 3.47933107596021167570e-05, 7.91534994289814532176e-04, -4.00555345006794114027e-02, 2.01212532134862925881e-01,
		-3.25565818622400915405e-01, 1.66666666666666657415e-01)
	q := horner(z, 7.70381505559019352791e-02, -6.88283971605453293030e-01, 2.02094576023350569471e+00, -2.40339491173441421878e+00, 1)
	return div(mul(z, p), q)
}

// arcParts prepare asin and acos: near means |x| <= 1/2; then small is x, and r = asin(x)/x - 1. Otherwise root = sqrt((1-|x|)/2)
// and r = asin(root)/root - 1, for asin(|x|) = pi/2 - 2 asin(root).
func arcParts(x *uop.UOp) (near, small, root, r, s *uop.UOp) {
	s = signOf(x)
	a := mul(x, s)
	near = le(a, 0.5)
	small = where(near, x, 0)
	z := where(near, square(small), mul(sub(1, a), 0.5))
	root = sqrt(where(near, 1, z))
	return near, small, root, arcSeries(z), s
}

func asinLong(x *uop.UOp) *uop.UOp {
	near, small, root, r, s := arcParts(x)
	far := sub(math.Pi/2, mul(2, add(root, mul(root, r))))
	return where(near, add(small, mul(small, r)), mul(s, far))
}

func acosLong(x *uop.UOp) *uop.UOp {
	near, small, root, r, s := arcParts(x)
	twice := mul(2, add(root, mul(root, r)))
	far := where(lt(s, 0), sub(math.Pi, twice), twice)
	return where(near, sub(math.Pi/2, add(small, mul(small, r))), far)
}

// atanLong rotates its argument by pi/4 or pi/2 towards 0 and uses the rational approximation of Cephes' atan.c there.
func atanLong(x *uop.UOp) *uop.UOp {
	s := signOf(x)
	a := mul(x, s)
	far, mid := gt(a, 2.41421356237309504880), gt(a, 0.66)
	inner := where(far, 1, a)
	turned := mul(s, div(sub(inner, 1), add(inner, 1)))
	t := where(far, neg(reciprocal(where(far, x, 1))), where(mid, turned, x))
	turn := where(far, math.Pi/2, where(mid, likeConst(x, math.Pi/4), likeConst(x, 0)))
	z := square(t)
	p := horner(z, -8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1, -1.228866684490136173410e2,
		-6.485021904942025371773e1)
	q := horner(z, 1, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2, 4.853903996359136964868e2,
		1.945506571482613964425e2)
	y := add(mul(s, turn), add(t, mul(t, div(mul(z, p), q))))
	if asTinygrad(x) {
		return y
	}
	return where(eq(x, 0), x, y) // -0 too
}

// Asin is the inverse sine; NaN outside -1..1.
func Asin(x *uop.UOp) (*uop.UOp, error) { return run1("Asin", inFloat(asin), x) }

// Acos is the inverse cosine; NaN outside -1..1.
func Acos(x *uop.UOp) (*uop.UOp, error) { return run1("Acos", inFloat(acos), x) }

// Atan is the inverse tangent.
func Atan(x *uop.UOp) (*uop.UOp, error) { return run1("Atan", inFloat(atan), x) }

// Sinh is the hyperbolic sine.
func Sinh(x *uop.UOp) (*uop.UOp, error) { return run1("Sinh", inFloat(sinh), x) }

// Cosh is the hyperbolic cosine.
func Cosh(x *uop.UOp) (*uop.UOp, error) { return run1("Cosh", inFloat(cosh), x) }

// Asinh is the inverse hyperbolic sine.
func Asinh(x *uop.UOp) (*uop.UOp, error) { return run1("Asinh", inFloat(asinh), x) }

// Acosh is the inverse hyperbolic cosine; NaN below 1.
func Acosh(x *uop.UOp) (*uop.UOp, error) { return run1("Acosh", inFloat(acosh), x) }

// Atanh is the inverse hyperbolic tangent; NaN outside -1..1.
func Atanh(x *uop.UOp) (*uop.UOp, error) { return run1("Atanh", inFloat(atanh), x) }

// logitLong is log(x/(1-x)): near 1/2, where its logarithms cancel, 2 atanh(2x - 1).
func logitLong(x *uop.UOp) *uop.UOp {
	t := sub(mul(x, 2), 1) // exact between 1/4 and 3/4
	near := le(abs(t), 0.5)
	return where(near, mul(atanh(where(near, t, likeConst(t, 0))), 2), sub(log(x), log1p(neg(x))))
}

// Logit is the logarithm of the odds x/(1-x), the inverse of Sigmoid; infinite at 0 and 1, NaN outside.
func Logit(x *uop.UOp) (*uop.UOp, error) { return run1("Logit", inFloat(logit), x) }

// Log1p is log(1+x), accurate near 0.
func Log1p(x *uop.UOp) (*uop.UOp, error) { return run1("Log1p", inFloat(log1p), x) }

// Expm1 is e^x - 1, accurate near 0.
func Expm1(x *uop.UOp) (*uop.UOp, error) { return run1("Expm1", inFloat(expm1), x) }
