package main

/*
#include <stdint.h>
*/
import "C"

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Operations by code: what the original interface calls the ALU. They are the
// machine's view of operations, except that operands are promoted and broadcast.

var alu1 = map[uop.Op]func(*uop.UOp) (*uop.UOp, error){
	uop.Exp2: tensor.Exp2, uop.Log2: tensor.Log2, uop.Sin: tensor.Sin, uop.Sqrt: tensor.Sqrt,
	uop.Reciprocal: tensor.Reciprocal, uop.Neg: tensor.Neg, uop.Trunc: tensor.Trunc,
}

var alu2 = map[uop.Op]binaryOp{
	uop.Add: tensor.Add, uop.Mul: tensor.Mul, uop.Sub: tensor.Sub, uop.Fdiv: tensor.Div, uop.Pow: tensor.Pow,
	uop.Idiv: tensor.TruncDiv, uop.Mod: tensor.TruncMod, uop.Max: tensor.Maximum, uop.CmpLt: tensor.Lt,
	uop.CmpNe: tensor.Ne, uop.CmpEq: tensor.Eq, uop.Xor: tensor.BitXor, uop.Or: tensor.BitOr, uop.And: tensor.BitAnd,
	uop.Shl: tensor.ShiftLeft, uop.Shr: tensor.ShiftRight,
}

func notAnALU(op C.int, operands int) error {
	if op < 0 || op >= C.int(uop.NumOps) {
		return wrong("op", "%d is not an operation, expected 1 to %d", op, uop.NumOps-1)
	}
	return wrong("op", "%s is not an operation of %d operands", uop.Op(op), operands)
}

//export go_poly_alu1
func go_poly_alu1(ctx C.uintptr_t, op C.int, x C.uintptr_t) C.uintptr_t {
	f := alu1[uop.Op(op)]
	if op < 0 || op >= C.int(uop.NumOps) || f == nil {
		f = func(*uop.UOp) (*uop.UOp, error) { return nil, notAnALU(op, 1) }
	}
	return unary("poly_alu1", ctx, x, f)
}

//export go_poly_alu2
func go_poly_alu2(ctx C.uintptr_t, op C.int, a, b C.uintptr_t) C.uintptr_t {
	f := alu2[uop.Op(op)]
	if op < 0 || op >= C.int(uop.NumOps) || f == nil {
		f = func(_, _ *uop.UOp) (*uop.UOp, error) { return nil, notAnALU(op, 2) }
	}
	return binary("poly_alu2", ctx, a, b, f)
}

//export go_poly_alu3
func go_poly_alu3(ctx C.uintptr_t, op C.int, a, b, c C.uintptr_t) C.uintptr_t {
	var f func(x, y, z *uop.UOp) (*uop.UOp, error)
	switch op {
	case C.int(uop.Where):
		f = tensor.Where
	case C.int(uop.MulAcc):
		f = func(x, y, z *uop.UOp) (*uop.UOp, error) {
			p, err := tensor.Mul(x, y)
			if err != nil {
				return nil, err
			}
			return tensor.Add(p, z)
		}
	default:
		f = func(_, _, _ *uop.UOp) (*uop.UOp, error) { return nil, notAnALU(op, 3) }
	}
	return ternary("poly_alu3", ctx, [3]string{"a", "b", "c"}, a, b, c, f)
}
