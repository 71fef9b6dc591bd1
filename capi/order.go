package main

/*
#include <stdint.h>
*/
import "C"

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// pairOf runs an operation of one tensor with two results.
func pairOf(fn string, ctx, x C.uintptr_t, out *C.uintptr_t, op func(u *uop.UOp) (a, b *uop.UOp, err error)) C.int {
	return composeAll(fn, ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) { return twoResults(op(us[0])) }, operandOf("x", x))
}

// alongAxis runs an operation of one tensor and an axis.
func alongAxis(fn string, ctx, x C.uintptr_t, axis C.int, op func(*uop.UOp, int) (*uop.UOp, error)) C.uintptr_t {
	return unary(fn, ctx, x, func(u *uop.UOp) (*uop.UOp, error) { return op(u, int(axis)) })
}

//export go_poly_sort
func go_poly_sort(ctx, x C.uintptr_t, axis, descending C.int, out *C.uintptr_t) C.int {
	return pairOf("poly_sort", ctx, x, out, func(u *uop.UOp) (a, b *uop.UOp, err error) {
		return tensor.Sort(u, int(axis), descending != 0)
	})
}

//export go_poly_argsort
func go_poly_argsort(ctx, x C.uintptr_t, axis, descending C.int) C.uintptr_t {
	return compose("poly_argsort", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		_, order, err := tensor.Sort(us[0], int(axis), descending != 0)
		return order, err
	}, operandOf("x", x))
}

//export go_poly_topk
func go_poly_topk(ctx, x C.uintptr_t, k C.int64_t, axis, largest C.int, out *C.uintptr_t) C.int {
	return pairOf("poly_topk", ctx, x, out, func(u *uop.UOp) (a, b *uop.UOp, err error) {
		return tensor.TopK(u, int64(k), int(axis), largest != 0)
	})
}

//export go_poly_cumsum
func go_poly_cumsum(ctx, x C.uintptr_t, axis C.int) C.uintptr_t {
	return alongAxis("poly_cumsum", ctx, x, axis, tensor.CumSum)
}

//export go_poly_cumprod
func go_poly_cumprod(ctx, x C.uintptr_t, axis C.int) C.uintptr_t {
	return alongAxis("poly_cumprod", ctx, x, axis, tensor.CumProd)
}

//export go_poly_logcumsumexp
func go_poly_logcumsumexp(ctx, x C.uintptr_t, axis C.int) C.uintptr_t {
	return alongAxis("poly_logcumsumexp", ctx, x, axis, tensor.LogCumSumExp)
}

//export go_poly_cummax
func go_poly_cummax(ctx, x C.uintptr_t, axis C.int, out *C.uintptr_t) C.int {
	return pairOf("poly_cummax", ctx, x, out, func(u *uop.UOp) (a, b *uop.UOp, err error) { return tensor.CumMax(u, int(axis)) })
}

//export go_poly_cummin
func go_poly_cummin(ctx, x C.uintptr_t, axis C.int, out *C.uintptr_t) C.int {
	return pairOf("poly_cummin", ctx, x, out, func(u *uop.UOp) (a, b *uop.UOp, err error) { return tensor.CumMin(u, int(axis)) })
}
