package tensor

import (
	"math"
	"slices"

	"polygrad/core/uop"
)

// Movement and selection functions of numpy.

// SplitWhole splits numbers into fractional and integral parts, both with the sign of x.
func SplitWhole(x *uop.UOp) (fraction, whole *uop.UOp, err error) {
	defer guard("SplitWhole", &err)
	need("x", x)
	x = asFloat(x)
	whole = detach(trunc(x))
	fraction = copysign(where(isInf(x), 0, sub(x, whole)), x)
	return fraction, copysign(whole, x), nil
}

// AllEqual is whether two tensors have equal shapes and elements, bool.
func AllEqual(x, y *uop.UOp, equalNaN bool) (r *uop.UOp, err error) {
	defer guard("AllEqual", &err)
	needSame("operands", x, y)
	if !x.Shape().Equal(y.Shape()) {
		return full(x.Graph(), nil, uop.BoolConst(false), uop.Bool), nil
	}
	x, y = matched(x, y)
	same := equal
	if equalNaN {
		same = equalOrNaN
	}
	return allOf(same(x, y), nil, false), nil
}

// countedFromEnd adds n to the negative positions along an axis of size n. Positions that are out of range stay out of range.
func countedFromEnd(at *uop.UOp, n int64) *uop.UOp {
	needInt("indices", at)
	if !at.DType.IsUnsigned() {
		at = cast(at, uop.LeastUpper(at.DType, uop.Int32))
		at = where(lt(at, 0), add(at, int(n)), at)
	}
	return at
}

// TakeAxes gathers the elements of x at positions along an axis; the axes of at replace that axis. Positions out of range give 0.
func TakeAxes(x, at *uop.UOp, axis int) (r *uop.UOp, err error) {
	defer guard("TakeAxes", &err)
	needSame("operands", x, at)
	needInt("indices", at)
	if len(x.Shape()) == 0 {
		x = dims(x, 1)
	}
	axis = axisOf("axis", axis, len(x.Shape()))
	entries := make([]Index, axis+1)
	for i := range entries {
		entries[i] = Whole()
	}
	entries[axis] = Take(at)
	return index(x, entries...), nil
}

// oneAxis resolves a negative axis of x; it fails for a scalar.
func oneAxis(x *uop.UOp, axis int) int {
	n := len(x.Shape())
	if n == 0 {
		fail("axis", "%d of a scalar, expected a tensor with one axis or more", axis)
	}
	return axisOf("axis", axis, n)
}

// IndicesWithin maps positions along an axis of x of size n into 0..n-1: modulo n with wrap, otherwise clamped.
func IndicesWithin(at, x *uop.UOp, axis int, wrap bool) (r *uop.UOp, err error) {
	defer guard("IndicesWithin", &err)
	needSame("operands", at, x)
	n := intSize("axis", x.Shape(), oneAxis(x, axis))
	if n == 0 {
		fail("x", "has no element along axis %d, expected one or more", axis)
	}
	if wrap {
		return mod(at, int(n)), nil
	}
	return clamp(at, 0, int(n-1)), nil
}

// TakeOrFill is TakeAxes with fill where an index is out of range. A nil fill means NaN for float and complex types, the least integer of a signed
// type, the greatest of an unsigned one, and true for bool.
func TakeOrFill(x, at *uop.UOp, axis int, fill operand) (r *uop.UOp, err error) {
	defer guard("TakeOrFill", &err)
	needSame("operands", x, at)
	axis = oneAxis(x, axis)
	n := intSize("axis", x.Shape(), axis)
	if fill == nil {
		switch dt := x.DType; {
		case dt.IsFloat() || dt.IsComplex():
			fill = math.NaN()
		case dt.IsUnsigned() || dt.IsBool():
			fill = dt.Max()
		default:
			fill = dt.Min()
		}
	}
	outside := bitOr(lt(at, int(-n)), ge(at, int(n)))
	taken, err := TakeAxes(x, where(outside, 0, at), axis)
	if err != nil {
		return nil, err
	}
	s := append(onesShape(axis), at.Shape()...)
	s = append(s, onesShape(len(x.Shape())-axis-1)...)
	return where(reshape(outside, s), fill, taken), nil
}

// along broadcasts x and the positions to a common shape except along the axis. Negative positions count from the end; the last result is the axis,
// counted from the front.
func along(x, at *uop.UOp, axis int) (wide, places *uop.UOp, n int) {
	if len(x.Shape()) != len(at.Shape()) || len(x.Shape()) == 0 {
		fail("indices", "has %d dimensions, expected %d as x, 1 or more", len(at.Shape()), len(x.Shape()))
	}
	axis = axisOf("axis", axis, len(x.Shape()))
	size := intSize("axis", x.Shape(), axis)
	xs, as := joinShapes(x.Shape()), joinShapes(at.Shape())
	for i := range xs {
		if i == axis {
			continue
		}
		if xs[i] != as[i] && !xs[i].IsNum(1) && !as[i].IsNum(1) {
			fail("indices", "has shape %s, expected one that broadcasts with %s but for axis %d", at.Shape(), x.Shape(), axis)
		}
		if xs[i].IsNum(1) {
			xs[i] = as[i]
		}
		as[i] = xs[i]
	}
	return expand(x, xs), expand(countedFromEnd(at, size), as), axis
}

// TakeAlong gathers, in each vector of x along an axis, the elements at the positions in the same vector of at.
func TakeAlong(x, at *uop.UOp, axis int) (r *uop.UOp, err error) {
	defer guard("TakeAlong", &err)
	needSame("operands", x, at)
	wide, places, axis := along(x, at, axis)
	return gather(wide, axis, places), nil
}

// PutAlong is x with values stored at the positions that TakeAlong reads.
func PutAlong(x, at, values *uop.UOp, axis int) (r *uop.UOp, err error) {
	defer guard("PutAlong", &err)
	needSame("operands", x, at, values)
	wide, places, axis := along(x, at, axis)
	if !wide.Shape().Equal(x.Shape()) {
		fail("indices", "has shape %s, expected one that broadcasts to %s but for axis %d", at.Shape(), x.Shape(), axis)
	}
	return scatterSet(wide, axis, places, expand(broadcastTo(cast(values, x.DType), places.Shape()), places.Shape())), nil
}

// Put is x with values, repeated as needed, at positions of the flattened x.
func Put(x, at, values *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Put", &err)
	needSame("operands", x, at, values)
	n := intSize("x", uop.Shape{numel("x", x.Shape())}, 0)
	places := countedFromEnd(flatten(at, 0, -1), n)
	count := intSize("indices", places.Shape(), 0)
	v := flatten(cast(values, x.DType), 0, -1)
	size := intSize("values", v.Shape(), 0)
	if count == 0 {
		return x, nil
	}
	if size == 0 {
		fail("values", "is empty, expected one element or more")
	}
	if size < count {
		v = repeat(v, []uop.Sint{uop.N((count + size - 1) / size)})
	}
	return reshape(scatterSet(flatten(x, 0, -1), 0, places, shrinkAxis(v, 0, uop.N(0), uop.N(count))), x.Shape()), nil
}

// Deleted is x without the elements at positions along an axis.
func Deleted(x *uop.UOp, at []int64, axis int) (r *uop.UOp, err error) {
	defer guard("Deleted", &err)
	need("x", x)
	needAxes("x", x)
	axis = axisOf("axis", axis, len(x.Shape()))
	n := intSize("axis", x.Shape(), axis)
	gone := map[int64]bool{}
	for _, i := range at {
		if i < -n || i >= n {
			fail("obj", "%d is out of bounds for axis %d of size %d", i, axis, n)
		}
		gone[(i+n)%max(n, 1)] = true
	}
	var parts []*uop.UOp
	start := int64(0)
	for i := range n + 1 {
		if i < n && !gone[i] {
			continue
		}
		if i > start {
			parts = append(parts, shrinkAxis(x, axis, uop.N(start), uop.N(i)))
		}
		start = i + 1
	}
	if len(parts) == 0 {
		return shrinkAxis(x, axis, uop.N(0), uop.N(0)), nil
	}
	return sideBySide(parts, axis), nil
}

// Inserted is x with values in front of positions along an axis: all of them in front of a single position, else one for each.
func Inserted(x *uop.UOp, at []int64, values *uop.UOp, axis int) (r *uop.UOp, err error) {
	defer guard("Inserted", &err)
	needSame("operands", x, values)
	needAxes("x", x)
	axis = axisOf("axis", axis, len(x.Shape()))
	n := intSize("axis", x.Shape(), axis)
	places := make([]int64, len(at))
	for k, i := range at {
		if i < -n || i > n {
			fail("obj", "%d is out of bounds for axis %d of size %d", i, axis, n)
		}
		if i < 0 {
			i += n
		}
		places[k] = i
	}
	v := cast(values, x.DType)
	s := joinShapes(x.Shape())
	if len(places) == 1 && len(v.Shape()) < len(s) && len(s) > 1 { // numpy puts a lower dimension in front of the axis
		v = unsqueeze(v, min(axis, len(v.Shape())))
	}
	count := uop.N(int64(len(places)))
	if len(places) == 1 && len(v.Shape()) > 0 {
		if k := axis - (len(s) - len(v.Shape())); k >= 0 {
			count = v.Shape()[k]
		}
	}
	s[axis] = count
	v = expand(broadcastTo(v, s), s)
	m := intSize("values", s, axis)
	if len(places) == 1 {
		places = slices.Repeat(places, int(m))
	}
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(places[a] - places[b]) })
	var parts []*uop.UOp
	start := int64(0)
	for _, k := range order {
		if i := places[k]; i > start {
			parts = append(parts, shrinkAxis(x, axis, uop.N(start), uop.N(i)))
			start = i
		}
		parts = append(parts, shrinkAxis(v, axis, uop.N(int64(k)), uop.N(int64(k)+1)))
	}
	if start < n {
		parts = append(parts, shrinkAxis(x, axis, uop.N(start), uop.N(n)))
	}
	if len(parts) == 0 {
		return x, nil
	}
	return sideBySide(parts, axis), nil
}

// MoveAxes moves axes to other places; the others keep their order.
func MoveAxes(x *uop.UOp, from, to []int) (r *uop.UOp, err error) {
	defer guard("MoveAxes", &err)
	need("x", x)
	return moveAxes(x, from, to), nil
}

func moveAxes(x *uop.UOp, from, to []int) *uop.UOp {
	n := len(x.Shape())
	from, to = axesOf("source", from, n), axesOf("destination", to, n)
	if len(from) != len(to) {
		fail("destination", "has %d axes, expected %d as source", len(to), len(from))
	}
	order := slices.Repeat([]int{-1}, n)
	for i, a := range from {
		order[to[i]] = a
	}
	next := 0
	for i := range order {
		if order[i] >= 0 {
			continue
		}
		for slices.Contains(from, next) {
			next++
		}
		order[i] = next
		next++
	}
	return permute(x, order)
}

// Rotated is x rotated by k times 90 degrees from the first of two axes to the second.
func Rotated(x *uop.UOp, k int64, axes []int) (r *uop.UOp, err error) {
	defer guard("Rotated", &err)
	need("x", x)
	if axes = axesOf("axes", axes, len(x.Shape())); len(axes) != 2 {
		fail("axes", "are %d, expected 2", len(axes))
	}
	switch ((k % 4) + 4) % 4 {
	case 1:
		return transpose(flip(x, axes[1]), axes[0], axes[1]), nil
	case 2:
		return flip(x, axes...), nil
	case 3:
		return flip(transpose(x, axes[0], axes[1]), axes[1]), nil
	}
	return x, nil
}

// SqueezeAxes is x without axes, which must have the size 1.
func SqueezeAxes(x *uop.UOp, axes []int) (r *uop.UOp, err error) {
	defer guard("SqueezeAxes", &err)
	need("x", x)
	axes = axesOf("axis", axes, len(x.Shape()))
	s := uop.Shape{}
	for i, d := range x.Shape() {
		if !slices.Contains(axes, i) {
			s = append(s, d)
		} else if !d.IsNum(1) {
			fail("axis", "%d has size %s, expected 1", i, d)
		}
	}
	return reshape(x, s), nil
}

// ExpandDims is x with axes of size 1 inserted; axes are their indices in the result.
func ExpandDims(x *uop.UOp, axes []int) (r *uop.UOp, err error) {
	defer guard("ExpandDims", &err)
	need("x", x)
	n := len(x.Shape()) + len(axes)
	axes = axesOf("axis", axes, n)
	s := uop.Shape{}
	next := 0
	for i := range n {
		if slices.Contains(axes, i) {
			s = append(s, uop.N(1))
			continue
		}
		s = append(s, x.Shape()[next])
		next++
	}
	return reshape(x, s), nil
}

// BroadcastTo broadcasts x to a shape: axes of size 1 are repeated, and axes are added in front.
func BroadcastTo(x *uop.UOp, s uop.Shape) (r *uop.UOp, err error) {
	defer guard("BroadcastTo", &err)
	need("x", x)
	if b, ok := broadcastShape(x.Shape(), s); !ok || !b.Equal(s) {
		fail("shape", "is %s, expected one that %s broadcasts to", s, x.Shape())
	}
	return spreadTo(x, s), nil
}

// RepeatEach repeats element i along an axis counts[i] times.
func RepeatEach(x *uop.UOp, counts []int64, axis int) (r *uop.UOp, err error) {
	defer guard("RepeatEach", &err)
	need("x", x)
	axis = axisOf("axis", axis, len(x.Shape()))
	if n := intSize("axis", x.Shape(), axis); int64(len(counts)) != n {
		fail("repeats", "are %d numbers, expected one, or %d", len(counts), n)
	}
	var parts []*uop.UOp
	for i, c := range counts {
		if c < 0 {
			fail("repeats", "has %d, expected 0 or more", c)
		}
		s := withSize(x.Shape(), axis, c)
		parts = append(parts, expand(shrinkAxis(x, axis, uop.N(int64(i)), uop.N(int64(i)+1)), s))
	}
	if len(parts) == 0 {
		return x, nil
	}
	return sideBySide(parts, axis), nil
}

// Unstack are the slices of x at each position of an axis, without that axis.
func Unstack(x *uop.UOp, axis int) (r []*uop.UOp, err error) {
	defer guard("Unstack", &err)
	need("x", x)
	if len(x.Shape()) == 0 {
		fail("x", "is a scalar, expected at least 1 dimension")
	}
	axis = axisOf("axis", axis, len(x.Shape()))
	for i := range intSize("axis", x.Shape(), axis) {
		r = append(r, squeeze(shrinkAxis(x, axis, uop.N(i), uop.N(i+1)), axis))
	}
	return r, nil
}

// DiagAt is the matrix with a vector on its diagonal k, or the diagonal k of a matrix.
func DiagAt(x *uop.UOp, k int64) (r *uop.UOp, err error) {
	defer guard("DiagAt", &err)
	need("x", x)
	switch len(x.Shape()) {
	case 2:
		return diagonal(x, k, 0, 1), nil
	case 1:
		if r, err = Diag(x); err != nil {
			return nil, err
		}
		before, after := max(k, 0), max(-k, 0)
		return cast(padAxis(padAxis(r, 0, after, before, 0), 1, before, after, 0), x.DType), nil
	}
	fail("x", "has %d dimensions, expected 1 or 2", len(x.Shape()))
	return nil, nil
}

// VecDot is the sum of conj(x)*y along an axis, which is counted from the end of both shapes.
func VecDot(x, y *uop.UOp, axis int) (r *uop.UOp, err error) {
	defer guard("VecDot", &err)
	needSame("operands", x, y)
	n := min(len(x.Shape()), len(y.Shape()))
	if n == 0 {
		fail("operands", "have shapes %s and %s, expected at least 1 dimension", x.Shape(), y.Shape())
	}
	if axis >= 0 {
		axis = axisOf("axis", axis, len(x.Shape())) - len(x.Shape())
	}
	axisOf("axis", axis, n)
	if x.Shape()[len(x.Shape())+axis] != y.Shape()[len(y.Shape())+axis] {
		fail("operands", "have shapes %s and %s, expected equal sizes of axis %d", x.Shape(), y.Shape(), axis)
	}
	x, y = matchTypes(x, y)
	return cast(sum(mul(conj(x), y), []int{axis}, false), x.DType), nil
}

// needAxes refuses scalars.
func needAxes(arg string, x *uop.UOp) {
	if len(x.Shape()) == 0 {
		fail(arg, "is a scalar, expected 1 dimension or more")
	}
}
