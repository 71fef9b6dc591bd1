package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Remainders and integer quotients of floats. tinygrad's x - trunc(x/y)*y loses all digits where x/y has more digits than the
// type, and is off by y where the quotient rounds to an integer.

// bits of a float64
const (
	fraction64 = 52
	bias64     = 1023
	greatest64 = math.MaxInt64 // all bits but the sign
)

// magnitude is |x| of a float64 as bits: they order like the numbers.
func magnitude(x *uop.UOp) *uop.UOp { return bitAnd(bitcast(x, uop.Uint64), greatest64) }

// sign64 is the highest bit.
func sign64(x *uop.UOp) *uop.UOp { return bitXor(bitcast(x, uop.Uint64), magnitude(x)) }

// exponent is the biased exponent of a magnitude.
func exponent(magnitude *uop.UOp) *uop.UOp { return shiftRight(magnitude, fraction64) }

// pow2 is 2^e for an e in the range of normal float64.
func pow2(e *uop.UOp) *uop.UOp {
	return bitcast(shiftLeft(add(e, bias64), fraction64), uop.Float64)
}

// mantissa is the number scaled by a power of two to an integer of so many bits plus the hidden one.
func mantissa(magnitude *uop.UOp, bits int) *uop.UOp {
	fraction := bitAnd(magnitude, 1<<fraction64-1)
	return bitcast(bitOr(fraction, (bias64+bits)<<fraction64), uop.Float64)
}

// reciprocalAbove is 1/m, rounded up by so many units in the last place. (As floats: the simplifier would turn products with it
// into divisions, which are slow.)
func reciprocalAbove(m *uop.UOp, units int) *uop.UOp {
	return bitcast(add(bitcast(reciprocal(m), uop.Uint64), units), uop.Float64)
}

// residue is an integer from 0 to 2^bits as a float64, a representative of its remainder class.
type residue struct {
	v    *uop.UOp
	bits int
}

// modulus is an integer of so many bits, the divisor of products.
type modulus struct {
	m, inverse *uop.UOp
	bits       int
}

// reduce is r mod m, exact below 2^48: the quotient never rounds across an integer.
func (n modulus) reduce(r residue) residue {
	return residue{sub(r.v, mul(trunc(mul(r.v, n.inverse)), n.m)), n.bits}
}

// product is a*b mod m, reduced only where it would outgrow the exact range.
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

// shortQuotient is x/y in float64 for numbers of a shorter type dt, and whether rounding it to an integer is exact: if quotient and divisor together
// have at most 53 bits, the rounded quotient is an integer only if the exact one is. Not for float64.
func shortQuotient(x, y *uop.UOp, dt *uop.DType) (q, exact *uop.UOp) {
	_, bits := dt.FloatInfo()
	q = div(x, y)
	return q, bitAnd(lt(abs(q), math.Ldexp(1, fraction64-bits)), lt(abs(y), math.Inf(1)))
}

// remainderByPower is the remainder of magnitudes whose mantissas have so many bits besides the hidden one, for quotients below 2^280. It is the
// remainder of mantissa(x) 2^k by mantissa(y), where k is the difference of the exponents and 2^k is reduced as well, by repeated squaring.
func remainderByPower(x, y *uop.UOp, bits int) *uop.UOp {
	ax, ay := bitcast(x, uop.Uint64), bitcast(y, uop.Uint64)
	m := mantissa(ay, bits)
	n := modulus{m, reciprocalAbove(m, 4), bits + 1}
	k := bitAnd(sub(exponent(ax), exponent(ay)), 511) // otherwise x is below y
	power := residue{pow2(shiftRight(k, 3)), 280/8 + 1}
	for range 3 {
		power = n.square(power)
	}
	rest := residue{pow2(bitAnd(k, 7)), 7}
	r := n.product(power, n.product(residue{mantissa(ax, bits), bits + 1}, rest))
	unit := sub(bitAnd(ay, greatest64-(1<<fraction64-1)), bits<<fraction64)
	return mul(n.reduce(r).v, bitcast(unit, uop.Float64))
}

// signed64 is |x| of a float64 with the sign of another.
func signed64(x, sign *uop.UOp) *uop.UOp {
	return float64Of(bitOr(magnitude(x), sign64(sign)))
}

// remainder is C's fmod, x - trunc(x/y)*y without an error, for a type's numbers in float64.
func remainder(x, y *uop.UOp, dt *uop.DType) *uop.UOp {
	ax, ay := magnitude64(x), magnitude64(y)
	var r *uop.UOp
	if dt == uop.Float64 {
		r = remainderOfHalves(ax, ay)
	} else {
		_, bits := dt.FloatInfo()
		r = remainderByPower(ax, ay, bits)
	}
	r = signed64(r, x)
	defined := bitAnd(lt(ax, math.Inf(1)), gt(ay, 0))
	return where(lt(ax, ay), x, where(defined, r, math.NaN()))
}

// numberOf is the constant that a tensor repeats, rounded to its type.
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

// powerOfTwo is the divisor if it is a constant that divides exactly.
func powerOfTwo(y *uop.UOp) (c float64, ok bool) {
	number, ok := numberOf(y)
	if !ok {
		return 0, false
	}
	c = number.F()
	fraction, exponent := math.Frexp(math.Abs(c))
	return c, fraction == 0.5 && exponent > -10 && exponent < 10
}

// wideOperands are the operands of a division in float64.
func wideOperands(x, y *uop.UOp) (a, b *uop.UOp) {
	dt := x.DType
	wide := func(u *uop.UOp) *uop.UOp {
		if c, ok := numberOf(u); ok {
			u = spreadTo(constant(u, dt, c), u.Shape())
		}
		return cast(atLeastF32(u), uop.Float64)
	}
	return spread(wide(x), wide(y))
}

// byQuotient is f of the rounded quotient where shortQuotient is exact, else long, which is seldom needed.
func byQuotient(x, y *uop.UOp, dt *uop.DType, long *uop.UOp, f func(q *uop.UOp) *uop.UOp) *uop.UOp {
	if dt == uop.Float64 {
		return long
	}
	q, exact := shortQuotient(x, y, dt)
	return seldom(logicalNot(exact), long, f(q))
}

// nearest is the nearest integer of a float64 that is almost one; itself where it has no fraction.
func nearest(x *uop.UOp) *uop.UOp {
	half := bitOr(sign64(x), int(math.Float64bits(math.Nextafter(0.5, 0))))
	return trunc(add(x, bitcast(half, uop.Float64)))
}

// opposite is true where r is not 0 and differs in sign from y.
func opposite(r, y *uop.UOp) *uop.UOp { return bitAnd(ne(r, 0), bitXor(lt(r, 0), lt(y, 0))) }

// accurateTruncMod is the remainder with the sign of a, exact.
func accurateTruncMod(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if c, ok := numberOf(y); ok && x.DType.IsInt() && !x.DType.IsUnsigned() && c.F() > 0 && int64(c.F())&(int64(c.F())-1) == 0 {
		// Kernels take the last bits of x, which are the remainder of a number that is not negative.
		return where(lt(x, 0), neg(binary(uop.Mod, neg(x), y)), binary(uop.Mod, x, y))
	}
	if !x.DType.IsFloat() || asTinygrad(x) {
		return truncMod(a, b)
	}
	composed := sub(x, mul(detach(truncDiv(x, y)), y))
	if _, ok := powerOfTwo(y); ok {
		return differentiatedAs(where(eq(composed, 0), mul(x, 0), composed), composed) // zeros have the sign of x
	}
	dividend, divisor := wideOperands(x, y)
	r := byQuotient(dividend, divisor, x.DType, remainder(dividend, divisor, x.DType), func(q *uop.UOp) *uop.UOp {
		return signed64(sub(dividend, mul(trunc(q), divisor)), dividend)
	})
	return differentiatedAs(cast(r, x.DType), composed)
}

// accurateMod is the remainder with the sign of b, zeros, too, rounded once.
func accurateMod(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if !x.DType.IsFloat() || asTinygrad(x) {
		return mod(a, b)
	}
	composed := sub(x, mul(detach(floorDiv(x, y)), y))
	if c, ok := powerOfTwo(y); ok && c > 0 {
		return composed
	} else if ok {
		return differentiatedAs(where(eq(composed, 0), math.Copysign(0, -1), composed), composed)
	}
	dividend, divisor := wideOperands(x, y)
	r := remainder(dividend, divisor, x.DType)
	r = where(eq(r, 0), bitcast(sign64(divisor), uop.Float64), where(opposite(r, divisor), add(r, divisor), r))
	r = byQuotient(dividend, divisor, x.DType, r, func(q *uop.UOp) *uop.UOp {
		return signed64(sub(dividend, mul(floor(q), divisor)), divisor)
	})
	return differentiatedAs(cast(r, x.DType), composed)
}

// accurateFloorDiv is the floor of the quotient; zeros have its sign.
func accurateFloorDiv(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if !x.DType.IsFloat() || asTinygrad(x) {
		return floorDiv(a, b)
	}
	if c, ok := powerOfTwo(y); ok {
		return where(isInf(x), math.NaN(), floor(mul(x, 1/c)))
	}
	dividend, divisor := wideOperands(x, y)
	r := remainder(dividend, divisor, x.DType)
	q := nearest(div(sub(dividend, r), divisor))
	q = where(opposite(r, divisor), sub(q, 1), q)
	q = where(eq(q, 0), bitcast(bitXor(sign64(dividend), sign64(divisor)), uop.Float64), q)
	q = byQuotient(dividend, divisor, x.DType, q, floor)
	return where(eq(y, 0), quotient(x, y), cast(q, x.DType))
}

// Mod is the remainder of FloorDiv, Python's %, without an error of the quotient.
func Mod(a, b *uop.UOp) (*uop.UOp, error) { return run2("Mod", accurateMod, a, b) }

// TruncMod is the remainder of TruncDiv, with the sign of a, without an error.
func TruncMod(a, b *uop.UOp) (*uop.UOp, error) { return run2("TruncMod", accurateTruncMod, a, b) }

// FloorDiv is a / b rounded down, Python's //, from the exact quotient.
func FloorDiv(a, b *uop.UOp) (*uop.UOp, error) { return run2("FloorDiv", accurateFloorDiv, a, b) }
