package main

/*
#include <stdint.h>
*/
import "C"

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

//export go_poly_solve
func go_poly_solve(ctx, a, b C.uintptr_t) C.uintptr_t {
	return compose("poly_solve", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Solve(us[0], us[1])
	}, operandOf("a", a), operandOf("b", b))
}

//export go_poly_inv
func go_poly_inv(ctx, a C.uintptr_t) C.uintptr_t {
	return compose("poly_inv", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) { return tensor.Inv(us[0]) }, operandOf("a", a))
}

//export go_poly_det
func go_poly_det(ctx, a C.uintptr_t) C.uintptr_t {
	return compose("poly_det", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) { return tensor.Det(us[0]) }, operandOf("a", a))
}

//export go_poly_slogdet
func go_poly_slogdet(ctx, a C.uintptr_t, out *C.uintptr_t) C.int {
	return composeAll("poly_slogdet", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		return twoResults(tensor.SlogDet(us[0]))
	}, operandOf("a", a))
}

//export go_poly_qr
func go_poly_qr(ctx, a C.uintptr_t, out *C.uintptr_t) C.int {
	return composeAll("poly_qr", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) { return twoResults(tensor.QR(us[0])) }, operandOf("a", a))
}

//export go_poly_svd
func go_poly_svd(ctx, a C.uintptr_t, fullMatrices C.int, out *C.uintptr_t) C.int {
	return composeAll("poly_svd", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		u, s, vt, err := tensor.SVD(us[0], fullMatrices != 0)
		return []*uop.UOp{u, s, vt}, err
	}, operandOf("a", a))
}

//export go_poly_eigh
func go_poly_eigh(ctx, a C.uintptr_t, upper C.int, out *C.uintptr_t) C.int {
	return composeAll("poly_eigh", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		return twoResults(tensor.Eigh(us[0], upper != 0))
	}, operandOf("a", a))
}

//export go_poly_lstsq
func go_poly_lstsq(ctx, a, b C.uintptr_t, rcond C.double, out *C.uintptr_t) C.int {
	return composeAll("poly_lstsq", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		x, squares, rank, s, err := tensor.LeastSquares(us[0], us[1], float64(rcond))
		return []*uop.UOp{x, squares, rank, s}, err
	}, operandOf("a", a), operandOf("b", b))
}

//export go_poly_newton_schulz
func go_poly_newton_schulz(ctx, a C.uintptr_t, steps C.int, params *C.double, n C.int, eps C.double) C.uintptr_t {
	return compose("poly_newton_schulz", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		list := must(reals("params", params, n))
		return tensor.NewtonSchulz(us[0], int(steps), list, float64(eps))
	}, operandOf("a", a))
}
