package tensor

import (
	"polygrad/core/uop"
)

// windowRow says how an axis is repeated to make its windows: times repeats, cut into rows of size row, one for each element of a window; count is
// the number of windows.
type windowRow struct {
	times      int64
	row, count uop.Sint
}

// windowsOf is the windowRow of an axis of a size.
func windowsOf(size uop.Sint, k, stride, dilation int64) windowRow {
	if k < 1 || stride < 1 || dilation < 1 {
		fail("kernel_size", "a window of %d, stride %d, dilation %d, expected positive numbers", k, stride, dilation)
	}
	if k > maxElements || stride > maxElements || dilation > maxElements {
		fail("kernel_size", "a window of %d, stride %d, dilation %d, expected smaller numbers", k, stride, dilation)
	}
	least, most := sizeBounds(size)
	known := most
	if n, ok := SizeValue(size); ok {
		known = n
	}
	if known < 1 || k-1 > (known-1)/dilation {
		fail("kernel_size", "a window of %d with dilation %d, expected one that is at most as large as the axis, %s", k, dilation, sizeText(size))
	}
	least = max(least, 1)
	if !size.Symbolic() {
		count := ceil64(size.N-dilation*(k-1), stride)
		// Enough copies that cutting count*stride elements of a row stays inside it.
		f := max(1, ceil64(count*stride-dilation, size.N))
		needRoom(k, f, most, stride, dilation)
		row := size.N*f + dilation
		return windowRow{ceil64(k*row, size.N), uop.N(row), uop.N(count)}
	}
	f := int64(1)
	if over := stride - 1 - dilation*k; over > 0 {
		f += ceil64(over, least)
	}
	needRoom(k, f, most, stride, dilation)
	return windowRow{
		times: k*f + ceil64(k*dilation, least),
		row:   size.Mul(uop.N(f)).Add(uop.N(dilation)),
		count: ceilSize(size.Sub(uop.N(dilation*(k-1))), stride),
	}
}

func needRoom(k, f, most, stride, dilation int64) {
	if f > (maxElements-dilation)/most || k > maxElements/(most*f+dilation) {
		fail("kernel_size", "a window of %d with stride %d and dilation %d on an axis of %d, expected fewer elements", k, stride, dilation, most)
	}
}

// pool gives the sliding windows over the last axes: (…, i) becomes (…, o, k) with o = ceil((i - d*(k-1)) / s). It repeats the
// axis, cuts it so that every window begins one dilated step further, and reshapes.
func pool(x *uop.UOp, kernel, stride, dilation []int64) *uop.UOp {
	s := x.Shape()
	nk := len(kernel)
	if len(s) < nk {
		fail("x", "has %d dimensions, expected %d or more for a window of %v", len(s), nk, kernel)
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
		w := windowsOf(s[lead+a], k, stride[a], dilation[a])
		reps = append(reps, uop.N(w.times))
		wide = append(wide, w.row.Mul(uop.N(k)))
		split = append(split, uop.N(k), w.row)
		strided = append(strided, uop.N(k), w.count.Mul(uop.N(stride[a])))
		by = append(by, uop.N(k), w.count, uop.N(stride[a]))
		one = append(one, uop.N(k), w.count, uop.N(1))
		picked = append(picked, uop.N(k), w.count)
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

// unfold replaces an axis by windows, one every step elements: (windows, size), with size as the last axis.
func unfold(x *uop.UOp, axis int, size, step int64) *uop.UOp {
	s := x.Shape()
	axis = axisOf("dim", axis, len(s))
	needAxes("x", x)
	if n := intSize("dim", s, axis); size < 0 || size > n {
		fail("size", "%d is out of range for axis %d, expected 0 to %d", size, axis, n)
	}
	if step < 1 {
		fail("step", "%d, expected 1 or more", step)
	}
	if size == 0 {
		to := append(joinShapes(s), uop.N(0))
		to[axis] = uop.N(s[axis].N/step + 1)
		return reshape(shrinkAxis(x, axis, uop.N(0), uop.N(0)), to)
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
