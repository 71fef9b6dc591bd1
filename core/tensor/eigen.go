package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Eigenvalues of general matrices. A matrix is balanced, reflections make it a Hessenberg matrix, and rotations by the QR algorithm with
// implicit shifts a triangular one (Watkins, The matrix eigenvalue problem, 2007). A rotation creates a bulge below the subdiagonal, which
// further ones move down a diagonal block and out of it. A step moves all bulges of a matrix by one row: several follow one another at a
// distance of two rows, and blocks between which the subdiagonal is 0 have their own.

// hessenberg are upper Hessenberg matrices h and unitary q with a = q h qᴴ for a (s, n, n), whose greatest element must be near 1. n - 2 columns
// are reduced to it; n - 1 make the last element of the subdiagonal real, too.
func hessenberg(a complexPlanes, columns int64) (h complexPlanes, q complexReflections) {
	stack, n, _ := sizes(a.re)
	rows := unsqueeze(count0(a.re.Graph(), n), -1)
	columns = max(columns, 0)
	k := max(columns, 1)
	states := []*uop.UOp{a.re, a.im}
	for _, shape := range [][]int64{{stack, k, n}, {stack, k, 1}, {stack, n, 1}, {stack, 1, n}, {stack, 1, 1}, {stack, 1, 1}, {stack, 1, n}, {stack, n, 1}} {
		states = append(states, complexZeros(a, shape...)...)
	}
	last := len(states)
	states = append(states, zeros(a.re, a.re.DType, stack, 1, 1))
	out := loop{"column", columns, false}.run(states, nil, func(b *loopBody, j uop.Sint, s, _ []*uop.UOp) {
		z := complexStates(s[:last])
		a, all, factors, v, row, tau, head, w, p := z[0], z[1], z[2], z[3], z[4], z[5], z[6], z[7], z[8]
		findReflector(b, blockOf(a, 2, j, 1), v, tau, head, s[last], rows, sizeLike(a.re, j.Add(uop.N(1))), -2)
		b.do(append(blockOf(factors, 1, j, 1).assigned(tau), row.assigned(v.transposed())...)...)
		b.do(blockOf(all, 1, j, 1).assigned(row)...)
		reflectRows(b, a, v, tau.conjugate(), w)
		reflectColumns(b, a, row, tau, p)
	})
	z := complexStates(out[:6])
	return z[0], complexReflections{z[1], z[2]}
}

const (
	// balanceSweeps is how often each row and column is scaled at most.
	balanceSweeps = 8
	// rowsPerBulge: a block has so many rows for each of the bulges that follow one another.
	rowsPerBulge = 4
	// exceptionalTrain is how many trains have the usual shifts before one has another, which ends a cycle.
	exceptionalTrain = 11
)

// balanced are powers of two d (s, n, 1) for which the rows and columns of a d[j] / d[i] have similar sums (Osborne, On pre-conditioning of
// matrices, 1960; the criterion is LAPACK's).
func balanced(a complexPlanes) *uop.UOp {
	stack, n, _ := sizes(a.re)
	at := unsqueeze(count0(a.re.Graph(), n), -1)
	size := where(eq(at, count0(a.re.Graph(), n)), 0, a.abs()).ContiguousOp()
	one := zeros(a.re, a.re.DType, stack, 1, 1)
	exponent, _ := a.re.DType.FloatInfo()
	bits := 1<<(exponent-2) - 4 // the quotient of two scales has no overflow
	d := constant(a.re, a.re.DType, uop.Int(1)).Reshape(onesShape(3)).Expand(uop.ShapeOf(stack, n, 1))
	steps := loop{"row", n * balanceSweeps, false}
	out := steps.run([]*uop.UOp{d, one, one, one}, []*uop.UOp{size}, func(b *loopBody, i uop.Sint, s, read []*uop.UOp) {
		d, column, row, own := s[0], s[1], s[2], s[3]
		k := sizeModulo(i, n)
		b.do(own.AssignTo(block(d, 1, k, 1)))
		b.do(column.AssignTo(mul(own, sum(div(block(read[0], 2, k, 1), d), []int{1}, true))))
		b.do(row.AssignTo(div(sum(mul(block(read[0], 1, k, 1), transpose(d, 1, 2)), []int{2}, true), own)))
		some := bitAnd(gt(column, 0), gt(row, 0))
		c, r := where(some, column, 1), where(some, row, 1)
		// The power of two near sqrt(r / c).
		f := exp2(round(mul(0.5, sub(log2(r), log2(c)))))
		next := mul(own, f)
		within := bitAnd(ge(next, math.Ldexp(1, -bits)), le(next, math.Ldexp(1, bits)))
		better := bitAnd(lt(add(mul(c, f), div(r, f)), mul(0.95, add(c, r))), within)
		b.do(d.AssignTo(where(bitAnd(eq(at, sizeLike(d, k)), bitAnd(some, better)), next, d)))
	})
	return out[0]
}

// subdiagonal is the view of the elements (s, n-k) that are k rows below the diagonal of h (s, n, n).
func subdiagonal(h *uop.UOp, k int64) *uop.UOp {
	stack, n, _ := sizes(h)
	lines := reshape(block(reshape(h, uop.ShapeOf(stack, n*n)), 1, uop.N((k-1)*n), (n-k)*(n+1)), uop.ShapeOf(stack, n-k, n+1))
	return reshape(block(lines, 2, uop.N(n), 1), uop.ShapeOf(stack, n-k))
}

// shifted is x with each element at another position of an axis, by places further, and 0 where there is none.
func shifted(x *uop.UOp, axis int, by int64) *uop.UOp {
	n := x.Shape()[axis].N
	if by > 0 {
		return padAxis(shrinkAxis(x, axis, uop.N(0), uop.N(n-by)), axis, by, 0, 0)
	}
	return padAxis(shrinkAxis(x, axis, uop.N(-by), uop.N(n)), axis, 0, -by, 0)
}

// rotatedPairs applies disjoint rotations of pairs of neighbours along an axis, of which own and other (s, n) are the factors of each one and of
// its partner: the one before it where it is the lower one, else the one after it.
func (z complexPlanes) rotatedPairs(axis int, own, other complexPlanes, lower *uop.UOp) complexPlanes {
	wide := func(u *uop.UOp) *uop.UOp { return unsqueeze(u, 3-axis) }
	partner := z.both(func(u *uop.UOp) *uop.UOp {
		return where(wide(lower), shifted(u, axis, 1), shifted(u, axis, -1))
	})
	return own.both(wide).times(z).plus(other.both(wide).times(partner))
}

// A schurState names the states of the steps of the QR algorithm on Hessenberg matrices (s, n, n). Position k stands for rows k and k+1.
type schurState struct {
	going                   *uop.UOp      // whether there are blocks left
	h, scratch, q           complexPlanes // (s, n, n): a = q h qᴴ
	small                   *uop.UOp      // bool (s, n): element k+1, k is negligible
	bulges                  *uop.UOp      // int32 (s, n): the next rotation of k moves a bulge
	linked                  *uop.UOp      // int32 (s, n): k and k+1 are rows of one block
	last, busy              *uop.UOp      // int32 (s, n): the last row of the block, and the number of bulges from here to there
	left, trains            *uop.UOp      // int32 (s, n), of a block that starts here: bulges to come of its train, and trains up to now
	begin                   *uop.UOp      // int32 (s, n): a bulge is made here
	shift, a, b, own, other complexPlanes // (s, n): its shift, the rotation, and what it means for a row
	lower                   *uop.UOp      // bool (s, n): the row is the second one of a rotation
}

// triangularised are upper triangular matrices h and unitary q with a = q h qᴴ for Hessenberg matrices a (s, n, n). Those that do not converge
// have a subdiagonal.
func triangularised(a complexPlanes, q complexPlanes) (h, vectors complexPlanes) {
	stack, n, _ := sizes(a.re)
	if n == 1 {
		return a, q
	}
	dt := a.re.DType
	flags := func(dt *uop.DType) *uop.UOp { return zeros(a.re, dt, stack, n) }
	matrix := zeros(a.re, dt, stack, n, n)
	yes := constant(a.re, uop.Bool, uop.BoolConst(true)).Reshape(onesShape(1))
	states := []*uop.UOp{yes, a.re, a.im, matrix, matrix, q.re, q.im, flags(uop.Bool), flags(uop.Bool)}
	for range 7 {
		states = append(states, flags(uop.Int32))
	}
	for range 10 {
		states = append(states, flags(dt))
	}
	at := count0(a.re.Graph(), n)
	_, digits := dt.FloatInfo()
	epsilon := math.Ldexp(1, -digits)
	steps := loop{"rotation", 40*n*n + 1000, false}
	out := steps.runWhile(1, states, nil, func(b *loopBody, _ uop.Sint, s, _ []*uop.UOp) {
		z := complexStates(s[1:7])
		more := complexStates(s[16:])
		t := schurState{
			s[0], z[0], z[1], z[2], s[7], s[9], s[10], s[11], s[12], s[13], s[14], s[15],
			more[0], more[1], more[2], more[3], more[4], s[8],
		}
		t.findBlocks(b, at, epsilon)
		t.findShifts(b, at)
		t.rotate(b, at)
		b.do(t.going.AssignTo(ne(reshape(maxOf(t.linked, nil, false), uop.ShapeOf(1)), 0)))
	})
	return complexPlanes{out[1], out[2]}, complexPlanes{out[5], out[6]}
}

// below are the planes of the elements k rows below the diagonal, (s, n), at the positions of their columns.
func (t schurState) below(k int64) complexPlanes {
	return t.h.both(func(u *uop.UOp) *uop.UOp { return padAxis(subdiagonal(u, k), 1, 0, k, 0) })
}

func (t schurState) diagonal() complexPlanes { return t.h.both(diagonalOf) }

// sizeOf is |re| + |im|.
func (z complexPlanes) sizeOf() *uop.UOp { return add(abs(z.re), abs(z.im)) }

// findBlocks sets negligible elements of the subdiagonal to 0, where there is no bulge, and finds the blocks.
func (t schurState) findBlocks(b *loopBody, at *uop.UOp, epsilon float64) {
	n := t.bulges.Shape()[1].N
	d, subdiagonal := t.diagonal().sizeOf(), t.below(1).sizeOf()
	neighbours := add(d, shifted(d, 1, -1))
	neighbours = where(eq(neighbours, 0), add(shifted(subdiagonal, 1, 1), shifted(subdiagonal, 1, -1)), neighbours)
	bulge := add(t.bulges, add(shifted(t.bulges, 1, 1), shifted(t.bulges, 1, -1)))
	b.do(t.small.AssignTo(bitAnd(le(subdiagonal, mul(epsilon, neighbours)), eq(bulge, 0))))
	negligible := bitAnd(eq(unsqueeze(at, -1), add(at, 1)), unsqueeze(t.small, -2))
	b.do(t.h.assigned(t.h.both(func(u *uop.UOp) *uop.UOp { return where(negligible, 0, u) }))...)
	link := bitOr(ne(t.below(1).sizeOf(), 0), bitOr(ne(t.bulges, 0), ne(shifted(t.bulges, 1, -1), 0)))
	b.do(t.linked.AssignTo(cast(bitAnd(link, lt(at, int(n-1))), uop.Int32)))
	from := unsqueeze(at, -1)
	end := where(bitAnd(ge(at, from), eq(unsqueeze(t.linked, -2), 0)), at, int(n-1))
	b.do(t.last.AssignTo(cast(minOf(end, []int{-1}, false), uop.Int32)))
	inside := bitAnd(ge(at, from), le(at, unsqueeze(t.last, -1)))
	b.do(t.busy.AssignTo(sum(where(inside, unsqueeze(t.bulges, -2), 0), []int{-1}, false)))
}

// findShifts starts bulges. The shifts of a train are the eigenvalues of the blocks of two rows at the end, from the last one on; a single
// one is Wilkinson's.
func (t schurState) findShifts(b *loopBody, at *uop.UOp) {
	first := bitAnd(ne(t.linked, 0), eq(shifted(t.linked, 1, 1), 0))
	again := bitAnd(first, eq(t.busy, 0))
	rows := add(sub(t.last, at), 1)
	train := maximum(floorDiv(rows, rowsPerBulge), 1)
	b.do(t.left.AssignTo(where(again, train, t.left)), t.trains.AssignTo(where(again, add(t.trains, 1), t.trains)))
	start := bitAnd(bitAnd(first, gt(t.left, 0)), bitAnd(eq(t.bulges, 0), eq(shifted(t.bulges, 1, -1), 0)))
	b.do(t.begin.AssignTo(cast(start, uop.Int32)))
	number := maximum(sub(train, t.left), 0)
	j := sub(t.last, mul(floorDiv(number, 2), 2))
	j = maximum(where(le(sub(j, 1), at), t.last, j), 1)
	take := func(z complexPlanes, at *uop.UOp) complexPlanes {
		return z.both(func(u *uop.UOp) *uop.UOp { return gather(u, 1, at) })
	}
	above := t.h.both(func(u *uop.UOp) *uop.UOp { return padAxis(diagonal(u, 1, -2, -1), 1, 0, 1, 0) })
	before := sub(j, 1)
	d, under := t.diagonal(), t.below(1)
	x, y := take(d, before), take(d, j)
	half := x.minus(y).both(func(u *uop.UOp) *uop.UOp { return mul(u, 0.5) })
	root := half.times(half).plus(take(under, before).times(take(above, before))).sqrt()
	// The root that is nearer to the last element is the one with the sign opposite to the half difference.
	along := lt(add(mul(half.re, root.re), mul(half.im, root.im)), 0)
	plus := where(eq(train, 1), along, eq(bitAnd(number, 1), 1))
	root = root.both(func(u *uop.UOp) *uop.UOp { return where(plus, u, neg(u)) })
	shift := y.plus(half).plus(root)
	exceptional := eq(mod(t.trains, exceptionalTrain), 0)
	shift.re = where(exceptional, add(y.re, take(under, before).sizeOf()), shift.re)
	shift.im = where(exceptional, y.im, shift.im)
	b.do(t.shift.assigned(shift)...)
	b.do(t.left.AssignTo(sub(t.left, t.begin)))
}

// rotate rotates the pairs with bulges.
func (t schurState) rotate(b *loopBody, at *uop.UOp) {
	n := t.bulges.Shape()[1].N
	begin := ne(t.begin, 0)
	moving := ne(add(t.bulges, t.begin), 0)
	back := func(z complexPlanes) complexPlanes {
		return z.both(func(u *uop.UOp) *uop.UOp { return shifted(u, 1, 1) })
	}
	choose := func(c *uop.UOp, z, w complexPlanes) complexPlanes {
		return complexPlanes{where(c, z.re, w.re), where(c, z.im, w.im)}
	}
	under, two := t.below(1), complexPlanes{fullLike(t.shift.re, 0), fullLike(t.shift.re, 0)}
	if n > 2 {
		two = t.below(2)
	}
	x := choose(begin, t.diagonal().minus(t.shift), back(under))
	y := choose(begin, under, back(two))
	greatest := maximum(x.sizeOf(), y.sizeOf())
	least, _ := t.shift.re.DType.FloatInfo()
	some := bitAnd(moving, gt(greatest, math.Ldexp(1, 2-1<<(least-1))))
	scale := where(some, greatest, 1)
	scaled := func(z complexPlanes) complexPlanes {
		return z.both(func(u *uop.UOp) *uop.UOp { return div(u, scale) })
	}
	x, y = scaled(x), scaled(y)
	length := where(some, sqrt(add(x.absSquare(), y.absSquare())), 1)
	factor := func(z complexPlanes, otherwise int) complexPlanes {
		return complexPlanes{where(some, div(z.re, length), otherwise), where(some, neg(div(z.im, length)), 0)}
	}
	b.do(append(t.a.assigned(factor(x, 1)), t.b.assigned(factor(y, 0))...)...)
	second := ne(shifted(add(t.bulges, t.begin), 1, 1), 0)
	one := complexPlanes{likeConst(t.shift.re, 1), likeConst(t.shift.re, 0)}
	zero := complexPlanes{one.im, one.im}
	b.do(append(t.own.assigned(choose(second, back(t.a).conjugate(), choose(moving, t.a, one))), t.lower.AssignTo(second))...)
	minus := back(t.b).conjugate().both(neg)
	b.do(t.other.assigned(choose(second, minus, choose(moving, t.b, zero)))...)
	b.do(t.scratch.assigned(t.h.rotatedPairs(1, t.own, t.other, t.lower))...)
	// Below the subdiagonal are only the new bulges.
	row, column := unsqueeze(at, -1), at
	keep := bitOr(le(row, add(column, 1)), bitAnd(eq(row, add(column, 2)), unsqueeze(moving, -2)))
	next := t.scratch.rotatedPairs(2, t.own.conjugate(), t.other.conjugate(), t.lower)
	b.do(t.h.assigned(next.both(func(u *uop.UOp) *uop.UOp { return where(keep, u, 0) }))...)
	q := blockOf(t.scratch, 1, uop.N(0), t.q.re.Shape()[1].N)
	b.do(q.assigned(t.q.rotatedPairs(2, t.own.conjugate(), t.other.conjugate(), t.lower))...)
	b.do(t.q.assigned(q)...)
	if n == 2 {
		b.do(t.bulges.AssignTo(fullLike(t.bulges, 0)))
		return
	}
	goes := bitOr(ne(shifted(t.below(1).sizeOf(), 1, -1), 0), ne(t.below(2).sizeOf(), 0))
	b.do(t.begin.AssignTo(cast(bitAnd(bitAnd(goes, moving), lt(at, int(n-2))), uop.Int32)))
	b.do(t.bulges.AssignTo(shifted(t.begin, 1, 1)))
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
	out := loop{"row", n - 1, false}.run(states, read, func(b *loopBody, i uop.Sint, s, read []*uop.UOp) {
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
	stack, n, _ := sizes(a.re)
	finite := a.finite()
	a, scale := a.both(func(u *uop.UOp) *uop.UOp { return where(finite, u, 0) }).scaledByPower()
	d := balanced(a).ContiguousOp()
	a, rescaled := a.both(func(u *uop.UOp) *uop.UOp { return mul(u, div(transpose(d, 1, 2), d)) }).scaledByPower()
	h, by := hessenberg(a, n-2)
	q := complexEye(a, 1, n)
	if wanted {
		q = by.times(complexEye(a, n, n))
	}
	h, q = triangularised(h, q)
	if n > 1 {
		under := maxOf(h.both(func(u *uop.UOp) *uop.UOp { return subdiagonal(u, 1) }).sizeOf(), []int{-1}, false)
		finite = bitAnd(finite, reshape(eq(under, 0), uop.ShapeOf(stack, 1, 1)))
	}
	values = h.both(func(u *uop.UOp) *uop.UOp { return diagonalOf(u).ContiguousOp() })
	if wanted {
		vectors = complexOf(dot(q.joined(), triangularVectors(h).joined(), nil))
		vectors = vectors.both(func(u *uop.UOp) *uop.UOp { return mul(u, d) }).normalised()
	}
	if real {
		// A number is the mean with the conjugate of the one that is nearest to its conjugate, which is itself if it is real.
		row := values.both(func(u *uop.UOp) *uop.UOp { return unsqueeze(u, -2) })
		column := values.both(func(u *uop.UOp) *uop.UOp { return unsqueeze(u, -1) })
		partner := argMaxNaN(neg(column.minus(row.conjugate()).absSquare()), -1, false).ContiguousOp()
		alone := eq(partner, count0(a.re.Graph(), n))
		mean := values.both(func(u *uop.UOp) *uop.UOp { return gather(u, 1, partner) }).conjugate().plus(values)
		values = complexPlanes{mul(mean.re, 0.5), where(alone, 0, mul(mean.im, 0.5))}
		if wanted {
			vectors.im = where(unsqueeze(alone, -2), 0, vectors.im)
			length := sqrt(sum(vectors.absSquare(), []int{-2}, true)).ContiguousOp()
			vectors = vectors.both(func(u *uop.UOp) *uop.UOp { return div(u, length) })
		}
	}
	scale = squeeze(mul(scale, rescaled), -1)
	values = values.both(func(u *uop.UOp) *uop.UOp { return where(squeeze(finite, -1), mul(u, scale), math.NaN()) })
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
