package uop

import "math"

// ExecALU computes an operation on constants as Python computes it on numbers. The result
// is not truncated to a type. ok is false for operations that do not fold (THREEFRY, WMMA …).
func ExecALU(op Op, x ...Const) (r Const, ok bool) {
	switch op {
	case Exp2:
		return execExp2(x[0]), true
	case Log2:
		return Float(exactLog2(x[0].F())), true
	case Sin:
		return Float(exactSin(x[0].F())), true
	case Exp:
		return Float(exactExp(x[0].F())), true
	case Cos:
		return Float(exactCos(x[0].F())), true
	case Tanh:
		return Float(math.Tanh(x[0].F())), true
	case Sqrt:
		return Float(math.Sqrt(x[0].F())), true
	case Reciprocal:
		if f := x[0].F(); f != 0 {
			return Float(1 / f), true
		}
		return Float(math.Copysign(math.Inf(1), x[0].F())), true
	case Neg:
		return x[0].Neg(), true
	case Trunc, Floor, Ceil, Round:
		if x[0].IsFloat() {
			return Float(Rounding[op](x[0].F())), true
		}
		return x[0], true
	case Add:
		return x[0].Add(x[1]), true
	case Sub:
		return x[0].Sub(x[1]), true
	case Mul:
		return x[0].Mul(x[1]), true
	case Fdiv:
		return Float(x[0].F() / x[1].F()), true
	case Idiv:
		return x[0].CDiv(x[1]), true
	case Mod:
		return x[0].CMod(x[1]), true
	case Max:
		if x[1].Cmp(x[0]) > 0 {
			return x[1], true
		}
		return x[0], true
	case CmpLt:
		return BoolConst(x[0].Less(x[1])), true
	case CmpNe:
		// Unlike Eq, which makes NaN constants one node, a comparison computes.
		return BoolConst(!x[0].Eq(x[1]) || x[0].IsFloat() && x[0].isNaN()), true
	case CmpEq:
		return BoolConst(x[0].Eq(x[1]) && !(x[0].IsFloat() && x[0].isNaN())), true
	case Xor:
		return x[0].Xor(x[1]), true
	case Or:
		return x[0].Or(x[1]), true
	case And:
		return x[0].And(x[1]), true
	case Shl:
		return x[0].Shl(x[1]), true
	case Shr:
		return x[0].Shr(x[1]), true
	case Pow:
		return execPow(x[0], x[1]), true
	case Where:
		if x[0].Truth() {
			return x[1], true
		}
		return x[2], true
	case MulAcc:
		return x[0].Mul(x[1]).Add(x[2]), true
	}
	return Const{}, false
}

func execExp2(x Const) Const {
	if v, ok := x.Int64(); ok && v >= 0 && v < 4096 {
		return Int(1).Shl(Int(v))
	}
	return Float(exactExp2(x.F()))
}

func execPow(x, y Const) Const {
	if n, ok := y.Int64(); ok && n >= 0 && n < 4096 && !x.IsFloat() {
		r := Int(1)
		for ; n > 0; n-- {
			r = r.Mul(x)
		}
		return r
	}
	a, b := x.F(), y.F()
	if a == 0 && b < 0 {
		return Float(math.Inf(1))
	}
	return Float(exactPow(a, b))
}

// Truncate gives the value that a constant has after being stored in a type: integers wrap, floats are rounded.
func (c Const) Truncate(d *DType) Const {
	d = d.Scalar()
	c = c.As(d)
	switch {
	case c.IsInvalid() || d == IndexT || d.IsBool():
		return c
	case d.IsInt():
		m := Int(1).Shl(Int(int64(d.Bits)))
		r := c.FloorMod(m)
		if !d.IsUnsigned() && r.Cmp(d.Max()) > 0 {
			r = r.Sub(m)
		}
		return r
	}
	return Float(RoundTo(d, c.F()))
}

// RoundTo rounds a float64 to the nearest value of a floating point type.
func RoundTo(d *DType, f float64) float64 {
	switch d.Scalar() {
	case Float32:
		return float64(float32(f))
	case Float16:
		return float64(HalfToFloat(FloatToHalf(f)))
	case BFloat16:
		return float64(BF16ToFloat(FloatToBF16(f)))
	case FP8E4M3, FP8E5M2:
		return FP8ToFloat(d, FloatToFP8(d, f))
	}
	return f
}
