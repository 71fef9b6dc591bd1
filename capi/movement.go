package main

import (
	"math"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// movement runs an operation with sizes or axes on the fitting reading of src.
func movement(fn string, ctx, src uintptr, fits func(u *uop.UOp) bool, op func(c *context, u *uop.UOp) (*uop.UOp, error)) uintptr {
	return buildNode(fn, ctx, func(c *context) (value, error) {
		v := must(c.arg("src", src))
		u, err := op(c, v.Where(fits))
		return single(u), err
	})
}

func poly_reshape(ctx, src uintptr, dims *int64, ndim int32) uintptr {
	return buildNode("poly_reshape", ctx, func(c *context) (value, error) {
		v := must(c.arg("src", src))
		s := must(c.sizes("dims", dims, ndim))
		u, err := tensor.Reshape(v.WithElements(s.MaxNumel()), s)
		return single(u), err
	})
}

func poly_expand(ctx, src uintptr, dims *int64, ndim int32) uintptr {
	return buildNode("poly_expand", ctx, func(c *context) (value, error) {
		v := must(c.arg("src", src))
		s := must(c.sizes("dims", dims, ndim))
		u, err := tensor.Expand(v.WithAxes(len(s)), s)
		return single(u), err
	})
}

func poly_permute(ctx, src uintptr, perm *int64, ndim int32) uintptr {
	return movement("poly_permute", ctx, src, hasNdim(ndim), func(_ *context, u *uop.UOp) (*uop.UOp, error) {
		order := must(axesFrom("perm", perm, max(ndim, 0)))
		return tensor.Permute(u, order...)
	})
}

func hasNdim(n int32) func(*uop.UOp) bool {
	return func(u *uop.UOp) bool { return len(u.Shape()) == int(n) }
}

func poly_shrink(ctx, src uintptr, pairs *int64, ndim int32) uintptr {
	return movement("poly_shrink", ctx, src, hasNdim(ndim), func(c *context, u *uop.UOp) (*uop.UOp, error) {
		ps := must(c.pairs("pairs", pairs, ndim))
		return tensor.Shrink(u, ps)
	})
}

func poly_pad(ctx, src uintptr, pairs *int64, ndim int32) uintptr {
	return movement("poly_pad", ctx, src, hasNdim(ndim), padWith(pairs, ndim, 0))
}

func poly_pad_value(ctx, src uintptr, pairs *int64, ndim int32, v float64) uintptr {
	return movement("poly_pad_value", ctx, src, hasNdim(ndim), padWith(pairs, ndim, v))
}

func padWith(pairs *int64, ndim int32, v float64) func(c *context, u *uop.UOp) (*uop.UOp, error) {
	return func(c *context, u *uop.UOp) (*uop.UOp, error) {
		ps, err := c.pairs("pairs", pairs, ndim)
		if err != nil {
			return nil, err
		}
		return tensor.Pad(u, ps, numberFor(u, float64(v)))
	}
}

// numberFor is a number given as a double: an integer if it is whole and the tensor is of integers.
func numberFor(u *uop.UOp, v float64) uop.Const {
	if u.DType.IsInt() && v == math.Trunc(v) && !math.IsInf(v, 0) {
		return uop.Float(v).As(u.DType)
	}
	return uop.Float(v)
}

func poly_flip(ctx, src uintptr, axes *int64, n int32) uintptr {
	return unary("poly_flip", ctx, src, func(u *uop.UOp) (*uop.UOp, error) {
		list, err := axesFrom("axes", axes, max(n, 0))
		if err != nil {
			return nil, err
		}
		return tensor.Flip(u, list...)
	})
}

func poly_transpose(ctx, src uintptr, axis0, axis1 int32) uintptr {
	return unary("poly_transpose", ctx, src, func(u *uop.UOp) (*uop.UOp, error) {
		return tensor.Transpose(u, int(axis0), int(axis1))
	})
}

func poly_squeeze(ctx, src uintptr, axis int32) uintptr {
	return unary("poly_squeeze", ctx, src, func(u *uop.UOp) (*uop.UOp, error) { return tensor.Squeeze(u, int(axis)) })
}

func poly_unsqueeze(ctx, src uintptr, axis int32) uintptr {
	return unary("poly_unsqueeze", ctx, src, func(u *uop.UOp) (*uop.UOp, error) {
		return tensor.Unsqueeze(u, int(axis))
	})
}

func poly_flatten(ctx, src uintptr, first, last int32) uintptr {
	return unary("poly_flatten", ctx, src, func(u *uop.UOp) (*uop.UOp, error) {
		return tensor.Flatten(u, int(first), int(last))
	})
}

func poly_unflatten(ctx, src uintptr, axis int32, dims *int64, n int32) uintptr {
	return unaryIn("poly_unflatten", ctx, src, func(c *context, u *uop.UOp) (*uop.UOp, error) {
		s, err := c.sizes("sizes", dims, n)
		if err != nil {
			return nil, err
		}
		return tensor.Unflatten(u, int(axis), s)
	})
}

func poly_repeat(ctx, src uintptr, counts *int64, n int32) uintptr {
	return unaryIn("poly_repeat", ctx, src, func(c *context, u *uop.UOp) (*uop.UOp, error) {
		if n > maxDims {
			return nil, badArg("counts", "%d numbers, expected at most %d", n, maxDims)
		}
		list, err := c.sizeList("counts", counts, n)
		if err != nil {
			return nil, err
		}
		return tensor.RepeatSizes(u, list)
	})
}

func poly_cat(ctx uintptr, xs *uintptr, n, axis int32) uintptr {
	return join("poly_cat", ctx, xs, n, axis, tensor.Cat)
}

func poly_stack(ctx uintptr, xs *uintptr, n, axis int32) uintptr {
	return join("poly_stack", ctx, xs, n, axis, tensor.Stack)
}

func join(fn string, ctx uintptr, xs *uintptr, n, axis int32, op func([]*uop.UOp, int) (*uop.UOp, error)) uintptr {
	return buildNode(fn, ctx, func(c *context) (value, error) {
		vs := must(c.args("xs", xs, n))
		return lift(func(us []*uop.UOp) (*uop.UOp, error) { return op(us, int(axis)) }, vs...)
	})
}

func poly_split(ctx, x uintptr, parts *int64, n, axis int32, out *uintptr) int32 {
	return composeAll("poly_split", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		list := must(partsOf(us[0], parts, n))
		return tensor.Split(us[0], list, int(axis))
	}, operandOf("x", x))
}

// partsOf reads the sizes of parts, at most as many as x can have.
func partsOf(x *uop.UOp, p *int64, n int32) ([]int64, error) {
	switch {
	case n < 0:
		return nil, badArg("n", "%d parts, expected 0 or more", n)
	case n > 0 && p == nil:
		return nil, badArg("sizes", "is NULL, expected %d numbers", n)
	}
	var list []int64
	var sum, most int64
	for _, d := range x.Shape() {
		most = max(most, d.Max())
	}
	for i := range int(n) {
		v := unsafe.Slice(p, n)[i]
		if v < 0 || v > most-sum {
			return nil, badArg(indexed("sizes", i), "%d, but the parts must add up to the size of the axis", v)
		}
		sum += v
		list = append(list, v)
	}
	return list, nil
}

// outAll returns several nodes to C, or none if one fails.
func (c *context) outAll(vs []value, out []uintptr) error {
	for i, v := range vs {
		if v.Keep == nil { // an operation left it out
			out[i] = 0
			continue
		}
		h, err := c.out(v)
		if err != nil {
			for _, done := range out[:i] {
				c.release(done)
			}
			return err
		}
		out[i] = h
	}
	return nil
}

func poly_index(ctx, x uintptr, kinds *int32, numbers *int64, tensors *uintptr, n int32) uintptr {
	return buildNode("poly_index", ctx, func(c *context) (value, error) {
		v := must(c.arg("x", x))
		items := must(c.indexItems(kinds, numbers, tensors, n))
		return lift(func(us []*uop.UOp) (*uop.UOp, error) { return tensor.GetItem(us[0], items...) }, v)
	})
}

// PolyIndexKind.
const (
	indexInt = iota
	indexSlice
	indexNewAxis
	indexEllipsis
	indexTensor
)

// maxItems is more than any index has: a new axis for each existing one, and an ellipsis.
const maxItems = 2*maxDims + 1

func (c *context) indexItems(kinds *int32, numbers *int64, tensors *uintptr, n int32) ([]tensor.Index, error) {
	switch {
	case n < 0 || n > maxItems:
		return nil, badArg("n", "%d items, expected 0 to %d", n, maxItems)
	case n > 0 && kinds == nil:
		return nil, badArg("kinds", "is NULL, expected %d kinds", n)
	case n > 0 && numbers == nil:
		return nil, badArg("args", "is NULL, expected %d numbers", 3*n)
	}
	items := make([]tensor.Index, n)
	for i, kind := range unsafe.Slice(kinds, n) {
		a := unsafe.Slice(numbers, 3*n)[3*i : 3*i+3]
		name := indexed("args", i)
		switch kind {
		case indexInt:
			at, err := c.sizeOf(name, a[0])
			if err != nil {
				return nil, err
			}
			items[i] = tensor.AtSize(at)
		case indexSlice:
			start, err := c.sliceBound(name, a[0])
			if err != nil {
				return nil, err
			}
			stop, err := c.sliceBound(name, a[1])
			if err != nil {
				return nil, err
			}
			step := int64(1)
			if a[2] != indexNone {
				step = a[2]
			}
			if isNode(step) {
				return nil, badArg(name, "the step of a slice is symbolic, expected a number")
			}
			items[i] = tensor.SliceSizes(start, stop, step)
		case indexNewAxis:
			items[i] = tensor.NewAxis()
		case indexEllipsis:
			items[i] = tensor.Ellipsis()
		case indexTensor:
			if tensors == nil {
				return nil, badArg("tensors", "is NULL, but item %d is a tensor", i)
			}
			t, err := c.arg(indexed("tensors", i), unsafe.Slice(tensors, n)[i])
			if err != nil {
				return nil, err
			}
			items[i] = tensor.Take(t.Keep)
		default:
			return nil, badArg(indexed("kinds", i), "%d is not a kind of index, expected 0 to 4", kind)
		}
	}
	return items, nil
}

// indexNone is POLY_INDEX_NONE.
const indexNone = -1 << 63

// sliceBound is a bound of a slice; POLY_INDEX_NONE is an open one.
func (c *context) sliceBound(arg string, v int64) (*uop.Sint, error) {
	if v == indexNone {
		return nil, nil
	}
	s, err := c.sizeOf(arg, v)
	return &s, err
}
