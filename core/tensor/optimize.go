package tensor

import (
	"math"

	"polygrad/core/uop"
)

// LARSOptions are the settings of LARS; the zero value is plain gradient descent.
type LARSOptions struct {
	Momentum, WeightDecay float64
	// Trust is the trust coefficient: it scales a step by the ratio of the norms of parameter and gradient; 0 turns it off.
	Trust float64
	// Nesterov uses Nesterov momentum.
	Nesterov bool
	// Classic multiplies the rate into the momentum buffer rather than the step.
	Classic bool
	// DecoupledDecay shrinks the parameter itself; otherwise decay is added to the gradient.
	DecoupledDecay bool
	// Steps of the Newton-Schulz iteration with Coefficients orthogonalize a step; no coefficients turn it off.
	Steps        int
	Coefficients []float64
}

// LARS is an update by layer-wise adaptive rate scaling (You, Gitman and Ginsburg, arXiv:1708.03888). Gradient descent is the
// case without trust, Muon (Jordan et al., 2024; Liu et al., arXiv:2502.16982) the case with orthogonal steps. lr has one
// element, buffer is the current momentum, nil if the momentum is 0.
func LARS(param, grad, lr, buffer *uop.UOp, o LARSOptions) (newParam, newBuffer *uop.UOp, err error) {
	defer guard("LARS", &err)
	p, g, rate := stepOperands(param, grad, lr)
	needNonNegative("momentum", o.Momentum)
	needNonNegative("weight_decay", o.WeightDecay)
	needNonNegative("tcoef", o.Trust)
	if o.Momentum != 0 {
		needState("buffer", param, buffer)
	}
	if o.Trust != 0 {
		rp := norm2(p)
		rate = mul(rate, trustRatio(rp, norm2(g), o.Trust, mul(o.WeightDecay, rp)))
	}
	if o.WeightDecay != 0 && !o.DecoupledDecay {
		g = add(g, mul(p, o.WeightDecay))
	}
	if o.Classic {
		g = mul(g, rate)
	}
	if o.Momentum != 0 {
		u := &updating{g: g, state: []*uop.UOp{cast(buffer, p.DType)}, settings: map[string]any{"decay": o.Momentum, "nesterov": o.Nesterov}}
		g = momentum(u)
		newBuffer = cast(u.state[0], buffer.DType)
	}
	if len(o.Coefficients) > 0 {
		g = orthogonal(g, o.Steps, o.Coefficients)
	}
	if o.WeightDecay != 0 && o.DecoupledDecay {
		p = mul(p, sub(1, mul(reshape(cast(lr, p.DType), uop.Shape{}), o.WeightDecay)))
	}
	if !o.Classic {
		g = mul(rate, g)
	}
	return cast(sub(p, g), param.DType), newBuffer, nil
}

// orthogonal is newtonSchulz of a tensor as a matrix: its first axis, and all others together.
func orthogonal(g *uop.UOp, steps int, coefficients []float64) *uop.UOp {
	s := g.Shape()
	if len(s) == 0 {
		fail("param", "is a scalar, expected 1 dimension or more for a matrix")
	}
	if steps < 0 || steps > maxIterations {
		fail("ns_steps", "is %d, expected 0..%d", steps, maxIterations)
	}
	needFinite("ns_coefficients", coefficients...)
	rows := intSize("param", s, 0)
	if n := s.MaxNumel(); n == 0 || steps == 0 {
		return g
	} else if rows > 0 {
		g = dims(g, rows, n/rows)
	}
	return reshape(newtonSchulz(g, steps, coefficients, 1e-7), s)
}

// LAMBOptions are the settings of LAMB.
type LAMBOptions struct {
	Beta1, Beta2, Eps, WeightDecay float64
	// Adam drops the ratio of the norms of parameter and step.
	Adam bool
	// CoupledDecay adds decay to the gradient; otherwise it is part of the step.
	CoupledDecay bool
}

// LAMB is an update by moments of the gradient and the ratio of norms (You et al., arXiv:1904.00962); Adam (Kingma and Ba,
// arXiv:1412.6980) and AdamW (Loshchilov and Hutter, arXiv:1711.05101) are the cases without the ratio. m and v are the
// current moments; power1 and power2, of one element, are beta1 and beta2 to the power of the step count.
func LAMB(param, grad, lr, m, v, power1, power2 *uop.UOp, o LAMBOptions) (newParam, newM, newV *uop.UOp, err error) {
	defer guard("LAMB", &err)
	p, g, rate := stepOperands(param, grad, lr)
	needState("m", param, m)
	needState("v", param, v)
	for _, x := range []struct {
		arg   string
		value float64
	}{{"b1", o.Beta1}, {"b2", o.Beta2}} {
		if !(x.value >= 0 && x.value < 1) {
			fail(x.arg, "is %v, expected 0 or more and less than 1", x.value)
		}
	}
	needNonNegative("eps", o.Eps)
	needNonNegative("weight_decay", o.WeightDecay)
	needOne("b1_t", param, power1)
	needOne("b2_t", param, power2)
	if o.WeightDecay != 0 && o.CoupledDecay {
		g = add(g, mul(p, o.WeightDecay))
	}
	u := &updating{
		g: g, state: []*uop.UOp{cast(m, p.DType), cast(v, p.DType)},
		settings: map[string]any{"b1": o.Beta1, "b2": o.Beta2, "eps": o.Eps},
		powers:   map[string]*uop.UOp{"b1": reshape(power1, uop.Shape{}), "b2": reshape(power2, uop.Shape{})},
	}
	step := adam(u)
	switch decay := o.WeightDecay != 0 && !o.CoupledDecay; {
	case !o.Adam:
		if decay {
			step = add(step, mul(p, o.WeightDecay))
		}
		rate = mul(rate, trustRatio(norm2(p), norm2(step), 1.0, 0.0))
	case decay:
		p = mul(p, sub(1, mul(rate, o.WeightDecay)))
	}
	return cast(sub(p, mul(rate, step)), param.DType), cast(u.state[0], m.DType), cast(u.state[1], v.DType), nil
}

// stepOperands checks the operands of an optimizer step and casts them to at least float32; the rate is a scalar.
func stepOperands(param, grad, lr *uop.UOp) (p, g, rate *uop.UOp) {
	needSame("operands", param, grad, lr)
	needFloat("param", param)
	if !grad.Shape().Equal(param.Shape()) {
		fail("grad", "has shape %s, expected that of param, %s", grad.Shape(), param.Shape())
	}
	needOne("lr", param, lr)
	acc := uop.LeastUpper(param.DType, uop.Float32)
	return cast(param, acc), cast(grad, acc), reshape(cast(lr, acc), uop.Shape{})
}

// norm2 is the root of the sum of squares.
func norm2(x *uop.UOp) *uop.UOp { return sqrt(sum(square(x), nil, false)) }

func needState(arg string, param, x *uop.UOp) {
	needSame(arg, param, x)
	needFloat(arg, x)
	if !x.Shape().Equal(param.Shape()) {
		fail(arg, "has shape %s, expected that of param, %s", x.Shape(), param.Shape())
	}
}

// needOne checks a tensor of one element.
func needOne(arg string, like, x *uop.UOp) {
	needSame(arg, like, x)
	if s := x.Shape(); !numel(arg, s).IsNum(1) {
		fail(arg, "has shape %s, expected one element", s)
	}
}

func needNonNegative(arg string, v float64) {
	if !(v >= 0) || math.IsInf(v, 1) {
		fail(arg, "is %v, expected a number of 0 or more", v)
	}
}

func needFinite(arg string, values ...float64) {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			fail(arg, "%v, expected finite numbers", values)
		}
	}
}

// ClipNorm scales gradients so that their joint norm is at most max: by max/(norm + 1e-6) where that is less than 1 (Pascanu,
// Mikolov and Bengio, arXiv:1211.5063, section 3.2). The norm is of order p, which may be infinite. The first result is the
// norm before, a scalar.
func ClipNorm(grads []*uop.UOp, most, p float64) (norm *uop.UOp, clipped []*uop.UOp, err error) {
	defer guard("ClipNorm", &err)
	if len(grads) == 0 {
		fail("grads", "are none, expected one or more")
	}
	needSame("grads", grads...)
	needNonNegative("max_norm", most)
	if !(p > 0) {
		fail("norm_type", "is %v, expected a number greater than 0, or infinity", p)
	}
	dt := uop.Float32
	for _, g := range grads {
		needFloat("grads", g)
		dt = uop.LeastUpper(dt, g.DType)
	}
	parts := make([]*uop.UOp, len(grads))
	for i, g := range grads {
		parts[i] = powerSum(cast(g, dt), p)
	}
	if math.IsInf(p, 1) {
		norm = maxOf(stack(parts, 0), nil, false)
	} else if norm = sum(stack(parts, 0), nil, false); p == 2 {
		norm = sqrt(norm)
	} else if p != 1 {
		norm = pow(norm, 1/p)
	}
	scale := minimum(div(most, add(norm, 1e-6)), 1.0)
	for _, g := range grads {
		clipped = append(clipped, cast(mul(cast(g, dt), scale), g.DType))
	}
	return norm, clipped, nil
}

// powerSum is the sum of |x|^p, for an infinite p the greatest |x|; 0 if x has no elements.
func powerSum(x *uop.UOp, p float64) *uop.UOp {
	switch {
	case p == 2:
		x = square(x)
	case math.IsInf(p, 1):
		if x.Shape().MaxNumel() == 0 {
			return likeConst(x, 0)
		}
		return maxOf(abs(x), nil, false)
	case p == 1:
		x = abs(x)
	default:
		x = pow(abs(x), p)
	}
	return sum(x, nil, false)
}
