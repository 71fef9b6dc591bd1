package tensor

import (
	"slices"

	"polygrad/core/uop"
)

// The gradients of decompositions are formulas of their results, which can be differentiated again. (Giles, Collected matrix derivative
// results for forward and reverse mode algorithmic differentiation, 2008; Walter and Lehmann, Algorithmic differentiation of linear
// algebra functions with application in optimum experimental design, 2010.)

// sumTo sums a gradient over the axes along which a value of shape s was broadcast.
func sumTo(g *uop.UOp, s uop.Shape) *uop.UOp {
	gs := g.Shape()
	var axes []int
	for i := range gs {
		if k := i - len(gs) + len(s); k < 0 || s[k].IsNum(1) && !gs[i].IsNum(1) {
			axes = append(axes, i)
		}
	}
	if len(axes) > 0 {
		g = sum(g, axes, true)
	}
	return reshape(g, s)
}

// triangularSolveRule: a x = b gives db = a⁻ᵀ g and da = -db xᵀ, in the triangle that is read.
func triangularSolveRule(g, u *uop.UOp, upper, unit bool) []*uop.UOp {
	a, b := u.Src[1], u.Src[2]
	gb := triangularSolution(transpose(a, -2, -1), g, !upper, unit)
	ga := neg(dot(gb, transpose(u, -2, -1), nil))
	off := int64(0)
	if unit {
		off = 1
	}
	if upper {
		ga = triu(ga, off)
	} else {
		ga = tril(ga, -off)
	}
	return []*uop.UOp{nil, sumTo(ga, a.Shape()), sumTo(gb, b.Shape())}
}

// choleskyRule (Murray, Differentiation of the Cholesky decomposition, 2016): with P = Φ(lᵀ g), Φ the lower triangle with half of the
// diagonal, the gradient is the symmetric part of l⁻ᵀ P l⁻¹, as a stays symmetric, though only one triangle of it is read.
func choleskyRule(g, u *uop.UOp, upper bool) []*uop.UOp {
	l := u
	if upper {
		l, g = transpose(u, -2, -1), transpose(g, -2, -1)
	}
	n := squareSize("x", l)
	rows, columns := unsqueeze(count0(g.Graph(), n), -1), count0(g.Graph(), n)
	p := dot(transpose(l, -2, -1), tril(g, 0), nil)
	p = where(gt(rows, columns), p, where(eq(rows, columns), mul(p, 0.5), 0))
	lt := transpose(l, -2, -1)
	s := triangularSolution(lt, p, true, false)                                      // l⁻ᵀ P
	s = transpose(triangularSolution(lt, transpose(s, -2, -1), true, false), -2, -1) // l⁻ᵀ P l⁻¹
	return []*uop.UOp{nil, mul(add(s, transpose(s, -2, -1)), 0.5)}
}

// solveRule: a x = b gives db = a⁻ᵀ g, by the same factors, and da = -db xᵀ.
func solveRule(g, u *uop.UOp, transposed bool) []*uop.UOp {
	a, b := u.Src[1], u.Src[2]
	gb := solve(a, g, !transposed)
	left, right := gb, u
	if transposed {
		left, right = u, gb
	}
	ga := neg(dot(left, transpose(right, -2, -1), nil))
	return []*uop.UOp{nil, sumTo(ga, a.Shape()), sumTo(gb, b.Shape())}
}

// inverseRule: da = -yᵀ g yᵀ for y = a⁻¹.
func inverseRule(g, u *uop.UOp) []*uop.UOp {
	t := transpose(u, -2, -1)
	return []*uop.UOp{nil, neg(dot(t, dot(g, t, nil), nil))}
}

// pseudoInverseRule: for p = a⁺, da = -pᵀ g pᵀ + (I - a p) gᵀ p pᵀ + pᵀ p gᵀ (I - p a), where the rank stays as it is (Golub and Pereyra, The
// differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate, 1973). ᵀ conjugates.
func pseudoInverseRule(a, p, g *uop.UOp) *uop.UOp {
	pt, gt := adjointOf(p), adjointOf(g)
	left := dot(gt, dot(p, pt, nil), nil)
	left = sub(left, dot(a, dot(p, left, nil), nil))
	right := dot(dot(pt, p, nil), gt, nil)
	right = sub(right, dot(dot(right, p, nil), a, nil))
	return sub(add(left, right), dot(pt, dot(g, pt, nil), nil))
}

// determinantRule: the gradient of log |det a| is a⁻ᵀ, that of det a is det a times that: the matrix of cofactors, which small matrices have
// without an inverse, so also if they are singular.
func determinantRule(g, u *uop.UOp, logarithm bool) []*uop.UOp {
	a := u.Src[1]
	if a.Shape().MaxNumel() == 0 {
		return []*uop.UOp{nil, fullLike(a, 0)}
	}
	const small = 4
	if n := a.Shape()[len(a.Shape())-1].N; !logarithm && n <= small {
		return []*uop.UOp{nil, mul(unsqueeze(unsqueeze(g, -1), -1), cofactors(a, int(n)))}
	}
	slope := transpose(matrixInverse(a), -2, -1)
	if !logarithm {
		slope = adjugateTransposed(a, u)
	}
	return []*uop.UOp{nil, mul(unsqueeze(unsqueeze(g, -1), -1), slope)}
}

// cofactors are the determinants of a without a row and a column each, with their signs.
func cofactors(a *uop.UOp, n int) *uop.UOp {
	var minor func(rows, columns []int) *uop.UOp
	minor = func(rows, columns []int) *uop.UOp {
		if len(rows) == 0 {
			return fullLike(index(a, Ellipsis(), At(0), At(0)), 1)
		}
		var sum *uop.UOp
		for k, j := range columns {
			term := index(a, Ellipsis(), At(int64(rows[0])), At(int64(j)))
			if len(rows) > 1 {
				term = mul(term, minor(rows[1:], slices.Delete(slices.Clone(columns), k, k+1)))
			}
			switch {
			case sum == nil:
				sum = term
			case k%2 == 0:
				sum = add(sum, term)
			default:
				sum = sub(sum, term)
			}
		}
		return sum
	}
	var all []*uop.UOp
	for i := range n {
		for j := range n {
			c := minor(slices.Delete(countTo(n), i, i+1), slices.Delete(countTo(n), j, j+1))
			if (i+j)%2 == 1 {
				c = neg(c)
			}
			all = append(all, c)
		}
	}
	return reshape(stack(all, -1), a.Shape())
}

// qrRule: with M = r grᵀ - gqᵀ q, and M̄ the symmetric matrix of its lower triangle, da = (gq + q M̄) r⁻ᵀ. If a has more columns than rows, the
// further columns of r are qᵀ times those of a.
func qrRule(g, a *uop.UOp, ofR bool) *uop.UOp {
	q, r, err := QR(a)
	must(err)
	s := a.Shape()
	lead, m, n := s[:len(s)-2], s[len(s)-2].N, s[len(s)-1].N
	k := min(m, n)
	all := q
	q, square := shrinkTo(q, joinShapes(lead, uop.ShapeOf(m, k))), shrinkTo(r, joinShapes(lead, uop.ShapeOf(k, k)))
	var gq, beyond *uop.UOp
	var products *uop.UOp // M
	if ofR {
		products = dot(square, adjointOf(shrinkTo(triu(g, 0), square.Shape())), nil)
		if n > m {
			wide := shrinkAxis(g, len(s)-1, uop.N(m), uop.N(n))
			gq = dot(shrinkAxis(a, len(s)-1, uop.N(m), uop.N(n)), adjointOf(wide), nil)
			beyond = dot(q, wide, nil)
		}
	} else {
		gq = ofFirst(g, all, k)
	}
	if gq != nil {
		part := neg(dot(adjointOf(gq), q, nil))
		if products != nil {
			part = add(products, part)
		}
		products = part
	}
	right := dot(q, ofLower(products), nil)
	if gq != nil {
		right = add(gq, right)
	}
	ga, err := TriangularSolve(square, adjointOf(right), true, false, false)
	must(err)
	ga = adjointOf(ga)
	if beyond != nil {
		ga = cat([]*uop.UOp{ga, beyond}, -1)
	} else if n > m {
		ga = padTo(ga, s)
	}
	return ga
}

// ofFirst is the gradient of the first k columns of an orthogonal matrix q that has more columns: a change dq of the first ones rotates the others by
// -q dqᵀ. They are not rotated among themselves, since any such rotation leaves q orthogonal.
func ofFirst(g, q *uop.UOp, k int64) *uop.UOp {
	s := q.Shape()
	last, n := len(s)-1, s[len(s)-1].N
	gk := shrinkAxis(g, last, uop.N(0), uop.N(k))
	if n == k {
		return gk
	}
	first, rest := shrinkAxis(q, last, uop.N(0), uop.N(k)), shrinkAxis(q, last, uop.N(k), uop.N(n))
	turn := dot(adjointOf(shrinkAxis(g, last, uop.N(k), uop.N(n))), first, nil)
	return sub(gk, dot(rest, turn, nil))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// differences are 1 / (x[j] - x[i]) (…, n, n), 0 where that does not exist.
func differences(x *uop.UOp) *uop.UOp {
	d := sub(unsqueeze(x, -2), unsqueeze(x, -1))
	some := ne(d, 0)
	return where(some, reciprocal(where(some, d, 1)), 0)
}

// eighRule: da = v (diag(gw) + F ∘ vᵀ gv) vᵀ with F[i, j] = 1 / (w[j] - w[i]), as the gradient of one triangle.
func eighRule(g, u *uop.UOp, upper, ofVectors bool) []*uop.UOp {
	a := u.Src[1]
	w, v, err := Eigh(a, upper)
	must(err)
	s := hermitianRule(g, w, v, ofVectors)
	st := transpose(s, -2, -1)
	if upper {
		return []*uop.UOp{nil, add(triu(s, 0), triu(st, 1))}
	}
	return []*uop.UOp{nil, add(tril(s, 0), tril(st, -1))}
}

// hermitianRule is eighRule for the gradient of a whole symmetric or Hermitian matrix.
func hermitianRule(g, w, v *uop.UOp, ofVectors bool) *uop.UOp {
	vt := adjointOf(v)
	if ofVectors {
		return dot(v, dot(mul(differences(w), dot(vt, g, nil)), vt, nil), nil)
	}
	return dot(v, mul(unsqueeze(g, -1), vt), nil)
}

// eigRule: with a v = v diag(w), da = v⁻ᴴ (diag(gw) + F ∘ (vᴴ gv - vᴴ v diag(Re vᴴ gv))) vᴴ with F[i, j] = 1 / (w[j] - w[i])*, as the gradient of
// functions to which the phases of the vectors, which have length 1, do not matter.
func eigRule(g, a *uop.UOp, ofVectors bool) *uop.UOp {
	w, v, err := Eig(a)
	must(err)
	vt := adjointOf(v)
	inner := mul(unsqueeze(g, -1), vt)
	if ofVectors {
		p := dot(vt, g, nil)
		p = sub(p, mul(dot(vt, v, nil), unsqueeze(diagonalOf(complexOf(p).re), -2)))
		inner = dot(mul(conj(differences(w)), p), vt, nil)
	}
	r, err := Solve(vt, inner)
	must(err)
	return r
}

// svdRule: da = u (E ∘ skew(uᵀ gu) s + s E ∘ skew(vᵀ gv) + diag(gs)) vᵀ + (I - u uᵀ) gu s⁻¹ vᵀ + u s⁻¹ gvᵀ (I - v vᵀ) with
// E[i, j] = 1 / (s[j]² - s[i]²) and skew(x) = x - xᵀ. Of complex matrices xᵀ is the conjugate transpose; the phases of singular vectors change in u
// alone, as in JAX: for that E[i, i] is 1 / (2 s[i]²).
func svdRule(g, a *uop.UOp, full bool, which int) *uop.UOp {
	u, s, vt, err := SVD(a, full)
	must(err)
	last, k := len(a.Shape())-1, s.Shape()[len(a.Shape())-2].N
	allU, allV := u, adjointOf(vt)
	u, vt = shrinkAxis(u, last, uop.N(0), uop.N(k)), shrinkAxis(vt, last-1, uop.N(0), uop.N(k))
	v, ut := adjointOf(vt), adjointOf(u)
	if which == 1 {
		return dot(u, mul(unsqueeze(g, -1), vt), nil)
	}
	some := ne(s, 0)
	inverse := where(some, reciprocal(where(some, s, 1)), 0)
	e := differences(square(s))
	skew := func(x *uop.UOp) *uop.UOp { return sub(x, adjointOf(x)) }
	if which == 0 {
		g = ofFirst(g, allU, k)
		p := dot(ut, g, nil)
		if a.DType.IsComplex() {
			n := k
			on := cast(eye(a.Graph(), n, n, uop.Int32), uop.Bool)
			e = where(on, unsqueeze(mul(square(inverse), 0.5), -1), e)
		}
		inner := mul(mul(e, skew(p)), unsqueeze(s, -2))
		rest := mul(sub(g, dot(u, p, nil)), unsqueeze(inverse, -2))
		return dot(add(dot(u, inner, nil), rest), vt, nil)
	}
	g = ofFirst(adjointOf(g), allV, k)
	p := dot(vt, g, nil)
	inner := mul(mul(e, skew(p)), unsqueeze(s, -1))
	rest := mul(adjointOf(sub(g, dot(v, p, nil))), unsqueeze(inverse, -1))
	return dot(u, add(dot(inner, vt, nil), rest), nil)
}
