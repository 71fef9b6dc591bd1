package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Functions of float64 by the bits of powers of two, where the long formulas take several exponentials, logarithms or divisions. As for
// float32, branches that are not taken may be anything, since each function states its derivative.

// wideForm is the formula of a function, nil if that is the long one.
func wideForm(name string) func(x ...*uop.UOp) *uop.UOp {
	switch name {
	case "erf":
		return of1(erfWide)
	case "erfc":
		return of1(erfcWide)
	case "erfinv":
		return of1(erfinvWide)
	case "ndtri":
		return of1(ndtriWide)
	case "tail_bell":
		return of1(func(x *uop.UOp) *uop.UOp { return bellWide(tailArgument(x), likeConst(x, 1)) })
	case "sinh":
		return of1(sinhWide)
	case "cosh":
		return of1(coshWide)
	case "expm1":
		return of1(expm1Wide)
	case "asinh":
		return of1(asinhWide)
	case "acosh":
		return of1(acoshWide)
	case "atanh":
		return of1(atanhOf)
	case "log1p":
		return of1(log1pWide)
	case "logit":
		return of1(logitOf)
	case "atan":
		return of1(atanWide)
	case "atan2":
		return of2(atan2Wide)
	case logOf1AndExpName:
		return of1(func(x *uop.UOp) *uop.UOp { return log1pWide(exp(where(lt(x, neg(x)), x, neg(x)))) })
	}
	return nil
}

func bits64(x *uop.UOp) *uop.UOp    { return bitcast(x, uop.Uint64) }
func float64Of(b *uop.UOp) *uop.UOp { return bitcast(b, uop.Float64) }

// magnitude64 is |x| by its bits.
func magnitude64(x *uop.UOp) *uop.UOp { return float64Of(magnitude(x)) }

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

// expm1Of64 is e^r - 1 for |r| <= (ln 2)/2 by a polynomial with an error of 2^-57.
func expm1Of64(r *uop.UOp) *uop.UOp {
	p := horner(r, 2.0976981062261385e-09, 2.5113924489352478e-08, 2.75570695371632e-07, 2.7557228703982112e-06, 2.4801587557816733e-05,
		0.00019841269903350976, 0.0013888888888778353, 0.008333333333313897, 0.041666666666666824, 0.16666666666666688, 0.5)
	return mulAdd(square(r), p, r)
}

// expm1Wide is expm1Short by expm1Of64.
func expm1Wide(x *uop.UOp) *uop.UOp {
	r, n := withoutLn2Wide(clamp(x, -40, 709.9))
	half := float64Of(shiftLeft(add(n, 1023-1), 52))
	y := mul(2, mulAdd(expm1Of64(r), half, sub(half, 0.5)))
	return where(lt(abs(x), smallest64), x, y)
}

// erfWide is the sign of x times 1 - e^y with y = log(erfc(a)) = a q(a) for a = |x|, at most 5.95, from where on erf is 1. The polynomial q gives erf an
// error of 2^-55.4; with rounding errors it is at most 2.5 units in the last place.
func erfWide(x *uop.UOp) *uop.UOp {
	size := magnitude64(x)
	a := clamp(size, nil, 5.95)
	q := hornerPair(a, 3.5917227748436645e-15, -1.6146811452716655e-13, 3.3639968463120754e-12, -4.301382633712571e-11, 3.7603942317705973e-10,
		-2.3603322292488245e-09, 1.0772554206464243e-08, -3.4582159475978656e-08, 6.572640867698468e-08, 1.1723162232401011e-08,
		-5.706572904309835e-07, 2.0372212835456217e-06, -3.132996957189099e-06, -3.1696420111043178e-06, 2.957564700571738e-05,
		-6.442046070597354e-05, -2.5904504502739326e-05, 0.000590132431601577, -0.001696207670175361, 0.00020919485396637779, 0.019128446993090974,
		-0.10277260330131527, -0.6366197723675909, -1.1283791670955126)
	r, n := withoutLn2Wide(mul(a, q))
	power := float64Of(shiftLeft(add(n, 1023), 52))
	y := mulAdd(expm1Of64(r), neg(power), sub(1, power))
	return float64Of(bitOr(bits64(y), sub(bits64(x), bits64(size))))
}

// first26Bits is x without the last 27 bits, so that its square is exact.
func first26Bits(x *uop.UOp) *uop.UOp { return float64Of(bitAnd(bits64(x), uop.Uint(1<<64-1<<27))) }

// bellWide is e^-a^2 times a number for 0 <= a <= 27.3: a is cut to 26 bits, whose square is exact, and what is left is taken off from the argument
// after its multiples of ln 2.
func bellWide(a, times *uop.UOp) *uop.UOp {
	high := first26Bits(a)
	r, n := withoutLn2Wide(neg(square(high)))
	r = mulAdd(sub(high, a), add(a, high), r)
	// 2^n may be out of range
	power := float64Of(shiftLeft(add(n, 1023+60), 52))
	return mul(mul(mulAdd(times, expm1Of64(r), times), power), 0x1p-60)
}

// erfcWide is e^-a^2 p(t) 8u for a = |x|, u = 1/(a+4) and t = (a-4)/(a+4) = 1 - 8u, with an error of 2^-58, of 2 below 0. From 27.3 on the result
// is 0. As divisions of float64 take three times as long, u is a reciprocal of float32 and the rest of it, to the square of the relative error, which
// is exact in products of 24 and 26 bits.
func erfcWide(x *uop.UOp) *uop.UOp {
	a := tailArgument(x)
	sum := add(a, 4)
	first := cast(reciprocal(cast(sum, uop.Float32)), uop.Float64)
	high := first26Bits(sum)
	residual := mulAdd(neg(sub(a, sub(high, 4))), first, mulAdd(neg(high), first, 1))
	rest := mul(first, mulAdd(residual, residual, residual))
	u, t := add(first, rest), mulAdd(rest, -8, mulAdd(first, -8, 1))
	p := hornerPair(t, 1.2757253022269939e-10, -4.6775431813214745e-11, -1.92439005685672e-09, 3.234847795891941e-10, 1.5491736012984677e-08,
		-9.74439419206612e-09, -1.0574952925010776e-07, 1.7826007716799392e-07, 5.86790220799236e-07, -2.3577226439121443e-06,
		-4.5439318891526484e-07, 2.2101635769281836e-05, -5.6881586237978246e-05, -3.511986447994493e-05, 0.0007640069571169114,
		-0.0032962566668272176, 0.009547689363641837, -0.02175136715503627, 0.041356448484753006, -0.06760672891415312, 0.0966510877831546,
		-0.12206859113511026, 0.13699945762506138)
	y := bellWide(a, mul(p, mul(u, 8)))
	return where(lt(x, 0), sub(2, y), y)
}

// nearQuantile is erfinv(x)/x for w = -log((1-x)(1+x)) up to wideTail, a polynomial with an error of 2^-56.1. (Giles, Approximating the erfinv
// function, 2010.)
func nearQuantile(w *uop.UOp) *uop.UOp {
	return hornerPair(sub(w, wideTail/2), 2.0995113933419628e-19, 2.5500273604985293e-18, -2.813575224573573e-17, -1.0175046560163981e-16,
		1.915097904332672e-15, -3.17216708616245e-15, -7.62711482629493e-14, 5.371419139559982e-13, 9.122625028713521e-13, -3.110779918309899e-11,
		1.1960486815349753e-10, 9.073143421174787e-10, -1.0861164893984096e-08, 1.3416789551889266e-08, 4.787252138868511e-07,
		-3.4166195855744377e-06, -4.9960795959282694e-06, 0.00021825026433970748, -0.001252707907811876, -0.004177317724382953, 0.24664027674416708,
		1.501409351110792)
}

// wideTail is where the tails begin, which have 0.34% of the probability: there the general formula is taken.
const wideTail = 5.0

// erfinvWide is x p(w) for w = -log((1-x)(1+x)), as erfinvOf.
func erfinvWide(x *uop.UOp) *uop.UOp {
	w := neg(log(mul(sub(1, x), add(1, x))))
	return seldom(gt(w, wideTail), erfinvLong(x), mul(x, nearQuantile(w)))
}

// ndtriWide is sqrt(2) erfinv(2p-1), with w = -log(4p(1-p)).
func ndtriWide(p *uop.UOp) *uop.UOp {
	w := neg(log(mul(mul(4, p), sub(1, p))))
	return seldom(gt(w, wideTail), ndtriLong(p), mul(sub(p, 0.5), mul(nearQuantile(w), 2*math.Sqrt2)))
}

func tailArgument(x *uop.UOp) *uop.UOp { return clamp(magnitude64(x), nil, 27.3) }

// log1pWide is the logarithm of u/1 for u = 1+x, of which neither the difference from 2^k nor the sum with it is rounded twice.
func log1pWide(x *uop.UOp) *uop.UOp {
	u := add(x, 1)
	power := nearestPower(u, likeConst(x, 1))
	y := logOfQuotient(power, sub(x, sub(power, 1)), add(x, add(power, 1)), 2)
	y = where(lt(abs(x), smallest64), x, y)
	return seldom(logicalNot(bitAnd(gt(x, -1), lt(x, 1e300))), log(u), y)
}

// beyondSquares is where x^2 + 1 and x^2 - 1 are x^2, and log(1+x) is log(x).
const beyondSquares = 1e17

// asinhWide is log(1 + a + a^2/(1+sqrt(a^2+1))) for a = |x|, and log(2a) far away.
func asinhWide(x *uop.UOp) *uop.UOp {
	a := magnitude64(x)
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

// atanWide is the angle of the point (1, x).
func atanWide(x *uop.UOp) *uop.UOp {
	a := magnitude64(x)
	return float64Of(bitOr(bits64(angleWide(a, likeConst(x, 1))), sub(bits64(x), bits64(a))))
}

// angleWide is the angle of the point (w, h), neither of them below 0, with the angle 0, pi/4 or pi/2: that between both has the tangent n/d
// of at most sqrt(2) - 1. The odd polynomial has an error of 2^-58.
func angleWide(h, w *uop.UOp) *uop.UOp {
	mid, steep := gt(h, mul(w, math.Sqrt2-1)), gt(h, mul(w, math.Sqrt2+1))
	t := div(where(steep, neg(w), where(mid, sub(h, w), h)), where(steep, h, where(mid, add(h, w), w)))
	z := square(t)
	y := mulAdd(mul(t, z), horner(z, -0.01793635773085325, 0.03808281226148937, -0.050397065606915495, 0.05847915034442611, -0.0666310048634547,
		0.07692059489175715, -0.0909089770937152, 0.11111110782121797, -0.14285714280186707, 0.1999999999995368, -0.333333333333332), t)
	return add(where(steep, math.Pi/2, where(mid, likeConst(h, math.Pi/4), 0)), y)
}

// atan2Wide is atan2; 0/0, quotients of infinities, products that may be rounded to subnormal numbers and sums that may be infinite are seldom.
func atan2Wide(b, a *uop.UOp) *uop.UOp {
	h, w := where(negative(b), neg(b), b), where(negative(a), neg(a), a)
	r := angleWide(h, w)
	r = where(negative(a), sub(math.Pi, r), r)
	r = float64Of(bitOr(bits64(r), sub(bits64(b), bits64(h))))
	sum := add(h, w)
	return seldom(bitOr(lt(sum, 1e-300), gt(sum, 1e308)), atan2Long(b, a), r)
}
