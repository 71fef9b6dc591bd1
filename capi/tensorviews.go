package main

import (
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

func poly_is_view(ctx, x, base uintptr) (is int32) {
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

func poly_set_view(ctx, x, base, val uintptr) uintptr {
	return compose("poly_set_view", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.SetView(us[0], us[1], us[2])
	}, operandOf("x", x), operandOf("base", base), operandOf("value", val))
}

func poly_move_view(ctx, x, base, other uintptr) uintptr {
	return compose("poly_move_view", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.MoveView(us[0], us[1], us[2])
	}, operandOf("x", x), operandOf("base", base), operandOf("other", other))
}

func poly_view_layout(ctx, x, base uintptr, strides *int64, ndim int32, offset *int64) (is int32) {
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
			unsafe.Slice(strides, ndim)[i] = s
		}
		*offset = at
		is = 1
		return nil
	}, func() { is = -1 })
	return is
}
