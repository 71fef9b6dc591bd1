package tensor

import (
	"polygrad/core/uop"
)

// factored is the result of Gaussian elimination of the matrices a with right sides b of a x = b.
type factored struct {
	upper *uop.UOp // (…, n, n), valid on and above the diagonal
	right *uop.UOp // b after the same steps, nil without one
	sign  *uop.UOp // (…), -1 for an odd number of exchanged rows, else 1
}

// eliminate processes one column after the other: it swaps the row of the largest element with the row of the diagonal and
// subtracts its multiples from the rows below. Each step is realized, since the graph would otherwise repeat all steps before
// it. A zero column subtracts nothing, so singular matrices stay finite.
func eliminate(a, b *uop.UOp) factored {
	n := squareSize("a", a)
	rows := count0(a.Graph(), n)
	sign := full(a.Graph(), a.Shape()[:len(a.Shape())-2], uop.Float(1), a.DType)
	for j := range n {
		at := argMaxNaN(where(ge(rows, int(j)), abs(detach(column(a, j))), -1.0), -1, true)
		chosen, here := unsqueeze(eq(rows, at), -1), unsqueeze(eq(rows, int(j)), -1)
		sign = where(eq(squeeze(at, -1), int(j)), sign, neg(sign))
		exchange := func(x *uop.UOp) (swapped, top *uop.UOp) {
			top = sum(where(chosen, x, 0), []int{-2}, true)
			below := where(chosen, unsqueeze(line(x, j), -2), x)
			return where(here, top, below), top
		}
		swapped, top := exchange(a)
		pivot := unsqueeze(index(top, Ellipsis(), At(j)), -1)
		factor := div(unsqueeze(column(swapped, j), -1), where(ne(pivot, 0), pivot, 1))
		factor = where(unsqueeze(gt(rows, int(j)), -1), factor, 0).ContiguousOp()
		if b != nil {
			moved, first := exchange(b)
			b = sub(moved, mul(factor, first)).ContiguousOp()
		}
		a = sub(swapped, mul(factor, top)).ContiguousOp()
	}
	return factored{a, b, sign}
}

// asColumns makes a matrix of a right side that is a vector, or a stack of vectors, one for each matrix of a.
func asColumns(a, b *uop.UOp) (columns *uop.UOp, vector bool) {
	as, bs := a.Shape(), b.Shape()
	each := joinShapes(as[:len(as)-2], as[len(as)-1:])
	if vector = len(bs) == 1 || len(bs) > 1 && each.Equal(bs); vector {
		b = unsqueeze(b, -1)
		bs = b.Shape()
	}
	if n := as[len(as)-1]; len(bs) < 2 || bs[len(bs)-2] != n {
		fail("b", "has shape %s, need (…, %s) or (…, %s, k)", bs, n, n)
	}
	if _, ok := broadcastShape(as[:len(as)-2], bs[:len(bs)-2]); !ok {
		fail("b", "of shape %s does not broadcast with a of shape %s", bs, as)
	}
	return b, vector
}

func solve(a, b *uop.UOp) *uop.UOp {
	f := eliminate(a, b)
	return triangularSolve(f.upper, f.right, true, false)
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
	if r = solve(a, b); vector {
		r = squeeze(r, -1)
	}
	return r, nil
}

// Inv is the inverse of square matrices (…, n, n); infinite or NaN where they are singular.
func Inv(a *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Inv", &err)
	need("a", a)
	a = asFloat(a)
	n := squareSize("a", a)
	return solve(a, eye(a.Graph(), n, n, a.DType)), nil
}

// Det is the determinant of square matrices (…, n, n). Its gradient is NaN where it is 0.
func Det(a *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Det", &err)
	need("a", a)
	f := eliminate(asFloat(a), nil)
	return mul(f.sign, prod(diagonalOf(f.upper), []int{-1}, false)), nil
}

// SlogDet is the sign of the determinant and the logarithm of its absolute value, which cannot overflow.
func SlogDet(a *uop.UOp) (signs, logs *uop.UOp, err error) {
	defer guard("SlogDet", &err)
	need("a", a)
	f := eliminate(asFloat(a), nil)
	d := diagonalOf(f.upper)
	return mul(f.sign, prod(sign(d), []int{-1}, false)), sum(log(abs(d)), []int{-1}, false), nil
}
