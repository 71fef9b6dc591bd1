package main

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// optionalInts reads n numbers, or none for NULL.
func optionalInts(arg string, p *int64, n int32) ([]int64, error) {
	if p == nil {
		return nil, nil
	}
	return ints(arg, p, n)
}

// windowOf reads a sliding window over n axes.
func windowOf(stride, dilation, padding *int64, n int32) (w tensor.Window, err error) {
	if n < 1 || n > maxDims {
		return w, badArg("n", "%d axes, expected 1 to %d", n, maxDims)
	}
	if w.Stride, err = optionalInts("stride", stride, n); err != nil {
		return w, err
	}
	if w.Dilation, err = optionalInts("dilation", dilation, n); err != nil {
		return w, err
	}
	flat, err := optionalInts("padding", padding, 2*n)
	if err != nil || flat == nil {
		return w, err
	}
	w.Padding = make([][2]int64, n)
	for i := range w.Padding {
		w.Padding[i] = [2]int64{flat[2*i], flat[2*i+1]}
	}
	return w, nil
}

// spatial checks that a weight has n axes behind the two channel axes.
func spatial(weight *uop.UOp, n int32) error {
	if have := len(weight.Shape()) - 2; have != int(n) {
		return badArg("n", "%d axes, expected %d: the weight has shape %s", n, have, weight.Shape())
	}
	return nil
}

func poly_conv(ctx, x, weight, bias uintptr, groups int64, stride, dilation, padding *int64, n int32) uintptr {
	return compose("poly_conv", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		w, err := windowOf(stride, dilation, padding, n)
		if err == nil {
			err = spatial(us[1], n)
		}
		if err != nil {
			return nil, err
		}
		return tensor.Conv(us[0], us[1], us[2], groups, w)
	}, operandOf("x", x), operandOf("weight", weight), optional("bias", bias))
}

func poly_conv_transpose(ctx, x, weight, bias uintptr, groups int64, stride, dilation, padding, outputPadding *int64, n int32) uintptr {
	return compose("poly_conv_transpose", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		w, err := windowOf(stride, dilation, padding, n)
		if err == nil {
			err = spatial(us[1], n)
		}
		if err != nil {
			return nil, err
		}
		extra := must(optionalInts("output_padding", outputPadding, n))
		return tensor.ConvTranspose(us[0], us[1], us[2], groups, w, extra)
	}, operandOf("x", x), operandOf("weight", weight), optional("bias", bias))
}

// poolOf reads the window of a pool.
func poolOf(kernel, stride, dilation, padding *int64, n, ceilMode int32) (size []int64, w tensor.Window, err error) {
	if w, err = windowOf(stride, dilation, padding, n); err != nil {
		return nil, w, err
	}
	w.CeilMode = ceilMode != 0
	size, err = ints("kernel", kernel, n)
	return size, w, err
}

func poly_avg_pool(ctx, x uintptr, kernel, stride, dilation, padding *int64, n, ceilMode, countPad int32) uintptr {
	return compose("poly_avg_pool", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		size, w, err := poolOf(kernel, stride, dilation, padding, n, ceilMode)
		if err != nil {
			return nil, err
		}
		return tensor.AvgPool(us[0], size, w, countPad != 0)
	}, operandOf("x", x))
}

func poly_max_pool(ctx, x uintptr, kernel, stride, dilation, padding *int64, n, ceilMode int32) uintptr {
	return compose("poly_max_pool", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		size, w, err := poolOf(kernel, stride, dilation, padding, n, ceilMode)
		if err != nil {
			return nil, err
		}
		return tensor.MaxPool(us[0], size, w)
	}, operandOf("x", x))
}

func poly_max_pool_indices(ctx, x uintptr, kernel, stride, dilation, padding *int64, n, ceilMode int32, out *uintptr) int32 {
	return composeAll("poly_max_pool_indices", ctx, out, func(us []*uop.UOp) ([]*uop.UOp, error) {
		size, w, err := poolOf(kernel, stride, dilation, padding, n, ceilMode)
		if err != nil {
			return nil, err
		}
		return twoResults(tensor.MaxPoolIndices(us[0], size, w))
	}, operandOf("x", x))
}

func poly_max_unpool(ctx, x, indices uintptr, kernel, stride, dilation, padding *int64, n int32, outputSize *int64) uintptr {
	return compose("poly_max_unpool", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		size, w, err := poolOf(kernel, stride, dilation, padding, n, 0)
		if err != nil {
			return nil, err
		}
		to := must(optionalInts("output_size", outputSize, n))
		return tensor.MaxUnpool(us[0], us[1], size, w, to)
	}, operandOf("x", x), operandOf("indices", indices))
}

func poly_interpolate(ctx, x uintptr, size *int64, n, mode, alignCorners int32) uintptr {
	return compose("poly_interpolate", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		to := must(ints("size", size, n))
		if mode < 0 || mode > int32(tensor.Area) {
			return nil, badArg("mode", "%d, expected 0 to %d", mode, tensor.Area)
		}
		return tensor.Interpolate(us[0], to, tensor.Interpolation(mode), alignCorners != 0)
	}, operandOf("x", x))
}
