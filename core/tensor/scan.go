package tensor

import (
	"slices"

	"polygrad/core/uop"
)

// cumulate is the running reduction along an axis, as a reduction over sliding windows of a padded copy. withInitial shifts the
// result by one and begins with the identity element.
func cumulate(x *uop.UOp, axis int, op uop.Op, withInitial bool) *uop.UOp {
	n := intSize("axis", x.Shape(), axis)
	before, after := n-1, int64(0)
	if withInitial {
		before, after = n, -1
	}
	last := len(x.Shape()) - 1
	windows := pool(padAxis(transpose(x, axis, -1), last, before, after, uop.IdentityElement(op, x.DType)), []int64{n}, []int64{1}, []int64{1})
	var r *uop.UOp
	switch axes := []int{-1}; op {
	case uop.Add:
		r = sum(windows, axes, false)
	case uop.Max:
		r = maxOf(windows, axes, false)
	default:
		r = accurateProd(windows, axes, false)
	}
	return transpose(r, axis, -1)
}

// scanBlock is the block length for long axes: scanned inside every block first, then over the block totals.
const scanBlock = 256

// prefix is the running reduction along an axis by an operation of uop.PrefixArg, in the order of the axis.
func prefix(x *uop.UOp, axis int, op uop.Op, more ...*uop.UOp) *uop.UOp {
	return x.PrefixAlong(uop.PrefixArg{Op: op, Axis: axis}, more...)
}

// scan is the running reduction along an axis. Sums are in the type that sum accumulates in, those and products of small floats are
// rounded at the end.
func scan(x *uop.UOp, axis int, op uop.Op) *uop.UOp {
	s := x.Shape()
	axis = axisOf("axis", axis, len(s))
	empty := len(s) == 0 || slices.ContainsFunc(s, func(d uop.Sint) bool { return d.IsNum(0) })
	switch {
	case x.DType.IsComplex() && empty:
		return x
	case x.DType.IsComplex():
		return scanComplex(x, axis, op)
	case asTinygrad(x):
		if empty {
			return x
		}
		return scanWindows(x, axis, op)
	case smallFloats[x.DType] && (empty || op == uop.Max):
	case smallFloats[x.DType]:
		return cast(prefix(cast(x, uop.Float32), axis, op), x.DType)
	case op == uop.Mul && x.DType.IsBool():
		x = cast(x, uop.Int32)
	case op == uop.Add:
		x = cast(x, uop.SumAcc(x.DType))
	}
	if empty {
		return x
	}
	return prefix(x, axis, op)
}

// scanWindows is cumulate in two stages for long axes.
func scanWindows(x *uop.UOp, axis int, op uop.Op) *uop.UOp {
	s := x.Shape()
	n := intSize("axis", s, axis)
	if n <= scanBlock*2 {
		return cumulate(x, axis, op, false)
	}
	fill := (n+scanBlock-1)/scanBlock*scanBlock - n
	t := padAxis(transpose(x, axis, -1), len(s)-1, fill, 0, uop.IdentityElement(op, x.DType))
	inner := cumulate(unflatten(t, -1, uop.ShapeOf(-1, scanBlock)), len(s), op, false)
	base := cumulate(index(inner, Ellipsis(), At(-1)), len(s)-1, op, true)
	base = expand(unsqueeze(base, -1), joinShapes(base.Shape(), uop.ShapeOf(scanBlock)))
	fix := func(y *uop.UOp) *uop.UOp {
		from := -n
		return transpose(index(flatten(y, -2, -1), Ellipsis(), Slice(&from, nil, 1)), axis, -1)
	}
	return binary(op, fix(inner), fix(base))
}

// cumMax gives the running maximum and its first index, int32.
func cumMax(x *uop.UOp, axis int, same func(x, m *uop.UOp) *uop.UOp) (values, indices *uop.UOp) {
	s := x.Shape()
	axis = axisOf("axis", axis, len(s))
	values = scan(x, axis, uop.Max)
	if len(s) == 0 {
		return values, full(x.Graph(), s, uop.Int(0), uop.Int32)
	}
	if !asTinygrad(x) && !s[axis].IsNum(0) {
		return values, newestExtreme(x, values, axis, greater)
	}
	n := intSize("axis", s, axis)
	if n == 0 {
		return values, full(x.Graph(), s, uop.Int(0), uop.Int32)
	}
	xt, vt := transpose(x, axis, -1), transpose(values, axis, -1)
	upper := triu(full(x.Graph(), uop.ShapeOf(n, n), uop.Float(1), uop.DefaultFloat), 0)
	match := mul(same(unsqueeze(xt, -1), unsqueeze(vt, -2)), upper)
	down := dims(arange(x.Graph(), uop.Int(n), uop.Int(0), uop.Int(-1), uop.DefaultInt), n, 1)
	best := maxOf(mul(match, down), []int{-2}, false)
	return values, transpose(cast(add(neg(best), int(n)), uop.Int32), -1, axis)
}

// newestExtreme is the position, int32, at which each running extreme occurs first: where an element is beyond the running extreme before it. The
// first element has none before it, which does not matter, as its position is 0.
func newestExtreme(x, values *uop.UOp, axis int, beyond func(a, b *uop.UOp) *uop.UOp) *uop.UOp {
	found := beyond(x, values.NeighbourAlong(uop.PrefixArg{Axis: axis}, -1, uop.Int(0)))
	place := make(uop.Shape, len(x.Shape()))
	for i := range place {
		place[i] = uop.N(1)
	}
	place[axis] = x.Shape()[axis]
	size := x.Shape()[axis]
	at := reshape(front(arange(x.Graph(), uop.Int(0), uop.Int(size.Max()), uop.Int(1), uop.Int32), size), place)
	return prefix(where(found, expand(at, x.Shape()), 0), axis, uop.Max)
}

// CumSum is the running sum along an axis.
func CumSum(x *uop.UOp, axis int) (r *uop.UOp, err error) {
	defer guard("CumSum", &err)
	need("x", x)
	return scan(x, axis, uop.Add), nil
}

// CumProd is the running product along an axis.
func CumProd(x *uop.UOp, axis int) (r *uop.UOp, err error) {
	defer guard("CumProd", &err)
	need("x", x)
	return scan(x, axis, uop.Mul), nil
}
