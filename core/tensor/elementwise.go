package tensor

import (
	"math"

	"polygrad/core/uop"
)

const (
	ln2   = math.Ln2
	log2e = 1 / math.Ln2
	// log10of2 is log10(2) rounded to a double.
	log10of2 = 0.3010299956639812
)

// binary is one primitive on two operands after promotion and broadcasting.
func binary(op uop.Op, a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if x.DType.IsComplex() {
		return complexBinary(op, x, y)
	}
	return x.Alu(op, y)
}

func cast(x *uop.UOp, dt *uop.DType) *uop.UOp {
	if x.DType.IsComplex() || dt.IsComplex() {
		return castComplex(x, dt)
	}
	return x.Cast(dt)
}

// asFloat promotes integers and bools to a floating point type.
func asFloat(x *uop.UOp) *uop.UOp { return cast(x, uop.LeastUpperFloat(x.DType)) }

func add(a, b operand) *uop.UOp { return binary(uop.Add, a, b) }
func mul(a, b operand) *uop.UOp { return binary(uop.Mul, a, b) }

// sub is a + b * -1.
func sub(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	return add(x, neg(y))
}

// neg is x * -1; for bool it is not x.
func neg(x *uop.UOp) *uop.UOp {
	if x.DType.IsBool() {
		return logicalNot(x)
	}
	return mul(x, -1)
}

// div is a * (1/b) in floating point.
func div(a, b operand) *uop.UOp {
	return quotient(matched(a, b))
}

func quotient(x, y *uop.UOp) *uop.UOp {
	if x.DType.IsComplex() {
		return complexOf(x).over(complexOf(y)).joined()
	}
	return mul(asFloat(x), reciprocal(asFloat(y)))
}

// truncDiv is a / b rounded towards zero.
func truncDiv(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if x.DType.IsFloat() {
		return trunc(quotient(x, y))
	}
	needNumber("operands", x)
	return binary(uop.Idiv, x, y)
}

// floorDiv is a / b rounded towards minus infinity, as Python's //.
func floorDiv(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if x.DType.IsFloat() {
		return floor(quotient(x, y))
	}
	needNumber("operands", x)
	q, r := binary(uop.Idiv, x, y), binary(uop.Mod, x, y)
	opposite := bitOr(bitAnd(gt(x, 0), lt(y, 0)), bitAnd(lt(x, 0), gt(y, 0)))
	return where(bitAnd(opposite, ne(r, 0)), sub(q, 1), q)
}

// mod is a - floor(a/b)*b, as Python's %.
func mod(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	return sub(x, mul(floorDiv(x, y), y))
}

// truncMod is the remainder of truncDiv, with the sign of a.
func truncMod(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if x.DType.IsFloat() {
		return sub(x, mul(truncDiv(x, y), y))
	}
	needNumber("operands", x)
	return binary(uop.Mod, x, y)
}

// pow is a**b. Integers to a negative or tensor power are computed in float64 and rounded.
func pow(a, b operand) *uop.UOp {
	base, exponent := matched(a, b)
	if base.DType.IsComplex() {
		return complexOf(base).pow(complexOf(exponent)).joined()
	}
	if base.DType.IsFloat() {
		r := base.Alu(uop.Pow, exponent)
		if x, ok := a.(*uop.UOp); ok && !x.DType.IsFloat() {
			if _, scalar := b.(*uop.UOp); !scalar {
				return cast(round(r), x.DType)
			}
		}
		return r
	}
	if _, tensor := b.(*uop.UOp); !tensor && constOf(b).Sign() >= 0 {
		return base.Alu(uop.Pow, exponent)
	}
	if base.DType.IsInt() && !asTinygrad(base) {
		return integerPow(base, exponent)
	}
	wide := cast(base, uop.Float64).Alu(uop.Pow, cast(exponent, uop.Float64))
	return cast(round(wide), base.DType)
}

// integerPow is x**e of integers, which wraps as products do: the product of the squares x^(2^i) for the bits i of e, of which most exponents
// have few. A negative power is rounded towards 0.
func integerPow(x, e *uop.UOp) *uop.UOp {
	const few = 6
	signed, square := !x.DType.IsUnsigned(), x
	bits := x.DType.Bits
	if signed {
		bits--
	}
	r := likeConst(x, 1)
	small := r
	for i := range bits {
		if i > 0 {
			square = mul(square, square)
		}
		if r = where(ne(bitAnd(shiftRight(e, i), 1), 0), mul(r, square), r); i < few {
			small = r
		}
	}
	if bits > few {
		r = seldom(ge(e, 1<<few), r, small)
	}
	if signed {
		inverse := where(eq(x, -1), sub(1, mul(2, bitAnd(e, 1))), where(eq(x, 1), x, 0))
		r = where(lt(e, 0), inverse, r)
	}
	return r
}

// square is x * x.
func square(x *uop.UOp) *uop.UOp { return mul(x, x) }

// compare is CMPLT or CMPNE. No type holds uint64 and the numbers below 0, which would wrap: they are less than all of uint64.
func compare(op uop.Op, a, b operand) *uop.UOp {
	x, y := asTensor(a, b), asTensor(b, a)
	switch {
	case x.DType != uop.Uint64 && y.DType != uop.Uint64 || asTinygrad(x):
	case isSigned(x), isSigned(y) && op == uop.CmpNe:
		if isSigned(y) {
			x, y = y, x
		}
		return bitOr(lt(x, 0), binary(op, cast(x, uop.Uint64), y))
	case isSigned(y):
		return bitAnd(ge(y, 0), lt(x, cast(y, uop.Uint64)))
	}
	return binary(op, a, b)
}

func isSigned(x *uop.UOp) bool { return x.DType.IsInt() && !x.DType.IsUnsigned() }

func lt(a, b operand) *uop.UOp { return compare(uop.CmpLt, a, b) }
func gt(a, b operand) *uop.UOp { return compare(uop.CmpLt, b, a) }
func ne(a, b operand) *uop.UOp { return compare(uop.CmpNe, a, b) }
func ge(a, b operand) *uop.UOp { return logicalNot(lt(a, b)) }
func le(a, b operand) *uop.UOp { return logicalNot(gt(a, b)) }
func eq(a, b operand) *uop.UOp { return logicalNot(ne(a, b)) }

// logicalNot is x != true, in bool.
func logicalNot(x *uop.UOp) *uop.UOp { return ne(cast(x, uop.Bool), true) }

func bitwise(op uop.Op, a, b operand) *uop.UOp {
	x, y := matched(a, b)
	needBits("operands", x)
	return x.Alu(op, y)
}

func bitAnd(a, b operand) *uop.UOp { return bitwise(uop.And, a, b) }
func bitOr(a, b operand) *uop.UOp  { return bitwise(uop.Or, a, b) }
func bitXor(a, b operand) *uop.UOp { return bitwise(uop.Xor, a, b) }

// bitNot flips every bit: x xor -1; for bool it is not x. Unsigned types have no -1: folded as one, the result of a
// constant would be below 0 and every comparison with it wrong.
func bitNot(x *uop.UOp) *uop.UOp {
	needBits("x", x)
	if x.DType.IsBool() {
		return logicalNot(x)
	}
	if x.DType.IsUnsigned() {
		return bitXor(x, x.DType.Max())
	}
	return bitXor(x, -1)
}

// shiftLeft and shiftRight by a number multiply and divide by its power of two; a right shift of
// negative integers rounds down, as the arithmetic shift does. By the width of the type or more, all bits
// leave: the result is 0, or -1 for negative integers to the right.
func shiftLeft(a, b operand) *uop.UOp { return shift(uop.Shl, a, b) }

func shiftRight(a, b operand) *uop.UOp { return shift(uop.Shr, a, b) }

func shift(op uop.Op, a, b operand) *uop.UOp {
	if x, ok := a.(*uop.UOp); ok {
		needInt("x", x)
		if _, tensor := b.(*uop.UOp); !tensor {
			n := constOf(b)
			if !n.IsInt() || n.Sign() < 0 {
				fail("shift", "is %s, expected an integer of at least 0", n)
			}
			last := uop.Int(int64(x.DType.Bits) - 1)
			switch {
			case op == uop.Shr && !x.DType.IsUnsigned() && !n.Less(last): // the type does not have 2^n
				return where(lt(x, 0), likeConst(x, -1), likeConst(x, 0))
			case last.Less(n):
				return fullLike(x, 0)
			}
			p := uop.Int(1).Shl(n)
			switch {
			case op == uop.Shl:
				return mul(x, p)
			case x.DType.IsUnsigned():
				return binary(uop.Idiv, x, p)
			}
			return floorDiv(x, p)
		}
	}
	x, y := matched(a, b)
	needInt("operands", x)
	if asTinygrad(x) {
		return x.Alu(op, y)
	}
	// Machines shift by y modulo the width of a register. A y below 0 shifts all bits out, too, as in NumPy.
	last := int(x.DType.Bits) - 1
	count := cast(y, UintOfSize[x.DType.Bits/8])
	if op == uop.Shr && !x.DType.IsUnsigned() {
		return x.Alu(op, where(le(count, last), y, last))
	}
	return where(le(count, last), x.Alu(op, bitAnd(y, last)), 0)
}

func maximum(a, b operand) *uop.UOp { return binary(uop.Max, a, b) }

// minimum is the inverse of the maximum of the inverses.
func minimum(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	return inverse(maximum(inverse(x), inverse(y)))
}

// inverse turns the order of the values around: -x, for integers not x (which does not overflow).
func inverse(x *uop.UOp) *uop.UOp {
	switch {
	case x.DType.IsComplex():
		fail("x", "is %s: complex numbers have no order, compare real, imag or abs", x.DType)
	case x.DType.IsFloat():
		return neg(x)
	case x.DType.IsInt():
		return bitNot(x)
	}
	return logicalNot(x)
}

// where is x where cond is true, else y.
func where(cond *uop.UOp, x, y operand) *uop.UOp {
	if _, ok := x.(*uop.UOp); ok {
		a, b := matched(x, y)
		x, y = a, b
	} else if _, ok := y.(*uop.UOp); ok {
		a, b := matched(y, x)
		x, y = b, a
	}
	var a, b *uop.UOp
	cond, a = spread(cond, asTensor(x, cond))
	cond, b = spread(cond, asTensor(y, cond))
	a, b = matched(a, b)
	cond = cast(cond, uop.Bool)
	if a.DType.IsComplex() {
		v, w := complexOf(a), complexOf(b)
		r := complexPlanes{cond.Alu(uop.Where, v.re, w.re), nil}
		if v.im != nil || w.im != nil {
			r.im = cond.Alu(uop.Where, v.imag(), w.imag())
		}
		return r.joined()
	}
	return cond.Alu(uop.Where, a, b)
}

// seldom is where(cond, rare, usual) for a condition that hardly ever holds and an expensive first choice.
func seldom(cond, rare, usual *uop.UOp) *uop.UOp {
	return where(cond, rare, usual).WithArg(uop.Unlikely)
}

// clamp limits x to lo..hi; nil leaves a side open. NaN stays NaN.
func clamp(x *uop.UOp, lo, hi operand) *uop.UOp {
	if lo != nil {
		x = where(lt(x, lo), lo, x)
	}
	if hi != nil {
		x = where(gt(x, hi), hi, x)
	}
	return x
}

func isNaN(x *uop.UOp) *uop.UOp { return ne(x, x) }

func isInf(x *uop.UOp) *uop.UOp {
	if x.DType.IsComplex() {
		z := complexOf(x)
		return bitOr(isInf(z.re), isInf(z.imag()))
	}
	return add(mul(eq(x, math.Inf(1)), true), mul(eq(x, math.Inf(-1)), true))
}

func isFinite(x *uop.UOp) *uop.UOp {
	if x.DType.IsFloat() && x.DType.Itemsize() > 1 && !asTinygrad(x) {
		return lt(abs(x), math.Inf(1)) // false for NaN
	}
	return logicalNot(bitOr(isInf(x), isNaN(x)))
}

// sign is -1, 0 or 1, NaN of NaN. tinygrad's x*0 keeps x in the graph, with gradient 0.
func sign(x *uop.UOp) *uop.UOp {
	if !x.DType.IsFloat() || asTinygrad(x) {
		return add(direction(x), mul(x, 0))
	}
	return where(isNaN(x), x, direction(x))
}

// direction is -1, 0 or 1, with no gradient.
func direction(x *uop.UOp) *uop.UOp {
	return where(ne(x, 0), where(lt(x, 0), likeConst(x, -1), likeConst(x, 1)), likeConst(x, 0))
}

// abs is |x|, of -0 too; its gradient at 0 is 0.
func abs(x *uop.UOp) *uop.UOp {
	if x.DType.IsComplex() {
		return complexOf(x).abs()
	}
	if !x.DType.IsFloat() || asTinygrad(x) {
		return mul(x, sign(x))
	}
	return where(gt(x, 0), x, where(eq(x, 0), 0, neg(x)))
}

// copysign is |a| with the sign of b, signs of zeros included. The gradient of b is 0.
func copysign(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if !x.DType.IsFloat() || asTinygrad(x) {
		s := where(bitOr(lt(y, 0), lt(reciprocal(y), 0)), -1, 1)
		return add(mul(abs(asTensor(a, b)), s), mul(sign(y), 0))
	}
	m := abs(x)
	// No number is less than itself; the branch gives y a gradient.
	return where(lt(y, y), y, where(negative(y), neg(m), m))
}

// lerp is a + (b-a)*w; for uint8 with a tensor as weight it is rounded. tinygrad takes 7 bits of the weight and of the difference, which wraps.
func lerp(a, b *uop.UOp, w operand) *uop.UOp {
	tinygrad := asTinygrad(a)
	if wt, ok := w.(*uop.UOp); ok && a.DType == uop.Uint8 {
		if !tinygrad {
			from := cast(a, uop.Float32)
			return cast(add(add(from, mul(sub(cast(b, uop.Float32), from), cast(wt, uop.Float32))), 0.5), uop.Uint8)
		}
		fixed := cast(add(mul(wt, 128), 0.5), uop.Int16)
		d := cast(add(mul(cast(sub(b, a), uop.Int8), fixed), 64), uop.Uint16)
		return cast(add(a, shiftRight(d, 7)), uop.Uint8)
	}
	d := mul(sub(b, a), w)
	if to := d.DType; to.IsFloat() && a.DType.IsInt() && b.DType.IsInt() && !tinygrad {
		return lerp(cast(a, to), cast(b, to), w) // differences of integers may wrap
	}
	return add(a, d)
}

// logAddExp is log(e^a + e^b) without overflow.
func logAddExp(a, b operand) *uop.UOp {
	x := asTensor(a, b)
	m := maximum(a, b)
	_, y := matched(a, b)
	return add(log(add(exp(sub(x, m)), exp(sub(y, m)))), m)
}

// atan2 is the angle of the point (x, y): the arc tangent of the smaller coordinate over the larger, turned into its octant.
func atan2(y, x operand) *uop.UOp {
	b, a := matched(y, x)
	b, a = asFloat(b), asFloat(a)
	dt := a.DType
	if !asTinygrad(a) {
		b, a = atLeastF32(b), atLeastF32(a)
	}
	return cast(withSlopes("atan2", of2(atan2Short), of2(atan2Long), func(_ *uop.UOp, of ...*uop.UOp) []*uop.UOp {
		// by the larger coordinate, since squares may be out of range
		b, a := of[0], of[1]
		large := maximum(mul(b, signOf(b)), mul(a, signOf(a)))
		r := reciprocal(where(eq(large, 0), 1, large))
		b, a = mul(b, r), mul(a, r)
		r = mul(r, reciprocal(add(square(a), square(b))))
		return []*uop.UOp{mul(a, r), neg(mul(b, r))}
	}, b, a), dt)
}

func atan2Long(b, a *uop.UOp) *uop.UOp {
	h, w := where(negative(b), neg(b), b), where(negative(a), neg(a), a)
	steep := gt(h, w)
	large := where(steep, h, w)
	t := div(where(steep, w, h), where(eq(large, 0), 1, large))
	r := atanLong(where(bitAnd(isInf(h), isInf(w)), 1, t))
	r = where(steep, sub(math.Pi/2, r), r)
	r = where(negative(a), sub(math.Pi, r), r)
	return where(negative(b), neg(r), r)
}

// of2 is a function of two numbers as one of several.
func of2(f func(x, y *uop.UOp) *uop.UOp) func(x ...*uop.UOp) *uop.UOp {
	return func(x ...*uop.UOp) *uop.UOp { return f(x[0], x[1]) }
}

// negative is true below 0, for -0 too.
func negative(x *uop.UOp) *uop.UOp {
	if signs := signsOf[x.DType]; signs != nil && !asTinygrad(x) {
		return lt(bitcast(x, signs), 0)
	}
	return bitOr(lt(x, 0), lt(reciprocal(x), 0))
}

// signsOf are the integers with the sign of a float in theirs.
var signsOf = map[*uop.DType]*uop.DType{uop.Float64: uop.Int64, uop.Float32: uop.Int32, uop.Float16: uop.Int16, uop.BFloat16: uop.Int16}

// hypot is sqrt(a² + b²) without overflow, computed in float32 at least.
func hypot(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	x, y = asFloat(x), asFloat(y)
	dt := x.DType
	x, y = atLeastF32(x), atLeastF32(y)
	return cast(withSlopes("hypot", of2(hypotShort), of2(hypotLong), func(r *uop.UOp, of ...*uop.UOp) []*uop.UOp {
		r = reciprocal(where(eq(r, 0), 1, r))
		return []*uop.UOp{mul(of[0], r), mul(of[1], r)}
	}, x, y), dt)
}

func hypotLong(x, y *uop.UOp) *uop.UOp {
	x, y = abs(x), abs(y)
	m := maximum(x, y)
	unscaled := bitOr(eq(m, 0), isInf(m))
	scale := where(unscaled, 1, m)
	r := mul(scale, sqrt(where(unscaled, 1, add(square(div(x, scale)), square(div(y, scale))))))
	return where(bitOr(isInf(x), isInf(y)), math.Inf(1), where(unscaled, m, r))
}

// isClose is |a-b| <= atol + rtol*|b| for finite values, equality for infinite ones; NaN equals NaN on request.
func isClose(a, b *uop.UOp, rtol, atol float64, equalNaN bool) *uop.UOp {
	if a.DType.IsBool() { // which have no differences
		a = cast(a, uop.Int8)
	}
	if b.DType.IsBool() {
		b = cast(b, uop.Int8)
	}
	if isSigned(a) && b.DType == uop.Uint64 || a.DType == uop.Uint64 && isSigned(b) {
		a, b = cast(a, uop.Float64), cast(b, uop.Float64) // as in NumPy; uint64 would wrap
	}
	finite := bitAnd(bitAnd(isFinite(a), isFinite(b)), le(abs(sub(a, b)), add(atol, mul(rtol, abs(b)))))
	infinite := eq(a, b)
	if !(rtol >= 0 && atol >= 0) || asTinygrad(a) { // equal finite numbers may be too far apart
		infinite = bitAnd(bitOr(isInf(a), isInf(b)), infinite)
	}
	nan := bitAnd(bitAnd(isNaN(a), isNaN(b)), equalNaN)
	return bitOr(bitOr(finite, infinite), nan)
}

// Add is a + b.
func Add(a, b *uop.UOp) (*uop.UOp, error) { return run2("Add", add, a, b) }

// Sub is a - b.
func Sub(a, b *uop.UOp) (*uop.UOp, error) { return run2("Sub", sub, a, b) }

// Mul is a * b.
func Mul(a, b *uop.UOp) (*uop.UOp, error) { return run2("Mul", mul, a, b) }

// Div is a / b in floating point; integers give float32.
func Div(a, b *uop.UOp) (*uop.UOp, error) { return run2("Div", div, a, b) }

// TruncDiv is a / b rounded towards zero (C's / on integers).
func TruncDiv(a, b *uop.UOp) (*uop.UOp, error) { return run2("TruncDiv", truncDiv, a, b) }

// Lt is a < b, bool.
func Lt(a, b *uop.UOp) (*uop.UOp, error) { return run2("Lt", lt, a, b) }

// Gt is a > b, bool.
func Gt(a, b *uop.UOp) (*uop.UOp, error) { return run2("Gt", gt, a, b) }

// Eq is a == b, bool.
func Eq(a, b *uop.UOp) (*uop.UOp, error) { return run2("Eq", eq, a, b) }

// Ne is a != b, bool.
func Ne(a, b *uop.UOp) (*uop.UOp, error) { return run2("Ne", ne, a, b) }

// BitAnd is a & b of integers or bools.
func BitAnd(a, b *uop.UOp) (*uop.UOp, error) { return run2("BitAnd", bitAnd, a, b) }

// BitOr is a | b of integers or bools.
func BitOr(a, b *uop.UOp) (*uop.UOp, error) { return run2("BitOr", bitOr, a, b) }

// BitXor is a ^ b of integers or bools.
func BitXor(a, b *uop.UOp) (*uop.UOp, error) { return run2("BitXor", bitXor, a, b) }

// BitNot flips every bit of an integer; for bool it is LogicalNot.
func BitNot(x *uop.UOp) (*uop.UOp, error) { return run1("BitNot", bitNot, x) }

// LogicalNot is true where x is zero.
func LogicalNot(x *uop.UOp) (*uop.UOp, error) { return run1("LogicalNot", logicalNot, x) }

// ShiftLeft is a << b of integers, 0 where b is the number of bits or more, or below 0.
func ShiftLeft(a, b *uop.UOp) (*uop.UOp, error) { return run2("ShiftLeft", shiftLeft, a, b) }

// ShiftRight is a >> b of integers; signed ones keep their sign. Where b is the number of bits or more, or below 0, the result is 0 or -1.
func ShiftRight(a, b *uop.UOp) (*uop.UOp, error) { return run2("ShiftRight", shiftRight, a, b) }

// ShiftLeftConst is x << n for a number, written x * 2**n.
func ShiftLeftConst(x *uop.UOp, n int) (r *uop.UOp, err error) {
	defer guard("ShiftLeftConst", &err)
	need("x", x)
	return shiftLeft(x, n), nil
}

// ShiftRightConst is x >> n for a number, written as the division by 2**n, rounded down.
func ShiftRightConst(x *uop.UOp, n int) (r *uop.UOp, err error) {
	defer guard("ShiftRightConst", &err)
	need("x", x)
	return shiftRight(x, n), nil
}

// Maximum is the greater of a and b.
func Maximum(a, b *uop.UOp) (*uop.UOp, error) { return run2("Maximum", maximum, a, b) }

// Minimum is the smaller of a and b.
func Minimum(a, b *uop.UOp) (*uop.UOp, error) { return run2("Minimum", minimum, a, b) }

// Where is x where cond is not zero, else y.
func Where(cond, x, y *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Where", &err)
	needSame("operands", cond, x, y)
	return where(cond, x, y), nil
}

// Clamp limits x to lo..hi; a nil bound leaves that side open, but one must be given. Where a bound is NaN, the result is.
func Clamp(x *uop.UOp, lo, hi *uop.UOp) (*uop.UOp, error) {
	return runClamp("Clamp", accurateClamp, x, lo, hi)
}

// ClampTo limits x to numbers; an infinite one is no bound. Integers keep their type where the bounds are whole.
func ClampTo(x *uop.UOp, lo, hi float64) (r *uop.UOp, err error) {
	defer guard("ClampTo", &err)
	need("x", x)
	var l, h operand
	if !math.IsInf(lo, -1) {
		l = bound(x, lo)
	}
	if !math.IsInf(hi, 1) {
		h = bound(x, hi)
	}
	return accurateClamp(x, l, h), nil
}

func runClamp(fn string, f func(x *uop.UOp, lo, hi operand) *uop.UOp, x, lo, hi *uop.UOp) (r *uop.UOp, err error) {
	defer guard(fn, &err)
	need("x", x)
	var l, h operand
	if lo != nil {
		needSame("lo", x, lo)
		l = lo
	}
	if hi != nil {
		needSame("hi", x, hi)
		h = hi
	}
	if l == nil && h == nil {
		fail("lo", "and hi are both missing, expected one of them")
	}
	return f(x, l, h), nil
}

// Neg is -x; for bool it is LogicalNot.
func Neg(x *uop.UOp) (*uop.UOp, error) { return run1("Neg", neg, x) }

// Square is x * x.
func Square(x *uop.UOp) (*uop.UOp, error) { return run1("Square", square, x) }

// IsNaN is true where x is not a number.
func IsNaN(x *uop.UOp) (*uop.UOp, error) { return run1("IsNaN", isNaN, x) }

// IsInf is true where x is plus or minus infinity.
func IsInf(x *uop.UOp) (*uop.UOp, error) { return run1("IsInf", isInf, x) }

// IsFinite is true where x is neither infinite nor NaN.
func IsFinite(x *uop.UOp) (*uop.UOp, error) { return run1("IsFinite", isFinite, x) }

// Atan2 is the angle of the point with the coordinates x (to the right) and y (up), in -pi..pi.
func Atan2(y, x *uop.UOp) (*uop.UOp, error) { return run2("Atan2", atan2, y, x) }

// Hypot is sqrt(a² + b²) without overflow.
func Hypot(a, b *uop.UOp) (*uop.UOp, error) { return run2("Hypot", hypot, a, b) }

// AllClose is one bool: whether IsClose holds everywhere.
func AllClose(a, b *uop.UOp, rtol, atol float64, equalNaN bool) (r *uop.UOp, err error) {
	defer guard("AllClose", &err)
	needSame("operands", a, b)
	return allOf(isClose(a, b, rtol, atol, equalNaN), nil, false), nil
}

// IsClose is true where |a-b| <= atol + rtol*|b|, or both are the same infinity, or (if asked for) both are NaN.
func IsClose(a, b *uop.UOp, rtol, atol float64, equalNaN bool) (r *uop.UOp, err error) {
	defer guard("IsClose", &err)
	needSame("operands", a, b)
	return isClose(a, b, rtol, atol, equalNaN), nil
}
