package tensor

import (
	"math"
	"slices"

	"polygrad/core/uop"
)

// Dynamic slices, gathers and scatters as XLA has them: their positions are tensors, as control flow needs. Positions of gathers and scatters are not
// counted from the end.

// startsOf splits the starts of a slice into one tensor of shape () for each axis, of int32 or int64. Negative ones count from the end, and all are
// clamped so that the slice fits.
func startsOf(x, starts *uop.UOp, sizes []int64) []*uop.UOp {
	s := intShape("x", x.Shape())
	needInt("start_indices", starts)
	if !starts.Shape().Equal(uop.ShapeOf(int64(len(s)))) {
		fail("start_indices", "has shape %s, expected (%d,): one for each axis of x %s", starts.Shape(), len(s), x.Shape())
	}
	if len(sizes) != len(s) {
		fail("slice_sizes", "%v, expected one for each of %d axes", sizes, len(s))
	}
	out := make([]*uop.UOp, len(s))
	for i, n := range s {
		if sizes[i] < 0 || sizes[i] > n {
			fail("slice_sizes", "%v, expected 0 to the sizes of x %s", sizes, x.Shape())
		}
		at := wideIndex(index(starts, At(int64(i))), n)
		out[i] = clamp(where(lt(at, 0), add(at, int(n)), at), 0, int(n-sizes[i]))
	}
	return out
}

// wideIndex casts an index to a type that holds it and most.
func wideIndex(at *uop.UOp, most int64) *uop.UOp {
	switch {
	case at.DType == uop.Uint64: // beyond int64 is beyond every size
		return cast(minimum(at, uop.Uint(math.MaxInt64)), uop.Int64)
	case at.DType == uop.Int64 || at.DType == uop.Uint32 || most > math.MaxInt32:
		return cast(at, uop.Int64)
	}
	return cast(at, uop.Int32)
}

// alongAxis are the numbers 0 to n-1 along an axis of several.
func alongAxis(like *uop.UOp, n int64, axis, axes int) *uop.UOp {
	s := onesShape(axes)
	s[axis] = uop.N(n)
	return reshape(cast(count0(like.Graph(), n), like.DType), s)
}

// dynamicSlice is the part of x with some sizes that begins at starts, one for each axis.
func dynamicSlice(x, starts *uop.UOp, sizes []int64) *uop.UOp {
	places := startsOf(x, starts, sizes)
	r := x
	s := intShape("x", x.Shape())
	for axis, at := range places {
		if sizes[axis] == s[axis] {
			continue
		}
		entries := wholesOf(axis)
		r = index(r, append(entries, Take(add(at, cast(count0(x.Graph(), sizes[axis]), at.DType))))...)
	}
	return customGradient(gradientOfSlice, r, []*uop.UOp{x, starts}, sizes)
}

func wholesOf(n int) []Index {
	entries := make([]Index, n)
	for i := range entries {
		entries[i] = Whole()
	}
	return entries
}

// dynamicUpdate is x with the part that begins at starts replaced by update.
func dynamicUpdate(x, update, starts *uop.UOp) *uop.UOp {
	if update.DType != x.DType {
		fail("update", "is %s, expected %s as x", update.DType, x.DType)
	}
	s, us := intShape("x", x.Shape()), intShape("update", update.Shape())
	if len(us) != len(s) {
		fail("update", "has shape %s, expected %d dimensions as operand %s", update.Shape(), len(s), x.Shape())
	}
	places := startsOf(x, starts, us)
	if slices.Contains(us, 0) {
		return x
	}
	moved, inside := placedAt(update, places, s)
	if inside == nil {
		return update
	}
	r := where(inside, moved, x)
	return customGradient(gradientOfUpdate, r, []*uop.UOp{x, update, starts})
}

// placedAt moves a part to its places in a tensor of some sizes; inside is true for the elements of the part there (nil: for all). Other elements
// have arbitrary values.
func placedAt(part *uop.UOp, places []*uop.UOp, sizes []int64) (moved, inside *uop.UOp) {
	ps := intShape("update", part.Shape())
	moved = part
	for axis, at := range places {
		n := sizes[axis]
		if ps[axis] == n {
			continue
		}
		from := sub(cast(count0(part.Graph(), n), at.DType), at)
		in := bitAnd(ge(from, 0), lt(from, int(ps[axis])))
		moved = index(moved, append(wholesOf(axis), Take(clamp(from, 0, int(ps[axis]-1))))...)
		column := onesShape(len(sizes))
		column[axis] = uop.N(n)
		if in = reshape(in, column); inside != nil {
			in = bitAnd(inside, in)
		}
		inside = in
	}
	return moved, inside
}

// sliceRule: the gradient of a slice lies where the slice was.
func sliceRule(g, u *uop.UOp) []*uop.UOp {
	x, starts := u.Src[1], u.Src[2]
	zero := full(x.Graph(), x.Shape(), uop.Int(0), x.DType)
	return []*uop.UOp{nil, dynamicUpdate(zero, g, starts), nil}
}

// updateRule: x has the gradient of the elements that were not replaced, update that of the replaced ones.
func updateRule(g, u *uop.UOp) []*uop.UOp {
	update, starts := u.Src[2], u.Src[3]
	zero := full(g.Graph(), update.Shape(), uop.Int(0), g.DType)
	sizes, _ := update.Shape().Ints()
	return []*uop.UOp{nil, dynamicUpdate(g, zero, starts), dynamicSlice(g, starts, sizes), nil}
}

// DynamicSlice is the part of x with some sizes that begins at starts, one for each axis; starts are clamped so that the part fits.
func DynamicSlice(x, starts *uop.UOp, sizes []int64) (r *uop.UOp, err error) {
	defer guard("DynamicSlice", &err)
	needSame("operands", x, starts)
	return dynamicSlice(x, starts, sizes), nil
}

// DynamicUpdate is x with the part that begins at starts replaced by update; starts are clamped so that it fits.
func DynamicUpdate(x, update, starts *uop.UOp) (r *uop.UOp, err error) {
	defer guard("DynamicUpdate", &err)
	needSame("operands", x, update, starts)
	return dynamicUpdate(x, update, starts), nil
}

// startAlong are the starts of a slice that begins at start along one axis, at 0 along the others.
func startAlong(x *uop.UOp, axis int, start any) *uop.UOp {
	n := len(x.Shape())
	at, is := start.(*uop.UOp)
	if !is {
		at = constant(x, uop.Int64, integerOf("start_index", constOf(start)))
	}
	needInt("start_index", at)
	if at.Size() != 1 {
		fail("start_index", "has shape %s, expected ()", at.Shape())
	}
	at = reshape(at, uop.ShapeOf(1))
	return padAxis(at, 0, int64(axis), int64(n-1-axis), 0)
}

// DynamicSliceAlong is DynamicSlice along one axis. start is a number or a tensor of shape ().
func DynamicSliceAlong(x *uop.UOp, start any, size int64, axis int) (r *uop.UOp, err error) {
	defer guard("DynamicSliceAlong", &err)
	need("x", x)
	sizes := slices.Clone(intShape("x", x.Shape()))
	axis = axisOf("axis", axis, len(sizes))
	if len(sizes) == 0 {
		fail("x", "is a scalar, expected at least 1 dimension")
	}
	if size < 0 || size > sizes[axis] {
		fail("slice_size", "%d, expected 0 to %d, the size of axis %d", size, sizes[axis], axis)
	}
	sizes[axis] = size
	return dynamicSlice(x, startAlong(x, axis, start), sizes), nil
}

// DynamicUpdateAlong is DynamicUpdate along one axis.
func DynamicUpdateAlong(x, update *uop.UOp, start any, axis int) (r *uop.UOp, err error) {
	defer guard("DynamicUpdateAlong", &err)
	needSame("operands", x, update)
	axis = axisOf("axis", axis, len(x.Shape()))
	return dynamicUpdate(x, update, startAlong(x, axis, start)), nil
}

// GatherNumbers say how positions become windows of an operand, as XLA's gather and scatter have it. The last axis of the positions holds one
// number for each axis of the operand in StartIndexMap. A window has SliceSizes; its axes, but for the Collapsed and the batching ones, are the
// axes Offset of the result. The axes Batching of the operand go along with the axes IndexBatching of the positions.
type GatherNumbers struct {
	Offset, Collapsed, StartIndexMap, Batching, IndexBatching []int
	SliceSizes                                                []int64
}

// A GatherMode says what happens to windows that are partly out of bounds.
type GatherMode string

// The modes.
const (
	GatherFill GatherMode = "fill" // a gather fills them, a scatter drops them
	GatherClip GatherMode = "clip" // they are moved inside
)

// check checks the numbers for an operand and positions, and gives the axes of the operand that are axes of windows.
func (n *GatherNumbers) check(operand, indices *uop.UOp) (windows []int) {
	s, is := intShape("x", operand.Shape()), intShape("indices", indices.Shape())
	needInt("indices", indices)
	if len(is) == 0 || is[len(is)-1] != int64(len(n.StartIndexMap)) {
		fail("indices", "has shape %s, expected (…, %d): one for each axis of start_index_map %v", indices.Shape(), len(n.StartIndexMap), n.StartIndexMap)
	}
	distinct := func(name string, list []int, below int) {
		for i, d := range list {
			if d < 0 || d >= below || slices.Contains(list[:i], d) {
				fail(name, "%v, expected different axes from 0 to %d", list, below-1)
			}
		}
	}
	distinct("start_index_map", n.StartIndexMap, len(s))
	distinct("collapsed_slice_dims", n.Collapsed, len(s))
	distinct("operand_batching_dims", n.Batching, len(s))
	distinct("start_indices_batching_dims", n.IndexBatching, len(is)-1)
	if len(n.SliceSizes) != len(s) {
		fail("slice_sizes", "%v, expected one for each of %d axes of x", n.SliceSizes, len(s))
	}
	if len(n.Batching) != len(n.IndexBatching) {
		fail("operand_batching_dims", "%v, expected as many as start_indices_batching_dims %v", n.Batching, n.IndexBatching)
	}
	for k, d := range n.Batching {
		if s[d] != is[n.IndexBatching[k]] {
			fail("operand_batching_dims", "axis %d of x has %d elements, and axis %d of indices %d", d, s[d], n.IndexBatching[k], is[n.IndexBatching[k]])
		}
		if slices.Contains(n.StartIndexMap, d) || slices.Contains(n.Collapsed, d) {
			fail("operand_batching_dims", "axis %d is also in start_index_map or collapsed_slice_dims, expected it once", d)
		}
	}
	for d, size := range n.SliceSizes {
		switch {
		case slices.Contains(n.Collapsed, d) || slices.Contains(n.Batching, d):
			if size > 1 {
				fail("slice_sizes", "%v, expected at most 1 for the collapsed or batching axis %d", n.SliceSizes, d)
			}
		default:
			windows = append(windows, d)
		}
		if size < 0 || size > s[d] {
			fail("slice_sizes", "%v, expected 0 to the sizes of x %s", n.SliceSizes, operand.Shape())
		}
	}
	distinct("offset_dims", n.Offset, len(windows)+len(is)-1)
	if len(n.Offset) != len(windows) || !slices.IsSorted(n.Offset) {
		fail("offset_dims", "%v, expected %d axes in order, one for each axis of a window", n.Offset, len(windows))
	}
	return windows
}

// positions are the row-major positions in the operand of all elements of all windows, in the shape of the result. inside is true for windows within
// bounds (nil: all are, or are moved there).
func (n *GatherNumbers) positions(operand, indices *uop.UOp, mode GatherMode) (at, inside *uop.UOp) {
	windows := n.check(operand, indices)
	s, is := intShape("x", operand.Shape()), intShape("indices", indices.Shape())
	rank := len(is) - 1 + len(windows)
	shape := make(uop.Shape, rank)
	var batch []int // the axes of the result for those of the positions
	for i := range rank {
		if k := slices.Index(n.Offset, i); k >= 0 {
			shape[i] = uop.N(n.SliceSizes[windows[k]])
		} else {
			shape[i] = uop.N(is[len(batch)])
			batch = append(batch, i)
		}
	}
	strides := make([]int64, len(s))
	total := int64(1)
	for d := len(s) - 1; d >= 0; d-- {
		strides[d], total = total, total*max(s[d], 1)
	}
	lead := onesShape(rank)
	for _, i := range batch {
		lead[i] = shape[i]
	}
	dt := uop.Int32
	if total > math.MaxInt32 {
		dt = uop.Int64
	}
	plus := func(v *uop.UOp) {
		if v = cast(v, dt); at != nil {
			v = add(at, v)
		}
		at = v
	}
	for k, d := range n.StartIndexMap {
		most := s[d] - n.SliceSizes[d]
		v := wideIndex(reshape(index(indices, Ellipsis(), At(int64(k))), lead), most)
		if mode == GatherFill {
			ok := bitAnd(ge(v, 0), le(v, int(most)))
			if inside == nil {
				inside = ok
			} else {
				inside = bitAnd(inside, ok)
			}
		}
		plus(mul(cast(clamp(v, 0, int(most)), dt), int(strides[d])))
	}
	number := full(operand.Graph(), uop.Shape{}, uop.Int(0), dt)
	for k, d := range n.Batching {
		plus(mul(alongAxis(number, s[d], batch[n.IndexBatching[k]], rank), int(strides[d])))
	}
	for k, d := range windows {
		plus(mul(alongAxis(number, n.SliceSizes[d], n.Offset[k], rank), int(strides[d])))
	}
	if at == nil {
		at = number
	}
	if inside != nil {
		inside = broadcastTo(inside, shape)
	}
	return broadcastTo(at, shape), inside
}

// GatherWindows are windows of an operand at positions. Those out of bounds are filled with a number, or moved inside.
func GatherWindows(operand, indices *uop.UOp, n GatherNumbers, mode GatherMode, fill any) (r *uop.UOp, err error) {
	defer guard("GatherWindows", &err)
	needSame("operands", operand, indices)
	at, inside := n.positions(operand, indices, mode)
	size := operand.Size()
	if at.Size() == 0 || size == 0 {
		return full(operand.Graph(), at.Shape(), uop.Int(0), operand.DType), nil
	}
	r = reshape(gather(reshape(operand, uop.ShapeOf(size)), 0, reshape(at, uop.ShapeOf(at.Size()))), at.Shape())
	if inside != nil {
		r = where(inside, r, fillOf(operand.DType, fill))
	}
	return r, nil
}

// fillOf is the value of elements outside: NaN, the least signed and the greatest unsigned integer, unless it is given.
func fillOf(dt *uop.DType, fill any) operand {
	switch {
	case fill != nil:
		return fill
	case dt.IsFloat():
		return math.NaN()
	case dt.IsBool():
		return uop.BoolConst(true)
	case dt.IsUnsigned():
		return dt.Max()
	}
	return dt.Min()
}

// ScatterWindows is an operand with windows at positions changed by those of updates: replaced ("set": of several for one place the last one
// stays), or combined with "add", "mul", "min" or "max". Windows outside are dropped, or moved inside. The numbers are those of the gather that
// reads what is written; its slice sizes are the sizes of the windows of updates.
func ScatterWindows(operand, indices, updates *uop.UOp, n GatherNumbers, mode GatherMode, combine string) (r *uop.UOp, err error) {
	defer guard("ScatterWindows", &err)
	needSame("operands", operand, indices, updates)
	if updates.DType != operand.DType {
		fail("updates", "is %s, expected %s as x", updates.DType, operand.DType)
	}
	s, us := intShape("x", operand.Shape()), intShape("updates", updates.Shape())
	n.SliceSizes = slices.Repeat([]int64{1}, len(s))
	k := 0
	for d := range s {
		if slices.Contains(n.Collapsed, d) || slices.Contains(n.Batching, d) {
			n.SliceSizes[d] = min(1, s[d])
			continue
		}
		if k >= len(n.Offset) || n.Offset[k] < 0 || n.Offset[k] >= len(us) {
			fail("update_window_dims", "%v, expected one axis of updates %s for each axis of a window", n.Offset, updates.Shape())
		}
		if n.SliceSizes[d] = us[n.Offset[k]]; n.SliceSizes[d] > s[d] {
			fail("updates", "has windows of %d along axis %d of x %s, expected at most its size", n.SliceSizes[d], d, operand.Shape())
		}
		k++
	}
	at, inside := n.positions(operand, indices, mode)
	if !at.Shape().Equal(updates.Shape()) {
		fail("updates", "has shape %s, expected %s", updates.Shape(), at.Shape())
	}
	size := operand.Size()
	if at.Size() == 0 || size == 0 {
		return operand, nil
	}
	if inside != nil {
		at = where(inside, at, -1) // dropped
	}
	flat := func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(u.Size())) }
	x, to, from := flat(operand), flat(at), flat(updates)
	if combine == "set" {
		r = scatterSet(x, 0, to, from)
	} else {
		r = cast(scatterReduce(x, 0, to, from, scatterModes[combine], true), operand.DType)
	}
	return reshape(r, operand.Shape()), nil
}

var scatterModes = map[string]ScatterMode{"add": ScatterSum, "mul": ScatterProd, "max": ScatterMax, "min": ScatterMin}
