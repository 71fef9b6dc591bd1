package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Decompositions of complex matrices whose factors are not unique: the real matrices of twice the size (complex_linalg.go) have no factors in block
// form. Householder reflectors make a matrix triangular, or real and tridiagonal if it is Hermitian, or real and bidiagonal; the real matrices are
// then decomposed by the algorithms for real ones.

// A complexReflections is a product of I - tau v vᴴ, with the vectors in the rows of v (s, k, m) and tau (s, k, 1).
type complexReflections struct{ v, tau complexPlanes }

// complexReflector is the reflection of LAPACK's zlarfg: (I - tau* v vᴴ) x is real at a position and 0 behind it. v is 1 at the position and 0
// before it. head is the element of x at the position, below the sum of the squares of the elements behind it.
func complexReflector(x, head complexPlanes, below, position *uop.UOp, at operand) (v, tau complexPlanes) {
	_, digits := x.re.DType.FloatInfo()
	some := gt(below, math.Ldexp(1, -4*digits))
	if head.im != nil {
		some = bitOr(some, gt(abs(head.im), math.Ldexp(1, -2*digits)))
	}
	norm := sqrt(add(head.absSquare(), below))
	beta := where(some, where(lt(head.re, 0), norm, neg(norm)), 1)
	d := complexPlanes{sub(head.re, beta), head.im}
	size := where(some, d.absSquare(), 1)
	scaled := x.times(d.conjugate().both(func(u *uop.UOp) *uop.UOp { return div(u, size) }))
	behind, here := bitAnd(gt(position, at), some), eq(position, at)
	v = chosen(behind, scaled, complexPlanes{where(here, 1, likeConst(x.re, 0)), nil})
	tau = complexPlanes{beta, nil}.minus(head).both(func(u *uop.UOp) *uop.UOp { return where(some, div(u, beta), 0) })
	return v, tau
}

// complexStates pairs the states of a loop, in which real and imaginary planes alternate.
func complexStates(s []*uop.UOp) []complexPlanes {
	z := make([]complexPlanes, len(s)/2)
	for i := range z {
		z[i] = complexPlanes{s[2*i], s[2*i+1]}
	}
	return z
}

// list are the planes of z: only the real one if im is nil.
func (z complexPlanes) list() []*uop.UOp {
	if z.im == nil {
		return []*uop.UOp{z.re}
	}
	return []*uop.UOp{z.re, z.im}
}

// grouped is complexStates if z has an imaginary plane; otherwise each state is a real plane.
func (z complexPlanes) grouped(s []*uop.UOp) []complexPlanes {
	if z.im != nil {
		return complexStates(s)
	}
	r := make([]complexPlanes, len(s))
	for i := range s {
		r[i].re = s[i]
	}
	return r
}

// complexZeros are planes of zeros, as many as a has.
func complexZeros(a complexPlanes, sizes ...int64) []*uop.UOp {
	return a.both(func(u *uop.UOp) *uop.UOp { return zeros(u, u.DType, sizes...) }).list()
}

// assigned are the stores of the planes of to into those of z.
func (z complexPlanes) assigned(to complexPlanes) []*uop.UOp {
	writes := []*uop.UOp{z.re.AssignTo(to.re)}
	if z.im != nil {
		im := to.im
		if im == nil {
			im = fullLike(to.re, 0)
		}
		writes = append(writes, z.im.AssignTo(im))
	}
	return writes
}

func (z complexPlanes) minus(w complexPlanes) complexPlanes { return z.plus(w.both(neg)) }

// beside concatenates z and w along the last axis.
func (z complexPlanes) beside(w complexPlanes) complexPlanes {
	r := complexPlanes{re: cat([]*uop.UOp{z.re, w.re}, -1)}
	if z.im != nil {
		r.im = cat([]*uop.UOp{z.im, w.im}, -1)
	}
	return r
}

// sumOver sums along an axis.
func (z complexPlanes) sumOver(axis int) complexPlanes {
	return z.both(func(u *uop.UOp) *uop.UOp { return sum(u, []int{axis}, true) })
}

func (z complexPlanes) transposed() complexPlanes {
	return z.both(func(u *uop.UOp) *uop.UOp { return transpose(u, -2, -1) })
}

// reflectRows is a = a - t v (vᴴ a) for a column v; w (s, 1, n) is a state for the product.
func reflectRows(b *loopBody, a, v, t, w complexPlanes) {
	b.do(w.assigned(v.conjugate().times(a).sumOver(-2))...)
	b.do(a.assigned(a.minus(t.times(v).times(w)))...)
}

// reflectColumns is a = a - t (a v) vᴴ for v as a row; p (s, m, 1) is a state for the product.
func reflectColumns(b *loopBody, a, v, t, p complexPlanes) {
	b.do(p.assigned(a.times(v).sumOver(-1))...)
	b.do(a.assigned(a.minus(t.times(p).times(v.conjugate())))...)
}

// findReflector writes the reflector of x, a row or a column, to v and tau, with states for the head of x and the squares behind it.
func findReflector(b *loopBody, x, v, tau, head complexPlanes, below, position *uop.UOp, at operand, axis int) {
	here := x.both(func(u *uop.UOp) *uop.UOp { return where(eq(position, at), u, 0) }).sumOver(axis)
	b.do(append(head.assigned(here), below.AssignTo(sum(where(gt(position, at), x.absSquare(), 0), []int{axis}, true)))...)
	reflect, factor := complexReflector(x, head, below, position, at)
	b.do(append(v.assigned(reflect), tau.assigned(factor)...)...)
}

func blockOf(z complexPlanes, axis int, start uop.Sint, size int64) complexPlanes {
	return z.both(func(u *uop.UOp) *uop.UOp { return block(u, axis, start, size) })
}

// complexTriangular makes matrices a (s, m, n) upper triangular with a real diagonal, by reflections from the left.
func complexTriangular(a complexPlanes) (r complexPlanes, by complexReflections) {
	stack, m, n := sizes(a.re)
	k := min(m, n)
	rows := unsqueeze(count0(a.re.Graph(), m), -1)
	states := []*uop.UOp{a.re, a.im}
	for _, shape := range [][]int64{{stack, k, m}, {stack, k, 1}, {stack, m, 1}, {stack, 1, 1}, {stack, 1, 1}, {stack, 1, n}} {
		states = append(states, complexZeros(a, shape...)...)
	}
	last := len(states)
	states = append(states, zeros(a.re, a.re.DType, stack, 1, 1))
	out := loop{variable: "column", count: k, lanes: inLanes(a.re)}.run(states, nil, func(b *loopBody, j uop.Sint, s, _ []*uop.UOp) {
		z := complexStates(s[:last])
		a, all, factors, v, tau, head, w := z[0], z[1], z[2], z[3], z[4], z[5], z[6]
		findReflector(b, blockOf(a, 2, j, 1), v, tau, head, s[last], rows, sizeLike(a.re, j), -2)
		b.do(append(blockOf(all, 1, j, 1).assigned(v.transposed()), blockOf(factors, 1, j, 1).assigned(tau)...)...)
		reflectRows(b, a, v, tau.conjugate(), w)
	})
	z := complexStates(out[:6])
	return complexPlanes{triu(z[0].re, 0), triu(z[0].im, 1)}, complexReflections{z[1], z[2]}
}

// times applies the reflections to x (s, m, c) from the left.
func (r complexReflections) times(x complexPlanes) complexPlanes {
	stack, _, c := sizes(x.re)
	k := r.v.re.Shape()[1].N
	states, read := append(x.list(), complexZeros(x, stack, 1, c)...), append(r.v.list(), r.tau.list()...)
	out := loop{variable: "reflection", count: k, lanes: inLanes(x.re)}.run(states, read, func(b *loopBody, j uop.Sint, s, read []*uop.UOp) {
		z, by := x.grouped(s), x.grouped(read)
		at := uop.N(k - 1).Sub(j)
		reflectRows(b, z[0], blockOf(by[0], 1, at, 1).transposed(), blockOf(by[1], 1, at, 1), z[1])
	})
	return x.grouped(out)[0]
}

// complexEye are the first columns of identity matrices, (s, m, n).
func complexEye(a complexPlanes, m, n int64) complexPlanes {
	stack, _, _ := sizes(a.re)
	z := complexPlanes{re: expand(eye(a.re.Graph(), m, n, a.re.DType), uop.ShapeOf(stack, m, n))}
	if a.im != nil {
		z.im = zeros(a.re, a.re.DType, stack, m, n)
	}
	return z
}

// leadingPower is a power of two near the greatest real or imaginary part of each matrix.
func (z complexPlanes) leadingPower() *uop.UOp {
	greatest := abs(z.re)
	if z.im != nil {
		greatest = maximum(greatest, abs(z.im))
	}
	return leadingPower(maxOf(greatest, []int{-2, -1}, true))
}

// scaledByPower divides by leadingPower.
func (z complexPlanes) scaledByPower() (scaled complexPlanes, scale *uop.UOp) {
	scale = z.leadingPower()
	return z.both(func(u *uop.UOp) *uop.UOp { return div(u, scale).ContiguousOp() }), scale
}

// finite reports for each matrix whether all its elements are finite.
func (z complexPlanes) finite() *uop.UOp {
	if z.im == nil {
		return finiteMatrices(z.re)
	}
	return bitAnd(finiteMatrices(z.re), finiteMatrices(z.im))
}

func (z complexPlanes) orNaN(finite *uop.UOp) complexPlanes {
	return z.both(func(u *uop.UOp) *uop.UOp { return where(finite, u, math.NaN()) })
}

func complexQR(a complexPlanes, count int64) (q, r complexPlanes) {
	_, m, _ := sizes(a.re)
	scaled, scale := a.scaledByPower()
	r, by := complexTriangular(scaled)
	q = by.times(complexEye(a, m, count))
	return q, r.both(func(u *uop.UOp) *uop.UOp { return mul(u, scale) })
}

// complexEigh are the eigenvalues and eigenvectors of Hermitian matrices a (s, n, n): reflections make them real and tridiagonal.
func complexEigh(a complexPlanes) (values *uop.UOp, vectors complexPlanes) {
	stack, n, _ := sizes(a.re)
	finite := a.finite()
	scaled, scale := a.scaledByPower()
	tridiagonal, by := hessenberg(scaled, n-1)
	subdiagonal := padAxis(reshape(diagonal(tridiagonal.re, -1, -2, -1), uop.ShapeOf(stack, n-1)), 1, 0, 1, 0)
	values, real := conquered(diagonalOf(tridiagonal.re).ContiguousOp(), subdiagonal.ContiguousOp())
	vectors = by.times(complexPlanes{real, zeros(a.re, a.re.DType, stack, n, n)})
	values = where(squeeze(finite, -1), mul(values, squeeze(scale, -1)), math.NaN())
	return values, vectors.orNaN(finite)
}

// complexSVD is svd of complex matrices: reflections of rows and columns make them real and bidiagonal.
func complexSVD(a complexPlanes, fullMatrices bool) (u complexPlanes, s *uop.UOp, vh complexPlanes) {
	stack, m, n := sizes(a.re)
	if m < n {
		u, s, vh = complexSVD(a.transposed().conjugate(), fullMatrices)
		return vh.transposed().conjugate(), s, u.transposed().conjugate()
	}
	finite := a.finite()
	top, scale := a.scaledByPower()
	columns := n
	if fullMatrices {
		columns = m
	}
	var q complexPlanes
	if m > n {
		q, top = complexQR(top, columns)
		top = top.both(func(u *uop.UOp) *uop.UOp { return shrinkTo(u, uop.ShapeOf(stack, n, n)).ContiguousOp() })
	}
	position := count0(a.re.Graph(), n)
	states := []*uop.UOp{top.re, top.im}
	for _, shape := range [][]int64{{stack, n, n}, {stack, n, 1}, {stack, n, n}, {stack, n, 1}, {stack, n, 1}, {stack, 1, n}, {stack, 1, 1}, {stack, 1, 1}, {stack, 1, n}, {stack, n, 1}} {
		states = append(states, complexZeros(a, shape...)...)
	}
	last := len(states)
	states = append(states, zeros(a.re, a.re.DType, stack, 1, 1))
	out := loop{variable: "column", count: n, lanes: inLanes(a.re)}.run(states, nil, func(b *loopBody, j uop.Sint, s, _ []*uop.UOp) {
		z := complexStates(s[:last])
		a, left, taus, right, pis, v, row, tau, head, w, p := z[0], z[1], z[2], z[3], z[4], z[5], z[6], z[7], z[8], z[9], z[10]
		findReflector(b, blockOf(a, 2, j, 1), v, tau, head, s[last], unsqueeze(position, -1), sizeLike(a.re, j), -2)
		b.do(append(blockOf(left, 1, j, 1).assigned(v.transposed()), blockOf(taus, 1, j, 1).assigned(tau)...)...)
		reflectRows(b, a, v, tau.conjugate(), w)
		findReflector(b, blockOf(a, 1, j, 1).conjugate(), row, tau, head, s[last], position, sizeLike(a.re, j.Add(uop.N(1))), -1)
		b.do(append(blockOf(right, 1, j, 1).assigned(row), blockOf(pis, 1, j, 1).assigned(tau)...)...)
		reflectColumns(b, a, row, tau, p)
	})
	z := complexStates(out[:10])
	above := padAxis(reshape(diagonal(z[0].re, 1, -2, -1), uop.ShapeOf(stack, n-1)), 1, 0, 1, 0)
	left, s, right := conqueredBidiagonal(diagonalOf(z[0].re).ContiguousOp(), above.ContiguousOp())
	none := zeros(a.re, a.re.DType, stack, n, n)
	u = complexReflections{z[1], z[2]}.times(complexPlanes{left, none})
	vh = complexReflections{z[3], z[4]}.times(complexPlanes{right, none}).transposed().conjugate()
	if m > n {
		first := q.both(func(x *uop.UOp) *uop.UOp { return shrinkTo(x, uop.ShapeOf(stack, m, n)) })
		product := complexOf(dot(first.joined(), u.joined(), nil))
		if fullMatrices {
			rest := blockOf(q, 2, uop.N(n), m-n)
			product = complexPlanes{cat([]*uop.UOp{product.re, rest.re}, -1), cat([]*uop.UOp{product.im, rest.im}, -1)}
		}
		u = product
	}
	s = where(squeeze(finite, -1), mul(s, squeeze(scale, -1)), math.NaN())
	return u.orNaN(finite), s, vh.orNaN(finite)
}

// adjointOf is the conjugate transpose of matrices.
func adjointOf(a *uop.UOp) *uop.UOp { return conj(transpose(a, -2, -1)) }

// complexFunction runs a function from the planes of complex matrices to real planes. The gradient of result k is that of a rule with the numbers
// rules(k); the last of them says which plane of a complex result it is.
func complexFunction(name string, numbers []int64, rule statedRule, a *uop.UOp, results int, run func(z complexPlanes) []*uop.UOp, rules func(k int) []int64) []*uop.UOp {
	z := complexOf(a)
	planes := []*uop.UOp{z.re, z.imag()}
	f := function(name, numbers, results, []*uop.UOp{flattened(planes[0]), flattened(planes[1])}, func(in []*uop.UOp) []*uop.UOp {
		return run(complexPlanes{in[0], in[1]})
	})
	for k, r := range f {
		f[k] = customGradient(rule, likeStack(r, a), planes, rules(k))
	}
	return f
}

// complexRule applies the rule of a complex result to the gradient g of one of its planes, with 0 as the gradient of the other one. Gradients are
// dL/dre + i dL/dim, so dL is the real part of the product of their conjugate with the change.
func complexRule(g, u *uop.UOp, plane int, rule func(a, g *uop.UOp) *uop.UOp) []*uop.UOp {
	zero := fullLike(g, 0)
	whole := uop.ComplexPair(g, zero)
	if plane == 1 {
		whole = uop.ComplexPair(zero, g)
	}
	z := complexOf(rule(uop.ComplexPair(u.Src[1], u.Src[2]), whole))
	return []*uop.UOp{nil, z.re, z.imag()}
}

func qrOfComplex(a *uop.UOp) (q, r *uop.UOp) {
	f := complexFunction("complex qr", nil, gradientOfQR, a, 4, func(z complexPlanes) []*uop.UOp {
		q, r := complexQR(z, z.re.Shape()[1].N)
		return []*uop.UOp{q.re, q.im, r.re, r.im}
	}, func(k int) []int64 { return []int64{int64(k / 2), int64(k % 2)} })
	return uop.ComplexPair(f[0], f[1]), uop.ComplexPair(f[2], f[3])
}

// eighOfComplex are the eigenvalues and eigenvectors of Hermitian matrices.
func eighOfComplex(a *uop.UOp) (values, vectors *uop.UOp) {
	f := complexFunction("complex eigh", nil, gradientOfEigh, a, 3, func(z complexPlanes) []*uop.UOp {
		values, vectors := complexEigh(z)
		return []*uop.UOp{values, vectors.re, vectors.im}
	}, func(k int) []int64 { return []int64{0, flag(k > 0), int64(k / 2)} })
	return f[0], uop.ComplexPair(f[1], f[2])
}

func svdOfComplex(a *uop.UOp, fullMatrices bool) (u, s, vh *uop.UOp) {
	f := complexFunction("complex svd", []int64{flag(fullMatrices)}, gradientOfSVD, a, 5, func(z complexPlanes) []*uop.UOp {
		u, s, vh := complexSVD(z, fullMatrices)
		return []*uop.UOp{u.re, u.im, s, vh.re, vh.im}
	}, func(k int) []int64 {
		return []int64{flag(fullMatrices), []int64{0, 0, 1, 2, 2}[k], []int64{0, 1, 0, 0, 1}[k]}
	})
	return uop.ComplexPair(f[0], f[1]), f[2], uop.ComplexPair(f[3], f[4])
}

// determinantFactors are complex numbers whose product is the determinant: the diagonal of QR, and the determinants of the reflections,
// -tau / tau*.
func determinantFactors(a complexPlanes) complexPlanes {
	scaled, scale := a.scaledByPower()
	r, by := complexTriangular(scaled)
	d := mul(diagonalOf(r.re), squeeze(scale, -1))
	tau := by.tau.both(func(u *uop.UOp) *uop.UOp { return squeeze(u, -1) })
	some := gt(tau.absSquare(), 0)
	size := where(some, tau.absSquare(), 1)
	square := tau.times(tau)
	turn := complexPlanes{where(some, neg(div(square.re, size)), 1), where(some, neg(div(square.im, size)), 0)}
	return turn.both(func(u *uop.UOp) *uop.UOp { return mul(u, d) })
}

// determinantOfComplex is the determinant, or its sign and the logarithm of its absolute value.
func determinantOfComplex(a *uop.UOp, logarithm bool) (sign, value *uop.UOp) {
	squareSize("a", a)
	lead := a.Shape()[:len(a.Shape())-2]
	if a.Shape().MaxNumel() == 0 {
		one := full(a.Graph(), lead, uop.Int(1), a.DType)
		return one, full(a.Graph(), lead, uop.Int(0), a.DType.Plane())
	}
	if !logarithm {
		f := complexFunction("complex determinant", nil, gradientOfDeterminant, a, 2, func(z complexPlanes) []*uop.UOp {
			p := complexOf(prod(determinantFactors(z).joined(), []int{-1}, false))
			return []*uop.UOp{p.re, p.im}
		}, func(k int) []int64 { return []int64{0, int64(k)} })
		return uop.ComplexPair(f[0], f[1]), nil
	}
	f := complexFunction("complex logarithm of the determinant", nil, gradientOfDeterminant, a, 3, func(z complexPlanes) []*uop.UOp {
		p := determinantFactors(z)
		size := p.abs()
		zero := eq(size, 0)
		turn := p.both(func(u *uop.UOp) *uop.UOp { return where(zero, 0, div(u, where(zero, 1, size))) })
		s := complexOf(prod(turn.joined(), []int{-1}, false))
		return []*uop.UOp{s.re, s.im, sum(log(size), []int{-1}, false)}
	}, func(k int) []int64 { return []int64{int64(2 - k/2), int64(k % 2)} })
	return uop.ComplexPair(f[0], f[1]), f[2]
}

// complexDeterminantRule: the change of log det a is the trace of a⁻¹ da. kind is 0 for the determinant, 1 for the logarithm of its absolute
// value, 2 for its sign.
func complexDeterminantRule(a, g *uop.UOp, kind int) *uop.UOp {
	wide := func(x *uop.UOp) *uop.UOp { return unsqueeze(unsqueeze(x, -1), -1) }
	const small = 4
	n := a.Shape()[len(a.Shape())-1].N
	if kind == 0 && n <= small {
		return mul(wide(g), conj(cofactors(a, int(n))))
	}
	inverse := adjointOf(inverseOfMatrices(a))
	switch kind {
	case 0:
		d, _ := determinantOfComplex(a, false)
		g = mul(g, conj(d))
	case 2:
		s, _ := determinantOfComplex(a, true)
		turn := complexOf(mul(conj(g), s)).imag()
		g = complexPlanes{likeConst(turn, 0), neg(turn)}.joined()
	}
	return mul(wide(g), inverse)
}
