package tensor

import (
	"math"
	"math/big"

	"polygrad/core/uop"
)

// C's pow: 1 to any power and anything to the power 0 are 1; infinities and zeros have the signs of the limits. tinygrad's POW
// agrees for finite numbers and exponents below 2^31 only.

// accuratePow is a**b for floating point operands.
func accuratePow(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if x.DType.IsComplex() || !x.DType.IsFloat() || asTinygrad(x) {
		return pow(a, b)
	}
	dt := x.DType
	x, y = atLeastF32(x), atLeastF32(y)
	return cast(differentiatedAs(power(x, y), x.Alu(uop.Pow, y)), dt)
}

// power is a**b in float32 or float64.
func power(x, y *uop.UOp) *uop.UOp {
	number, greatest := uop.Uint64, greatest64
	if x.DType == uop.Float32 {
		number, greatest = uop.Uint32, math.MaxInt32
	}
	bits := bitcast(x, number)
	magnitude := bitAnd(bits, greatest)
	a := bitcast(magnitude, x.DType)
	half := mul(y, 0.5)
	whole := eq(trunc(y), y)
	odd := bitAnd(whole, ne(trunc(half), half))
	// an odd power keeps the sign of x, also of -0
	sign := where(odd, bitXor(bits, magnitude), 0)
	r := bitcast(bitOr(bitcast(powerOfMagnitude(x, a, y), number), sign), x.DType)
	noRoot := bitAnd(bitAnd(lt(x, 0), ne(a, math.Inf(1))), logicalNot(whole))
	one := bitOr(bitOr(eq(y, 0), eq(x, 1)), bitAnd(eq(a, 1), isInf(y)))
	return where(one, 1, where(noRoot, math.NaN(), r))
}

// powerOfMagnitude is a**y for the magnitude a of x. Kernels know 2^(y log2 a) as a power. The product of y with the logarithm of a constant,
// which is rounded, would be off by up to 64 units in the last place of float32: it is the sum of a product of leading digits, which is exact,
// and the rest. A logarithm that is a power of two is exact itself.
func powerOfMagnitude(x, a, y *uop.UOp) *uop.UOp {
	l := math.NaN()
	if c, ok := numberOf(x); ok {
		l = math.Log2(math.Abs(c.F()))
	}
	if digits, _ := math.Frexp(l); l == 0 || math.IsInf(l, 0) || l != l || math.Abs(digits) == 0.5 {
		return exp2(mul(y, log2(a)))
	}
	c, _ := numberOf(x)
	half, most, number := 12, 252.0, uop.Uint32 // half of the digits, without which products are exact
	two := func(n *uop.UOp) *uop.UOp {          // 2^n: the last bits of the sum are the exponent
		return bitcast(shiftLeft(bitcast(add(n, 1.5*(1<<23)+127.0), uop.Uint32), 23), uop.Float32)
	}
	if x.DType == uop.Float64 {
		half, most, number, two = 27, 2200, uop.Uint64, powerOfWhole
	}
	high, low := log2Twice(math.Abs(c.F()), half)
	l = high + low                                    // Go's is rounded as 1 is, near 1
	y = clamp(y, -most/math.Abs(l), most/math.Abs(l)) // infinite or 0 there
	lead := bitcast(shiftLeft(shiftRight(bitcast(y, number), half), half), y.DType)
	t := mul(lead, high)
	n := floor(add(t, 0.5))
	first := floor(mul(n, 0.5)) // in two steps, as in scaledExp
	fraction := add(sub(t, n), add(mul(lead, low), mul(sub(y, lead), l)))
	return mul(mul(exp2(fraction), two(first)), two(sub(n, first)))
}

// log2Twice is the logarithm of a positive number as a sum: of a number without its last digits, which are so many, and the rest.
// ln m = 2 artanh((m-1)/(m+1)).
func log2Twice(c float64, digits int) (high, low float64) {
	const precision = 200
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(v) }
	artanh := func(s *big.Float) *big.Float {
		square, power, sum := number(0).Mul(s, s), number(0).Set(s), number(0).Set(s)
		for k := 3.0; k < precision; k += 2 {
			power.Mul(power, square)
			sum.Add(sum, number(0).Quo(power, number(k)))
		}
		return sum
	}
	m, e := math.Frexp(c)
	one := number(1)
	l := artanh(number(0).Quo(number(0).Sub(number(m), one), number(0).Add(number(m), one)))
	l.Quo(l, artanh(number(0).Quo(one, number(3)))).Add(l, number(float64(e)))
	high, _ = l.Float64()
	if digits == 12 {
		high = float64(math.Float32frombits(math.Float32bits(float32(high)) &^ (1<<digits - 1)))
	} else {
		high = math.Float64frombits(math.Float64bits(high) &^ (1<<digits - 1))
	}
	low, _ = l.Sub(l, number(high)).Float64()
	return high, low
}

// mostSquared is the greatest exponent computed by products: each rounds. From fewRounded on, powers of float32 are products of
// float64.
const mostSquared, fewRounded = 64, 3

// accuratePowConst is x**e of a floating point tensor.
func accuratePowConst(x *uop.UOp, e uop.Const) *uop.UOp {
	v := e.F()
	dt := x.DType
	switch {
	case v == 0 || v == 1 || v == 2:
		return binary(uop.Pow, x, likeConst(x, e))
	case v == 0.5:
		return sqrt(x)
	case v == -0.5:
		return rsqrt(x)
	}
	x = atLeastF32(x)
	p := binary(uop.Pow, x, likeConst(x, e))
	switch half := v - math.Trunc(v); {
	case math.Abs(v) > mostSquared || half != 0 && (math.Abs(half) != 0.5 || math.Abs(v) > fewRounded) || v != v:
		return cast(accuratePow(x, likeConst(x, e)), dt)
	case half == 0 && math.Abs(v) > fewRounded && x.DType == uop.Float32:
		wide := cast(x, uop.Float64)
		p = differentiatedAs(cast(binary(uop.Pow, wide, likeConst(wide, e)), x.DType), p)
	case half != 0:
		// a product with a root, wrong for -0 and -infinity
		limit := likeConst(x, 0)
		if v > 0 {
			limit = likeConst(x, math.Inf(1))
		}
		p = differentiatedAs(where(eq(x, math.Inf(-1)), limit, where(eq(x, 0), reciprocal(limit), p)), p)
	}
	return cast(p, dt)
}

// Pow is a**b, with C's results for NaN, infinities and zeros.
func Pow(a, b *uop.UOp) (*uop.UOp, error) { return run2("Pow", accuratePow, a, b) }

// PowConst is x**e, with C's results for NaN, infinities and zeros. Integers to a floating point power are floating point.
func PowConst(x *uop.UOp, e uop.Const) (r *uop.UOp, err error) {
	defer guard("PowConst", &err)
	need("x", x)
	switch {
	case x.DType.IsComplex():
		return powerOfComplex(x, e), nil
	case asTinygrad(x):
		return pow(x, e), nil
	case x.DType.IsFloat():
	case e.IsFloat():
		x = cast(x, uop.Float32)
	case e.Sign() < 0:
		fail("value", "integers to the power %s are no integers, expected 0 or more, or a tensor of a floating type", e)
	default:
		return pow(x, e), nil
	}
	return accuratePowConst(x, e), nil
}
