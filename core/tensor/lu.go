package tensor

import (
	"math"

	"polygrad/core/uop"
)

// factored are triangular factors of matrices a (s, m, n) with m >= n: row k of lower @ upper is row pivots[k] of a.
type factored struct {
	// lower (s, m, n) has ones on the diagonal; of it and upper (s, n, n) only the named triangle is valid.
	lower, upper *uop.UOp
	pivots       *uop.UOp // (s, m), int32
	diagonal     *uop.UOp // (s, n), of upper
}

// Rows are not exchanged while a matrix is factored: each column has a pivot among the rows that are open, which closes that row, and
// multiples of it are subtracted from the open rows alone. So columns and multipliers are stored as rows (s, n, m), in which the rows
// of the matrix are neighbours, and put in order in the end.

// pivoted are some columns t (s, w, m) after their pivots were found: elements of the factors, multipliers and the pivots (s, w, 1);
// open (s, 1, m) are the rows that are still open.
type pivoted struct{ t, multipliers, pivots, open *uop.UOp }

// pivotedBlock processes one column after the other. A column of zeros subtracts nothing, so singular matrices stay finite.
func pivotedBlock(t, open *uop.UOp) pivoted {
	stack, w, m := sizes(t)
	g := t.Graph()
	zeros := func(dt *uop.DType, rows, columns int64) *uop.UOp {
		return zeros(t, dt, stack, rows, columns)
	}
	columns, rows := unsqueeze(count0(g, w), -1), count0(g, m)
	states := []*uop.UOp{t, zeros(t.DType, w, m), zeros(uop.Int32, w, 1), open, zeros(t.DType, 1, m), zeros(t.DType, w, 1), zeros(uop.Int32, 1, 1)}
	steps := loop{variable: "column", count: w, lanes: stack >= manyLanes && m <= maxLanes}
	r := steps.run(states, nil, func(b *loopBody, j uop.Sint, s, _ []*uop.UOp) {
		t, multipliers, pivots, open, l, u, p := s[0], s[1], s[2], s[3], s[4], s[5], s[6]
		x := block(t, 1, j, 1)
		b.do(p.AssignTo(argMaxNaN(where(open, abs(x), -1.0), -1, true)))
		b.do(u.AssignTo(gather(t, 2, expand(p, u.Shape()))), block(pivots, 1, j, 1).AssignTo(p), open.AssignTo(bitAnd(open, ne(rows, p))))
		pivot := block(u, 1, j, 1)
		b.do(l.AssignTo(where(open, div(x, where(ne(pivot, 0), pivot, 1)), 0)))
		b.do(t.AssignTo(where(gt(columns, sizeLike(t, j)), sub(t, mul(u, l)), t)), block(multipliers, 1, j, 1).AssignTo(l))
	})
	return pivoted{r[0], r[1], r[2], r[3]}
}

// atPivots are the elements of t (s, w, m) in the rows of pivots (s, k, 1): (s, w, k).
func atPivots(t, pivots *uop.UOp) *uop.UOp {
	s := t.Shape()
	return gather(t, 2, expand(transpose(pivots, -2, -1), uop.Shape{s[0], s[1], pivots.Shape()[1]}))
}

// blockOfColumns is the size of blocks of w columns: narrow ones up to mostNarrow columns, so that a block stays in the first cache while its columns
// are processed; with more columns the products of blocks take most of the time, and wide ones are faster.
func blockOfColumns(t *uop.UOp, w int64) int64 {
	const mostNarrow = 768
	if w <= mostNarrow {
		return equalBlocks(t, w, blockSize/2)
	}
	return blockFor(t, w)
}

// pivotedColumns processes one block of columns after the other.
func pivotedColumns(t, open *uop.UOp) pivoted {
	stack, w, m := sizes(t)
	size := blockOfColumns(t, w)
	if w <= 2*blockSize { // products of two blocks do not pay
		return pivotedBlock(t, open)
	}
	g, blocks := t.Graph(), w/size
	zeros := func(dt *uop.DType, rows, columns int64) *uop.UOp {
		return zeros(t, dt, stack, rows, columns)
	}
	states := []*uop.UOp{t, zeros(t.DType, w, m), zeros(uop.Int32, w, 1), open,
		zeros(t.DType, size, m), zeros(uop.Int32, size, 1), zeros(t.DType, w, size), zeros(t.DType, w, size)}
	numbers := reshape(count0(g, blocks), uop.ShapeOf(blocks, 1, 1))
	r := loop{variable: "block", count: blocks}.run(states, nil, func(b *loopBody, i uop.Sint, s, _ []*uop.UOp) {
		at := i.Mul(uop.N(size))
		split := func(x *uop.UOp) *uop.UOp { return reshape(x, uop.ShapeOf(stack, blocks, size, x.Shape()[2].N)) }
		// later computes columns of the blocks that follow: loops over the others do not run.
		later := func(x, y *uop.UOp) { b.do(x.AssignTo(where(gt(numbers, sizeLike(t, i)), y, x))) }
		here := func(x *uop.UOp) *uop.UOp { return block(x, 1, at, size) }
		t, multipliers, pivots, rows, u := split(s[0]), s[4], s[5], split(s[6]), split(s[7])
		part := pivotedBlock(here(s[0]), s[3])
		b.do(here(s[0]).AssignTo(part.t), multipliers.AssignTo(part.multipliers), pivots.AssignTo(part.pivots), s[3].AssignTo(part.open))
		b.do(here(s[1]).AssignTo(multipliers), here(s[2]).AssignTo(pivots))
		inverse := lowerInverse(transpose(atPivots(multipliers, pivots), -2, -1), true)
		later(rows, split(atPivots(s[0], pivots)))
		later(u, split(dot(s[6], transpose(inverse, -2, -1), nil)))
		later(t, sub(t, split(dot(s[7], multipliers, nil))))
	})
	return pivoted{r[0], r[1], r[2], r[3]}
}

// factor is Gaussian elimination with the largest element of each column as the pivot, of matrices with at least as many rows as columns.
func factor(a *uop.UOp) factored {
	stack, rows, columns := sizes(a)
	m, n := rows, columns
	if rows > maxLanes {
		size := blockOfColumns(a, columns)
		m, n = ceil64(rows, size)*size, ceil64(columns, size)*size
	}
	open := full(a.Graph(), uop.ShapeOf(stack, 1, m), uop.BoolConst(true), uop.Bool)
	r := pivotedColumns(transpose(padded(a, m, n), -2, -1), open)
	p := shrinkTo(r.pivots, uop.ShapeOf(stack, columns, 1))
	if rows > columns {
		p = allRows(p, rows)
	}
	ordered := func(x, p *uop.UOp) *uop.UOp {
		return shrinkTo(transpose(atPivots(x, p), -2, -1), uop.ShapeOf(stack, p.Shape()[1].N, columns))
	}
	first := shrinkTo(p, uop.ShapeOf(stack, columns, 1))
	d := squeeze(gather(shrinkTo(r.t, uop.ShapeOf(stack, columns, m)), 2, first), -1)
	return factored{ordered(r.multipliers, p), ordered(r.t, first), squeeze(p, -1), d}
}

// allRows is the order (s, m, 1) of m rows after row k was exchanged with row p[k], for the n pivots p (s, n, 1).
func allRows(p *uop.UOp, m int64) *uop.UOp {
	stack, n, _ := sizes(p)
	places := count0(p.Graph(), m)
	states := []*uop.UOp{broadcastTo(places, uop.ShapeOf(stack, 1, m)), zeros(p, uop.Int32, stack, 1, 1)}
	r := loop{variable: "row", count: n}.run(states, []*uop.UOp{p}, func(b *loopBody, j uop.Sint, s, read []*uop.UOp) {
		order, first := s[0], s[1]
		pivot := block(read[0], 1, j, 1)
		b.do(first.AssignTo(block(order, 2, j, 1)))
		b.do(order.AssignTo(where(eq(order, pivot), first, where(eq(places, sizeLike(order, j)), pivot, order))))
	})
	return transpose(r[0], -2, -1)
}

// sideBySide is cat, or the only one.
func sideBySide(parts []*uop.UOp, axis int) *uop.UOp {
	if len(parts) == 1 {
		return parts[0]
	}
	return cat(parts, axis)
}

// sign is -1 for an odd permutation, else 1: (s).
func (f factored) sign() *uop.UOp {
	p, dt := f.pivots, f.upper.DType
	rows := count0(p.Graph(), p.Shape()[1].N)
	exchanged := bitAnd(gt(unsqueeze(p, -1), unsqueeze(p, -2)), lt(unsqueeze(rows, -1), rows))
	odd := bitAnd(sum(cast(exchanged, uop.Int32), []int{-2, -1}, false), 1)
	return cast(sub(1, mul(odd, 2)), dt)
}

// asColumns makes a matrix of a right side that is a vector, or a stack of vectors, one for each matrix of a.
func asColumns(a, b *uop.UOp) (columns *uop.UOp, vector bool) {
	as, bs, given := a.Shape(), b.Shape(), b.Shape()
	each := joinShapes(as[:len(as)-2], as[len(as)-1:])
	if vector = len(bs) == 1 || len(bs) > 1 && each.Equal(bs); vector {
		b = unsqueeze(b, -1)
		bs = b.Shape()
	}
	if n := as[len(as)-1]; len(bs) < 2 || bs[len(bs)-2] != n {
		fail("b", "has shape %s, expected (…, %s) or (…, %s, k)", given, n, n)
	}
	if _, ok := broadcastShape(as[:len(as)-2], bs[:len(bs)-2]); !ok {
		fail("b", "has shape %s, expected leading axes that broadcast with those of a, %s", given, as[:len(as)-2])
	}
	return b, vector
}

// factoredFunction is a function of the factors of matrices a (s, n, n), or of their transposes, and of other inputs. The factors are a function of
// their own, which solutions, determinants and their gradients share; for many small matrices, which are interleaved, it is faster to compute them
// again.
func factoredFunction(name string, numbers []int64, n int, a *uop.UOp, transposed bool, inputs []*uop.UOp, body func(f factored, in []*uop.UOp) []*uop.UOp) []*uop.UOp {
	factorOf := func(a *uop.UOp) factored {
		if transposed {
			a = transpose(a, -2, -1)
		}
		return factor(a)
	}
	if stack, size, _ := sizes(a); stack >= manyLanes && size <= maxLanes {
		return function(name, numbers, n, append([]*uop.UOp{a}, inputs...), func(in []*uop.UOp) []*uop.UOp { return body(factorOf(in[0]), in[1:]) })
	}
	f := function("lu", []int64{flag(transposed)}, 4, []*uop.UOp{a}, func(in []*uop.UOp) []*uop.UOp {
		f := factorOf(in[0])
		return []*uop.UOp{transpose(f.lower, -2, -1), transpose(f.upper, -2, -1), f.pivots, f.diagonal} // as they were computed
	})
	return function(name, numbers, n, append(f, inputs...), func(in []*uop.UOp) []*uop.UOp {
		return body(factored{transpose(in[0], -2, -1), transpose(in[1], -2, -1), in[2], in[3]}, in[4:])
	})
}

// inRows reports whether the transposes of matrices are faster to factor: large factorisations go through columns stored as rows, which for a
// transpose are the rows of a.
func inRows(a *uop.UOp) bool {
	_, n, _ := sizes(a)
	return n > 2*blockSize
}

// solved is x (s, n, k) with a x = y, or aᵀ x = y if it is transposed, for the a of the factors.
func (f factored) solved(y *uop.UOp, transposed bool) *uop.UOp {
	pivots := unsqueeze(f.pivots, -1)
	if !transposed {
		y = gather(y, 1, expand(pivots, y.Shape()))
		return triangularSolve(f.upper, triangularSolve(f.lower, y, false, true), true, false)
	}
	y = triangularSolve(transpose(f.upper, -2, -1), y, false, false)
	y = triangularSolve(transpose(f.lower, -2, -1), y, true, true)
	return gather(y, 1, expand(inversePermutations(pivots), y.Shape()))
}

// inversePermutations are the places of 0, 1, … in permutations p (s, n, 1).
func inversePermutations(p *uop.UOp) *uop.UOp {
	steps := count0(p.Graph(), p.Shape()[1].N)
	return sum(where(eq(transpose(p, -2, -1), unsqueeze(steps, -1)), steps, 0), []int{-1}, true)
}

// solve is x with a x = b, or aᵀ x = b, for a (…, n, n) and b (…, n, k).
func solve(a, b *uop.UOp, transposed bool) *uop.UOp {
	x, y, lead := stacked(a, b)
	if y.Shape().MaxNumel() > 0 {
		if own := flattened(a); own.Shape()[0] == x.Shape()[0] {
			x = own
		}
		numbers, turned := []int64{flag(transposed)}, inRows(x)
		y = factoredFunction("solve", numbers, 1, x, turned, []*uop.UOp{y}, func(f factored, in []*uop.UOp) []*uop.UOp {
			return []*uop.UOp{f.solved(in[0], transposed != turned)}
		})[0]
	}
	return customGradient(gradientOfSolve, reshape(y, joinShapes(lead, y.Shape()[1:])), []*uop.UOp{a, b}, []int64{flag(transposed)})
}

// matrixInverse is the inverse of matrices with any leading axes, with its gradient.
func matrixInverse(a *uop.UOp) *uop.UOp {
	squareSize("a", a)
	r := a
	if a.Shape().MaxNumel() > 0 {
		x := flattened(a)
		r = likeStack(factoredFunction("inverse", nil, 1, x, inRows(x), nil, func(f factored, _ []*uop.UOp) []*uop.UOp {
			return []*uop.UOp{f.inverse(nil, inRows(x))}
		})[0], a)
	}
	return customGradient(gradientOfInverse, r, []*uop.UOp{a})
}

// inverse is the inverse (s, n, n) of the a of the factors, or of its transpose if it is transposed. Rows of the inverse of the upper factor, or its
// columns, are multiplied by a scale (s, n, 1); nil is 1.
func (f factored) inverse(scale *uop.UOp, transposed bool) *uop.UOp {
	scaled := func(y *uop.UOp) *uop.UOp {
		if scale != nil {
			y = mul(y, scale)
		}
		return y
	}
	pivots := unsqueeze(f.pivots, -1)
	if transposed {
		y := scaled(lowerInverse(transpose(f.upper, -2, -1), false))
		y = triangularSolve(transpose(f.lower, -2, -1), y, true, true)
		return gather(y, 1, expand(inversePermutations(pivots), y.Shape()))
	}
	y := cast(eq(pivots, count0(f.upper.Graph(), f.upper.Shape()[2].N)), f.upper.DType)
	return triangularSolve(f.upper, scaled(triangularSolve(f.lower, y, false, true)), true, false)
}

// adjugate is the determinant times the inverse, and whether a pivot before the last one is 0 (s, 1, 1). There r is 0, which is the adjugate only if
// the rank is below n - 1. Instead of dividing the determinant by the last pivot, which may be 0, the factor of the last row of the solution is the
// product of the other pivots.
func (f factored) adjugate(transposed bool) (r, early *uop.UOp) {
	d := f.diagonal
	steps := count0(d.Graph(), d.Shape()[1].N)
	last := eq(steps, int(steps.Shape()[0].N-1))
	leading := where(last, 1, d)
	product := mul(f.sign(), prod(leading, []int{-1}, false))
	determinant := mul(product, prod(where(last, d, 1), []int{-1}, false))
	f.upper = where(bitAnd(last, unsqueeze(last, -1)), 1, f.upper)
	r = f.inverse(unsqueeze(where(last, unsqueeze(product, -1), unsqueeze(determinant, -1)), -1), transposed)
	early = unsqueeze(anyOf(eq(leading, 0), []int{-1}, true), -1)
	return where(early, 0, r), early
}

// adjugateTransposed is the determinant times the transposed inverse of matrices of any rank, from the factors that the determinant has. Where a
// pivot before the last one is 0, the transpose is reflected and factored again: no usual null vector is special then, so at rank n - 1 only the last
// pivot is 0. With a reflection q, adj(a)ᵀ = -q adj(q a)ᵀ. The derivatives are those of determinant times inverse.
func adjugateTransposed(a, determinant *uop.UOp) *uop.UOp {
	x := flattened(a)
	rows := inRows(x)
	r := factoredFunction("adjugate", nil, 1, x, rows, []*uop.UOp{x}, func(f factored, in []*uop.UOp) []*uop.UOp {
		r, early := f.adjugate(rows)
		return repeatWhile("singular", []*uop.UOp{early, transpose(r, -2, -1)}, in, func(states, read []*uop.UOp) []*uop.UOp {
			v := unsqueeze(householderVector(read[0], squareSize("a", a)), -1)
			along := func(x *uop.UOp) *uop.UOp { return mul(mul(v, 2), sum(mul(x, v), []int{-2}, true)) }
			r, _ := factor(transpose(sub(read[0], along(read[0])), -2, -1)).adjugate(true)
			r = transpose(r, -2, -1)
			return []*uop.UOp{fullLike(states[0], false), where(states[0], sub(along(r), r), states[1])}
		})[1:]
	})[0]
	return differentiatedAs(likeStack(r, a), mul(unsqueeze(unsqueeze(determinant, -1), -1), transpose(matrixInverse(a), -2, -1)))
}

// householderVector is the vector of a reflection: of length 1, its elements differ and none is small.
func householderVector(a *uop.UOp, n int64) *uop.UOp {
	const golden = 0.6180339887498949
	square := 0.0
	for i := range n {
		x := float64(i) * golden
		square += (1 + x - math.Floor(x)) * (1 + x - math.Floor(x))
	}
	x := mul(cast(count0(a.Graph(), n), uop.Float64), golden)
	return cast(div(add(sub(x, floor(x)), 1), math.Sqrt(square)), a.DType)
}

// diagonalOf is the diagonal of the last two axes.
func diagonalOf(a *uop.UOp) *uop.UOp { return diagonal(a, 0, -2, -1) }

// Solve is x with a x = b for square matrices a (…, n, n) and b of shape (n), (…, n) with the leading axes of a, or (…, n, k).
// Where a is singular, x is infinite or NaN.
func Solve(a, b *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Solve", &err)
	needSame("operands", a, b)
	squareSize("a", a)
	a, b = matchTypes(asFloat(a), asFloat(b))
	b, vector := asColumns(a, b)
	if a.DType.IsComplex() {
		r = onColumns(a, b, func(a, b *uop.UOp) (*uop.UOp, error) { return solve(a, b, false), nil })
	} else {
		r = solve(a, b, false)
	}
	if vector {
		r = squeeze(r, -1)
	}
	return r, nil
}

// Inv is the inverse of square matrices (…, n, n); infinite or NaN where they are singular.
func Inv(a *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Inv", &err)
	need("a", a)
	a = asFloat(a)
	squareSize("a", a)
	return inverseOfMatrices(a), nil
}

// inverseOfMatrices is matrixInverse, of complex matrices too.
func inverseOfMatrices(a *uop.UOp) *uop.UOp {
	if a.DType.IsComplex() {
		return onBlocks(a, func(a *uop.UOp) (*uop.UOp, error) { return matrixInverse(a), nil })
	}
	return matrixInverse(a)
}

// determinants gives what of computes from the diagonal of the upper factors, its sign multiplied by that of the permutation.
func determinants(a *uop.UOp, of func(diagonal *uop.UOp) (sign, value *uop.UOp)) (sign, value *uop.UOp) {
	squareSize("a", a)
	if a.Shape().MaxNumel() == 0 {
		lead := a.Shape()[:len(a.Shape())-2]
		return of(full(a.Graph(), joinShapes(lead, uop.ShapeOf(0)), uop.Int(1), a.DType))
	}
	x := flattened(a)
	f := factoredFunction("determinant", nil, 2, x, inRows(x), nil, func(f factored, _ []*uop.UOp) []*uop.UOp {
		return []*uop.UOp{f.sign(), f.diagonal}
	})
	sign, value = of(f[1])
	lead := a.Shape()[:len(a.Shape())-2]
	return reshape(mul(f[0], sign), lead), reshape(value, lead)
}

// Det is the determinant of square matrices (…, n, n). Its gradient is right for singular matrices, too.
func Det(a *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Det", &err)
	need("a", a)
	a = asFloat(a)
	if a.DType.IsComplex() {
		r, _ = determinantOfComplex(a, false)
		return r, nil
	}
	sign, value := determinants(a, func(d *uop.UOp) (sign, value *uop.UOp) {
		p := prod(d, []int{-1}, false)
		return fullLike(p, 1), p
	})
	return customGradient(gradientOfDeterminant, mul(sign, value), []*uop.UOp{a}, []int64{0}), nil
}

// SlogDet is the sign of the determinant and the logarithm of its absolute value, which cannot overflow.
func SlogDet(a *uop.UOp) (signs, logs *uop.UOp, err error) {
	defer guard("SlogDet", &err)
	need("a", a)
	a = asFloat(a)
	if a.DType.IsComplex() {
		signs, logs = determinantOfComplex(a, true)
		return signs, logs, nil
	}
	signs, logs = determinants(a, func(d *uop.UOp) (s, value *uop.UOp) {
		return prod(sign(d), []int{-1}, false), sum(log(abs(d)), []int{-1}, false)
	})
	return detach(signs), customGradient(gradientOfDeterminant, logs, []*uop.UOp{a}, []int64{1}), nil
}
