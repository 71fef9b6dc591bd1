package ops

import (
	"math"
	"sync"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

const linalgDoc = `Linear algebra, as numpy.linalg and scipy.linalg have it.

Matrices are the last two axes; leading axes are batch axes. Integers are converted to float32. All functions have derivatives and batching rules,
except those whose results are counts.`

func inLinalg(name, first, params, doc string, build func(a *Args) (*uop.UOp, error)) Op {
	return called(first, method("linalg."+name, params, doc, build))
}

func severalInLinalg(results, name, params, doc string, build func(a *Args) ([]*uop.UOp, error)) Op {
	return called("a", several(results, "linalg."+name, params, doc, build))
}

// norm is an order of a norm: a number or a name.
func (a *Args) norm(name string, otherwise string) (string, float64) {
	switch v := a.at(name).(type) {
	case []int64:
		if len(v) == 1 {
			return "", float64(v[0])
		}
	case string:
		switch v {
		case "inf":
			return "", math.Inf(1)
		case "-inf", "-Inf":
			return "", math.Inf(-1)
		}
		return v, 0
	}
	return otherwise, 2
}

var linalgOps = sync.OnceValue(func() []Op {
	return []Op{
		inLinalg("cholesky", "a", "upper bool = false", "The lower Cholesky factor L of symmetric or Hermitian positive definite a = L L^H.\nWith upper it is U of a = U^H U. Only that triangle of a is read; the gradient is that of a symmetric or Hermitian matrix.", func(a *Args) (*uop.UOp, error) {
			return tensor.Cholesky(a.X, a.bool("upper"))
		}),
		inLinalg("cho_solve", "c", "b tensor, lower bool = true", "The solution x of a x = b, given the Cholesky factor c of a (…, n, n).\nb has the shape (n), (…, n) or (…, n, k).", func(a *Args) (*uop.UOp, error) {
			return tensor.CholeskySolve(a.X, a.tensor("b"), !a.bool("lower"))
		}),
		inLinalg("solve_triangular", "a", "b tensor, lower bool = false, trans bool = false, unit_diagonal bool = false", "The solution of a x = b for triangular matrices a (…, n, n).\nb has the shape (n), (…, n) or (…, n, k). With trans it is the solution of a^T x = b.", func(a *Args) (*uop.UOp, error) {
			return tensor.TriangularSolve(a.X, a.tensor("b"), !a.bool("lower"), a.bool("trans"), a.bool("unit_diagonal"))
		}),
		inLinalg("det", "a", "", "The determinant, of shape (…), of square matrices (…, n, n).", func(a *Args) (*uop.UOp, error) { return tensor.Det(a.X) }),
		severalInLinalg("sign logabsdet", "slogdet", "", "The sign of the determinant, and the logarithm of its absolute value.\nBoth have the shape (…) for square matrices (…, n, n). The sign of complex numbers is x / |x|.", func(a *Args) ([]*uop.UOp, error) { return pair(tensor.SlogDet(a.X)) }),
		inLinalg("inv", "a", "", "The inverse of square matrices (…, n, n); infinite or NaN where they are singular.", func(a *Args) (*uop.UOp, error) { return tensor.Inv(a.X) }),
		inLinalg("pinv", "a", "rtol operand?", `The Moore-Penrose pseudo-inverse.
Singular values up to rtol times the greatest count as 0; rtol is max(m, n) times the machine epsilon unless given.`, func(a *Args) (*uop.UOp, error) {
			rtol, err := a.tolerance("rtol")
			if err != nil {
				return nil, err
			}
			return tensor.PseudoInverse(a.X, rtol)
		}),
		inLinalg("solve", "a", "b tensor", "The solution x of a x = b for square matrices a (…, n, n).\nb and x have the shape (n), (…, n) or (…, n, k). x is infinite or NaN where a is singular.", func(a *Args) (*uop.UOp, error) { return tensor.Solve(a.X, a.tensor("b")) }),
		severalInLinalg("x residuals rank s", "lstsq", "b tensor, rcond float?", "The least squares solution x of a x = b, residuals, rank and singular values.\nThe results are those of Tensor's lstsq.", leastSquares),
		inLinalg("tensorsolve", "a", "b tensor, axes axes?", "The solution x of tensordot(a, x) = b, summed over all axes of x.\nThese are the last axes of a. axes are axes of a that are moved behind the others first.", func(a *Args) (*uop.UOp, error) {
			x := a.X
			if axes := a.axes("axes"); axes != nil {
				last := make([]int, len(axes))
				for i := range last {
					last[i] = i - len(axes)
				}
				var err error
				if x, err = tensor.MoveAxes(x, axes, last); err != nil {
					return nil, err
				}
			}
			return tensor.TensorSolve(x, a.tensor("b"))
		}),
		inLinalg("tensorinv", "a", "ind int = 2", "The inverse of the linear map x -> tensordot(a, x), summed over all axes of x.\nThe first ind axes of a are those of the result of the map, the others those of x.", func(a *Args) (*uop.UOp, error) { return tensor.TensorInv(a.X, a.int("ind")) }),
		severalInLinalg("q r", "qr", "mode text = reduced {reduced complete}", "The QR decomposition a = q r: q is orthogonal or unitary, r is upper triangular.\nFor matrices (…, m, n), q is (…, m, k) and r (…, k, n) with k = min(m, n), or k = m with \"complete\".", func(a *Args) ([]*uop.UOp, error) { return a.orthogonal() }),
		severalInLinalg("u s vh", "svd", "full_matrices bool = true", "The singular value decomposition a = u diag(s) vh; s is in descending order.\nFor matrices (…, m, n) with k = min(m, n), s is (…, k). u is (…, m, m) and vh (…, n, n), or without full_matrices (…, m, k) and (…, k, n).", func(a *Args) ([]*uop.UOp, error) {
			u, s, vt, err := tensor.AnySVD(a.X, a.bool("full_matrices"))
			return []*uop.UOp{u, s, vt}, err
		}),
		inLinalg("svdvals", "x", "", "The singular values (…, min(m, n)) of matrices (…, m, n), in descending order.", func(a *Args) (*uop.UOp, error) { return tensor.SingularValues(a.X) }),
		severalInLinalg("eigenvalues eigenvectors", "eigh", "upper bool = false", "The eigenvalues (…, n) in ascending order, and the eigenvectors as columns (…, n, n).\nMatrices (…, n, n) are symmetric or Hermitian: only the lower triangle is read, or the upper one with upper.", func(a *Args) ([]*uop.UOp, error) {
			return pair(tensor.Eigh(a.X, a.bool("upper")))
		}),
		inLinalg("eigvalsh", "a", "upper bool = false", "The eigenvalues (…, n) of symmetric or Hermitian matrices (…, n, n) in ascending order.", func(a *Args) (*uop.UOp, error) {
			values, _, err := tensor.Eigh(a.X, a.bool("upper"))
			return values, err
		}),
		severalInLinalg("eigenvalues eigenvectors", "eig", "", `The complex eigenvalues of square matrices, in any order, and the eigenvectors as columns.
Eigenvectors have length 1, and their element of greatest magnitude is real and positive. Derivatives of eigenvectors hold for functions that do not
depend on their phases.`, func(a *Args) ([]*uop.UOp, error) {
			return pair(tensor.Eig(a.X))
		}),
		inLinalg("eigvals", "a", "", "The complex eigenvalues (…, n) of square matrices (…, n, n), in no particular order.", func(a *Args) (*uop.UOp, error) { return tensor.EigVals(a.X) }),
		severalInLinalg("order lower upper", "lu", "", "The LU decomposition with row pivoting: a[order] = lower upper.\norder is the order of rows, lower and upper are triangular. For matrices (…, m, n) with k = min(m, n), lower is (…, m, k) and upper (…, k, n).", func(a *Args) ([]*uop.UOp, error) {
			l, u, p, err := tensor.LUFactors(a.X)
			return []*uop.UOp{p, l, u}, err
		}),
		severalInLinalg("lu order", "lu_factor", "", `The LU factors of square matrices packed in one matrix, and the order of rows, for lu_solve.
The lower factor has ones on its diagonal, which are not stored: a[order] = lower upper.`, func(a *Args) ([]*uop.UOp, error) {
			return pair(tensor.LUTogether(a.X))
		}),
		inLinalg("lu_solve", "lu", "order tensor, b tensor, trans bool = false", "The solution x of a x = b, or with trans of a^T x = b, given the results of lu_factor of a.\nSciPy's lu_solve takes a pair (lu, piv) in which piv lists row exchanges; here row i of lower upper is row order[i] of a.", func(a *Args) (*uop.UOp, error) {
			if err := a.positions("order", a.tensor("order"), -2); err != nil {
				return nil, err
			}
			return tensor.LUSolve(a.X, a.tensor("order"), a.tensor("b"), a.bool("trans"))
		}),
		inLinalg("expm", "a", "", "The exponential of square matrices (…, n, n), for norms up to 2^15.", func(a *Args) (*uop.UOp, error) { return tensor.MatrixExp(a.X) }),
		inLinalg("matrix_power", "a", "n int", "The n-th power of square matrices (…, k, k); for negative n, a power of the inverse.", func(a *Args) (*uop.UOp, error) { return tensor.MatrixPower(a.X, a.int("n")) }),
		inLinalg("matrix_rank", "A", "rtol operand?", "The number of singular values above rtol times the greatest, int32.\nrtol is max(m, n) times the machine epsilon unless given.", func(a *Args) (*uop.UOp, error) {
			rtol, err := a.tolerance("rtol")
			if err != nil {
				return nil, err
			}
			return tensor.MatrixRank(a.X, rtol)
		}),
		inLinalg("matrix_norm", "x", "keepdims bool = false, ord ints|text = fro", `A norm of matrices: "fro" (Frobenius), "nuc" (nuclear), or 1, -1, 2, -2, "inf", "-inf".`, func(a *Args) (*uop.UOp, error) {
			name, order := a.norm("ord", "fro")
			return tensor.MatrixNorm(a.X, name, order, a.bool("keepdims"))
		}),
		inLinalg("vector_norm", "x", "axis axes?, keepdims bool = false, ord float = 2", "The norm of vectors along axes, all unless given: (sum |x|^ord)^(1/ord).\nord may be infinite.", func(a *Args) (*uop.UOp, error) {
			return tensor.VectorNorm(a.X, a.float("ord"), a.axes("axis"), a.bool("keepdims"))
		}),
		inLinalg("cond", "x", "p ints|text = 2", `The condition number of matrices in the norm p, one of those of matrix_norm.`, func(a *Args) (*uop.UOp, error) {
			name, order := a.norm("p", "")
			return tensor.Condition(a.X, name, order)
		}),
		called("arrays", joiner("linalg.multi_dot", "", "The product of matrices, multiplied in the order of least cost.\nThe first may be a vector, taken as a row, and the last one, taken as a column.", func(a *Args) (*uop.UOp, error) { return tensor.ChainProduct(a.Xs) })),
	}
})

// tolerance is an argument that is a number or a tensor, or nil.
func (a *Args) tolerance(name string) (*uop.UOp, error) {
	if !a.given(name) {
		return nil, nil
	}
	if u := a.tensor(name); u != nil {
		return u, nil
	}
	return tensor.Const(a.X.Graph(), uop.LeastUpperFloat(a.X.DType).Plane(), a.number(name))
}

// orthogonal are the factors of QR by the argument mode.
func (a *Args) orthogonal() ([]*uop.UOp, error) {
	q, r, err := tensor.AnyQR(a.X)
	if err != nil {
		return nil, err
	}
	if a.text("mode") == "complete" {
		return []*uop.UOp{q, r}, nil
	}
	// The first columns and rows, as many as the shorter side.
	n := len(r.Shape())
	k := r.Shape()[n-2]
	if c := r.Shape()[n-1]; c.Max() < k.Max() {
		k = c
	}
	part := func(x *uop.UOp, axis int) (*uop.UOp, error) {
		bounds := make([]uop.Pair, n)
		for i, d := range x.Shape() {
			bounds[i] = uop.Pair{Lo: uop.N(0), Hi: d}
		}
		bounds[axis].Hi = k
		return tensor.Shrink(x, bounds)
	}
	if q, err = part(q, n-1); err != nil {
		return nil, err
	}
	r, err = part(r, n-2)
	return []*uop.UOp{q, r}, err
}
