package main

/*
#include <stdint.h>
*/
import "C"

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// shapedUnary runs an operation on a tensor whose shape the caller gives.
func shapedUnary(fn string, ctx, x C.uintptr_t, shape *C.int64_t, ndim C.int, f func(*uop.UOp) (*uop.UOp, error)) C.uintptr_t {
	return build(fn, ctx, func(c *context) (value, error) {
		v, err := c.arg("x", uintptr(x))
		if err != nil {
			return value{}, err
		}
		u, err := v.given("shape", shape, ndim)
		if err != nil {
			return value{}, err
		}
		u, err = f(u)
		return single(u), err
	})
}

//export go_poly_softmax
func go_poly_softmax(ctx, x C.uintptr_t, shape *C.int64_t, ndim, axis C.int) C.uintptr_t {
	return shapedUnary("poly_softmax", ctx, x, shape, ndim, func(u *uop.UOp) (*uop.UOp, error) {
		return tensor.Softmax(u, int(axis))
	})
}

//export go_poly_log_softmax
func go_poly_log_softmax(ctx, x C.uintptr_t, shape *C.int64_t, ndim, axis C.int) C.uintptr_t {
	return shapedUnary("poly_log_softmax", ctx, x, shape, ndim, func(u *uop.UOp) (*uop.UOp, error) {
		return tensor.LogSoftmax(u, int(axis))
	})
}

//export go_poly_tril
func go_poly_tril(ctx, x C.uintptr_t, shape *C.int64_t, ndim, diagonal C.int) C.uintptr_t {
	return shapedUnary("poly_tril", ctx, x, shape, ndim, func(u *uop.UOp) (*uop.UOp, error) {
		return tensor.Tril(u, int64(diagonal))
	})
}

//export go_poly_triu
func go_poly_triu(ctx, x C.uintptr_t, shape *C.int64_t, ndim, diagonal C.int) C.uintptr_t {
	return shapedUnary("poly_triu", ctx, x, shape, ndim, func(u *uop.UOp) (*uop.UOp, error) {
		return tensor.Triu(u, int64(diagonal))
	})
}

//export go_poly_causal_mask
func go_poly_causal_mask(ctx C.uintptr_t, T C.int64_t, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	const hidden = -1e9
	return shapeless(make1("poly_causal_mask", ctx, func(g *uop.Graph) (*uop.UOp, error) {
		u, err := tensor.Full(g, uop.ShapeOf(int64(T), int64(T)), uop.Float(hidden), uop.Float32)
		if err == nil {
			u, err = tensor.Triu(u, 1)
		}
		if err == nil {
			tellShape(u, shapeOut, ndimOut)
		}
		return u, err
	}), ndimOut)
}

//export go_poly_layernorm
func go_poly_layernorm(ctx, x C.uintptr_t, shape *C.int64_t, ndim, axis C.int, eps C.double, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return shapeless(shapedUnary("poly_layernorm", ctx, x, shape, ndim, func(u *uop.UOp) (*uop.UOp, error) {
		r, err := tensor.LayerNorm(u, []int{int(axis)}, float64(eps))
		if err == nil {
			tellShape(r, shapeOut, ndimOut)
		}
		return r, err
	}), ndimOut)
}

// operands resolves nodes of which those at the end may be NULL, which gives nil.
func (c *context) operands(names []string, required int, hs ...C.uintptr_t) ([]*uop.UOp, error) {
	out := make([]*uop.UOp, len(hs))
	for i, h := range hs {
		find := c.arg
		if i >= required {
			find = c.optional
		}
		v, err := find(names[i], uintptr(h))
		if err != nil {
			return nil, err
		}
		out[i] = v.u
	}
	return out, nil
}

// scaled is x * weight + bias where these are given.
func scaled(x, weight, bias *uop.UOp) (*uop.UOp, error) {
	var err error
	if weight != nil {
		if x, err = tensor.Mul(x, weight); err != nil {
			return nil, &argError{"weight", err}
		}
	}
	if bias != nil {
		if x, err = tensor.Add(x, bias); err != nil {
			return nil, &argError{"bias", err}
		}
	}
	return x, nil
}

//export go_poly_layernorm_axes
func go_poly_layernorm_axes(ctx, x C.uintptr_t, axes *C.int64_t, n C.int, eps C.double, weight, bias C.uintptr_t) C.uintptr_t {
	return build("poly_layernorm_axes", ctx, func(c *context) (value, error) {
		us, err := c.operands([]string{"x", "weight", "bias"}, 1, x, weight, bias)
		if err != nil {
			return value{}, err
		}
		list, err := axesFrom("axes", axes, n)
		if err != nil {
			return value{}, err
		}
		u, err := tensor.LayerNorm(us[0], list, float64(eps))
		if err == nil {
			u, err = scaled(u, us[1], us[2])
		}
		return single(u), err
	})
}

//export go_poly_rmsnorm
func go_poly_rmsnorm(ctx, x C.uintptr_t, eps C.double, weight C.uintptr_t) C.uintptr_t {
	return build("poly_rmsnorm", ctx, func(c *context) (value, error) {
		us, err := c.operands([]string{"x", "weight"}, 1, x, weight)
		if err != nil {
			return value{}, err
		}
		u, err := tensor.RMSNorm(us[0], float64(eps))
		if err == nil {
			u, err = scaled(u, us[1], nil)
		}
		return single(u), err
	})
}

//export go_poly_groupnorm
func go_poly_groupnorm(ctx, x C.uintptr_t, groups C.int64_t, eps C.double, weight, bias C.uintptr_t) C.uintptr_t {
	return build("poly_groupnorm", ctx, func(c *context) (value, error) {
		us, err := c.operands([]string{"x", "weight", "bias"}, 1, x, weight, bias)
		if err != nil {
			return value{}, err
		}
		u, err := tensor.GroupNorm(us[0], int64(groups), us[1], us[2], float64(eps))
		return single(u), err
	})
}

// classes turns class numbers that came as floats into integers; probabilities stay.
func classes(logits, target *uop.UOp) (*uop.UOp, error) {
	if target.DType.IsFloat() && len(target.Shape()) < len(logits.Shape()) {
		return tensor.Cast(target, uop.Int32)
	}
	return target, nil
}

//export go_poly_cross_entropy
func go_poly_cross_entropy(ctx, logits C.uintptr_t, lShape *C.int64_t, lNdim C.int, target C.uintptr_t, tShape *C.int64_t, tNdim, axis C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return shapeless(build("poly_cross_entropy", ctx, func(c *context) (value, error) {
		l, err := c.arg("logits", uintptr(logits))
		if err != nil {
			return value{}, err
		}
		t, err := c.arg("target", uintptr(target))
		if err != nil {
			return value{}, err
		}
		x, err := l.given("l_shape", lShape, lNdim)
		if err != nil {
			return value{}, err
		}
		y, err := t.given("t_shape", tShape, tNdim)
		if err != nil {
			return value{}, err
		}
		if y, err = classes(x, y); err != nil {
			return value{}, err
		}
		u, err := tensor.CrossEntropy(x, y, int(axis), tensor.ReduceMean, 0)
		if err == nil {
			tellShape(u, shapeOut, ndimOut)
		}
		return single(u), err
	}), ndimOut)
}

//export go_poly_binary_cross_entropy
func go_poly_binary_cross_entropy(ctx, x, y C.uintptr_t) C.uintptr_t {
	return loss("poly_binary_cross_entropy", ctx, x, y, func(p, t *uop.UOp) (*uop.UOp, error) {
		return tensor.BinaryCrossEntropy(p, t, tensor.ReduceMean)
	})
}

//export go_poly_binary_cross_entropy_logits
func go_poly_binary_cross_entropy_logits(ctx, x, y C.uintptr_t) C.uintptr_t {
	return loss("poly_binary_cross_entropy_logits", ctx, x, y, func(p, t *uop.UOp) (*uop.UOp, error) {
		return tensor.BinaryCrossEntropyLogits(p, t, tensor.ReduceMean, nil)
	})
}

func loss(fn string, ctx, x, y C.uintptr_t, f binaryOp) C.uintptr_t {
	return build(fn, ctx, func(c *context) (value, error) {
		us, err := c.operands([]string{"x", "y"}, 2, x, y)
		if err != nil {
			return value{}, err
		}
		u, err := f(us[0], us[1])
		return single(u), err
	})
}

//export go_poly_gather
func go_poly_gather(ctx, table C.uintptr_t, tShape *C.int64_t, tNdim C.int, idx C.uintptr_t, iShape *C.int64_t, iNdim C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return shapeless(build("poly_gather", ctx, func(c *context) (value, error) {
		tv, err := c.arg("table", uintptr(table))
		if err != nil {
			return value{}, err
		}
		iv, err := c.arg("idx", uintptr(idx))
		if err != nil {
			return value{}, err
		}
		t, err := tv.given("t_shape", tShape, tNdim)
		if err != nil {
			return value{}, err
		}
		i, err := iv.given("i_shape", iShape, iNdim)
		if err != nil {
			return value{}, err
		}
		// Frontends that know only floats send indices as such.
		if i.DType.IsFloat() {
			if i, err = tensor.Cast(i, uop.Int32); err != nil {
				return value{}, err
			}
		}
		u, err := tensor.Embedding(t, i)
		if err == nil {
			tellShape(u, shapeOut, ndimOut)
		}
		return single(u), err
	}), ndimOut)
}

//export go_poly_gather_axis
func go_poly_gather_axis(ctx, x C.uintptr_t, axis C.int, index C.uintptr_t) C.uintptr_t {
	return build("poly_gather_axis", ctx, func(c *context) (value, error) {
		us, err := c.operands([]string{"x", "index"}, 2, x, index)
		if err != nil {
			return value{}, err
		}
		u, err := tensor.Gather(us[0], int(axis), us[1])
		return single(u), err
	})
}

//export go_poly_one_hot
func go_poly_one_hot(ctx, x C.uintptr_t, n C.int64_t) C.uintptr_t {
	return unary("poly_one_hot", ctx, x, func(u *uop.UOp) (*uop.UOp, error) { return tensor.OneHot(u, int64(n)) })
}
