package tensor

import "polygrad/core/uop"

// Linear algebra of complex matrices is that of real ones of twice the size, in which each element x + iy is the block
//
//	x -y
//	y  x
//
// Sums, products and inverses of such matrices have this form again, and so have triangular factors with a positive diagonal, which are unique.

// asBlocks are complex matrices (…, m, n) as real ones (…, 2m, 2n).
func asBlocks(a *uop.UOp) *uop.UOp {
	z := complexOf(a)
	s := a.Shape()
	n := len(s)
	blocks := stack([]*uop.UOp{stack([]*uop.UOp{z.re, neg(z.imag())}, -1), stack([]*uop.UOp{z.imag(), z.re}, -1)}, -3)
	return reshape(blocks, joinShapes(s[:n-2], uop.Shape{s[n-2].Mul(uop.N(2)), s[n-1].Mul(uop.N(2))}))
}

// ofBlocks is the inverse of asBlocks.
func ofBlocks(a *uop.UOp) *uop.UOp {
	s := a.Shape()
	n := len(s)
	columns := s[n-1].Div(uop.N(2))
	first := reshape(a, joinShapes(s[:n-1], uop.Shape{columns, uop.N(2)}))
	return ofRows(reshape(shrinkAxis(first, n, uop.N(0), uop.N(1)), joinShapes(s[:n-1], uop.Shape{columns})))
}

// asRows are complex columns (…, n, k) as real ones (…, 2n, k): the first columns of their blocks.
func asRows(b *uop.UOp) *uop.UOp {
	z := complexOf(b)
	s := b.Shape()
	n := len(s)
	return reshape(stack([]*uop.UOp{z.re, z.imag()}, -2), joinShapes(s[:n-2], uop.Shape{s[n-2].Mul(uop.N(2)), s[n-1]}))
}

// ofRows is the inverse of asRows.
func ofRows(b *uop.UOp) *uop.UOp {
	s := b.Shape()
	n := len(s)
	rows := s[n-2].Div(uop.N(2))
	pairs := reshape(b, joinShapes(s[:n-2], uop.Shape{rows, uop.N(2), s[n-1]}))
	part := func(i int64) *uop.UOp {
		return reshape(shrinkAxis(pairs, n-1, uop.N(i), uop.N(i+1)), joinShapes(s[:n-2], uop.Shape{rows, s[n-1]}))
	}
	return uop.ComplexPair(part(0), part(1))
}

// complexMatrices tells whether one of two operands is complex, and gives both in their common type.
func complexMatrices(a, b *uop.UOp) (x, y *uop.UOp, are bool) {
	if !a.DType.IsComplex() && !b.DType.IsComplex() {
		return a, b, false
	}
	x, y = matchTypes(a, b)
	return x, y, true
}

// onBlocks applies a function of real matrices that preserves the block form to complex ones.
func onBlocks(a *uop.UOp, f func(a *uop.UOp) (*uop.UOp, error)) *uop.UOp {
	r, err := f(asBlocks(a))
	if err != nil {
		panic(err)
	}
	return ofBlocks(r)
}

// onColumns is onBlocks for a function of a matrix and of right-hand sides b.
func onColumns(a, b *uop.UOp, f func(a, b *uop.UOp) (*uop.UOp, error)) *uop.UOp {
	r, err := f(asBlocks(a), asRows(b))
	if err != nil {
		panic(err)
	}
	return ofRows(r)
}

// realDiagonal multiplies the rows of a triangular system by numbers of absolute value 1 that make the diagonal of the complex matrix real, so that
// its real blocks are triangular; with unit the diagonal is taken as ones.
func realDiagonal(a, b *uop.UOp, unit bool) (x, y *uop.UOp) {
	n := squareSize("a", a)
	on := cast(eye(a.Graph(), n, n, uop.Int32), uop.Bool)
	if unit {
		return where(on, 1, a), b
	}
	d := diagonalOf(a)
	size := abs(d)
	zero := eq(size, 0)
	turn := unsqueeze(where(zero, 1, div(conj(d), where(zero, 1, size))), -1)
	return where(on, unsqueeze(size, -1), mul(turn, a)), mul(turn, b)
}

// every2nd keeps one element of each pair of equal neighbours along the last axis.
func every2nd(x *uop.UOp) *uop.UOp {
	s := x.Shape()
	n := len(s)
	pairs := reshape(x, joinShapes(s[:n-1], uop.Shape{s[n-1].Div(uop.N(2)), uop.N(2)}))
	return reshape(shrinkAxis(pairs, n, uop.N(0), uop.N(1)), joinShapes(s[:n-1], uop.Shape{s[n-1].Div(uop.N(2))}))
}
