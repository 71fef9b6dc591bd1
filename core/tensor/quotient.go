package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Logarithms of quotients: log(a/b) = k ln 2 + 2 artanh((a - 2^k b)/(a + 2^k b)) for the integer k nearest to log2(a/b). That is one division and an
// odd polynomial, and the difference is written so that it is rounded once. Arguments without such a k are rare.

// format is the layout of the bits of a floating point type.
type format struct {
	bits           *uop.DType
	fraction, bias int
	// artanh are the coefficients of artanh(s)/s - 1 in s^2 for |s| <= 0.2004, highest first; errors 2^-62 and 2^-35.
	artanh []float64
}

var formats = map[*uop.DType]format{
	uop.Float64: {uop.Uint64, fraction64, bias64, []float64{0.06922949731958106, 0.0658659741785359, 0.07695567345270073, 0.09090832615322376,
		0.11111112153042918, 0.14285714277879027, 0.20000000000028434, 0.333333333333333}},
	uop.Float32: {uop.Uint32, 23, 127, []float64{0.12075598537921906, 0.14251762628555298, 0.2000046670436859, 0.3333333134651184}},
}

// nearestPower is a power of two that differs from a/b by a factor of at most 2^0.586, for positive normal numbers a and b: their bits are
// logarithms, linear between powers of two.
func nearestPower(a, b *uop.UOp) *uop.UOp {
	l := formats[a.DType]
	half := (2*l.bias + 1) << (l.fraction - 1) // the bits of 1 and half an exponent
	sum := add(bitcast(a, l.bits), sub(half, bitcast(b, l.bits)))
	return bitcast(bitAnd(sum, (2*l.bias+1)<<l.fraction), a.DType)
}

// logOfQuotient is times/2 (k ln 2 + 2 artanh(n/d)) for a power 2^k.
func logOfQuotient(power, n, d *uop.UOp, times float64) *uop.UOp {
	l := formats[n.DType]
	s := div(n, d)
	z := square(s)
	y := mulAdd(mul(s, z), horner(z, l.artanh...), s)
	if times != 1 {
		y = mul(y, times)
	}
	// the exponent as the last bits of a float; with 0 - k and not k - 0, the sum keeps the sign of -0
	whole := math.Ldexp(1, l.fraction)
	k := bitcast(bitOr(shiftRight(bitcast(power, l.bits), l.fraction), (l.bias+l.fraction)<<l.fraction), n.DType)
	return mulAdd(sub(whole+float64(l.bias), k), -math.Ln2/2*times, y)
}

// atanhOf is log((1+x)/(1-x))/2.
func atanhOf(x *uop.UOp) *uop.UOp {
	a, b := add(1, x), sub(1, x)
	power := nearestPower(a, b)
	minus := neg(power)
	// products with the power are exact, and so is a - 2^k b
	n := add(mulAdd(minus, b, a), mulAdd(minus, sub(sub(1, b), x), sub(x, sub(a, 1))))
	n = where(eq(power, 1), add(x, x), n)
	y := logOfQuotient(power, n, mulAdd(power, b, a), 1)
	size := abs(x)
	return seldom(logicalNot(lt(size, 1)), where(eq(size, 1), mul(x, math.Inf(1)), likeConst(x, math.NaN())), y)
}

// logitOf is log(x/(1-x)).
func logitOf(x *uop.UOp) *uop.UOp {
	b := sub(1, x)
	power := nearestPower(x, b)
	minus := neg(power)
	n := mulAdd(minus, sub(sub(1, b), x), mulAdd(minus, b, x))
	y := logOfQuotient(power, n, mulAdd(power, b, x), 2)
	least := math.Ldexp(1, 1-formats[x.DType].bias/2)
	return seldom(logicalNot(bitAnd(gt(x, least), lt(x, 1))), sub(log(x), log1p(neg(x))), y)
}
