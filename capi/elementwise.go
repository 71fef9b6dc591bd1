package main

/*
#include <stdint.h>
*/
import "C"

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// unary runs an operation of one tensor.
func unary(fn string, ctx, x C.uintptr_t, op func(*uop.UOp) (*uop.UOp, error)) C.uintptr_t {
	return unaryIn(fn, ctx, x, func(_ *context, u *uop.UOp) (*uop.UOp, error) { return op(u) })
}

// unaryIn is unary for an operation with nodes as arguments.
func unaryIn(fn string, ctx, x C.uintptr_t, op func(c *context, u *uop.UOp) (*uop.UOp, error)) C.uintptr_t {
	return buildNode(fn, ctx, func(c *context) (value, error) {
		v := must(c.arg("x", uintptr(x)))
		if v.Drop == nil {
			u, err := op(c, v.Keep)
			return single(u), err
		}
		return lift(func(us []*uop.UOp) (*uop.UOp, error) { return op(c, us[0]) }, v)
	})
}

//export go_poly_clamp
func go_poly_clamp(ctx, x C.uintptr_t, lo, hi C.double) C.uintptr_t {
	return clampTo("poly_clamp", ctx, x, lo, hi)
}

//export go_poly_hardtanh
func go_poly_hardtanh(ctx, x C.uintptr_t, lo, hi C.double) C.uintptr_t {
	return clampTo("poly_hardtanh", ctx, x, lo, hi)
}

func clampTo(fn string, ctx, x C.uintptr_t, lo, hi C.double) C.uintptr_t {
	return unary(fn, ctx, x, func(u *uop.UOp) (*uop.UOp, error) { return tensor.ClampTo(u, float64(lo), float64(hi)) })
}

//export go_poly_cast_by_id
func go_poly_cast_by_id(ctx, x C.uintptr_t, id C.int) C.uintptr_t {
	return unary("poly_cast_by_id", ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		dt, err := dtypeOf(id)
		if err != nil {
			return nil, err
		}
		return tensor.Cast(u, dt)
	})
}

//export go_poly_bitcast_by_id
func go_poly_bitcast_by_id(ctx, x C.uintptr_t, id C.int) C.uintptr_t {
	return unary("poly_bitcast_by_id", ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		dt, err := dtypeOf(id)
		if err != nil {
			return nil, err
		}
		return tensor.Bitcast(u, dt)
	})
}
