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
	case "tail_bell":
		return of1(func(x *uop.UOp) *uop.UOp { return expOfMinusSquare(tailArgument(x)) })
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

// expm1Wide is expm1Short with a polynomial of an error of 2^-57.
func expm1Wide(x *uop.UOp) *uop.UOp {
	r, n := withoutLn2Wide(clamp(x, -40, 709.9))
	p := horner(r, 2.0976981062261385e-09, 2.5113924489352478e-08, 2.75570695371632e-07, 2.7557228703982112e-06, 2.4801587557816733e-05,
		0.00019841269903350976, 0.0013888888888778353, 0.008333333333313897, 0.041666666666666824, 0.16666666666666688, 0.5)
	half := float64Of(shiftLeft(add(n, 1023-1), 52))
	y := mul(2, mulAdd(mulAdd(square(r), p, r), half, sub(half, 0.5)))
	return where(lt(abs(x), smallest64), x, y)
}

// erfWide is x + x p(x^2) below 1, and 1 - e^(a q(a)) for a = |x| beyond, where q is log(erfc(a))/a with an error that is 2^-57 of the result. From
// 5.95 on the result is 1.
func erfWide(x *uop.UOp) *uop.UOp {
	a := magnitude64(x)
	z := square(x)
	near := mulAdd(x, hornerPair(z, -7.801188874094099e-10, 1.3722976265922404e-08, -1.6209175911748172e-07, 1.6447517677871799e-06, -1.4924744663335484e-05,
		0.00012055295320494294, -0.0008548325989696758, 0.005223977607423468, -0.02686617064327622, 0.11283791670945253, -0.3761263890318355,
		0.12837916709551256), x)
	b := where(lt(a, 5.95), a, 5.95)
	q := hornerPair(b, 1.520941200897692e-12, -6.75297279871628e-11, 1.4039168787888765e-09, -1.8147479079318932e-08, 1.631529423903679e-07,
		-1.078854725282681e-06, 5.3883386921241825e-06, -2.0361568239104368e-05, 5.6064905784163254e-05, -9.55403576362367e-05, 1.0614798713018464e-06,
		0.0005745491974563729, -0.0016925006350398634, 0.00021195668699920475, 0.019125008087874446, -0.10277084339427936, -0.6366202488984127,
		-1.1283791112649646)
	far := sub(1, exp(mul(b, q)))
	far = float64Of(bitOr(bits64(far), sub(bits64(x), bits64(a))))
	return where(gt(a, 1), far, near)
}

// erfcWide is e^-a^2 p(t)/(1+2a) for a = |x| and t = (a-4)/(a+4), with an error of 2^-56, of 2 below 0. From 27.3 on the result is 0.
func erfcWide(x *uop.UOp) *uop.UOp {
	a := tailArgument(x)
	above, twice := add(a, 4), mulAdd(a, likeConst(a, 2), 1)
	r := reciprocal(mul(above, twice)) // one division, since others take longer
	q := mul(twice, r)
	t := mul(sub(a, 4), q)
	t = mulAdd(mulAdd(sub(1, t), a, mulAdd(t, likeConst(t, -4), -4)), q, t) // what the sums and the quotient lost by rounding
	p := hornerPair(t, -1.8268887277819764e-09, -1.3722173702606474e-08, -7.813652401815243e-09, 1.1538352178056393e-07, 6.295710050279491e-08,
		-8.350551298872628e-07, 3.0110803190584703e-07, 5.717703012686487e-06, -1.1224670968602998e-05, -2.4403040334603584e-05,
		0.00015062221484365434, -0.0001992555570696697, -0.00075777333895463, 0.005031969767043905, -0.01619773405873554,
		0.0371675155610361, -0.06633036581162986, 0.09373283499689695, -0.10103906603634465, 0.06809705425473402, 0.015379652102620562,
		-0.13962111684056286, 1.2329951186255526)
	y := mul(mul(mul(p, above), r), expOfMinusSquare(a))
	return where(lt(x, 0), sub(2, y), y)
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
