package tensor

import (
	"math/bits"

	"polygrad/core/uop"
)

// identityLike are identity matrices (…, n, n) with the leading axes and the type of x.
func identityLike(x *uop.UOp, n int64) *uop.UOp {
	s := x.Shape()
	return expand(eye(x.Graph(), n, n, x.DType), joinShapes(s[:len(s)-2], uop.ShapeOf(n, n)))
}

// householder is the reflection I - tau w wᵀ that makes 0 of what stands below row i in the column x, with w[i] = 1 and
// w[:i] = 0; tau is 0, and nothing is done, where there is nothing to make 0 (as LAPACK's dlarfg).
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

// qr reflects one column after the other; each step is computed into memory.
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

// jacobi makes the columns of u (…, n, n) orthogonal by rotating pairs of them, and does the same to v. In each round the
// columns are paired as in a round-robin tournament: the first one stays and the others move on by one place.
// (Demmel and Veselić: Jacobi's method is more accurate than QR, LAPACK working note 15.)
func jacobi(u, v *uop.UOp) (*uop.UOp, *uop.UOp) {
	n := intSize("a", u.Shape(), len(u.Shape())-1)
	if n < 2 {
		return u, v
	}
	half := n / 2
	cut := func(x *uop.UOp) (left, right, odd *uop.UOp) {
		parts := split(x, []int64{half, half, n - 2*half}, -1)
		return parts[0], parts[1], parts[2]
	}
	// The circle of places: left from first to last, then right backwards; so column i meets the one half places on.
	advance := func(left, right, odd *uop.UOp) *uop.UOp {
		circle := []*uop.UOp{left, flip(right, -1)}
		if n%2 == 1 {
			circle = append(circle, odd)
		}
		c := cat(circle, -1)
		fixed := int64(1) // with an odd number all move: one of them rests
		if n%2 == 1 {
			fixed = 0
		}
		ends := split(c, []int64{fixed, n - 1 - fixed, 1}, -1)
		c = cat([]*uop.UOp{ends[0], ends[2], ends[1]}, -1)
		parts := split(c, []int64{half, half, n - 2*half}, -1)
		return cat([]*uop.UOp{parts[0], flip(parts[1], -1), parts[2]}, -1).ContiguousOp()
	}
	for range jacobiRounds(n) {
		l, r, o := cut(u)
		product := sum(mul(l, r), []int{-2}, true)
		turn := ne(product, 0)
		tau := div(sub(sum(square(r), []int{-2}, true), sum(square(l), []int{-2}, true)), mul(2, where(turn, product, 1)))
		t := div(where(lt(tau, 0), likeConst(tau, -1), likeConst(tau, 1)), add(abs(tau), sqrt(add(1, square(tau)))))
		t = where(turn, t, 0)
		c := rsqrt(add(1, square(t))).ContiguousOp()
		s := mul(c, t).ContiguousOp()
		u = advance(sub(mul(c, l), mul(s, r)), add(mul(s, l), mul(c, r)), o)
		l, r, o = cut(v)
		v = advance(sub(mul(c, l), mul(s, r)), add(mul(s, l), mul(c, r)), o)
	}
	return u, v
}

// jacobiRounds is a number of rounds that suffices for n columns in any floating type: a sweep lets every pair meet once
// and takes n rounds; convergence is quadratic after a number of sweeps that grows with log2(n).
func jacobiRounds(n int64) int64 {
	return n * int64(3+bits.Len64(uint64(n)))
}

// svd makes the matrix square by QR, its columns orthogonal by rotations, and sorts them by their length.
func svd(a *uop.UOp, fullMatrices bool) (u, s, vt *uop.UOp) {
	shape := a.Shape()
	m, n := intSize("a", shape, len(shape)-2), intSize("a", shape, len(shape)-1)
	if m < n {
		u, s, vt = svd(transpose(a, -2, -1), fullMatrices)
		return transpose(vt, -2, -1), s, transpose(u, -2, -1)
	}
	q, r := qr(a)
	lead := shape[:len(shape)-2]
	u, v := jacobi(shrinkTo(r, joinShapes(lead, uop.ShapeOf(n, n))), identityLike(a, n))
	length := sqrtOrZero(sum(square(u), []int{-2}, false))
	sorted := ordered(length, -1, true)
	s = sorted.value
	pick := expand(unsqueeze(sorted.at, -2), joinShapes(lead, uop.ShapeOf(n, n)))
	u = div(gather(u, -1, pick), unsqueeze(where(ne(s, 0), s, 1), -2))
	vt = transpose(gather(v, -1, pick), -2, -1)
	u = dot(shrinkTo(q, joinShapes(lead, uop.ShapeOf(m, n))), u, nil)
	if fullMatrices && m > n {
		rest := shrinkAxis(q, len(shape)-1, uop.N(n), uop.N(m))
		u = cat([]*uop.UOp{u, rest}, -1)
	}
	return u, s, vt
}

// sqrtOrZero is sqrt with the gradient 0 at 0.
func sqrtOrZero(x *uop.UOp) *uop.UOp {
	some := gt(x, 0)
	return where(some, sqrt(where(some, x, 1)), x)
}

// maxIterations bounds iterations that a caller asks for: each is part of the graph.
const maxIterations = 1000

// newtonSchulz runs the odd polynomial sum of p_i (x xᵀ)^i x, which drives singular values towards 1, on a scaled to norm 1.
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

func needMatrices(arg string, a *uop.UOp) {
	need(arg, a)
	needFloat(arg, a)
	s := a.Shape()
	if len(s) < 2 {
		fail(arg, "has shape %s, need (…, m, n)", s)
	}
	if numel(arg, s).IsNum(0) {
		fail(arg, "has shape %s without elements", s)
	}
}

// QR is the orthogonal q (…, m, m) and the upper triangular r (…, m, n) with a = q r, by Householder's reflections with
// LAPACK's choice of signs.
func QR(a *uop.UOp) (q, r *uop.UOp, err error) {
	defer guard("QR", &err)
	needMatrices("a", a)
	q, r = qr(a)
	return q, r, nil
}

// SVD is the singular value decomposition a = u diag(s) vt of matrices (…, m, n), with k = min(m, n) singular values s, the
// greatest first, u of shape (…, m, k), or (…, m, m) if fullMatrices, and vt of shape (…, k, n), or (…, n, n). Columns of
// u that belong to singular values 0 are 0.
func SVD(a *uop.UOp, fullMatrices bool) (u, s, vt *uop.UOp, err error) {
	defer guard("SVD", &err)
	needMatrices("a", a)
	u, s, vt = svd(a, fullMatrices)
	return u, s, vt, nil
}

// NewtonSchulz brings the singular values of matrices near 1 by steps of the odd polynomial with coefficients params
// (https://docs.modula.systems/algorithms/newton-schulz/).
func NewtonSchulz(a *uop.UOp, steps int, params []float64, eps float64) (r *uop.UOp, err error) {
	defer guard("NewtonSchulz", &err)
	needMatrices("a", a)
	if steps < 0 || steps > maxIterations {
		fail("steps", "is %d, need 0..%d", steps, maxIterations)
	}
	if len(params) == 0 {
		fail("params", "are none, need one or more")
	}
	needFinite("params", params...)
	return newtonSchulz(a, steps, params, eps), nil
}
