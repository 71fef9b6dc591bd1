package main

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// unary runs an operation of one tensor.
func unary(fn string, ctx, x uintptr, op func(*uop.UOp) (*uop.UOp, error)) uintptr {
	return unaryIn(fn, ctx, x, func(_ *context, u *uop.UOp) (*uop.UOp, error) { return op(u) })
}

// unaryIn is unary for an operation with nodes as arguments.
func unaryIn(fn string, ctx, x uintptr, op func(c *context, u *uop.UOp) (*uop.UOp, error)) uintptr {
	return buildNode(fn, ctx, func(c *context) (value, error) {
		v := must(c.arg("x", x))
		if v.Drop == nil {
			u, err := op(c, v.Keep)
			return single(u), err
		}
		return lift(func(us []*uop.UOp) (*uop.UOp, error) { return op(c, us[0]) }, v)
	})
}

func poly_clamp(ctx, x uintptr, lo, hi float64) uintptr {
	return clampTo("poly_clamp", ctx, x, lo, hi)
}

func poly_hardtanh(ctx, x uintptr, lo, hi float64) uintptr {
	return clampTo("poly_hardtanh", ctx, x, lo, hi)
}

func clampTo(fn string, ctx, x uintptr, lo, hi float64) uintptr {
	return unary(fn, ctx, x, func(u *uop.UOp) (*uop.UOp, error) { return tensor.ClampTo(u, float64(lo), float64(hi)) })
}

func poly_cast_by_id(ctx, x uintptr, id int32) uintptr {
	return unary("poly_cast_by_id", ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		dt, err := dtypeOf(id)
		if err != nil {
			return nil, err
		}
		return tensor.Cast(u, dt)
	})
}

func poly_bitcast_by_id(ctx, x uintptr, id int32) uintptr {
	return unary("poly_bitcast_by_id", ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		dt, err := dtypeOf(id)
		if err != nil {
			return nil, err
		}
		return tensor.Bitcast(u, dt)
	})
}
