package tensor

import (
	"math"

	"polygrad/core/uop"
)

// squareSize is n of matrices of shape (…, n, n).
func squareSize(arg string, x *uop.UOp) int64 {
	s := x.Shape()
	if len(s) < 2 || s[len(s)-1] != s[len(s)-2] {
		fail(arg, "has shape %s, expected square matrices (…, n, n)", s)
	}
	return intSize(arg, s, len(s)-1)
}

// Factorisations work on blocks: those on the diagonal are factored and inverted column by column, the others are matrix products. Columns and blocks
// are iterations of a REPEAT, so that the graph stays small.
const (
	blockSize = 32
	// The last block has up to mostInOne rows; up to fewBlocks blocks are unrolled in the graph.
	mostInOne, fewBlocks = blockSize * 3 / 2, 8
	// A batch of at least manyLanes matrices that are no larger than maxLanes is computed with one matrix in each vector lane.
	manyLanes, maxLanes = 16, 32
	// maxPanels is the greatest number of panels of a matrix: they are unrolled in the graph, as each is smaller than the one before.
	maxPanels = 8
	// From manyColumns right-hand sides on, they are multiplied by inverses of diagonal blocks.
	manyColumns = 64
)

// flattened is a stack of matrices with one leading axis.
func flattened(a *uop.UOp) *uop.UOp {
	s := a.Shape()
	intShape("a", s)
	return reshape(a, joinShapes(uop.ShapeOf(s[:len(s)-2].MaxNumel()), s[len(s)-2:]))
}

// likeStack gives a stack of matrices the leading axes of another one.
func likeStack(x, a *uop.UOp) *uop.UOp {
	s := a.Shape()
	return reshape(x, joinShapes(s[:len(s)-2], x.Shape()[1:]))
}

// sizes are the numbers of matrices (s, m, n), and of their rows and columns.
func sizes(a *uop.UOp) (stack, m, n int64) {
	s := a.Shape()
	return s[0].N, s[1].N, s[2].N
}

// eliminated is Gaussian elimination without row exchanges of a (s, n, m): symmetric matrices, of which only upper triangles are read, and further
// columns beside them. The result is upper triangular; below the diagonal are meaningless remainders. Pivots that are not positive give NaN.
func eliminated(a *uop.UOp) *uop.UOp {
	stack, n, m := sizes(a)
	rows := unsqueeze(count0(a.Graph(), n), -1)
	c := zeros(a, a.DType, stack, n, 1)
	w := zeros(a, a.DType, stack, 1, m)
	steps := loop{variable: "column", count: n, lanes: stack >= manyLanes && n*m <= maxLanes*maxLanes}
	return steps.run([]*uop.UOp{a, c, w}, nil, func(b *loopBody, j uop.Sint, s, _ []*uop.UOp) {
		a, c, w := s[0], s[1], s[2]
		row := block(a, 1, j, 1)
		pivot := block(row, 2, j, 1)
		pivot = where(gt(pivot, 0), pivot, math.NaN())
		column := transpose(block(row, 2, uop.N(0), n), -2, -1)
		b.do(c.AssignTo(where(gt(rows, sizeLike(a, j)), div(column, pivot), 0)), w.AssignTo(row))
		b.do(a.AssignTo(where(gt(rows, sizeLike(a, j)), sub(a, mul(c, w)), a)))
	})[0]
}

// choleskyBlock is the factor of a stack of matrices, and its inverse if that is asked for. Only lower triangles are read.
func choleskyBlock(a *uop.UOp, inverse bool) (l, inv *uop.UOp) {
	_, n, _ := sizes(a)
	rows, columns := unsqueeze(count0(a.Graph(), n), -1), count0(a.Graph(), n)
	u := transpose(a, -2, -1)
	if inverse {
		u = cat([]*uop.UOp{u, identityLike(u, n)}, -1)
	}
	u = eliminated(u)
	root := unsqueeze(sqrt(diagonalOf(shrinkTo(u, a.Shape()))), -2)
	l = where(ge(rows, columns), div(transpose(shrinkTo(u, a.Shape()), -2, -1), root), 0)
	if inverse {
		inv = where(ge(rows, columns), div(shrinkAxis(u, 2, uop.N(n), uop.N(2*n)), transpose(root, -2, -1)), 0)
	}
	return l, inv
}

// choleskyPanel gives the first n columns of the factor of matrices (s, m, m), m >= n, from their first n columns a (s, m, n).
func choleskyPanel(a *uop.UOp) *uop.UOp {
	stack, m, n := sizes(a)
	g, size := a.Graph(), int64(blockSize)
	zeros := func(rows, columns int64) *uop.UOp {
		return zeros(a, a.DType, stack, rows, columns)
	}
	rows := unsqueeze(count0(g, m), -1)
	states := []*uop.UOp{zeros(m, n), zeros(m, size), zeros(size, size), zeros(size, size)}
	return loop{variable: "block", count: n / size}.run(states, []*uop.UOp{a}, func(b *loopBody, i uop.Sint, s, read []*uop.UOp) {
		x, c, l, inv := s[0], s[1], s[2], s[3]
		at := i.Mul(uop.N(size))
		b.do(c.AssignTo(sub(block(read[0], 2, at, size), dot(x, transpose(block(x, 1, at, size), -2, -1), nil))))
		factor, inverse := choleskyBlock(block(c, 1, at, size), true)
		b.do(l.AssignTo(factor), inv.AssignTo(inverse))
		below := ge(rows, sizeLike(a, at.Add(uop.N(size))))
		b.do(block(x, 2, at, size).AssignTo(where(below, dot(c, transpose(inv, -2, -1), nil), 0)))
		b.do(block(block(x, 1, at, size), 2, at, size).AssignTo(l))
	})[0]
}

// blockFor is the size of equal blocks of n rows of a that have at most blockSize rows.
func blockFor(a *uop.UOp, n int64) int64 { return equalBlocks(a, n, blockSize) }

// equalBlocks is the size of blocks of n rows of a: as few as possible of at most the given number of rows, equally large, rounded up to vectors of
// 32 bytes.
func equalBlocks(a *uop.UOp, n, most int64) int64 {
	lanes := 32 / int64(a.DType.Itemsize())
	return ceil64(ceil64(n, ceil64(n, most)), lanes) * lanes
}

// panelSize is the number of columns of the panels of a matrix of n columns, a multiple of blockSize: at least four blocks, as each panel has kernels
// of its own.
func panelSize(n int64) int64 {
	return max(ceil64(ceil64(n, maxPanels), blockSize)*blockSize, min(ceil64(n, blockSize), 4)*blockSize)
}

// padded makes matrices (s, m, n) larger: ones on the diagonal, else zeros.
func padded(a *uop.UOp, m, n int64) *uop.UOp {
	_, rows, columns := sizes(a)
	if rows == m && columns == n {
		return a
	}
	a = padTo(a, uop.ShapeOf(a.Shape()[0].N, m, n))
	r, c := unsqueeze(count0(a.Graph(), m), -1), count0(a.Graph(), n)
	return where(bitAnd(eq(r, c), ge(c, int(columns))), 1, a)
}

// cholesky is the triangular factor of matrices: by choleskyBlocks, or for many blocks by choleskyPanels, which subtracts the contribution of all
// panels to the left from a panel before it is factored.
func cholesky(a *uop.UOp, upper bool) *uop.UOp {
	n := squareSize("x", a)
	if a.Shape().MaxNumel() == 0 {
		return a
	}
	return likeStack(function("cholesky", []int64{flag(upper)}, 1, []*uop.UOp{flattened(a)}, func(in []*uop.UOp) []*uop.UOp {
		x := in[0]
		if upper {
			x = transpose(x, -2, -1)
		}
		l := choleskyPanels
		if n <= fewBlocks*blockSize {
			l = choleskyBlocks
		}
		x = l(x)
		if upper {
			x = transpose(x, -2, -1)
		}
		return []*uop.UOp{x}
	})[0], a)
}

// choleskyBlocks factors a few blocks of columns from left to right: the product of each block with its transpose is subtracted from all that is
// right of it.
func choleskyBlocks(a *uop.UOp) *uop.UOp {
	_, n, _ := sizes(a)
	size := blockFor(a, n)
	rest := a
	part := func(row, rows, column, columns int64) *uop.UOp {
		return block(block(rest, 1, uop.N(row), rows), 2, uop.N(column), columns)
	}
	var columns []*uop.UOp
	for at := int64(0); ; at += size {
		left := n - at
		if left <= mostInOne {
			l, _ := choleskyBlock(rest, false)
			return sideBySide(append(columns, padAxis(l, 1, at, 0, 0)), 2)
		}
		l, inverse := choleskyBlock(part(0, size, 0, size).ContiguousOp(), true)
		below := dot(part(size, left-size, 0, size), transpose(inverse, -2, -1), nil).ContiguousOp()
		columns = append(columns, padAxis(cat([]*uop.UOp{l, below}, 1), 1, at, 0, 0))
		rest = sub(part(size, left-size, size, left-size), dot(below, transpose(below, -2, -1), nil)).ContiguousOp()
	}
}

func choleskyPanels(a *uop.UOp) *uop.UOp {
	stack, n, _ := sizes(a)
	m, width := ceil64(n, blockSize)*blockSize, panelSize(n)
	rest := padded(a, m, m)
	var panels []*uop.UOp // the rows that are left
	var columns []*uop.UOp
	for at := int64(0); at < m; at += width {
		width := min(width, m-at)
		p := shrink(rest, []uop.Pair{{Hi: uop.N(stack)}, {Lo: uop.N(at), Hi: uop.N(m)}, {Lo: uop.N(at), Hi: uop.N(at + width)}})
		if at > 0 {
			left := panels[0]
			if len(panels) > 1 {
				left = cat(panels, -1)
			}
			p = sub(p, dot(left, transpose(shrinkAxis(left, 1, uop.N(0), uop.N(width)), -2, -1), nil))
		}
		p = choleskyPanel(p)
		columns = append(columns, padAxis(p, 1, at, 0, 0))
		panels = append(panels, p)
		for i, q := range panels {
			panels[i] = shrinkAxis(q, 1, uop.N(width), q.Shape()[1])
		}
	}
	return shrinkTo(cat(columns, -1), a.Shape())
}

// lowerInverse is the inverse of lower triangular matrices (s, n, n), of which only that triangle is read: of blocks on the diagonal
// by elimination, then of blocks twice as large by products, and so on.
func lowerInverse(a *uop.UOp, unit bool) *uop.UOp {
	stack, n, _ := sizes(a)
	blocks := int64(1)
	for ceil64(n, blocks) > blockSize {
		blocks *= 2
	}
	size := ceil64(n, blocks)
	a = padded(a, size*blocks, size*blocks)
	d := diagonal(reshape(a, uop.ShapeOf(stack, blocks, size, blocks, size)), 0, 1, 3)
	d = reshape(permute(d, []int{0, 3, 1, 2}), uop.ShapeOf(stack*blocks, size, size))
	x := lowerSolve(d, identityLike(d, size), unit)
	for ; blocks > 1; size, blocks = 2*size, blocks/2 {
		pairs := diagonal(reshape(a, uop.ShapeOf(stack, blocks/2, 2*size, blocks/2, 2*size)), 0, 1, 3)
		pairs = reshape(permute(pairs, []int{0, 3, 1, 2}), uop.ShapeOf(stack*blocks/2, 2*size, 2*size))
		below := block(block(pairs, 1, uop.N(size), size), 2, uop.N(0), size)
		x = reshape(x, uop.ShapeOf(stack*blocks/2, 2, size, size))
		first, second := index(x, Whole(), At(0)), index(x, Whole(), At(1))
		corner := neg(dot(second, dot(below, first, nil), nil))
		x = cat([]*uop.UOp{padAxis(first, 2, 0, size, 0), cat([]*uop.UOp{corner, second}, 2)}, 1)
	}
	return shrinkTo(x, uop.ShapeOf(stack, n, n))
}

// leastWide is the number of right-hand sides from which vectors run along them rather than along the rows.
const leastWide = 7

// lowerSolve is x with a x = b for small lower triangular matrices (s, n, n) and b (s, n, k): multiples of each element of x are
// subtracted from those below it.
func lowerSolve(a, b *uop.UOp, unit bool) *uop.UOp {
	stack, n, k := sizes(b)
	rows, columns := unsqueeze(count0(a.Graph(), n), -1), count0(a.Graph(), n)
	d := unsqueeze(diagonalOf(a), -2)
	if !unit {
		a = div(a, d)
	}
	a = transpose(where(gt(rows, columns), a, 0), -2, -1)
	lanes := stack >= manyLanes && k <= maxLanes
	steps := loop{variable: "column", count: n - 1, lanes: lanes}
	var x *uop.UOp
	if lanes || k >= leastWide { // vectors run along the right-hand sides, or along the matrices of the batch
		x = steps.run([]*uop.UOp{b, zeros(b, b.DType, stack, 1, k)}, []*uop.UOp{a}, func(l *loopBody, j uop.Sint, s, read []*uop.UOp) {
			l.do(s[1].AssignTo(block(s[0], 1, j, 1)))
			less := sub(s[0], mul(transpose(block(read[0], 1, j, 1), -2, -1), s[1]))
			l.do(s[0].AssignTo(where(gt(rows, sizeLike(b, j)), less, s[0])))
		})[0]
	} else {
		t := steps.run([]*uop.UOp{transpose(b, -2, -1), zeros(b, b.DType, stack, k, 1)}, []*uop.UOp{a}, func(l *loopBody, j uop.Sint, s, read []*uop.UOp) {
			l.do(s[1].AssignTo(block(s[0], 2, j, 1)))
			l.do(s[0].AssignTo(sub(s[0], mul(s[1], block(read[0], 1, j, 1)))))
		})[0]
		x = transpose(t, -2, -1)
	}
	if unit {
		return x
	}
	return div(x, transpose(d, -2, -1))
}

// triangularSolve is x with a x = b for triangular matrices a (s, n, n) and b (s, n, k), one block of rows after the other. Only the named triangle
// of a is read. If b has many columns they are multiplied by the inverse of a diagonal block, and refined once: the error of such a product is that
// of the inverse, which can be far greater than that of elimination.
func triangularSolve(a, b *uop.UOp, upper, unit bool) *uop.UOp {
	stack, n, k := sizes(b)
	g, size := a.Graph(), blockFor(a, n)
	if n <= maxLanes {
		if upper {
			return flip(lowerSolve(flip(a, 1, 2), flip(b, 1), unit), 1)
		}
		return lowerSolve(a, b, unit)
	}
	m := ceil64(n, size) * size
	blocks := m / size
	a, b = padded(a, m, m), padTo(b, uop.ShapeOf(stack, m, k))
	d := diagonal(reshape(a, uop.ShapeOf(stack, blocks, size, blocks, size)), 0, 1, 3)
	d = reshape(permute(d, []int{0, 3, 1, 2}), uop.ShapeOf(stack*blocks, size, size))
	if upper {
		d = flip(d, 1, 2)
	}
	rows, columns := unsqueeze(count0(g, size), -1), count0(g, size)
	if d = where(ge(rows, columns), d, 0); unit {
		d = where(eq(rows, columns), 1, d)
	}
	var inv *uop.UOp
	if k >= manyColumns {
		inv = lowerInverse(d, false)
		if upper {
			d, inv = flip(d, 1, 2), flip(inv, 1, 2)
		}
		inv = reshape(inv, uop.ShapeOf(stack, blocks, size, size))
	}
	d = reshape(d, uop.ShapeOf(stack, blocks, size, size))
	read := []*uop.UOp{a, d}
	if inv != nil {
		read = append(read, inv)
	}
	numbers := reshape(count0(g, blocks), uop.ShapeOf(blocks, 1, 1))
	part := zeros(b, b.DType, stack, size, k)
	x := loop{variable: "block", count: blocks}.run([]*uop.UOp{b, part, part, part}, read, func(l *loopBody, i uop.Sint, s, of []*uop.UOp) {
		if upper {
			i = uop.N(blocks - 1).Sub(i)
		}
		at := i.Mul(uop.N(size))
		here := block(s[0], 1, at, size)
		one := func(x *uop.UOp) *uop.UOp { return squeeze(block(x, 1, i, 1), 1) }
		switch {
		case inv != nil:
			inv := one(of[2])
			l.do(s[1].AssignTo(dot(inv, here, nil)))
			l.do(s[2].AssignTo(sub(here, dot(one(of[1]), s[1], nil))))
			l.do(s[3].AssignTo(add(s[1], dot(inv, s[2], nil))))
		case upper:
			l.do(s[3].AssignTo(flip(lowerSolve(one(of[1]), flip(here, 1), false), 1)))
		default:
			l.do(s[3].AssignTo(lowerSolve(one(of[1]), here, false)))
		}
		l.do(here.AssignTo(s[3]))
		// By this condition no iterations run for blocks that are solved already.
		rest := reshape(s[0], uop.ShapeOf(stack, blocks, size, k))
		known := reshape(dot(block(of[0], 2, at, size), s[3], nil), rest.Shape())
		left := gt(numbers, sizeLike(a, i))
		if upper {
			left = lt(numbers, sizeLike(a, i))
		}
		l.do(rest.AssignTo(where(left, sub(rest, known), rest)))
	})[0]
	return shrinkTo(x, uop.ShapeOf(stack, n, k))
}

// stacked are matrices a (…, n, n) and right sides b (…, n, k) with one leading axis each, and the leading axes of the result.
func stacked(a, b *uop.UOp) (x, y *uop.UOp, lead uop.Shape) {
	as, bs := a.Shape(), b.Shape()
	lead, _ = broadcastShape(as[:len(as)-2], bs[:len(bs)-2])
	x = flattened(expand(padShape(a, len(lead)), joinShapes(lead, as[len(as)-2:])))
	y = flattened(expand(padShape(b, len(lead)), joinShapes(lead, bs[len(bs)-2:])))
	return x, y, lead
}

// padShape gives matrices n leading axes.
func padShape(x *uop.UOp, n int) *uop.UOp {
	s := x.Shape()
	return reshape(x, joinShapes(onesShape(n+2-len(s)), s))
}

// triangularSolution is triangularSolve for matrices with any leading axes, with its gradient.
func triangularSolution(a, b *uop.UOp, upper, unit bool) *uop.UOp {
	x, y, lead := stacked(a, b)
	r := y
	if y.Shape().MaxNumel() > 0 {
		r = function("triangular_solve", []int64{flag(upper), flag(unit)}, 1, []*uop.UOp{x, y}, func(in []*uop.UOp) []*uop.UOp {
			return []*uop.UOp{triangularSolve(in[0], in[1], upper, unit)}
		})[0]
	}
	r = reshape(r, joinShapes(lead, y.Shape()[1:]))
	return customGradient(gradientOfTriangularSolve, r, []*uop.UOp{a, b}, []int64{flag(upper), flag(unit)})
}

// flag is a condition as a number of a stated gradient.
func flag(set bool) int64 {
	if set {
		return 1
	}
	return 0
}

// Cholesky is the triangular factor of symmetric positive definite matrices x (…, n, n): L with x = L Lᵀ, or U with x = Uᵀ U if
// upper. Only that triangle of x is read; where x is not positive definite the factor is NaN. The gradient is symmetric.
func Cholesky(x *uop.UOp, upper bool) (r *uop.UOp, err error) {
	defer guard("Cholesky", &err)
	need("x", x)
	if x.DType.IsComplex() {
		n := squareSize("x", x)
		// The imaginary parts of the diagonal are not read, so that no gradient goes to them.
		z := complexOf(x)
		z.im = where(eye(x.Graph(), n, n, uop.Bool), 0, z.imag())
		return onBlocks(z.joined(), func(a *uop.UOp) (*uop.UOp, error) { return Cholesky(a, upper) }), nil
	}
	x = asFloat(x)
	return customGradient(gradientOfCholesky, cholesky(x, upper), []*uop.UOp{x}, []int64{flag(upper)}), nil
}

// TriangularSolve is x with a x = b for triangular matrices a (…, n, n), and b of shape (…, n) or (…, n, k). transposed solves
// aᵀ x = b. Only the named triangle of a is read, without its diagonal if unitDiagonal: it counts as ones.
func TriangularSolve(a, b *uop.UOp, upper, transposed, unitDiagonal bool) (r *uop.UOp, err error) {
	defer guard("TriangularSolve", &err)
	needSame("operands", a, b)
	if x, y, are := complexMatrices(a, b); are {
		squareSize("a", x)
		columns, vector := asColumns(x, y)
		if transposed {
			x, upper = transpose(x, -2, -1), !upper
		}
		x, columns = realDiagonal(x, columns, unitDiagonal)
		r = onColumns(x, columns, func(a, b *uop.UOp) (*uop.UOp, error) { return TriangularSolve(a, b, upper, false, false) })
		if vector {
			r = squeeze(r, -1)
		}
		return r, nil
	}
	needFloat("a", a)
	squareSize("a", a)
	if a, b = matchTypes(a, b); transposed {
		a, upper = transpose(a, -2, -1), !upper
	}
	b, vector := asColumns(a, b)
	r = triangularSolution(a, b, upper, unitDiagonal)
	if vector {
		r = squeeze(r, -1)
	}
	return r, nil
}

func matchTypes(a, b *uop.UOp) (x, y *uop.UOp) {
	up := uop.LeastUpper(a.DType, b.DType)
	return cast(a, up), cast(b, up)
}

// CholeskySolve is y with x y = b for the factor c of Cholesky of x.
func CholeskySolve(c, b *uop.UOp, upper bool) (r *uop.UOp, err error) {
	defer guard("CholeskySolve", &err)
	needSame("operands", c, b)
	squareSize("c", c)
	adjoint := transpose(conj(c), -2, -1)
	first, second := c, adjoint
	if upper {
		first, second = adjoint, c
	}
	if b, err = TriangularSolve(first, b, false, false, false); err != nil {
		return nil, err
	}
	return TriangularSolve(second, b, true, false, false)
}
