package tensor

import (
	"math"

	"polygrad/core/uop"
)

// gather selects along an axis: r[i][j] = x[i][index[i][j]] for axis 1.
func gather(x *uop.UOp, axis int, idx *uop.UOp) *uop.UOp {
	s, is := x.Shape(), idx.Shape()
	needInt("index", idx)
	if len(s) != len(is) {
		fail("index", "has shape %s, expected %d dimensions as x %s", is, len(s), s)
	}
	axis = axisOf("dim", axis, len(s))
	if len(s) == 0 {
		fail("x", "is a scalar, expected at least 1 dimension")
	}
	to := joinShapes(is)
	to[axis] = s[axis]
	for i := range s {
		if i != axis && is[i] != s[i] && is[i].Max() > s[i].Max() {
			fail("index", "has shape %s, expected at most %s outside of axis %d", is, s, axis)
		}
	}
	if x.DType.IsComplex() {
		return onPlanes(x, func(u *uop.UOp) *uop.UOp { return gather(u, axis, idx) })
	}
	from := x
	x = transpose(unsqueeze(shrinkTo(x, to), -1), -1, axis)
	hot := oneHot(unsqueeze(idx, -1), intSize("x", s, axis), -1)
	r := sumAs(where(hot, x, 0), x.DType, []int{-1}, false)
	if !isNumbers(s) || !isNumbers(is) {
		return r
	}
	return customGradient(gradientOfGather, r, []*uop.UOp{from, idx}, []int64{int64(axis)})
}

// needScatter checks the shapes and types of what is scattered.
func needScatter(x *uop.UOp, axis int, idx, src *uop.UOp) {
	s, is, ss := x.Shape(), idx.Shape(), src.Shape()
	needInt("index", idx)
	if len(s) == 0 || len(is) != len(s) || len(ss) != len(s) {
		fail("index", "and src have shapes %s and %s, expected %d dimensions as x %s, at least 1", is, ss, len(s), s)
	}
	axis = axisOf("dim", axis, len(s))
	for i := range s {
		if i != axis && is[i].Max() > s[i].Max() || is[i].Max() > ss[i].Max() {
			fail("index", "has shape %s, expected at most %s outside of axis %d and at most the shape %s of src", is, s, axis, ss)
		}
	}
	if src.DType != x.DType {
		fail("src", "is %s, expected %s as x", src.DType, x.DType)
	}
}

// scatterParts spreads src over a new last axis with a mask of the target indices, both padded to the shape of x.
func scatterParts(x *uop.UOp, axis int, idx, src *uop.UOp) (values, mask *uop.UOp) {
	s, is := x.Shape(), idx.Shape()
	axis = axisOf("dim", axis, len(s))
	src = shrinkTo(src, is)
	n := intSize("x", s, axis)
	values = transpose(expand(unsqueeze(src, -1), joinShapes(is, uop.ShapeOf(n))), -1, axis)
	mask = transpose(oneHot(unsqueeze(idx, -1), n, -1), -1, axis)
	return padTo(values, joinShapes(s, values.Shape()[len(s):])), padTo(mask, joinShapes(s, mask.Shape()[len(s):]))
}

// maskedSet replaces target where mask is true. Over reduced axes the last true element wins.
func maskedSet(target, values, mask *uop.UOp, axes []int) *uop.UOp {
	if values.Shape().MaxNumel() == 0 {
		return target
	}
	for i := len(axes) - 1; i >= 0; i-- {
		a := axes[i]
		ms, vs := splitEvery(mask, 1, a), splitEvery(values, 1, a)
		m, v := ms[0], vs[0]
		for j := 1; j < len(ms); j++ {
			m, v = bitOr(m, ms[j]), where(ms[j], vs[j], v)
		}
		mask, values = m, v
	}
	for i := len(axes) - 1; i >= 0; i-- {
		mask, values = squeeze(mask, axes[i]), squeeze(values, axes[i])
	}
	return where(mask, values, target)
}

// ScatterMode is the combination of values for one place.
type ScatterMode uint8

// Modes of ScatterReduce, in the order of PolyReduceOp.
const (
	ScatterSum ScatterMode = iota
	ScatterProd
	ScatterMax
	ScatterMin
	ScatterMean
)

// scatterOneHot is scatterReduce by a mask: each index is compared with all positions along the axis, and each position reduces over all indices.
func scatterOneHot(x *uop.UOp, axis int, idx, src *uop.UOp, mode ScatterMode, includeSelf bool) *uop.UOp {
	values, mask := scatterParts(x, axis, idx, src)
	last := []int{-1}
	own := func(kept, neutral operand) operand {
		if includeSelf {
			return kept
		}
		return where(logicalNot(anyOf(mask, last, false)), kept, neutral)
	}
	switch mode {
	case ScatterSum:
		return add(sum(where(mask, values, 0), last, false), own(x, 0))
	case ScatterProd:
		return mul(prod(where(mask, values, 1), last, false), own(x, 1))
	case ScatterMax:
		m := x.DType.Min()
		return maximum(maxOf(where(mask, values, m), last, false), own(x, m))
	case ScatterMin:
		m := x.DType.Max()
		return minimum(minOf(where(mask, values, m), last, false), own(x, m))
	}
	count := add(sum(where(mask, 1, 0), last, false), own(1, 0))
	return div(add(sum(where(mask, values, 0), last, false), own(x, 0)), count)
}

// placesOf is a SCATTER node along an axis; idx may be smaller than x. ok is false for symbolic sizes, empty tensors and graphs as tinygrad builds
// them.
func placesOf(x *uop.UOp, axis int, op uop.Op, idx, src *uop.UOp) (r *uop.UOp, ok bool) {
	for _, v := range []*uop.UOp{x, idx, src} {
		if _, numbers := v.Shape().Ints(); !numbers {
			return nil, false
		}
	}
	if asTinygrad(x) || idx.Shape().MaxNumel() == 0 || x.Shape().MaxNumel() == 0 {
		return nil, false
	}
	if idx.DType != uop.Int32 && idx.DType != uop.Int64 {
		idx = cast(idx, uop.Int64)
	}
	return x.ScatterTo(uop.ScatterArg{Op: op, Axis: axis}, idx, shrinkTo(src, idx.Shape())), true
}

// scatterSet is x with the elements of src stored at the indices; of several for one place the last one stays.
func scatterSet(x *uop.UOp, dim int, idx, src *uop.UOp) *uop.UOp {
	if x.DType.IsComplex() {
		return scatterPlanes(x, src, func(x, src *uop.UOp) *uop.UOp { return scatterSet(x, dim, idx, src) })
	}
	needScatter(x, dim, idx, src)
	axis := axisOf("dim", dim, len(x.Shape()))
	r, ok := placesOf(x, axis, uop.Store, idx, src)
	if !ok {
		values, mask := scatterParts(x, dim, idx, src)
		return maskedSet(x, values, mask, []int{-1})
	}
	if !x.DType.IsFloat() {
		return r
	}
	// The gradient goes to the elements that were written last, and to what was not overwritten.
	is := idx.Shape()
	number := onesShape(len(is))
	number[axis] = is[axis]
	turn := expand(reshape(cast(count0(x.Graph(), is[axis].N), uop.Int32), number), is)
	last, _ := placesOf(full(x.Graph(), x.Shape(), uop.Int(-1), uop.Int32), axis, uop.Store, idx, turn)
	wins := where(eq(gather(last, axis, idx), turn), shrinkTo(src, is), 0)
	kept := where(lt(last, 0), x, 0)
	return differentiatedAs(r, add(kept, scatterOneHot(kept.ConstLike(uop.Int(0)), axis, idx, wins, ScatterSum, true)))
}

// scatterReduce combines the elements of src for one place of x with each other, and with the element of x if includeSelf.
func scatterReduce(x *uop.UOp, dim int, idx, src *uop.UOp, mode ScatterMode, includeSelf bool) *uop.UOp {
	if x.DType.IsComplex() {
		if mode != ScatterSum && mode != ScatterMean {
			fail("reduce", "is a product or an extreme of %s, expected sum or mean", x.DType)
		}
		return scatterPlanes(x, src, func(x, src *uop.UOp) *uop.UOp { return scatterReduce(x, dim, idx, src, mode, includeSelf) })
	}
	needScatter(x, dim, idx, src)
	axis := axisOf("dim", dim, len(x.Shape()))
	slow := func() *uop.UOp { return scatterOneHot(x, dim, idx, src, mode, includeSelf) }
	own := x
	if !includeSelf {
		touched, ok := placesOf(full(x.Graph(), x.Shape(), uop.BoolConst(false), uop.Bool), axis, uop.Store, idx, full(x.Graph(), idx.Shape(), uop.BoolConst(true), uop.Bool))
		if !ok {
			return slow()
		}
		neutral := map[ScatterMode]uop.Const{ScatterSum: uop.Int(0), ScatterMean: uop.Int(0), ScatterProd: uop.Int(1), ScatterMax: x.DType.Min(), ScatterMin: x.DType.Max()}
		own = where(touched, neutral[mode], x)
	}
	combined := func(v *uop.UOp, op uop.Op, src *uop.UOp) *uop.UOp {
		dt := v.DType
		if op == uop.Add {
			dt = uop.SumAcc(dt)
		} else if smallFloats[dt] {
			dt = uop.Float32
		}
		r, _ := placesOf(cast(v, dt), axis, op, idx, cast(src, dt))
		if smallFloats[v.DType] {
			return cast(r, v.DType)
		}
		return r
	}
	if _, ok := placesOf(x, axis, uop.Add, idx, src); !ok {
		return slow()
	}
	switch mode {
	case ScatterSum:
		r := combined(own, uop.Add, src)
		if !x.DType.IsFloat() {
			return r // integers have no gradient
		}
		return differentiatedAs(r, slow())
	case ScatterProd:
		return customGradient(gradientOfScattered, combined(own, uop.Mul, src), []*uop.UOp{own, idx, shrinkTo(src, idx.Shape())}, []int64{int64(axis)})
	case ScatterMax, ScatterMin:
		at, to := src, own
		if mode == ScatterMin {
			at, to = inverse(src), inverse(own)
		}
		r := combined(to, uop.Max, at)
		if mode == ScatterMin {
			r = inverse(r)
		}
		if !x.DType.IsFloat() {
			return r
		}
		// All elements that equal the extreme share the gradient.
		most := detach(r)
		mine, theirs := cast(equalOrNaN(own, most), x.DType), cast(equalOrNaN(shrinkTo(src, idx.Shape()), gather(most, axis, idx)), x.DType)
		count := maximum(detach(combined(mine, uop.Add, theirs)), 1) // 0 for an index out of range
		mine, theirs = div(detach(mine), count), div(detach(theirs), maximum(gather(count, axis, idx), 1))
		return differentiatedAs(r, scatterOneHot(mul(own, mine), axis, idx, mul(shrinkTo(src, idx.Shape()), theirs), ScatterSum, true))
	}
	ones := func(s uop.Shape) *uop.UOp { return full(x.Graph(), s, uop.Int(1), uop.DefaultInt) }
	sums := scatterReduce(x, dim, idx, src, ScatterSum, includeSelf)
	counts := scatterReduce(ones(x.Shape()), dim, idx, ones(idx.Shape()), ScatterSum, includeSelf)
	return div(sums, counts)
}

// scatteredProductsRule gives each factor of a product the product of the other factors: the elements scattered to its place, and the element of own
// there.
func scatteredProductsRule(g, u *uop.UOp, axis int) []*uop.UOp {
	own, idx, src := u.Src[1], u.Src[2], u.Src[3]
	g = cast(g, own.DType)
	scattered := scatterReduce(fullLike(own, 1), axis, idx, src, ScatterProd, true)
	place := idx
	if n := own.Shape()[axis].N; n <= math.MaxInt32 { // numbers of 32 bits are sorted in less time
		place = cast(where(bitAnd(ge(idx, 0), lt(idx, int(n))), idx, -1), uop.Int32)
	}
	return []*uop.UOp{nil, mul(g, scattered), nil, mul(gather(mul(g, own).ContiguousOp(), axis, idx), productOfOthers(axis, place, src))}
}

// productOfOthers is for each element of src the product of the other ones along an axis with the same index: elements are sorted by
// their indices, and the products before and behind each one are running products, which begin anew where the index changes.
func productOfOthers(axis int, idx, src *uop.UOp) *uop.UOp {
	s := src.Shape()
	number := onesShape(len(s))
	number[axis] = s[axis]
	turn := expand(reshape(cast(count0(src.Graph(), s[axis].N), uop.Int32), number), s)
	order := ordered(idx, axis, false).at
	back, _ := placesOf(full(src.Graph(), s, uop.Int(0), uop.Int32), axis, uop.Store, order, turn)
	factor, place := gather(src, axis, order), gather(idx, axis, order)
	running := func(a uop.PrefixArg, end int64) *uop.UOp {
		begins := bitOr(eq(turn, int(end)), ne(place, place.NeighbourAlong(a, -1, uop.Int(0))))
		products := where(begins, 0, factor).PrefixAlong(a, where(begins, factor, 0))
		return where(begins, 1, products.NeighbourAlong(a, -1, uop.Float(0)))
	}
	before := running(uop.PrefixArg{Op: uop.MulAcc, Axis: axis}, 0)
	behind := running(uop.PrefixArg{Op: uop.MulAcc, Axis: axis, Reverse: true}, s[axis].N-1)
	return gather(mul(before, behind).ContiguousOp(), axis, back)
}

// embedding looks up rows of a table: a sum over the one-hot rows of the indices.
func embedding(table, idx *uop.UOp) *uop.UOp {
	hot := eq(count0(table.Graph(), intSize("weight", table.Shape(), 0)), unsqueeze(idx, -1))
	return sumAs(where(unsqueeze(hot, -1), table, 0), table.DType, []int{-2}, false)
}

// Gather selects along an axis by an integer tensor of as many dimensions: for axis 1, r[i][j] = x[i][index[i][j]]. Indices
// out of range give 0.
func Gather(x *uop.UOp, dim int, idx *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Gather", &err)
	needSame("operands", x, idx)
	return gather(x, dim, idx), nil
}

// Scatter is x with values of src written along an axis: for axis 1, r[i][index[i][j]] = src[i][j];
// of several values for one place the last one wins.
func Scatter(x *uop.UOp, dim int, idx, src *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Scatter", &err)
	needSame("operands", x, idx, src)
	return scatterSet(x, dim, idx, src), nil
}

// ScatterReduce is Scatter with the values for one place combined, with or without the element of x there.
func ScatterReduce(x *uop.UOp, dim int, idx, src *uop.UOp, mode ScatterMode, includeSelf bool) (r *uop.UOp, err error) {
	defer guard("ScatterReduce", &err)
	needSame("operands", x, idx, src)
	if mode > ScatterMean {
		fail("mode", "%d, expected 0..%d", mode, ScatterMean)
	}
	return scatterReduce(x, dim, idx, src, mode, includeSelf), nil
}

// OneHot is 1 at each class number along a new last axis and 0 elsewhere, int32.
func OneHot(x *uop.UOp, classes int64) (r *uop.UOp, err error) {
	defer guard("OneHot", &err)
	need("x", x)
	needInt("x", x)
	if classes < 0 {
		fail("classes", "%d, expected 0 or more", classes)
	}
	return where(oneHot(unsqueeze(x, -1), classes, -1), 1, 0), nil
}

// Embedding looks up rows of weight (vocabulary, width) for every index: shape (…, width). Indices out of range give 0.
func Embedding(weight, idx *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Embedding", &err)
	needSame("operands", weight, idx)
	needInt("index", idx)
	if len(weight.Shape()) != 2 {
		fail("weight", "has shape %s, expected (vocabulary, width)", weight.Shape())
	}
	return embedding(weight, idx), nil
}

// MaskedFill is x where mask is false, else value.
func MaskedFill(x, mask *uop.UOp, value uop.Const) (r *uop.UOp, err error) {
	defer guard("MaskedFill", &err)
	needSame("operands", x, mask)
	return where(mask, value, x), nil
}

// Diagonal is the diagonal of two axes, as the last axis; offset moves it to the right.
func Diagonal(x *uop.UOp, offset int64, dim1, dim2 int) (r *uop.UOp, err error) {
	defer guard("Diagonal", &err)
	need("x", x)
	return diagonal(x, offset, dim1, dim2), nil
}

func diagonal(x *uop.UOp, offset int64, dim1, dim2 int) *uop.UOp {
	s := x.Shape()
	if len(s) < 2 {
		fail("x", "has %d dimensions, expected 2 or more", len(s))
	}
	both := []int{axisOf("dim1", dim1, len(s)), axisOf("dim2", dim2, len(s))}
	if both[0] == both[1] {
		fail("dim2", "axis %d is given twice, expected another one than dim1", both[1])
	}
	var order []int
	for i := range s {
		if i != both[0] && i != both[1] {
			order = append(order, i)
		}
	}
	x = permute(x, append(order, both...))
	start := max(offset, -offset)
	if offset >= 0 {
		x = index(x, Ellipsis(), Whole(), Slice(&start, nil, 1))
	} else {
		x = index(x, Ellipsis(), Slice(&start, nil, 1), Whole())
	}
	n := len(s)
	d := min(intSize("x", x.Shape(), n-2), intSize("x", x.Shape(), n-1))
	lead := x.Shape()[:n-2]
	if d <= 0 {
		return reshape(x, joinShapes(lead, uop.ShapeOf(0)))
	}
	square := flatten(index(x, Ellipsis(), Slice(nil, &d, 1), Slice(nil, &d, 1)), -2, -1)
	rows := reshape(padAxis(square, n-2, 0, d, 0), joinShapes(lead, uop.ShapeOf(d, d+1)))
	return index(rows, Ellipsis(), At(0))
}

// Diag is the square matrix with the vector x on its diagonal.
func Diag(x *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Diag", &err)
	need("x", x)
	if len(x.Shape()) != 1 {
		fail("x", "has shape %s, expected a vector", x.Shape())
	}
	n := intSize("x", x.Shape(), 0)
	flat := flatten(padAxis(unsqueeze(x, -1), 1, 0, n, 0), 0, -1)
	r = cast(dims(shrinkTo(flat, uop.ShapeOf(n*n)), n, n), x.DType) // zeros are integers beside bools
	if asTinygrad(x) {
		return r, nil
	}
	// Comparing row and column needs no remainder of each position; the gradient is that of the padded form, a diagonal.
	at := count0(x.Graph(), n)
	return differentiatedAs(cast(where(eq(unsqueeze(at, -1), at), unsqueeze(x, -1), 0), x.DType), r), nil
}
