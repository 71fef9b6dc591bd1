package tensor

import (
	"math"

	"polygrad/core/uop"
)

// erfc is 1 - erf(x) without cancellation: W. J. Cody's rational approximations (Math. Comp. 23, 1969, 631-637), on
// |x| <= 0.46875, up to 4 and beyond, with e^(-x^2) computed in two factors.
func erfc(x *uop.UOp) *uop.UOp {
	return smooth("erfc", erfcShort, erfcLong, func(x, _ *uop.UOp) *uop.UOp { return mul(tailBell(x), -2/math.SqrtPi) }, x)
}

func erfcLong(x *uop.UOp) *uop.UOp {
	a := mul(x, signOf(x))
	near, far := le(a, 0.46875), gt(a, 4)
	return where(near, sub(1, erfNear(where(near, x, 0))), erfcTail(x, a, near, far))
}

// erfNear is erf for |x| <= 0.46875: x plus a small part of it, so rounding of the part matters less. The coefficients are
// Cody's minus the linear term.
func erfNear(x *uop.UOp) *uop.UOp {
	z := square(x)
	p := horner(z, -0.814222293815396847, -20.44016720847355530, -130.160483783394017, -905.131288392070259, 365.14075569929885)
	q := horner(z, 1, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3)
	return add(x, mul(x, div(p, q)))
}

// erfcTail is erfc for |x| > 0.46875; a is |x|.
func erfcTail(x, a, near, far *uop.UOp) *uop.UOp {
	a = where(near, 1, where(lt(a, 30), a, where(ne(a, a), a, 30)))
	y := where(far, 4, a)
	p := horner(y, 2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1, 2.98635138197400131e2,
		8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3)
	q := horner(y, 1, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3, 3.29079923573345963e3,
		4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3)
	inverse := reciprocal(where(far, a, 4))
	z := square(inverse)
	p2 := horner(z, 1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1, 1.60837851487422766e-2,
		6.58749161529837803e-4)
	q2 := horner(z, 1, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2, 2.33520497626869185e-3)
	ratio := div(where(far, p2, p), where(far, q2, q)) // one division, since others take longer
	r := mul(where(far, mul(sub(1/math.SqrtPi, mul(z, ratio)), inverse), ratio), expOfMinusSquare(a))
	return where(lt(x, 0), sub(2, r), r)
}

// expOfMinusSquare is e^(-a^2): a is cut to sixteenths, whose square is exact, and the square is the sum of two numbers.
func expOfMinusSquare(a *uop.UOp) *uop.UOp {
	h := mul(detach(trunc(mul(a, 16))), 1.0/16)
	most, rest := square(h), mul(sub(a, h), add(a, h))
	if asTinygrad(a) {
		return mul(accurateExp(neg(most)), accurateExp(neg(rest)))
	}
	sum := add(most, rest)
	y := accurateExp(neg(sum))
	return sub(y, mul(y, add(sub(most, sum), rest)))
}

// quantile is the quantile of the normal distribution for p = 1/2 + q, where tail is min(p, 1-p): algorithm AS 241
// (Wichura, Applied Statistics 37, 1988), with a relative error of 1e-16.
func quantile(q, tail *uop.UOp) *uop.UOp {
	mid := le(mul(q, signOf(q)), 0.425)
	r := sub(0.180625, square(where(mid, q, 0)))
	p := horner(r, 2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4, 4.5921953931549871457e+4,
		1.3731693765509461125e+4, 1.9715909503065514427e+3, 1.3314166789178437745e+2, 3.3871328727963666080e0)
	d := horner(r, 5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4, 2.1213794301586595867e+4,
		5.3941960214247511077e+3, 6.8718700749205790830e+2, 4.2313330701600911252e+1, 1)
	above, below := p, d
	inside := gt(tail, 0)
	r = sqrt(neg(log(where(bitAnd(inside, logicalNot(mid)), tail, 0.05))))
	far := gt(r, 5)
	y := sub(where(far, 2, r), 1.6)
	p = horner(y, 7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
		3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0)
	d = horner(y, 1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
		6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1)
	above, below = where(mid, above, p), where(mid, below, d)
	y = sub(where(far, r, 6), 5)
	p = horner(y, 2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
		2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0)
	d = horner(y, 2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
		1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1)
	far = bitAnd(far, logicalNot(mid))
	ratio := div(where(far, p, above), where(far, d, below)) // one division, since others take longer
	tails := where(inside, ratio, where(eq(tail, 0), likeConst(q, math.Inf(1)), likeConst(q, math.NaN())))
	return where(mid, mul(where(mid, q, 0), ratio), mul(signOf(q), tails))
}

// ndtri is the inverse of the cumulative normal distribution.
func ndtri(p *uop.UOp) *uop.UOp {
	return smooth("ndtri", ndtriShort, ndtriLong, func(_, y *uop.UOp) *uop.UOp { return mul(exp(mul(square(y), 0.5)), math.Sqrt2*math.SqrtPi) }, p)
}

func ndtriLong(p *uop.UOp) *uop.UOp {
	q := sub(p, 0.5)
	return quantile(q, where(gt(q, 0), sub(1, p), p))
}

// erfinv is the inverse of erf: quantile((1+x)/2) / sqrt(2).
func erfinv(x *uop.UOp) *uop.UOp {
	return smooth("erfinv", erfinvShort, erfinvLong, func(_, y *uop.UOp) *uop.UOp { return mul(exp(square(y)), math.SqrtPi/2) }, x)
}

func erfinvLong(x *uop.UOp) *uop.UOp {
	a := mul(x, signOf(x))
	return mul(quantile(mul(x, 0.5), mul(sub(1, a), 0.5)), math.Sqrt2/2)
}

// Erfc is 1 - erf(x), accurate in the tail.
func Erfc(x *uop.UOp) (*uop.UOp, error) { return run1("Erfc", inFloat(erfc), x) }

// Erfinv is the inverse of the error function; infinite at -1 and 1, NaN outside.
func Erfinv(x *uop.UOp) (*uop.UOp, error) { return run1("Erfinv", inFloat(erfinv), x) }

// Ndtri is the inverse of the cumulative distribution function of the standard normal distribution.
func Ndtri(x *uop.UOp) (*uop.UOp, error) { return run1("Ndtri", inFloat(ndtri), x) }
