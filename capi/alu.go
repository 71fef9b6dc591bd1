package main

/*
#include <stdint.h>
*/
import "C"

import (
	"polygrad/capi/original"
	"polygrad/core/uop"
)

//export go_poly_alu1
func go_poly_alu1(ctx C.uintptr_t, op C.int, x C.uintptr_t) C.uintptr_t {
	return unary("poly_alu1", ctx, x, func(u *uop.UOp) (*uop.UOp, error) { return original.ALU(int(op), u) })
}

//export go_poly_alu2
func go_poly_alu2(ctx C.uintptr_t, op C.int, a, b C.uintptr_t) C.uintptr_t {
	return binary("poly_alu2", ctx, a, b, func(x, y *uop.UOp) (*uop.UOp, error) { return original.ALU(int(op), x, y) })
}

//export go_poly_alu3
func go_poly_alu3(ctx C.uintptr_t, op C.int, a, b, c C.uintptr_t) C.uintptr_t {
	return ternary("poly_alu3", ctx, [3]string{"a", "b", "c"}, a, b, c, func(x, y, z *uop.UOp) (*uop.UOp, error) {
		return original.ALU(int(op), x, y, z)
	})
}
