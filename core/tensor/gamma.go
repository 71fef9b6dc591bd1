package tensor

import (
	"math"

	"polygrad/core/uop"
)

// lgamma is log|Gamma(x)|: the rational approximations of FreeBSD's e_lgamma_r.c for x > 0, the reflection
// log(pi/|x sin(pi x)|) - lgamma(-x) below; infinite at the poles 0, -1, -2 …. x is always float64: the terms of the
// reflection cancel near its zeros.
func lgamma(x *uop.UOp) *uop.UOp {
	a := mul(x, signOf(x))
	low, high := lt(a, 2), ge(a, 8)
	// One logarithm does for all parts.
	down := le(a, 0.9)
	middle, product := lgammaMiddle(where(bitOr(low, high), 2, a))
	l := log(where(bitOr(high, down), a, where(low, 1, product)))
	r := where(low, lgammaBelow2(where(low, a, 1)), middle)
	r = add(r, where(down, neg(l), l))
	r = where(high, lgammaAbove8(where(high, a, 8), l), r)
	f := sub(a, detach(floor(a)))
	f = where(gt(f, 0.5), sub(1, f), f)
	pole := bitAnd(le(x, 0), eq(f, 0))
	// Below 1e-100 lgamma is even to the last digit, and the product below would be 0.
	negative := bitAnd(lt(x, -1e-100), logicalNot(pole))
	sine := sin(mul(math.Pi, where(negative, f, 0.5)))
	reflected := sub(log(div(math.Pi, mul(sine, where(negative, a, 1)))), where(negative, r, 0))
	r = where(pole, math.Inf(1), where(negative, reflected, r))
	r = where(eq(x, math.Inf(-1)), math.Inf(1), r)
	return where(isNaN(x), x, r)
}

// lgammaBelow2 is for 0 <= x < 2: polynomials around 1 and around the minimum 1.46 in u = x-1, or up to 0.9 in u = x, less log(x).
func lgammaBelow2(x *uop.UOp) *uop.UOp {
	const minimumAt = 0.46163214496836234126
	down := le(x, 0.9)
	u := where(down, x, sub(x, 1))
	top, bottom := ge(u, 0.73163214496836234126), lt(u, 0.23163214496836234126)
	y := where(top, sub(1, u), 0)
	z := square(y)
	p := horner(z, 2.52144565451257326939e-05, 2.20862790713908385557e-04, 1.19270763183362067845e-03, 7.38555086081402883957e-03,
		6.73523010531292681824e-02, 7.72156649015328655494e-02)
	q := mul(z, horner(z, 4.48640949618915160150e-05, 1.08011567247583939954e-04, 5.10069792153511336608e-04, 2.89051383673415629091e-03,
		2.05808084325167332806e-02, 3.22467033424113591611e-01))
	atTop := sub(add(mul(y, p), q), mul(0.5, y))

	y = where(bitOr(top, bottom), 0, sub(u, minimumAt))
	z = square(y)
	w := mul(z, y)
	p = horner(w, 3.15632070903625950361e-04, -1.40346469989232843813e-03, 6.10053870246291332635e-03, -3.27885410759859649565e-02,
		4.83836122723810047042e-01)
	q = horner(w, -3.12754168375120860518e-04, 8.81081882437654011382e-04, -3.68452016781138256760e-03, 1.79706750811820387126e-02,
		-1.47587722994593911752e-01)
	v := horner(w, 3.35529192635519073543e-04, -5.38595305356740546715e-04, 2.25964780900612472250e-03, -1.03142241298341437450e-02,
		6.46249402391333854778e-02)
	around := add(add(mul(z, p), mul(w, add(q, mul(y, v)))), -1.21486290535849611461e-01)

	y = where(bottom, u, 0)
	p = mul(y, horner(y, 1.33810918536787660377e-02, 2.28963728064692451092e-01, 9.77717527963372745603e-01, 1.45492250137234768737e+00,
		6.32827064025093366517e-01, -7.72156649015328655494e-02))
	q = horner(y, 3.21709242282423911810e-03, 1.04222645593369134254e-01, 7.69285150456672783825e-01, 2.12848976379893395361e+00,
		2.45597793713041134822e+00, 1)
	atBottom := sub(div(p, q), mul(0.5, y))

	return where(top, atTop, where(bottom, atBottom, around))
}

// lgammaMiddle is for 2 <= x < 8: lgamma(2+y), where y is the fraction of x, and the product (2+y)(3+y)…(x-1), whose logarithm is to be added.
func lgammaMiddle(x *uop.UOp) (r, product *uop.UOp) {
	y := sub(x, detach(floor(x)))
	p := mul(y, horner(y, 3.19475326584100867617e-05, 1.84028451407337715652e-03, 2.66422703033638609560e-02, 1.46350472652464452805e-01,
		3.25778796408930981787e-01, 2.14982415960608852501e-01, -7.72156649015328655494e-02))
	q := horner(y, 7.32668430744625636189e-06, 7.77942496381893596434e-04, 1.86459191715652901344e-02, 1.71933865632803078993e-01,
		7.21935547567138069525e-01, 1.39200533467621045958e+00, 1)
	z := where(ge(x, 3), add(y, 2), 1)
	for k := 3; k <= 6; k++ {
		z = mul(z, where(ge(x, k+1), add(y, k), 1))
	}
	return add(mul(0.5, y), div(p, q)), z
}

// lgammaAbove8 is Stirling's series, with the logarithm of x.
func lgammaAbove8(x, l *uop.UOp) *uop.UOp {
	z := reciprocal(x)
	w := horner(square(z), -1.63092934096575273989e-03, 8.36339918996282139126e-04, -5.95187557450339963135e-04, 7.93650558643019558500e-04,
		-2.77777777728775536470e-03, 8.33333333333329678849e-02)
	return mulAdd(sub(x, 0.5), sub(l, 1), mulAdd(z, w, 4.18938533204672725052e-01))
}

// digammaLong, for x > 0: a rational approximation between 1 and 2; below 1 psi(x+1) - 1/x; up to 10 eight such steps to the
// asymptotic series. Else psi(1-x) - pi/tan(pi x), NaN at -1, -2 …, infinite at 0. x is float64 for the same reason as in lgamma.
func digammaLong(x *uop.UOp) *uop.UOp {
	negative := le(x, 0)
	y := where(negative, sub(1, x), x)
	below1, below2 := lt(y, 1), lt(y, 2)
	t := where(below2, y, 1)
	low := sub(digamma1To2(where(below1, add(t, 1), t)), where(below1, reciprocal(t), 0))
	p := where(below2, low, digammaAbove2(where(below2, 2, y)))
	f := fromWhole(x)
	angle := mul(math.Pi, where(negative, f, 0.5))
	p = where(negative, sub(p, mul(math.Pi, div(cos(angle), sin(angle)))), p)
	// cos/sin loses the sign of a zero; 1/x keeps it, and gives NaN at the other poles.
	p = where(eq(x, 0), neg(reciprocal(where(eq(x, 0), x, 1))), p)
	return where(bitAnd(lt(x, 0), eq(f, 0)), math.NaN(), p)
}

// fromWhole is x less the nearest integer, x itself above -1/2.
func fromWhole(x *uop.UOp) *uop.UOp {
	f := sub(x, detach(floor(x)))
	return where(gt(x, -0.5), x, where(gt(f, 0.5), sub(f, 1), f))
}

// trigamma is the derivative of digamma: up to 10 ten steps of psi'(x) = psi'(x+1) + 1/x^2 to the asymptotic series, for x <= 0
// pi^2/sin(pi x)^2 - psi'(1-x).
func trigamma(x *uop.UOp) *uop.UOp {
	negative := le(x, 0)
	y := where(negative, sub(1, x), x)
	shift := lt(y, 10)
	low := where(shift, y, 10)
	total := square(reciprocal(low))
	for k := 1; k < 10; k++ {
		total = add(total, square(reciprocal(add(low, k))))
	}
	r := reciprocal(where(shift, add(y, 10), y))
	z := square(r)
	p := mulAdd(mul(r, z), horner(z, 7.0/6, -691.0/2730, 5.0/66, -1.0/30, 1.0/42, -1.0/30, 1.0/6), mulAdd(z, 0.5, r))
	p = where(shift, add(p, total), p)
	sine := sin(mul(math.Pi, where(negative, fromWhole(x), 0.5)))
	return where(negative, sub(square(mul(math.Pi, reciprocal(sine))), p), p)
}

// digamma1To2 is digamma between 1 and 2 as the distance from its zero times a rational approximation, of
// Boost.Math's digamma.hpp (J. Maddock, 2006), with a relative error of 2e-17.
func digamma1To2(x *uop.UOp) *uop.UOp {
	// The zero is the sum of two float64.
	const zero, rest = 1.4616321449683622, 9.549995429965697e-17
	g := sub(same(sub(x, zero), -2), rest)
	t := sub(x, 1)
	p := horner(t, -0.0020713321167745952, -0.045251321448739056, -0.28919126444774784, -0.65031853770896507, -0.32555031186804491,
		0.25479851061131551)
	q := horner(t, -0.55789841321675513e-6, 0.0021284987017821144, 0.054151797245674225, 0.43593529692665969, 1.4606242909763515,
		2.0767117023730469, 1)
	return mul(g, add(div(p, q), 0.99558162689208984))
}

// digammaAbove2 is the asymptotic series, for x < 10 after eight steps of psi(x) = psi(x+1) - 1/x.
func digammaAbove2(x *uop.UOp) *uop.UOp {
	shift := lt(x, 10)
	y := where(shift, x, 2)
	// the sum of the reciprocals as one quotient
	over, under := likeConst(y, 1), y
	for k := 1; k < 8; k++ {
		next := add(y, k)
		over, under = mulAdd(next, over, under), mul(under, next)
	}
	total := div(over, under)
	z := where(shift, add(x, 8), x)
	p := digammaSeries(z)
	return where(shift, sub(p, total), p)
}

// digammaSeries is the asymptotic series.
func digammaSeries(x *uop.UOp) *uop.UOp {
	r := reciprocal(x)
	series := horner(square(r), 1.0/12, -691.0/32760, 1.0/132, -1.0/240, 1.0/252, -1.0/120, 1.0/12)
	return sub(sub(log(x), mul(0.5, r)), mul(square(r), series))
}

// The formulas for numbers of float32 and shorter types, computed in float64: one formula for all x, since cancellation only loses
// digits beyond those of the result.

// shiftSteps is how far numbers below it are shifted, to where the asymptotic series hold.
const shiftSteps = 8

// sinPi is sin(pi x) for |x| <= 1/2, by its power series.
func sinPi(x *uop.UOp) *uop.UOp {
	const terms = 11
	var series [terms]float64
	term := math.Pi
	for k := range terms {
		series[terms-1-k] = term
		term *= -math.Pi * math.Pi / float64((2*k+2)*(2*k+3))
	}
	return mul(x, horner(square(x), series[:]...))
}

// lgammaOfFloat32 is, for a = |x|, Stirling's series S(a), or S(a+8) - log(a(a+1)...(a+7)); below 0 log(pi/|x sin(pi x)|) less
// that, with the product and the sine in one logarithm. Near the zeros 1 and 2 it is the power series there.
func lgammaOfFloat32(x *uop.UOp) *uop.UOp {
	negative := lt(x, 0)
	a := mul(x, signOf(x))
	shift := lt(a, shiftSteps)
	product := add(a, 1)
	for k := 2; k < shiftSteps; k++ {
		product = mul(product, add(a, k))
	}
	f := sub(a, detach(floor(a)))
	sine := sinPi(where(gt(f, 0.5), sub(1, f), f))
	over := mul(where(shift, product, 1), where(negative, math.Pi, where(shift, a, 1)))
	under := seldom(negative, mul(sine, where(shift, 1, a)), likeConst(a, 1))
	z := where(shift, add(a, shiftSteps), a)
	r := sub(lgammaAbove8(z, log(z)), log(div(over, under)))
	r = where(negative, neg(r), r)
	first := lt(x, 1.5)
	t := where(first, sub(1, x), sub(x, 2))
	near := mul(t, eitherHorner(first, t, []float64{0.20738555102867398, 0.27058080842778454, 0.40068563438653143, 0.8224670334241132, 0.5772156649015329},
		[]float64{-0.0073855510286739856, 0.020580808427784547, -0.06735230105319809, 0.3224670334241132, 0.42278433509846713}))
	r = seldom(lt(square(t), 0x1p-14), near, r)
	return where(eq(a, math.Inf(1)), a, r)
}

// digammaOfFloat32 is, for x > 0, the asymptotic series, below 8 after eight steps of psi(x) = psi(x+1) - 1/x; else psi(1-x) - pi/tan(pi x).
// All terms that are subtracted are one quotient.
func digammaOfFloat32(x *uop.UOp) *uop.UOp {
	negative := le(x, 0)
	y := where(negative, sub(1, x), x)
	shift := lt(y, shiftSteps)
	over, under := likeConst(y, 1), y
	for k := 1; k < shiftSteps; k++ {
		next := add(y, k)
		over, under = mulAdd(next, over, under), mul(under, next)
	}
	over, under = where(shift, over, 0), where(shift, under, 1)
	f := fromWhole(x)
	sine, cosine := sinPi(f), sinPi(sub(0.5, mul(f, signOf(f))))
	over = where(negative, mulAdd(over, sine, mul(mul(under, math.Pi), cosine)), over)
	under = where(negative, mul(under, sine), under)
	p := sub(digammaSeries(where(shift, add(y, shiftSteps), y)), div(over, under))
	return where(bitAnd(lt(x, 0), eq(f, 0)), math.NaN(), p)
}

// withDerivative is a formula whose derivative is slope.
func withDerivative(name string, formula, slope func(*uop.UOp) *uop.UOp) func(*uop.UOp) *uop.UOp {
	return func(x *uop.UOp) *uop.UOp {
		return smooth(name, nil, formula, func(x, _ *uop.UOp) *uop.UOp { return slope(x) }, x)
	}
}

func digamma(x *uop.UOp) *uop.UOp { return withDerivative("digamma", digammaLong, trigamma)(x) }
func digammaShort(x *uop.UOp) *uop.UOp {
	return withDerivative("digamma of float32", digammaOfFloat32, trigamma)(x)
}

// inFloat64 computes a function in float64, with another formula if the type of its result is shorter.
func inFloat64(long, ofFloat32 func(*uop.UOp) *uop.UOp) func(*uop.UOp) *uop.UOp {
	return func(x *uop.UOp) *uop.UOp {
		x = asFloat(x)
		f := long
		if x.DType != uop.Float64 {
			f = ofFloat32
		}
		return cast(f(cast(x, uop.Float64)), x.DType)
	}
}

// Lgamma is log|Gamma(x)|.
func Lgamma(x *uop.UOp) (*uop.UOp, error) {
	return run1("Lgamma", lgammaIn, x)
}

func lgammaIn(x *uop.UOp) *uop.UOp {
	return inFloat64(withDerivative("lgamma", lgamma, digamma), withDerivative("lgamma of float32", lgammaOfFloat32, digammaShort))(x)
}

// Digamma is the derivative of Lgamma.
func Digamma(x *uop.UOp) (*uop.UOp, error) {
	return run1("Digamma", inFloat64(digamma, digammaShort), x)
}
