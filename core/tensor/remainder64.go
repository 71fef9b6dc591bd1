package tensor

import "polygrad/core/uop"

// Remainders of float64: mantissas are divided as int64. Products wrap around, but the difference of two close products is right.

// long is an integer as int64, and rounded to float64.
type long struct{ v, real *uop.UOp }

func newLong(v *uop.UOp) long { return long{v, cast(v, uop.Float64)} }

// powerLong is 2^e; from 2^63 on only the rounded form is right, which suffices as a factor of a wrapping product.
func powerLong(e *uop.UOp) long {
	real := pow2(e)
	return long{cast(real, uop.Int64), real}
}

// longModulus is a mantissa with its hidden bit. The error of quotients is less than 7 * 2^-53 of them.
type longModulus struct {
	m              *uop.UOp
	inverse, above *uop.UOp
}

// without is v, congruent to p modulo 2^64, minus the multiple of m given by the quotient of p.
func (n longModulus) without(v, p, inverse *uop.UOp) long {
	return newLong(sub(v, mul(cast(mul(p, inverse), uop.Int64), n.m)))
}

// product is a*b mod m, between -8m and 8m for a and b between -m and m, and between -449m and 449m, in the range of int64, for
// a and b between -8m and 8m.
func (n longModulus) product(a, b long) long {
	return n.without(mul(a.v, b.v), mul(a.real, b.real), n.inverse)
}

// reduce is r mod m between -m and m: the quotient is rounded to nearest.
func (n longModulus) reduce(r long) long { return n.without(r.v, r.real, n.above) }

// withoutSubnormals is a magnitude, times 2^54 where it is subnormal, with its exponent plus 54.
func withoutSubnormals(x *uop.UOp) (magnitude, e *uop.UOp) {
	bits := bitcast(x, uop.Uint64)
	subnormal := lt(bits, 1<<fraction64)
	bits = where(subnormal, bitcast(mul(x, 1<<54), uop.Uint64), bits)
	return bits, add(exponent(bits), where(subnormal, 0, 54))
}

// remainderOfHalves is the remainder of magnitudes in float64. A quotient below 2^26 is off by at most one once it is truncated, and
// too large then; its products with the upper and the lower half of y are exact, and so are the differences.
func remainderOfHalves(x, y *uop.UOp) *uop.UOp {
	quotient := div(x, y)
	q := trunc(quotient)
	upper := bitcast(bitAnd(bitcast(y, uop.Uint64), greatest64-(1<<27-1)), uop.Float64)
	r := sub(sub(x, mul(q, upper)), mul(q, sub(y, upper)))
	return seldom(ge(quotient, 1<<26), remainder64(x, y), where(lt(r, 0), add(r, y), r))
}

// remainder64 is the remainder of magnitudes in float64.
func remainder64(x, y *uop.UOp) *uop.UOp {
	bx, ex := withoutSubnormals(x)
	by, ey := withoutSubnormals(y)
	whole := func(bits *uop.UOp) long {
		m := mantissa(bits, fraction64)
		return long{cast(m, uop.Int64), m}
	}
	m := whole(by)
	n := longModulus{m.v, reciprocalAbove(m.real, 1), reciprocalAbove(m.real, 4)}
	k := bitAnd(sub(ex, ey), 4095) // below 2100, unless x is below y
	t := shiftRight(k, 5)
	first := shiftRight(t, 1)
	power := n.product(powerLong(first), powerLong(sub(t, first)))
	for i := range 5 {
		if i == 2 || i == 4 {
			power = n.reduce(power)
		}
		power = n.product(power, power)
	}
	rest := n.product(whole(bx), powerLong(bitAnd(k, 31)))
	r := n.reduce(n.product(power, rest)).v
	r = cast(where(lt(r, 0), add(r, m.v), r), uop.Float64)
	// in two factors, since the last bit can be below the normal numbers
	unit := shiftRight(ey, 1)
	lowest := 54 + bias64 + fraction64
	return mul(mul(r, pow2(sub(unit, lowest/2))), pow2(sub(sub(ey, unit), lowest-lowest/2)))
}
