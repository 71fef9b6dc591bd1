package tensor

import (
	"polygrad/core/uop"
)

// dot is the matrix product over the last axis of x and the last but one of w, leading axes broadcast: x as (…,1,K) times w
// as (…,N,K), summed over K. acc nil means the default accumulator.
func dot(x, w *uop.UOp, acc *uop.DType) *uop.UOp {
	xs, ws := x.Shape(), w.Shape()
	nx, nw := len(xs), len(ws)
	if nx == 0 || nw == 0 {
		fail("operands", "shapes %s and %s, expected at least 1 dimension each", xs, ws)
	}
	if x.DType.IsComplex() || w.DType.IsComplex() {
		return dotComplex(x, w)
	}
	k := -min(nw, 2)
	if xs[nx-1] != ws[nw+k] {
		fail("operands", "shapes %s and %s do not multiply: %s columns, %s rows", xs, ws, xs[nx-1], ws[nw+k])
	}
	extra := onesShape(min(nx-1, nw-1, 1))
	x = reshape(x, joinShapes(xs[:nx-1], extra, xs[nx-1:]))
	w = reshape(w, joinShapes(ws[:max(nw-2, 0)], extra, ws[nw+k:]))
	w = transpose(w, -1, k)
	out := uop.LeastUpper(x.DType, w.DType)
	p := mul(x, w)
	if acc != nil {
		return sumAs(p, acc, []int{-1}, false)
	}
	return cast(sum(p, []int{-1}, false), out)
}

// linear is x @ w + bias; a one-dimensional w multiplies element by element.
func linear(x, w, bias *uop.UOp) *uop.UOp {
	var r *uop.UOp
	if len(w.Shape()) == 1 {
		r = mul(x, w)
	} else {
		r = dot(x, w, nil)
	}
	if bias != nil {
		r = add(r, bias)
	}
	return r
}

// MatMul is the matrix product (…,M,K) @ (…,K,N) = (…,M,N); leading axes broadcast, vectors count as one row or column.
func MatMul(x, w *uop.UOp) (r *uop.UOp, err error) {
	defer guard("MatMul", &err)
	needSame("operands", x, w)
	return dot(x, w, nil), nil
}

// MatMulAs is MatMul with the accumulator and result in a given type.
func MatMulAs(x, w *uop.UOp, acc *uop.DType) (r *uop.UOp, err error) {
	defer guard("MatMulAs", &err)
	needSame("operands", x, w)
	needType("dtype", acc)
	if !x.DType.IsFloat() && !w.DType.IsFloat() { // products of small integers would wrap around before they are added
		x, w = cast(x, acc), cast(w, acc)
	}
	return dot(x, w, acc), nil
}

// Linear is x @ weightᵀ + bias for a weight of shape (out, in); bias may be nil.
func Linear(x, weight, bias *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Linear", &err)
	needSame("operands", x, weight)
	if bias != nil {
		needSame("bias", x, bias)
	}
	ws, xs := weight.Shape(), x.Shape()
	if len(ws) != 2 || len(xs) == 0 || xs[len(xs)-1] != ws[1] {
		fail("weight", "has shape %s, expected (out, in) with in the last size of x %s", ws, xs)
	}
	if bias != nil {
		if bs := bias.Shape(); len(bs) > 1 || len(bs) == 1 && bs[0] != ws[0] && !bs[0].IsNum(1) {
			fail("bias", "has shape %s, expected (%s)", bs, ws[0])
		}
	}
	return linear(x, transpose(weight, 1, 0), bias), nil
}

// Dense is x @ weight + bias for a weight of shape (in, out), or x * weight + bias for a vector; bias may be nil. A weight of
// shape (out, in) is transposed where the shapes are unambiguous.
func Dense(x, weight, bias *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Dense", &err)
	needSame("operands", x, weight)
	ws, xs := weight.Shape(), x.Shape()
	if len(xs) == 0 || len(ws) == 0 || len(ws) > 2 {
		fail("weight", "has shape %s, expected (in, out) or one axis, and x a size in, it has shape %s", ws, xs)
	}
	in := xs[len(xs)-1]
	switch {
	case len(ws) == 1:
		r = mul(x, weight)
	case ws[0] == in:
		r = dot(x, weight, nil)
	case ws[1] == in:
		r = dot(x, transpose(weight, 1, 0), nil)
	default:
		fail("weight", "has shape %s, expected (in, out) with in the last size of x %s", ws, xs)
	}
	if bias != nil {
		needSame("bias", x, bias)
		r = add(r, bias)
	}
	return r, nil
}
