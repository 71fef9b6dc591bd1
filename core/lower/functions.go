package lower

import (
	"math"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// Tensors compute e^x as 2^(x/ln 2), cos(x) as sin(pi/2 - x) and tanh(x) as 2/(1 + e^-2x) - 1. These formulas lose digits: in the
// product x/ln 2 for large x, in the subtraction from pi/2, and in the subtraction of 1 near x = 0. For targets with EXP, COS
// and TANH these rules recognize the formulas.
var functions = &rewrite.Table{Name: "functions", Rules: []*rewrite.Rule{
	{Name: "2^(x/ln 2)", Ops: uop.Ops(uop.Exp2), Need: uop.Ops(uop.Mul), Fn: findExp},
	{Name: "sin(pi/2 - x)", Ops: uop.Ops(uop.Sin), Need: uop.Ops(uop.Add), Fn: findCos},
	{Name: "2/(1 + e^-2x) - 1", Ops: uop.Ops(uop.Add), Need: uop.Ops(uop.Mul), Fn: findTanh},
}}

// hasFunctions reports whether the target has the functions.
func (t *Target) hasFunctions() bool {
	return t.Ops.Has(uop.Exp) && t.Ops.Has(uop.Cos) && t.Ops.Has(uop.Tanh)
}

// constFactor splits x*c.
func constFactor(u *uop.UOp) (x *uop.UOp, c float64, ok bool) {
	if u.Op != uop.Mul || !isFloat(u) {
		return nil, 0, false
	}
	for i, s := range u.Src {
		if s.Op == uop.ConstOp {
			return u.Src[1-i], s.ConstVal().F(), true
		}
	}
	return nil, 0, false
}

// constTerm splits x+c.
func constTerm(u *uop.UOp) (x *uop.UOp, c float64, ok bool) {
	if u.Op != uop.Add || !isFloat(u) {
		return nil, 0, false
	}
	for i, s := range u.Src {
		if s.Op == uop.ConstOp {
			return u.Src[1-i], s.ConstVal().F(), true
		}
	}
	return nil, 0, false
}

// is reports whether c equals a number in float64 or float32, up to the last bits lost in products of constants.
func is(c, number float64) bool {
	return math.Abs(c-number) <= 4e-16*math.Abs(number) || c == float64(float32(number))
}

// scaled is x*c.
func scaled(x *uop.UOp, c float64) *uop.UOp {
	if c == 1 {
		return x
	}
	return x.Mul(num(x, c))
}

// findExp recognizes 2^(x*k/ln 2) for k and -k a power of two: then the product x*k is exact.
func findExp(_ any, u *uop.UOp) *uop.UOp {
	x, c, ok := constFactor(u.Src[0])
	if !ok || c == 0 || math.IsInf(c, 0) || c != c {
		return nil
	}
	k := math.Copysign(math.Exp2(math.Round(math.Log2(math.Abs(c)*math.Ln2))), c)
	if !is(c, k*math.Log2E) {
		return nil
	}
	return scaled(x, k).Alu(uop.Exp)
}

func findCos(_ any, u *uop.UOp) *uop.UOp {
	x, c, ok := constTerm(u.Src[0])
	if !ok || !is(c, math.Pi/2) {
		return nil
	}
	if y, k, ok := constFactor(x); ok {
		x = scaled(y, math.Abs(k))
	}
	return x.Alu(uop.Cos)
}

// findTanh recognizes a/(1+e^y) - a/2, which is a/2 tanh(-y/2), with the exponential as EXP or EXP2.
func findTanh(_ any, u *uop.UOp) *uop.UOp {
	p, b, ok1 := constTerm(u)
	if !ok1 {
		return nil
	}
	r, a, ok2 := constFactor(p)
	if !ok2 || a != -2*b || r.Op != uop.Reciprocal {
		return nil
	}
	e, one, ok3 := constTerm(r.Src[0])
	if !ok3 || one != 1 {
		return nil
	}
	var k float64
	switch e.Op {
	case uop.Exp:
		k = -0.5
	case uop.Exp2:
		k = -math.Ln2 / 2
	default:
		return nil
	}
	x := e.Src[0]
	if y, c, ok := constFactor(x); ok {
		x, k = y, k*c
	}
	return scaled(scaled(x, k).Alu(uop.Tanh), -b)
}
