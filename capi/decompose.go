package main

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

func poly_solve(ctx, a, b uintptr) uintptr {
	return compose("poly_solve", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Solve(us[0], us[1])
	}, operandOf("a", a), operandOf("b", b))
}

func poly_inv(ctx, a uintptr) uintptr {
	return compose("poly_inv", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) { return tensor.Inv(us[0]) }, operandOf("a", a))
}

func poly_det(ctx, a uintptr) uintptr {
	return compose("poly_det", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) { return tensor.Det(us[0]) }, operandOf("a", a))
}

func poly_slogdet(ctx, a uintptr, out *uintptr) int32 {
	return composeAll("poly_slogdet", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		return twoResults(tensor.SlogDet(us[0]))
	}, operandOf("a", a))
}

func poly_qr(ctx, a uintptr, out *uintptr) int32 {
	return composeAll("poly_qr", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) { return twoResults(tensor.QR(us[0])) }, operandOf("a", a))
}

func poly_svd(ctx, a uintptr, fullMatrices int32, out *uintptr) int32 {
	return composeAll("poly_svd", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		u, s, vt, err := tensor.SVD(us[0], fullMatrices != 0)
		return []*uop.UOp{u, s, vt}, err
	}, operandOf("a", a))
}

func poly_eigh(ctx, a uintptr, upper int32, out *uintptr) int32 {
	return composeAll("poly_eigh", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		return twoResults(tensor.Eigh(us[0], upper != 0))
	}, operandOf("a", a))
}

func poly_lstsq(ctx, a, b uintptr, rcond float64, out *uintptr) int32 {
	return composeAll("poly_lstsq", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		x, squares, rank, s, err := tensor.LeastSquares(us[0], us[1], float64(rcond))
		return []*uop.UOp{x, squares, rank, s}, err
	}, operandOf("a", a), operandOf("b", b))
}

func poly_newton_schulz(ctx, a uintptr, steps int32, params *float64, n int32, eps float64) uintptr {
	return compose("poly_newton_schulz", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		list := must(reals("params", params, n))
		return tensor.NewtonSchulz(us[0], int(steps), list, float64(eps))
	}, operandOf("a", a))
}
