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

// centeredAndScale are x - mean, and 1 / sqrt(mean of squares + eps): the factor by which layerNorm scales it.
func centeredAndScale(x *uop.UOp, axes []int, eps float64) (y, scale *uop.UOp) {
	y = sub(x, mean(x, axes, true))
	return y, rsqrt(add(mean(mul(y, y), axes, true), eps))
}

// layerNorm is (x - mean) / sqrt(mean of squares + eps).
func layerNorm(x *uop.UOp, axes []int, eps float64) *uop.UOp {
	y, scale := centeredAndScale(x, axes, eps)
	return customGradient(gradientOfStandardized, mul(y, scale), []*uop.UOp{x, y, scale}, axisNumbers(x, axes))
}

// standardizedRule gives scale * (g - mean(g) - y scale mean(g y scale)), the gradient of layerNorm (Ba et al., arXiv:1607.06450). Both means are of values
// known before the scale, so one loop computes them beside it; by automatic differentiation, each would need a loop of its own, one after the other.
func standardizedRule(g, u *uop.UOp, axes []int) []*uop.UOp {
	y, scale := u.Src[2], u.Src[3]
	along := mul(mean(mul(g, y), axes, true), scale)
	return []*uop.UOp{nil, mul(scale, sub(sub(g, mean(g, axes, true)), mul(mul(y, scale), along))), nil, nil}
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

// inWide is x in float32 if it is of a small float type: its squares would overflow.
func inWide(x *uop.UOp) *uop.UOp {
	if asTinygrad(x) {
		return x
	}
	return atLeastF32(x)
}

// LayerNorm is (x - mean) / sqrt(variance + eps) over axes, of small floats computed in float32.
func LayerNorm(x *uop.UOp, axes []int, eps float64) (r *uop.UOp, err error) {
	defer guard("LayerNorm", &err)
	need("x", x)
	needFloat("x", x)
	return cast(layerNorm(inWide(x), axes, eps), x.DType), nil
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
	if weight != nil {
		needChannels("weight", x, weight)
	}
	if bias != nil {
		needChannels("bias", x, bias)
	}
	return groupNorm(x, groups, weight, bias, eps), nil
}

// groupNorm is layerNorm of the rows (N, groups, elements) of x, of small floats in float32, times weight, plus bias.
func groupNorm(x *uop.UOp, groups int64, weight, bias *uop.UOp, eps float64) *uop.UOp {
	s := x.Shape()
	if s.MaxNumel() == 0 {
		return affine(x, weight, bias)
	}
	rows := reshape(inWide(x), uop.Shape{s[0], uop.N(groups), uop.N(-1)})
	if weight == nil {
		return affine(cast(reshape(layerNorm(rows, []int{-1}, eps), s), x.DType), nil, bias)
	}
	y, scale := centeredAndScale(rows, []int{-1}, eps)
	of := []*uop.UOp{x, y, scale, weight}
	if bias != nil {
		of = append(of, bias)
	}
	return customGradient(gradientOfGroupNorm, affine(cast(reshape(mul(y, scale), s), x.DType), weight, bias), of)
}

// affine is x times weight, plus bias, of each channel.
func affine(x, weight, bias *uop.UOp) *uop.UOp {
	if weight != nil {
		x = mul(x, channels(x, weight))
	}
	if bias != nil {
		x = add(x, channels(x, bias))
	}
	return x
}

// groupNormRule gives the gradients of groupNorm from two sums over each channel of a sample, those of g and of g * (x - mean): the gradients of weight and
// bias add them up over samples, and that of x (standardizedRule) over the channels of a group.
func groupNormRule(g, u *uop.UOp) []*uop.UOp {
	x, y, scale, weight := u.Src[1], u.Src[2], u.Src[3], u.Src[4]
	n, groups := y.Shape()[0], y.Shape()[1]
	each := uop.Shape{n, groups, uop.N(x.Shape()[1].N / groups.N), uop.N(-1)} // the channels of a group, the elements of a channel
	g, w := reshape(cast(g, y.DType), each), reshape(cast(weight, y.DType), joinShapes(each[1:3], uop.ShapeOf(1)))
	y, scale = reshape(y, each), reshape(scale, uop.Shape{n, groups, uop.N(1), uop.N(1)})
	sumG, sumGY := sum(g, []int{3}, true), sum(mul(g, y), []int{3}, true)
	average := func(v *uop.UOp) *uop.UOp {
		return div(sum(mul(v, w), []int{2}, true), reducedCount(y, []int{2, 3}))
	}
	of := func(v, like *uop.UOp) *uop.UOp { return cast(reshape(v, like.Shape()), like.DType) }
	gx := mul(scale, sub(sub(mul(g, w), average(sumG)), mul(mul(y, scale), mul(average(sumGY), scale))))
	gradients := []*uop.UOp{nil, of(gx, x), nil, nil, of(sum(mul(sumGY, scale), []int{0}, true), weight)}
	if len(u.Src) > len(gradients) {
		gradients = append(gradients, of(sum(sumG, []int{0}, true), u.Src[5]))
	}
	return gradients
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
	v := squaresOfCentered(x, mean(mul(y, y), axes, false), axes, true)
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
