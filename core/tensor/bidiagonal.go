package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Singular values of larger matrices. Householder reflections of columns and rows make a matrix bidiagonal; the bidiagonal matrix is
// decomposed by divide and conquer (Gu and Eisenstat, A divide-and-conquer algorithm for the bidiagonal SVD, 1995), as tridiagonal
// matrices are in tridiagonal.go.

// bidiagonal is a stack of s upper bidiagonal matrices, and the reflections that made them.
type bidiagonal struct {
	diagonal, beside *uop.UOp // (s, n): the diagonal, and the superdiagonal with 0 as its last element
	columns, rows    []panel  // the reflections of columns and of rows
}

// reflector is the Householder reflector I - tau v vᵀ that annihilates the elements of x after a position. v is 1 at the position and 0 before it.
// head is the element of x at the position, below the sum of the squares of the elements after it.
func reflector(x, head, below, position *uop.UOp, at operand) (v, tau *uop.UOp) {
	_, digits := x.DType.FloatInfo()
	some := gt(below, math.Ldexp(1, -4*digits)) // a smaller sum counts as 0
	norm := sqrt(add(square(head), below))
	beta := where(lt(head, 0), norm, neg(norm))
	scale := where(some, reciprocal(where(some, sub(head, beta), 1)), 0)
	v = where(gt(position, at), mul(x, scale), where(eq(position, at), 1, 0))
	return v, where(some, div(sub(beta, head), where(some, beta, 1)), 0)
}

// bidiagonalised makes square matrices a (s, n, n), n > 1, bidiagonal: columns become 0 below the diagonal, rows 0 right of the superdiagonal. The
// greatest element of a must be near 1. Later steps skip the rows and columns that are finished.
func bidiagonalised(a *uop.UOp) bidiagonal {
	stack, n, _ := sizes(a)
	count, m := n-1, ceil64(n, bandStep)*bandStep
	a = padTo(a, uop.ShapeOf(stack, m, m))
	zeros := func(rows, columns int64) *uop.UOp { return zeros(a, a.DType, stack, rows, columns) }
	across := count0(a.Graph(), m)
	down := unsqueeze(across, -1)
	states := []*uop.UOp{a, zeros(count, m), zeros(count, 1), zeros(count, m), zeros(count, 1),
		zeros(1, 1), zeros(1, 1), zeros(m, 1), zeros(1, 1), zeros(1, m), zeros(1, m), zeros(1, m), zeros(m, 1)}
	r := loop{variable: "column", count: count}.run(states, nil, func(b *loopBody, j uop.Sint, s, _ []*uop.UOp) {
		a, left, taus, right, pis := s[0], s[1], s[2], s[3], s[4]
		head, below, v, tau, y, row, u, x := s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12]
		here, next, from := sizeLike(a, j), sizeLike(a, j.Add(uop.N(1))), undone(a, j)
		rows, columns := ge(down, from), ge(across, from)
		column := block(a, 2, j, 1)
		b.do(head.AssignTo(block(column, 1, j, 1)), below.AssignTo(sum(where(gt(down, here), square(column), 0), []int{-2}, true)))
		reflect, factor := reflector(column, head, below, down, here)
		b.do(v.AssignTo(reflect), tau.AssignTo(factor))
		b.do(block(left, 1, j, 1).AssignTo(transpose(v, -2, -1)), block(taus, 1, j, 1).AssignTo(tau))
		b.do(y.AssignTo(where(columns, mul(tau, sum(where(rows, mul(a, v), 0), []int{-2}, true)), y)))
		b.do(row.AssignTo(sub(block(a, 1, j, 1), y)))
		b.do(head.AssignTo(sum(where(eq(across, next), row, 0), []int{-1}, true)), below.AssignTo(sum(where(gt(across, next), square(row), 0), []int{-1}, true)))
		reflect, factor = reflector(row, head, below, across, next)
		b.do(u.AssignTo(reflect), tau.AssignTo(factor))
		b.do(block(right, 1, j, 1).AssignTo(u), block(pis, 1, j, 1).AssignTo(tau))
		b.do(x.AssignTo(where(rows, mul(tau, sum(where(columns, mul(sub(a, mul(v, y)), u), 0), []int{-1}, true)), x)))
		b.do(a.AssignTo(where(bitAnd(rows, columns), sub(sub(a, mul(v, y)), mul(x, u)), a)))
	})
	t := bidiagonal{columns: panelsOf(r[1], r[2], n), rows: panelsOf(r[3], r[4], n)}
	t.diagonal, t.beside = bandOf(r[0], n)
	return t
}

// conqueredBidiagonal is the singular value decomposition u diag(values) vᵀ of upper bidiagonal matrices with diagonals d (s, n) and
// superdiagonals e; values (s, n) descend. The matrix is divided into blocks with one column more than rows. The row between two blocks
// has one element in the last column of the first block and one in the first column of the second. A block with h columns has values
// (s, h - 1), u (s, h - 1, h - 1) and v (s, h, h); the last column of v is its null vector.
func conqueredBidiagonal(d, e *uop.UOp) (u, values, v *uop.UOp) {
	stack, n, _ := sizes(unsqueeze(d, -1))
	count, size := leaves(n + 1)
	m := count * size
	diagonal, beside := d, e
	scale := leadingPower(maxOf(maximum(abs(d), abs(e)), []int{-1}, true)).ContiguousOp()
	d, e = lengthened(div(d, scale), m), padTo(div(e, scale), uop.ShapeOf(stack, m))
	_, digits := d.DType.FloatInfo()
	least := math.Ldexp(1, -4*digits)
	rows := uop.ShapeOf(stack*count, size)
	inside := lt(count0(d.Graph(), size), int(size-1))
	// The last column of the transposed leaves is 0, and so is the last of their singular values.
	v, values, u = rotated(banded(where(inside, reshape(d, rows), 0), where(inside, reshape(e, rows), 0)))
	values = shrinkAxis(values, 1, uop.N(0), uop.N(size-1)).ContiguousOp()
	u = transpose(shrinkTo(u, uop.ShapeOf(stack*count, size-1, size-1)), -2, -1).ContiguousOp()
	v = v.ContiguousOp()
	for half := size; half < m; half *= 2 {
		count := stack * m / (2 * half)
		between := func(x *uop.UOp) *uop.UOp { // the element of the row between two matrices
			return reshape(shrinkAxis(reshape(x, uop.ShapeOf(count, 2*half)), 1, uop.N(half-1), uop.N(half)), uop.ShapeOf(count, 1, 1))
		}
		part := func(x *uop.UOp, k, row, rows, column, columns int64) *uop.UOp {
			return block(block(index(x, Whole(), At(k)), 1, uop.N(row), rows), 2, uop.N(column), columns)
		}
		pairs := reshape(v, uop.ShapeOf(count, 2, half, half))
		above := mul(between(d), part(pairs, 0, half-1, 1, 0, half))
		under := mul(between(e), part(pairs, 1, 0, 1, 0, half))
		ends := []*uop.UOp{shrinkAxis(above, 2, uop.N(half-1), uop.N(half)), shrinkAxis(under, 2, uop.N(half-1), uop.N(half))}
		squares := add(square(ends[0]), square(ends[1]))
		some := gt(squares, least)
		length := where(some, sqrt(squares), 0).ContiguousOp()
		c, t := where(some, div(ends[0], where(some, length, 1)), 1).ContiguousOp(), where(some, div(ends[1], where(some, length, 1)), 0).ContiguousOp()
		first := func(x *uop.UOp) *uop.UOp { return shrinkAxis(x, 2, uop.N(0), uop.N(half-1)) }
		z := squeeze(cat([]*uop.UOp{length, first(above), first(under)}, 2), 1).ContiguousOp()
		poles := padAxis(reshape(values, uop.ShapeOf(count, 2*half-2)), 1, 1, 0, 0).ContiguousOp()
		root := updated(poles, z, ofSquares)
		distance := root.distance.ContiguousOp()
		x := div(root.z, distance).ContiguousOp()
		x = div(x, maxOf(abs(x), []int{-2}, true)).ContiguousOp() // otherwise their squares may overflow
		x = div(x, sqrt(sum(square(x), []int{-2}, true))).ContiguousOp()
		y := div(mul(root.z, unsqueeze(root.poles, -1)), distance)
		y = where(eq(unsqueeze(count0(d.Graph(), 2*half-1), -1), 0), -1, y).ContiguousOp()
		y = div(y, sqrt(sum(square(y), []int{-2}, true))).ContiguousOp()
		left, right := part(pairs, 0, 0, half, half-1, 1), part(pairs, 1, 0, half, half-1, 1)
		w := stack2(cat([]*uop.UOp{mul(c, left), part(pairs, 0, 0, half, 0, half-1)}, 2), cat([]*uop.UOp{mul(t, right), part(pairs, 1, 0, half, 0, half-1)}, 2))
		x = stack2(block(x, 1, uop.N(0), half), cat([]*uop.UOp{block(x, 1, uop.N(0), 1), block(x, 1, uop.N(half), half-1)}, 1))
		v = reshape(dot(w.ContiguousOp(), x.ContiguousOp(), nil), uop.ShapeOf(count, 2*half, 2*half-1))
		v = cat([]*uop.UOp{v, cat([]*uop.UOp{neg(mul(t, left)), mul(c, right)}, 1)}, 2).ContiguousOp()
		inner := reshape(shrinkAxis(y, 1, uop.N(1), uop.N(2*half-1)), uop.ShapeOf(count, 2, half-1, 2*half-1))
		product := dot(reshape(u, uop.ShapeOf(count, 2, half-1, half-1)), inner, nil).ContiguousOp()
		u = cat([]*uop.UOp{index(product, Whole(), At(0)), shrinkAxis(y, 1, uop.N(0), uop.N(1)), index(product, Whole(), At(1))}, 1).ContiguousOp()
		whole := sqrt(maximum(add(square(root.origin), root.x), likeConst(root.x, 0)))
		values = add(root.origin, div(root.x, add(root.origin, whole))).ContiguousOp()
	}
	u, v = shrinkTo(reshape(u, uop.ShapeOf(stack, m-1, m-1)), uop.ShapeOf(stack, n, n)), shrinkTo(reshape(v, uop.ShapeOf(stack, m, m)), uop.ShapeOf(stack, n, n))
	image := add(mul(unsqueeze(diagonal, -1), v), mul(unsqueeze(beside, -1), padAxis(shrinkAxis(v, 1, uop.N(1), uop.N(n)), 1, 0, 1, 0)))
	values = sum(mul(u, image), []int{-2}, false).ContiguousOp()
	v = where(lt(unsqueeze(values, -2), 0), neg(v), v)
	values = abs(values).ContiguousOp()
	_, order := ranks(neg(values))
	return picked(u, order), gather(values, 1, order), picked(v, order)
}

// stack2 joins two tensors (s, m, n) to one (s, 2, m, n).
func stack2(x, y *uop.UOp) *uop.UOp {
	return cat([]*uop.UOp{unsqueeze(x, 1), unsqueeze(y, 1)}, 1)
}

// svdDivided is the singular value decomposition of square matrices a (s, n, n).
func svdDivided(a *uop.UOp) (u, s, vt *uop.UOp) {
	scale := leadingPower(maxOf(abs(a), []int{-2, -1}, true))
	t := bidiagonalised(div(a, scale).ContiguousOp())
	u, s, v := conqueredBidiagonal(t.diagonal, t.beside)
	vt = transpose(allReflected(v, t.rows), -2, -1)
	return allReflected(u, t.columns), mul(s, squeeze(scale, -1)), vt
}
