package main

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// unaryWith runs an operation of one tensor and a number.
func unaryWith(fn string, ctx, x uintptr, a float64, op func(*uop.UOp, float64) (*uop.UOp, error)) uintptr {
	return unary(fn, ctx, x, func(u *uop.UOp) (*uop.UOp, error) { return op(u, float64(a)) })
}

func poly_hardsigmoid_by(ctx, x uintptr, alpha, beta float64) uintptr {
	return unary("poly_hardsigmoid_by", ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		return tensor.HardSigmoidBy(u, float64(alpha), float64(beta))
	})
}

func poly_leaky_relu(ctx, x uintptr, slope float64) uintptr {
	return unaryWith("poly_leaky_relu", ctx, x, slope, tensor.LeakyRelu)
}

func poly_elu(ctx, x uintptr, alpha float64) uintptr {
	return unaryWith("poly_elu", ctx, x, alpha, tensor.Elu)
}

func poly_celu(ctx, x uintptr, alpha float64) uintptr {
	return unaryWith("poly_celu", ctx, x, alpha, tensor.Celu)
}

func poly_selu(ctx, x uintptr, alpha, gamma float64) uintptr {
	return unary("poly_selu", ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		return tensor.Selu(u, float64(alpha), float64(gamma))
	})
}

func poly_softplus(ctx, x uintptr, beta float64) uintptr {
	return unaryWith("poly_softplus", ctx, x, beta, tensor.Softplus)
}
