package wasm

import "polygrad/core/uop"

// supported are the operations on values that the renderer takes.
var supported = uop.Ops(
	uop.Cast, uop.Bitcast, uop.Exp, uop.Exp2, uop.Log2, uop.Sin, uop.Cos, uop.Tanh, uop.Sqrt, uop.Reciprocal, uop.Neg, uop.Trunc, uop.Add, uop.Mul, uop.Shl, uop.Shr,
	uop.Idiv, uop.Max, uop.Mod, uop.CmpLt, uop.CmpNe, uop.CmpEq, uop.Xor, uop.Or, uop.And, uop.Sub, uop.Fdiv, uop.Where,
)

// Supported reports whether the renderer takes an operation as it is. Lowering
// has to decompose the others: POW, THREEFRY and MULACC.
func Supported(op uop.Op) bool { return supported.Has(op) }
