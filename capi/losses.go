package main

import (
	"math"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// loss runs a loss of a tensor and its target, with optional weights.
func loss(fn string, ctx uintptr, reduction int32, f func(us []*uop.UOp, r tensor.Reduction) (*uop.UOp, error), ins ...operand) uintptr {
	return compose(fn, ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		if reduction < 0 || reduction > int32(tensor.ReduceNone) {
			return nil, badArg("reduction", "%d, expected 0 to %d", reduction, tensor.ReduceNone)
		}
		return f(us, tensor.Reduction(reduction))
	}, ins...)
}

func poly_cross_entropy(ctx, logits uintptr, lShape *int64, lNdim int32, target uintptr, tShape *int64, tNdim, axis int32, shapeOut *int64, ndimOut *int32) uintptr {
	return compose("poly_cross_entropy", ctx, resultShape{shapeOut, ndimOut}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.CrossEntropy(us[0], us[1], int(axis), tensor.ReduceMean, 0)
	}, shaped("logits", logits, "l_shape", lShape, lNdim), shaped("target", target, "t_shape", tShape, tNdim))
}

func poly_cross_entropy_loss(ctx, logits, target uintptr, axis int32, smoothing float64, reduction int32) uintptr {
	return loss("poly_cross_entropy_loss", ctx, reduction, func(us []*uop.UOp, r tensor.Reduction) (*uop.UOp, error) {
		return tensor.CrossEntropy(us[0], us[1], int(axis), r, float64(smoothing))
	}, operandOf("logits", logits), operandOf("target", target))
}

// classIndex is a class number as an argument of the losses.
func classIndex(v int64) (int, error) {
	if v < math.MinInt32 || v > math.MaxInt32 {
		return 0, badArg("ignore_index", "%d, expected a number of 32 bits", v)
	}
	return int(v), nil
}

func poly_sparse_cross_entropy_loss(ctx, logits, target uintptr, ignore int64, smoothing float64, reduction int32) uintptr {
	return loss("poly_sparse_cross_entropy_loss", ctx, reduction, func(us []*uop.UOp, r tensor.Reduction) (*uop.UOp, error) {
		i, err := classIndex(ignore)
		if err != nil {
			return nil, err
		}
		return tensor.SparseCategoricalCrossEntropy(us[0], us[1], i, r, float64(smoothing))
	}, operandOf("logits", logits), operandOf("target", target))
}

func poly_nll_loss(ctx, x, target, weight uintptr, useIgnore int32, ignore int64, reduction int32) uintptr {
	return loss("poly_nll_loss", ctx, reduction, func(us []*uop.UOp, r tensor.Reduction) (*uop.UOp, error) {
		if useIgnore == 0 {
			return tensor.NLLLoss(us[0], us[1], us[2], nil, r)
		}
		i, err := classIndex(ignore)
		if err != nil {
			return nil, err
		}
		return tensor.NLLLoss(us[0], us[1], us[2], &i, r)
	}, operandOf("x", x), operandOf("target", target), optional("weight", weight))
}

func poly_mse_loss(ctx, x, y uintptr, reduction int32) uintptr {
	return loss("poly_mse_loss", ctx, reduction, func(us []*uop.UOp, r tensor.Reduction) (*uop.UOp, error) {
		return tensor.MSELoss(us[0], us[1], r)
	}, operandOf("x", x), operandOf("target", y))
}

func poly_l1_loss(ctx, x, y uintptr, reduction int32) uintptr {
	return loss("poly_l1_loss", ctx, reduction, func(us []*uop.UOp, r tensor.Reduction) (*uop.UOp, error) {
		return tensor.L1Loss(us[0], us[1], r)
	}, operandOf("x", x), operandOf("target", y))
}

func poly_huber_loss(ctx, x, y uintptr, delta float64, reduction int32) uintptr {
	return loss("poly_huber_loss", ctx, reduction, func(us []*uop.UOp, r tensor.Reduction) (*uop.UOp, error) {
		return tensor.HuberLoss(us[0], us[1], float64(delta), r)
	}, operandOf("x", x), operandOf("target", y))
}

func poly_binary_cross_entropy(ctx, x, y uintptr, reduction int32) uintptr {
	return loss("poly_binary_cross_entropy", ctx, reduction, func(us []*uop.UOp, r tensor.Reduction) (*uop.UOp, error) {
		return tensor.BinaryCrossEntropy(us[0], us[1], r)
	}, operandOf("x", x), operandOf("target", y))
}

func poly_binary_cross_entropy_logits(ctx, x, y, posWeight uintptr, reduction int32) uintptr {
	return loss("poly_binary_cross_entropy_logits", ctx, reduction, func(us []*uop.UOp, r tensor.Reduction) (*uop.UOp, error) {
		return tensor.BinaryCrossEntropyLogits(us[0], us[1], r, us[2])
	}, operandOf("x", x), operandOf("target", y), optional("pos_weight", posWeight))
}
