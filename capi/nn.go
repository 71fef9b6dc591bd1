package main

import (
	"polygrad/capi/original"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

func poly_softmax(ctx, x uintptr, shape *int64, ndim, axis int32) uintptr {
	return compose("poly_softmax", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Softmax(us[0], int(axis))
	}, shaped("x", x, "shape", shape, ndim))
}

func poly_log_softmax(ctx, x uintptr, shape *int64, ndim, axis int32) uintptr {
	return compose("poly_log_softmax", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.LogSoftmax(us[0], int(axis))
	}, shaped("x", x, "shape", shape, ndim))
}

func poly_tril(ctx, x uintptr, shape *int64, ndim, diagonal int32) uintptr {
	return compose("poly_tril", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Tril(us[0], int64(diagonal))
	}, shaped("x", x, "shape", shape, ndim))
}

func poly_triu(ctx, x uintptr, shape *int64, ndim, diagonal int32) uintptr {
	return compose("poly_triu", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Triu(us[0], int64(diagonal))
	}, shaped("x", x, "shape", shape, ndim))
}

func poly_causal_mask(ctx uintptr, T int64, shapeOut *int64, ndimOut *int32) uintptr {
	return resultShape{shapeOut, ndimOut}.build("poly_causal_mask", ctx, func(c *context) (*uop.UOp, error) {
		return original.CausalMask(c.g, T)
	})
}

func poly_layernorm(ctx, x uintptr, shape *int64, ndim, axis int32, eps float64, shapeOut *int64, ndimOut *int32) uintptr {
	return compose("poly_layernorm", ctx, resultShape{shapeOut, ndimOut}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.LayerNorm(us[0], []int{int(axis)}, float64(eps))
	}, shaped("x", x, "shape", shape, ndim))
}

func poly_layernorm_axes(ctx, x uintptr, axes *int64, n int32, eps float64, weight, bias uintptr) uintptr {
	return compose("poly_layernorm_axes", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		list := must(axesFrom("axes", axes, n))
		u := must(tensor.LayerNorm(us[0], list, float64(eps)))
		return tensor.ScaleShift(u, us[1], us[2])
	}, operandOf("x", x), optional("weight", weight), optional("bias", bias))
}

func poly_rmsnorm(ctx, x uintptr, eps float64, weight uintptr) uintptr {
	return compose("poly_rmsnorm", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		u := must(tensor.RMSNorm(us[0], float64(eps)))
		return tensor.ScaleShift(u, us[1], nil)
	}, operandOf("x", x), optional("weight", weight))
}

func poly_groupnorm(ctx, x uintptr, groups int64, eps float64, weight, bias uintptr) uintptr {
	return compose("poly_groupnorm", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.GroupNorm(us[0], groups, us[1], us[2], float64(eps))
	}, operandOf("x", x), optional("weight", weight), optional("bias", bias))
}

func poly_gather(ctx, table uintptr, tShape *int64, tNdim int32, idx uintptr, iShape *int64, iNdim int32, shapeOut *int64, ndimOut *int32) uintptr {
	return compose("poly_gather", ctx, resultShape{shapeOut, ndimOut}, func(us []*uop.UOp) (*uop.UOp, error) {
		return original.Embedding(us[0], us[1])
	}, shaped("table", table, "t_shape", tShape, tNdim), shaped("idx", idx, "i_shape", iShape, iNdim))
}

func poly_gather_axis(ctx, x uintptr, axis int32, index uintptr) uintptr {
	return compose("poly_gather_axis", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Gather(us[0], int(axis), us[1])
	}, operandOf("x", x), operandOf("index", index))
}

func poly_one_hot(ctx, x uintptr, n int64) uintptr {
	return unary("poly_one_hot", ctx, x, func(u *uop.UOp) (*uop.UOp, error) { return tensor.OneHot(u, n) })
}

func poly_batchnorm(ctx, x, weight, bias, mean, invstd uintptr, axes *int64, n int32) uintptr {
	return compose("poly_batchnorm", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		list := must(axesFrom("axes", axes, max(n, 0)))
		if n == 0 {
			list = nil // the channels
		}
		return tensor.BatchNorm(us[0], us[1], us[2], us[3], us[4], list)
	}, operandOf("x", x), optional("weight", weight), optional("bias", bias), operandOf("mean", mean), operandOf("invstd", invstd))
}

func poly_batchnorm_stats(ctx, x uintptr, out *uintptr) int32 {
	return pairOf("poly_batchnorm_stats", ctx, x, out, tensor.BatchStats)
}
