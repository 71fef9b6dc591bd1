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

//export go_poly_softmax
func go_poly_softmax(ctx, x C.uintptr_t, shape *C.int64_t, ndim, axis C.int) C.uintptr_t {
	return compose("poly_softmax", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Softmax(us[0], int(axis))
	}, shaped("x", x, "shape", shape, ndim))
}

//export go_poly_log_softmax
func go_poly_log_softmax(ctx, x C.uintptr_t, shape *C.int64_t, ndim, axis C.int) C.uintptr_t {
	return compose("poly_log_softmax", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.LogSoftmax(us[0], int(axis))
	}, shaped("x", x, "shape", shape, ndim))
}

//export go_poly_tril
func go_poly_tril(ctx, x C.uintptr_t, shape *C.int64_t, ndim, diagonal C.int) C.uintptr_t {
	return compose("poly_tril", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Tril(us[0], int64(diagonal))
	}, shaped("x", x, "shape", shape, ndim))
}

//export go_poly_triu
func go_poly_triu(ctx, x C.uintptr_t, shape *C.int64_t, ndim, diagonal C.int) C.uintptr_t {
	return compose("poly_triu", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Triu(us[0], int64(diagonal))
	}, shaped("x", x, "shape", shape, ndim))
}

//export go_poly_causal_mask
func go_poly_causal_mask(ctx C.uintptr_t, T C.int64_t, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return resultShape{shapeOut, ndimOut}.build("poly_causal_mask", ctx, func(c *context) (*uop.UOp, error) {
		return original.CausalMask(c.g, int64(T))
	})
}

//export go_poly_layernorm
func go_poly_layernorm(ctx, x C.uintptr_t, shape *C.int64_t, ndim, axis C.int, eps C.double, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return compose("poly_layernorm", ctx, resultShape{shapeOut, ndimOut}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.LayerNorm(us[0], []int{int(axis)}, float64(eps))
	}, shaped("x", x, "shape", shape, ndim))
}

//export go_poly_layernorm_axes
func go_poly_layernorm_axes(ctx, x C.uintptr_t, axes *C.int64_t, n C.int, eps C.double, weight, bias C.uintptr_t) C.uintptr_t {
	return compose("poly_layernorm_axes", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		list := must(axesFrom("axes", axes, n))
		u := must(tensor.LayerNorm(us[0], list, float64(eps)))
		return tensor.ScaleShift(u, us[1], us[2])
	}, operandOf("x", x), optional("weight", weight), optional("bias", bias))
}

//export go_poly_rmsnorm
func go_poly_rmsnorm(ctx, x C.uintptr_t, eps C.double, weight C.uintptr_t) C.uintptr_t {
	return compose("poly_rmsnorm", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		u := must(tensor.RMSNorm(us[0], float64(eps)))
		return tensor.ScaleShift(u, us[1], nil)
	}, operandOf("x", x), optional("weight", weight))
}

//export go_poly_groupnorm
func go_poly_groupnorm(ctx, x C.uintptr_t, groups C.int64_t, eps C.double, weight, bias C.uintptr_t) C.uintptr_t {
	return compose("poly_groupnorm", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.GroupNorm(us[0], int64(groups), us[1], us[2], float64(eps))
	}, operandOf("x", x), optional("weight", weight), optional("bias", bias))
}

//export go_poly_gather
func go_poly_gather(ctx, table C.uintptr_t, tShape *C.int64_t, tNdim C.int, idx C.uintptr_t, iShape *C.int64_t, iNdim C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return compose("poly_gather", ctx, resultShape{shapeOut, ndimOut}, func(us []*uop.UOp) (*uop.UOp, error) {
		return original.Embedding(us[0], us[1])
	}, shaped("table", table, "t_shape", tShape, tNdim), shaped("idx", idx, "i_shape", iShape, iNdim))
}

//export go_poly_gather_axis
func go_poly_gather_axis(ctx, x C.uintptr_t, axis C.int, index C.uintptr_t) C.uintptr_t {
	return compose("poly_gather_axis", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Gather(us[0], int(axis), us[1])
	}, operandOf("x", x), operandOf("index", index))
}

//export go_poly_one_hot
func go_poly_one_hot(ctx, x C.uintptr_t, n C.int64_t) C.uintptr_t {
	return unary("poly_one_hot", ctx, x, func(u *uop.UOp) (*uop.UOp, error) { return tensor.OneHot(u, int64(n)) })
}

//export go_poly_batchnorm
func go_poly_batchnorm(ctx, x, weight, bias, mean, invstd C.uintptr_t, axes *C.int64_t, n C.int) C.uintptr_t {
	return compose("poly_batchnorm", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		list := must(axesFrom("axes", axes, max(n, 0)))
		if n == 0 {
			list = nil // the channels
		}
		return tensor.BatchNorm(us[0], us[1], us[2], us[3], us[4], list)
	}, operandOf("x", x), optional("weight", weight), optional("bias", bias), operandOf("mean", mean), operandOf("invstd", invstd))
}

//export go_poly_batchnorm_stats
func go_poly_batchnorm_stats(ctx, x C.uintptr_t, out *C.uintptr_t) C.int {
	return pairOf("poly_batchnorm_stats", ctx, x, out, tensor.BatchStats)
}
