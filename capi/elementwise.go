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

// unaryIn is unary for an operation with arguments that are nodes.
func unaryIn(fn string, ctx, x C.uintptr_t, op func(c *context, u *uop.UOp) (*uop.UOp, error)) C.uintptr_t {
	return build(fn, ctx, func(c *context) (value, error) {
		v, err := c.arg("x", uintptr(x))
		if err != nil {
			return value{}, err
		}
		if v.Drop == nil {
			u, err := op(c, v.Keep)
			return single(u), err
		}
		return lift(func(us []*uop.UOp) (*uop.UOp, error) { return op(c, us[0]) }, v)
	})
}

//export go_poly_exp
func go_poly_exp(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_exp", ctx, x, tensor.Exp) }

//export go_poly_exp2
func go_poly_exp2(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_exp2", ctx, x, tensor.Exp2) }

//export go_poly_log
func go_poly_log(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_log", ctx, x, tensor.Log) }

//export go_poly_log2
func go_poly_log2(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_log2", ctx, x, tensor.Log2) }

//export go_poly_log10
func go_poly_log10(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_log10", ctx, x, tensor.Log10) }

//export go_poly_sqrt
func go_poly_sqrt(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_sqrt", ctx, x, tensor.Sqrt) }

//export go_poly_rsqrt
func go_poly_rsqrt(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_rsqrt", ctx, x, tensor.Rsqrt) }

//export go_poly_reciprocal
func go_poly_reciprocal(ctx, x C.uintptr_t) C.uintptr_t {
	return unary("poly_reciprocal", ctx, x, tensor.Reciprocal)
}

//export go_poly_square
func go_poly_square(ctx, x C.uintptr_t) C.uintptr_t {
	return unary("poly_square", ctx, x, tensor.Square)
}

//export go_poly_neg
func go_poly_neg(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_neg", ctx, x, tensor.Neg) }

//export go_poly_abs
func go_poly_abs(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_abs", ctx, x, tensor.Abs) }

//export go_poly_sign
func go_poly_sign(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_sign", ctx, x, tensor.Sign) }

//export go_poly_sin
func go_poly_sin(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_sin", ctx, x, tensor.Sin) }

//export go_poly_cos
func go_poly_cos(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_cos", ctx, x, tensor.Cos) }

//export go_poly_tan
func go_poly_tan(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_tan", ctx, x, tensor.Tan) }

//export go_poly_ceil
func go_poly_ceil(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_ceil", ctx, x, tensor.Ceil) }

//export go_poly_floor
func go_poly_floor(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_floor", ctx, x, tensor.Floor) }

//export go_poly_trunc
func go_poly_trunc(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_trunc", ctx, x, tensor.Trunc) }

//export go_poly_round_f
func go_poly_round_f(ctx, x C.uintptr_t) C.uintptr_t {
	return unary("poly_round_f", ctx, x, tensor.RoundAny)
}

//export go_poly_isnan
func go_poly_isnan(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_isnan", ctx, x, tensor.IsNaN) }

//export go_poly_isinf
func go_poly_isinf(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_isinf", ctx, x, tensor.IsInf) }

//export go_poly_isfinite
func go_poly_isfinite(ctx, x C.uintptr_t) C.uintptr_t {
	return unary("poly_isfinite", ctx, x, tensor.IsFinite)
}

//export go_poly_logical_not
func go_poly_logical_not(ctx, x C.uintptr_t) C.uintptr_t {
	return unary("poly_logical_not", ctx, x, tensor.LogicalNot)
}

//export go_poly_bitwise_not
func go_poly_bitwise_not(ctx, x C.uintptr_t) C.uintptr_t {
	return unary("poly_bitwise_not", ctx, x, tensor.BitNot)
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

//export go_poly_detach
func go_poly_detach(ctx, x C.uintptr_t) C.uintptr_t {
	return unary("poly_detach", ctx, x, tensor.Detach)
}

//export go_poly_contiguous
func go_poly_contiguous(ctx, x C.uintptr_t) C.uintptr_t {
	return unary("poly_contiguous", ctx, x, tensor.Contiguous)
}

//export go_poly_contiguous_backward
func go_poly_contiguous_backward(ctx, x C.uintptr_t) C.uintptr_t {
	return unary("poly_contiguous_backward", ctx, x, tensor.ContiguousBackward)
}
