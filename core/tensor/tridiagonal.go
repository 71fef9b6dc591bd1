package tensor

import (
	"math"
	"slices"

	"polygrad/core/uop"
)

// Eigenvalues of larger symmetric matrices. Householder reflections make a matrix tridiagonal; the tridiagonal matrix is decomposed by
// divide and conquer (Cuppen 1981; Gu and Eisenstat, A divide-and-conquer algorithm for the symmetric tridiagonal eigenproblem, 1995).
// A graph has no branches, so there is no deflation. Instead, equal poles are moved apart by a rounding error, and weights are raised
// to at least a rounding error, which is backward stable.

// tridiagonal is a stack of symmetric tridiagonal matrices: the diagonals (s, n), the superdiagonals (s, n) with 0 as the last element,
// and the reflections that made them.
type tridiagonal struct {
	diagonal, beside *uop.UOp
	columns          []panel
}

// panel are the reflections of some columns, with zeros before element start.
type panel struct {
	reflections
	start int64
}

// panelsOf groups the reflections I - tau vᵀ v of count columns into panels, cut to the first n elements. Row j of v (s, count, m) is zero before
// element j + 1; tau is (s, count, 1).
func panelsOf(v, tau *uop.UOp, n int64) (panels []panel) {
	_, count, _ := sizes(v)
	width := panelSize(n)
	for at := int64(0); at < count; at += width {
		w := min(width, count-at)
		v, tau := block(block(v, 1, uop.N(at), w), 2, uop.N(at), n-at).ContiguousOp(), block(tau, 1, uop.N(at), w)
		panels = append(panels, panel{reflections{v, merged(v, tau)}, at})
	}
	return panels
}

// bandOf gives the first n elements of the diagonal of a (s, m, m), and the first n - 1 of the superdiagonal followed by a 0, both (s, n).
func bandOf(a *uop.UOp, n int64) (own, above *uop.UOp) {
	row := uop.ShapeOf(a.Shape()[0].N, n)
	above = shrinkTo(diagonal(a, 1, -2, -1), uop.ShapeOf(row[0].N, n-1))
	return shrinkTo(diagonalOf(a), row).ContiguousOp(), padTo(above, row).ContiguousOp()
}

// bandStep is the number of finished rows and columns that a reduction to a band leaves out at once: whole vectors and cache lines.
const bandStep = 8

// undone is the first row and column that step j of a reduction of a to a band computes: 0 for small matrices, whose steps are one kernel.
func undone(a *uop.UOp, j uop.Sint) operand {
	if _, n, _ := sizes(a); n <= 2*blockSize {
		return 0
	}
	return sizeLike(a, j.Div(uop.N(bandStep)).Mul(uop.N(bandStep)))
}

// tridiagonalised makes symmetric matrices a (s, n, n), n > 2, tridiagonal. The greatest element of a must be near 1. The reflection
// I - tau v vᵀ of a column changes a to a - v wᵀ - w vᵀ with w = p - c v, p = tau a v and c = tau vᵀ p / 2. Rows and columns that are
// done are left out.
func tridiagonalised(a *uop.UOp) tridiagonal {
	stack, n, _ := sizes(a)
	count, m := n-2, ceil64(n, bandStep)*bandStep
	a = padTo(a, uop.ShapeOf(stack, m, m))
	zeros := func(rows, columns int64) *uop.UOp { return zeros(a, a.DType, stack, rows, columns) }
	columns := count0(a.Graph(), m)
	rows := unsqueeze(columns, -1)
	states := []*uop.UOp{a, zeros(count, m), zeros(count, 1), zeros(1, 1), zeros(1, 1), zeros(1, m), zeros(1, 1), zeros(m, 1), zeros(1, 1)}
	r := loop{variable: "column", count: count}.run(states, nil, func(b *loopBody, j uop.Sint, s, _ []*uop.UOp) {
		a, all, factors, head, below, v, tau, p, c := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8]
		next, from := sizeLike(a, j.Add(uop.N(1))), undone(a, j)
		x := block(a, 1, j, 1)
		b.do(head.AssignTo(sum(where(eq(columns, next), x, 0), []int{-1}, true)), below.AssignTo(sum(where(gt(columns, next), square(x), 0), []int{-1}, true)))
		reflect, factor := reflector(x, head, below, columns, next)
		b.do(v.AssignTo(reflect), tau.AssignTo(factor))
		b.do(block(all, 1, j, 1).AssignTo(v), block(factors, 1, j, 1).AssignTo(tau))
		b.do(p.AssignTo(where(ge(rows, from), mul(tau, sum(where(ge(columns, from), mul(a, v), 0), []int{-1}, true)), p)))
		b.do(c.AssignTo(mul(mul(tau, 0.5), sum(mul(v, transpose(p, -2, -1)), []int{-1}, true))))
		column := transpose(v, -2, -1)
		less := add(mul(column, sub(transpose(p, -2, -1), mul(c, v))), mul(sub(p, mul(c, column)), v))
		b.do(a.AssignTo(where(bitAnd(ge(rows, from), ge(columns, from)), sub(a, less), a)))
	})
	t := tridiagonal{columns: panelsOf(r[1], r[2], n)}
	t.diagonal, t.beside = bandOf(r[0], n)
	return t
}

// secularIterations are enough iterations to find the roots of a secular equation with any poles and weights; most end after five to eight.
func secularIterations(dt *uop.DType) int64 {
	if dt == uop.Float64 {
		return 22
	}
	return 16
}

// distance is how far a pole p of a secular equation is from a pole q.
type distance func(p, q *uop.UOp) *uop.UOp

// difference is the distance of eigenvalues.
func difference(p, q *uop.UOp) *uop.UOp { return sub(p, q) }

// ofSquares is the distance p² - q² of the squares of singular values, with a small relative error.
func ofSquares(p, q *uop.UOp) *uop.UOp { return mul(sub(p, q), add(p, q)) }

// secular are the roots (s, n) of the secular equation 1 + sum z[i]² / (d[i] - x) = 0, one above each of the ascending poles d. Root j is
// origin[j] + x[j], where the origin is the nearest pole, so that x has a small relative error. If the poles are squares, d and the origins are their
// square roots. An iteration fits a function of two poles and a constant to values and slopes; if its root lies outside of the interval that is known
// to contain the root, the geometric mean of the interval's ends is the next point. The iterations end once the values at all roots are rounding
// errors (LAPACK's laed4 has the bound).
func secular(d, z *uop.UOp, from distance) (origin, x *uop.UOp) {
	stack, n, _ := sizes(unsqueeze(d, -1))
	z2 := square(z)
	g, dt := d.Graph(), d.DType
	at := count0(g, n)
	last := eq(at, int(n-1))
	after := sideBySide([]*uop.UOp{shrinkAxis(d, 1, uop.N(1), uop.N(n)), shrinkAxis(d, 1, uop.N(n-1), uop.N(n))}, 1) // the next pole
	before := sideBySide([]*uop.UOp{shrinkAxis(d, 1, uop.N(0), uop.N(n-1)), shrinkAxis(d, 1, uop.N(n-2), uop.N(n-1))}, 1)
	gap := where(last, sum(z2, []int{-1}, true), from(after, d))
	half := mul(gap, 0.5)
	// The poles are summed in two groups: those up to pole j for root j (for the last root all but the last pole), and the others.
	first := le(at, unsqueeze(where(last, int(n-2), at), -1))
	sums := func(origin, x *uop.UOp) []*uop.UOp {
		distance := sub(from(unsqueeze(d, -2), unsqueeze(origin, -1)), unsqueeze(x, -1))
		weight := unsqueeze(z, -2)
		ratio := div(weight, distance)
		q, slope := mul(weight, ratio), square(ratio)
		return []*uop.UOp{
			sum(where(first, q, 0), []int{-1}, false), sum(where(first, 0, q), []int{-1}, false),
			sum(where(first, slope, 0), []int{-1}, false), sum(where(first, 0, slope), []int{-1}, false),
		}
	}
	middle := sums(d, half)
	value := add(1, add(middle[0], middle[1]))
	beyond := bitAnd(last, lt(value, 0)) // the last root is beyond the middle
	left := bitOr(ge(value, 0), last)
	origin = where(left, d, after).ContiguousOp()
	side := where(left, likeConst(d, 1), likeConst(d, -1))
	own := where(left, z2, sideBySide([]*uop.UOp{shrinkAxis(z2, 1, uop.N(1), uop.N(n)), shrinkAxis(z2, 1, uop.N(n-1), uop.N(n))}, 1))
	least := div(own, maximum(where(left, add(1, middle[1]), sub(-1, middle[0])), div(own, half)))
	low := where(beyond, half, where(last, 0, least))
	high := where(beyond, gap, half)
	firstPole, secondPole := from(where(last, before, d), origin).ContiguousOp(), from(after, origin).ContiguousOp()
	state := func() *uop.UOp { return zeros(d, dt, stack, n) }
	going := constant(d, uop.Bool, uop.BoolConst(true)).Reshape(onesShape(1))
	states := []*uop.UOp{going, half, low, high, state(), state(), state(), state()}
	_, digits := dt.FloatInfo()
	near := math.Ldexp(4, 1-digits)
	whole := uop.Int32
	if dt == uop.Float64 {
		whole = uop.Int64
	}
	steps := loop{variable: "step", count: secularIterations(dt)}
	read := []*uop.UOp{d, z, origin, side, firstPole, secondPole}
	r := steps.runWhile(1, states, read, func(b *loopBody, i uop.Sint, s, read []*uop.UOp) {
		going, t, low, high, s := s[0], s[1], s[2], s[3], s[4:]
		d, z = read[0], read[1]
		origin, side, firstPole, secondPole := read[2], read[3], read[4], read[5]
		x := mul(side, t)
		var writes []*uop.UOp
		for k, v := range sums(origin, x) {
			writes = append(writes, s[k].AssignTo(v))
		}
		b.do(writes...)
		value := add(1, add(s[0], s[1]))
		large := gt(mul(value, side), 0)
		lo, hi := where(large, low, t), where(large, t, high)
		p, q := sub(firstPole, x), sub(secondPole, x)
		k := sub(sub(value, mul(s[2], p)), mul(s[3], q))
		// k h² - (k (p + q) + s[2] p² + s[3] q²) h + value p q = 0
		c := mul(value, mul(p, q))
		h := add(mul(k, add(p, q)), add(mul(s[2], square(p)), mul(s[3], square(q))))
		root := sqrt(maximum(sub(square(h), mul(4, mul(k, c))), likeConst(h, 0)))
		root = where(last, neg(root), root)
		h = where(ne(gt(h, 0), last), div(mul(2, c), add(h, root)), div(sub(h, root), mul(2, k)))
		y := mul(add(x, h), side)
		good := bitAnd(bitAnd(ge(y, mul(lo, 1-near)), le(y, mul(hi, 1+near))), gt(y, 0))
		slow := bitAnd(gt(hi, mul(lo, 16)), gt(abs(sub(y, t)), mul(t, 0.25)))
		bisect := bitAnd(eq(sizeLike(t, sizeModulo(i, 2)), 1), slow)
		halved := func(v *uop.UOp) *uop.UOp { return shiftRight(bitcast(v, whole), 1) }
		mean := bitcast(add(halved(lo), halved(hi)), dt)
		size := add(add(1, mul(8, sub(abs(s[1]), s[0]))), mul(t, add(s[2], s[3])))
		found := le(abs(value), mul(math.Ldexp(1, 1-digits), size))
		next := where(bitAnd(good, logicalNot(bisect)), y, where(found, t, mean))
		b.do(
			going.AssignTo(ne(reshape(maxOf(cast(logicalNot(found), uop.Int32), []int{0, 1}, false), uop.ShapeOf(1)), 0)),
			t.AssignTo(next), low.AssignTo(lo), high.AssignTo(hi),
		)
	})
	return origin, mul(side, r[1])
}

// update is the result of a rank-one update of a diagonal matrix: the new values, origin + x (s, n), as from secular, and what the
// vectors are computed from: the old values (s, n) that were used, the weights z (s, n, 1), and the distances of old from new values
// (s, n, n), all in the given order.
type update struct{ origin, x, poles, z, distance *uop.UOp }

// updated is the rank-one update of a diagonal matrix d (s, n) by weights z (s, n). Equal values are moved apart by a rounding error of a matrix
// whose greatest element is near 1, and weights below such an error are raised to it.
func updated(d, z *uop.UOp, from distance) update {
	n := d.Shape()[1].N
	_, digits := d.DType.FloatInfo()
	epsilon := math.Ldexp(1, 1-digits)
	rank, order := ranks(d)
	at := count0(d.Graph(), n)
	spread := mul(2*epsilon, cast(at, d.DType))
	p := sub(gather(d, 1, order), spread)
	p = where(le(at, unsqueeze(at, -1)), unsqueeze(p, -2), math.Inf(-1))
	p = add(maxOf(p, []int{-1}, false), spread).ContiguousOp()
	z = gather(z, 1, order)
	z = where(lt(abs(z), epsilon/2), where(lt(z, 0), likeConst(z, -epsilon/2), likeConst(z, epsilon/2)), z).ContiguousOp()
	origin, x := secular(p, z, from)
	x = x.ContiguousOp()
	// The weights for which these are the roots, so that vectors are orthogonal.
	last := eq(at, int(n-1))
	next := cat([]*uop.UOp{shrinkAxis(p, 1, uop.N(1), uop.N(n)), shrinkAxis(p, 1, uop.N(n-1), uop.N(n))}, 1)
	row := func(v *uop.UOp) *uop.UOp { return unsqueeze(v, -2) }
	column := func(v *uop.UOp) *uop.UOp { return unsqueeze(v, -1) }
	toRoots := func(p *uop.UOp) *uop.UOp { return sub(from(column(p), row(origin)), row(x)) }
	below := lt(at, unsqueeze(at, -1))
	other := from(column(p), where(below, row(p), row(next)))
	ratio := div(abs(toRoots(p)), where(last, 1, abs(where(last, 1, other))))
	z = where(lt(z, 0), likeConst(z, -1), likeConst(z, 1))
	z = mul(z, sqrt(prod(ratio, []int{-1}, false))).ContiguousOp()
	poles := gather(p, 1, rank).ContiguousOp()
	return update{origin, x, poles, column(gather(z, 1, rank)), toRoots(poles)}
}

// leafSize is the largest size of a matrix that is not divided further.
const leafSize = 12

// leaves is the number of blocks that a matrix of size n is divided into, a power of two, and the size of a block.
func leaves(n int64) (count, size int64) {
	for count = 1; ceil64(n, count) > leafSize; count *= 2 {
	}
	return count, ceil64(n, count)
}

// lengthened extends diagonals x (s, n) to m elements. The new elements become the greatest eigenvalues or singular values of a matrix
// whose elements are below 2, so they can be cut off again.
func lengthened(x *uop.UOp, m int64) *uop.UOp {
	n := x.Shape()[1].N
	if m == n {
		return x
	}
	more := mul(8, add(1, div(cast(count0(x.Graph(), m-n), x.DType), int(m-n))))
	return cat([]*uop.UOp{x, expand(more, uop.Shape{x.Shape()[0], uop.N(m - n)})}, 1)
}

// banded are matrices (s, n, n) with elements on the diagonal (s, n) and below it (s, n), but for the last one.
func banded(diagonal, below *uop.UOp) *uop.UOp {
	s := diagonal.Shape()
	n := s[1].N
	rows, columns := unsqueeze(count0(diagonal.Graph(), n), -1), count0(diagonal.Graph(), n)
	next := eq(rows, add(columns, 1))
	return where(eq(rows, columns), unsqueeze(diagonal, -2), where(next, unsqueeze(below, -2), 0)).ContiguousOp()
}

// conquered are the eigenvalues (s, n), ascending, and eigenvectors of tridiagonal matrices with diagonals d and off-diagonals e, both (s, n).
func conquered(d, e *uop.UOp) (values, vectors *uop.UOp) {
	stack, n, _ := sizes(unsqueeze(d, -1))
	count, size := leaves(n)
	m := count * size
	diagonal, beside := d, e
	scale := leadingPower(maxOf(maximum(abs(d), abs(e)), []int{-1}, true)).ContiguousOp()
	d, e = lengthened(div(d, scale), m), padTo(div(e, scale), uop.ShapeOf(stack, m))
	cut := eq(mod(count0(d.Graph(), m), int(size)), int(size-1))
	torn := where(cut, abs(e), 0)
	d = sub(sub(d, torn), padAxis(shrinkAxis(torn, 1, uop.N(0), uop.N(m-1)), 1, 1, 0, 0))
	rows := uop.ShapeOf(stack*count, size)
	values, vectors = rotatedSymmetric(ofLower(banded(reshape(d, rows), reshape(e, rows))))
	for half := size; half < m; half *= 2 {
		size, count := 2*half, stack*m/(2*half)
		weight := shrinkAxis(reshape(e, uop.ShapeOf(count, size)), 1, uop.N(half-1), uop.N(half))
		pairs := reshape(vectors, uop.ShapeOf(count, 2, half, half))
		row := func(k, r int64) *uop.UOp {
			return reshape(block(block(pairs, 1, uop.N(k), 1), 2, uop.N(r), 1), uop.ShapeOf(count, half))
		}
		z := cat([]*uop.UOp{row(0, half-1), where(lt(weight, 0), neg(row(1, 0)), row(1, 0))}, 1)
		z = mul(z, sqrt(abs(weight))).ContiguousOp()
		u := updated(reshape(values, uop.ShapeOf(count, size)), z, difference)
		v := div(u.z, u.distance).ContiguousOp()
		v = div(v, sqrt(sum(square(v), []int{-2}, true))).ContiguousOp()
		vectors = reshape(dot(pairs, reshape(v, uop.ShapeOf(count, 2, half, size)), nil), uop.ShapeOf(count, size, size)).ContiguousOp()
		values = add(u.origin, u.x).ContiguousOp()
	}
	vectors = shrinkTo(reshape(vectors, uop.ShapeOf(stack, m, m)), uop.ShapeOf(stack, n, n))
	up := padAxis(shrinkAxis(vectors, 1, uop.N(1), uop.N(n)), 1, 0, 1, 0)
	down := padAxis(mul(unsqueeze(beside, -1), vectors), 1, 1, 0, 0)
	image := add(mul(unsqueeze(diagonal, -1), vectors), add(mul(unsqueeze(beside, -1), up), shrinkAxis(down, 1, uop.N(0), uop.N(n))))
	values = sum(mul(vectors, image), []int{-2}, false).ContiguousOp()
	_, order := ranks(values)
	return gather(values, 1, order), picked(vectors, order)
}

// ranks are the positions of elements (s, n) in ascending order, and the inverse permutation.
func ranks(x *uop.UOp) (rank, order *uop.UOp) {
	n := x.Shape()[1].N
	at := count0(x.Graph(), n)
	own, other := unsqueeze(x, -1), unsqueeze(x, -2)
	less := bitOr(lt(other, own), bitAnd(eq(other, own), lt(at, unsqueeze(at, -1))))
	rank = sum(cast(less, uop.Int32), []int{-1}, false).ContiguousOp()
	order = sum(where(eq(unsqueeze(rank, -2), unsqueeze(cast(at, uop.Int32), -1)), cast(at, uop.Int32), 0), []int{-1}, false).ContiguousOp()
	return rank, order
}

// eighDivided is eigh of symmetric matrices a (s, n, n), n > 2.
func eighDivided(a *uop.UOp) (values, vectors *uop.UOp) {
	scale := leadingPower(maxOf(abs(a), []int{-2, -1}, true))
	t := tridiagonalised(div(a, scale).ContiguousOp())
	values, vectors = conquered(t.diagonal, t.beside)
	return mul(values, squeeze(scale, -1)), allReflected(vectors, t.columns)
}

// allReflected applies the reflections of panels to the columns of x (s, n, n), the last panel first.
func allReflected(x *uop.UOp, panels []panel) *uop.UOp {
	n := x.Shape()[1].N
	for _, by := range slices.Backward(panels) {
		part := shrinkAxis(x, 1, uop.N(by.start), uop.N(n))
		part = sub(part, dot(transpose(by.v, -2, -1), dot(by.w, dot(by.v, part, nil), nil), nil))
		if by.start > 0 {
			part = cat([]*uop.UOp{shrinkAxis(x, 1, uop.N(0), uop.N(by.start)), part}, 1)
		}
		x = part.ContiguousOp()
	}
	return x
}

// leadingPower is the greatest power of two that is not above x >= 0, the least normal one where x is subnormal, and 1 where x is 0, infinite or
// NaN, or has a type of 16 bits.
func leadingPower(x *uop.UOp) *uop.UOp {
	if x.DType.Itemsize() < 4 {
		return likeConst(x, 1)
	}
	whole, infinity := uop.Int32, int(math.Float32bits(float32(math.Inf(1))))
	if x.DType == uop.Float64 {
		whole, infinity = uop.Int64, int(math.Float64bits(math.Inf(1)))
	}
	power := bitcast(bitAnd(bitcast(x, whole), infinity), x.DType)
	exponent, _ := x.DType.FloatInfo()
	power = where(bitAnd(eq(power, 0), gt(x, 0)), math.Ldexp(1, 2-1<<(exponent-1)), power)
	return where(bitAnd(gt(power, 0), lt(power, math.Inf(1))), power, 1)
}
