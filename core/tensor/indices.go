package tensor

import (
	"math"

	"polygrad/core/uop"
)

// asPositions casts positions in a shape to signed integers that hold all of them.
func asPositions(at *uop.UOp, arg string, sizes []int64) *uop.UOp {
	n := 1.0
	for _, size := range sizes {
		n *= float64(size)
	}
	switch dt := at.DType; {
	case n >= 1<<63:
		fail(arg, "%v has more elements than 64 bits can count", sizes)
	case n > math.MaxInt32 || dt.IsUnsigned() && dt.Itemsize() >= 4:
		return cast(at, uop.Int64)
	case dt.Itemsize() < 4:
		return cast(at, uop.Int32)
	}
	return at
}

// AlongAxes splits positions in the row-major order of a shape into positions along its axes (numpy's unravel_index). Negative ones count from the
// end.
func AlongAxes(at *uop.UOp, shape uop.Shape) (r []*uop.UOp, err error) {
	defer guard("AlongAxes", &err)
	needInt("indices", at)
	sizes := intShape("shape", shape)
	at = asPositions(at, "shape", sizes)
	r = make([]*uop.UOp, len(sizes))
	at = where(lt(at, 0), add(at, int(shape.MaxNumel())), at)
	for i := len(sizes) - 1; i >= 0; i-- {
		size := int(max(sizes[i], 1))
		r[i], at = mod(at, size), floorDiv(at, size)
	}
	return r, nil
}

// InRowMajorOrder joins positions along the axes of a shape into positions in its row-major order (numpy's ravel_multi_index). Those out of range are
// clamped with "clip" and taken modulo the size with "wrap".
func InRowMajorOrder(along []*uop.UOp, sizes []int64, mode string) (r *uop.UOp, err error) {
	defer guard("InRowMajorOrder", &err)
	if len(along) == 0 || len(along) != len(sizes) {
		fail("dims", "has %d sizes, expected %d, one for each tensor of positions", len(sizes), len(along))
	}
	needSame("positions", along...)
	for i, at := range along {
		needInt("positions", at)
		at = asPositions(at, "dims", sizes)
		switch size := int(sizes[i]); mode {
		case "clip":
			at = minimum(maximum(at, 0), size-1)
		case "wrap":
			at = mod(at, max(size, 1))
		}
		if r == nil {
			r = at
			continue
		}
		r = add(mul(r, int(sizes[i])), at)
	}
	return r, nil
}

// Spacing is the distance from x to the next number of its type farther from 0, with the sign of x.
func Spacing(x *uop.UOp) (*uop.UOp, error) {
	return run1("Spacing", func(x *uop.UOp) *uop.UOp {
		if x = asFloat(x); x.DType.Itemsize() == 1 {
			fail("x", "is %s, expected a floating type of 2 bytes or more", x.DType)
		}
		a := abs(x)
		s := sub(nextUp(a), a)
		return where(isFinite(x), where(lt(x, 0), neg(s), s), likeConst(x, math.NaN()))
	}, x)
}

// FillDiagonal is x with values on its diagonal, the elements with the same index along all axes. With wrap, the diagonal of a tall matrix starts
// again below its end.
func FillDiagonal(x *uop.UOp, values any, wrap bool) (r *uop.UOp, err error) {
	defer guard("FillDiagonal", &err)
	s := intShape("x", x.Shape())
	if len(s) < 2 {
		fail("x", "has %d dimensions, expected 2 or more", len(s))
	}
	step, below := int64(0), int64(1)
	for i := len(s) - 1; i >= 0; i-- {
		if len(s) > 2 && s[i] != s[0] {
			fail("x", "has shape %s, expected axes of one size", x.Shape())
		}
		step, below = step+below, below*s[i]
	}
	total := x.Shape().MaxNumel()
	if total == 0 {
		return x, nil
	}
	last := total
	if len(s) == 2 && !wrap {
		last = min(total, s[1]*s[1])
	}
	at := count0(x.Graph(), total)
	on := bitAnd(eq(mod(at, int(step)), 0), lt(at, int(last)))
	v := cast(asTensor(values, x), x.DType)
	if n := v.Shape().MaxNumel(); len(v.Shape()) > 0 {
		if n == 0 {
			fail("val", "is empty, expected a number or values for the diagonal")
		}
		v = index(flatten(v, 0, -1), Take(mod(floorDiv(at, int(step)), int(n))))
	}
	return reshape(where(on, v, flatten(x, 0, -1)), x.Shape()), nil
}

// Resized are the elements of x in row-major order in another shape, truncated or repeated as needed.
func Resized(x *uop.UOp, shape uop.Shape) (r *uop.UOp, err error) {
	defer guard("Resized", &err)
	for _, n := range intShape("new_shape", shape) {
		if n < 0 {
			fail("new_shape", "has a size of %d, expected 0 or more", n)
		}
	}
	want, have := shape.MaxNumel(), x.Shape().MaxNumel()
	if have == 0 || want == 0 {
		return full(x.Graph(), shape, uop.Int(0), x.DType), nil
	}
	return reshape(index(flatten(x, 0, -1), Take(mod(count0(x.Graph(), want), int(have)))), shape), nil
}
