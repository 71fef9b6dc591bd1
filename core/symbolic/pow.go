package symbolic

import (
	"math"

	"polygrad/core/uop"
)

// powByConst is x**c for a constant that is an integer or half an integer: by squaring and square roots.
func powByConst(x *uop.UOp, c uop.Const) *uop.UOp {
	if c.IsInvalid() || c.F() != c.F() || math.IsInf(c.F(), 0) {
		return nil
	}
	half := uop.Float(0.5)
	switch {
	case c.Sign() < 0:
		r := inFloat(x).Recip()
		return r.Alu(uop.Pow, constant(x, c).Neg())
	case c.Sign() == 0:
		return constant(x, one)
	case truncated(c).Eq(c):
		y := x.Alu(uop.Pow, constant(x, c.FloorDiv(uop.Int(2))))
		if c.FloorMod(uop.Int(2)).EqInt(1) {
			return y.Mul(y).Mul(x)
		}
		yy := y.Mul(y)
		return yy.Mul(constant(yy, one))
	case truncated(c.Sub(half)).Add(half).Eq(c):
		return x.Alu(uop.Pow, constant(x, c.Sub(half))).Mul(inFloat(x).Sqrt())
	}
	return nil
}

// truncated is Python's int(c).
func truncated(c uop.Const) uop.Const { return c.As(uop.IndexT) }

// constPow is c**x for a positive constant.
func constPow(c, x *uop.UOp) *uop.UOp {
	v := c.ConstVal()
	switch {
	case v.EqInt(1):
		return c
	case v.IsInvalid() || !v.Gt(zero):
		return nil
	}
	log, _ := uop.ExecALU(uop.Log2, v)
	return inFloat(x.Mul(constant(x, log))).Exp2()
}

// inFloat is x as a float: itself, or cast to the float type that it promotes to.
func inFloat(x *uop.UOp) *uop.UOp {
	if x.DType.IsFloat() {
		return x
	}
	return x.Cast(uop.LeastUpperFloat(x.DType))
}

// Pow is base**exponent by exp2 and log2, right for negative bases and 0**0.
func Pow(base, exponent *uop.UOp) *uop.UOp {
	negBase := base.LtInt(0)
	r := inFloat(inFloat(negBase.Where(base.Neg(), base)).Log2().Mul(exponent)).Exp2()
	// A negative base gives NaN for a fractional exponent, and the other sign for an odd one.
	fraction := exponent.Ne(exponent.Cast(uop.Int32).Cast(exponent.DType))
	odd := exponent.LtInt(0).Where(exponent.Neg(), exponent).Cast(uop.Int32).ModInt(2).Cast(uop.Bool)
	negative := fraction.Where(constant(r, uop.Float(math.NaN())), odd.Where(r.Neg(), r))
	zeroToZero := base.Eq(constant(base, zero)).And(exponent.Eq(constant(exponent, zero)))
	return zeroToZero.Where(constant(r, one), negBase.Where(negative, r))
}
