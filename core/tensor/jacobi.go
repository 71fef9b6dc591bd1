package tensor

import (
	"math"
	"math/bits"

	"polygrad/core/uop"
)

// Eigenvalues and singular values by Jacobi's rotations of pairs of columns. In each round the columns are paired as in a
// round-robin tournament: the first one stays and the others move on by one place, so that a round is a few kernels.
// (Demmel and Veselić: Jacobi's method is more accurate than QR, LAPACK working note 15.)

// rotation is the angle of each pair, cosine c and sine s of shape (…, 1, n/2).
type rotation struct{ c, s *uop.UOp }

// rotationOf is the rotation of two columns that makes their dot product 0; left and right are their squared norms.
func rotationOf(left, right, product *uop.UOp) rotation {
	turn := ne(product, 0)
	tau := div(sub(right, left), mul(2, where(turn, product, 1)))
	t := div(where(lt(tau, 0), likeConst(tau, -1), likeConst(tau, 1)), add(abs(tau), sqrt(add(1, square(tau)))))
	t = where(turn, t, 0)
	c := rsqrt(add(1, square(t))).ContiguousOp()
	return rotation{c, mul(c, t).ContiguousOp()}
}

// halves are the left columns, their partners, and the idle column if the number is odd.
func halves(x *uop.UOp) (left, right, odd *uop.UOp) {
	n := intSize("a", x.Shape(), len(x.Shape())-1)
	parts := split(x, []int64{n / 2, n / 2, n % 2}, -1)
	return parts[0], parts[1], parts[2]
}

// turned rotates the pairs of columns and moves them to their next places.
func (r rotation) turned(x *uop.UOp) *uop.UOp {
	left, right, odd := halves(x)
	left, right = sub(mul(r.c, left), mul(r.s, right)), add(mul(r.s, left), mul(r.c, right))
	n := intSize("a", x.Shape(), len(x.Shape())-1)
	half := n / 2
	// The circle of places: left from first to last, then right backwards; column i has its partner half the circle on.
	circle := []*uop.UOp{left, flip(right, -1)}
	fixed := int64(1)
	if n%2 == 1 { // all move: one column is idle
		circle, fixed = append(circle, odd), 0
	}
	ends := split(cat(circle, -1), []int64{fixed, n - 1 - fixed, 1}, -1)
	parts := split(cat([]*uop.UOp{ends[0], ends[2], ends[1]}, -1), []int64{half, half, n % 2}, -1)
	return cat([]*uop.UOp{parts[0], flip(parts[1], -1), parts[2]}, -1).ContiguousOp()
}

// jacobiRounds is enough rounds for n columns in any floating type: a sweep of n rounds pairs all columns once, and convergence
// is quadratic after a number of sweeps that grows with log2(n).
func jacobiRounds(n int64) int64 {
	if n < 2 {
		return 0
	}
	return n * int64(3+bits.Len64(uint64(n)))
}

// orthogonalised makes the columns of u (…, n, n) orthogonal, and does the same to v.
func orthogonalised(u, v *uop.UOp) (*uop.UOp, *uop.UOp) {
	for range jacobiRounds(intSize("a", u.Shape(), len(u.Shape())-1)) {
		l, r, _ := halves(u)
		by := rotationOf(sum(square(l), []int{-2}, true), sum(square(r), []int{-2}, true), sum(mul(l, r), []int{-2}, true))
		u, v = by.turned(u), by.turned(v)
	}
	return u, v
}

// diagonalised makes the symmetric matrices a (…, n, n) diagonal by rotating rows and columns, and rotates the columns of v.
func diagonalised(a, v *uop.UOp) (*uop.UOp, *uop.UOp) {
	for range jacobiRounds(intSize("a", a.Shape(), len(a.Shape())-1)) {
		l, r, _ := halves(a)
		ll, lr, _ := halves(transpose(l, -2, -1))
		_, rr, _ := halves(transpose(r, -2, -1))
		across := func(x *uop.UOp) *uop.UOp { return unsqueeze(diagonalOf(x), -2) }
		by := rotationOf(across(ll), across(rr), across(lr))
		a = by.turned(transpose(by.turned(a), -2, -1))
		v = by.turned(v)
	}
	return a, v
}

// orthonormal replaces the zero columns of u (…, n, n), the last ones, by columns that make the matrix orthonormal.
func orthonormal(u *uop.UOp) *uop.UOp {
	q, r := qr(u)
	d := unsqueeze(diagonalOf(r), -2)
	return where(lt(d, 0), neg(q), q)
}

// picked are the columns of x (…, n, n) at positions (…, n).
func picked(x, at *uop.UOp) *uop.UOp {
	return gather(x, -1, expand(unsqueeze(at, -2), x.Shape()))
}

// svd reduces the matrix to a square one by QR, orthogonalises its columns by rotations, and sorts them by length.
func svd(a *uop.UOp, fullMatrices bool) (u, s, vt *uop.UOp) {
	shape := a.Shape()
	m, n := intSize("a", shape, len(shape)-2), intSize("a", shape, len(shape)-1)
	if m < n {
		u, s, vt = svd(transpose(a, -2, -1), fullMatrices)
		return transpose(vt, -2, -1), s, transpose(u, -2, -1)
	}
	q, r := qr(a)
	lead := shape[:len(shape)-2]
	u, v := orthogonalised(shrinkTo(r, joinShapes(lead, uop.ShapeOf(n, n))), identityLike(a, n))
	length := sqrtOrZero(sum(square(u), []int{-2}, false))
	sorted := ordered(length, -1, true)
	s = sorted.value
	u = orthonormal(div(picked(u, sorted.at), unsqueeze(where(ne(s, 0), s, 1), -2)))
	vt = transpose(picked(v, sorted.at), -2, -1)
	u = dot(shrinkTo(q, joinShapes(lead, uop.ShapeOf(m, n))), u, nil)
	if fullMatrices && m > n {
		rest := shrinkAxis(q, len(shape)-1, uop.N(n), uop.N(m))
		u = cat([]*uop.UOp{u, rest}, -1)
	}
	return u, s, vt
}

// sqrtOrZero is sqrt with the gradient 0 at 0.
func sqrtOrZero(x *uop.UOp) *uop.UOp {
	some := gt(x, 0)
	return where(some, sqrt(where(some, x, 1)), x)
}

// eigh rotates the symmetric matrix given by one triangle of a until it is diagonal.
func eigh(a *uop.UOp, upper bool) (values, vectors *uop.UOp) {
	n := squareSize("a", a)
	if upper {
		a = transpose(a, -2, -1)
	}
	a = add(tril(a, 0), transpose(tril(a, -1), -2, -1))
	a, v := diagonalised(a, identityLike(a, n))
	sorted := ordered(diagonalOf(a), -1, false)
	return sorted.value, picked(v, sorted.at)
}

// SVD is the singular value decomposition a = u diag(s) vt of matrices (…, m, n), with k = min(m, n) singular values s in
// descending order, u of shape (…, m, k), or (…, m, m) if fullMatrices, and vt of shape (…, k, n), or (…, n, n).
func SVD(a *uop.UOp, fullMatrices bool) (u, s, vt *uop.UOp, err error) {
	defer guard("SVD", &err)
	a = needMatrices("a", a)
	u, s, vt = svd(a, fullMatrices)
	return u, s, vt, nil
}

// Eigh are the eigenvalues (…, n) of symmetric matrices (…, n, n) in ascending order, and orthonormal eigenvectors, the columns
// of a matrix (…, n, n). Only one triangle of a is read, the lower or the upper.
func Eigh(a *uop.UOp, upper bool) (values, vectors *uop.UOp, err error) {
	defer guard("Eigh", &err)
	a = needMatrices("a", a)
	values, vectors = eigh(a, upper)
	return values, vectors, nil
}

// LeastSquares is the minimum-norm x (…, n) or (…, n, k) that minimizes |a x - b|, for matrices a (…, m, n) and b of shape
// (m), (…, m) with the leading axes of a, or (…, m, k); the residuals |a x - b|² of the columns of b; the rank of a, int32;
// and its singular values. Singular values up to cutoff times the greatest count as 0; a negative cutoff means machine
// epsilon times max(m, n).
func LeastSquares(a, b *uop.UOp, cutoff float64) (x, squares, rank, s *uop.UOp, err error) {
	defer guard("LeastSquares", &err)
	needSame("operands", a, b)
	a, b = matchTypes(needMatrices("a", a), asFloat(b))
	if cutoff < 0 {
		_, mantissa := a.DType.FloatInfo()
		s := a.Shape()
		cutoff = math.Ldexp(float64(max(intSize("a", s, len(s)-2), intSize("a", s, len(s)-1))), -mantissa)
	} else if !(cutoff < 1) {
		fail("rcond", "is %v, need a number below 1", cutoff)
	}
	b, vector := asColumns(transpose(a, -2, -1), b)
	u, s, vt := svd(a, false)
	keep := gt(s, mul(index(s, Ellipsis(), Slice(ptr(0), ptr(1), 1)), cutoff))
	inverse := where(keep, reciprocal(where(keep, s, 1)), 0)
	x = dot(transpose(vt, -2, -1), mul(unsqueeze(inverse, -1), dot(transpose(u, -2, -1), b, nil)), nil)
	squares = sum(square(sub(dot(a, x, nil), b)), []int{-2}, false)
	if vector {
		x, squares = squeeze(x, -1), squeeze(squares, -1)
	}
	return x, squares, sum(cast(keep, uop.Int32), []int{-1}, false), s, nil
}
