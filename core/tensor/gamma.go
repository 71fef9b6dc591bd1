package tensor

import (
	"math"

	"polygrad/core/uop"
)

// lgamma is log|Gamma(x)|: the rational approximations of FreeBSD's e_lgamma_r.c for x > 0, the reflection
// log(pi/|x sin(pi x)|) - lgamma(-x) below.
func lgamma(x *uop.UOp) *uop.UOp {
	a := mul(x, signOf(x))
	low, high := lt(a, 2), ge(a, 8)
	r := where(low, lgammaBelow2(where(low, a, 1)), where(high, lgammaAbove8(where(high, a, 8)), lgammaMiddle(where(bitOr(low, high), 2, a))))
	negative := lt(x, 0)
	reflected := sub(log(div(math.Pi, mul(sinPi(where(negative, a, 0.5)), where(negative, a, 1)))), r)
	r = where(negative, reflected, r)
	r = where(eq(x, math.Inf(-1)), math.Inf(1), r)
	return where(isNaN(x), x, r)
}

// sinPi is |sin(pi a)| for a >= 0.
func sinPi(a *uop.UOp) *uop.UOp {
	f := sub(a, detach(floor(a)))
	return sin(mul(math.Pi, where(gt(f, 0.5), sub(1, f), f)))
}

// lgammaBelow2 is for 0 <= x < 2: with u = x-1, or u = x and -log(x) added, a polynomial around 1, around the
// minimum 1.46 and around 2.
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

	r := where(top, atTop, where(bottom, atBottom, around))
	return where(down, sub(r, log(where(down, x, 1))), r)
}

// lgammaMiddle is for 2 <= x < 8: the value between 2 and 3 plus the log of the product that leads to x.
func lgammaMiddle(x *uop.UOp) *uop.UOp {
	y := sub(x, detach(floor(x)))
	p := mul(y, horner(y, 3.19475326584100867617e-05, 1.84028451407337715652e-03, 2.66422703033638609560e-02, 1.46350472652464452805e-01,
		3.25778796408930981787e-01, 2.14982415960608852501e-01, -7.72156649015328655494e-02))
	q := horner(y, 7.32668430744625636189e-06, 7.77942496381893596434e-04, 1.86459191715652901344e-02, 1.71933865632803078993e-01,
		7.21935547567138069525e-01, 1.39200533467621045958e+00, 1)
	z := where(ge(x, 3), add(y, 2), 1)
	for k := 3; k <= 6; k++ {
		z = mul(z, where(ge(x, k+1), add(y, k), 1))
	}
	return add(add(mul(0.5, y), div(p, q)), log(z))
}

// lgammaAbove8 is Stirling's series.
func lgammaAbove8(x *uop.UOp) *uop.UOp {
	z := reciprocal(x)
	w := horner(square(z), -1.63092934096575273989e-03, 8.36339918996282139126e-04, -5.95187557450339963135e-04, 7.93650558643019558500e-04,
		-2.77777777728775536470e-03, 8.33333333333329678849e-02)
	return add(mul(sub(x, 0.5), sub(log(x), 1)), add(mul(z, w), 4.18938533204672725052e-01))
}

// digamma is the derivative of lgamma for x > 0: ten steps of psi(x) = psi(x+1) - 1/x, then its asymptotic series.
// Below, psi(1-x) - pi/tan(pi x).
func digamma(x *uop.UOp) *uop.UOp {
	negative := le(x, 0)
	y := where(negative, sub(1, x), x)
	shift := lt(y, 10)
	var total *uop.UOp
	for k := range 10 {
		t := reciprocal(add(y, k))
		if total == nil {
			total = t
		} else {
			total = add(total, t)
		}
	}
	z := where(shift, add(y, 10), y)
	r := reciprocal(z)
	series := horner(square(r), 1.0/12, -691.0/32760, 1.0/132, -1.0/240, 1.0/252, -1.0/120, 1.0/12)
	p := sub(sub(log(z), mul(0.5, r)), mul(square(r), series))
	p = where(shift, sub(p, total), p)
	f := where(negative, sub(x, detach(floor(x))), 0.5)
	half := mul(math.Pi, f)
	return where(negative, sub(p, mul(math.Pi, div(cos(half), sin(half)))), p)
}

// Lgamma is log|Gamma(x)|.
func Lgamma(x *uop.UOp) (*uop.UOp, error) { return run1("Lgamma", inFloat(lgamma), x) }

// Digamma is the derivative of Lgamma.
func Digamma(x *uop.UOp) (*uop.UOp, error) { return run1("Digamma", inFloat(digamma), x) }
