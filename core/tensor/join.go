package tensor

import (
	"polygrad/core/uop"
	"slices"
)

// cat joins tensors along an axis: each is padded to the full size, then they are added.
func cat(ts []*uop.UOp, axis int) *uop.UOp {
	s := ts[0].Shape()
	axis = axisOf("dim", axis, len(s))
	if len(s) == 0 {
		fail("dim", "%d is out of range: the tensors are scalars, expected 1 dimension or more", axis)
	}
	at := make([]uop.Sint, len(ts)+1)
	at[0] = uop.N(0)
	for i, t := range ts {
		ok := len(t.Shape()) == len(s)
		for j := range s {
			ok = ok && (j == axis || t.Shape()[j] == s[j])
		}
		if !ok {
			fail(numbered("tensors", i), "has shape %s, expected the shape %s of the first one outside of axis %d", t.Shape(), s, axis)
		}
		at[i+1] = at[i].Add(t.Shape()[axis])
	}
	total := at[len(ts)]
	var r *uop.UOp
	for i, t := range ts {
		ps := make([]uop.Pair, len(s))
		ps[axis] = uop.Pair{Lo: at[i], Hi: total.Sub(at[i+1])}
		switch p := pad(t, ps, 0); {
		case r == nil:
			r = p
		case asTinygrad(t):
			r = add(r, p)
		default:
			r = add(r, p).WithArg(uop.Disjoint) // keeps the sign of -0.0
		}
	}
	return r
}

func stack(ts []*uop.UOp, axis int) *uop.UOp {
	axis = axisOf("dim", axis, len(ts[0].Shape())+1)
	out := make([]*uop.UOp, len(ts))
	for i, t := range ts {
		if !t.Shape().Equal(ts[0].Shape()) {
			fail(numbered("tensors", i), "has shape %s, expected the shape %s of the first one", t.Shape(), ts[0].Shape())
		}
		out[i] = unsqueeze(t, axis)
	}
	return cat(out, axis)
}

// split cuts an axis into pieces of the given sizes.
func split(x *uop.UOp, sizes []int64, axis int) []*uop.UOp {
	s := x.Shape()
	axis = axisOf("dim", axis, len(s))
	needAxes("x", x)
	n, total := intSize("dim", s, axis), int64(0)
	for _, v := range sizes {
		if v < 0 || v > n {
			fail("sizes", "%v, expected sizes of 0 or more that add up to %d, the size of axis %d", sizes, n, axis)
		}
		total += v
	}
	if total != n {
		fail("sizes", "%v add up to %d, expected %d, the size of axis %d", sizes, total, n, axis)
	}
	out := make([]*uop.UOp, len(sizes))
	at := int64(0)
	for i, v := range sizes {
		out[i] = shrinkAxis(x, axis, uop.N(at), uop.N(at+v))
		at += v
	}
	return out
}

// splitEvery cuts an axis into pieces of one size; the last one may be shorter.
func splitEvery(x *uop.UOp, size int64, axis int) []*uop.UOp {
	s := x.Shape()
	axis = axisOf("dim", axis, len(s))
	needAxes("x", x)
	n := intSize("dim", s, axis)
	if size < 0 || size == 0 && n > 0 {
		fail("size", "%d, expected 1 or more", size)
	}
	needParts("size", size, ceil64(n, max(size, 1)))
	var sizes []int64
	for at := int64(0); at < max(n, 1); at += max(size, 1) {
		sizes = append(sizes, min(size, n-at))
	}
	return split(x, sizes, axis)
}

// maxParts is the greatest number of parts that a tensor is split into.
const maxParts = 1 << 20

// needParts is an error if the value of an argument asks for too many parts.
func needParts(arg string, value, parts int64) {
	if parts > maxParts {
		fail(arg, "%d gives %d parts, expected at most %d", value, parts, maxParts)
	}
}

func chunk(x *uop.UOp, n int64, axis int) []*uop.UOp {
	s := x.Shape()
	axis = axisOf("dim", axis, len(s))
	needAxes("x", x)
	if n < 1 {
		fail("chunks", "%d, expected 1 or more", n)
	}
	size := intSize("dim", s, axis)
	if size == 0 {
		needParts("chunks", n, n)
		return split(x, make([]int64, n), axis)
	}
	return splitEvery(x, ceil64(size, n), axis)
}

// roll shifts elements along axes with wrap-around.
func roll(x *uop.UOp, shifts []int64, axes []int) *uop.UOp {
	s := x.Shape()
	if len(axes) != len(shifts) {
		fail("shifts", "has %d numbers, expected one for each of %d axes", len(shifts), len(axes))
	}
	axes = slices.Clone(axes)
	for i, a := range axes {
		axes[i] = axisOf("dims", a, len(s))
	}
	if len(s) == 0 {
		return x
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(axes))); len(distinct) < len(axes) { // shifts along one axis add up
		total := make([]int64, len(distinct))
		for i, a := range axes {
			at, _ := slices.BinarySearch(distinct, a)
			total[at] += shifts[i]
		}
		axes, shifts = distinct, total
	}
	reps, bounds := make([]uop.Sint, len(s)), wholes(s)
	for i := range reps {
		reps[i] = uop.N(1)
	}
	for i, a := range axes {
		n := intSize("dims", s, a)
		if n == 0 {
			continue
		}
		at := n - uop.Int(shifts[i]).FloorMod(uop.Int(n)).I()
		reps[a], bounds[a] = uop.N(2), pairOf(at, at+n)
	}
	numbers := make([]int64, len(axes))
	for i, a := range axes {
		numbers[i] = int64(a)
	}
	return customGradient(gradientOfRoll, shrink(repeat(x, reps), bounds), []*uop.UOp{x}, shifts, numbers)
}

// rollRule rolls the gradient back. The gradient of the composition would be a sum over the repeats of the axes.
func rollRule(g *uop.UOp, numbers uop.Nums) *uop.UOp {
	shifts, axes := make([]int64, len(numbers)/2), make([]int, len(numbers)/2)
	for i := range shifts {
		shifts[i], axes[i] = -int64(numbers[i]), int(numbers[len(axes)+i])
	}
	return roll(g, shifts, axes)
}

func meshgrid(ts []*uop.UOp, xy bool) []*uop.UOp {
	if len(ts) == 1 {
		return ts
	}
	out, shapes := make([]*uop.UOp, len(ts)), make([]uop.Shape, len(ts))
	for i, t := range ts {
		if len(t.Shape()) > 1 {
			fail(numbered("tensors", i), "has shape %s, expected a vector", t.Shape())
		}
		at := i
		if xy && i < 2 {
			at = 1 - i
		}
		out[i] = reshape(t, joinShapes(uop.ShapeOf(-1), onesShape(len(ts)-1-at)))
		shapes[i] = out[i].Shape()
	}
	s, _ := broadcastShape(shapes...)
	for i, t := range out {
		out[i] = broadcastTo(t, s)
	}
	return out
}

func needTensors(ts []*uop.UOp) {
	if len(ts) == 0 {
		fail("tensors", "are none, expected one or more")
	}
	needSame("tensors", ts...)
}

// Cat joins tensors along an axis. All other sizes must be equal; types are promoted.
func Cat(ts []*uop.UOp, dim int) (r *uop.UOp, err error) {
	defer guard("Cat", &err)
	needTensors(ts)
	return cat(ts, dim), nil
}

// Stack joins tensors of one shape along a new axis.
func Stack(ts []*uop.UOp, dim int) (r *uop.UOp, err error) {
	defer guard("Stack", &err)
	needTensors(ts)
	return stack(ts, dim), nil
}

// Split cuts an axis into pieces of the given sizes, which must add up to it.
func Split(x *uop.UOp, sizes []int64, dim int) (r []*uop.UOp, err error) {
	defer guard("Split", &err)
	need("x", x)
	return split(x, sizes, dim), nil
}

// SplitEvery cuts an axis into pieces of one size; the last one may be shorter.
func SplitEvery(x *uop.UOp, size int64, dim int) (r []*uop.UOp, err error) {
	defer guard("SplitEvery", &err)
	need("x", x)
	return splitEvery(x, size, dim), nil
}

// Chunk cuts an axis into at most n pieces of equal size; the last one may be shorter.
func Chunk(x *uop.UOp, n int64, dim int) (r []*uop.UOp, err error) {
	defer guard("Chunk", &err)
	need("x", x)
	return chunk(x, n, dim), nil
}

// Roll shifts elements along axes with wrap-around. Without axes the flattened tensor is shifted.
func Roll(x *uop.UOp, shifts []int64, dims []int) (r *uop.UOp, err error) {
	defer guard("Roll", &err)
	need("x", x)
	if dims == nil {
		return reshape(roll(flatten(x, 0, -1), shifts, []int{0}), x.Shape()), nil
	}
	return roll(x, shifts, dims), nil
}

// Meshgrid lays vectors along the axes of a grid; xy swaps the first two.
func Meshgrid(ts []*uop.UOp, xy bool) (r []*uop.UOp, err error) {
	defer guard("Meshgrid", &err)
	needTensors(ts)
	return meshgrid(ts, xy), nil
}
