package tensor

import (
	"math"

	"polygrad/core/uop"
)

// floatMatrices checks that a has matrices in its last two axes, and makes it floating.
func floatMatrices(arg string, a *uop.UOp) *uop.UOp {
	need(arg, a)
	if n := len(a.Shape()); n < 2 {
		fail(arg, "has %d dimensions, expected 2 or more", n)
	}
	return asFloat(a)
}

// epsilonOf is the distance from 1 to the next number of a type.
func epsilonOf(dt *uop.DType) float64 {
	switch dt {
	case uop.Float64:
		return 0x1p-52
	case uop.Float16:
		return 0x1p-10
	case uop.BFloat16:
		return 0x1p-7
	}
	return 0x1p-23
}

// eyes are identity matrices (…, m, n) with the leading axes of a.
func eyes(a *uop.UOp, m, n int64) *uop.UOp {
	lead := a.Shape()[:len(a.Shape())-2]
	s := append(joinShapes(lead), uop.N(m), uop.N(n))
	return expand(broadcastTo(eye(a.Graph(), m, n, a.DType), s), s)
}

// AnySVD is SVD, also of matrices without elements.
func AnySVD(a *uop.UOp, fullMatrices bool) (u, s, vt *uop.UOp, err error) {
	defer guard("SVD", &err)
	a = floatMatrices("x", a)
	if a.Shape().MaxNumel() > 0 {
		return SVD(a, fullMatrices)
	}
	n := len(a.Shape())
	rows, columns := intSize("x", a.Shape(), n-2), intSize("x", a.Shape(), n-1)
	k := min(rows, columns)
	s = full(a.Graph(), append(joinShapes(a.Shape()[:n-2]), uop.N(k)), uop.Int(0), a.DType.Plane())
	if fullMatrices {
		return eyes(a, rows, rows), s, eyes(a, columns, columns), nil
	}
	return eyes(a, rows, k), s, eyes(a, k, columns), nil
}

// AnyQR is QR, also of matrices without elements.
func AnyQR(a *uop.UOp) (q, r *uop.UOp, err error) {
	defer guard("QR", &err)
	a = floatMatrices("x", a)
	if a.Shape().MaxNumel() > 0 {
		return QR(a)
	}
	m := intSize("x", a.Shape(), len(a.Shape())-2)
	return eyes(a, m, m), a, nil
}

// singularValues is SingularValues for matrices that are checked already.
func singularValues(a *uop.UOp) *uop.UOp {
	_, s, _, err := AnySVD(a, false)
	if err != nil {
		panic(err)
	}
	return s
}

// SingularValues are the singular values of matrices, descending.
func SingularValues(a *uop.UOp) (r *uop.UOp, err error) {
	defer guard("SingularValues", &err)
	a = floatMatrices("x", a)
	return singularValues(a), nil
}

// toleranceOf is rtol, or the epsilon of the type of matrices times their greater size.
func toleranceOf(a, rtol *uop.UOp) *uop.UOp {
	if rtol != nil {
		return rtol
	}
	m, n := intSize("x", a.Shape(), len(a.Shape())-2), intSize("x", a.Shape(), len(a.Shape())-1)
	return constant(a, a.DType.Plane(), uop.Float(epsilonOf(a.DType.Plane())*float64(max(m, n))))
}

// smallest is the threshold of singular values s, rtol times the greatest one: values up to it count as 0.
func smallest(s, rtol *uop.UOp) *uop.UOp {
	return mul(maxOf(s, []int{-1}, true), unsqueeze(cast(rtol, s.DType), -1))
}

// PseudoInverse is the inverse of Moore and Penrose of matrices; singular values up to rtol times the greatest count as 0.
func PseudoInverse(a, rtol *uop.UOp) (r *uop.UOp, err error) {
	defer guard("PseudoInverse", &err)
	a = floatMatrices("x", a)
	if a.Shape().MaxNumel() == 0 {
		return conj(transpose(a, -2, -1)), nil
	}
	rtol = toleranceOf(a, rtol)
	u, s, vt, err := SVD(detach(a), false)
	if err != nil {
		return nil, err
	}
	zero := le(s, smallest(s, detach(rtol)))
	inv := where(zero, 0, reciprocal(where(zero, 1, s)))
	r = dot(mul(adjointOf(vt), unsqueeze(inv, -2)), adjointOf(u), nil)
	if !a.DType.IsComplex() {
		return customGradient(gradientOfPseudoInverse, r, []*uop.UOp{a, rtol}, []int64{0}), nil
	}
	of, planes := complexOf(a), complexOf(r)
	part := func(x *uop.UOp, plane int64) *uop.UOp {
		return customGradient(gradientOfPseudoInverse, x, []*uop.UOp{of.re, of.imag(), rtol}, []int64{plane})
	}
	return uop.ComplexPair(part(planes.re, 0), part(planes.imag(), 1)), nil
}

// MatrixRank is the number of singular values above rtol times the greatest, int32.
func MatrixRank(a, rtol *uop.UOp) (r *uop.UOp, err error) {
	defer guard("MatrixRank", &err)
	need("x", a)
	if len(a.Shape()) < 2 {
		return cast(anyOf(ne(a, 0), nil, false), uop.Int32), nil
	}
	a = floatMatrices("x", a)
	if a.Shape().MaxNumel() == 0 {
		s := a.Shape()
		return full(a.Graph(), s[:len(s)-2], uop.Int(0), uop.Int32), nil
	}
	s := singularValues(a)
	return sum(cast(gt(s, smallest(s, toleranceOf(a, rtol))), uop.Int32), []int{-1}, false), nil
}

// MatrixNorm is a norm of matrices: fro, nuc, or the order 1, -1, 2, -2, infinity or -infinity.
func MatrixNorm(a *uop.UOp, name string, order float64, keepdims bool) (r *uop.UOp, err error) {
	defer guard("MatrixNorm", &err)
	a = floatMatrices("x", a)
	both := []int{-2, -1}
	widened := func(r *uop.UOp) *uop.UOp {
		if keepdims {
			return unsqueeze(unsqueeze(r, -1), -1)
		}
		return r
	}
	lines := func(axis int, of func(x *uop.UOp, axes []int, keep bool) *uop.UOp) *uop.UOp {
		other := -3 - axis
		sums := sum(abs(a), []int{axis}, true)
		return widened(reshape(of(sums, []int{other}, true), a.Shape()[:len(a.Shape())-2]))
	}
	greatest := func(x *uop.UOp, axes []int, keep bool) *uop.UOp { // the maximum, 0 for an empty axis
		if at := len(x.Shape()) + axes[0]; x.Shape()[at].IsNum(0) {
			x = padAxis(x, at, 0, 1, 0)
		}
		return maxOf(x, axes, keep)
	}
	switch {
	case name == "fro":
		return vectorNorm(a, 2, both, keepdims), nil
	case name == "nuc":
		return widened(sum(singularValues(a), []int{-1}, false)), nil
	case name != "":
		fail("ord", "is %q, expected fro, nuc, 1, -1, 2, -2 or an infinity", name)
	}
	switch order {
	case 1:
		return lines(-2, greatest), nil
	case -1:
		return lines(-2, minOf), nil
	case 2:
		return widened(greatest(singularValues(a), []int{-1}, false)), nil
	case -2:
		return widened(minOf(singularValues(a), []int{-1}, false)), nil
	}
	switch {
	case math.IsInf(order, 1):
		return lines(-1, greatest), nil
	case math.IsInf(order, -1):
		return lines(-1, minOf), nil
	}
	fail("ord", "is %v, expected fro, nuc, 1, -1, 2, -2 or an infinity", order)
	return nil, nil
}

// vectorNorm is the norm of an order over axes. The gradient of order 2 at a zero vector is 0.
func vectorNorm(x *uop.UOp, order float64, axes []int, keep bool) *uop.UOp {
	if x.DType.IsComplex() {
		x = abs(x)
	}
	dt := x.DType
	x = atLeastF32(x)
	a := abs(x)
	switch {
	case math.IsInf(order, 1):
		r := maxOf(a, axes, keep)
		if x.Shape().MaxNumel() == 0 {
			r = maximum(r, 0)
		}
		return cast(r, dt)
	case math.IsInf(order, -1):
		return cast(minOf(a, axes, keep), dt)
	case order == 0:
		return cast(sum(cast(ne(x, 0), x.DType), axes, keep), dt)
	case order == 1:
		return cast(sum(a, axes, keep), dt)
	case order == 2:
		total := sum(square(x), axes, keep)
		return cast(where(eq(total, 0), 0, sqrt(where(eq(total, 0), 1, total))), dt)
	}
	return cast(pow(sum(pow(a, order), axes, keep), 1/order), dt)
}

// VectorNorm is the norm of an order over axes.
func VectorNorm(x *uop.UOp, order float64, axes []int, keepdims bool) (r *uop.UOp, err error) {
	defer guard("VectorNorm", &err)
	need("x", x)
	if axes != nil {
		axes = axesOf("axis", axes, len(x.Shape()))
	}
	return vectorNorm(asFloat(x), order, axes, keepdims), nil
}

// Condition is the condition number of matrices by a norm: of 2 and -2 by singular values, otherwise by the inverse.
func Condition(a *uop.UOp, name string, order float64) (r *uop.UOp, err error) {
	defer guard("Condition", &err)
	a = floatMatrices("x", a)
	defined := func(r *uop.UOp) *uop.UOp { // infinite where it is 0/0 or infinity/infinity, unless the matrix has NaN
		return where(isNaN(r), where(anyOf(isNaN(a), []int{-2, -1}, false), math.NaN(), math.Inf(1)), r)
	}
	if name == "" && (order == 2 || order == -2) {
		s := singularValues(a)
		most, least := maxOf(s, []int{-1}, false), minOf(s, []int{-1}, false)
		if order == -2 {
			most, least = least, most
		}
		return defined(div(most, least)), nil
	}
	inverse, err := Inv(a)
	if err != nil {
		return nil, err
	}
	n, err := MatrixNorm(a, name, order, false)
	if err != nil {
		return nil, err
	}
	m, err := MatrixNorm(inverse, name, order, false)
	if err != nil {
		return nil, err
	}
	return defined(mul(n, m)), nil
}

// MatrixPower is a power of square matrices by an integer.
func MatrixPower(a *uop.UOp, n int64) (r *uop.UOp, err error) {
	defer guard("MatrixPower", &err)
	need("x", a)
	size := squareSize("x", a)
	if n < 0 {
		a = inverseOfMatrices(asFloat(a))
		n = -n
	}
	if n == 0 {
		return expand(broadcastTo(eye(a.Graph(), size, size, a.DType), a.Shape()), a.Shape()), nil
	}
	for power := a; n > 0; n >>= 1 {
		if n&1 == 1 {
			if r == nil {
				r = power
			} else {
				r = dot(r, power, nil)
			}
		}
		if n > 1 {
			power = dot(power, power, nil)
		}
	}
	return r, nil
}

// MatrixExp is the exponential of square matrices by scaling and squaring (Higham): Taylor's series of degree 18 of a / 2^s, squared s times. The
// graph always has 16 squarings, enough for norms up to 2^15; a matrix that needs fewer keeps its result through the others.
func MatrixExp(a *uop.UOp) (r *uop.UOp, err error) {
	defer guard("MatrixExp", &err)
	need("x", a)
	a = asFloat(a)
	n := squareSize("x", a)
	dt := a.DType
	if dt.IsComplex() {
		return onBlocks(a, MatrixExp), nil
	}
	a = atLeastF32(a)
	if a.Shape().MaxNumel() == 0 {
		return cast(a, dt), nil
	}
	const degree, most = 18, 16
	norm := detach(maxOf(sum(abs(a), []int{-2}, true), []int{-1}, true))
	// s with norm / 2^s <= 1/2.
	steps := clamp(ceil(add(log2(maximum(norm, 1e-30)), 1)), 0, most)
	x := mul(a, exp2(neg(steps)))
	one := eye(a.Graph(), n, n, a.DType)
	r = add(one, div(x, degree))
	for k := degree - 1; k >= 1; k-- {
		r = add(one, div(dot(x, r, nil), k))
	}
	for k := range most {
		r = where(lt(likeConst(steps, k), steps), dot(r, r, nil), r)
	}
	return cast(r, dt), nil
}

// LUFactors are the permuted lower factors (…, m, k), the upper factors (…, k, n), and the order of rows (…, m) of matrices (…, m, n), where k is
// min(m, n): a[order] is lower @ upper. The first k rows and columns have the gradient of luRule; the other rows of lower, or columns of upper, are
// differentiated as solutions of triangular systems.
func LUFactors(a *uop.UOp) (lower, upper, order *uop.UOp, err error) {
	defer guard("LUFactors", &err)
	a = floatMatrices("x", a)
	s := a.Shape()
	lead := s[:len(s)-2]
	_, m, n := sizes(flattened(a))
	k := min(m, n)
	part := func(x *uop.UOp, rows, columns [2]int64) *uop.UOp {
		x = shrinkAxis(x, -2+len(s), uop.N(rows[0]), uop.N(rows[1]))
		return shrinkAxis(x, -1+len(s), uop.N(columns[0]), uop.N(columns[1]))
	}
	if s.MaxNumel() == 0 {
		rows := broadcastTo(count0(a.Graph(), m), joinShapes(lead, uop.ShapeOf(m)))
		return add(part(a, [2]int64{0, m}, [2]int64{0, k}), eye(a.Graph(), m, k, a.DType)), part(a, [2]int64{0, k}, [2]int64{0, n}), rows, nil
	}
	f := factoredFunction("factors", nil, 3, flattened(part(detach(a), [2]int64{0, m}, [2]int64{0, k})), false, nil, func(f factored, _ []*uop.UOp) []*uop.UOp {
		return []*uop.UOp{f.lower, f.upper, f.pivots}
	})
	shaped := func(x *uop.UOp, rest ...int64) *uop.UOp { return reshape(x, joinShapes(lead, uop.ShapeOf(rest...))) }
	below, order := shaped(f[0], m, k), shaped(f[2], m)
	permuted := gather(a, -2, expand(unsqueeze(order, -1), s))
	head := part(permuted, [2]int64{0, k}, [2]int64{0, k})
	both := detach(add(tril(part(below, [2]int64{0, k}, [2]int64{0, k}), -1), triu(shaped(f[1], k, k), 0)))
	both = customGradient(gradientOfLU, both, []*uop.UOp{head})
	lower, upper = add(tril(both, -1), eye(a.Graph(), k, k, a.DType)), triu(both, 0)
	if m > k {
		rest := transpose(part(permuted, [2]int64{k, m}, [2]int64{0, k}), -2, -1)
		solved := transpose(triangular(upper, rest, true, true, false), -2, -1)
		lower = cat([]*uop.UOp{lower, differentiatedAs(detach(part(below, [2]int64{k, m}, [2]int64{0, k})), solved)}, -2)
	}
	if n > k {
		rest := part(permuted, [2]int64{0, k}, [2]int64{k, n})
		upper = cat([]*uop.UOp{upper, triangular(lower, rest, false, false, true)}, -1)
	}
	return lower, upper, order, nil
}

// luRule is the gradient of L U for that of both in one matrix: L⁻ᵀ (tril(Lᵀ dL, -1) + triu(dU Uᵀ)) U⁻ᵀ.
func luRule(g, both *uop.UOp) *uop.UOp {
	n := squareSize("x", both)
	lower, upper := add(tril(both, -1), eye(both.Graph(), n, n, both.DType)), triu(both, 0)
	m := add(tril(dot(transpose(lower, -2, -1), tril(g, -1), nil), -1), triu(dot(triu(g, 0), transpose(upper, -2, -1), nil), 0))
	m = triangular(both, m, false, true, true)
	return transpose(triangular(both, transpose(m, -2, -1), true, false, false), -2, -1)
}

// triangular is TriangularSolve of operands that are known to fit.
func triangular(a, b *uop.UOp, upper, transposed, unit bool) *uop.UOp {
	x, err := TriangularSolve(a, b, upper, transposed, unit)
	if err != nil {
		panic(err)
	}
	return x
}

// Kron is the product of Kronecker.
func Kron(x, y *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Kron", &err)
	needSame("operands", x, y)
	n := max(len(x.Shape()), len(y.Shape()))
	wide := func(u *uop.UOp, first bool) *uop.UOp {
		s := alignLeft(u.Shape(), n)
		to := uop.Shape{}
		for _, d := range s {
			if first {
				to = append(to, d, uop.N(1))
			} else {
				to = append(to, uop.N(1), d)
			}
		}
		return reshape(u, to)
	}
	p := mul(wide(x, true), wide(y, false))
	to := uop.Shape{}
	for i := range n {
		to = append(to, p.Shape()[2*i].Mul(p.Shape()[2*i+1]))
	}
	return reshape(p, to), nil
}

// Cross is the cross product of vectors of 3 along an axis.
func Cross(x, y *uop.UOp, axis int) (r *uop.UOp, err error) {
	defer guard("Cross", &err)
	needSame("operands", x, y)
	x, y = matched(x, y)
	axis = axisOf("axis", axis, len(x.Shape()))
	if len(x.Shape()) == 0 || !x.Shape()[axis].IsNum(3) {
		fail("axis", "%d of shape %s, expected an axis of size 3", axis, x.Shape())
	}
	turned := func(u *uop.UOp, by int64) *uop.UOp { return roll(u, []int64{-by}, []int{axis}) }
	return sub(mul(turned(x, 1), turned(y, 2)), mul(turned(x, 2), turned(y, 1))), nil
}

// CrossAlong is the cross product of vectors of 2 or 3, which lie along axes of x, y and the result. Vectors of 2 have 0 as third element;
// of two of them the result is the third element, a number each.
func CrossAlong(x, y *uop.UOp, axes [3]int) (r *uop.UOp, err error) {
	defer guard("CrossAlong", &err)
	needSame("operands", x, y)
	x, y = matchTypes(x, y)
	flatVectors := true
	vectors := func(name string, u *uop.UOp, axis int) *uop.UOp {
		s := u.Shape()
		given := axis
		if axis = oneAxis(u, axis); !s[axis].IsNum(2) && !s[axis].IsNum(3) {
			fail(name, "has shape %s, expected vectors of 2 or 3 along axis %d", s, given)
		}
		if u = moveAxes(u, []int{axis}, []int{-1}); s[axis].IsNum(2) {
			return padAxis(u, len(s)-1, 0, 1, 0)
		}
		flatVectors = false
		return u
	}
	x, y = vectors("x", x, axes[0]), vectors("b", y, axes[1])
	if r, err = Cross(x, y, -1); err != nil {
		return nil, err
	}
	if flatVectors {
		return index(r, Ellipsis(), At(2)), nil
	}
	return moveAxes(r, []int{-1}, []int{axes[2]}), nil
}

// TensorDot contracts axis left[i] of x with axis right[i] of y, for every i.
func TensorDot(x, y *uop.UOp, left, right []int) (r *uop.UOp, err error) {
	defer guard("TensorDot", &err)
	needSame("operands", x, y)
	x, y = matchTypes(x, y)
	left, right = axesOf("axes", left, len(x.Shape())), axesOf("axes", right, len(y.Shape()))
	if len(left) != len(right) {
		fail("axes", "are %d and %d, expected as many of both", len(left), len(right))
	}
	for i := range left {
		if x.Shape()[left[i]] != y.Shape()[right[i]] {
			fail("axes", "of sizes %s and %s, expected equal ones", x.Shape()[left[i]], y.Shape()[right[i]])
		}
	}
	dt := x.DType
	if dt.IsBool() {
		x, y = cast(x, uop.Int32), cast(y, uop.Int32)
	}
	if r, err = DotGeneral(x, y, left, right, nil, nil, nil); err != nil {
		return nil, err
	}
	return cast(r, dt), nil
}

// Product is the matrix product of any types, in the type of the operands: vectors are rows on the left and columns on the right.
func Product(x, y *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Product", &err)
	needSame("operands", x, y)
	if len(x.Shape()) == 0 || len(y.Shape()) == 0 {
		fail("operands", "have shapes %s and %s, expected at least 1 dimension", x.Shape(), y.Shape())
	}
	x, y = matchTypes(x, y)
	if x.DType.IsBool() {
		return cast(dot(cast(x, uop.Int32), cast(y, uop.Int32), nil), uop.Bool), nil
	}
	return cast(dot(x, y, nil), x.DType), nil
}

// MatVec are the products of matrices x and vectors, the last axis of y.
func MatVec(x, y *uop.UOp) (r *uop.UOp, err error) {
	defer guard("MatVec", &err)
	needRanks(x, 2, y, 1)
	r, err = Product(x, unsqueeze(y, -1))
	if err != nil {
		return nil, err
	}
	return Squeeze(r, -1)
}

// VecMat are the products of the conjugates of vectors, the last axis of x, and matrices y.
func VecMat(x, y *uop.UOp) (r *uop.UOp, err error) {
	defer guard("VecMat", &err)
	needRanks(x, 1, y, 2)
	r, err = Product(unsqueeze(Conjugated(x), -2), y)
	if err != nil {
		return nil, err
	}
	return Squeeze(r, -2)
}

func needRanks(x *uop.UOp, atX int, y *uop.UOp, atY int) {
	needSame("operands", x, y)
	if len(x.Shape()) < atX || len(y.Shape()) < atY {
		fail("operands", "have shapes %s and %s, expected at least %d and %d dimensions", x.Shape(), y.Shape(), atX, atY)
	}
}

// TensorSolve is x with tensordot(a, x) = b over the last axes of a, which are those of x.
func TensorSolve(a, b *uop.UOp) (r *uop.UOp, err error) {
	defer guard("TensorSolve", &err)
	needSame("operands", a, b)
	rest := len(b.Shape())
	if rest > len(a.Shape()) {
		fail("b", "has shape %s, expected the first axes of a of shape %s", b.Shape(), a.Shape())
	}
	to := a.Shape()[rest:]
	n := numel("b", b.Shape())
	if numel("a", to) != n {
		fail("a", "has shape %s, expected as many elements behind its first %d axes as b of shape %s", a.Shape(), rest, b.Shape())
	}
	x, err := Solve(reshape(a, uop.Shape{n, n}), flatten(reshape(b, uop.Shape{n}), 0, -1))
	if err != nil {
		return nil, err
	}
	return reshape(x, joinShapes(to)), nil
}

// TensorInv is the inverse with respect to the first axes: tensordot(inverse, a) over ind axes is the identity.
func TensorInv(a *uop.UOp, ind int64) (r *uop.UOp, err error) {
	defer guard("TensorInv", &err)
	need("a", a)
	if ind < 1 || ind >= int64(len(a.Shape())) {
		fail("ind", "is %d for %d dimensions, expected 1 or more, and less", ind, len(a.Shape()))
	}
	head, tail := a.Shape()[:ind], a.Shape()[ind:]
	n := numel("a", head)
	if numel("a", tail) != n {
		fail("a", "has shape %s, expected as many elements in its first %d axes as in the others", a.Shape(), ind)
	}
	inverse, err := Inv(reshape(a, uop.Shape{n, n}))
	if err != nil {
		return nil, err
	}
	return reshape(inverse, append(joinShapes(tail), head...)), nil
}

// ChainProduct is the product of several matrices, of which the first may be a row and the last a column, in the order with the least work.
func ChainProduct(xs []*uop.UOp) (r *uop.UOp, err error) {
	defer guard("ChainProduct", &err)
	if len(xs) < 2 {
		fail("arrays", "are %d, expected 2 or more", len(xs))
	}
	needSame("arrays", xs...)
	last := len(xs) - 1
	row, column := len(xs[0].Shape()) == 1, len(xs[last].Shape()) == 1
	ms := make([]*uop.UOp, len(xs))
	for i, x := range xs {
		switch {
		case i == 0 && row:
			x = unsqueeze(x, 0)
		case i == last && column:
			x = unsqueeze(x, 1)
		case len(x.Shape()) != 2:
			fail(numbered("arrays", i), "has %d dimensions, expected 2", len(x.Shape()))
		}
		ms[i] = x
	}
	sizes := make([]int64, len(xs)+1)
	for i, m := range ms {
		sizes[i] = intSize("arrays", m.Shape(), 0)
		sizes[i+1] = intSize("arrays", m.Shape(), 1)
		if i > 0 && ms[i-1].Shape()[1] != m.Shape()[0] {
			fail(numbered("arrays", i), "has shape %s behind %s, expected sizes that agree", m.Shape(), ms[i-1].Shape())
		}
	}
	// work[i][j] is the least number of multiplications for the product of the matrices i to j, cut[i][j] the last matrix of its left factor.
	n := len(ms)
	work, cut := make([][]float64, n), make([][]int, n)
	for i := range n {
		work[i], cut[i] = make([]float64, n), make([]int, n)
	}
	for length := 2; length <= n; length++ {
		for i := 0; i+length <= n; i++ {
			j := i + length - 1
			work[i][j] = math.Inf(1)
			for k := i; k < j; k++ {
				w := work[i][k] + work[k+1][j] + float64(sizes[i])*float64(sizes[k+1])*float64(sizes[j+1])
				if w < work[i][j] {
					work[i][j], cut[i][j] = w, k
				}
			}
		}
	}
	var product func(i, j int) *uop.UOp
	product = func(i, j int) *uop.UOp {
		if i == j {
			return ms[i]
		}
		a, b := matchTypes(product(i, cut[i][j]), product(cut[i][j]+1, j))
		return dot(a, b, nil)
	}
	r = product(0, n-1)
	if column {
		r = squeeze(r, 1)
	}
	if row {
		r = squeeze(r, 0)
	}
	return r, nil
}

// LUTogether packs the factors of LUFactors of square matrices into one matrix, without the ones on the diagonal of the lower factor, and gives the
// order of rows.
func LUTogether(a *uop.UOp) (factors, order *uop.UOp, err error) {
	defer guard("LUTogether", &err)
	a = floatMatrices("x", a)
	squareSize("x", a)
	lower, upper, order, err := LUFactors(a)
	if err != nil {
		return nil, nil, err
	}
	return add(tril(lower, -1), upper), order, nil
}

// LUSolve is x with a x = b, or aᵀ x = b if transposed, for the results of LUTogether of a.
func LUSolve(factors, order, b *uop.UOp, transposed bool) (r *uop.UOp, err error) {
	defer guard("LUSolve", &err)
	needSame("operands", factors, order, b)
	n := squareSize("lu", factors)
	if needInt("order", order); !order.Shape().Equal(factors.Shape()[:len(factors.Shape())-1]) {
		fail("order", "has shape %s, expected %s", order.Shape(), factors.Shape()[:len(factors.Shape())-1])
	}
	b, vector := asColumns(factors, b)
	lead, _ := broadcastShape(factors.Shape()[:len(factors.Shape())-2], b.Shape()[:len(b.Shape())-2])
	inOrder := func(x, order *uop.UOp) *uop.UOp {
		s := joinShapes(lead, x.Shape()[len(x.Shape())-2:])
		return gather(broadcastTo(x, s), -2, broadcastTo(unsqueeze(order, -1), s))
	}
	solve := func(b *uop.UOp, upper bool) *uop.UOp { return triangular(factors, b, upper, transposed, !upper) }
	if transposed {
		places := squeeze(inversePermutations(reshape(order, uop.ShapeOf(order.Shape().MaxNumel()/max(n, 1), n, 1))), -1)
		r = inOrder(solve(solve(b, true), false), reshape(places, order.Shape()))
	} else {
		r = solve(solve(inOrder(b, order), false), true)
	}
	if vector {
		r = squeeze(r, -1)
	}
	return r, nil
}
