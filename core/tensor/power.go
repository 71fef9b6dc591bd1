package tensor

import (
	"math"

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
	c, ok := numberOf(x)
	base := math.Abs(c.F())
	if !ok || base == 0 || base == 1 || base != base || math.IsInf(base, 0) {
		return exp2(mul(y, log2(a)))
	}
	l := log2Twice(base)
	if digits, _ := math.Frexp(l.high); l.low == 0 && math.Abs(digits) == 0.5 {
		return exp2(mul(y, l.high))
	}
	// Products of numbers without half of their digits are exact.
	half, most, number := 12, 252.0, uop.Uint32
	high := float64(math.Float32frombits(math.Float32bits(float32(l.high)) &^ (1<<12 - 1)))
	two := func(n *uop.UOp) *uop.UOp { // 2^n: the last bits of the sum are the exponent
		return bitcast(shiftLeft(bitcast(add(n, 1.5*(1<<23)+127.0), uop.Uint32), 23), uop.Float32)
	}
	if x.DType == uop.Float64 {
		half, most, number, two = 27, 2200, uop.Uint64, powerOfWhole
		high = math.Float64frombits(math.Float64bits(l.high) &^ (1<<27 - 1))
	}
	low := l.high - high + l.low
	y = clamp(y, -most/math.Abs(l.high), most/math.Abs(l.high)) // infinite or 0 there
	lead := bitcast(shiftLeft(shiftRight(bitcast(y, number), half), half), y.DType)
	t := mul(lead, high)
	n := floor(add(t, 0.5))
	first := floor(mul(n, 0.5)) // in two steps, as in scaledExp
	fraction := add(sub(t, n), add(mul(lead, low), mul(sub(y, lead), l.high)))
	return mul(mul(exp2(fraction), two(first)), two(sub(n, first)))
}

// twice is a number as the unevaluated sum high + low, where low is the rounding error of high (Dekker, 1971).
type twice struct{ high, low float64 }

func (a twice) plus(b twice) twice {
	s := a.high + b.high
	t := s - a.high
	return twice{s, 0}.and((a.high - (s - t)) + (b.high - t) + a.low + b.low)
}

func (a twice) times(b twice) twice {
	p := a.high * b.high
	return twice{p, 0}.and(math.FMA(a.high, b.high, -p) + a.high*b.low + a.low*b.high)
}

// and adds a number that is small compared with a.high.
func (a twice) and(low float64) twice {
	s := a.high + low
	return twice{s, low - (s - a.high)}
}

// log2Twice is the logarithm of a positive number. With c = 2^e m and s = (m-1)/(m+1), it is e + 2/(ln 2) (s + s^3/3 + …).
func log2Twice(c float64) twice {
	m, e := math.Frexp(c)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	over := func(n, d, dLow float64) twice {
		q := n / d
		return twice{q, 0}.and((math.FMA(-q, d, n) - q*dLow) / d)
	}
	s := over(m-1, m+1, m-(m+1-1))
	square, sum := s.times(s), twice{}
	for k := 41.0; k > 0; k -= 2 {
		sum = sum.times(square).plus(over(1, k, 0))
	}
	return s.times(sum).times(twice{2.8853900817779268, 4.0710547481862066e-17}).plus(twice{float64(e), 0})
}

// mostSquared is the greatest exponent of a power by multiplications, each of which rounds. Above fewRounded, powers of float32 are multiplied in
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
