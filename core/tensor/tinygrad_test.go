package tensor

import "polygrad/core/uop"

// The forms of operations that users get as others: their graphs are compared with tinygrad's.

// TinygradRelu6 is x limited to 0..6.
func TinygradRelu6(x *uop.UOp) (*uop.UOp, error) { return run1("TinygradRelu6", relu6, x) }

// TinygradHardSigmoid is the line x/6 + 1/2 cut at 0 and 1.
func TinygradHardSigmoid(x *uop.UOp) (*uop.UOp, error) {
	return runFloat("TinygradHardSigmoid", func(x *uop.UOp) *uop.UOp { return hardsigmoid(x, 1.0/6, 0.5) }, x)
}

// TinygradHardSwish is x*relu6(x+3)/6.
func TinygradHardSwish(x *uop.UOp) (*uop.UOp, error) {
	return runFloat("TinygradHardSwish", hardswish, x)
}

// TinygradSign is -1, 0 or 1.
func TinygradSign(x *uop.UOp) (*uop.UOp, error) { return run1("TinygradSign", sign, x) }

// TinygradLe is a <= b, bool, written not a > b.
func TinygradLe(a, b *uop.UOp) (*uop.UOp, error) { return run2("TinygradLe", le, a, b) }

// TinygradGe is a >= b, bool, written not a < b.
func TinygradGe(a, b *uop.UOp) (*uop.UOp, error) { return run2("TinygradGe", ge, a, b) }

// TinygradLogSumExp is log(sum(e^x)) over axes, without overflow.
func TinygradLogSumExp(x *uop.UOp, axes []int, keepdim bool) (r *uop.UOp, err error) {
	defer guard("TinygradLogSumExp", &err)
	need("x", x)
	return logSumExp(asFloat(x), axes, keepdim), nil
}

// TinygradAbs is x times its sign.
func TinygradAbs(x *uop.UOp) (*uop.UOp, error) { return run1("TinygradAbs", abs, x) }

// TinygradCopySign is |a| with the sign of b.
func TinygradCopySign(a, b *uop.UOp) (*uop.UOp, error) {
	return run2("TinygradCopySign", copysign, a, b)
}

// TinygradLerp is a + (b-a)*w.
func TinygradLerp(a, b, w *uop.UOp) (r *uop.UOp, err error) {
	defer guard("TinygradLerp", &err)
	needSame("operands", a, b, w)
	return lerp(a, b, w), nil
}

// TinygradLogAddExp is log(e^a + e^b), without overflow.
func TinygradLogAddExp(a, b *uop.UOp) (*uop.UOp, error) {
	return run2("TinygradLogAddExp", logAddExp, a, b)
}

// TinygradErf is the error function, with an absolute error below 1.5e-7.
func TinygradErf(x *uop.UOp) (*uop.UOp, error) { return runFloat("TinygradErf", erf, x) }

// TinygradSoftplus is log(1+e^(beta*x))/beta, without overflow; beta must not be 0.
func TinygradSoftplus(x *uop.UOp, beta float64) (r *uop.UOp, err error) {
	defer guard("TinygradSoftplus", &err)
	need("x", x)
	if beta == 0 {
		fail("beta", "is 0")
	}
	return softplus(asFloat(x), beta), nil
}

// TinygradLogSigmoid is log(sigmoid(x)), without underflow.
func TinygradLogSigmoid(x *uop.UOp) (*uop.UOp, error) {
	return runFloat("TinygradLogSigmoid", logSigmoid, x)
}

// TinygradMish is x*tanh(softplus(x)).
func TinygradMish(x *uop.UOp) (*uop.UOp, error) { return runFloat("TinygradMish", mish, x) }

// TinygradElu is x for x > 0, else alpha*(e^x-1).
func TinygradElu(x *uop.UOp, alpha float64) (*uop.UOp, error) {
	return runFloat("TinygradElu", func(x *uop.UOp) *uop.UOp { return elu(x, alpha) }, x)
}

// TinygradCelu is x for x > 0, else alpha*(e^(x/alpha)-1); alpha must not be 0.
func TinygradCelu(x *uop.UOp, alpha float64) (r *uop.UOp, err error) {
	defer guard("TinygradCelu", &err)
	need("x", x)
	if alpha == 0 {
		fail("alpha", "is 0")
	}
	return celu(asFloat(x), alpha), nil
}

// TinygradSelu is gamma*Elu(x, alpha).
func TinygradSelu(x *uop.UOp, alpha, gamma float64) (*uop.UOp, error) {
	return runFloat("TinygradSelu", func(x *uop.UOp) *uop.UOp { return selu(x, alpha, gamma) }, x)
}

// TinygradSort sorts along an axis and gives the indices the values came from. Equal values keep their order.
func TinygradSort(x *uop.UOp, dim int, descending bool) (values, indices *uop.UOp, err error) {
	defer guard("TinygradSort", &err)
	need("x", x)
	values, indices = sortAxis(x, dim, descending)
	return values, indices, nil
}

// TinygradTopK gives the k greatest (or least) values along an axis, sorted, and their indices.
func TinygradTopK(x *uop.UOp, k int64, dim int, largest bool) (values, indices *uop.UOp, err error) {
	defer guard("TinygradTopK", &err)
	need("x", x)
	s := joinShapes(x.Shape())
	dim = needTopK(x, k, dim)
	values, indices = sortAxis(x, dim, largest)
	s[dim] = uop.N(k)
	return shrinkTo(values, s), shrinkTo(indices, s), nil
}

// TinygradCumMax is the running maximum along an axis and the int32 indices of the maxima.
func TinygradCumMax(x *uop.UOp, axis int) (values, indices *uop.UOp, err error) {
	defer guard("TinygradCumMax", &err)
	need("x", x)
	values, indices = cumMax(x, axis, equal)
	return values, indices, nil
}

// TinygradCumMin is the running minimum along an axis and the int32 indices of the minima.
func TinygradCumMin(x *uop.UOp, axis int) (values, indices *uop.UOp, err error) {
	defer guard("TinygradCumMin", &err)
	need("x", x)
	values, indices = cumMax(inverse(x), axis, equal)
	return inverse(values), indices, nil
}

// TinygradMaxPoolIndices is MaxPool with the place of each maximum, counted over the flattened last axes.
func TinygradMaxPoolIndices(x *uop.UOp, kernel []int64, w Window) (values, indices *uop.UOp, err error) {
	defer guard("TinygradMaxPoolIndices", &err)
	need("x", x)
	needKernel(x, kernel)
	values, indices = maxPool(x, kernel, w, equal)
	return values, indices, nil
}

// TinygradLogCumSumExp is the running log(sum(e^x)) along an axis.
func TinygradLogCumSumExp(x *uop.UOp, axis int) (r *uop.UOp, err error) {
	defer guard("TinygradLogCumSumExp", &err)
	need("x", x)
	needFloat("x", x)
	return logCumSumExp(x, axis), nil
}

// TinygradPow is a**b. Two integer tensors are computed in float64 and rounded; see PowConst for a number as exponent.
func TinygradPow(a, b *uop.UOp) (*uop.UOp, error) { return run2("TinygradPow", pow, a, b) }

// TinygradPowConst is x**e for a number. Integers to a power >= 0 stay exact.
func TinygradPowConst(x *uop.UOp, e uop.Const) (r *uop.UOp, err error) {
	defer guard("TinygradPowConst", &err)
	need("x", x)
	return pow(x, e), nil
}

// TinygradMod is a - floor(a/b)*b, with the sign of b (Python's %).
func TinygradMod(a, b *uop.UOp) (*uop.UOp, error) { return run2("TinygradMod", mod, a, b) }

// TinygradTruncMod is the remainder of TruncDiv, with the sign of a (C's %).
func TinygradTruncMod(a, b *uop.UOp) (*uop.UOp, error) {
	return run2("TinygradTruncMod", truncMod, a, b)
}

// TinygradFloorDiv is a / b rounded towards minus infinity (Python's //).
func TinygradFloorDiv(a, b *uop.UOp) (*uop.UOp, error) {
	return run2("TinygradFloorDiv", floorDiv, a, b)
}

// TinygradProd multiplies over axes, in the type of x.
func TinygradProd(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error) {
	return runReduce("TinygradProd", prod, x, axes, keepdim)
}

// TinygradVar is the variance over axes: the squared distances from the mean, summed and divided by max(n - correction, 0).
func TinygradVar(x *uop.UOp, axes []int, keepdim bool, correction float64) (r *uop.UOp, err error) {
	defer guard("TinygradVar", &err)
	need("x", x)
	return variance(x, axes, keepdim, correction), nil
}

// TinygradStd is the square root of Var.
func TinygradStd(x *uop.UOp, axes []int, keepdim bool, correction float64) (r *uop.UOp, err error) {
	defer guard("TinygradStd", &err)
	need("x", x)
	return std(x, axes, keepdim, correction), nil
}

// TinygradLayerNorm is (x - mean) / sqrt(variance + eps) over axes.
func TinygradLayerNorm(x *uop.UOp, axes []int, eps float64) (r *uop.UOp, err error) {
	defer guard("TinygradLayerNorm", &err)
	need("x", x)
	needFloat("x", x)
	return layerNorm(x, axes, eps), nil
}

// TinygradClamp limits x to lo..hi; a nil bound leaves that side open, but one must be given.
func TinygradClamp(x *uop.UOp, lo, hi *uop.UOp) (*uop.UOp, error) {
	return runClamp("TinygradClamp", clamp, x, lo, hi)
}

// TinygradRelu is max(0, x); its gradient at 0 is 0.
func TinygradRelu(x *uop.UOp) (*uop.UOp, error) { return run1("TinygradRelu", relu, x) }

// TinygradArgMax is the index of the greatest value along an axis (the first of equal ones), int32.
func TinygradArgMax(x *uop.UOp, axis int, keepdim bool) (r *uop.UOp, err error) {
	defer guard("TinygradArgMax", &err)
	need("x", x)
	return argMax(x, axis, keepdim), nil
}

// TinygradArgMin is the index of the least value along an axis (the first of equal ones), int32.
func TinygradArgMin(x *uop.UOp, axis int, keepdim bool) (r *uop.UOp, err error) {
	defer guard("TinygradArgMin", &err)
	need("x", x)
	return argMax(inverse(x), axis, keepdim), nil
}

// TinygradArgMaxAll is the index of the greatest value in the flattened tensor, int32.
func TinygradArgMaxAll(x *uop.UOp) (r *uop.UOp, err error) {
	defer guard("TinygradArgMaxAll", &err)
	need("x", x)
	return argMax(flatten(x, 0, -1), 0, false), nil
}

// TinygradArgMinAll is the index of the least value in the flattened tensor, int32.
func TinygradArgMinAll(x *uop.UOp) (r *uop.UOp, err error) {
	defer guard("TinygradArgMinAll", &err)
	need("x", x)
	return argMax(flatten(inverse(x), 0, -1), 0, false), nil
}

// hardswish is x * relu6(x+3) / 6.
func hardswish(x *uop.UOp) *uop.UOp { return mul(mul(x, relu6(add(x, 3))), 1.0/6) }

// hardsigmoid is relu(alpha*x+beta) - relu(alpha*x+beta-1), the line cut at 0 and 1.
func hardsigmoid(x *uop.UOp, alpha, beta float64) *uop.UOp {
	line := add(mul(alpha, x), beta)
	return sub(relu(line), relu(sub(line, 1)))
}

// elu is relu(x) - alpha*relu(1-e^x).
func elu(x *uop.UOp, alpha float64) *uop.UOp {
	return sub(relu(x), mul(alpha, relu(sub(1, exp(x)))))
}

// celu is max(x,0) + min(alpha*(e^(x/alpha)-1), 0).
func celu(x *uop.UOp, alpha float64) *uop.UOp {
	return add(maximum(x, 0), minimum(mul(alpha, sub(exp(div(x, alpha)), 1)), 0))
}

// selu is gamma*x for x >= 0, else gamma*alpha*(e^x-1).
func selu(x *uop.UOp, alpha, gamma float64) *uop.UOp {
	return mul(gamma, where(detach(ge(x, 0)), x, mul(alpha, sub(exp(x), 1))))
}

func mish(x *uop.UOp) *uop.UOp { return mul(x, tanh(softplus(x, 1.0))) }

// logCumSumExp is the running log(sum(e^x)) without overflow.
func logCumSumExp(x *uop.UOp, axis int) *uop.UOp {
	s := x.Shape()
	if len(s) == 0 {
		return x
	}
	axis = axisOf("axis", axis, len(s))
	t := transpose(x, axis, -1)
	n := intSize("axis", t.Shape(), len(s)-1)
	wide := expand(unsqueeze(t, -2), joinShapes(t.Shape()[:len(s)-1], uop.ShapeOf(n, n)))
	most, _ := cumMax(t, -1, equal)
	mask := tril(full(x.Graph(), uop.ShapeOf(n, n), uop.Float(1), uop.DefaultFloat), 0)
	e := exp(where(mask, sub(wide, unsqueeze(most, -1)), x.DType.Min()))
	return transpose(add(log(sum(e, []int{-1}, false)), most), -1, axis)
}

func logSumExp(x *uop.UOp, axes []int, keep bool) *uop.UOp {
	m := maxOf(x, axes, true)
	r := log(sum(exp(sub(x, m)), axes, keep))
	return add(r, reshape(m, r.Shape()))
}

// erf is formula 7.1.26 of Abramowitz and Stegun, with an absolute error below 1.5e-7.
func erf(x *uop.UOp) *uop.UOp {
	t := div(1.0, add(1.0, mul(0.3275911, abs(x))))
	p := polynomial(t, 1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
	return mul(sign(x), sub(1.0, mul(mul(t, p), exp(neg(square(x))))))
}

func std(x *uop.UOp, axes []int, keep bool, correction float64) *uop.UOp {
	return sqrt(variance(x, axes, keep, correction))
}

// polynomial is horner that begins with 0*x, as tinygrad's polynomials do.
func polynomial(x *uop.UOp, c ...float64) *uop.UOp {
	r := mul(0.0, x)
	for i, v := range c {
		if i > 0 {
			r = mul(r, x)
		}
		r = add(r, v)
	}
	return r
}
