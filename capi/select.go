package main

/*
#include <stdint.h>
*/
import "C"

import (
	"math"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// axisFlat is POLY_AXIS_FLAT.
const axisFlat = math.MinInt32

//export go_poly_pad_mode
func go_poly_pad_mode(ctx, src C.uintptr_t, pairs *C.int64_t, ndim, mode C.int) C.uintptr_t {
	return movement("poly_pad_mode", ctx, src, hasNdim(ndim), func(c *context, u *uop.UOp) (*uop.UOp, error) {
		ps := must(c.pairs("pairs", pairs, ndim))
		if mode < 0 || mode > C.int(tensor.PadCircular) {
			return nil, badArg("mode", "%d, expected 0 to %d", mode, tensor.PadCircular)
		}
		return tensor.PadWith(u, ps, tensor.PadMode(mode))
	})
}

//export go_poly_repeat_interleave
func go_poly_repeat_interleave(ctx, src C.uintptr_t, repeats C.int64_t, axis C.int) C.uintptr_t {
	return compose("poly_repeat_interleave", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		u, along := us[0], int(axis)
		if axis == axisFlat {
			u = must(tensor.Flatten(u, 0, -1))
			along = 0
		}
		return tensor.RepeatInterleave(u, int64(repeats), along)
	}, operandOf("src", src))
}

//export go_poly_unfold
func go_poly_unfold(ctx, src C.uintptr_t, axis C.int, size, step C.int64_t) C.uintptr_t {
	return compose("poly_unfold", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Unfold(us[0], int(axis), int64(size), int64(step))
	}, operandOf("src", src))
}

//export go_poly_roll
func go_poly_roll(ctx, src C.uintptr_t, shifts, axes *C.int64_t, n C.int) C.uintptr_t {
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

//export go_poly_diagonal
func go_poly_diagonal(ctx, src C.uintptr_t, offset C.int64_t, axis1, axis2 C.int) C.uintptr_t {
	return compose("poly_diagonal", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Diagonal(us[0], int64(offset), int(axis1), int(axis2))
	}, operandOf("src", src))
}

//export go_poly_diag
func go_poly_diag(ctx, src C.uintptr_t) C.uintptr_t {
	return compose("poly_diag", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) { return tensor.Diag(us[0]) }, operandOf("src", src))
}

//export go_poly_setitem
func go_poly_setitem(ctx, x C.uintptr_t, kinds *C.int32_t, numbers *C.int64_t, tensors *C.uintptr_t, n C.int, val C.uintptr_t) C.uintptr_t {
	return resultShape{}.build("poly_setitem", ctx, func(c *context) (*uop.UOp, error) {
		us := must(c.resolve([]operand{operandOf("x", x), operandOf("value", val)}))
		items := must(c.indexItems(kinds, numbers, tensors, n))
		return tensor.SetItem(us[0], us[1], items...)
	})
}

//export go_poly_index_select
func go_poly_index_select(ctx, x C.uintptr_t, axis C.int, index C.uintptr_t) C.uintptr_t {
	return compose("poly_index_select", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.IndexSelect(us[0], int(axis), us[1])
	}, operandOf("x", x), operandOf("index", index))
}

//export go_poly_scatter
func go_poly_scatter(ctx, x C.uintptr_t, axis C.int, index, src C.uintptr_t) C.uintptr_t {
	return compose("poly_scatter", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Scatter(us[0], int(axis), us[1], us[2])
	}, operandOf("x", x), operandOf("index", index), operandOf("src", src))
}

//export go_poly_scatter_reduce
func go_poly_scatter_reduce(ctx, x C.uintptr_t, axis C.int, index, src C.uintptr_t, op, includeSelf C.int) C.uintptr_t {
	return compose("poly_scatter_reduce", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		if op < 0 || op > C.int(tensor.ScatterMean) {
			return nil, badArg("op", "%d, expected POLY_REDUCE_SUM, PROD, MAX, MIN or MEAN", op)
		}
		return tensor.ScatterReduce(us[0], int(axis), us[1], us[2], tensor.ScatterMode(op), includeSelf != 0)
	}, operandOf("x", x), operandOf("index", index), operandOf("src", src))
}

//export go_poly_masked_select
func go_poly_masked_select(ctx, x, mask C.uintptr_t, count C.int64_t) C.uintptr_t {
	return compose("poly_masked_select", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.MaskedSelect(us[0], us[1], int64(count))
	}, operandOf("x", x), operandOf("mask", mask))
}

//export go_poly_nonzero
func go_poly_nonzero(ctx, x C.uintptr_t, count C.int64_t) C.uintptr_t {
	return compose("poly_nonzero", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.NonZero(us[0], int64(count))
	}, operandOf("x", x))
}

//export go_poly_meshgrid
func go_poly_meshgrid(ctx C.uintptr_t, xs *C.uintptr_t, n, xy C.int, out *C.uintptr_t) C.int {
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
