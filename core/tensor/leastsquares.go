package tensor

import (
	"math"

	"polygrad/core/uop"
)

// leastSquares are the x (s, n, k) of least norm that minimise |a x - b| for matrices a (s, m, n) and b (s, m, k), and the ranks (s) of a, by QR with
// column pivoting: the next column is that of greatest remaining norm, and rows of r whose diagonal element is at most cutoff times the first count
// as 0. With rᵀ = z t for the others, x = z t⁻ᵀ qᵀ b (Golub and Van Loan, Matrix computations, complete orthogonal decomposition).
func leastSquares(a, b *uop.UOp, cutoff float64) (x, rank *uop.UOp) {
	stack, m, n := sizes(a)
	k, columns := min(m, n), b.Shape()[2].N
	g := a.Graph()
	scale := leadingPower(maxOf(abs(a), []int{-2, -1}, true))
	t, order, pivots := reflectedColumns(sideBySide([]*uop.UOp{transpose(div(a, scale), -2, -1), transpose(b, -2, -1)}, 1), n)
	step := count0(g, k)
	r := block(block(t, 1, uop.N(0), n), 2, uop.N(0), k)
	inOrder := gather(r, 1, expand(pivots, uop.ShapeOf(stack, k, k)))
	size := abs(diagonalOf(inOrder)).ContiguousOp()
	keep := gt(size, mul(shrinkAxis(size, 1, uop.N(0), uop.N(1)), cutoff))
	y := transpose(block(block(t, 1, uop.N(n), columns), 2, uop.N(0), k), -2, -1)
	// complete gives z, tᵀ and the right side of the system with tᵀ, for the rows of r (s, n, k), their order (s, n, 1), whether they are kept (s,
	// k), and y, the first k rows of qᵀ b.
	complete := func(r, order, keep, y *uop.UOp) []*uop.UOp {
		kept := unsqueeze(keep, -2)
		z, t := qr(where(bitAnd(kept, ge(order, step)), r, 0).ContiguousOp(), k)
		t = transpose(shrinkTo(t, uop.ShapeOf(stack, k, k)), -2, -1)
		t = where(bitAnd(eq(unsqueeze(step, -1), step), logicalNot(kept)), 1, t)
		return []*uop.UOp{z, t, where(unsqueeze(keep, -1), y, 0)}
	}
	var parts []*uop.UOp
	if m < n {
		parts = complete(r, order, keep, y)
	} else { // if all rows of all matrices are kept, r reversed is the triangle, without a second QR
		places := eq(order, sub(int(n-1), step))
		lost := ne(reshape(maxOf(cast(logicalNot(keep), uop.Int32), []int{0, 1}, false), uop.ShapeOf(1)), 0)
		states := []*uop.UOp{lost, cast(places, a.DType), flip(transpose(inOrder, -2, -1), 1, 2), flip(y, 1)}
		parts = loop{variable: "rank", count: 1}.runWhile(1, states, []*uop.UOp{r, order, keep, y}, func(b *loopBody, _ uop.Sint, s, read []*uop.UOp) {
			some := ne(unsqueeze(maxOf(cast(logicalNot(read[2]), uop.Int32), []int{-1}, true), -1), 0)
			var writes []*uop.UOp
			for i, x := range complete(read[0], read[1], read[2], read[3]) {
				writes = append(writes, s[1+i].AssignTo(where(some, x, s[1+i])))
			}
			b.do(writes...)
		})[1:]
	}
	x = div(dot(parts[0], triangularSolve(parts[1], parts[2], false, false), nil), scale)
	return where(finiteMatrices(a), x, math.NaN()), sum(cast(keep, uop.Int32), []int{-1}, false)
}

// reflectedColumns makes columns, given as rows t (s, n + k, m), triangular by Householder reflectors. The pivot of each step is, of the first n
// columns, the one whose remaining elements have the greatest norm; all columns are reflected. order (s, n, 1) are the steps in which columns were
// the pivot, pivots (s, min(m, n), 1) the pivots of the steps. It works panel by panel: earlier pivots and elements that are final are left out of
// the next panel.
func reflectedColumns(t *uop.UOp, n int64) (reflected, order, pivots *uop.UOp) {
	stack, all, m := sizes(t)
	g, count := t.Graph(), min(m, n)
	width := max(ceil64(ceil64(count, 4), blockSize), 2) * blockSize
	each := func(columns int64) *uop.UOp {
		return expand(cast(unsqueeze(count0(g, columns), -1), uop.Int32), uop.ShapeOf(stack, columns, 1))
	}
	at := func(x, rows *uop.UOp) *uop.UOp { // the rows of x, 0 for -1
		_, k, _ := sizes(rows)
		found := gather(x, 1, expand(maximum(rows, 0), uop.ShapeOf(stack, k, x.Shape()[2].N)))
		return where(ge(rows, 0), found, 0)
	}
	var parts, chosen []*uop.UOp
	rest, names, places := t, each(all), each(all) // names of the columns that are left; places of all columns among these, or -1
	for done := int64(0); ; done += width {
		w := min(width, count-done)
		p, steps, own := pivotedPanelOfColumns(rest, n-done, w)
		chosen = append(chosen, at(names, own))
		known := at(steps, places)
		known = where(bitAnd(ge(places, 0), bitAnd(ge(known, 0), lt(known, int(w)))), add(known, int(done)), int(count))
		if order == nil {
			order = known
		} else {
			order = minimum(order, known)
		}
		if done+w == count {
			parts = append(parts, at(p, places))
			break
		}
		parts = append(parts, at(block(p, 2, uop.N(0), w), places))
		stays := bitOr(lt(steps, 0), eq(steps, int(w)))
		rank := where(stays, sub(scan(cast(stays, uop.Int32), 1, uop.Add), 1), -1).ContiguousOp()
		left := inverseRanks(rank, all-done-w)
		names, places = at(names, left).ContiguousOp(), where(ge(places, 0), at(rank, places), -1).ContiguousOp()
		rest = at(block(p, 2, uop.N(w), m-done-w), left).ContiguousOp()
	}
	return sideBySide(parts, 2), block(order, 1, uop.N(0), n), sideBySide(chosen, 1)
}

// inverseRanks are the places (s, n, 1) of 0, 1, … among ranks (s, k, 1).
func inverseRanks(ranks *uop.UOp, n int64) *uop.UOp {
	_, k, _ := sizes(ranks)
	g := ranks.Graph()
	return sum(where(eq(transpose(ranks, -2, -1), unsqueeze(count0(g, n), -1)), cast(count0(g, k), uop.Int32), 0), []int{-1}, true)
}

// pivotedPanelOfColumns is reflectedColumns for count steps; the order of columns that were no pivot is count, that of the columns behind the first n
// is -1.
func pivotedPanelOfColumns(t *uop.UOp, n, count int64) (reflected, order, pivots *uop.UOp) {
	stack, all, m := sizes(t)
	g := t.Graph()
	zeros := func(dt *uop.DType, rows, columns int64) *uop.UOp { return zeros(t, dt, stack, rows, columns) }
	columns, rows := unsqueeze(count0(g, all), -1), count0(g, m)
	never := int(count)
	steps := loop{variable: "column", count: count, lanes: stack >= manyLanes && max(all, m) <= 2*maxLanes}
	steps.halved = stack > lanesOfBlock && lanesOfBlock*all*m*int64(t.DType.Itemsize()) > blockBytes
	open := expand(where(lt(columns, int(n)), never, -1), uop.ShapeOf(stack, all, 1))
	norms := sum(square(t), []int{-1}, true).ContiguousOp()
	states := []*uop.UOp{t, cast(open, uop.Int32), zeros(uop.Int32, count, 1), norms, zeros(t.DType, 1, m), zeros(t.DType, 2, 1)}
	r := steps.run(states, nil, func(b *loopBody, j uop.Sint, s, _ []*uop.UOp) {
		t, order, pivots, norms, v, factors := s[0], s[1], s[2], s[3], s[4], s[5]
		here := sizeLike(t, j)
		chosen := block(pivots, 1, j, 1)
		b.do(chosen.AssignTo(argMaxNaN(where(eq(order, never), norms, -1.0), 1, true)))
		b.do(v.AssignTo(gather(t, 1, expand(chosen, v.Shape()))), order.AssignTo(where(eq(columns, chosen), here, order)))
		head, below := block(factors, 1, uop.N(0), 1), block(factors, 1, uop.N(1), 1)
		b.do(head.AssignTo(sum(where(eq(rows, here), v, 0), []int{-1}, true)), below.AssignTo(sum(where(gt(rows, here), square(v), 0), []int{-1}, true)))
		reflect, factor := reflector(v, head, below, rows, here)
		b.do(v.AssignTo(reflect), head.AssignTo(factor))
		// Elements in front of the pivot's are final; those in its line of the cache are reflected by 0, so that vectors are aligned. A row of a few
		// lines is reflected as a whole.
		left := func(x *uop.UOp, final operand) *uop.UOp {
			line := 64 / int64(t.DType.Itemsize())
			if m <= 4*line {
				return x
			}
			return where(ge(rows, sizeLike(t, j.Div(uop.N(line)).Mul(uop.N(line)))), x, final)
		}
		// A row is reflected, and its norm computed, while it is in the cache.
		next := sub(t, mul(mul(head, sum(left(mul(t, v), 0), []int{-1}, true)), v))
		b.do(norms.AssignTo(sum(where(gt(rows, here), square(next), 0), []int{-1}, true)), t.AssignTo(left(next, t)))
	})
	return r[0], r[1], r[2]
}

// leastSquaresOf is leastSquares of matrices with any leading axes, with its gradient.
func leastSquaresOf(a, b *uop.UOp, cutoff float64) (x, rank *uop.UOp) {
	as := a.Shape()
	p, y, lead := stacked(a, b)
	k := b.Shape()[len(b.Shape())-1]
	solution := joinShapes(lead, uop.Shape{as[len(as)-1], k})
	if y.Shape().MaxNumel() == 0 {
		return full(a.Graph(), solution, uop.Int(0), a.DType), full(a.Graph(), as[:len(as)-2], uop.Int(0), uop.Int32)
	}
	f := function("least_squares", []int64{int64(math.Float64bits(cutoff))}, 2, []*uop.UOp{p, y}, func(in []*uop.UOp) []*uop.UOp {
		x, rank := leastSquares(in[0], in[1], cutoff)
		return []*uop.UOp{x, rank}
	})
	x = customGradient(gradientOfLeastSquares, reshape(f[0], solution), []*uop.UOp{a, b}, []int64{int64(math.Float64bits(cutoff))})
	return x, reshape(f[1], lead)
}

// leastSquaresRule: x = a⁺ b gives db = y with y = a⁺ᵀ g and da = -y xᵀ + r (a⁺ y)ᵀ + a⁺ᵀ x (g - aᵀ y)ᵀ with r = b - a x, where the rank
// is constant (Golub and Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems, 1973).
func leastSquaresRule(g, u *uop.UOp, cutoff float64) []*uop.UOp {
	a, b := u.Src[1], u.Src[2]
	at := transpose(a, -2, -1)
	y, _ := leastSquaresOf(at, g, cutoff)
	z, _ := leastSquaresOf(a, y, cutoff)
	w, _ := leastSquaresOf(at, u, cutoff)
	outer := func(p, q *uop.UOp) *uop.UOp { return dot(p, transpose(q, -2, -1), nil) }
	rest := sub(b, dot(a, u, nil))
	ga := add(sub(outer(rest, z), outer(y, u)), outer(w, sub(g, dot(at, y, nil))))
	return []*uop.UOp{nil, sumTo(ga, a.Shape()), sumTo(y, b.Shape())}
}

// LeastSquares is the minimum-norm x (…, n) or (…, n, k) that minimizes |a x - b|, for matrices a (…, m, n) and b of shape
// (m), (…, m) with the leading axes of a, or (…, m, k); the residuals |a x - b|² of the columns of b; the rank of a, int32;
// and its singular values. Singular values up to cutoff times the greatest count as 0. A negative cutoff means machine
// epsilon times max(m, n), and the diagonal of QR with pivots instead of singular values.
func LeastSquares(a, b *uop.UOp, cutoff float64) (x, squares, rank, s *uop.UOp, err error) {
	defer guard("LeastSquares", &err)
	needSame("operands", a, b)
	a, b = matchTypes(needMatrices("a", a), asFloat(b))
	if !(cutoff < 1) {
		fail("rcond", "is %v, expected a number below 1", cutoff)
	}
	b, vector := asColumns(transpose(a, -2, -1), b)
	if a.DType.IsComplex() {
		if x, _, rank, s, err = LeastSquares(asBlocks(a), asRows(b), cutoff); err != nil {
			return nil, nil, nil, nil, err
		}
		x, rank, s = ofRows(x), truncDiv(rank, 2), every2nd(s)
		squares = sum(absSquare(sub(dot(a, x, nil), b)), []int{-2}, false)
		if vector {
			x, squares = squeeze(x, -1), squeeze(squares, -1)
		}
		return x, squares, rank, s, nil
	}
	u, s, vt, err := SVD(a, false)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	if cutoff < 0 {
		_, mantissa := a.DType.FloatInfo()
		s := a.Shape()
		x, rank = leastSquaresOf(a, b, math.Ldexp(float64(max(intSize("a", s, len(s)-2), intSize("a", s, len(s)-1))), -mantissa))
	} else {
		keep := gt(s, mul(index(s, Ellipsis(), Slice(ptr(0), ptr(1), 1)), cutoff))
		inverse := where(keep, reciprocal(where(keep, s, 1)), 0)
		x = dot(transpose(vt, -2, -1), mul(unsqueeze(inverse, -1), dot(transpose(u, -2, -1), b, nil)), nil)
		rank = sum(cast(keep, uop.Int32), []int{-1}, false)
	}
	squares = sum(square(sub(dot(a, x, nil), b)), []int{-2}, false)
	if vector {
		x, squares = squeeze(x, -1), squeeze(squares, -1)
	}
	return x, squares, rank, s, nil
}
