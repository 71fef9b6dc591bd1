package main

import (
	"math"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// axisFlat is POLY_AXIS_FLAT.
const axisFlat = math.MinInt32

func poly_pad_mode(ctx, src uintptr, pairs *int64, ndim, mode int32) uintptr {
	return movement("poly_pad_mode", ctx, src, hasNdim(ndim), func(c *context, u *uop.UOp) (*uop.UOp, error) {
		ps := must(c.pairs("pairs", pairs, ndim))
		if mode < 0 || mode > int32(tensor.PadCircular) {
			return nil, badArg("mode", "%d, expected 0 to %d", mode, tensor.PadCircular)
		}
		return tensor.PadWith(u, ps, tensor.PadMode(mode))
	})
}

func poly_repeat_interleave(ctx, src uintptr, repeats int64, axis int32) uintptr {
	return compose("poly_repeat_interleave", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		u, along := us[0], int(axis)
		if axis == axisFlat {
			u = must(tensor.Flatten(u, 0, -1))
			along = 0
		}
		return tensor.RepeatInterleave(u, repeats, along)
	}, operandOf("src", src))
}

func poly_unfold(ctx, src uintptr, axis int32, size, step int64) uintptr {
	return compose("poly_unfold", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Unfold(us[0], int(axis), size, step)
	}, operandOf("src", src))
}

func poly_roll(ctx, src uintptr, shifts, axes *int64, n int32) uintptr {
	return compose("poly_roll", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		by, err := ints("shifts", shifts, n)
		if err != nil || axes == nil {
			if err == nil && n != 1 {
				err = badArg("n", "%d shifts of the flattened tensor, expected 1", n)
			}
			if err != nil {
				return nil, err
			}
			return tensor.Roll(us[0], by, nil)
		}
		along := must(axesFrom("axes", axes, n))
		if n == 0 {
			along = []int{}
		}
		return tensor.Roll(us[0], by, along)
	}, operandOf("src", src))
}

func poly_diagonal(ctx, src uintptr, offset int64, axis1, axis2 int32) uintptr {
	return compose("poly_diagonal", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Diagonal(us[0], offset, int(axis1), int(axis2))
	}, operandOf("src", src))
}

func poly_diag(ctx, src uintptr) uintptr {
	return compose("poly_diag", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) { return tensor.Diag(us[0]) }, operandOf("src", src))
}

func poly_setitem(ctx, x uintptr, kinds *int32, numbers *int64, tensors *uintptr, n int32, val uintptr) uintptr {
	return resultShape{}.build("poly_setitem", ctx, func(c *context) (*uop.UOp, error) {
		us := must(c.resolve([]operand{operandOf("x", x), operandOf("value", val)}))
		items := must(c.indexItems(kinds, numbers, tensors, n))
		return tensor.SetItem(us[0], us[1], items...)
	})
}

func poly_index_select(ctx, x uintptr, axis int32, index uintptr) uintptr {
	return compose("poly_index_select", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.IndexSelect(us[0], int(axis), us[1])
	}, operandOf("x", x), operandOf("index", index))
}

func poly_scatter(ctx, x uintptr, axis int32, index, src uintptr) uintptr {
	return compose("poly_scatter", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Scatter(us[0], int(axis), us[1], us[2])
	}, operandOf("x", x), operandOf("index", index), operandOf("src", src))
}

func poly_scatter_reduce(ctx, x uintptr, axis int32, index, src uintptr, op, includeSelf int32) uintptr {
	return compose("poly_scatter_reduce", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		if op < 0 || op > int32(tensor.ScatterMean) {
			return nil, badArg("op", "%d, expected POLY_REDUCE_SUM, PROD, MAX, MIN or MEAN", op)
		}
		return tensor.ScatterReduce(us[0], int(axis), us[1], us[2], tensor.ScatterMode(op), includeSelf != 0)
	}, operandOf("x", x), operandOf("index", index), operandOf("src", src))
}

func poly_masked_select(ctx, x, mask uintptr, count int64) uintptr {
	return compose("poly_masked_select", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.MaskedSelect(us[0], us[1], count)
	}, operandOf("x", x), operandOf("mask", mask))
}

func poly_nonzero(ctx, x uintptr, count int64) uintptr {
	return compose("poly_nonzero", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.NonZero(us[0], count)
	}, operandOf("x", x))
}

func poly_meshgrid(ctx uintptr, xs *uintptr, n, xy int32, out *uintptr) int32 {
	return status("poly_meshgrid", ctx, func(c *context) error {
		vs := must(c.args("xs", xs, n))
		if out == nil {
			return badArg("out", "is NULL, expected an array for the results")
		}
		us := make([]*uop.UOp, len(vs))
		for i, v := range vs {
			us[i] = v.Keep
		}
		grids := must(tensor.Meshgrid(us, xy != 0))
		return c.outAll(singles(grids), unsafe.Slice(out, len(grids)))
	})
}
