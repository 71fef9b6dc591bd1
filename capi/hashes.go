package main

/*
#include <stdint.h>
*/
import "C"

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

//export go_poly_keccak
func go_poly_keccak(ctx, x C.uintptr_t, rate, suffix C.int) C.uintptr_t {
	return unary("poly_keccak", ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		if suffix < 1 || suffix > 127 {
			return nil, badArg("suffix", "%d, expected 1 to 127", suffix)
		}
		return tensor.Keccak(u, int64(rate), byte(suffix))
	})
}
