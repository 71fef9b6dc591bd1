package lower

import (
	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// Native is the target of kernels for core/nest: scalar operations in the scheduler's loops. core/nest chooses tiles, vectors and
// threads.
func Native() *Target {
	return &Target{
		Name: "native",
		Ops: uop.Ops(uop.Exp, uop.Exp2, uop.Log2, uop.Sin, uop.Cos, uop.Tanh, uop.Sqrt, uop.Neg, uop.Trunc, uop.Floor, uop.Round,
			uop.Add, uop.Sub, uop.Mul, uop.Fdiv, uop.Idiv, uop.Mod, uop.Max, uop.Shl, uop.Shr, uop.And, uop.Or, uop.Xor, uop.CmpLt, uop.CmpNe, uop.CmpEq, uop.Where),
		Optimize:    true,
		Plain:       true,
		Devectorize: 1,
		Threads:     1,
		Extra:       boolDivision,
	}
}

// boolDivision divides bools, as gradients of any and of maxima of bools do; a zero divisor gives false.
var boolDivision = &rewrite.Table{Name: "bool division", Rules: []*rewrite.Rule{{Name: "a / b", Ops: uop.Ops(uop.Fdiv), Fn: func(_ any, u *uop.UOp) *uop.UOp {
	if !u.DType.IsBool() {
		return nil
	}
	return u.Src[0].And(u.Src[1])
}}}}

// Powers makes POW of 2^(y*log2(x)), for targets that compute it. An exponential would multiply the rounding error of the logarithm; core/nest
// recognises such powers itself.
var Powers = &rewrite.Table{Name: "powers", Rules: []*rewrite.Rule{{Name: "2^(y*log2 x)", Ops: uop.Ops(uop.Exp2), Fn: func(_ any, u *uop.UOp) *uop.UOp {
	if product := u.Src[0]; product.Op == uop.Mul && u.DType.IsFloat() {
		for i, l := range product.Src {
			if l.Op == uop.Log2 {
				return l.Src[0].Alu(uop.Pow, product.Src[1-i])
			}
		}
	}
	return nil
}}}}
