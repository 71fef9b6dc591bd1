package main

/*
#include <stdint.h>
*/
import "C"

import (
	"polygrad/capi/original"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

type binaryOp func(a, b *uop.UOp) (*uop.UOp, error)

// binary runs an operation of two tensors.
func binary(fn string, ctx, a, b C.uintptr_t, op binaryOp) C.uintptr_t {
	return buildNode(fn, ctx, func(c *context) (value, error) {
		x := must(c.arg("a", uintptr(a)))
		y := must(c.arg("b", uintptr(b)))
		if x.Drop == nil && y.Drop == nil {
			u, err := op(x.Keep, y.Keep)
			return single(u), err
		}
		return lift(func(us []*uop.UOp) (*uop.UOp, error) { return op(us[0], us[1]) }, x, y)
	})
}

//export go_poly_binary
func go_poly_binary(ctx C.uintptr_t, op C.int, a, b C.uintptr_t) C.uintptr_t {
	return binary("poly_binary", ctx, a, b, func(x, y *uop.UOp) (*uop.UOp, error) {
		return tensor.Binary(tensor.BinaryOp(op), x, y)
	})
}

//export go_poly_binary_float
func go_poly_binary_float(ctx C.uintptr_t, op C.int, x C.uintptr_t, v C.double, reversed C.int) C.uintptr_t {
	return binaryNumber("poly_binary_float", ctx, op, x, uop.Float(float64(v)), reversed)
}

//export go_poly_binary_int
func go_poly_binary_int(ctx C.uintptr_t, op C.int, x C.uintptr_t, v C.int64_t, reversed C.int) C.uintptr_t {
	return binaryNumber("poly_binary_int", ctx, op, x, uop.Int(int64(v)), reversed)
}

//export go_poly_binary_bool
func go_poly_binary_bool(ctx C.uintptr_t, op C.int, x C.uintptr_t, v C.int, reversed C.int) C.uintptr_t {
	return binaryNumber("poly_binary_bool", ctx, op, x, uop.BoolConst(v != 0), reversed)
}

func binaryNumber(fn string, ctx C.uintptr_t, op C.int, x C.uintptr_t, v uop.Const, reversed C.int) C.uintptr_t {
	return unary(fn, ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		return tensor.BinaryNumber(tensor.BinaryOp(op), u, v, reversed != 0)
	})
}

//export go_poly_eq
func go_poly_eq(ctx, a, b C.uintptr_t) C.uintptr_t {
	return binary("poly_eq", ctx, a, b, original.Compared(tensor.Eq))
}

//export go_poly_ge
func go_poly_ge(ctx, a, b C.uintptr_t) C.uintptr_t {
	return binary("poly_ge", ctx, a, b, original.Compared(tensor.Ge))
}

//export go_poly_le
func go_poly_le(ctx, a, b C.uintptr_t) C.uintptr_t {
	return binary("poly_le", ctx, a, b, original.Compared(tensor.Le))
}

//export go_poly_where_op
func go_poly_where_op(ctx, cond, x, y C.uintptr_t) C.uintptr_t {
	return ternary("poly_where_op", ctx, [3]string{"cond", "x", "y"}, cond, x, y, tensor.Where)
}

//export go_poly_lerp
func go_poly_lerp(ctx, start, end, weight C.uintptr_t) C.uintptr_t {
	return ternary("poly_lerp", ctx, [3]string{"start", "end", "weight"}, start, end, weight, tensor.Lerp)
}

func ternary(fn string, ctx C.uintptr_t, names [3]string, x, y, z C.uintptr_t, op func(x, y, z *uop.UOp) (*uop.UOp, error)) C.uintptr_t {
	return buildNode(fn, ctx, func(c *context) (value, error) {
		var vs [3]value
		for i, h := range [3]C.uintptr_t{x, y, z} {
			v := must(c.arg(names[i], uintptr(h)))
			vs[i] = v
		}
		return lift(func(us []*uop.UOp) (*uop.UOp, error) { return op(us[0], us[1], us[2]) }, vs[:]...)
	})
}

//export go_poly_clip
func go_poly_clip(ctx, x, lo, hi C.uintptr_t) C.uintptr_t {
	return compose("poly_clip", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Clamp(us[0], us[1], us[2])
	}, operandOf("x", x), optional("lo", lo), optional("hi", hi))
}

//export go_poly_isclose
func go_poly_isclose(ctx, a, b C.uintptr_t, rtol, atol C.double, equalNaN C.int) C.uintptr_t {
	return binary("poly_isclose", ctx, a, b, func(x, y *uop.UOp) (*uop.UOp, error) {
		return tensor.IsClose(x, y, float64(rtol), float64(atol), equalNaN != 0)
	})
}

//export go_poly_allclose
func go_poly_allclose(ctx, a, b C.uintptr_t, rtol, atol C.double, equalNaN C.int) C.uintptr_t {
	return compose("poly_allclose", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.AllClose(us[0], us[1], float64(rtol), float64(atol), equalNaN != 0)
	}, operandOf("a", a), operandOf("b", b))
}
