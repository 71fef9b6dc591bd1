package main

/*
#include <stdint.h>
*/
import "C"

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// unaryWith runs an operation of one tensor and a number.
func unaryWith(fn string, ctx, x C.uintptr_t, a C.double, op func(*uop.UOp, float64) (*uop.UOp, error)) C.uintptr_t {
	return unary(fn, ctx, x, func(u *uop.UOp) (*uop.UOp, error) { return op(u, float64(a)) })
}

//export go_poly_hardsigmoid_by
func go_poly_hardsigmoid_by(ctx, x C.uintptr_t, alpha, beta C.double) C.uintptr_t {
	return unary("poly_hardsigmoid_by", ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		return tensor.HardSigmoidBy(u, float64(alpha), float64(beta))
	})
}

//export go_poly_leaky_relu
func go_poly_leaky_relu(ctx, x C.uintptr_t, slope C.double) C.uintptr_t {
	return unaryWith("poly_leaky_relu", ctx, x, slope, tensor.LeakyRelu)
}

//export go_poly_elu
func go_poly_elu(ctx, x C.uintptr_t, alpha C.double) C.uintptr_t {
	return unaryWith("poly_elu", ctx, x, alpha, tensor.Elu)
}

//export go_poly_celu
func go_poly_celu(ctx, x C.uintptr_t, alpha C.double) C.uintptr_t {
	return unaryWith("poly_celu", ctx, x, alpha, tensor.Celu)
}

//export go_poly_selu
func go_poly_selu(ctx, x C.uintptr_t, alpha, gamma C.double) C.uintptr_t {
	return unary("poly_selu", ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		return tensor.Selu(u, float64(alpha), float64(gamma))
	})
}

//export go_poly_softplus
func go_poly_softplus(ctx, x C.uintptr_t, beta C.double) C.uintptr_t {
	return unaryWith("poly_softplus", ctx, x, beta, tensor.Softplus)
}
