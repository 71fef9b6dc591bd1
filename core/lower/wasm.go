package lower

import (
	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// Wasm is the target of render/wasm, optimised for one thread. That renderer takes vectors apart and packs what it
// finds side by side into registers of its own, so arithmetic stays on vectors here and any width will do.
func Wasm() *Target {
	return &Target{
		Name: "wasm",
		Ops: uop.Ops(uop.Exp, uop.Exp2, uop.Log2, uop.Sin, uop.Cos, uop.Tanh, uop.Sqrt, uop.Neg, uop.Trunc, uop.Add, uop.Sub, uop.Mul, uop.Fdiv, uop.Idiv, uop.Mod,
			uop.Max, uop.Shl, uop.Shr, uop.And, uop.Or, uop.Xor, uop.CmpLt, uop.CmpNe, uop.CmpEq, uop.Where),
		Widths:      func(*uop.DType) []int { return []int{16, 8, 4, 2} },
		Optimize:    true,
		Devectorize: 0,
		FlatMemory:  true,
		Threads:     1,
		Extra:       boolDivision,
	}
}

// boolDivision divides bools, as gradients of any and of maxima of bools do; a zero divisor gives false.
var boolDivision = rewrite.New("bool division", &rewrite.Rule{Name: "a / b", Ops: uop.Ops(uop.Fdiv), Fn: func(_ any, u *uop.UOp) *uop.UOp {
	if !u.DType.IsBool() {
		return nil
	}
	return u.Src[0].And(u.Src[1])
}})
