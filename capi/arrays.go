package main

import (
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// maxDims is POLY_MAX_DIMS, maxOutDims POLY_MAX_OUT_DIMS, and maxInts the limit of other lists: a larger count is an error before
// the array is read.
const (
	maxDims    = 16
	maxOutDims = 8
	maxInts    = 1 << 16
)

// ints reads an array of integers.
func ints(arg string, p *int64, n int32) ([]int64, error) {
	switch {
	case n < 0 || n > maxInts:
		return nil, badArg(arg, "%d numbers, expected 0 to %d", n, maxInts)
	case n == 0:
		return nil, nil
	case p == nil:
		return nil, badArg(arg, "is NULL, expected %d numbers", n)
	}
	out := make([]int64, n)
	for i, v := range unsafe.Slice(p, n) {
		out[i] = v
	}
	return out, nil
}

// sizes reads a shape.
func sizes(arg string, p *int64, n int32) (uop.Shape, error) {
	if n > maxDims {
		return nil, badArg(arg, "%d dimensions, expected at most %d", n, maxDims)
	}
	d, err := ints(arg, p, n)
	if err != nil {
		return nil, err
	}
	return uop.ShapeOf(d...), nil
}

// axesFrom reads a list of axes; -1 axes means all, which is nil.
func axesFrom(arg string, p *int64, n int32) ([]int, error) {
	if n == -1 {
		return nil, nil
	}
	if n > maxDims {
		return nil, badArg(arg, "%d axes, expected at most %d", n, maxDims)
	}
	d, err := ints(arg, p, n)
	if err != nil {
		return nil, err
	}
	out := make([]int, len(d))
	for i, v := range d {
		if v < -maxDims || v > maxDims {
			return nil, badArg(arg, "axis %d is out of range", v)
		}
		out[i] = int(v)
	}
	return out, nil
}

// args reads an array of n nodes.
func (c *context) args(arg string, p *uintptr, n int32) ([]value, error) {
	if n < 0 {
		return nil, badArg(arg, "%d nodes, expected 0 or more", n)
	}
	if n > 0 && p == nil {
		return nil, badArg(arg, "is NULL, expected %d nodes", n)
	}
	// The list grows with each valid node: a count that is too large ends at the first invalid entry.
	var out []value
	for i := range int(n) {
		h := *(*uintptr)(unsafe.Add(unsafe.Pointer(p), i*int(unsafe.Sizeof(*p))))
		v, err := c.arg(arg, h)
		if err != nil {
			return nil, atElement(i, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// withStatedShape reshapes an operand to the shape that the caller states; NULL states nothing.
func (v value) withStatedShape(arg string, p *int64, n int32) (*uop.UOp, error) {
	if err := v.tensor(arg); err != nil || p == nil {
		return v.Keep, err
	}
	s, err := sizes(arg, p, n)
	if err != nil {
		return nil, err
	}
	u := v.WithShape(s)
	if !u.Shape().Equal(s) {
		if u, err = tensor.Reshape(u, s); err != nil {
			return nil, &argError{arg, err}
		}
	}
	return u, nil
}
