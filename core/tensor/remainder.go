package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Remainders and whole quotients of floating point numbers. x - trunc(x/y)*y, as tinygrad composes them, loses all digits
// where x/y has more of them than the type, and is off by y where the quotient rounds to a whole number.

// bits of a float64
const (
	fraction64 = 52
	bias64     = 1023
	greatest64 = math.MaxInt64 // all bits but the sign
)

// magnitude is |x| of a float64 as bits, which are in the order of the numbers.
func magnitude(x *uop.UOp) *uop.UOp { return bitAnd(bitcast(x, uop.Uint64), greatest64) }

// sign64 is the highest bit.
func sign64(x *uop.UOp) *uop.UOp { return bitXor(bitcast(x, uop.Uint64), magnitude(x)) }

// exponent is that of a magnitude and the bias.
func exponent(magnitude *uop.UOp) *uop.UOp { return shiftRight(magnitude, fraction64) }

// pow2 is 2^e for a float64 that is a normal number.
func pow2(e *uop.UOp) *uop.UOp {
	return bitcast(shiftLeft(add(e, bias64), fraction64), uop.Float64)
}

// mantissa is the number times the power of two that makes it a whole number of so many bits and the hidden one.
func mantissa(magnitude *uop.UOp, bits int) *uop.UOp {
	fraction := bitAnd(magnitude, 1<<fraction64-1)
	return bitcast(bitOr(fraction, (bias64+bits)<<fraction64), uop.Float64)
}

// reciprocalAbove is 1/m, so many units in the last place above it. (As numbers the simplifier would make divisions of
// products with it, which are slow.)
func reciprocalAbove(m *uop.UOp, units int) *uop.UOp {
	return bitcast(add(bitcast(reciprocal(m), uop.Uint64), units), uop.Float64)
}

// residue is a whole number from 0 to 2^bits, as a float64, that stands for its remainder.
type residue struct {
	v    *uop.UOp
	bits int
}

// modulus is a whole number of so many bits, by which products are divided.
type modulus struct {
	m, inverse *uop.UOp
	bits       int
}

// reduce is r mod m, exact below 2^48: the quotient is not rounded below a whole number, nor up to one.
func (n modulus) reduce(r residue) residue {
	return residue{sub(r.v, mul(trunc(mul(r.v, n.inverse)), n.m)), n.bits}
}

// product is a*b mod m, divided only where it would grow beyond what is exact.
func (n modulus) product(a, b residue) residue {
	for a.bits+b.bits > 48 {
		if a.bits > b.bits {
			a = n.reduce(a)
		} else {
			b = n.reduce(b)
		}
	}
	return residue{mul(a.v, b.v), a.bits + b.bits}
}

// square is r*r mod m.
func (n modulus) square(r residue) residue {
	if 2*r.bits > 48 {
		r = n.reduce(r)
	}
	return residue{mul(r.v, r.v), 2 * r.bits}
}

// remainderOnce is the remainder of magnitudes in float64 whose quotient has, with the bits of the divisor, at most 53:
// the rounded quotient is not a whole number unless the exact one is.
func remainderOnce(x, y *uop.UOp) *uop.UOp { return sub(x, mul(trunc(div(x, y)), y)) }

// remainderOf is the remainder of magnitudes that have so many bits besides the hidden one and a quotient below 2^280:
// that of the mantissa of x times 2^k by the mantissa of y, the power taken modulo as well.
func remainderOf(bits int) func(x, y *uop.UOp) *uop.UOp {
	return func(x, y *uop.UOp) *uop.UOp {
		ax, ay := bitcast(x, uop.Uint64), bitcast(y, uop.Uint64)
		m := mantissa(ay, bits)
		n := modulus{m, reciprocalAbove(m, 4), bits + 1}
		k := bitAnd(sub(exponent(ax), exponent(ay)), 511) // else x is below y
		power := residue{pow2(shiftRight(k, 3)), 280/8 + 1}
		for range 3 {
			power = n.square(power)
		}
		rest := residue{pow2(bitAnd(k, 7)), 7}
		r := n.product(power, n.product(residue{mantissa(ax, bits), bits + 1}, rest))
		unit := sub(bitAnd(ay, greatest64-(1<<fraction64-1)), bits<<fraction64)
		return mul(n.reduce(r).v, bitcast(unit, uop.Float64))
	}
}

// ways are the remainders of types other than float32.
var ways = map[*uop.DType]func(x, y *uop.UOp) *uop.UOp{
	uop.Float64: remainder64, uop.BFloat16: remainderOf(7),
	uop.Float16: remainderOnce, uop.FP8E4M3: remainderOnce, uop.FP8E5M2: remainderOnce,
}

// remainder is x - trunc(x/y)*y without an error, C's fmod, of numbers of a type in float64.
func remainder(x, y *uop.UOp, dt *uop.DType) *uop.UOp {
	way := remainderOf(23)
	if w, ok := ways[dt]; ok {
		way = w
	}
	ax, ay := bitcast(magnitude(x), uop.Float64), bitcast(magnitude(y), uop.Float64)
	r := bitcast(bitOr(bitcast(way(ax, ay), uop.Uint64), sign64(x)), uop.Float64)
	defined := bitAnd(lt(ax, math.Inf(1)), gt(ay, 0))
	return where(lt(ax, ay), x, where(defined, r, math.NaN()))
}

// numberOf is the number that a tensor repeats, as its type holds it.
func numberOf(x *uop.UOp) (c uop.Const, ok bool) {
	switch x.Op {
	case uop.ConstOp:
		c, ok = x.ConstVal(), true
	case uop.Reshape, uop.Expand, uop.Cast:
		c, ok = numberOf(x.Src[0])
	}
	if !ok {
		return uop.Const{}, false
	}
	return c.Truncate(x.DType), true
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
	dt := x.DType
	wide := func(u *uop.UOp) *uop.UOp {
		if c, ok := numberOf(u); ok {
			u = spreadTo(constant(u, dt, c), u.Shape())
		}
		return cast(atLeastF32(u), uop.Float64)
	}
	x, y = spread(wide(x), wide(y))
	return remainder(x, y, dt), x, y
}

// nearest is the whole number that a float64 is almost, its own where it has no fraction.
func nearest(x *uop.UOp) *uop.UOp {
	half := bitOr(sign64(x), int(math.Float64bits(math.Nextafter(0.5, 0))))
	return trunc(add(x, bitcast(half, uop.Float64)))
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
	q := nearest(div(sub(dividend, r), divisor))
	q = where(opposite(r, divisor), sub(q, 1), q)
	return where(eq(y, 0), quotient(x, y), cast(q, x.DType))
}

// Mod is the remainder of FloorDiv, as Python's %, without an error of the quotient.
func Mod(a, b *uop.UOp) (*uop.UOp, error) { return run2("Mod", fullMod, a, b) }

// TruncMod is the remainder of TruncDiv, with the sign of a, without an error.
func TruncMod(a, b *uop.UOp) (*uop.UOp, error) { return run2("TruncMod", fullTruncMod, a, b) }

// FloorDiv is a / b rounded towards minus infinity, as Python's //, of a quotient that has not been rounded.
func FloorDiv(a, b *uop.UOp) (*uop.UOp, error) { return run2("FloorDiv", fullFloorDiv, a, b) }
