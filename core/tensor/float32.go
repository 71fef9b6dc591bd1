package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Functions of float32 for which the formulas in float64 are longer than it needs. Their polynomials are minimax approximations
// whose coefficients were rounded to float32 one after the other, the others fitted anew each time; "error" is that of the
// polynomial, as a part of the result. All numbers of the type are inputs. Branches that are not taken may be anything, since each
// function states its derivative.

// short reports whether x is computed by the formulas here.
func short(x *uop.UOp) bool { return x.DType == uop.Float32 && !asTinygrad(x) }

const (
	signBit32 = 1 << 31
	one32     = 127 << 23 // the bits of 1
	tinyTwo   = 1e-15     // for x*x below it, x is asinh(x), log1p(x) …
)

func bits32(x *uop.UOp) *uop.UOp      { return bitcast(x, uop.Uint32) }
func float32Of(b *uop.UOp) *uop.UOp   { return bitcast(b, uop.Float32) }
func magnitude32(x *uop.UOp) *uop.UOp { return float32Of(bitAnd(bits32(x), signBit32-1)) }

// withSign is a number that is not below 0 with the sign of another.
func withSign(x, sign *uop.UOp) *uop.UOp {
	return float32Of(bitOr(bits32(x), bitAnd(bits32(sign), signBit32)))
}

// tiny reports where x*x is nothing beside 1.
func tiny(x *uop.UOp) *uop.UOp { return lt(square(x), tinyTwo) }

// powerOf2 is 2^(n+k) for the bits of n + 3*2^22, without care for what is out of range.
func powerOf2(bits *uop.UOp, k int) *uop.UOp {
	return float32Of(shiftLeft(add(bits, 127+k), 23))
}

// inversePowerOf2 is 2^(k-n).
func inversePowerOf2(bits *uop.UOp, k int) *uop.UOp {
	return float32Of(shiftLeft(sub(127+k, bits), 23))
}

// withoutLn2 is r for x = n ln 2 + r with |r| <= (ln 2)/2, and the bits of n + 3*2^22.
func withoutLn2(x *uop.UOp) (r, bits *uop.UOp) {
	const whole = 3 << 22
	sum := mulAdd(x, log2e, whole)
	n := sub(sum, whole)
	return mulAdd(n, 2.12194440054690583e-4, mulAdd(n, -0.693359375, x)), bits32(sum)
}

// expm1Of is e^r - 1 for |r| <= (ln 2)/2; error 2^-30.
func expm1Of(r *uop.UOp) *uop.UOp {
	return mulAdd(square(r), horner(r, 0.0013838921440765262, 0.00836919341236353, 0.04166810214519501, 0.16666516661643982, 0.4999999403953552), r)
}

// expm1Short is e^x - 1 = 2^n (e^r - 1) + 2^n - 1, by half of it, since 2^n may be too large.
func expm1Short(x *uop.UOp) *uop.UOp {
	r, n := withoutLn2(clamp(x, -20, 89))
	half := powerOf2(n, -1)
	y := mul(2, mulAdd(expm1Of(r), half, sub(half, 0.5)))
	return where(tiny(x), x, y)
}

// hyperbolic is sinh(x) and cosh(x), by their halves: with e^x = 2^n (c+s) for c = cosh(r) and s = sinh(r), they are sums of
// c and s times 2^(n-1) -+ 2^(-n-1).
func hyperbolic(x *uop.UOp) (sinh, cosh *uop.UOp) {
	r, n := withoutLn2(clamp(x, -89.5, 89.5))
	z := square(r)
	s := mulAdd(mul(r, z), horner(z, 0.00019971863, 0.008333177, 0.16666667), r) // error 2^-34
	c := mul(z, horner(z, 0.001393627, 0.04166645, 0.5))                         // cosh(r) - 1, error 2^-33
	// a negative number is a power that is out of range, far below the other one
	up, down := maximum(powerOf2(n, -2), 0), maximum(inversePowerOf2(n, -2), 0)
	most, least := add(up, down), sub(up, down)
	return mul(2, mulAdd(s, most, mulAdd(c, least, least))), mul(2, mulAdd(s, least, mulAdd(c, most, most)))
}

func sinhShort(x *uop.UOp) *uop.UOp {
	y, _ := hyperbolic(x)
	return where(tiny(x), x, y)
}

func coshShort(x *uop.UOp) *uop.UOp {
	_, y := hyperbolic(x)
	return y
}

// log1pBelow1 is log(1+x) for 0 <= x <= 1; error 2^-27.5.
func log1pBelow1(x *uop.UOp) *uop.UOp {
	return mul(x, horner(x, -0.0032910742, 0.02008846, -0.057460483, 0.10661371, -0.15344977, 0.19692121, -0.2495802, 0.33330464, -0.4999993, 1))
}

// log1pShort is log(1+x) = log(1+m) + k ln 2 for 1+x = (1+m) 2^k with m from -1/4 to 1/2: m is x 2^-k + (2^-k - 1), which is
// rounded once. Quarters keep 2^-k in range.
func log1pShort(x *uop.UOp) *uop.UOp {
	const threeQuarters = 0x3f400000
	k := bitAnd(sub(bits32(add(x, 1)), threeQuarters), 0xff800000)
	scale := float32Of(sub(one32+2<<23, k))
	m := mulAdd(mul(x, 0.25), scale, mulAdd(scale, 0.25, -1))
	// error 2^-27.6
	y := mulAdd(square(m), horner(m, -0.045135185, 0.10471279, -0.13164203, 0.14478002, -0.16646925, 0.19990832, -0.25000107, 0.3333345, -0.5), m)
	y = mulAdd(cast(bitcast(k, uop.Int32), uop.Float32), math.Ln2/(1<<23), y)
	y = where(bitOr(tiny(x), ge(x, math.Inf(1))), x, y)
	return where(gt(x, -1), y, where(eq(x, -1), math.Inf(-1), likeConst(x, math.NaN())))
}

// asinhShort is x times a polynomial with an error of 2^-29 up to 0.8, and log(a + sqrt(a^2+1)) beyond.
func asinhShort(x *uop.UOp) *uop.UOp {
	a := magnitude32(x)
	z := square(x)
	// the half of the sum is in range
	y := add(log(mulAdd(where(gt(a, huge), a, sqrt(add(z, 1))), 0.5, mul(a, 0.5))), ln2)
	near := mulAdd(mul(a, z), horner(z, -0.0024454424, 0.009417712, -0.018926466, 0.02948644, -0.04451309, 0.07499089,
		-0.16666645), a)
	return withSign(where(lt(a, 0.8), near, y), x)
}

// acoshShort is log(1 + t + sqrt(t(t+2))) for t = x-1.
func acoshShort(x *uop.UOp) *uop.UOp {
	far := gt(x, huge)
	t := same(sub(x, 1), -huge)
	y := add(log1pShort(where(far, t, add(t, sqrt(mul(t, add(t, 2)))))), where(far, likeConst(x, ln2), 0))
	return where(lt(x, 1), likeConst(x, math.NaN()), y)
}

// atanhShort is log(1 + 2a/(1-a))/2 for a = |x|.
func atanhShort(x *uop.UOp) *uop.UOp {
	a := magnitude32(x)
	return withSign(mul(0.5, log1pShort(div(add(a, a), sub(1, a)))), x)
}

// arcShort is asin(|x|) for |x| <= 1/2 = near, else asin(sqrt((1-|x|)/2)), for asin(|x|) = pi/2 - 2 asin(root).
func arcShort(x *uop.UOp) (near, y *uop.UOp) {
	a := magnitude32(x)
	near = le(a, 0.5)
	z := where(near, square(x), mul(sub(1, a), 0.5))
	t := where(near, a, sqrt(z))
	return near, mulAdd(mul(t, z), horner(z, 0.042211797, 0.024152093, 0.04547604, 0.07495252, 0.16666754), t) // error 2^-27.6
}

func asinShort(x *uop.UOp) *uop.UOp {
	near, y := arcShort(x)
	return withSign(where(near, y, sub(math.Pi/2, add(y, y))), x)
}

func acosShort(x *uop.UOp) *uop.UOp {
	near, y := arcShort(x)
	twice := add(y, y)
	far := where(lt(x, 0), sub(math.Pi, twice), twice)
	return where(near, sub(math.Pi/2, withSign(y, x)), far)
}

// atanBelow1 is atan(t) for 0 <= t <= 1; error 2^-25.8.
func atanBelow1(t *uop.UOp) *uop.UOp {
	z := square(t)
	return mulAdd(mul(t, z), horner(z, 0.0029197228, -0.016364133, 0.043205857, -0.07551724, 0.106657855, -0.14211003, 0.19993767, -0.33333153), t)
}

func atanShort(x *uop.UOp) *uop.UOp {
	a := magnitude32(x)
	far := gt(a, 1)
	y := atanBelow1(where(far, reciprocal(a), a))
	return withSign(where(far, sub(math.Pi/2, y), y), x)
}

// erfShort is the sign of x times 1 - e^y with y = log(erfc(t)) = t p(t) - t for t = |x|, at most 3.92, from where on erf is 1; p such that
// the error of erf is 2^-27.9. With y = n ln 2 + r it is 1 - 2^n - 2^n (e^r - 1).
func erfShort(x *uop.UOp) *uop.UOp {
	t := clamp(magnitude32(x), nil, 3.92)
	p := horner(t, 9.256262273993343e-06, -0.00011764124064939097, 0.0006328367744572461, -0.0016670272452756763, 0.00016039588081184775,
		0.019153064116835594, -0.10277783125638962, -0.6366193890571594, -0.12837916612625122)
	r, n := withoutLn2(mulAdd(t, p, neg(t)))
	power := powerOf2(n, 0)
	return withSign(mulAdd(expm1Of(r), neg(power), sub(1, power)), x)
}

// bellShort is e^-a^2 times a number for 0 <= a <= 10.3: a is cut to 12 bits, whose square is exact, and what is left is taken off from
// the argument after its multiples of ln 2.
func bellShort(a, times *uop.UOp) *uop.UOp {
	high := float32Of(bitAnd(bits32(a), 0xfffff000))
	r, n := withoutLn2(neg(square(high)))
	r = mulAdd(sub(high, a), add(a, high), r)
	// 2^n may be out of range
	return mul(mul(mulAdd(times, expm1Of(r), times), powerOf2(n, 60)), 0x1p-60)
}

// erfcShort is e^-x^2 p(u) for u = 1/(|x| + shift), with an error of 2^-27.4, of 2 below 0. The product is computed in float64, so that the result is
// right to a unit in the last place, subnormal numbers included. As divisions of float64 take three times as long, u is a reciprocal of float32 after a
// step of Newton's method.
func erfcShort(x *uop.UOp) *uop.UOp {
	const shift = 2.72                                              // the one with the least error
	const zero = 10.68                                              // e^-zero^2 is nothing beside the least float32
	short := maximum(float32Of(bitOr(bits32(x), signBit32)), -zero) // -|x|
	minus := cast(short, uop.Float64)
	u := cast(reciprocal(sub(shift, short)), uop.Float64)
	u = mulAdd(mulAdd(neg(sub(shift, minus)), u, 1), u, u)
	p := horner(u, 553.2435787863303, -1022.7918649666444, 642.1342268067539, -163.12601681547957, 59.722513073152854, 3.392678211852281,
		4.408465937797831, 1.504683109806027, 0.5651845285245513, -1.445050306052471e-05)
	y := cast(mul(expOfMinus(square(minus)), p), x.DType)
	return where(lt(x, 0), sub(2, y), y)
}

// expOfMinus is e^-x of float64 for 0 <= x <= 700; error 2^-29.
func expOfMinus(x *uop.UOp) *uop.UOp {
	const whole = 3<<51 + 1023 // the last bits of the sum are those of the exponent
	sum := mulAdd(x, -log2e, float64(whole))
	r := mulAdd(sub(sum, float64(whole)), math.Ln2, x)
	power := float64Of(shiftLeft(bits64(sum), fraction64))
	return mul(horner(r, 0.00138368285104, -0.00837482395054, 0.0416682263149, -0.166664200737, 0.499999920746, -1.00000003634, 1.00000000055), power)
}

// erfinvOf is erfinv(x) for w = -log((1-x)(1+x)) up to 17: x p(w)/q(w).
// All coefficients are positive; error 2^-24.8.
func erfinvOf(x, w *uop.UOp) *uop.UOp {
	p := horner(w, 2.37845e-05, 0.0006469379, 0.0078080795, 0.059894957, 0.30769637, 0.88622695)
	q := horner(w, 1.2509715e-06, 0.00017756509, 0.0019081549, 0.03219229, 0.08539945, 1)
	return mul(x, div(p, q))
}

func erfinvShort(x *uop.UOp) *uop.UOp {
	w := neg(log(mul(sub(1, x), add(1, x))))
	return where(eq(w, math.Inf(1)), mul(x, math.Inf(1)), erfinvOf(x, w))
}

// ndtriShort is sqrt(2) erfinv(2p-1) for w = -log(4p(1-p)), beyond 16.7 with another quotient; errors 2^-25.1 and 2^-26.
func ndtriShort(p *uop.UOp) *uop.UOp {
	x := sub(p, 0.5)
	w := neg(log(mul(mul(4, p), sub(1, p))))
	far := gt(w, 16.7)
	num := eitherHorner(far, w, []float64{0, 4.77393e-06, 0.002014446, 0.13088326, 1.5608348, 1.7033111},
		[]float64{6.727307e-05, 0.0018298052, 0.022084706, 0.16940805, 0.8702973, 2.5066283})
	den := eitherHorner(far, w, []float64{0, 2.7422134e-08, 4.571222e-05, 0.0071327765, 0.20718329, 1},
		[]float64{1.2509715e-06, 0.00017756509, 0.0019081549, 0.03219229, 0.08539945, 1})
	return where(eq(w, math.Inf(1)), mul(x, math.Inf(1)), mul(x, div(num, den)))
}

// eitherHorner is the polynomial with coefficients a where c is true, else b.
func eitherHorner(c, x *uop.UOp, a, b []float64) *uop.UOp {
	r := where(c, likeConst(x, a[0]), likeConst(x, b[0]))
	for i := 1; i < len(a); i++ {
		r = mulAdd(r, x, where(c, likeConst(x, a[i]), likeConst(x, b[i])))
	}
	return r
}

// atan2Short is atan2 of float32; see there.
func atan2Short(y, x *uop.UOp) *uop.UOp {
	h, w := magnitude32(y), magnitude32(x)
	steep := gt(h, w)
	least, most := where(steep, w, h), where(steep, h, w)
	t := div(least, where(eq(most, 0), 1, most))
	r := atanBelow1(where(bitAnd(eq(least, math.Inf(1)), eq(most, math.Inf(1))), 1, t))
	r = where(steep, sub(math.Pi/2, r), r)
	left := lt(bitcast(x, uop.Int32), 0)
	return withSign(where(left, sub(math.Pi, r), r), y)
}

// hypotShort is sqrt(x^2+y^2) of numbers that are scaled by a power of 2, so that the greater one is about 1.
func hypotShort(x, y *uop.UOp) *uop.UOp {
	x, y = magnitude32(x), magnitude32(y)
	e := bitcast(bitAnd(bits32(maximum(x, y)), 0xff<<23), uop.Int32)
	e = where(lt(e, 1<<23), 1<<23, e)
	e = where(gt(e, 253<<23), 253<<23, e)
	up, down := bitcast(e, uop.Float32), bitcast(sub(254<<23, e), uop.Float32)
	x, y = mul(x, down), mul(y, down)
	r := mul(sqrt(mulAdd(x, x, square(y))), up)
	return where(bitOr(eq(x, math.Inf(1)), eq(y, math.Inf(1))), math.Inf(1), r)
}
