package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Eigenvalues of general matrices (Watkins, The matrix eigenvalue problem, 2007): balancing, reduction to Hessenberg form by Householder reflectors,
// then the QR algorithm with two implicit shifts until the matrix is block triangular. A first reflector creates a bulge below the subdiagonal;
// further ones chase it down a diagonal block and out of it.

// hessenberg are upper Hessenberg matrices h and unitary q with a = q h qᴴ for a (s, n, n), whose greatest element must be near 1. columns is n - 2,
// or n - 1 to make the last element of the subdiagonal real, too.
func hessenberg(a complexPlanes, columns int64) (h complexPlanes, q complexReflections) {
	stack, n, _ := sizes(a.re)
	rows := unsqueeze(count0(a.re.Graph(), n), -1)
	columns = max(columns, 0)
	k := max(columns, 1)
	states := a.list()
	for _, shape := range [][]int64{{stack, k, n}, {stack, k, 1}, {stack, n, 1}, {stack, 1, n}, {stack, 1, 1}, {stack, 1, 1}, {stack, 1, n}, {stack, n, 1}} {
		states = append(states, complexZeros(a, shape...)...)
	}
	last := len(states)
	states = append(states, zeros(a.re, a.re.DType, stack, 1, 1))
	out := loop{variable: "column", count: columns, lanes: inLanes(a.re)}.run(states, nil, func(b *loopBody, j uop.Sint, s, _ []*uop.UOp) {
		z := a.grouped(s[:last])
		a, all, factors, v, row, tau, head, w, p := z[0], z[1], z[2], z[3], z[4], z[5], z[6], z[7], z[8]
		findReflector(b, blockOf(a, 2, j, 1), v, tau, head, s[last], rows, sizeLike(a.re, j.Add(uop.N(1))), -2)
		b.do(append(blockOf(factors, 1, j, 1).assigned(tau), row.assigned(v.transposed())...)...)
		b.do(blockOf(all, 1, j, 1).assigned(row)...)
		reflectRows(b, a, v, tau.conjugate(), w)
		reflectColumns(b, a, row, tau, p)
	})
	z := a.grouped(out[:last])
	return z[0], complexReflections{z[1], z[2]}
}

const (
	// balanceSweeps is the maximum number of times that each row and column is scaled.
	balanceSweeps = 100
	// exceptionalTry: every exceptionalTry-th pass over the same block has an exceptional shift, which ends a cycle.
	exceptionalTry = 11
)

// negligibleSize is negligible relative to 1, after any number of operations; its square is still a normal number.
func negligibleSize(dt *uop.DType) float64 {
	exponent, _ := dt.FloatInfo()
	return math.Ldexp(1, -3<<(exponent-4))
}

// balanceLimit bounds the scale factors and the scaled elements, so that sums of elements stay finite.
func balanceLimit(dt *uop.DType) float64 {
	exponent, digits := dt.FloatInfo()
	return math.Ldexp(1, 1<<(exponent-1)-digits-4)
}

// quotientOfScales is the quotient of powers of two, at most the largest one: it may be multiplied by an element that is 0.
func quotientOfScales(x, y *uop.UOp) *uop.UOp {
	exponent, _ := x.DType.FloatInfo()
	return minimum(div(x, y), math.Ldexp(1, 1<<(exponent-1)-1))
}

// balanced are powers of two d (s, n, 1) for which the rows and columns of a d[j] / d[i] have similar sums (Osborne, On pre-conditioning of
// matrices, 1960; the criterion is LAPACK's).
func balanced(a complexPlanes) *uop.UOp {
	stack, n, _ := sizes(a.re)
	at := unsqueeze(count0(a.re.Graph(), n), -1)
	size := where(eq(at, count0(a.re.Graph(), n)), 0, a.sizeOf()).ContiguousOp()
	one := zeros(a.re, a.re.DType, stack, 1, 1)
	limit := balanceLimit(a.re.DType)
	d := constant(a.re, a.re.DType, uop.Int(1)).Reshape(onesShape(3)).Expand(uop.ShapeOf(stack, n, 1))
	yes := constant(a.re, uop.Bool, uop.BoolConst(true)).Reshape(onesShape(1))
	steps := loop{variable: "row", count: n * balanceSweeps, lanes: inLanes(a.re)}
	states := []*uop.UOp{yes, zeros(a.re, uop.Bool, stack, 1, 1), d, one, one, one, one}
	out := steps.runWhile(1, states, []*uop.UOp{size}, func(b *loopBody, i uop.Sint, s, read []*uop.UOp) {
		going, changed, d, column, row, own, next := s[0], s[1], s[2], s[3], s[4], s[5], s[6]
		k := sizeModulo(i, n)
		b.do(own.AssignTo(block(d, 1, k, 1)))
		b.do(column.AssignTo(sum(mul(block(read[0], 2, k, 1), quotientOfScales(own, d)), []int{1}, true)))
		b.do(row.AssignTo(sum(mul(block(read[0], 1, k, 1), quotientOfScales(transpose(d, 1, 2), own)), []int{2}, true)))
		some := bitAnd(gt(column, 0), gt(row, 0))
		c, r := where(some, column, 1), where(some, row, 1)
		// f is the power of two near sqrt(r / c); it is only applied if it makes the sum of row and column at least 5% smaller.
		f := leadingPower(mul(math.Sqrt2, div(sqrt(r), sqrt(c))))
		scaled := mul(own, f)
		within := bitAnd(ge(scaled, 1/limit), le(scaled, limit))
		better := bitAnd(lt(add(mul(c, f), div(r, f)), mul(0.95, add(c, r))), bitAnd(some, within))
		b.do(next.AssignTo(where(better, scaled, own)))
		zero := likeConst(count0(next.Graph(), 1), 0)
		at := add(zero, sizeLike(zero, k))
		here := eq(unsqueeze(count0(next.Graph(), n), -1), at)
		b.do(d.AssignTo(where(here, next, d)), changed.AssignTo(bitOr(ne(next, own), bitAnd(changed, ne(at, 0)))))
		anywhere := ne(maxOf(cast(changed, uop.Int32), nil, false), 0)
		b.do(going.AssignTo(reshape(bitOr(lt(at, int(n-1)), anywhere), uop.ShapeOf(1))))
	})
	return out[2]
}

// isolated are the new positions (s, n, 1) of rows and columns in a permutation that makes a matrix block triangular: single diagonal elements, which
// are eigenvalues, and one larger block between them (LAPACK's gebal). A row without other elements than that on the diagonal moves to the end, such
// a column to the front; then the remaining rows and columns are searched again.
func isolated(a complexPlanes) *uop.UOp {
	stack, n, _ := sizes(a.re)
	at := unsqueeze(count0(a.re.Graph(), n), -1)
	others := where(eq(at, transpose(at, -2, -1)), 0, cast(ne(a.sizeOf(), 0), uop.Int32)).ContiguousOp()
	alone := func(places, others *uop.UOp) (rows, columns *uop.UOp) {
		left := lt(places, 0)
		count := cast(left, uop.Int32)
		rows = eq(sum(mul(others, transpose(count, -2, -1)), []int{-1}, true), 0)
		columns = eq(transpose(sum(mul(others, count), []int{-2}, true), -2, -1), 0)
		return bitAnd(left, rows), bitAnd(left, columns)
	}
	some := func(places, others *uop.UOp) *uop.UOp {
		rows, columns := alone(places, others)
		return maxOf(bitOr(rows, columns), []int{-2}, true)
	}
	none := sub(zeros(a.re, uop.Int32, stack, n, 1), 1)
	front := zeros(a.re, uop.Int32, stack, 1, 1)
	states := []*uop.UOp{some(none, others), none, front, add(front, int(n-1))}
	states = repeatWhile("isolated", states, []*uop.UOp{others}, func(s, read []*uop.UOp) []*uop.UOp {
		places, front, end := s[1], s[2], s[3]
		rows, columns := alone(places, read[0])
		row, column := maxOf(where(rows, at, -1), []int{-2}, true), maxOf(where(columns, at, -1), []int{-2}, true)
		isRow, isColumn := ge(row, 0), bitAnd(lt(row, 0), ge(column, 0))
		places = where(eq(at, where(isRow, row, column)), where(isRow, end, front), places)
		return []*uop.UOp{some(places, read[0]), places, add(front, cast(isColumn, uop.Int32)), sub(end, cast(isRow, uop.Int32))}
	})
	places, left := states[1], cast(lt(states[1], 0), uop.Int32)
	return where(ne(left, 0), add(states[2], sub(scan(left, 1, uop.Add), 1)), places).ContiguousOp()
}

// shifted moves the elements of x by a number of places along an axis, to lower positions if it is negative, and fills with 0.
func shifted(x *uop.UOp, axis int, by int64) *uop.UOp {
	n := x.Shape()[axis].N
	if by > 0 {
		return padAxis(shrinkAxis(x, axis, uop.N(0), uop.N(n-by)), axis, by, 0, 0)
	}
	return padAxis(shrinkAxis(x, axis, uop.N(-by), uop.N(n)), axis, 0, -by, 0)
}

// rotatedPairs applies disjoint rotations of pairs of neighbours along an axis: element i becomes own[i] times itself plus other[i] times its
// partner, with own and other (s, n). The partner is element i-1 where lower is true, else i+1.
func (z complexPlanes) rotatedPairs(axis int, own, other complexPlanes, lower *uop.UOp) complexPlanes {
	wide := func(u *uop.UOp) *uop.UOp { return unsqueeze(u, 3-axis) }
	partner := z.both(func(u *uop.UOp) *uop.UOp {
		return where(wide(lower), shifted(u, axis, 1), shifted(u, axis, -1))
	})
	return own.both(wide).times(z).plus(other.both(wide).times(partner))
}

// A francisStep is a step of the QR algorithm with two shifts on matrices h (s, m, m), whose first row is at index 1: a reflector of rows k, k+1 and
// k+2, and of the same columns. It moves a bulge down by one row, or creates it.
type francisStep struct {
	k             uop.Sint
	v1, v2, tau   complexPlanes // (s, 1, 1): the reflection is I - tau v vᴴ for v = (1, v1, v2)
	first, number *uop.UOp      // 0, 1, 2 as a column and as a row
}

func stepOf(reflections complexPlanes, k uop.Sint) francisStep {
	at := blockOf(reflections, 1, k, 1)
	part := func(i int64) complexPlanes { return blockOf(at, 2, uop.N(i), 1) }
	three := count0(reflections.re.Graph(), 3)
	return francisStep{k, part(0), part(1), part(2), unsqueeze(three, -1), three}
}

// vector is v along the axis that counts 0, 1 and 2.
func (f francisStep) vector(count *uop.UOp) complexPlanes {
	one := complexPlanes{likeConst(f.v1.re, 1), nil}
	return chosen(eq(count, 0), one, chosen(eq(count, 1), f.v1, f.v2))
}

// product is vᵀ x over the elements k, k+1 and k+2 along an axis of x.
func (f francisStep) product(x complexPlanes, axis int) complexPlanes {
	at := func(i int64) complexPlanes { return blockOf(x, axis, f.k.Add(uop.N(1+i)), 1) }
	return at(0).plus(f.v1.times(at(1))).plus(f.v2.times(at(2)))
}

// chosen are the elements of z where a condition holds, else those of w.
func chosen(condition *uop.UOp, z, w complexPlanes) complexPlanes {
	r := complexPlanes{re: where(condition, z.re, w.re)}
	switch {
	case z.im != nil && w.im != nil:
		r.im = where(condition, z.im, w.im)
	case z.im != nil:
		r.im = where(condition, z.im, 0)
	case w.im != nil:
		r.im = where(condition, 0, w.im)
	}
	return r
}

// sizeOf is |re| + |im|.
func (z complexPlanes) sizeOf() *uop.UOp {
	if z.im == nil {
		return abs(z.re)
	}
	return add(abs(z.re), abs(z.im))
}

// besides are the diagonal, the subdiagonal and the superdiagonal of matrices, (s, n): element i is h[i, i], h[i+1, i] and h[i, i+1], and the last
// one of the latter two is 0.
func (z complexPlanes) besides() (diagonals, below, above complexPlanes) {
	part := func(offset int64) complexPlanes {
		return z.both(func(u *uop.UOp) *uop.UOp { return padAxis(diagonal(u, offset, -2, -1), 1, 0, max(offset, -offset), 0) })
	}
	return part(0), part(-1), part(1)
}

// Columns of the table of a pass, which has a row for each step: after the three elements of the vector of the reflector that creates a bulge come
// flags that the step moves or creates a bulge, that it creates one, and that the block has a third row.
const (
	passMoves = 3 + iota
	passBegins
	passThird
	passColumns
)

// quasiTriangular reduces Hessenberg matrices a (s, n, n), of which nothing below the subdiagonal is read, to block upper triangular h with blocks of
// one or two rows; where the iteration does not converge, larger blocks remain. If eigenvectors are wanted, q is the unitary matrix of the Hessenberg
// reduction, and vectors is q times the transformations here, so that the matrix before the reduction is vectors h vectorsᴴ. Each pass over all rows
// chases a bulge through every diagonal block between negligible elements of the subdiagonal; the shifts are the eigenvalues of the last two rows of
// the block. Rows above the bulge are not needed before the next pass, so their columns, and those of q, are transformed in a loop of their own, on
// transposes.
func quasiTriangular(a, q complexPlanes) (h, vectors complexPlanes) {
	stack, n, _ := sizes(a.re)
	if n < 3 {
		return a, q
	}
	const before, behind = 1, 2
	g, dt, m := a.re.Graph(), a.re.DType, before+n+behind
	lanes := inLanes(a.re)
	t := a.transposed().both(func(u *uop.UOp) *uop.UOp {
		return padAxis(padAxis(tril(u, 1), 1, before, behind, 0), 2, before, behind, 0)
	})
	if q.re != nil {
		rows := q.transposed().both(func(u *uop.UOp) *uop.UOp { return padAxis(u, 1, before, behind, 0) })
		t = t.beside(rows)
	}
	width := t.re.Shape()[2].N
	yes := constant(a.re, uop.Bool, uop.BoolConst(true)).Reshape(onesShape(1))
	whole := func(sizes ...int64) *uop.UOp { return zeros(a.re, uop.Int32, sizes...) }
	planes := len(a.list())
	states := append([]*uop.UOp{yes, whole(stack, n), whole(stack, n), whole(stack, 1, 1)}, t.list()...)
	states = append(append(states, complexZeros(a, stack, n)...), complexZeros(a, stack, n, passColumns)...)
	at := count0(g, n)
	_, digits := dt.FloatInfo()
	epsilon, least := math.Ldexp(1, -digits), negligibleSize(dt)
	passes := loop{variable: "pass", count: 30*n + 100, lanes: lanes}
	out := passes.runWhile(1, states, nil, func(b *loopBody, _ uop.Sint, s, _ []*uop.UOp) {
		going, last, tries, end := s[0], s[1], s[2], s[3]
		z := a.grouped(s[4:])
		t, e, table := z[0], z[1], z[2]
		inner := blockOf(blockOf(t, 1, uop.N(before), n), 2, uop.N(before), n).transposed()
		d, below, above := inner.besides()
		small := add(d.sizeOf(), shifted(d.sizeOf(), 1, -1))
		negligible := le(below.sizeOf(), maximum(mul(epsilon, small), least))
		b.do(e.assigned(below.both(func(u *uop.UOp) *uop.UOp { return where(negligible, 0, u) }))...)
		linked := ne(e.sizeOf(), 0)
		next, previous := shiftedFlags(linked, -1), shiftedFlags(linked, 1)
		from := unsqueeze(at, -1)
		to := where(bitAnd(ge(at, from), logicalNot(unsqueeze(linked, -2))), at, int(n-1))
		b.do(last.AssignTo(cast(minOf(to, []int{-1}, false), uop.Int32)))
		moves := bitAnd(linked, bitOr(next, previous))
		final := bitAnd(bitAnd(previous, shiftedFlags(linked, 2)), logicalNot(linked))
		b.do(tries.AssignTo(where(final, add(tries, 1), 0)), end.AssignTo(cast(maxOf(where(unsqueeze(moves, -1), add(from, 1), 0), []int{-2}, true), uop.Int32)))
		// As in EISPACK's hqr, x and y are the last two elements of the diagonal of a block, w the product of the two elements off the diagonal
		// between them.
		atLast := func(u *uop.UOp) *uop.UOp { return gather(u, 1, last) }
		before := func(z complexPlanes) complexPlanes {
			return z.both(func(u *uop.UOp) *uop.UOp { return shifted(u, 1, 1) })
		}
		after := func(z complexPlanes) complexPlanes {
			return z.both(func(u *uop.UOp) *uop.UOp { return shifted(u, 1, -1) })
		}
		exceptional := eq(mod(add(atLast(tries), 1), exceptionalTry), 0)
		scale := add(before(e).sizeOf(), before(before(e)).sizeOf())
		otherwise := func(factor float64, u *uop.UOp) complexPlanes {
			return complexPlanes{mul(factor, u), nil}
		}
		x := chosen(exceptional, otherwise(0.75, atLast(scale)), d.both(atLast))
		y := chosen(exceptional, otherwise(0.75, atLast(scale)), before(d).both(atLast))
		w := chosen(exceptional, otherwise(-0.4375, square(atLast(scale))), before(e.times(above)).both(atLast))
		r1, s1 := x.minus(d), y.minus(d)
		begins := bitAnd(bitAnd(linked, next), logicalNot(previous))
		vector := []complexPlanes{
			r1.times(s1).minus(w).plus(e.times(above)),
			e.times(after(d).minus(d).minus(r1).minus(s1)),
			e.times(after(e)),
		}
		var writes []*uop.UOp
		for i, v := range vector {
			writes = append(writes, blockOf(table, 2, uop.N(int64(i)), 1).assigned(v.both(func(u *uop.UOp) *uop.UOp { return unsqueeze(u, -1) }))...)
		}
		for i, flag := range []*uop.UOp{moves, begins, next} {
			writes = append(writes, block(table.re, 2, uop.N(passMoves+int64(i)), 1).AssignTo(unsqueeze(cast(flag, dt), -1)))
		}
		b.do(writes...)
		h, steps := rowPass(t, e, table, end, m, lanes)
		b.do(t.assigned(columnPass(h, t, steps, end, lanes))...)
		b.do(going.AssignTo(reshape(gt(maxOf(end, nil, false), 0), uop.ShapeOf(1))))
	})
	t = a.grouped(out[4 : 4+planes])[0]
	inner := blockOf(t, 1, uop.N(before), n)
	h = blockOf(inner, 2, uop.N(before), n).transposed().both(func(u *uop.UOp) *uop.UOp { return u.ContiguousOp() })
	if q.re != nil {
		vectors = blockOf(inner, 2, uop.N(m), width-m).transposed().both(func(u *uop.UOp) *uop.UOp { return u.ContiguousOp() })
	}
	return h, vectors
}

// shiftedFlags is shifted for flags.
func shiftedFlags(x *uop.UOp, by int64) *uop.UOp { return ne(shifted(cast(x, uop.Int32), 1, by), 0) }

// rowPass chases the bulges of a pass down matrices whose transposes are the first m columns of t: it transforms the rows, but columns only of those
// rows that later steps read. The results are the matrices h (s, m, m) and the reflectors of the steps (s, n, 4).
func rowPass(t, e, table complexPlanes, end *uop.UOp, m int64, lanes bool) (h, steps complexPlanes) {
	stack, n, _ := sizes(table.re)
	g := t.re.Graph()
	rows, columns := unsqueeze(count0(g, m), -1), count0(g, m)
	wide := unsqueeze(padAxis(cast(eq(e.sizeOf(), 0), uop.Int32), 1, 1, 2, 0), -2)
	negligible := bitAnd(eq(rows, add(columns, 1)), ne(wide, 0))
	h = blockOf(t, 2, uop.N(0), m).transposed().both(func(u *uop.UOp) *uop.UOp { return where(negligible, 0, u) })
	going := reshape(gt(maxOf(end, nil, false), 0), uop.ShapeOf(1))
	states := append([]*uop.UOp{going}, h.list()...)
	for _, shape := range [][]int64{{stack, n, 4}, {stack, 1, m}, {stack, 3, 1}} {
		states = append(states, complexZeros(t, shape...)...)
	}
	read := append([]*uop.UOp{end}, table.list()...)
	out := loop{variable: "row", count: n - 1, lanes: lanes}.runWhile(1, states, read, func(b *loopBody, k uop.Sint, s, read []*uop.UOp) {
		z, end, table := t.grouped(s[1:]), read[0], t.grouped(read[1:])[0]
		h, steps, w, u := z[0], z[1], z[2], z[3]
		own := blockOf(table, 1, k, 1)
		part := func(i int64) complexPlanes { return blockOf(own, 2, uop.N(i), 1) }
		flag := func(i int64) *uop.UOp { return ne(part(i).re, 0) }
		at := func(i int64) uop.Sint { return k.Add(uop.N(i)) }
		begins := flag(passBegins)
		zero := complexPlanes{likeConst(table.re, 0), nil}
		element := func(i int64) complexPlanes { return blockOf(blockOf(h, 1, at(1+i), 1), 2, k, 1) }
		from := func(i int64, some *uop.UOp) complexPlanes {
			return chosen(some, chosen(begins, part(i), element(i)), zero)
		}
		moves := flag(passMoves)
		x := []complexPlanes{from(0, moves), from(1, moves), from(2, bitAnd(moves, flag(passThird)))}
		size := maximum(x[0].sizeOf(), maximum(x[1].sizeOf(), x[2].sizeOf()))
		size = where(eq(size, 0), 1, size)
		for i := range x {
			x[i] = x[i].both(func(u *uop.UOp) *uop.UOp { return div(u, size) })
		}
		below := add(x[1].absSquare(), x[2].absSquare())
		some := gt(below, 0)
		if x[0].im != nil {
			some = bitOr(some, ne(x[0].im, 0))
		}
		norm := sqrt(add(x[0].absSquare(), below))
		beta := where(some, where(lt(x[0].re, 0), norm, neg(norm)), 1)
		d := complexPlanes{sub(x[0].re, beta), x[0].im}
		inverse := complexPlanes{reciprocal(where(some, d.re, 1)), nil}
		if d.im != nil {
			inverse = d.conjugate().both(func(u *uop.UOp) *uop.UOp { return div(u, where(some, d.absSquare(), 1)) })
		}
		tau := complexPlanes{div(sub(beta, x[0].re), beta), nil}
		if d.im != nil {
			tau.im = neg(div(d.im, beta))
		}
		edge := chosen(begins, zero, chosen(some, complexPlanes{mul(beta, size), nil}, element(0)))
		four := count0(g, 4)
		values := chosen(eq(four, 0), x[1].times(inverse), chosen(eq(four, 1), x[2].times(inverse), tau))
		b.do(blockOf(steps, 1, k, 1).assigned(chosen(eq(four, 3), edge, chosen(some, values, zero)))...)
		f := stepOf(steps, k)
		edge = blockOf(blockOf(steps, 1, k, 1), 2, uop.N(3), 1)
		conjugate := f
		conjugate.v1, conjugate.v2 = f.v1.conjugate(), f.v2.conjugate()
		b.do(w.assigned(conjugate.product(h, 1))...)
		here := blockOf(h, 1, at(1), 3)
		next := here.minus(f.tau.conjugate().times(f.vector(f.first)).times(w))
		b.do(here.assigned(chosen(eq(columns, sizeLike(columns, k)), chosen(eq(f.first, 0), edge, zero), next))...)
		later := blockOf(h, 1, at(2), 3)
		b.do(u.assigned(f.product(later, 2))...)
		window := blockOf(later, 2, at(1), 3)
		b.do(window.assigned(window.minus(f.tau.times(u).times(f.vector(f.number).conjugate())))...)
		b.do(s[0].AssignTo(reshape(gt(maxOf(end, nil, false), sizeLike(end, at(1))), uop.ShapeOf(1))))
	})
	z := t.grouped(out[1:])
	return z[0], z[1]
}

// columnPass applies the column transformations that rowPass left out, to h and to q, which is behind it in t. It works on transposes, t.
func columnPass(h, t, steps complexPlanes, end *uop.UOp, lanes bool) complexPlanes {
	stack, m, width := sizes(t.re)
	n := steps.re.Shape()[1].N
	all := h.transposed()
	if width > m {
		all = all.beside(blockOf(t, 2, uop.N(m), width-m))
	}
	columns := count0(t.re.Graph(), width)
	going := reshape(gt(maxOf(end, nil, false), 0), uop.ShapeOf(1))
	states := append(append([]*uop.UOp{going}, all.list()...), complexZeros(t, stack, 1, width)...)
	out := loop{variable: "column", count: n - 1, lanes: lanes}.runWhile(1, states, append([]*uop.UOp{end}, steps.list()...), func(b *loopBody, k uop.Sint, s, read []*uop.UOp) {
		z, end := t.grouped(s[1:]), read[0]
		t, w := z[0], z[1]
		f := stepOf(all.grouped(read[1:])[0], k)
		b.do(w.assigned(f.product(t, 1))...)
		here := blockOf(t, 1, k.Add(uop.N(1)), 3)
		left := bitOr(le(columns, sizeLike(columns, k.Add(uop.N(1)))), ge(columns, int(m)))
		next := here.minus(f.tau.times(f.vector(f.first).conjugate()).times(w))
		b.do(here.assigned(chosen(left, next, here))...)
		b.do(s[0].AssignTo(reshape(gt(maxOf(end, nil, false), sizeLike(end, k.Add(uop.N(1)))), uop.ShapeOf(1))))
	})
	return t.grouped(out[1:])[0]
}

// triangularised makes block triangular matrices triangular: values are their diagonals (s, n); h and q are transformed if there is a q. Values of
// real matrices are real or conjugate pairs; second marks the second value of each pair.
func triangularised(h, q complexPlanes) (values, triangular, vectors complexPlanes, second *uop.UOp) {
	d, below, above := h.besides()
	first := ne(below.sizeOf(), 0)
	move := func(by int64) func(u *uop.UOp) *uop.UOp {
		return func(u *uop.UOp) *uop.UOp { return shifted(u, 1, by) }
	}
	next := d.both(move(-1))
	half := d.minus(next).both(func(u *uop.UOp) *uop.UOp { return mul(u, 0.5) })
	product := below.times(above)
	discriminant := half.times(half).plus(product)
	// x, which is value - next, is the root of larger size of x² - 2 half x - product.
	var x complexPlanes
	pair := ne(first, first)
	if h.im == nil {
		pair = bitAnd(first, lt(discriminant.re, 0))
		root := sqrt(abs(discriminant.re))
		x = complexPlanes{add(half.re, where(pair, 0, where(lt(half.re, 0), neg(root), root))), where(pair, root, 0)}
	} else {
		root := discriminant.sqrt()
		along := lt(add(mul(half.re, root.re), mul(half.im, root.im)), 0)
		x = half.plus(root.both(func(u *uop.UOp) *uop.UOp { return where(along, neg(u), u) }))
	}
	x = x.both(func(u *uop.UOp) *uop.UOp { return u.ContiguousOp() })
	some := chosen(lt(x.sizeOf(), math.Pow(negligibleSize(d.re.DType), 2)), complexPlanes{likeConst(x.re, 1), nil}, x)
	one := next.plus(x)
	other := chosen(pair, one.conjugate(), next.minus(product.over(some))).both(move(1))
	after := shiftedFlags(first, 1)
	values = chosen(first, one, chosen(after, other, d)).both(func(u *uop.UOp) *uop.UOp { return u.ContiguousOp() })
	second = shiftedFlags(pair, 1)
	if q.re == nil {
		return values, h, q, second
	}
	length := sqrt(add(x.absSquare(), below.absSquare()))
	length = where(first, length, 1)
	over := func(u *uop.UOp) *uop.UOp { return div(u, length) }
	p, r := x.conjugate().both(over), below.conjugate().both(over)
	back := move(1)
	own := chosen(first, p, chosen(after, p.conjugate().both(back), complexPlanes{likeConst(length, 1), nil}))
	partner := chosen(first, r, chosen(after, r.conjugate().both(back).both(neg), complexPlanes{likeConst(length, 0), nil}))
	contiguous := func(u *uop.UOp) *uop.UOp { return u.ContiguousOp() }
	own, partner = own.both(contiguous), partner.both(contiguous)
	turned := h.rotatedPairs(1, own, partner, after).both(contiguous).rotatedPairs(2, own.conjugate(), partner.conjugate(), after)
	n := h.re.Shape()[1].N
	at := count0(h.re.Graph(), n)
	on := eq(unsqueeze(at, -1), at)
	turned = turned.both(func(u *uop.UOp) *uop.UOp { return triu(u, 1) })
	turned = chosen(on, values.both(func(u *uop.UOp) *uop.UOp { return unsqueeze(u, -2) }), turned).both(contiguous)
	return values, turned, q.rotatedPairs(2, own.conjugate(), partner.conjugate(), after).both(contiguous), second
}

// triangularVectors are the eigenvectors of upper triangular matrices t (s, n, n), as columns whose greatest element is about 1.
func triangularVectors(t complexPlanes) complexPlanes {
	stack, n, _ := sizes(t.re)
	at := count0(t.re.Graph(), n)
	_, digits := t.re.DType.FloatInfo()
	values := t.both(func(u *uop.UOp) *uop.UOp { return unsqueeze(diagonalOf(u), -2).ContiguousOp() })
	least := mul(maxOf(maximum(abs(t.re), abs(t.im)), []int{-2, -1}, true), math.Ldexp(1, -digits))
	least = maximum(least, math.Ldexp(1, -4*digits)).ContiguousOp()
	x := complexEye(t, n, n)
	states := append([]*uop.UOp{x.re, x.im}, complexZeros(t, stack, 1, n)...)
	states = append(append(states, complexZeros(t, stack, 1, n)...), zeros(t.re, t.re.DType, stack, 1, n))
	read := []*uop.UOp{t.re, t.im, values.re, values.im, least}
	out := loop{variable: "row", count: n - 1, lanes: inLanes(t.re)}.run(states, read, func(b *loopBody, i uop.Sint, s, read []*uop.UOp) {
		x, total, r, scale := complexPlanes{s[0], s[1]}, complexPlanes{s[2], s[3]}, complexPlanes{s[4], s[5]}, s[6]
		t, values, least := complexPlanes{read[0], read[1]}, complexPlanes{read[2], read[3]}, read[4]
		k := uop.N(n - 2).Sub(i)
		here := sizeLike(at, k)
		line := blockOf(t, 1, k, 1).transposed()
		b.do(total.assigned(x.times(line.both(func(u *uop.UOp) *uop.UOp {
			return where(gt(unsqueeze(at, -1), here), u, 0)
		})).sumOver(-2))...)
		d := blockOf(values, 2, k, 1).minus(values)
		tiny := lt(maximum(abs(d.re), abs(d.im)), least)
		d = complexPlanes{where(tiny, least, d.re), where(tiny, 0, d.im)}
		later := gt(at, here)
		q := total.over(d)
		b.do(r.assigned(complexPlanes{where(later, neg(q.re), 0), where(later, neg(q.im), 0)})...)
		large := maximum(abs(r.re), abs(r.im))
		b.do(scale.AssignTo(where(gt(large, 1), reciprocal(leadingPower(large)), 1)))
		own := where(eq(unsqueeze(at, -1), here), 1, 0)
		b.do(x.assigned(complexPlanes{
			mul(scale, add(x.re, mul(own, where(later, r.re, 0)))), mul(scale, add(x.im, mul(own, where(later, r.im, 0)))),
		})...)
	})
	return complexPlanes{out[0], out[1]}
}

// eig are the eigenvalues (s, n) of matrices, and eigenvectors (s, n, n) if wanted. Those of real matrices are real or in conjugate pairs.
func eig(a complexPlanes, real, wanted bool) (values, vectors complexPlanes) {
	if real {
		a.im = nil
	}
	_, n, _ := sizes(a.re)
	finite := a.finite()
	a = a.both(func(u *uop.UOp) *uop.UOp { return where(finite, u, 0) })
	// Before balancing, elements may differ by many orders of magnitude, so the greatest ones are scaled up to balanceLimit. The divisor and the
	// factor are chosen so that small elements do not underflow on the way.
	power, lift := a.leadingPower(), balanceLimit(a.re.DType)
	small := lt(power, 1)
	divisor, factor := where(small, power, mul(power, 1/lift)), where(small, lift, likeConst(power, 1))
	a = a.both(func(u *uop.UOp) *uop.UOp { return mul(div(u, divisor), factor).ContiguousOp() })
	places := isolated(a)
	from := inversePermutations(places).ContiguousOp()
	a = a.both(func(u *uop.UOp) *uop.UOp {
		u = gather(u, 1, expand(from, u.Shape()))
		return gather(u, 2, expand(transpose(from, 1, 2), u.Shape())).ContiguousOp()
	})
	d := balanced(a).ContiguousOp()
	a, rescaled := a.both(func(u *uop.UOp) *uop.UOp { return mul(u, quotientOfScales(transpose(d, 1, 2), d)) }).scaledByPower()
	h, by := hessenberg(a, n-2)
	var q complexPlanes
	if wanted {
		q = by.times(complexEye(a, n, n))
	}
	h, q = quasiTriangular(h, q)
	if n > 2 {
		below := h.both(func(u *uop.UOp) *uop.UOp { return diagonal(u, -1, -2, -1) }).sizeOf()
		longer := mul(block(below, 1, uop.N(0), n-2), block(below, 1, uop.N(1), n-2))
		finite = bitAnd(finite, eq(unsqueeze(maxOf(longer, []int{-1}, true), -1), 0))
	}
	values, h, q, second := triangularised(h, q)
	if wanted {
		vectors = complexOf(dot(q.joined(), triangularVectors(h).joined(), nil))
		vectors = vectors.both(func(u *uop.UOp) *uop.UOp { return gather(mul(u, d), 1, expand(places, u.Shape())) }).normalised()
	}
	if real && wanted {
		alone := unsqueeze(eq(values.im, 0), -2)
		vectors.im = where(alone, 0, vectors.im)
		length := sqrt(sum(vectors.absSquare(), []int{-2}, true)).ContiguousOp()
		vectors = vectors.both(func(u *uop.UOp) *uop.UOp { return div(u, length).ContiguousOp() })
		mirrored := vectors.conjugate().both(func(u *uop.UOp) *uop.UOp { return shifted(u, 2, 1) })
		vectors = chosen(unsqueeze(second, -2), mirrored, vectors)
	}
	for _, by := range []*uop.UOp{rescaled, reciprocal(factor), divisor} {
		values = values.both(func(u *uop.UOp) *uop.UOp { return mul(u, squeeze(by, -1)) })
	}
	values = values.both(func(u *uop.UOp) *uop.UOp { return where(squeeze(finite, -1), u, math.NaN()) })
	if wanted {
		vectors = vectors.orNaN(finite)
	}
	return values, vectors
}

// normalised are vectors, columns (s, n, n), of length 1, the greatest element of which is positive.
func (z complexPlanes) normalised() complexPlanes {
	over := func(z complexPlanes, by *uop.UOp) complexPlanes {
		return z.both(func(u *uop.UOp) *uop.UOp { return div(u, by).ContiguousOp() })
	}
	z = over(z, maxOf(maximum(abs(z.re), abs(z.im)), []int{-2}, true).ContiguousOp())
	squares := z.absSquare().ContiguousOp()
	top := argMaxNaN(squares, -2, true).ContiguousOp()
	head := z.both(func(u *uop.UOp) *uop.UOp { return gather(u, 1, top).ContiguousOp() })
	length := mul(sqrt(head.absSquare()), sqrt(sum(squares, []int{-2}, true)))
	return over(z.times(head.conjugate()), length.ContiguousOp())
}

// Eig are the complex eigenvalues w (…, n) of matrices a (…, n, n), in no particular order, and eigenvectors, the columns of v (…, n, n), with
// a v = v diag(w). The vectors have length 1, and their greatest element is a positive number. Gradients of the vectors are those of functions
// that do not depend on their phases.
func Eig(a *uop.UOp) (values, vectors *uop.UOp, err error) {
	defer guard("Eig", &err)
	values, vectors = eigOf(a, true)
	return values, vectors, nil
}

// EigVals are the complex eigenvalues (…, n) of matrices a (…, n, n), in no particular order.
func EigVals(a *uop.UOp) (values *uop.UOp, err error) {
	defer guard("EigVals", &err)
	values, _ = eigOf(a, false)
	return values, nil
}

func eigOf(a *uop.UOp, wanted bool) (values, vectors *uop.UOp) {
	need("a", a)
	squareSize("a", a)
	a = asFloat(a)
	if !a.DType.IsComplex() && a.DType.Itemsize() < 4 {
		a = cast(a, uop.Float32)
	}
	if s := a.Shape(); s.MaxNumel() == 0 {
		dt := uop.ComplexOf(a.DType)
		return full(a.Graph(), s[:len(s)-1], uop.Int(0), dt), full(a.Graph(), s, uop.Int(0), dt)
	}
	real, results := !a.DType.IsComplex(), 2
	if wanted {
		results = 4
	}
	f := complexFunction("eig", []int64{flag(real), flag(wanted)}, gradientOfEig, a, results, func(z complexPlanes) []*uop.UOp {
		w, v := eig(z, real, wanted)
		return []*uop.UOp{w.re, w.im, v.re, v.im}[:results]
	}, func(k int) []int64 { return []int64{int64(k / 2), int64(k % 2)} })
	if wanted {
		vectors = uop.ComplexPair(f[2], f[3])
	}
	return uop.ComplexPair(f[0], f[1]), vectors
}
