package tensor

import (
	"slices"

	"polygrad/core/uop"
)

// softmaxParts are x minus its maximum, the exponentials, and their sum. The maximum is detached: it cancels out of the gradient.
func softmaxParts(x *uop.UOp, axes []int) (m, e, total *uop.UOp) {
	m = sub(x, detach(maxOf(x, axes, true)))
	e = exp(m)
	return m, e, sum(e, axes, true)
}

func softmax(x *uop.UOp, axes []int) *uop.UOp {
	_, e, total := softmaxParts(x, axes)
	return div(e, total)
}

func logSoftmax(x *uop.UOp, axes []int) *uop.UOp {
	m, _, total := softmaxParts(x, axes)
	return sub(m, log(total))
}

// layerNorm is (x - mean) / sqrt(mean of squares + eps).
func layerNorm(x *uop.UOp, axes []int, eps float64) *uop.UOp {
	y := sub(x, mean(x, axes, true))
	return mul(y, rsqrt(add(mean(mul(y, y), axes, true), eps)))
}

// rmsNorm is x / sqrt(mean of squares + eps) over the last axis, in float32.
func rmsNorm(x *uop.UOp, eps float64) *uop.UOp {
	f := cast(x, uop.Float32)
	if x.DType == uop.Float64 {
		f = x
	}
	return cast(mul(f, rsqrt(add(mean(square(f), []int{-1}, true), eps))), x.DType)
}

// channels reshapes a vector to (1, C, 1, …) to broadcast with x.
func channels(x, w *uop.UOp) *uop.UOp {
	return reshape(w, joinShapes(uop.ShapeOf(1, -1), onesShape(len(x.Shape())-2)))
}

func needChannels(arg string, x, w *uop.UOp) {
	needSame(arg, x, w)
	if s := w.Shape(); len(s) != 1 || s[0] != x.Shape()[1] {
		fail(arg, "has shape %s, expected (%s)", s, x.Shape()[1])
	}
}

// Softmax is e^x / sum(e^x) over axes, without overflow.
func Softmax(x *uop.UOp, axes ...int) (r *uop.UOp, err error) {
	defer guard("Softmax", &err)
	need("x", x)
	return softmax(asFloat(x), axes), nil
}

// LogSoftmax is log(softmax(x)) over axes.
func LogSoftmax(x *uop.UOp, axes ...int) (r *uop.UOp, err error) {
	defer guard("LogSoftmax", &err)
	need("x", x)
	return logSoftmax(asFloat(x), axes), nil
}

// inWide computes f in float32 for a small float type: its squares would overflow.
func inWide(f func(*uop.UOp) *uop.UOp, x *uop.UOp) *uop.UOp {
	if asTinygrad(x) {
		return f(x)
	}
	return cast(f(atLeastF32(x)), x.DType)
}

// LayerNorm is (x - mean) / sqrt(variance + eps) over axes, of small floats computed in float32.
func LayerNorm(x *uop.UOp, axes []int, eps float64) (r *uop.UOp, err error) {
	defer guard("LayerNorm", &err)
	need("x", x)
	needFloat("x", x)
	return inWide(func(x *uop.UOp) *uop.UOp { return layerNorm(x, axes, eps) }, x), nil
}

// ScaleShift is x * weight + bias; both may be nil.
func ScaleShift(x, weight, bias *uop.UOp) (r *uop.UOp, err error) {
	defer guard("ScaleShift", &err)
	need("x", x)
	if weight != nil {
		needBeside("weight", x, weight)
		x = mul(x, weight)
	}
	if bias != nil {
		needBeside("bias", x, bias)
		x = add(x, bias)
	}
	return x, nil
}

// needBeside checks that x broadcasts with w.
func needBeside(arg string, x, w *uop.UOp) {
	needSame(arg, x, w)
	if _, ok := broadcastShape(x.Shape(), w.Shape()); !ok {
		fail(arg, "has shape %s, which cannot be broadcast with %s", w.Shape(), x.Shape())
	}
}

// RMSNorm is x / sqrt(mean(x^2) + eps) over the last axis.
func RMSNorm(x *uop.UOp, eps float64) (r *uop.UOp, err error) {
	defer guard("RMSNorm", &err)
	need("x", x)
	needFloat("x", x)
	return rmsNorm(x, eps), nil
}

// GroupNorm normalizes the channels (axis 1) of x in groups, then applies weight and bias of shape (C), which may be nil.
func GroupNorm(x *uop.UOp, groups int64, weight, bias *uop.UOp, eps float64) (r *uop.UOp, err error) {
	defer guard("GroupNorm", &err)
	need("x", x)
	needFloat("x", x)
	s := x.Shape()
	if len(s) < 2 {
		fail("x", "has shape %s, expected (N, C, …)", s)
	}
	if c := intSize("x", s, 1); groups < 1 || c%groups != 0 {
		fail("groups", "%d, expected a divisor of the %d channels", groups, c)
	}
	r = x
	if s.MaxNumel() > 0 {
		r = inWide(func(x *uop.UOp) *uop.UOp {
			return reshape(layerNorm(reshape(x, uop.Shape{s[0], uop.N(groups), uop.N(-1)}), []int{-1}, eps), s)
		}, x)
	}
	if weight != nil {
		needChannels("weight", x, weight)
		r = mul(r, channels(x, weight))
	}
	if bias != nil {
		needChannels("bias", x, bias)
		r = add(r, channels(x, bias))
	}
	return r, nil
}

// BatchNorm is (x - mean) * weight * invstd + bias. The parameters have the sizes of the given axes of x (nil: axis 1, the
// channels); weight and bias may be nil.
func BatchNorm(x, weight, bias, mean, invstd *uop.UOp, axes []int) (r *uop.UOp, err error) {
	defer guard("BatchNorm", &err)
	need("x", x)
	s := x.Shape()
	if axes == nil {
		axes = []int{1}
	}
	narrow, own := onesShape(len(s)), uop.Shape{}
	for _, a := range axesOf("axes", axes, len(s)) {
		narrow[a] = s[a]
	}
	for a, d := range narrow {
		if slices.ContainsFunc(axes, func(b int) bool { return b == a || b == a-len(s) }) {
			own = append(own, d)
		}
	}
	beside := func(arg string, w *uop.UOp) *uop.UOp {
		needSame(arg, x, w)
		if !w.Shape().Equal(own) {
			fail(arg, "has shape %s, expected %s", w.Shape(), own)
		}
		return reshape(w, narrow)
	}
	r = sub(x, beside("mean", mean))
	if weight != nil {
		r = mul(r, beside("weight", weight))
	}
	r = mul(r, beside("invstd", invstd))
	if bias != nil {
		r = add(r, beside("bias", bias))
	}
	return r, nil
}

// BatchStats gives mean and variance (over n) of each channel (axis 1), which must have elements.
func BatchStats(x *uop.UOp) (avg, variance *uop.UOp, err error) {
	defer guard("BatchStats", &err)
	need("x", x)
	s := x.Shape()
	if len(s) < 2 {
		fail("x", "has shape %s, expected (N, C, …)", s)
	}
	var axes []int
	for i, d := range s {
		if i == 1 {
			continue
		}
		if d.IsNum(0) && !s[1].IsNum(0) {
			fail("x", "has shape %s: no elements of a channel, expected one or more", s)
		}
		axes = append(axes, i)
	}
	dt := x.DType
	if dt.IsFloat() {
		x = atLeastF32(x)
	}
	m := mean(x, axes, false)
	y := sub(x, channels(x, m))
	v := mean(mul(y, y), axes, false)
	if dt.IsFloat() {
		m, v = cast(m, dt), cast(v, dt)
	}
	return m, v, nil
}

// BatchNormBy is BatchNorm of the channels by mean and variance.
func BatchNormBy(x, weight, bias, mean, variance *uop.UOp, eps float64) (r *uop.UOp, err error) {
	defer guard("BatchNormBy", &err)
	needSame("variance", x, variance)
	return BatchNorm(x, weight, bias, mean, rsqrt(add(variance, eps)), nil)
}

// MoveBatchStats updates running statistics with the mean and the variance (over n) of a batch x from BatchStats: they move by the fraction momentum
// towards the mean and the variance over n - 1, and count grows by one.
func MoveBatchStats(x, mean, variance, runningMean, runningVar, count *uop.UOp, momentum float64) (next []*uop.UOp, err error) {
	defer guard("MoveBatchStats", &err)
	needSame("operands", x, mean, variance, runningMean, runningVar, count)
	s := x.Shape()
	n := append(slices.Clone(s[:1]), s[2:]...).Numel()
	switch {
	case n.Symbolic():
		all := cast(sizeTensor(x, n.U), uop.Float32)
		variance = mul(variance, div(all, maximum(sub(all, 1), 1)))
	case n.N > 1:
		variance = mul(variance, float64(n.N)/float64(n.N-1))
	}
	for i, old := range []*uop.UOp{runningMean, runningVar} {
		now := cast(detach([]*uop.UOp{mean, variance}[i]), old.DType)
		next = append(next, accurateLerp(old, now, likeConst(old, momentum)))
	}
	return append(next, add(count, 1)), nil
}
