package tensor

import (
	"polygrad/core/uop"
)

// identityLike are identity matrices (…, n, n) with the leading axes and the type of x.
func identityLike(x *uop.UOp, n int64) *uop.UOp {
	s := x.Shape()
	return expand(eye(x.Graph(), n, n, x.DType), joinShapes(s[:len(s)-2], uop.ShapeOf(n, n)))
}

// householder is the reflection I - tau w wᵀ that zeroes the column x below row i, with w[i] = 1 and w[:i] = 0; tau is 0 where
// the column is zero already (as LAPACK's dlarfg).
func householder(x *uop.UOp, i int64) (w, tau *uop.UOp) {
	rows := count0(x.Graph(), intSize("a", x.Shape(), len(x.Shape())-1))
	head := index(x, Ellipsis(), Slice(&i, ptr(i+1), 1))
	rest := where(gt(rows, int(i)), x, 0)
	below := sum(square(rest), []int{-1}, true)
	some := ne(below, 0)
	norm := sqrt(where(some, add(square(head), below), 1))
	beta := where(lt(head, 0), norm, neg(norm))
	w = where(eq(rows, int(i)), 1, where(some, div(rest, where(some, sub(head, beta), 1)), 0))
	return w, where(some, div(sub(beta, head), beta), 0)
}

func ptr(v int64) *int64 { return &v }

// qr reflects one column after the other; each step is realized.
func qr(a *uop.UOp) (q, r *uop.UOp) {
	s := a.Shape()
	m, n := intSize("a", s, len(s)-2), intSize("a", s, len(s)-1)
	q, r = identityLike(a, m), a
	for i := range min(m-1, n) {
		w, tau := householder(column(r, i), i)
		w, tau = unsqueeze(w, -1).ContiguousOp(), unsqueeze(tau, -1).ContiguousOp()
		wt := transpose(w, -2, -1)
		r = sub(r, mul(mul(tau, w), dot(wt, r, nil))).ContiguousOp()
		q = sub(q, mul(dot(q, w, nil), mul(tau, wt))).ContiguousOp()
	}
	return q, triu(r, 0)
}

// maxIterations bounds the iterations of a caller: each is part of the graph.
const maxIterations = 1000

// newtonSchulz runs the odd polynomial sum of p_i (x xᵀ)^i x, which drives singular values towards 1, on x scaled to norm 1.
func newtonSchulz(a *uop.UOp, steps int, params []float64, eps float64) *uop.UOp {
	s := a.Shape()
	if intSize("a", s, len(s)-2) > intSize("a", s, len(s)-1) {
		return transpose(newtonSchulz(transpose(a, -2, -1), steps, params, eps), -2, -1)
	}
	g := div(a, add(sqrt(sum(square(a), []int{-2, -1}, true)), eps))
	for range steps {
		square := dot(g, transpose(g, -2, -1), nil)
		power, total := g, mul(params[0], g)
		for _, p := range params[1:] {
			power = dot(square, power, nil)
			total = add(total, mul(p, power))
		}
		g = total
	}
	return g
}

// needMatrices is a in a floating type; it must be non-empty matrices.
func needMatrices(arg string, a *uop.UOp) *uop.UOp {
	need(arg, a)
	a = asFloat(a)
	s := a.Shape()
	if len(s) < 2 {
		fail(arg, "has shape %s, need (…, m, n)", s)
	}
	if numel(arg, s).IsNum(0) {
		fail(arg, "has shape %s without elements", s)
	}
	return a
}

// QR is the orthogonal q (…, m, m) and the upper triangular r (…, m, n) with a = q r, by Householder's reflections with
// LAPACK's choice of signs.
func QR(a *uop.UOp) (q, r *uop.UOp, err error) {
	defer guard("QR", &err)
	a = needMatrices("a", a)
	q, r = qr(a)
	return q, r, nil
}

// NewtonSchulz brings the singular values of matrices near 1 by steps of the odd polynomial with coefficients params
// (https://docs.modula.systems/algorithms/newton-schulz/).
func NewtonSchulz(a *uop.UOp, steps int, params []float64, eps float64) (r *uop.UOp, err error) {
	defer guard("NewtonSchulz", &err)
	a = needMatrices("a", a)
	if steps < 0 || steps > maxIterations {
		fail("steps", "is %d, need 0..%d", steps, maxIterations)
	}
	if len(params) == 0 {
		fail("params", "are none, need one or more")
	}
	needFinite("params", params...)
	return newtonSchulz(a, steps, params, eps), nil
}
