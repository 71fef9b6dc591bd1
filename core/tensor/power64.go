package tensor

import (
	"math"

	"polygrad/core/uop"
)

// power64 is a**y in float64 for a magnitude a, within 0.8 units in the last place: an exponential alone would multiply the rounding of the
// logarithm by up to 1,000. The logarithm is a sum of a number of 32 bits, whose products are exact, and a rest.
//
// The series are those of FreeBSD's msun, e_pow.c (Sun Microsystems, 1993).
func power64(a, y *uop.UOp) *uop.UOp {
	lead, rest := log2Parts(a)
	limited := clamp(y, -0x1p65, 0x1p65) // infinite or 0 there, but for a = 1
	yLead := leading32(limited)
	product, low := mul(yLead, lead), add(mul(sub(limited, yLead), lead), mul(limited, rest))
	total := add(add(product, low), sub(a, a)) // NaN, if a is
	k := wholeOf(total, 1)
	half := wholeOf(k, 0.5) // in two steps, since 2^k can be out of range where the power is not
	r := mul(mul(exp2Parts(sub(product, k), low), powerOfWhole(half)), powerOfWhole(sub(k, half)))
	r = where(gt(total, 1025), math.Inf(1), where(lt(total, -1076), 0, r))
	// Zero and infinity have no logarithm in two parts.
	grows := ne(gt(a, 1), lt(y, 0))
	return where(bitOr(eq(a, 0), eq(a, math.Inf(1))), where(isNaN(y), y, where(grows, math.Inf(1), 0)), r)
}

// wholeOf is x by a factor, rounded to an integer below 2^51.
func wholeOf(x *uop.UOp, by float64) *uop.UOp {
	return detach(sub(mulAdd(x, by, float64(whole64)), float64(whole64)))
}

// leading32 is a float64 with the last 32 bits 0.
func leading32(x *uop.UOp) *uop.UOp {
	return bitcast(bitAnd(bitcast(x, uop.Int64), math.MinInt64>>31), uop.Float64)
}

// log2Parts is the logarithm of a positive float64 as the sum of a number of 32 bits and a rest. With a = 2^n m, m near 1 or 3/2 and
// s = (m - near) / (m + near), it is n + log2(near) + (2 / ln 2) (s + s^3/3 + …).
func log2Parts(a *uop.UOp) (lead, rest *uop.UOp) {
	const (
		exponent = 0x7ff << fraction64
		one      = 1023 << fraction64
		toOne    = 0x0004498517a7b356 // from half the root of 3, the least m
		shift    = 0x1p52             // its last bits are an integer
	)
	small := lt(a, 0x1p-1022)
	bits := bits64(where(small, mul(a, 0x1p54), a))
	above := add(bits, toOne)
	m := float64Of(add(sub(bits, bitAnd(above, exponent)), one))
	n := sub(float64Of(bitOr(shiftRight(above, fraction64), (1023+52)<<fraction64)), where(small, likeConst(a, shift+1023+54), shift+1023.0))
	middle := ge(m, 1.224744871391589)
	between := func(v float64) *uop.UOp { return where(middle, likeConst(m, v), 0.0) }
	near := where(middle, likeConst(m, 1.5), 1.0)
	nearLead, nearRest := between(5.84962487220764160156e-01), between(1.35003920212974897128e-08)

	up, down := sub(m, near), add(m, near)
	v := same(reciprocal(down), 0) // one division
	s := mul(up, v)
	sLead, downLead := leading32(s), leading32(down)
	downRest := sub(m, sub(downLead, near))
	sRest := mul(v, sub(sub(up, mul(sLead, downLead)), mul(sLead, downRest)))
	square := mul(s, s)
	tail := mul(mul(square, square), horner(square, 2.06975017800338417784e-01, 2.30660745775561754067e-01, 2.72728123808534006489e-01,
		3.33333329818377432918e-01, 4.28571428578550184252e-01, 5.99999999999994648725e-01))
	tail = add(tail, mul(sRest, add(sLead, s)))
	squareLead := mul(sLead, sLead)
	// 3 + s^2 + …, and its product with s, of which cp is the factor 2 / (3 ln 2)
	sumLead := leading32(add(add(squareLead, 3.0), tail))
	sumRest := sub(tail, sub(sub(sumLead, 3.0), squareLead))
	high, low := mul(sLead, sumLead), add(mul(sRest, sumLead), mul(sumRest, s))
	seriesLead := leading32(add(high, low))
	seriesRest := sub(low, sub(seriesLead, high))
	const cp, cpLead, cpRest = 9.61796693925975554329e-01, 9.61796700954437255859e-01, -7.02846165095275826516e-09
	zLead := mul(seriesLead, cpLead)
	zRest := add(add(mul(seriesLead, cpRest), mul(seriesRest, cp)), nearRest)
	lead = leading32(add(add(add(zLead, zRest), nearLead), n))
	return lead, sub(zRest, sub(sub(sub(lead, n), nearLead), zLead))
}

// exp2Parts is 2^(x + low) for |x + low| up to about 1/2 and a small low: 1 + z + z^2/2 + … for the logarithm z + w of the result.
func exp2Parts(x, low *uop.UOp) *uop.UOp {
	const ln2, ln2Lead, ln2Rest = 6.93147180559945286227e-01, 6.93147182464599609375e-01, -1.90465429995776804525e-09
	lead := leading32(add(x, low))
	u, v := mul(lead, ln2Lead), add(mul(sub(low, sub(lead, x)), ln2), mul(lead, ln2Rest))
	z := add(u, v)
	w := sub(v, sub(z, u))
	square := mul(z, z)
	// in two chains, which run side by side
	odd := horner(square, 1.0/39916800/12/13, 1.0/39916800, 1.0/362880, 1.0/5040, 1.0/120, 1.0/6)
	even := horner(square, 1.0/39916800/12, 1.0/3628800, 1.0/40320, 1.0/720, 1.0/24, 0.5)
	tail := mulAdd(odd, z, even)
	// z is added last: the first sum rounds little
	return add(1.0, add(z, add(mul(square, tail), add(w, mul(z, w)))))
}
