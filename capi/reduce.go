package main

import (
	"polygrad/capi/original"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

type reduction func(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error)

func poly_reduce_axis(ctx uintptr, op int32, src uintptr, axes *int64, n int32) uintptr {
	return buildNode("poly_reduce_axis", ctx, func(c *context) (value, error) {
		v := must(c.arg("src", src))
		list := must(axesFrom("axes", axes, max(n, 0)))
		if list == nil {
			list = []int{}
		}
		r, err := original.ReduceAxis(int(op), v.Readings, list)
		return value{Readings: r}, err
	})
}

// reduceOne reduces one axis of a tensor with the shape given by the caller, and writes the shape of the result.
func reduceOne(fn string, ctx, x uintptr, shape *int64, ndim, axis, keep int32, scalar bool, shapeOut *int64, ndimOut *int32, f reduction) uintptr {
	return compose(fn, ctx, resultShape{shapeOut, ndimOut}, func(us []*uop.UOp) (*uop.UOp, error) {
		u, err := f(us[0], []int{int(axis)}, keep != 0)
		if scalar {
			return u, err
		}
		return original.AtLeastOneAxis(u, err)
	}, shaped("x", x, "shape", shape, ndim))
}

func poly_sum_reduce(ctx, x uintptr, shape *int64, ndim, axis, keep int32, shapeOut *int64, ndimOut *int32) uintptr {
	return reduceOne("poly_sum_reduce", ctx, x, shape, ndim, axis, keep, false, shapeOut, ndimOut, tensor.Sum)
}

func poly_max_reduce(ctx, x uintptr, shape *int64, ndim, axis, keep int32, shapeOut *int64, ndimOut *int32) uintptr {
	return reduceOne("poly_max_reduce", ctx, x, shape, ndim, axis, keep, false, shapeOut, ndimOut, tensor.Max)
}

func poly_mean_reduce(ctx, x uintptr, shape *int64, ndim, axis, keep int32, shapeOut *int64, ndimOut *int32) uintptr {
	return reduceOne("poly_mean_reduce", ctx, x, shape, ndim, axis, keep, false, shapeOut, ndimOut, tensor.Mean)
}

func poly_var_reduce(ctx, x uintptr, shape *int64, ndim, axis, keep, corr int32, shapeOut *int64, ndimOut *int32) uintptr {
	f := func(u *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error) {
		return original.Var(u, axes[0], keepdim, float64(corr))
	}
	return reduceOne("poly_var_reduce", ctx, x, shape, ndim, axis, keep, false, shapeOut, ndimOut, f)
}

func poly_logsumexp(ctx, x uintptr, shape *int64, ndim, axis, keep int32, shapeOut *int64, ndimOut *int32) uintptr {
	return reduceOne("poly_logsumexp", ctx, x, shape, ndim, axis, keep, true, shapeOut, ndimOut, tensor.LogSumExp)
}

func poly_reduce(ctx uintptr, op int32, x uintptr, axes *int64, n, keepdim, correction int32) uintptr {
	return unary("poly_reduce", ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		list, err := axesFrom("axes", axes, n)
		if err != nil {
			return nil, err
		}
		if n == 0 && axes == nil {
			return nil, badArg("n_axes", "0 and axes NULL, expected axes, or -1 for all")
		}
		if n == 0 {
			list = []int{}
		}
		return tensor.Reduce(tensor.ReduceOp(op), u, list, keepdim != 0, float64(correction))
	})
}

func poly_reduce_as(ctx uintptr, op int32, x uintptr, axes *int64, n, keepdim, dtype int32) uintptr {
	return compose("poly_reduce_as", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		list := must(axesFrom("axes", axes, n))
		dt := must(dtypeOf(dtype))
		return tensor.ReduceAs(tensor.ReduceOp(op), us[0], dt, list, keepdim != 0)
	}, operandOf("x", x))
}
