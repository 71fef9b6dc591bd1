package tensor

import (
	"polygrad/core/uop"
)

// squareSize is n of matrices of shape (…, n, n).
func squareSize(arg string, x *uop.UOp) int64 {
	s := x.Shape()
	if len(s) < 2 || s[len(s)-1] != s[len(s)-2] {
		fail(arg, "has shape %s, need square matrices (…, n, n)", s)
	}
	return intSize(arg, s, len(s)-1)
}

// column is x[..., :, i] and line x[..., i, :].
func column(x *uop.UOp, i int64) *uop.UOp { return index(x, Ellipsis(), Whole(), At(i)) }
func line(x *uop.UOp, i int64) *uop.UOp   { return index(x, Ellipsis(), At(i), Whole()) }

// cholesky processes one column after the other: l = a[:, j] / sqrt(a[j, j]), a -= l lᵀ. Only the lower triangle of a is read.
// Each step is realized, since the graph would otherwise repeat all steps before it.
func cholesky(a *uop.UOp, upper bool) *uop.UOp {
	n := squareSize("x", a)
	rows := count0(a.Graph(), n)
	if upper {
		a = transpose(a, -2, -1)
	}
	columns := make([]*uop.UOp, n)
	for j := range n {
		c := column(a, j)
		root := sqrt(index(c, Ellipsis(), At(j)))
		l := where(ge(rows, int(j)), div(c, unsqueeze(root, -1)), 0).ContiguousOp()
		columns[j] = l
		if j < n-1 {
			a = sub(a, mul(unsqueeze(l, -1), unsqueeze(l, -2))).ContiguousOp()
		}
	}
	if n == 0 {
		return a
	}
	axis := -1
	if upper {
		axis = -2
	}
	return stack(columns, axis)
}

// triangularSolve computes one row of x after the other and subtracts its part from b: x_i = b_i / a_ii, b -= a[:, i] x_i.
func triangularSolve(a, b *uop.UOp, upper, unitDiagonal bool) *uop.UOp {
	n := squareSize("a", a)
	known := make([]*uop.UOp, n)
	for step := range n {
		i := step
		if upper {
			i = n - 1 - step
		}
		x := line(b, i)
		c := column(a, i)
		if !unitDiagonal {
			x = div(x, unsqueeze(index(c, Ellipsis(), At(i)), -1))
		}
		x = x.ContiguousOp()
		known[i] = x
		if step < n-1 {
			b = sub(b, mul(unsqueeze(c, -1), unsqueeze(x, -2))).ContiguousOp()
		}
	}
	if n == 0 {
		return b
	}
	return stack(known, -2)
}

// Cholesky is the triangular factor of symmetric positive definite matrices x (…, n, n): L with x = L Lᵀ, or U with x = Uᵀ U if
// upper. Only that triangle of x is read; where x is not positive definite the factor is NaN.
func Cholesky(x *uop.UOp, upper bool) (r *uop.UOp, err error) {
	defer guard("Cholesky", &err)
	need("x", x)
	needFloat("x", x)
	return cholesky(x, upper), nil
}

// TriangularSolve is x with a x = b for triangular matrices a (…, n, n), and b of shape (…, n) or (…, n, k). transposed solves
// aᵀ x = b. Only the named triangle of a is read, without its diagonal if unitDiagonal: it counts as ones.
func TriangularSolve(a, b *uop.UOp, upper, transposed, unitDiagonal bool) (r *uop.UOp, err error) {
	defer guard("TriangularSolve", &err)
	needSame("operands", a, b)
	needFloat("a", a)
	squareSize("a", a)
	if a, b = matchTypes(a, b); transposed {
		a, upper = transpose(a, -2, -1), !upper
	}
	b, vector := asColumns(a, b)
	r = triangularSolve(a, b, upper, unitDiagonal)
	if vector {
		r = squeeze(r, -1)
	}
	return r, nil
}

func matchTypes(a, b *uop.UOp) (x, y *uop.UOp) {
	up := uop.LeastUpper(a.DType, b.DType)
	return cast(a, up), cast(b, up)
}
