package main

import (
	"polygrad/capi/original"
	"polygrad/core/uop"
)

func poly_alu1(ctx uintptr, op int32, x uintptr) uintptr {
	return unary("poly_alu1", ctx, x, func(u *uop.UOp) (*uop.UOp, error) { return original.ALU(int(op), u) })
}

func poly_alu2(ctx uintptr, op int32, a, b uintptr) uintptr {
	return binary("poly_alu2", ctx, a, b, func(x, y *uop.UOp) (*uop.UOp, error) { return original.ALU(int(op), x, y) })
}

func poly_alu3(ctx uintptr, op int32, a, b, c uintptr) uintptr {
	return ternary("poly_alu3", ctx, [3]string{"a", "b", "c"}, a, b, c, func(x, y, z *uop.UOp) (*uop.UOp, error) {
		return original.ALU(int(op), x, y, z)
	})
}
