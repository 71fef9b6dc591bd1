package main

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

func poly_keccak(ctx, x uintptr, rate, suffix int32) uintptr {
	return unary("poly_keccak", ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		if suffix < 1 || suffix > 127 {
			return nil, badArg("suffix", "%d, expected 1 to 127", suffix)
		}
		return tensor.Keccak(u, int64(rate), byte(suffix))
	})
}
