package tensor

import (
	"math"

	"polygrad/core/uop"
)

// hurwitz is the zeta function of Hurwitz, the sum of (q+k)^-s, for s > 1 and q > 0: ten terms, and the formula of Euler and Maclaurin for the rest.
func hurwitz(sq ...*uop.UOp) *uop.UOp {
	s, q := sq[0], sq[1]
	inside := bitAnd(gt(s, 1), gt(q, 0))
	finite := bitAnd(isFinite(s), isFinite(q))
	s1, q1 := where(bitAnd(inside, finite), s, 2), where(bitAnd(inside, finite), q, 1)
	const terms = 10
	total := powFloat64(q1, s1)
	for k := 1; k < terms; k++ {
		total = add(total, powFloat64(add(q1, k), s1))
	}
	w := add(q1, terms)
	last := powFloat64(w, s1)
	// b is w^-s s(s+1)…/w^(2j+1), the factor of Bernoulli's numbers over factorials in the rest.
	r := add(div(mul(last, w), sub(s1, 1)), mul(last, 0.5))
	b := mul(div(last, w), s1)
	for j, c := range []float64{1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000,
		1.0 / 74724249600, -3617.0 / 10670622842880000, 43867.0 / 5109094217170944000, -174611.0 / 802857662698291200000} {
		r = add(r, mul(b, c))
		n := 2*j + 1
		b = mul(div(mul(b, add(s1, n)), square(w)), add(s1, n+1))
	}
	value := add(total, r)
	infinite := bitOr(eq(s, 1), bitAnd(eq(q, 0), gt(s, 1)))
	limit := where(bitAnd(eq(s, math.Inf(1)), eq(q, 1)), likeConst(s, 1), likeConst(s, 0))
	nan := bitOr(isNaN(s), isNaN(q))
	value = where(bitAnd(inside, logicalNot(finite)), limit, value)
	value = where(infinite, math.Inf(1), where(inside, value, math.NaN()))
	return where(nan, math.NaN(), value)
}

// powFloat64 is x^-s for x > 0.
func powFloat64(x, s *uop.UOp) *uop.UOp { return pow(x, neg(s)) }

// Zeta is the zeta function of Hurwitz; that of Riemann for q = 1.
func Zeta(s, q *uop.UOp) (*uop.UOp, error) { return runFloat64("Zeta", hurwitz, s, q) }

// Polygamma is the derivative of order n of digamma, for x > 0 unless n is 0.
func Polygamma(n, x *uop.UOp) (*uop.UOp, error) {
	return runFloat64("Polygamma", func(nx ...*uop.UOp) *uop.UOp {
		n, x := nx[0], nx[1]
		s := add(n, 1)
		valid := bitAnd(ge(n, 0), eq(n, floor(n)))
		higher := bitAnd(valid, gt(n, 0))
		safe := where(higher, s, 2)
		even := eq(sub(n, mul(floor(mul(n, 0.5)), 2)), 0)
		value := mul(exp(lgammaFloat64(safe)), hurwitz(safe, where(higher, x, 1)))
		value = where(even, neg(value), value)
		return where(valid, where(higher, value, digamma(where(higher, 1, x))), math.NaN())
	}, n, x)
}

// From besselTurn on, the modified Bessel functions are computed by their asymptotic series.
const besselTurn = 20

// besselScaled is e^-|x| I_n(x) for n = 0 or 1.
func besselScaled(n int, x *uop.UOp) *uop.UOp {
	const terms = 44
	a := mul(x, signOf(x))
	near := le(a, besselTurn)
	small := where(near, a, 1)
	c := make([]float64, terms)
	f := 1.0
	for k := range terms {
		if k > 0 {
			f /= float64(k) * float64(k+n)
		}
		c[terms-1-k] = f
	}
	z := square(mul(small, 0.5))
	value := mul(horner(z, c...), exp(neg(small)))
	if n == 1 {
		value = mul(mul(value, small), 0.5)
	}
	const rest = 24
	far := where(near, 2*besselTurn, a)
	d := make([]float64, rest)
	g, mu := 1.0, float64(4*n*n)
	for k := range rest {
		if k > 0 {
			odd := float64(2*k - 1)
			g *= -(mu - odd*odd) / (float64(k) * 8)
		}
		d[rest-1-k] = g
	}
	finite := where(isInf(far), 1e300, far)
	asymptotic := mul(horner(reciprocal(finite), d...), reciprocal(sqrt(mul(finite, 2*math.Pi))))
	value = where(near, value, where(isInf(a), 0, asymptotic))
	if n == 1 {
		value = mul(value, signOf(x))
	}
	return where(isNaN(x), x, value)
}

// besselE0 and besselE1 are scaled, bessel0 and bessel1 are not.
func besselE0(x *uop.UOp) *uop.UOp {
	return smooth("i0e", nil, func(x *uop.UOp) *uop.UOp { return besselScaled(0, x) }, func(x, y *uop.UOp) *uop.UOp {
		return sub(besselE1(x), mul(signed(x), y))
	}, x)
}

func besselE1(x *uop.UOp) *uop.UOp {
	return smooth("i1e", nil, func(x *uop.UOp) *uop.UOp { return besselScaled(1, x) }, func(x, y *uop.UOp) *uop.UOp {
		return sub(sub(besselE0(x), overOr(y, x)), mul(signed(x), y))
	}, x)
}

// signed is the sign of x, 0 at 0.
func signed(x *uop.UOp) *uop.UOp { return where(eq(x, 0), 0, signOf(x)) }

// overOr is y/x, 1/2 at 0: for I_1, which is x/2 there.
func overOr(y, x *uop.UOp) *uop.UOp { return where(eq(x, 0), 0.5, div(y, where(eq(x, 0), 1, x))) }

func bessel0(x *uop.UOp) *uop.UOp {
	return smooth("i0", nil, func(x *uop.UOp) *uop.UOp { return unscaled(besselScaled(0, x), x) }, func(x, _ *uop.UOp) *uop.UOp { return bessel1(x) }, x)
}

func bessel1(x *uop.UOp) *uop.UOp {
	return smooth("i1", nil, func(x *uop.UOp) *uop.UOp { return unscaled(besselScaled(1, x), x) }, func(x, y *uop.UOp) *uop.UOp {
		return sub(bessel0(x), overOr(y, x))
	}, x)
}

// unscaled is y e^|x|, in two factors: e^|x| alone is infinite before the product is.
func unscaled(y, x *uop.UOp) *uop.UOp {
	half := exp(mul(mul(x, signOf(x)), 0.5))
	return where(isInf(x), mul(signOf(y), math.Inf(1)), mul(mul(y, half), half))
}

// I0 is the modified Bessel function of the first kind and order 0.
func I0(x *uop.UOp) (*uop.UOp, error) { return runFloat64("I0", first(bessel0), x) }

// I1 is the modified Bessel function of the first kind and order 1.
func I1(x *uop.UOp) (*uop.UOp, error) {
	return runFloat64("I1", func(x ...*uop.UOp) *uop.UOp {
		return where(isInf(x[0]), x[0], bessel1(where(isInf(x[0]), 1, x[0])))
	}, x)
}

// I0e is e^-|x| I0(x).
func I0e(x *uop.UOp) (*uop.UOp, error) { return runFloat64("I0e", first(besselE0), x) }

// I1e is e^-|x| I1(x).
func I1e(x *uop.UOp) (*uop.UOp, error) { return runFloat64("I1e", first(besselE1), x) }

func first(f func(x *uop.UOp) *uop.UOp) func(x ...*uop.UOp) *uop.UOp {
	return func(x ...*uop.UOp) *uop.UOp { return f(x[0]) }
}

// exponentialIntegral is E1(x) for x > 0: its series up to 1, a continued fraction above.
func exponentialIntegral(x *uop.UOp) *uop.UOp {
	const terms, steps = 20, 100
	near := le(x, 1)
	small, far := where(near, x, 1), where(near, 2, minimum(x, 800))
	c := make([]float64, terms)
	f := 1.0
	for k := 1; k <= terms; k++ {
		f /= -float64(k)
		c[terms-k] = -f / float64(k)
	}
	series := sub(mul(small, horner(small, c...)), add(log(small), eulerGamma))
	fraction := add(far, 2*steps+1)
	for k := steps; k >= 1; k-- {
		fraction = sub(add(far, 2*k-1), div(float64(k*k), fraction))
	}
	return where(near, series, mul(exp(neg(far)), reciprocal(fraction)))
}

const eulerGamma = 0.57721566490153286061

// expi is Ei(x): for x > 0 its series up to 40 and the asymptotic series above, -E1(-x) below 0.
func expi(x *uop.UOp) *uop.UOp {
	const turn, terms, rest = 40, 130, 36
	value := func(x *uop.UOp) *uop.UOp {
		below := lt(x, 0)
		near := bitAnd(gt(x, 0), le(x, turn))
		small := where(near, x, 1)
		c := make([]float64, terms)
		f := 1.0
		for k := 1; k <= terms; k++ {
			f /= float64(k)
			c[terms-k] = f / float64(k)
		}
		series := add(mul(small, horner(small, c...)), add(log(small), eulerGamma))
		beyond := bitAnd(gt(x, turn), isFinite(x))
		far := where(beyond, x, 2*turn)
		d := make([]float64, rest)
		g := 1.0
		for k := range rest {
			if k > 0 {
				g *= float64(k)
			}
			d[rest-1-k] = g
		}
		r := reciprocal(far)
		half := exp(mul(far, 0.5))
		asymptotic := mul(mul(mul(half, r), horner(r, d...)), half)
		v := where(near, series, where(beyond, asymptotic, math.Inf(1)))
		v = where(below, neg(exponentialIntegral(where(below, neg(x), 1))), v)
		return where(eq(x, 0), math.Inf(-1), where(isNaN(x), x, v))
	}
	return smooth("expi", nil, value, func(x, _ *uop.UOp) *uop.UOp { return div(exp(x), x) }, x)
}

// Expi is the exponential integral Ei(x).
func Expi(x *uop.UOp) (*uop.UOp, error) { return runFloat64("Expi", first(expi), x) }

// Exp1 is the exponential integral E1(x); NaN below 0.
func Exp1(x *uop.UOp) (*uop.UOp, error) {
	return runFloat64("Exp1", func(x ...*uop.UOp) *uop.UOp {
		value := func(x *uop.UOp) *uop.UOp {
			v := exponentialIntegral(where(gt(x, 0), x, 1))
			return where(gt(x, 0), v, where(eq(x, 0), math.Inf(1), math.NaN()))
		}
		return smooth("exp1", nil, value, func(x, _ *uop.UOp) *uop.UOp { return neg(div(exp(neg(x)), x)) }, x[0])
	}, x)
}

// xTimes is x f(y), 0 where x is 0 and y is a number.
func xTimes(f func(y *uop.UOp) *uop.UOp) func(a, b operand) *uop.UOp {
	return func(a, b operand) *uop.UOp {
		x, y := matched(a, b)
		x, y = asFloat(x), asFloat(y)
		zero := bitAnd(eq(x, 0), logicalNot(isNaN(y)))
		return where(zero, 0, mul(x, f(where(zero, 1, y))))
	}
}

// XLogY is x log(y), 0 for x = 0.
func XLogY(x, y *uop.UOp) (*uop.UOp, error) { return run2("XLogY", xTimes(log), x, y) }

// XLog1PY is x log(1+y), 0 for x = 0.
func XLog1PY(x, y *uop.UOp) (*uop.UOp, error) { return run2("XLog1PY", xTimes(inFloat(log1p)), x, y) }

// Entr is -x log(x), 0 at 0 and -infinity below.
func Entr(x *uop.UOp) (*uop.UOp, error) {
	value := func(x *uop.UOp) *uop.UOp {
		inside := gt(x, 0)
		y := where(inside, x, 1)
		return where(inside, neg(mul(y, log(y))), where(lt(x, 0), math.Inf(-1), x))
	}
	return run1("Entr", inFloat(func(x *uop.UOp) *uop.UOp {
		return smooth("entr", nil, value, func(x, _ *uop.UOp) *uop.UOp { return neg(add(log(x), 1)) }, x)
	}), x)
}

// relEntr is x log(x/y).
func relEntr(x, y *uop.UOp) *uop.UOp {
	inside := bitAnd(gt(x, 0), gt(y, 0))
	x1, y1 := where(inside, x, 1), where(inside, y, 1)
	zero := bitAnd(eq(x, 0), bitOr(gt(y, 0), eq(y, 0)))
	value := where(inside, mul(x1, log(div(x1, y1))), where(zero, 0, math.Inf(1)))
	return where(bitOr(isNaN(x), isNaN(y)), math.NaN(), value)
}

// RelEntr is x log(x/y), 0 for x = 0, infinite below.
func RelEntr(x, y *uop.UOp) (*uop.UOp, error) {
	return runFloat64("RelEntr", func(x ...*uop.UOp) *uop.UOp { return relEntr(x[0], x[1]) }, x, y)
}

// KLDiv is x log(x/y) - x + y, 0 for x = 0 = y.
func KLDiv(x, y *uop.UOp) (*uop.UOp, error) {
	return runFloat64("KLDiv", func(x ...*uop.UOp) *uop.UOp { return add(sub(relEntr(x[0], x[1]), x[0]), x[1]) }, x, y)
}

// Ndtr is the cumulative distribution function of the standard normal distribution.
func Ndtr(x *uop.UOp) (*uop.UOp, error) {
	return runFloat64("Ndtr", func(x ...*uop.UOp) *uop.UOp { return mul(erfc(mul(x[0], -math.Sqrt2/2)), 0.5) }, x)
}

// LogNdtr is the logarithm of Ndtr, also where that is 0: there by the continued fraction of the tail.
func LogNdtr(x *uop.UOp) (*uop.UOp, error) {
	return runFloat64("LogNdtr", func(xs ...*uop.UOp) *uop.UOp {
		x := xs[0]
		tail, upper := lt(x, -5), gt(x, 1)
		t := where(bitAnd(tail, isFinite(x)), neg(x), 10)
		fraction := t
		for k := 60; k >= 1; k-- {
			fraction = add(t, div(float64(k), fraction))
		}
		low := sub(neg(add(mul(square(t), 0.5), math.Log(2*math.Pi)/2)), log(fraction))
		middle := log(mul(erfc(mul(where(bitOr(tail, upper), 0, x), -math.Sqrt2/2)), 0.5))
		high := log1p(neg(mul(erfc(mul(where(upper, x, 1), math.Sqrt2/2)), 0.5)))
		r := where(tail, low, where(upper, high, middle))
		return where(isNaN(x), x, where(eq(x, math.Inf(-1)), x, r))
	}, x)
}

// gammaSign is the sign of the gamma function, NaN at its poles below 0.
func gammaSign(x *uop.UOp) *uop.UOp {
	f := floor(x)
	odd := ne(sub(f, mul(floor(mul(f, 0.5)), 2)), 0)
	pole := bitAnd(lt(x, 0), eq(f, x))
	s := where(bitAnd(lt(x, 0), odd), likeConst(x, -1), likeConst(x, 1))
	return where(bitOr(isNaN(x), pole), math.NaN(), s)
}

// GammaSgn is the sign of the gamma function.
func GammaSgn(x *uop.UOp) (*uop.UOp, error) { return run1("GammaSgn", inFloat(gammaSign), x) }

// gammaFunction is Gamma(x): sign times exponential of lgamma, whole numbers exactly up to 2^53.
func gammaFunction(x *uop.UOp) *uop.UOp {
	v := mul(gammaSign(x), exp(lgammaFloat64(x)))
	whole := bitAnd(eq(x, floor(x)), bitAnd(gt(x, 0), lt(x, 20)))
	v = where(whole, add(v, sub(detach(round(where(whole, v, 0))), detach(where(whole, v, 0)))), v)
	v = where(eq(x, 0), reciprocal(where(eq(x, 0), x, 1)), v)
	return where(eq(x, math.Inf(-1)), math.NaN(), v)
}

// Gamma is the gamma function.
func Gamma(x *uop.UOp) (*uop.UOp, error) { return runFloat64("Gamma", first(gammaFunction), x) }

// Factorial is Gamma(x+1), 0 below 0 where that has a pole.
func Factorial(x *uop.UOp) (*uop.UOp, error) {
	return runFloat64("Factorial", func(x ...*uop.UOp) *uop.UOp {
		below := lt(x[0], 0)
		return where(below, 0, gammaFunction(add(where(below, 1, x[0]), 1)))
	}, x)
}

// MultiGammaLn is the logarithm of the multivariate gamma function of dimension d; NaN for a <= (d-1)/2.
func MultiGammaLn(a *uop.UOp, d int64) (r *uop.UOp, err error) {
	defer guard("MultiGammaLn", &err)
	need("a", a)
	if d < 1 || d > 1000 {
		fail("d", "is %d, expected 1 to 1000", d)
	}
	return inFloat64s(func(x ...*uop.UOp) *uop.UOp {
		total := likeConst(x[0], float64(d*(d-1))/4*math.Log(math.Pi))
		inside := gt(x[0], float64(d-1)/2)
		for j := range int(d) {
			total = add(total, lgammaFloat64(sub(where(inside, x[0], float64(d)), float64(j)/2)))
		}
		return where(inside, total, math.NaN())
	}, a), nil
}

// Sinc is sin(pi x) / (pi x), 1 at 0.
func Sinc(x *uop.UOp) (*uop.UOp, error) {
	return run1("Sinc", inFloat(func(x *uop.UOp) *uop.UOp {
		zero := eq(x, 0)
		y := where(zero, 1, x)
		whole := detach(floor(add(mul(y, 0.5), 0.5)))
		angle := mul(sub(y, mul(whole, 2)), math.Pi)
		near := lt(mul(x, signOf(x)), 0.01)
		z := mul(square(where(near, x, 0)), math.Pi*math.Pi)
		series := horner(z, -1.0/5040, 1.0/120, -1.0/6, 1)
		return where(near, series, div(sin(angle), mul(y, math.Pi)))
	}), x)
}
