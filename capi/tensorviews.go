package main

/*
#include <stdint.h>
*/
import "C"

import (
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

//export go_poly_is_view
func go_poly_is_view(ctx, x, base C.uintptr_t) (is C.int) {
	withContext("poly_is_view", ctx, func(c *context) error {
		us := must(c.resolve([]operand{operandOf("x", x), operandOf("base", base)}))
		view, err := tensor.IsView(us[0], us[1])
		if view {
			is = 1
		}
		return err
	}, func() { is = -1 })
	return is
}

//export go_poly_set_view
func go_poly_set_view(ctx, x, base, val C.uintptr_t) C.uintptr_t {
	return compose("poly_set_view", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.SetView(us[0], us[1], us[2])
	}, operandOf("x", x), operandOf("base", base), operandOf("value", val))
}

//export go_poly_move_view
func go_poly_move_view(ctx, x, base, other C.uintptr_t) C.uintptr_t {
	return compose("poly_move_view", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.MoveView(us[0], us[1], us[2])
	}, operandOf("x", x), operandOf("base", base), operandOf("other", other))
}

//export go_poly_view_layout
func go_poly_view_layout(ctx, x, base C.uintptr_t, strides *C.int64_t, ndim C.int, offset *C.int64_t) (is C.int) {
	withContext("poly_view_layout", ctx, func(c *context) error {
		us := must(c.resolve([]operand{operandOf("x", x), operandOf("base", base)}))
		if n := len(us[0].Shape()); int(ndim) != n {
			return badArg("ndim", "%d, expected %d as x has", ndim, n)
		}
		if offset == nil || strides == nil && ndim > 0 {
			return badArg("strides_out", "or offset_out is NULL, expected room for the results")
		}
		steps, at, ok, err := tensor.ViewLayout(us[0], us[1])
		if err != nil || !ok {
			return err
		}
		for i, s := range steps {
			unsafe.Slice(strides, ndim)[i] = C.int64_t(s)
		}
		*offset = C.int64_t(at)
		is = 1
		return nil
	}, func() { is = -1 })
	return is
}
