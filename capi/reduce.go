package main

/*
#include <stdint.h>
*/
import "C"

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

type reduction func(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error)

//export go_poly_reduce_axis
func go_poly_reduce_axis(ctx C.uintptr_t, op C.int, src C.uintptr_t, axes *C.int64_t, n C.int) C.uintptr_t {
	return build("poly_reduce_axis", ctx, func(c *context) (value, error) {
		v, err := c.arg("src", uintptr(src))
		if err != nil {
			return value{}, err
		}
		var f reduction
		switch op {
		case C.int(uop.Add):
			f = tensor.Sum
		case C.int(uop.Mul):
			f = tensor.Prod
		case C.int(uop.Max):
			f = tensor.Max
		default:
			return value{}, wrong("op", "%d, expected ADD, MUL or MAX", op)
		}
		list, err := axesFrom("axes", axes, max(n, 0))
		if err != nil {
			return value{}, err
		}
		if list == nil {
			list = []int{}
		}
		// Both readings: the axes stay with size 1, or they are gone.
		keep, keepErr := f(v.u, list, true)
		drop, dropErr := f(v.dropped(), list, false)
		switch {
		case keepErr != nil && dropErr != nil:
			return value{}, keepErr
		case keepErr != nil:
			return single(drop), nil
		case dropErr != nil || keep == drop:
			return single(keep), nil
		}
		return value{readings: readings{keep, drop}}, nil
	})
}

// reduceOne reduces one axis of a tensor whose shape the caller gives, and tells the shape of the result.
func reduceOne(fn string, ctx, x C.uintptr_t, shape *C.int64_t, ndim, axis, keep C.int, scalar bool, shapeOut *C.int64_t, ndimOut *C.int, f reduction) C.uintptr_t {
	return compose(fn, ctx, told{shapeOut, ndimOut}, func(us []*uop.UOp) (*uop.UOp, error) {
		u, err := f(us[0], []int{int(axis)}, keep != 0)
		if err == nil && len(u.Shape()) == 0 && !scalar {
			u = u.Reshape(uop.ShapeOf(1))
		}
		return u, err
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
		correction := float64(corr)
		if s, a := u.Shape(), axes[0]; a >= -len(s) && a < len(s) {
			if a < 0 {
				a += len(s)
			}
			// A divisor that is not positive counts as 1.
			if n := float64(s[a].Max()); n-correction <= 0 {
				correction = n - 1
			}
		}
		return tensor.FullVar(u, axes, keepdim, correction)
	}
	return reduceOne("poly_var_reduce", ctx, x, shape, ndim, axis, keep, false, shapeOut, ndimOut, f)
}

//export go_poly_logsumexp
func go_poly_logsumexp(ctx, x C.uintptr_t, shape *C.int64_t, ndim, axis, keep C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return reduceOne("poly_logsumexp", ctx, x, shape, ndim, axis, keep, true, shapeOut, ndimOut, tensor.FullLogSumExp)
}

// reductions lists the operations by their PolyReduceOp, without VAR and STD.
var reductions = []reduction{
	tensor.Sum, tensor.FullProd, tensor.Max, tensor.Min, tensor.Mean, tensor.Any, tensor.All, tensor.FullLogSumExp,
	argReduction(tensor.ArgMaxNaN), argReduction(tensor.ArgMinNaN),
}

const (
	reduceSum  = 0
	reduceProd = 1
	reduceVar  = 10
	reduceStd  = 11
)

// argReduction finds a position along one axis, or in the flattened tensor.
func argReduction(one func(*uop.UOp, int, bool) (*uop.UOp, error)) reduction {
	return func(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error) {
		switch {
		case len(axes) == 1:
			return one(x, axes[0], keepdim)
		case axes != nil:
			return nil, wrong("axes", "%d axes, expected one or all", len(axes))
		}
		flat, err := tensor.Flatten(x, 0, -1)
		if err != nil {
			return nil, err
		}
		r, err := one(flat, 0, false)
		if err != nil || !keepdim {
			return r, err
		}
		ones := make([]int64, len(x.Shape()))
		for i := range ones {
			ones[i] = 1
		}
		return tensor.Reshape(r, uop.ShapeOf(ones...))
	}
}

//export go_poly_reduce
func go_poly_reduce(ctx C.uintptr_t, op C.int, x C.uintptr_t, axes *C.int64_t, n, keepdim, correction C.int) C.uintptr_t {
	return unary("poly_reduce", ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		list, err := axesFrom("axes", axes, n)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			list = []int{}
		}
		switch {
		case op == reduceVar:
			return tensor.FullVar(u, list, keepdim != 0, float64(correction))
		case op == reduceStd:
			return tensor.FullStd(u, list, keepdim != 0, float64(correction))
		case op < 0 || int(op) >= len(reductions):
			return nil, wrong("op", "%d is not a reduction, expected 0 to %d", op, reduceStd)
		}
		return reductions[op](u, list, keepdim != 0)
	})
}

//export go_poly_reduce_as
func go_poly_reduce_as(ctx C.uintptr_t, op C.int, x C.uintptr_t, axes *C.int64_t, n, keepdim, dtype C.int) C.uintptr_t {
	return compose("poly_reduce_as", ctx, told{}, func(us []*uop.UOp) (*uop.UOp, error) {
		list, err := axesFrom("axes", axes, n)
		if err != nil {
			return nil, err
		}
		dt, err := dtypeOf(dtype)
		if err != nil {
			return nil, err
		}
		switch op {
		case reduceSum:
			return tensor.SumAs(us[0], dt, list, keepdim != 0)
		case reduceProd:
			return tensor.ProdAs(us[0], dt, list, keepdim != 0)
		}
		return nil, wrong("op", "%d, expected POLY_REDUCE_SUM or POLY_REDUCE_PROD", op)
	}, operandOf("x", x))
}
