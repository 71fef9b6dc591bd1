package main

import (
	"strings"
	"unsafe"

	"polygrad/capi/original"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

func poly_dot(ctx, x uintptr, xShape *int64, xNdim int32, w uintptr, wShape *int64, wNdim int32, shapeOut *int64, ndimOut *int32) uintptr {
	return compose("poly_dot", ctx, resultShape{shapeOut, ndimOut}, func(us []*uop.UOp) (*uop.UOp, error) {
		return original.AtLeastOneAxis(tensor.MatMul(us[0], us[1]))
	}, shaped("x", x, "x_shape", xShape, xNdim), shaped("w", w, "w_shape", wShape, wNdim))
}

func poly_linear(ctx, x uintptr, xShape *int64, xNdim int32, w uintptr, wShape *int64, wNdim int32, bias uintptr, bShape *int64, bNdim int32, shapeOut *int64, ndimOut *int32) uintptr {
	add := shaped("bias", bias, "b_shape", bShape, bNdim)
	add.optional = true
	return compose("poly_linear", ctx, resultShape{shapeOut, ndimOut}, linear,
		shaped("x", x, "x_shape", xShape, xNdim), shaped("w", w, "w_shape", wShape, wNdim), add)
}

func linear(us []*uop.UOp) (*uop.UOp, error) { return tensor.Linear(us[0], us[1], us[2]) }

func poly_affine(ctx, x, w, bias uintptr) uintptr {
	return compose("poly_affine", ctx, resultShape{}, linear, operandOf("x", x), operandOf("w", w), optional("bias", bias))
}

func poly_dense(ctx, x, w, bias uintptr) uintptr {
	return compose("poly_dense", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Dense(us[0], us[1], us[2])
	}, operandOf("x", x), operandOf("w", w), optional("bias", bias))
}

func poly_einsum(ctx uintptr, formula *byte, ops *uintptr, shapes **int64, ndims *int32, n int32, shapeOut *int64, ndimOut *int32) uintptr {
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

func poly_rearrange(ctx uintptr, formula *byte, x uintptr, shape *int64, ndim int32, names *byte, lengths *int64, n int32, shapeOut *int64, ndimOut *int32) uintptr {
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

func poly_cholesky(ctx, x uintptr, shape *int64, ndim, upper int32) uintptr {
	return compose("poly_cholesky", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Cholesky(us[0], upper != 0)
	}, shaped("x", x, "shape", shape, ndim))
}

func poly_triangular_solve(ctx, a uintptr, aShape *int64, aNdim int32, b uintptr, bShape *int64, bNdim, upper, transposed, unit int32, shapeOut *int64, ndimOut *int32) uintptr {
	return compose("poly_triangular_solve", ctx, resultShape{shapeOut, ndimOut}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.TriangularSolve(us[0], us[1], upper != 0, transposed != 0, unit != 0)
	}, shaped("a", a, "a_shape", aShape, aNdim), shaped("b", b, "b_shape", bShape, bNdim))
}

func poly_attention(ctx, q, k, v, mask uintptr, causal, grouped int32, scale, dropout float64, seed uintptr) uintptr {
	return compose("poly_attention", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.ScaledDotProductAttention(us[0], us[1], us[2], tensor.AttentionOptions{
			Mask: us[3], Causal: causal != 0, Grouped: grouped != 0, Scale: float64(scale), Dropout: float64(dropout), Seed: us[4],
		})
	}, operandOf("q", q), operandOf("k", k), operandOf("v", v), optional("mask", mask), optional("seed", seed))
}

func poly_matmul_as(ctx, a, b uintptr, dtype int32) uintptr {
	return compose("poly_matmul_as", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		dt := must(dtypeOf(dtype))
		return tensor.MatMulAs(us[0], us[1], dt)
	}, operandOf("a", a), operandOf("b", b))
}
