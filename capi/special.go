package main

/*
#include <stdint.h>
*/
import "C"

import "polygrad/core/tensor"

//export go_poly_expm1
func go_poly_expm1(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_expm1", ctx, x, tensor.Expm1) }

//export go_poly_log1p
func go_poly_log1p(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_log1p", ctx, x, tensor.Log1p) }

//export go_poly_asin
func go_poly_asin(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_asin", ctx, x, tensor.Asin) }

//export go_poly_acos
func go_poly_acos(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_acos", ctx, x, tensor.Acos) }

//export go_poly_atan
func go_poly_atan(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_atan", ctx, x, tensor.Atan) }

//export go_poly_sinh
func go_poly_sinh(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_sinh", ctx, x, tensor.Sinh) }

//export go_poly_cosh
func go_poly_cosh(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_cosh", ctx, x, tensor.Cosh) }

//export go_poly_asinh
func go_poly_asinh(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_asinh", ctx, x, tensor.Asinh) }

//export go_poly_acosh
func go_poly_acosh(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_acosh", ctx, x, tensor.Acosh) }

//export go_poly_atanh
func go_poly_atanh(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_atanh", ctx, x, tensor.Atanh) }

//export go_poly_erf
func go_poly_erf(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_erf", ctx, x, tensor.Erf) }

//export go_poly_erfc
func go_poly_erfc(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_erfc", ctx, x, tensor.Erfc) }

//export go_poly_erfinv
func go_poly_erfinv(ctx, x C.uintptr_t) C.uintptr_t {
	return unary("poly_erfinv", ctx, x, tensor.Erfinv)
}

//export go_poly_ndtri
func go_poly_ndtri(ctx, x C.uintptr_t) C.uintptr_t { return unary("poly_ndtri", ctx, x, tensor.Ndtri) }

//export go_poly_lgamma
func go_poly_lgamma(ctx, x C.uintptr_t) C.uintptr_t {
	return unary("poly_lgamma", ctx, x, tensor.Lgamma)
}

//export go_poly_digamma
func go_poly_digamma(ctx, x C.uintptr_t) C.uintptr_t {
	return unary("poly_digamma", ctx, x, tensor.Digamma)
}
