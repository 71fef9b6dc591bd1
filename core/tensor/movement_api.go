package tensor

import (
	"polygrad/core/uop"
)

// Reshape gives the elements another shape; one size may be -1 and is inferred.
func Reshape(x *uop.UOp, shape uop.Shape) (r *uop.UOp, err error) {
	defer guard("Reshape", &err)
	need("x", x)
	return reshape(x, shape), nil
}

// Expand repeats axes of size 1; shapes align at the right and -1 keeps a size.
func Expand(x *uop.UOp, shape uop.Shape) (r *uop.UOp, err error) {
	defer guard("Expand", &err)
	need("x", x)
	return expand(x, shape), nil
}

// Permute reorders the axes.
func Permute(x *uop.UOp, order ...int) (r *uop.UOp, err error) {
	defer guard("Permute", &err)
	need("x", x)
	return permute(x, order), nil
}

// Transpose swaps two axes.
func Transpose(x *uop.UOp, dim0, dim1 int) (r *uop.UOp, err error) {
	defer guard("Transpose", &err)
	need("x", x)
	return transpose(x, dim0, dim1), nil
}

// Flip reverses axes.
func Flip(x *uop.UOp, axes ...int) (r *uop.UOp, err error) {
	defer guard("Flip", &err)
	need("x", x)
	return flip(x, axes...), nil
}

// Shrink keeps Lo..Hi-1 of every axis.
func Shrink(x *uop.UOp, bounds []uop.Pair) (r *uop.UOp, err error) {
	defer guard("Shrink", &err)
	need("x", x)
	return shrink(x, bounds), nil
}

// Pad adds elements of a value before and after every axis; negative amounts crop.
func Pad(x *uop.UOp, padding []uop.Pair, value uop.Const) (r *uop.UOp, err error) {
	defer guard("Pad", &err)
	need("x", x)
	needHeld("value", x.DType, value)
	return pad(x, padding, value), nil
}

// PadMode is the source of the elements that PadWith adds.
type PadMode uint8

// Modes of padding: mirror without the edge, repeat the edge, wrap around, mirror with the edge. All but the second repeat beyond the size.
const (
	PadReflect PadMode = iota
	PadReplicate
	PadCircular
	PadSymmetric
)

// PadWith pads every axis with elements of x itself.
func PadWith(x *uop.UOp, padding []uop.Pair, mode PadMode) (r *uop.UOp, err error) {
	defer guard("PadWith", &err)
	need("x", x)
	return padWith(x, padding, mode), nil
}

// Squeeze removes an axis if its size is 1.
func Squeeze(x *uop.UOp, dim int) (r *uop.UOp, err error) {
	defer guard("Squeeze", &err)
	need("x", x)
	return squeeze(x, dim), nil
}

// SqueezeAll removes all axes of size 1.
func SqueezeAll(x *uop.UOp) (*uop.UOp, error) { return run1("SqueezeAll", squeezeAll, x) }

// Unsqueeze inserts an axis of size 1.
func Unsqueeze(x *uop.UOp, dim int) (r *uop.UOp, err error) {
	defer guard("Unsqueeze", &err)
	need("x", x)
	return unsqueeze(x, dim), nil
}

// Flatten joins the axes from..to into one; a scalar becomes a vector of one element.
func Flatten(x *uop.UOp, from, to int) (r *uop.UOp, err error) {
	defer guard("Flatten", &err)
	need("x", x)
	return flatten(x, from, to), nil
}

// Unflatten splits an axis into several; one size may be -1.
func Unflatten(x *uop.UOp, dim int, sizes uop.Shape) (r *uop.UOp, err error) {
	defer guard("Unflatten", &err)
	need("x", x)
	return unflatten(x, dim, sizes), nil
}

// Repeat tiles x; repeats align with the axes at the right.
func Repeat(x *uop.UOp, repeats ...int64) (r *uop.UOp, err error) {
	return RepeatSizes(x, uop.ShapeOf(repeats...))
}

// RepeatSizes is Repeat with numbers that may be symbolic.
func RepeatSizes(x *uop.UOp, repeats uop.Shape) (r *uop.UOp, err error) {
	defer guard("Repeat", &err)
	need("x", x)
	return repeat(x, repeats), nil
}

// RepeatInterleave repeats every element n times along an axis.
func RepeatInterleave(x *uop.UOp, n int64, dim int) (r *uop.UOp, err error) {
	defer guard("RepeatInterleave", &err)
	need("x", x)
	return repeatInterleave(x, n, dim), nil
}

// Unfold replaces an axis by its windows of a size, one every step elements; the window becomes a new last axis.
func Unfold(x *uop.UOp, dim int, size, step int64) (r *uop.UOp, err error) {
	defer guard("Unfold", &err)
	need("x", x)
	return unfold(x, dim, size, step), nil
}
