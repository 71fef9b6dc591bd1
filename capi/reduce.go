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

type reduction func(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error)

//export go_poly_reduce_axis
func go_poly_reduce_axis(ctx C.uintptr_t, op C.int, src C.uintptr_t, axes *C.int64_t, n C.int) C.uintptr_t {
	return buildNode("poly_reduce_axis", ctx, func(c *context) (value, error) {
		v := must(c.arg("src", uintptr(src)))
		list := must(axesFrom("axes", axes, max(n, 0)))
		if list == nil {
			list = []int{}
		}
		r, err := original.ReduceAxis(int(op), v.Readings, list)
		return value{Readings: r}, err
	})
}

// reduceOne reduces one axis of a tensor with the shape given by the caller, and writes the shape of the result.
func reduceOne(fn string, ctx, x C.uintptr_t, shape *C.int64_t, ndim, axis, keep C.int, scalar bool, shapeOut *C.int64_t, ndimOut *C.int, f reduction) C.uintptr_t {
	return compose(fn, ctx, resultShape{shapeOut, ndimOut}, func(us []*uop.UOp) (*uop.UOp, error) {
		u, err := f(us[0], []int{int(axis)}, keep != 0)
		if scalar {
			return u, err
		}
		return original.AtLeastOneAxis(u, err)
	}, shaped("x", x, "shape", shape, ndim))
}

//export go_poly_sum_reduce
func go_poly_sum_reduce(ctx, x C.uintptr_t, shape *C.int64_t, ndim, axis, keep C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return reduceOne("poly_sum_reduce", ctx, x, shape, ndim, axis, keep, false, shapeOut, ndimOut, tensor.Sum)
}

//export go_poly_max_reduce
func go_poly_max_reduce(ctx, x C.uintptr_t, shape *C.int64_t, ndim, axis, keep C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return reduceOne("poly_max_reduce", ctx, x, shape, ndim, axis, keep, false, shapeOut, ndimOut, tensor.Max)
}

//export go_poly_mean_reduce
func go_poly_mean_reduce(ctx, x C.uintptr_t, shape *C.int64_t, ndim, axis, keep C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return reduceOne("poly_mean_reduce", ctx, x, shape, ndim, axis, keep, false, shapeOut, ndimOut, tensor.Mean)
}

//export go_poly_var_reduce
func go_poly_var_reduce(ctx, x C.uintptr_t, shape *C.int64_t, ndim, axis, keep, corr C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	f := func(u *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error) {
		return original.Var(u, axes[0], keepdim, float64(corr))
	}
	return reduceOne("poly_var_reduce", ctx, x, shape, ndim, axis, keep, false, shapeOut, ndimOut, f)
}

//export go_poly_logsumexp
func go_poly_logsumexp(ctx, x C.uintptr_t, shape *C.int64_t, ndim, axis, keep C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return reduceOne("poly_logsumexp", ctx, x, shape, ndim, axis, keep, true, shapeOut, ndimOut, tensor.LogSumExp)
}

//export go_poly_reduce
func go_poly_reduce(ctx C.uintptr_t, op C.int, x C.uintptr_t, axes *C.int64_t, n, keepdim, correction C.int) C.uintptr_t {
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

//export go_poly_reduce_as
func go_poly_reduce_as(ctx C.uintptr_t, op C.int, x C.uintptr_t, axes *C.int64_t, n, keepdim, dtype C.int) C.uintptr_t {
	return compose("poly_reduce_as", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		list := must(axesFrom("axes", axes, n))
		dt := must(dtypeOf(dtype))
		return tensor.ReduceAs(tensor.ReduceOp(op), us[0], dt, list, keepdim != 0)
	}, operandOf("x", x))
}
