package main

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// pairOf runs an operation of one tensor with two results.
func pairOf(fn string, ctx, x uintptr, out *uintptr, op func(u *uop.UOp) (a, b *uop.UOp, err error)) int32 {
	return composeAll(fn, ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) { return twoResults(op(us[0])) }, operandOf("x", x))
}

// alongAxis runs an operation of one tensor and an axis.
func alongAxis(fn string, ctx, x uintptr, axis int32, op func(*uop.UOp, int) (*uop.UOp, error)) uintptr {
	return unary(fn, ctx, x, func(u *uop.UOp) (*uop.UOp, error) { return op(u, int(axis)) })
}

func poly_sort(ctx, x uintptr, axis, descending int32, out *uintptr) int32 {
	return pairOf("poly_sort", ctx, x, out, func(u *uop.UOp) (a, b *uop.UOp, err error) {
		return tensor.Sort(u, int(axis), descending != 0)
	})
}

func poly_argsort(ctx, x uintptr, axis, descending int32) uintptr {
	return compose("poly_argsort", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		_, order, err := tensor.Sort(us[0], int(axis), descending != 0)
		return order, err
	}, operandOf("x", x))
}

func poly_topk(ctx, x uintptr, k int64, axis, largest int32, out *uintptr) int32 {
	return pairOf("poly_topk", ctx, x, out, func(u *uop.UOp) (a, b *uop.UOp, err error) {
		return tensor.TopK(u, k, int(axis), largest != 0)
	})
}

func poly_cumsum(ctx, x uintptr, axis int32) uintptr {
	return alongAxis("poly_cumsum", ctx, x, axis, tensor.CumSum)
}

func poly_cumprod(ctx, x uintptr, axis int32) uintptr {
	return alongAxis("poly_cumprod", ctx, x, axis, tensor.CumProd)
}

func poly_logcumsumexp(ctx, x uintptr, axis int32) uintptr {
	return alongAxis("poly_logcumsumexp", ctx, x, axis, tensor.LogCumSumExp)
}

func poly_cummax(ctx, x uintptr, axis int32, out *uintptr) int32 {
	return pairOf("poly_cummax", ctx, x, out, func(u *uop.UOp) (a, b *uop.UOp, err error) { return tensor.CumMax(u, int(axis)) })
}

func poly_cummin(ctx, x uintptr, axis int32, out *uintptr) int32 {
	return pairOf("poly_cummin", ctx, x, out, func(u *uop.UOp) (a, b *uop.UOp, err error) { return tensor.CumMin(u, int(axis)) })
}
