package tensor

import (
	"math"
	"slices"

	"polygrad/core/uop"
)

// identityLike are identity matrices (…, n, n) with the leading axes and the type of x.
func identityLike(x *uop.UOp, n int64) *uop.UOp {
	s := x.Shape()
	return expand(eye(x.Graph(), n, n, x.DType), joinShapes(s[:len(s)-2], uop.ShapeOf(n, n)))
}

func ptr(v int64) *int64 { return &v }

// reflections is the product of k Householder reflections in compact WY form, I - vᵀ w v, with the reflectors in the rows of v (s, k, m) and
// w (s, k, k) (Schreiber and Van Loan, A storage-efficient WY representation for products of Householder transformations, 1989).
type reflections struct{ v, w *uop.UOp }

// reflectedBlock applies Householder reflections to the columns of a matrix, given as the rows of t (s, k, m). Reflection j, I - tau vᵀ v with
// v[at+j] = 1 and v[:at+j] = 0, makes row j zero behind element at + j and is applied to the rows after it. tau is 0 where these elements are zero
// already (as in LAPACK's dlarfg), or where the sum of their squares is so small that it has no accurate root.
func reflectedBlock(t *uop.UOp, at uop.Sint) (reflected, v, tau *uop.UOp) {
	stack, k, m := sizes(t)
	g := t.Graph()
	zeros := func(rows, columns int64) *uop.UOp {
		return zeros(t, t.DType, stack, rows, columns)
	}
	columns, rows := unsqueeze(count0(g, k), -1), count0(g, m)
	start := cast(reshape(likeConst(count0(g, 1), 0), uop.ShapeOf(1, 1, 1)), uop.Int32)
	start = add(start, sizeLike(t, at))
	states := []*uop.UOp{t, zeros(k, m), zeros(k, 1), zeros(k, 1), zeros(k, 1)}
	_, digits := t.DType.FloatInfo()
	least := math.Ldexp(1, -4*digits)
	steps := loop{variable: "column", count: k, lanes: stack >= manyLanes && m <= maxLanes}
	r := steps.run(states, []*uop.UOp{expand(start, uop.ShapeOf(stack, 1, 1))}, func(b *loopBody, j uop.Sint, s, read []*uop.UOp) {
		t, v, tau, products, heads := s[0], s[1], s[2], s[3], s[4]
		here := add(read[0], sizeLike(t, j))
		x := block(t, 1, j, 1)
		b.do(products.AssignTo(sum(where(gt(rows, here), mul(x, t), 0), []int{-1}, true)), heads.AssignTo(sum(where(eq(rows, here), t, 0), []int{-1}, true)))
		head, below := block(heads, 1, j, 1), block(products, 1, j, 1)
		some := gt(below, least)
		norm := sqrt(add(square(head), below))
		beta := where(some, where(lt(head, 0), norm, neg(norm)), head)
		scale := where(some, reciprocal(where(some, sub(head, beta), 1)), 0)
		factor := where(some, div(sub(beta, head), where(some, beta, 1)), 0)
		b.do(block(v, 1, j, 1).AssignTo(where(gt(rows, here), mul(x, scale), where(eq(rows, here), 1, 0))), block(tau, 1, j, 1).AssignTo(factor),
			products.AssignTo(mul(factor, add(heads, mul(scale, products)))))
		own := bitAnd(eq(columns, sizeLike(t, j)), gt(rows, here))
		b.do(t.AssignTo(where(own, 0, where(ge(columns, sizeLike(t, j)), sub(t, mul(products, block(v, 1, j, 1))), t))))
	})
	return r[0], r[1], r[2]
}

// merged is w of the compact WY form of reflections v (s, k, m) with factors tau (s, k, 1).
func merged(v, tau *uop.UOp) *uop.UOp {
	products := dot(v, transpose(v, -2, -1), nil)
	// w = d (I + n d)⁻¹ for the diagonal matrix d of tau and the strict upper triangle n of the products.
	inv := lowerInverse(mul(tau, transpose(triu(products, 1), -2, -1)), true) // transposed
	return mul(tau, transpose(inv, -2, -1))
}

// reflected applies the reflections to the columns of a matrix, given as the rows of t (s, c, m).
func (r reflections) reflected(t *uop.UOp) *uop.UOp {
	return sub(t, dot(dot(dot(t, transpose(r.v, -2, -1), nil), r.w, nil), r.v, nil))
}

// reflectedPanel reflects the columns of t (s, k, m), given as rows.
func reflectedPanel(t *uop.UOp) (*uop.UOp, reflections) {
	stack, k, m := sizes(t)
	if k <= blockSize {
		t, v, tau := reflectedBlock(t, uop.N(0))
		return t, reflections{v, merged(v, tau)}
	}
	size := int64(blockSize)
	zeros := func(rows, columns int64) *uop.UOp { return zeros(t, t.DType, stack, rows, columns) }
	columns := unsqueeze(count0(t.Graph(), k), -1)
	states := []*uop.UOp{t, zeros(k, m), zeros(k, 1), zeros(size, m), zeros(size, m), zeros(size, 1), zeros(k, size)}
	r := loop{variable: "block", count: k / size}.run(states, nil, func(b *loopBody, i uop.Sint, s, _ []*uop.UOp) {
		first := i.Mul(uop.N(size))
		t := s[0]
		part, v, tau := reflectedBlock(block(t, 1, first, size), first)
		b.do(s[3].AssignTo(part), s[4].AssignTo(v), s[5].AssignTo(tau))
		b.do(block(t, 1, first, size).AssignTo(s[3]), block(s[1], 1, first, size).AssignTo(s[4]), block(s[2], 1, first, size).AssignTo(s[5]))
		after := ge(columns, sizeLike(t, first.Add(uop.N(size))))
		b.do(s[6].AssignTo(where(after, dot(dot(t, transpose(s[4], -2, -1), nil), merged(s[4], s[5]), nil), 0)))
		b.do(t.AssignTo(sub(t, dot(s[6], s[4], nil))))
	})
	return r[0], reflections{r[1], merged(r[1], r[2])}
}

// qr gives the first count columns of q, and r (s, m, n), of matrices a (s, m, n). Each panel of columns makes its rows of r final.
func qr(a *uop.UOp, count int64) (q, r *uop.UOp) {
	stack, m, n := sizes(a)
	k := min(m, n)
	scale := leadingPower(maxOf(abs(a), []int{-2, -1}, true))
	rest := transpose(div(a, scale), -2, -1)
	width := panelSize(k)
	if k <= fewBlocks*blockSize {
		width = min(k, blockFor(a, k))
	}
	var rows []*uop.UOp
	var all []reflections
	for at := int64(0); at < k; at += width {
		w := min(width, k-at)
		columns := w
		if w > blockSize {
			columns = ceil64(w, blockSize) * blockSize
		}
		t, by := reflectedPanel(padTo(block(rest, 1, uop.N(0), w), uop.ShapeOf(stack, columns, m-at)))
		all = append(all, by)
		done := []*uop.UOp{block(block(t, 1, uop.N(0), w), 2, uop.N(0), w)}
		if n > at+w {
			rest = by.reflected(block(rest, 1, uop.N(w), n-at-w)).ContiguousOp()
			done = append(done, block(rest, 2, uop.N(0), w))
			rest = block(rest, 2, uop.N(w), m-at-w)
		}
		rows = append(rows, padAxis(transpose(sideBySide(done, 1), -2, -1), 2, at, 0, 0))
	}
	r = mul(triu(padTo(sideBySide(rows, 1), uop.ShapeOf(stack, m, n)), 0), scale)
	for i, by := range slices.Backward(all) {
		at := int64(i) * width
		if q == nil {
			q = expand(eye(a.Graph(), m-at, count-at, a.DType), uop.ShapeOf(stack, m-at, count-at))
		} else {
			q = below(q, width)
		}
		v := transpose(by.v, -2, -1)
		q = sub(q, dot(v, dot(by.w, dot(by.v, q, nil), nil), nil)).ContiguousOp()
	}
	return q, r
}

// below is the block diagonal matrix of an identity of size w and x (s, m, n).
func below(x *uop.UOp, w int64) *uop.UOp {
	_, m, n := sizes(x)
	rows, columns := unsqueeze(count0(x.Graph(), m+w), -1), count0(x.Graph(), n+w)
	x = padAxis(padAxis(x, 1, w, 0, 0), 2, w, 0, 0)
	return where(bitAnd(eq(rows, columns), lt(columns, int(w))), 1, x).ContiguousOp()
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
		fail(arg, "has shape %s, expected (…, m, n)", s)
	}
	if numel(arg, s).IsNum(0) {
		fail(arg, "has shape %s, expected one element or more", s)
	}
	return a
}

// QR is the orthogonal q (…, m, m) and the upper triangular r (…, m, n) with a = q r, by Householder's reflections with
// LAPACK's choice of signs.
func QR(a *uop.UOp) (q, r *uop.UOp, err error) {
	defer guard("QR", &err)
	a = needMatrices("a", a)
	if a.DType.IsComplex() {
		q, r = qrOfComplex(a)
		return q, r, nil
	}
	f := function("qr", nil, 2, []*uop.UOp{flattened(a)}, func(in []*uop.UOp) []*uop.UOp {
		q, r := qr(in[0], in[0].Shape()[1].N)
		return []*uop.UOp{q, r}
	})
	q = customGradient(gradientOfQR, likeStack(f[0], a), []*uop.UOp{a}, []int64{0})
	return q, customGradient(gradientOfQR, likeStack(f[1], a), []*uop.UOp{a}, []int64{1}), nil
}

// NewtonSchulz brings the singular values of matrices near 1 by steps of the odd polynomial with coefficients params
// (https://docs.modula.systems/algorithms/newton-schulz/).
func NewtonSchulz(a *uop.UOp, steps int, params []float64, eps float64) (r *uop.UOp, err error) {
	defer guard("NewtonSchulz", &err)
	a = needMatrices("a", a)
	if steps < 0 || steps > maxIterations {
		fail("steps", "is %d, expected 0..%d", steps, maxIterations)
	}
	if len(params) == 0 {
		fail("params", "are none, expected one or more")
	}
	needFinite("params", params...)
	return newtonSchulz(a, steps, params, eps), nil
}
