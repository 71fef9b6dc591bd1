package main

/*
#include <stdint.h>
*/
import "C"

import (
	"strings"
	"unsafe"

	"polygrad/capi/original"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

//export go_poly_dot
func go_poly_dot(ctx, x C.uintptr_t, xShape *C.int64_t, xNdim C.int, w C.uintptr_t, wShape *C.int64_t, wNdim C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return compose("poly_dot", ctx, resultShape{shapeOut, ndimOut}, func(us []*uop.UOp) (*uop.UOp, error) {
		return original.AtLeastOneAxis(tensor.MatMul(us[0], us[1]))
	}, shaped("x", x, "x_shape", xShape, xNdim), shaped("w", w, "w_shape", wShape, wNdim))
}

//export go_poly_linear
func go_poly_linear(ctx, x C.uintptr_t, xShape *C.int64_t, xNdim C.int, w C.uintptr_t, wShape *C.int64_t, wNdim C.int, bias C.uintptr_t, bShape *C.int64_t, bNdim C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	add := shaped("bias", bias, "b_shape", bShape, bNdim)
	add.optional = true
	return compose("poly_linear", ctx, resultShape{shapeOut, ndimOut}, linear,
		shaped("x", x, "x_shape", xShape, xNdim), shaped("w", w, "w_shape", wShape, wNdim), add)
}

func linear(us []*uop.UOp) (*uop.UOp, error) { return tensor.Linear(us[0], us[1], us[2]) }

//export go_poly_affine
func go_poly_affine(ctx, x, w, bias C.uintptr_t) C.uintptr_t {
	return compose("poly_affine", ctx, resultShape{}, linear, operandOf("x", x), operandOf("w", w), optional("bias", bias))
}

//export go_poly_dense
func go_poly_dense(ctx, x, w, bias C.uintptr_t) C.uintptr_t {
	return compose("poly_dense", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Dense(us[0], us[1], us[2])
	}, operandOf("x", x), operandOf("w", w), optional("bias", bias))
}

//export go_poly_einsum
func go_poly_einsum(ctx C.uintptr_t, formula *C.char, ops *C.uintptr_t, shapes **C.int64_t, ndims *C.int, n C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return resultShape{shapeOut, ndimOut}.build("poly_einsum", ctx, func(c *context) (*uop.UOp, error) {
		if formula == nil {
			return nil, badArg("formula", "is NULL")
		}
		if n < 1 || n > 8 {
			return nil, badArg("n", "%d operands, expected 1 to 8", n)
		}
		vs := must(c.args("ops", ops, n))
		us := make([]*uop.UOp, len(vs))
		for i, v := range vs {
			us[i] = v.Keep
			if shapes == nil || ndims == nil {
				continue
			}
			us[i] = must(v.withStatedShape(indexed("shapes", i), unsafe.Slice(shapes, n)[i], unsafe.Slice(ndims, n)[i]))
		}
		return tensor.Einsum(goString(formula), us...)
	})
}

//export go_poly_rearrange
func go_poly_rearrange(ctx C.uintptr_t, formula *C.char, x C.uintptr_t, shape *C.int64_t, ndim C.int, names *C.char, lengths *C.int64_t, n C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return compose("poly_rearrange", ctx, resultShape{shapeOut, ndimOut}, func(us []*uop.UOp) (*uop.UOp, error) {
		if formula == nil {
			return nil, badArg("formula", "is NULL")
		}
		list := strings.Fields(goString(names))
		if len(list) != int(n) {
			return nil, badArg("names", "%d names for %d sizes", len(list), n)
		}
		known := must(ints("sizes", lengths, n))
		sizes := make(map[string]int64, len(list))
		for i, name := range list {
			sizes[name] = known[i]
		}
		return tensor.Rearrange(us[0], goString(formula), sizes)
	}, shaped("x", x, "shape", shape, ndim))
}

//export go_poly_cholesky
func go_poly_cholesky(ctx, x C.uintptr_t, shape *C.int64_t, ndim, upper C.int) C.uintptr_t {
	return compose("poly_cholesky", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Cholesky(us[0], upper != 0)
	}, shaped("x", x, "shape", shape, ndim))
}

//export go_poly_triangular_solve
func go_poly_triangular_solve(ctx, a C.uintptr_t, aShape *C.int64_t, aNdim C.int, b C.uintptr_t, bShape *C.int64_t, bNdim, upper, transposed, unit C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return compose("poly_triangular_solve", ctx, resultShape{shapeOut, ndimOut}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.TriangularSolve(us[0], us[1], upper != 0, transposed != 0, unit != 0)
	}, shaped("a", a, "a_shape", aShape, aNdim), shaped("b", b, "b_shape", bShape, bNdim))
}

//export go_poly_attention
func go_poly_attention(ctx, q, k, v, mask C.uintptr_t, causal, grouped C.int, scale, dropout C.double, seed C.uintptr_t) C.uintptr_t {
	return compose("poly_attention", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.ScaledDotProductAttention(us[0], us[1], us[2], tensor.AttentionOptions{
			Mask: us[3], Causal: causal != 0, Grouped: grouped != 0, Scale: float64(scale), Dropout: float64(dropout), Seed: us[4],
		})
	}, operandOf("q", q), operandOf("k", k), operandOf("v", v), optional("mask", mask), optional("seed", seed))
}

//export go_poly_matmul_as
func go_poly_matmul_as(ctx, a, b C.uintptr_t, dtype C.int) C.uintptr_t {
	return compose("poly_matmul_as", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		dt := must(dtypeOf(dtype))
		return tensor.MatMulAs(us[0], us[1], dt)
	}, operandOf("a", a), operandOf("b", b))
}
