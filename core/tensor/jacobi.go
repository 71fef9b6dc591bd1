package tensor

import (
	"math"
	"math/bits"
	"slices"

	"polygrad/core/uop"
)

// Eigenvalues and singular values of small matrices by one-sided Jacobi rotations: pairs of rows of tensors (s, n, m) are rotated until all rows are
// orthogonal. (Demmel and Veselić: Jacobi's method is more accurate than QR, LAPACK working note 15.)

// partners are the rows (1, n, 1) that each of n rows is paired with in a step of a round-robin tournament: in round r row i with row r - i modulo the
// number of rounds. The row that would be its own partner is paired with the last row, or with none if n is odd. (MOD is known to be in range, so
// that loads of partners need no gate.)
func partners(x *uop.UOp, n int64, step uop.Sint) *uop.UOp {
	rounds, rows := int(n-1+n%2), count0(x.Graph(), n)
	round := truncMod(add(likeConst(rows, 0), sizeLike(rows, step)), rounds)
	p := truncMod(sub(add(round, rounds), rows), rounds)
	if n%2 == 0 {
		alone := truncMod(mul(round, (rounds+1)/2), rounds) // half of the round
		p = where(eq(rows, rounds), alone, where(eq(p, rows), rounds, p))
	}
	return reshape(cast(p, uop.Int32), uop.ShapeOf(1, n, 1))
}

// clearlyShorter is the ratio of squared lengths below which the rows of a pair swap places: rows of equal length would swap at random, and so miss
// rotations with other rows.
const clearlyShorter = 1 - 1.0/1024

// rotation gives the factors own and other, (s, n, 1), of a row and of its partner in the rotation that makes their dot product 0. The first row of
// the pair becomes the longer one: rows that are not sorted converge slowly where many have the same length (De Rijk, SIAM J. Sci. Stat. Comput. 10,
// 1989).
func rotation(row, partner, product, first *uop.UOp) (own, other *uop.UOp) {
	turn := ne(product, 0)
	left, right := where(first, row, partner), where(first, partner, row)
	tau := div(sub(right, left), mul(2, where(turn, product, 1)))
	t := div(where(lt(tau, 0), likeConst(tau, -1), likeConst(tau, 1)), add(abs(tau), sqrt(add(1, square(tau)))))
	t = where(turn, t, 0)
	change := mul(t, product) // of the squares of their lengths
	swap := lt(sub(left, change), mul(add(right, change), clearlyShorter))
	c := rsqrt(add(1, square(t)))
	s := mul(c, t)
	s = where(first, s, neg(s))
	return where(swap, s, c), where(swap, c, neg(s))
}

// jacobiSweeps is the number of sweeps (rotations of all pairs of n vectors) after which the vectors are orthogonal. Convergence is quadratic after a
// number of sweeps that grows with log2(n); it is slower where many vectors have nearly the same length, and float64 distinguishes more of them. The
// number is one more than was measured for repeated eigenvalues.
func jacobiSweeps(n int64, dt *uop.DType) int64 {
	sweeps := 4 + bits.Len64(uint64(n))
	if dt == uop.Float64 {
		sweeps += 4
	}
	return int64(sweeps)
}

// orthogonalised rotates the rows of the first tensor (s, n, m) until they are orthogonal, and applies the same rotations to the others.
func orthogonalised(xs ...*uop.UOp) []*uop.UOp {
	stack, n, _ := sizes(xs[0])
	if n < 2 {
		return xs
	}
	column := zeros(xs[0], xs[0].DType, stack, n, 1)
	states := slices.Concat(xs, xs, []*uop.UOp{column, column, column, column})
	rounds := n - 1 + n%2
	steps := loop{variable: "round", count: (jacobiSweeps(n, xs[0].DType)*rounds + 1) / 2, lanes: inLanes(xs[0])}
	return steps.run(states, nil, func(b *loopBody, i uop.Sint, s, _ []*uop.UOp) {
		k := len(xs)
		norms, products, own, other := s[2*k], s[2*k+1], s[2*k+2], s[2*k+3]
		for half, way := range [][2]int{{0, k}, {k, 0}} { // a rotation reads one set of states and writes the other
			at := partners(norms, n, i.Mul(uop.N(2)).Add(uop.N(int64(half))))
			across := func(x *uop.UOp) *uop.UOp { return gather(x, 1, expand(at, x.Shape())) }
			x := s[way[0]]
			b.do(norms.AssignTo(sum(square(x), []int{-1}, true)), products.AssignTo(sum(mul(x, across(x)), []int{-1}, true)))
			first := lt(reshape(count0(x.Graph(), n), uop.ShapeOf(1, n, 1)), at)
			alone := eq(reshape(count0(x.Graph(), n), uop.ShapeOf(1, n, 1)), at)
			// Both rows of a pair use the same product: of two that are summed in different orders one may be 0 and the other nearly 0.
			product := where(alone, 0, where(first, products, across(products)))
			// Values that the kernels of a rotation share are stored in the layout of the states.
			order := func(x *uop.UOp) *uop.UOp { return steps.stored(expand(x, norms.Shape())) }
			c, t := rotation(order(norms), order(across(norms)), order(product), order(first))
			b.do(own.AssignTo(steps.seen(c, norms.Shape())), other.AssignTo(steps.seen(t, norms.Shape())))
			var writes []*uop.UOp
			for i := range k {
				v := s[way[0]+i]
				writes = append(writes, s[way[1]+i].AssignTo(add(mul(own, v), mul(other, across(v)))))
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

// svd is the singular value decomposition of matrices (s, m, n); matrices that are not square are first reduced to square ones by QR.
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
	top := a
	var q *uop.UOp
	if m > n {
		q, top = qr(a, columns)
		top = shrinkTo(top, uop.ShapeOf(stack, n, n))
	}
	if worthDividing(top) {
		u, s, vt = svdDivided(top)
	} else {
		u, s, vt = rotated(top)
	}
	if m > n {
		u = dot(shrinkTo(q, uop.ShapeOf(stack, m, n)), u, nil)
	}
	if fullMatrices && m > n {
		u = cat([]*uop.UOp{u, shrinkAxis(q, 2, uop.N(n), uop.N(m))}, -1)
	}
	finite := finiteMatrices(a)
	orNaN := func(x, finite *uop.UOp) *uop.UOp { return where(finite, x, math.NaN()) }
	return orNaN(u, finite), orNaN(s, squeeze(finite, -1)), orNaN(vt, finite)
}

// leastDivided is the size from which divide and conquer is faster than rotations, which take n³ operations for each of several sweeps;
// leastManyDivided is that for many matrices, which share the kernels.
const leastDivided, leastManyDivided = 24, 13

// worthDividing reports whether square matrices are decomposed by divide and conquer.
func worthDividing(a *uop.UOp) bool {
	stack, n, _ := sizes(a)
	least := int64(leastDivided)
	if stack >= manyLanes {
		least = leastManyDivided
	}
	return a.DType.Itemsize() >= 4 && n >= least
}

// rotated is the singular value decomposition of square matrices a (s, n, n) by rotations of their columns, sorted by length.
func rotated(a *uop.UOp) (u, s, vt *uop.UOp) {
	scale := leadingPower(maxOf(abs(a), []int{-2, -1}, true))
	turned := orthogonalised(transpose(div(a, scale), -2, -1), identityLike(a, a.Shape()[1].N))
	length := sqrt(sum(square(turned[0]), []int{-1}, false))
	sorted := ordered(length, -1, true)
	s = sorted.value
	u = orthonormal(div(picked(transpose(turned[0], -2, -1), sorted.at), unsqueeze(where(ne(s, 0), s, 1), -2)))
	return u, mul(s, squeeze(scale, -1)), transpose(picked(transpose(turned[1], -2, -1), sorted.at), -2, -1)
}

// eigh are the eigenvalues and eigenvectors of symmetric matrices given by one triangle of a (s, n, n).
func eigh(a *uop.UOp, upper bool) (values, vectors *uop.UOp) {
	if upper {
		a = transpose(a, -2, -1)
	}
	a = ofLower(a)
	if worthDividing(a) {
		values, vectors = eighDivided(a)
	} else {
		values, vectors = rotatedSymmetric(a)
	}
	finite := finiteMatrices(a)
	return where(squeeze(finite, -1), values, math.NaN()), where(finite, vectors, math.NaN())
}

// ofLower are the symmetric, or Hermitian, matrices with the lower triangles of a (s, n, n).
func ofLower(a *uop.UOp) *uop.UOp {
	if a.DType.IsComplex() {
		z := complexOf(a)
		below := tril(z.imag(), -1)
		return complexPlanes{ofLower(z.re), sub(below, transpose(below, -2, -1))}.joined()
	}
	return add(tril(a, 0), transpose(tril(a, -1), -2, -1))
}

// finiteMatrices reports for each matrix (s, m, n) whether all its elements are finite: (s, 1, 1). Others have no decomposition.
func finiteMatrices(a *uop.UOp) *uop.UOp {
	return lt(maxOf(abs(a), []int{-2, -1}, true), math.Inf(1))
}

// rotatedSymmetric makes the rows of small symmetric matrices (s, n, n) orthogonal, after a shift that makes all eigenvalues positive: the rows are
// then the eigenvectors times the shifted eigenvalues.
func rotatedSymmetric(a *uop.UOp) (values, vectors *uop.UOp) {
	n := a.Shape()[1].N
	scale := leadingPower(maxOf(abs(a), []int{-2, -1}, true))
	a = div(a, scale)
	shift := mul(2, maxOf(sum(abs(a), []int{-1}, true), []int{-2}, true))
	v := orthogonalised(add(a, mul(identityLike(a, n), where(gt(shift, 1), shift, 1))))[0]
	v = div(v, sqrt(sum(square(v), []int{-1}, true)))
	sorted := ordered(sum(mul(v, dot(v, a, nil)), []int{-1}, false), -1, false)
	return mul(sorted.value, squeeze(scale, -1)), picked(transpose(v, -2, -1), sorted.at)
}

// SVD is the singular value decomposition a = u diag(s) vt of matrices (…, m, n), with k = min(m, n) singular values s in
// descending order, u of shape (…, m, k), or (…, m, m) if fullMatrices, and vt of shape (…, k, n), or (…, n, n).
func SVD(a *uop.UOp, fullMatrices bool) (u, s, vt *uop.UOp, err error) {
	defer guard("SVD", &err)
	a = needMatrices("a", a)
	if a.DType.IsComplex() {
		u, s, vt = svdOfComplex(a, fullMatrices)
		return u, s, vt, nil
	}
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
	need("a", a)
	a = asFloat(a)
	squareSize("a", a)
	if s := a.Shape(); s.MaxNumel() == 0 {
		return full(a.Graph(), s[:len(s)-1], uop.Int(0), a.DType.Plane()), full(a.Graph(), s, uop.Int(0), a.DType), nil
	}
	if a.DType.IsComplex() {
		if upper {
			a = adjointOf(a)
		}
		values, vectors = eighOfComplex(ofLower(a))
		return values, vectors, nil
	}
	f := function("eigh", []int64{flag(upper)}, 2, []*uop.UOp{flattened(a)}, func(in []*uop.UOp) []*uop.UOp {
		values, vectors := eigh(in[0], upper)
		return []*uop.UOp{values, vectors}
	})
	part := func(x *uop.UOp, which int64) *uop.UOp {
		return customGradient(gradientOfEigh, likeStack(x, a), []*uop.UOp{a}, []int64{flag(upper), which})
	}
	return part(f[0], 0), part(f[1], 1), nil
}
