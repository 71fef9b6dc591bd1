package tensor

import (
	"math"
	"math/bits"
	"slices"

	"polygrad/core/uop"
)

// Eigenvalues and singular values by Jacobi's rotations of pairs of vectors, the rows of u (s, n, m), until all are orthogonal. In each
// round the rows are paired as in a round-robin tournament: the first one stays and the others move on by one place.
// (Demmel and Veselić: Jacobi's method is more accurate than QR, LAPACK working note 15.)

// rotation is the angle of each pair, cosine c and sine s of shape (s, n/2, 1).
type rotation struct{ c, s *uop.UOp }

// rotationOf is the rotation of two vectors that makes their dot product 0; left and right are their squared norms.
func rotationOf(left, right, product *uop.UOp) rotation {
	turn := ne(product, 0)
	tau := div(sub(right, left), mul(2, where(turn, product, 1)))
	t := div(where(lt(tau, 0), likeConst(tau, -1), likeConst(tau, 1)), add(abs(tau), sqrt(add(1, square(tau)))))
	t = where(turn, t, 0)
	c := rsqrt(add(1, square(t)))
	return rotation{c, mul(c, t)}
}

// halves are the first rows, their partners, and the idle row if the number is odd.
func halves(x *uop.UOp) (left, right, odd *uop.UOp) {
	n := x.Shape()[1].N
	parts := split(x, []int64{n / 2, n / 2, n % 2}, 1)
	return parts[0], parts[1], parts[2]
}

// turned rotates the pairs of rows and moves them to their next places.
func (r rotation) turned(x *uop.UOp) *uop.UOp {
	left, right, odd := halves(x)
	left, right = sub(mul(r.c, left), mul(r.s, right)), add(mul(r.s, left), mul(r.c, right))
	n := x.Shape()[1].N
	half := n / 2
	// The circle of places: left from first to last, then right backwards; row i has its partner half the circle on.
	circle := []*uop.UOp{left, flip(right, 1)}
	fixed := int64(1)
	if n%2 == 1 { // all move: one row is idle
		circle, fixed = append(circle, odd), 0
	}
	ends := split(cat(circle, 1), []int64{fixed, n - 1 - fixed, 1}, 1)
	parts := split(cat([]*uop.UOp{ends[0], ends[2], ends[1]}, 1), []int64{half, half, n % 2}, 1)
	return cat([]*uop.UOp{parts[0], flip(parts[1], 1), parts[2]}, 1)
}

// jacobiRounds is enough rounds for n vectors in any floating type: a sweep of n rounds pairs all of them once, and convergence
// is quadratic after a number of sweeps that grows with log2(n).
func jacobiRounds(n int64) int64 {
	if n < 2 {
		return 0
	}
	return n * int64(3+bits.Len64(uint64(n)))
}

// orthogonalised makes the rows of the first of some tensors (s, n, m) orthogonal, and does the same to the others.
func orthogonalised(xs ...*uop.UOp) []*uop.UOp {
	stack, n, m := sizes(xs[0])
	if n < 2 {
		return xs
	}
	zeros := zeros(xs[0], xs[0].DType, stack, n/2, 1)
	states := slices.Concat(xs, xs, []*uop.UOp{zeros, zeros})
	steps := loop{"round", (jacobiRounds(n) + 1) / 2, stack >= manyLanes && max(m, n) <= maxLanes}
	return steps.run(states, nil, func(b *loopBody, _ uop.Sint, s, _ []*uop.UOp) {
		k := len(xs)
		c := rotation{s[2*k], s[2*k+1]}
		for _, way := range [][2]int{{0, k}, {k, 0}} { // what is turned is written to other memory
			l, r, _ := halves(s[way[0]])
			dots := func(x, y *uop.UOp) *uop.UOp { return sum(mul(x, y), []int{-1}, true) }
			by := rotationOf(dots(l, l), dots(r, r), dots(l, r))
			b.do(c.c.AssignTo(by.c), c.s.AssignTo(by.s))
			var writes []*uop.UOp
			for i := range k {
				writes = append(writes, s[way[1]+i].AssignTo(c.turned(s[way[0]+i])))
			}
			b.do(writes...)
		}
	})[:len(xs)]
}

// orthonormal replaces the zero columns of u (s, n, n), the last ones, by columns that make the matrix orthonormal.
func orthonormal(u *uop.UOp) *uop.UOp {
	q, r := qr(u, u.Shape()[1].N)
	d := unsqueeze(diagonalOf(r), -2)
	return where(lt(d, 0), neg(q), q)
}

// picked are the columns of x (s, m, n) at positions (s, n).
func picked(x, at *uop.UOp) *uop.UOp {
	return gather(x, -1, expand(unsqueeze(at, -2), x.Shape()))
}

// svd reduces matrices (s, m, n) to square ones by QR, orthogonalises their columns by rotations, and sorts them by length.
func svd(a *uop.UOp, fullMatrices bool) (u, s, vt *uop.UOp) {
	stack, m, n := sizes(a)
	if m < n {
		u, s, vt = svd(transpose(a, -2, -1), fullMatrices)
		return transpose(vt, -2, -1), s, transpose(u, -2, -1)
	}
	columns := n
	if fullMatrices {
		columns = m
	}
	q, r := qr(a, columns)
	square1 := shrinkTo(r, uop.ShapeOf(stack, n, n))
	turned := orthogonalised(transpose(square1, -2, -1), identityLike(square1, n))
	length := sqrt(sum(square(turned[0]), []int{-1}, false))
	sorted := ordered(length, -1, true)
	s = sorted.value
	u = orthonormal(div(picked(transpose(turned[0], -2, -1), sorted.at), unsqueeze(where(ne(s, 0), s, 1), -2)))
	vt = transpose(picked(transpose(turned[1], -2, -1), sorted.at), -2, -1)
	u = dot(shrinkTo(q, uop.ShapeOf(stack, m, n)), u, nil)
	if fullMatrices && m > n {
		u = cat([]*uop.UOp{u, shrinkAxis(q, 2, uop.N(n), uop.N(m))}, -1)
	}
	return u, s, vt
}

// eigh makes the rows of the symmetric matrices given by one triangle of a (s, n, n) orthogonal, after a shift that makes all
// eigenvalues positive: then they are the eigenvectors, times the eigenvalues.
func eigh(a *uop.UOp, upper bool) (values, vectors *uop.UOp) {
	n := a.Shape()[1].N
	if upper {
		a = transpose(a, -2, -1)
	}
	a = add(tril(a, 0), transpose(tril(a, -1), -2, -1))
	shift := mul(2, maxOf(sum(abs(a), []int{-1}, true), []int{-2}, true))
	v := orthogonalised(add(a, mul(identityLike(a, n), where(gt(shift, 0), shift, 1))))[0]
	v = div(v, sqrt(sum(square(v), []int{-1}, true)))
	sorted := ordered(sum(mul(v, dot(v, a, nil)), []int{-1}, false), -1, false)
	return sorted.value, picked(transpose(v, -2, -1), sorted.at)
}

// SVD is the singular value decomposition a = u diag(s) vt of matrices (…, m, n), with k = min(m, n) singular values s in
// descending order, u of shape (…, m, k), or (…, m, m) if fullMatrices, and vt of shape (…, k, n), or (…, n, n).
func SVD(a *uop.UOp, fullMatrices bool) (u, s, vt *uop.UOp, err error) {
	defer guard("SVD", &err)
	a = needMatrices("a", a)
	f := function("svd", []int64{flag(fullMatrices)}, 3, []*uop.UOp{flattened(a)}, func(in []*uop.UOp) []*uop.UOp {
		u, s, vt := svd(in[0], fullMatrices)
		return []*uop.UOp{u, s, vt}
	})
	part := func(x *uop.UOp, which int64) *uop.UOp {
		return customGradient(gradientOfSVD, likeStack(x, a), []*uop.UOp{a}, []int64{flag(fullMatrices), which})
	}
	return part(f[0], 0), part(f[1], 1), part(f[2], 2), nil
}

// Eigh are the eigenvalues (…, n) of symmetric matrices (…, n, n) in ascending order, and orthonormal eigenvectors, the columns
// of a matrix (…, n, n). Only one triangle of a is read, the lower or the upper.
func Eigh(a *uop.UOp, upper bool) (values, vectors *uop.UOp, err error) {
	defer guard("Eigh", &err)
	a = needMatrices("a", a)
	squareSize("a", a)
	f := function("eigh", []int64{flag(upper)}, 2, []*uop.UOp{flattened(a)}, func(in []*uop.UOp) []*uop.UOp {
		values, vectors := eigh(in[0], upper)
		return []*uop.UOp{values, vectors}
	})
	part := func(x *uop.UOp, which int64) *uop.UOp {
		return customGradient(gradientOfEigh, likeStack(x, a), []*uop.UOp{a}, []int64{flag(upper), which})
	}
	return part(f[0], 0), part(f[1], 1), nil
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
	u, s, vt, err := SVD(a, false)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	keep := gt(s, mul(index(s, Ellipsis(), Slice(ptr(0), ptr(1), 1)), cutoff))
	inverse := where(keep, reciprocal(where(keep, s, 1)), 0)
	x = dot(transpose(vt, -2, -1), mul(unsqueeze(inverse, -1), dot(transpose(u, -2, -1), b, nil)), nil)
	squares = sum(square(sub(dot(a, x, nil), b)), []int{-2}, false)
	if vector {
		x, squares = squeeze(x, -1), squeeze(squares, -1)
	}
	return x, squares, sum(cast(keep, uop.Int32), []int{-1}, false), s, nil
}
