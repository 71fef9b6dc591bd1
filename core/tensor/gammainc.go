package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Functions of several operands of scipy.special. All are computed in float64 and converted to the type of the operands, and all branches
// are formulas without loops of variable length, so derivatives with respect to every operand and batching follow from the composition.

// inFloat64s computes a function of operands of one shape in float64. The result has the least floating type of the operands.
func inFloat64s(f func(x ...*uop.UOp) *uop.UOp, operands ...*uop.UOp) *uop.UOp {
	dt, shapes := operands[0].DType, make([]uop.Shape, len(operands))
	for i, x := range operands {
		dt, shapes[i] = uop.LeastUpper(dt, x.DType), x.Shape()
	}
	s, ok := broadcastShape(shapes...)
	if !ok {
		fail("operands", "shapes %v do not broadcast", shapes)
	}
	wide := make([]*uop.UOp, len(operands))
	for i, x := range operands {
		wide[i] = spreadTo(cast(x, uop.Float64), s)
	}
	return cast(f(wide...), uop.LeastUpperFloat(dt))
}

// runFloat64 calls a function of several operands in float64 as the exported function fn.
func runFloat64(fn string, f func(x ...*uop.UOp) *uop.UOp, operands ...*uop.UOp) (r *uop.UOp, err error) {
	defer guard(fn, &err)
	needSame("operands", operands...)
	return inFloat64s(f, operands...), nil
}

// incompleteForms are the lengths of the formulas of the incomplete functions, for results in float64 and in shorter types.
type incompleteForms struct {
	steps int     // terms of the series and of the continued fraction: enough for a up to turn
	turn  float64 // for a above it and x near a, the gamma functions are integrated numerically
	nodes int     // of the Gauss-Legendre rule for the integral
	reach float64 // of the integral beyond the maximum of the density, in standard deviations
	pairs int     // of steps of the continued fraction of the beta function
}

func formsOf(dt *uop.DType) incompleteForms {
	if dt == uop.Float64 {
		return incompleteForms{120, 100, 40, 12, 150}
	}
	return incompleteForms{56, 40, 28, 9, 90}
}

// legendre are the nodes in (-1, 1) and the weights of the Gauss-Legendre rule of n points.
func legendre(n int) (nodes, weights []float64) {
	for i := range n {
		x := math.Cos(math.Pi * (float64(i) + 0.75) / (float64(n) + 0.5))
		var slope float64
		for range 100 {
			p, before := 1.0, 0.0
			for k := range n {
				p, before = (float64(2*k+1)*x*p-float64(k)*before)/float64(k+1), p
			}
			slope = float64(n) * (x*p - before) / (x*x - 1)
			step := p / slope
			if x -= step; math.Abs(step) < 1e-16 {
				break
			}
		}
		nodes, weights = append(nodes, x), append(weights, 2/((1-x*x)*slope*slope))
	}
	return nodes, weights
}

// log1pLess is log(1+x) - x, by its series near 0.
func log1pLess(x *uop.UOp) *uop.UOp {
	near := bitAnd(gt(x, -0.2), lt(x, 0.2))
	small := where(near, x, 0)
	// 2 atanh(s) - x with s = x/(2+x): x is 2s/(1-s), and 2s - x = -s x.
	s := div(small, add(small, 2))
	c := make([]float64, 14)
	for i := range c {
		c[i] = 2 / float64(2*(len(c)-i)+1)
	}
	series := sub(mul(mul(s, square(s)), horner(square(s), c...)), mul(s, small))
	far := where(near, 1, x)
	return where(near, series, sub(log1p(far), far))
}

// gammaParts are P(a, x) and Q(a, x) for a > 0 and 0 < x < infinity. One of them is computed, the other is 1 minus it.
func gammaParts(a, x *uop.UOp, forms incompleteForms) (p, q *uop.UOp) {
	large := bitAnd(gt(a, forms.turn), bitAnd(gt(x, mul(a, 0.7)), lt(x, mul(a, 1.4))))
	lower := lt(x, add(a, 1))
	// The density x^a e^-x / Gamma(a+1) times a sum, or times a continued fraction.
	small := where(large, 1, a)
	front := exp(sub(sub(mul(small, log(x)), x), lgammaFloat64(add(small, 1))))
	sx := where(bitAnd(lower, logicalNot(large)), x, 0.5)
	// Both are quotients over/under, divided in the end: the series 1 + x/(a+1) (1 + x/(a+2) (…)), in units of a+1, and the fraction
	// x+1-a + 1(a-1)/(x+3-a + 2(a-2)/…), in units of x. So neither part overflows.
	unit := reciprocal(add(small, 1))
	sx = mul(sx, unit)
	over, under := likeConst(x, 1), likeConst(x, 1)
	for k := forms.steps; k >= 1; k-- {
		under = mul(under, mulAdd(unit, k-1, likeConst(x, 1)))
		over = mulAdd(sx, over, under)
	}
	total := div(over, under)
	fx, fa := where(bitOr(lower, large), 2, x), where(bitOr(lower, large), 0.5, a)
	unit = reciprocal(fx)
	less := mulAdd(neg(fa), unit, likeConst(x, 1))
	over, under = mulAdd(unit, 2*forms.steps+1, less), likeConst(x, 1)
	unit2 := square(unit)
	for k := forms.steps; k >= 1; k-- {
		over, under = add(mul(mulAdd(unit, 2*k-1, less), over), mul(mul(mul(sub(fa, k), k), unit2), under)), over
	}
	part := where(lower, mul(front, total), mul(mul(front, small), div(mul(under, unit), over)))
	// For large a, the integral of the density from x to where it is less than rounding.
	la := where(large, a, 2*forms.turn)
	lx := where(large, x, 2*forms.turn)
	top := sub(la, 1)
	width := sqrt(top)
	above := gt(lx, top)
	up := mul(width, forms.reach)
	end := where(above, add(maximum(add(top, up), add(lx, mul(width, forms.reach/2))), 0), maximum(minimum(sub(top, up), sub(lx, mul(width, forms.reach/2))), 0))
	middle, half := mul(add(lx, end), 0.5), mul(sub(end, lx), 0.5)
	integral := likeConst(x, 0)
	nodes, weights := legendre(forms.nodes)
	for i, node := range nodes {
		u := div(sub(add(middle, mul(half, node)), top), top)
		integral = add(integral, mul(exp(mul(top, log1pLess(maximum(u, -1+1e-300)))), weights[i]))
	}
	// top^top e^-top / Gamma(top+1) is 1/sqrt(2 pi top) less Stirling's rest.
	r := reciprocal(top)
	rest := mul(r, horner(square(r), 1.0/1260, -1.0/360, 1.0/12))
	integral = mul(mul(integral, abs(half)), exp(neg(add(rest, mul(log(mul(top, 2*math.Pi)), 0.5)))))
	part = where(large, integral, part)
	belongs := bitOr(bitAnd(large, logicalNot(above)), bitAnd(logicalNot(large), lower))
	rest1 := sub(1, part)
	return where(belongs, part, rest1), where(belongs, rest1, part)
}

func lgammaFloat64(x *uop.UOp) *uop.UOp { return withDerivative("lgamma", lgamma, digamma)(x) }

// incompleteGamma is P or Q with their values at the limits of the arguments.
func incompleteGamma(upper bool, forms incompleteForms) func(x ...*uop.UOp) *uop.UOp {
	return func(ax ...*uop.UOp) *uop.UOp {
		a, x := ax[0], ax[1]
		inside := bitAnd(bitAnd(gt(a, 0), gt(x, 0)), bitAnd(isFinite(a), isFinite(x)))
		p, q := gammaParts(where(inside, a, 1), where(inside, x, 1), forms)
		value, at0, at1 := p, 0.0, 1.0
		if upper {
			value, at0, at1 = q, 1, 0
		}
		nan := bitOr(bitOr(isNaN(a), isNaN(x)), bitOr(bitOr(lt(a, 0), lt(x, 0)), bitOr(bitAnd(eq(a, 0), eq(x, 0)), bitAnd(isInf(a), isInf(x)))))
		one := bitOr(eq(a, 0), isInf(x)) // all of the distribution is below x
		limit := where(one, likeConst(x, at1), likeConst(x, at0))
		return where(inside, value, where(nan, math.NaN(), limit))
	}
}

// runIncomplete is runFloat64 for a function whose formulas depend on the type of the result.
func runIncomplete(fn string, f func(forms incompleteForms) func(x ...*uop.UOp) *uop.UOp, operands ...*uop.UOp) (r *uop.UOp, err error) {
	defer guard(fn, &err)
	needSame("operands", operands...)
	dt := operands[0].DType
	for _, x := range operands {
		dt = uop.LeastUpper(dt, x.DType)
	}
	return inFloat64s(f(formsOf(dt)), operands...), nil
}

// GammaInc is the regularised lower incomplete gamma function P(a, x).
func GammaInc(a, x *uop.UOp) (*uop.UOp, error) {
	return runIncomplete("GammaInc", func(f incompleteForms) func(x ...*uop.UOp) *uop.UOp { return incompleteGamma(false, f) }, a, x)
}

// GammaIncC is the regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x), accurate where it is small.
func GammaIncC(a, x *uop.UOp) (*uop.UOp, error) {
	return runIncomplete("GammaIncC", func(f incompleteForms) func(x ...*uop.UOp) *uop.UOp { return incompleteGamma(true, f) }, a, x)
}

// lbeta is log(B(a, b)) for a, b > 0: for large sums without the cancellation of log gamma.
func lbeta(a, b *uop.UOp) *uop.UOp {
	low, high := where(lt(a, b), a, b), where(lt(a, b), b, a)
	far := ge(high, 10)
	h := where(far, high, 10)
	// log(Gamma(h)/Gamma(h+l)) by Stirling's series.
	rest := func(x *uop.UOp) *uop.UOp {
		r := reciprocal(x)
		return mul(r, horner(square(r), -1.63092934096575273989e-03, 8.36339918996282139126e-04, -5.95187557450339963135e-04,
			7.93650558643019558500e-04, -2.77777777728775536470e-03, 8.33333333333329678849e-02))
	}
	l := where(far, low, 1)
	sum := add(h, l)
	ratio := sub(rest(h), rest(sum))
	ratio = add(ratio, l)
	ratio = sub(ratio, mul(sub(h, 0.5), log1p(div(l, h))))
	ratio = sub(ratio, mul(l, log(sum)))
	near := where(far, 1, high)
	close := sub(lgammaFloat64(near), lgammaFloat64(add(near, where(far, 1, low))))
	return add(lgammaFloat64(low), where(far, ratio, close))
}

// betaFraction is I_x(a, b) for x < (a+1)/(a+b+2) by its continued fraction, with the density in front.
func betaFraction(a, b, x, other *uop.UOp, pairs int) *uop.UOp {
	// 1 + even/(1 + odd/(…)) as a quotient over/under, which is divided now and then so that neither overflows.
	over, under := likeConst(x, 1), likeConst(x, 1)
	sum := add(a, b)
	for m := pairs; m >= 1; m-- {
		// One division for both coefficients: by the product of their divisors.
		before, at, after := add(a, 2*m-1), add(a, 2*m), add(a, 2*m+1)
		r := div(x, mul(mul(before, at), after))
		even := mul(mul(mul(sub(b, m), m), after), r)
		odd := neg(mul(mul(mul(add(a, m), add(sum, m)), before), r))
		inner := mulAdd(odd, under, over)
		over, under = mulAdd(even, over, inner), inner
		if m%8 == 0 {
			over, under = div(over, under), likeConst(x, 1)
		}
	}
	d := div(over, under)
	first := neg(div(mul(sum, x), add(a, 1)))
	front := exp(sub(add(mul(a, log(x)), mul(b, log(other))), lbeta(a, b)))
	return div(front, mul(a, add(1, div(first, d))))
}

func betaInc(pairs int, abx ...*uop.UOp) *uop.UOp {
	a, b, x := abx[0], abx[1], abx[2]
	inside := bitAnd(bitAnd(bitAnd(gt(a, 0), gt(b, 0)), bitAnd(gt(x, 0), lt(x, 1))), bitAnd(isFinite(a), isFinite(b)))
	a1, b1, x1 := where(inside, a, 1), where(inside, b, 1), where(inside, x, 0.5)
	swap := gt(x1, div(add(a1, 1), add(add(a1, b1), 2)))
	r := betaFraction(where(swap, b1, a1), where(swap, a1, b1), where(swap, sub(1, x1), x1), where(swap, x1, sub(1, x1)), pairs)
	r = where(swap, sub(1, r), r)
	known := bitAnd(bitAnd(gt(a, 0), gt(b, 0)), bitOr(eq(x, 0), eq(x, 1)))
	return where(inside, r, where(known, x, math.NaN()))
}

// BetaInc is the regularised incomplete beta function I_x(a, b).
func BetaInc(a, b, x *uop.UOp) (*uop.UOp, error) {
	return runIncomplete("BetaInc", func(f incompleteForms) func(x ...*uop.UOp) *uop.UOp {
		return func(x ...*uop.UOp) *uop.UOp { return betaInc(f.pairs, x...) }
	}, a, b, x)
}

// Beta is the beta function for positive operands.
func Beta(a, b *uop.UOp) (*uop.UOp, error) {
	return runFloat64("Beta", func(x ...*uop.UOp) *uop.UOp {
		inside := bitAnd(gt(x[0], 0), gt(x[1], 0))
		return where(inside, exp(lbeta(where(inside, x[0], 1), where(inside, x[1], 1))), math.NaN())
	}, a, b)
}

// BetaLn is log|B(a, b)|.
func BetaLn(a, b *uop.UOp) (*uop.UOp, error) {
	return runFloat64("BetaLn", func(x ...*uop.UOp) *uop.UOp {
		a, b := x[0], x[1]
		positive := bitAnd(gt(a, 0), gt(b, 0))
		pa, pb := where(positive, a, 1), where(positive, b, 1)
		na, nb := where(positive, 1, a), where(positive, 1, b)
		return where(positive, lbeta(pa, pb), sub(add(lgammaFloat64(na), lgammaFloat64(nb)), lgammaFloat64(add(na, nb))))
	}, a, b)
}
