package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Remainders and whole quotients of floating point numbers. x - trunc(x/y)*y, as tinygrad composes them, loses all digits
// where x/y has more of them than the type, and is off by y where the quotient rounds to a whole number.

// format says how a floating point type is made of bits, and what whole numbers are multiplied in.
type format struct {
	float, bits *uop.DType
	mantissa    int // bits of it
	bias        int
	// whole holds the mantissas: float64 for those of float32, whose products it holds too.
	whole *uop.DType
	// squarings reach 2^k from a power below 2^53, k being the difference of two exponents.
	squarings int
}

var (
	single = format{uop.Float32, uop.Uint32, 23, 127, uop.Float64, 3} // k < 277
	double = format{uop.Float64, uop.Uint64, 52, 1023, uop.Int64, 6}  // k < 2046
	half   = format{uop.Float32, uop.Uint32, 23, 127, uop.Float64, 0} // k < 40
	// formats are those that numbers of a type are divided in.
	formats = map[*uop.DType]format{uop.Float64: double, uop.Float16: half, uop.FP8E4M3: half, uop.FP8E5M2: half}
)

func formatOf(dt *uop.DType) format {
	if l, ok := formats[dt]; ok {
		return l
	}
	return single
}

// pieces are mantissa and exponent of a number whose bits are given, without its sign: mantissa * 2^(exponent-bias-bits).
func (l format) pieces(magnitude *uop.UOp) (mantissa, exponent *uop.UOp) {
	hidden := 1 << l.mantissa
	field := binary(uop.Idiv, magnitude, hidden)
	fraction := bitAnd(magnitude, hidden-1)
	mantissa = where(eq(field, 0), fraction, add(fraction, hidden))
	signed := uop.Int32
	if l.whole == uop.Int64 {
		signed = uop.Int64
	}
	return cast(cast(mantissa, signed), l.whole), cast(maximum(field, 1), uop.Int32)
}

// pow2 is 2^e for a float64 that is a normal number.
func pow2(e *uop.UOp) *uop.UOp {
	return bitcast(mul(cast(add(e, double.bias), uop.Uint64), 1<<double.mantissa), uop.Float64)
}

// modulus multiplies numbers below it and takes the remainder.
type modulus struct{ m, inverse *uop.UOp }

// product is a*b mod m for a*b/m below 2^53: a*b - q*m for a quotient q that rounding has put a little beside. Products of
// int64 wrap around, but their difference is small.
func (n modulus) product(a, b *uop.UOp) *uop.UOp {
	if n.m.DType.IsFloat() {
		p := mul(a, b)
		r := sub(p, mul(trunc(mul(p, n.inverse)), n.m))
		return n.less(where(lt(r, 0), add(r, n.m), r))
	}
	real := func(i *uop.UOp) *uop.UOp { return cast(i, uop.Float64) }
	q := cast(mul(mul(real(a), real(b)), n.inverse), uop.Int64)
	r := sub(mul(a, b), mul(q, n.m))
	r = where(lt(r, 0), add(r, mul(n.m, 4)), r)
	twice := mul(n.m, 2)
	for range 2 {
		r = where(ge(r, twice), sub(r, twice), r)
	}
	return n.less(r)
}

// less is r mod m for r below 2m.
func (n modulus) less(r *uop.UOp) *uop.UOp {
	r = where(ge(r, n.m), sub(r, n.m), r)
	if r.DType.IsFloat() {
		return r
	}
	return bitAnd(r, 1<<(double.mantissa+1)-1) // it is so; now the simplifier knows it too
}

// remainder is x - trunc(x/y)*y without an error, C's fmod: the remainder of the mantissa of x times 2^k by that of y, the
// power taken modulo as well.
func (l format) remainder(x, y *uop.UOp) *uop.UOp {
	bits := bitcast(x, l.bits)
	sign := 1 << (l.bits.Bits - 1)
	magnitude := func(bits *uop.UOp) *uop.UOp { return bitAnd(bits, sign-1) }
	if l.bits == uop.Uint64 {
		magnitude = func(bits *uop.UOp) *uop.UOp { return bitAnd(bits, math.MaxInt64) }
	}
	ax, ay := magnitude(bits), magnitude(bitcast(y, l.bits))
	mx, ex := l.pieces(ax)
	my, ey := l.pieces(ay)
	n := modulus{my, reciprocal(cast(my, uop.Float64))}
	k := maximum(sub(ex, ey), 0)
	one := likeConst(mx, 1)
	power := n.product(cast(pow2(binary(uop.Idiv, k, 1<<l.squarings)), l.whole), one)
	for bit := l.squarings - 1; bit >= 0; bit-- {
		power = n.product(power, power)
		odd := ne(bitAnd(k, 1<<bit), 0)
		power = where(odd, n.less(mul(power, 2)), power)
	}
	r := cast(n.product(n.product(mx, one), power), uop.Float64)
	// in two factors, since the last bit can be below the normal numbers
	last := sub(ey, l.bias+l.mantissa)
	first := binary(uop.Idiv, last, 2)
	r = cast(mul(mul(r, pow2(first)), pow2(sub(last, first))), l.float)
	r = where(ne(bits, ax), neg(r), r)
	defined := bitAnd(bitAnd(isFinite(x), ne(y, 0)), eq(y, y))
	return where(defined, where(lt(ax, ay), x, r), math.NaN())
}

// numberOf is the number that a tensor repeats, as its type holds it.
func numberOf(x *uop.UOp) (c uop.Const, ok bool) {
	for x.Op == uop.Reshape || x.Op == uop.Expand {
		x = x.Src[0]
	}
	if x.Op != uop.ConstOp {
		return uop.Const{}, false
	}
	return x.ConstVal().Truncate(x.DType), true
}

// powerOfTwo is the divisor, if it is a number that divides without rounding.
func powerOfTwo(y *uop.UOp) (c float64, ok bool) {
	number, ok := numberOf(y)
	if !ok {
		return 0, false
	}
	c = number.F()
	fraction, exponent := math.Frexp(math.Abs(c))
	return c, fraction == 0.5 && exponent > -10 && exponent < 10
}

// divided are the remainder of a division towards zero and its operands, in float64.
func divided(x, y *uop.UOp) (r, a, b *uop.UOp) {
	l := formatOf(x.DType)
	if c, ok := numberOf(y); ok {
		y = likeConst(y, c)
	}
	x, y = spread(cast(x, l.float), cast(y, l.float))
	wide := func(u *uop.UOp) *uop.UOp { return cast(u, uop.Float64) }
	return wide(l.remainder(x, y)), wide(x), wide(y)
}

// opposite is true where r is not 0 and has another sign than y.
func opposite(r, y *uop.UOp) *uop.UOp { return bitAnd(ne(r, 0), bitXor(lt(r, 0), lt(y, 0))) }

// fullTruncMod is the remainder that has the sign of a, exact.
func fullTruncMod(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if !x.DType.IsFloat() {
		return truncMod(x, y)
	}
	composed := sub(x, mul(detach(truncDiv(x, y)), y))
	if _, ok := powerOfTwo(y); ok {
		return composed
	}
	r, _, _ := divided(x, y)
	return differentiatedAs(cast(r, x.DType), composed)
}

// fullMod is the remainder that has the sign of b, rounded once.
func fullMod(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if !x.DType.IsFloat() {
		return mod(x, y)
	}
	composed := sub(x, mul(detach(floorDiv(x, y)), y))
	if _, ok := powerOfTwo(y); ok {
		return composed
	}
	r, _, wide := divided(x, y)
	return differentiatedAs(cast(where(opposite(r, wide), add(r, wide), r), x.DType), composed)
}

// fullFloorDiv is the greatest whole number that is not above the quotient.
func fullFloorDiv(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if !x.DType.IsFloat() {
		return floorDiv(x, y)
	}
	if c, ok := powerOfTwo(y); ok {
		return where(isInf(x), math.NaN(), floor(mul(x, 1/c)))
	}
	r, dividend, divisor := divided(x, y)
	q := div(sub(dividend, r), divisor)
	q = roundAny(where(opposite(r, divisor), sub(q, 1), q))
	return where(eq(y, 0), quotient(x, y), cast(q, x.DType))
}

// FullMod is Mod without an error of the quotient.
func FullMod(a, b *uop.UOp) (*uop.UOp, error) { return run2("FullMod", fullMod, a, b) }

// FullTruncMod is TruncMod without an error.
func FullTruncMod(a, b *uop.UOp) (*uop.UOp, error) { return run2("FullTruncMod", fullTruncMod, a, b) }

// FullFloorDiv is FloorDiv of a quotient that has not been rounded.
func FullFloorDiv(a, b *uop.UOp) (*uop.UOp, error) { return run2("FullFloorDiv", fullFloorDiv, a, b) }
