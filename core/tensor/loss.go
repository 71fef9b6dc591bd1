package tensor

import (
	"polygrad/core/uop"
)

// Reduction is the reduction of the losses of single samples.
type Reduction uint8

// Reductions of losses.
const (
	ReduceMean Reduction = iota
	ReduceSum
	ReduceNone
)

func (r Reduction) of(x *uop.UOp) *uop.UOp {
	switch r {
	case ReduceMean:
		return mean(x, nil, false)
	case ReduceSum:
		return sum(x, nil, false)
	}
	return x
}

func needReduction(r Reduction) {
	if r > ReduceNone {
		fail("reduction", "is %d, expected mean, sum or none", r)
	}
}

func needSmoothing(v float64) {
	if !(v >= 0 && v <= 1) {
		fail("label_smoothing", "is %v, expected 0..1", v)
	}
}

// without is a shape without one axis.
func without(s uop.Shape, axis int) uop.Shape { return joinShapes(s[:axis], s[axis+1:]) }

// classTarget turns class indices into one-hot probabilities along an axis of x.
func classTarget(x, target *uop.UOp, axis int) *uop.UOp {
	s := x.Shape()
	if s.Equal(target.Shape()) {
		return target
	}
	if !without(s, axis).Equal(target.Shape()) {
		fail("target", "has shape %s, expected %s for classes or %s for probabilities", target.Shape(), without(s, axis), s)
	}
	if !target.DType.IsInt() {
		target = cast(target, uop.Int32)
	}
	return oneHot(unsqueeze(target, axis), intSize("x", s, axis), axis)
}

// classNumbers turns class numbers given as floats into integers; probabilities stay.
func classNumbers(x, target *uop.UOp) *uop.UOp {
	if target.DType.IsFloat() && len(target.Shape()) < len(x.Shape()) {
		return cast(target, uop.Int32)
	}
	return target
}

func crossEntropy(x, target *uop.UOp, axis int, r Reduction, smoothing float64) *uop.UOp {
	s := x.Shape()
	axis = axisOf("axis", axis, len(s))
	if len(s) == 0 {
		fail("x", "is a scalar, expected a dimension of classes")
	}
	y := classTarget(x, target, axis)
	if x.DType == uop.Float64 && !y.DType.IsFloat() {
		y = cast(y, x.DType) // otherwise the smoothing would be float32
	}
	y = mul(1-smoothing, y)
	if n := intSize("x", s, axis); smoothing != 0 || asTinygrad(x) { // an infinite logarithm times the 0 of a sum would be NaN
		y = add(y, smoothing/float64(n))
	}
	return neg(r.of(sum(mul(logSoftmax(x, []int{axis}), y), []int{axis}, false)))
}

func sparseCrossEntropy(x, target *uop.UOp, ignore int, r Reduction, smoothing float64) *uop.UOp {
	s := x.Shape()
	logp := logSoftmax(x, []int{-1})
	var mask *uop.UOp
	if ignore != -1 {
		mask = ne(target, ignore)
	} else {
		mask = full(x.Graph(), target.Shape(), uop.BoolConst(true), uop.Bool)
	}
	y := mul(oneHot(unsqueeze(target, -1), intSize("x", s, len(s)-1), -1), unsqueeze(mask, -1))
	each := mul(1-smoothing, sum(mul(logp, y), []int{-1}, false))
	if smoothing != 0 || asTinygrad(x) { // 0 times the logarithm of 0 would be NaN
		each = add(each, mul(smoothing, mul(mean(logp, []int{-1}, false), mask)))
	}
	switch r {
	case ReduceMean:
		return neg(div(sum(each, nil, false), sum(mask, nil, false)))
	case ReduceSum:
		return neg(sum(each, nil, false))
	}
	return neg(each)
}

// binaryCrossEntropy is -y log(x) - (1-y) log(1-x).
func binaryCrossEntropy(x, y *uop.UOp) *uop.UOp {
	return sub(mul(neg(y), log(x)), mul(sub(1, y), log(sub(1, x))))
}

// binaryCrossEntropyLogits is binaryCrossEntropy of sigmoid(x), without overflow.
func binaryCrossEntropyLogits(x, y *uop.UOp, posWeight operand) *uop.UOp {
	logp, logq := bothLogSigmoids(x)
	return neg(add(mul(mul(posWeight, y), logp), mul(sub(1, y), logq)))
}

// bothLogSigmoids are log(sigmoid(x)) and log(sigmoid(-x)), which share their logarithm.
func bothLogSigmoids(x *uop.UOp) (logp, logq *uop.UOp) {
	if asTinygrad(x) {
		return logSigmoid(x), logSigmoid(neg(x))
	}
	x = asFloat(x)
	below, rest := lt(x, 0), logOf1AndExp(x)
	return sub(where(below, x, 0), rest), sub(where(below, 0, neg(x)), rest)
}

func needLossShapes(x, target *uop.UOp) {
	needSame("operands", x, target)
	needFloat("x", x)
	if _, ok := broadcastShape(x.Shape(), target.Shape()); !ok {
		fail("target", "has shape %s, expected the shape %s of x", target.Shape(), x.Shape())
	}
}

// CrossEntropy is the cross entropy of logits x over an axis of classes and a target: class numbers in
// the shape of x without the axis, or probabilities in the shape of x. Label smoothing mixes the
// target with the uniform distribution.
func CrossEntropy(x, target *uop.UOp, axis int, r Reduction, smoothing float64) (loss *uop.UOp, err error) {
	defer guard("CrossEntropy", &err)
	needSame("operands", x, target)
	needFloat("x", x)
	needReduction(r)
	needSmoothing(smoothing)
	return crossEntropy(x, target, axis, r, smoothing), nil
}

// SparseCategoricalCrossEntropy is the cross entropy of logits x over the last axis and class numbers;
// samples of the class ignore do not count (-1: all count).
func SparseCategoricalCrossEntropy(x, target *uop.UOp, ignore int, r Reduction, smoothing float64) (loss *uop.UOp, err error) {
	defer guard("SparseCategoricalCrossEntropy", &err)
	needSame("operands", x, target)
	needFloat("x", x)
	target = classNumbers(x, target)
	needInt("target", target)
	needReduction(r)
	needSmoothing(smoothing)
	if s := x.Shape(); len(s) == 0 || !without(s, len(s)-1).Equal(target.Shape()) {
		fail("target", "has shape %s, expected the shape of x %s without its last axis", target.Shape(), s)
	}
	return sparseCrossEntropy(x, target, ignore, r, smoothing), nil
}

// BinaryCrossEntropy is -y log(x) - (1-y) log(1-x) for probabilities x and targets y.
func BinaryCrossEntropy(x, target *uop.UOp, r Reduction) (loss *uop.UOp, err error) {
	defer guard("BinaryCrossEntropy", &err)
	needLossShapes(x, target)
	needReduction(r)
	return r.of(binaryCrossEntropy(x, target)), nil
}

// BinaryCrossEntropyLogits is BinaryCrossEntropy of sigmoid(x), without overflow; posWeight, which may be nil, scales the positive part.
func BinaryCrossEntropyLogits(x, target *uop.UOp, r Reduction, posWeight *uop.UOp) (loss *uop.UOp, err error) {
	defer guard("BinaryCrossEntropyLogits", &err)
	needLossShapes(x, target)
	needReduction(r)
	var w operand = 1
	if posWeight != nil {
		needSame("pos_weight", x, posWeight)
		w = posWeight
	}
	return r.of(binaryCrossEntropyLogits(x, target, w)), nil
}

// MSELoss is (x - target)^2.
func MSELoss(x, target *uop.UOp, r Reduction) (loss *uop.UOp, err error) {
	defer guard("MSELoss", &err)
	needLossShapes(x, target)
	needReduction(r)
	return r.of(square(sub(x, target))), nil
}

// L1Loss is |x - target|.
func L1Loss(x, target *uop.UOp, r Reduction) (loss *uop.UOp, err error) {
	defer guard("L1Loss", &err)
	needLossShapes(x, target)
	needReduction(r)
	return r.of(abs(sub(x, target))), nil
}

// HuberLoss is d²/2 for d = |x - target| up to delta, and delta*(d - delta/2) beyond.
func HuberLoss(x, target *uop.UOp, delta float64, r Reduction) (loss *uop.UOp, err error) {
	defer guard("HuberLoss", &err)
	needLossShapes(x, target)
	needReduction(r)
	if !(delta > 0) {
		fail("delta", "is %v, expected a positive number", delta)
	}
	d := abs(sub(x, target))
	return r.of(where(le(d, delta), mul(0.5, square(d)), mul(delta, sub(d, delta/2)))), nil
}

// NLLLoss is -x[n, target[n]] for log probabilities x of shape (N, C, …) and class numbers of shape (N, …).
// weight (C) scales classes and may be nil; samples of class *ignore do not count. The mean is weighted.
func NLLLoss(x, target, weight *uop.UOp, ignore *int, r Reduction) (loss *uop.UOp, err error) {
	defer guard("NLLLoss", &err)
	needSame("operands", x, target)
	needFloat("x", x)
	target = classNumbers(x, target)
	needInt("target", target)
	needReduction(r)
	s := x.Shape()
	if len(s) < 2 || !without(s, 1).Equal(target.Shape()) {
		fail("target", "has shape %s, expected the shape of x %s without axis 1", target.Shape(), s)
	}
	w := fullLike(target, 1)
	if weight != nil {
		needChannels("weight", x, weight)
		w = index(weight, Take(target))
	}
	if ignore != nil {
		w = mul(w, ne(target, *ignore))
	}
	nll := mul(neg(squeeze(gather(x, 1, unsqueeze(target, 1)), 1)), w)
	if r == ReduceMean {
		return div(sum(nll, nil, false), sum(w, nil, false)), nil
	}
	return r.of(nll), nil
}
