package tensor

import (
	"polygrad/core/uop"
)

// pool gives the sliding windows over the last axes: (…, i) becomes (…, o, k) with o = ceil((i - d*(k-1)) / s).
// It repeats the axis, cuts it so that every window begins one dilated step further, and reshapes.
func pool(x *uop.UOp, kernel, stride, dilation []int64) *uop.UOp {
	s := x.Shape()
	nk := len(kernel)
	if len(s) < nk {
		fail("x", "has %d dimensions, need %d or more for a window of %v", len(s), nk, kernel)
	}
	lead := len(s) - nk
	head := s[:lead]
	var (
		reps                          = make([]uop.Sint, 0, len(s))
		wide, split, strided, by, one uop.Shape
		order                         = countTo(lead)
	)
	for range lead {
		reps = append(reps, uop.N(1))
	}
	var picked uop.Shape
	for a, k := range kernel {
		st, d, i := stride[a], dilation[a], intSize("x", s, lead+a)
		if k < 1 || st < 1 || d < 1 {
			fail("kernel_size", "window %v, stride %v, dilation %v: need positive numbers", kernel, stride, dilation)
		}
		if st > maxElements || d > maxElements {
			fail("kernel_size", "window %v, stride %v, dilation %v: need smaller numbers", kernel, stride, dilation)
		}
		if i < 1 || k-1 > (i-1)/d {
			fail("kernel_size", "a window of %d with dilation %d is larger than the input size %d", k, d, i)
		}
		o := ceil64(i-d*(k-1), st)
		f := max(1, ceil64(o*st-d, i)) // so that the cut for the stride is inside
		if k > maxElements/(i*f+d) {
			fail("kernel_size", "a window of %d with stride %d and dilation %d on an axis of %d: gives too many elements", k, st, d, i)
		}
		reps = append(reps, uop.N(ceil64(k*(i*f+d), i)))
		wide = append(wide, uop.N(k*(i*f+d)))
		split = append(split, uop.N(k), uop.N(i*f+d))
		strided = append(strided, uop.N(k), uop.N(o*st))
		by = append(by, uop.N(k), uop.N(o), uop.N(st))
		one = append(one, uop.N(k), uop.N(o), uop.N(1))
		picked = append(picked, uop.N(k), uop.N(o))
	}
	x = repeat(x, reps)
	x = reshape(shrinkTo(x, joinShapes(head, wide)), joinShapes(head, split))
	x = reshape(shrinkTo(x, joinShapes(head, strided)), joinShapes(head, by))
	x = reshape(shrinkTo(x, joinShapes(head, one)), joinShapes(head, picked))
	for a := range kernel {
		order = append(order, lead+2*a+1)
	}
	for a := range kernel {
		order = append(order, lead+2*a)
	}
	return permute(x, order)
}

func ceil64(a, b int64) int64 { return uop.Int(a).Neg().FloorDiv(uop.Int(b)).Neg().I() }

// unfold replaces an axis by windows of a size every step elements: (windows, size), the size at the end.
func unfold(x *uop.UOp, axis int, size, step int64) *uop.UOp {
	s := x.Shape()
	axis = axisOf("dim", axis, len(s))
	if len(s) == 0 {
		fail("dim", "a scalar has no dimension to unfold")
	}
	if n := intSize("dim", s, axis); size < 0 || size > n {
		fail("size", "%d is out of range for axis %d of size %d", size, axis, n)
	}
	if step < 1 {
		fail("step", "%d is not positive", step)
	}
	if size == 0 {
		to := append(joinShapes(s), uop.N(0))
		to[axis] = uop.N(s[axis].N/step + 1)
		return full(x.Graph(), to, uop.Int(0), x.DType)
	}
	var order []int
	for i := range s {
		if i != axis {
			order = append(order, i)
		}
	}
	order = append(order, axis)
	return permute(windows(permute(x, order), []int64{size}, []int64{step}, []int64{1}), append(argSort(order), len(s)))
}

// argSort is the inverse of a permutation.
func argSort(order []int) []int {
	inv := make([]int, len(order))
	for i, o := range order {
		inv[o] = i
	}
	return inv
}
