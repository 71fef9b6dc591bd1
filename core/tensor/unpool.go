package tensor

import (
	"polygrad/core/uop"
)

// maxUnpool puts every value at its index in the flattened spatial axes, zeros elsewhere; values with one index are added.
func maxUnpool(x, indices *uop.UOp, size []int64) *uop.UOp {
	s := x.Shape()
	lead := s[:len(s)-len(size)]
	total := int64(1)
	for _, n := range size {
		total *= n
	}
	at := reshape(indices, joinShapes(lead, uop.ShapeOf(1, -1)))
	values := reshape(x, joinShapes(lead, uop.ShapeOf(1, -1)))
	if !asTinygrad(x) {
		flat := func(u *uop.UOp) *uop.UOp { return reshape(u, joinShapes(lead, uop.ShapeOf(-1))) }
		zeros := full(x.Graph(), joinShapes(lead, uop.ShapeOf(total)), uop.Int(0), x.DType)
		return reshape(scatterReduce(zeros, len(lead), flat(indices), flat(x), ScatterSum, true), joinShapes(lead, uop.ShapeOf(size...)))
	}
	hot := oneHot(at, total, len(lead))
	return reshape(sumAs(where(hot, values, 0), x.DType, []int{-1}, false), joinShapes(lead, uop.ShapeOf(size...)))
}

// MaxUnpool is the inverse of MaxPoolIndices: zeros, with every value of x at its original index. size are the last axes of the
// result; the default is the smallest input of a pool with this window and output (https://arxiv.org/pdf/1603.07285, the
// inverse of relationship 15).
func MaxUnpool(x, indices *uop.UOp, kernel []int64, w Window, size []int64) (r *uop.UOp, err error) {
	defer guard("MaxUnpool", &err)
	needSame("operands", x, indices)
	needInt("indices", indices)
	needKernel(x, kernel)
	s, n := x.Shape(), len(kernel)
	if !s.Equal(indices.Shape()) {
		fail("indices", "has shape %s, expected the shape %s of x", indices.Shape(), s)
	}
	if numel("x", s).IsNum(0) {
		fail("x", "has shape %s, expected one element or more", s)
	}
	stride, dilation, p := w.resolve(n, kernel)
	if size == nil {
		size = make([]int64, n)
		for a, k := range kernel {
			size[a] = (intSize("x", s, len(s)-n+a)-1)*stride[a] - (p[a][0] + p[a][1]) + dilation[a]*(k-1) + 1
		}
	}
	if len(size) != n {
		fail("output_size", "has %d numbers, expected one for each of %d axes", len(size), n)
	}
	for _, v := range size {
		if v < 1 {
			fail("output_size", "%v, expected positive numbers", size)
		}
	}
	needShape("output_size", uop.ShapeOf(size...))
	return maxUnpool(x, indices, size), nil
}
