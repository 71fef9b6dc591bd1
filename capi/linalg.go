package main

/*
#include <stdint.h>
*/
import "C"

import (
	"strings"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

//export go_poly_dot
func go_poly_dot(ctx, x C.uintptr_t, xShape *C.int64_t, xNdim C.int, w C.uintptr_t, wShape *C.int64_t, wNdim C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return shapeless(build("poly_dot", ctx, func(c *context) (value, error) {
		a, err := c.arg("x", uintptr(x))
		if err != nil {
			return value{}, err
		}
		b, err := c.arg("w", uintptr(w))
		if err != nil {
			return value{}, err
		}
		l, err := a.given("x_shape", xShape, xNdim)
		if err != nil {
			return value{}, err
		}
		r, err := b.given("w_shape", wShape, wNdim)
		if err != nil {
			return value{}, err
		}
		u, err := tensor.MatMul(l, r)
		if err != nil {
			return value{}, err
		}
		if len(u.Shape()) == 0 {
			u = u.Reshape(uop.ShapeOf(1))
		}
		tellShape(u, shapeOut, ndimOut)
		return single(u), nil
	}), ndimOut)
}

//export go_poly_matmul
func go_poly_matmul(ctx, a, b C.uintptr_t) C.uintptr_t {
	return binary("poly_matmul", ctx, a, b, tensor.MatMul)
}

//export go_poly_linear
func go_poly_linear(ctx, x C.uintptr_t, xShape *C.int64_t, xNdim C.int, w C.uintptr_t, wShape *C.int64_t, wNdim C.int, bias C.uintptr_t, bShape *C.int64_t, bNdim C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return shapeless(build("poly_linear", ctx, func(c *context) (value, error) {
		a, err := c.arg("x", uintptr(x))
		if err != nil {
			return value{}, err
		}
		b, err := c.arg("w", uintptr(w))
		if err != nil {
			return value{}, err
		}
		l, err := a.given("x_shape", xShape, xNdim)
		if err != nil {
			return value{}, err
		}
		r, err := b.given("w_shape", wShape, wNdim)
		if err != nil {
			return value{}, err
		}
		add, err := c.optional("bias", uintptr(bias))
		if err == nil && add.u != nil {
			add.u, err = add.given("b_shape", bShape, bNdim)
		}
		if err != nil {
			return value{}, err
		}
		u, err := tensor.Linear(l, r, add.u)
		if err == nil {
			tellShape(u, shapeOut, ndimOut)
		}
		return single(u), err
	}), ndimOut)
}

//export go_poly_affine
func go_poly_affine(ctx, x, w, bias C.uintptr_t) C.uintptr_t {
	return build("poly_affine", ctx, func(c *context) (value, error) {
		us, err := c.operands([]string{"x", "w", "bias"}, 2, x, w, bias)
		if err != nil {
			return value{}, err
		}
		u, err := tensor.Linear(us[0], us[1], us[2])
		return single(u), err
	})
}

//export go_poly_attention
func go_poly_attention(ctx, q, k, v, mask C.uintptr_t, causal C.int) C.uintptr_t {
	return build("poly_attention", ctx, func(c *context) (value, error) {
		us, err := c.operands([]string{"q", "k", "v", "mask"}, 3, q, k, v, mask)
		if err != nil {
			return value{}, err
		}
		u, err := tensor.ScaledDotProductAttention(us[0], us[1], us[2], tensor.AttentionOptions{Mask: us[3], Causal: causal != 0})
		return single(u), err
	})
}

//export go_poly_einsum
func go_poly_einsum(ctx C.uintptr_t, formula *C.char, ops *C.uintptr_t, shapes **C.int64_t, ndims *C.int, n C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return shapeless(build("poly_einsum", ctx, func(c *context) (value, error) {
		if formula == nil {
			return value{}, wrong("formula", "is NULL")
		}
		if n < 1 || n > 8 {
			return value{}, wrong("n", "%d operands, expected 1 to 8", n)
		}
		vs, err := c.args("ops", ops, n)
		if err != nil {
			return value{}, err
		}
		us := make([]*uop.UOp, len(vs))
		for i, v := range vs {
			us[i] = v.u
			if shapes == nil || ndims == nil {
				continue
			}
			us[i], err = v.given(indexed("shapes", i), unsafe.Slice(shapes, n)[i], unsafe.Slice(ndims, n)[i])
			if err != nil {
				return value{}, err
			}
		}
		u, err := tensor.Einsum(goString(formula), us...)
		if err == nil {
			tellShape(u, shapeOut, ndimOut)
		}
		return single(u), err
	}), ndimOut)
}

//export go_poly_rearrange
func go_poly_rearrange(ctx C.uintptr_t, formula *C.char, x C.uintptr_t, shape *C.int64_t, ndim C.int, names *C.char, lengths *C.int64_t, n C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return shapeless(build("poly_rearrange", ctx, func(c *context) (value, error) {
		if formula == nil {
			return value{}, wrong("formula", "is NULL")
		}
		v, err := c.arg("x", uintptr(x))
		if err != nil {
			return value{}, err
		}
		u, err := v.given("shape", shape, ndim)
		if err != nil {
			return value{}, err
		}
		list := strings.Fields(goString(names))
		if len(list) != int(n) {
			return value{}, wrong("names", "%d names for %d sizes", len(list), n)
		}
		known, err := ints("sizes", lengths, n)
		if err != nil {
			return value{}, err
		}
		sizes := make(map[string]int64, len(list))
		for i, name := range list {
			sizes[name] = known[i]
		}
		if u, err = tensor.Rearrange(u, goString(formula), sizes); err == nil {
			tellShape(u, shapeOut, ndimOut)
		}
		return single(u), err
	}), ndimOut)
}

//export go_poly_cholesky
func go_poly_cholesky(ctx, x C.uintptr_t, shape *C.int64_t, ndim, upper C.int) C.uintptr_t {
	return shapedUnary("poly_cholesky", ctx, x, shape, ndim, func(u *uop.UOp) (*uop.UOp, error) {
		return tensor.Cholesky(u, upper != 0)
	})
}

//export go_poly_triangular_solve
func go_poly_triangular_solve(ctx, a C.uintptr_t, aShape *C.int64_t, aNdim C.int, b C.uintptr_t, bShape *C.int64_t, bNdim, upper, transposed, unit C.int, shapeOut *C.int64_t, ndimOut *C.int) C.uintptr_t {
	return shapeless(build("poly_triangular_solve", ctx, func(c *context) (value, error) {
		l, err := c.arg("a", uintptr(a))
		if err != nil {
			return value{}, err
		}
		r, err := c.arg("b", uintptr(b))
		if err != nil {
			return value{}, err
		}
		m, err := l.given("a_shape", aShape, aNdim)
		if err != nil {
			return value{}, err
		}
		y, err := r.given("b_shape", bShape, bNdim)
		if err != nil {
			return value{}, err
		}
		u, err := tensor.TriangularSolve(m, y, upper != 0, transposed != 0, unit != 0)
		if err == nil {
			tellShape(u, shapeOut, ndimOut)
		}
		return single(u), err
	}), ndimOut)
}
