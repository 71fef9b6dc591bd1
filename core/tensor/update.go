package tensor

import (
	"slices"
	"strings"

	"polygrad/core/uop"
)

// An UpdateRule is what an optimizer does with the gradient of one parameter: the formula behind transformations of gradients (optax's
// scale_by_adam and others) in all languages, and behind Adam, LAMB and momentum of optimizers that hold parameters.
type UpdateRule struct {
	// Name is that of optax.
	Name string
	// Params are the settings, as core/tensor/ops writes parameters. An operand is a number or a tensor of one element.
	Params string
	// Needs are the tensors that it takes beside the gradient.
	Needs Needs
	// Doc says what the rule returns beside the new state.
	Doc  string
	rule func(u *updating) *uop.UOp
}

// Needs are the tensors that a rule takes beside the gradient.
type Needs struct {
	// State are the shapes of the state's tensors: that of the gradient ("like"; "like?" may be left out), one element ("one"), a vector
	// along each axis ("axis*"), or those of a state that may be factored: "row" without the second of two axes, "column" without the
	// first, and "whole", which is like the gradient where no axes are given.
	State string
	// Count are the settings of which any that is true needs the number of steps, or "always".
	Count string
	// Param is whether it needs the parameter.
	Param bool
}

// updating is one use of a rule.
type updating struct {
	// g is the gradient, p the parameter (nil if the rule needs none), count the number of steps with this one.
	g, p, count *uop.UOp
	// state is that of the parameter, which the rule replaces.
	state    []*uop.UOp
	settings map[string]any
	// powers are powers of the decays that are known; otherwise a rule computes them of the count.
	powers map[string]*uop.UOp
}

// of is a setting: a float64, a bool, a text, integers, or a tensor.
func (u *updating) of(name string) any {
	switch v := u.settings[name].(type) {
	case uop.Const:
		return v.F()
	default:
		return v
	}
}

func (u *updating) is(name string) bool { return u.settings[name] == true }

// oneMinus is 1 - x.
func oneMinus(x any) operand {
	if n, is := x.(float64); is {
		return 1 - n
	}
	return sub(1, x)
}

// mean updates an average that decays: state = decay * state + (1 - decay) * x.
func (u *updating) mean(i int, x *uop.UOp, decay string) *uop.UOp {
	u.state[i] = average(x, u.state[i], u.of(decay))
	return u.state[i]
}

func average(x, before *uop.UOp, decay any) *uop.UOp {
	return add(mul(before, decay), mul(x, oneMinus(decay)))
}

// unbiased corrects the bias of an average that began at zero: x / (1 - decay^(count + ahead)).
func (u *updating) unbiased(x *uop.UOp, decay string, ahead int) *uop.UOp {
	power := u.powers[decay]
	if power == nil {
		power = u.power(decay, ahead)
	}
	return mul(x, cast(div(1.0, sub(1, power)), x.DType))
}

// power is decay^(count + ahead), computed accurately: 1 minus it is small in the first steps.
func (u *updating) power(decay string, ahead int) *uop.UOp {
	count := cast(add(u.count, ahead), uop.LeastUpper(uop.Float32, u.g.DType))
	return accuratePow(u.of(decay), count)
}

// first is a first moment without its bias, by Nesterov's look ahead if that is wanted.
func (u *updating) first(m *uop.UOp, decay string) *uop.UOp {
	if !u.is("nesterov") {
		return u.unbiased(m, decay, 0)
	}
	return add(mul(u.unbiased(m, decay, 1), u.of(decay)), mul(u.unbiased(u.g, decay, 0), oneMinus(u.of(decay))))
}

// over is m / (sqrt(v + eps_root) + eps).
func (u *updating) over(m, v *uop.UOp) *uop.UOp {
	if root := u.of("eps_root"); root != 0.0 && root != nil {
		v = add(v, root)
	}
	return div(m, add(sqrt(v), u.of("eps")))
}

// rsqrtPositive is 1 / sqrt(x + eps) where x > 0, 0 elsewhere.
func rsqrtPositive(x *uop.UOp, eps any) *uop.UOp { return where(gt(x, 0), rsqrt(add(x, eps)), 0.0) }

// moments is the family of Adam: the first moment, which decays by b1, over the root of a second moment, which decays by b2. second gives the new
// second moment.
func moments(second func(u *updating, m *uop.UOp) *uop.UOp) func(u *updating) *uop.UOp {
	return func(u *updating) *uop.UOp {
		m := u.mean(0, u.g, "b1")
		u.state[1] = second(u, m)
		return u.over(u.first(m, "b1"), u.unbiased(u.state[1], "b2", 0))
	}
}

func squares(u *updating, _ *uop.UOp) *uop.UOp { return u.mean(1, square(u.g), "b2") }

// deviation is g over the root of the average of squares, or over the standard deviation if the state has the average of g, too.
func deviation(u *updating) *uop.UOp {
	last := len(u.state) - 1
	if last == 1 {
		u.mean(0, u.g, "decay")
	}
	u.mean(last, square(u.g), "decay")
	flat := append([]*uop.UOp(nil), u.state...)
	if u.is("bias_correction") {
		for i, x := range flat {
			flat[i] = u.unbiased(x, "decay", 0)
		}
	}
	v := flat[last]
	if last == 1 {
		v = sub(v, square(flat[0]))
	}
	if u.is("eps_in_sqrt") {
		return mul(u.g, rsqrt(add(v, u.of("eps"))))
	}
	return mul(u.g, div(1.0, add(sqrt(v), u.of("eps"))))
}

var adam = moments(squares)

const adamSettings = "b1 operand, b2 operand, eps operand, eps_root operand"

// UpdateRules are the rules.
var UpdateRules = []UpdateRule{
	{"scale_by_adam", adamSettings + ", nesterov bool = false", Needs{State: "like like", Count: "always"}, `The first moment over the root of the second, both bias-corrected (Adam, arXiv:1412.6980).`, adam},
	{"scale_by_belief", adamSettings + ", nesterov bool = false", Needs{State: "like like", Count: "always"}, `The first moment over the root of the variance of the gradient about it (AdaBelief, arXiv:2010.07468).`, func(u *updating) *uop.UOp {
		m := u.mean(0, u.g, "b1")
		v := add(u.mean(1, square(sub(u.g, m)), "b2"), u.of("eps_root"))
		u.state[1] = v
		return div(u.first(m, "b1"), add(sqrt(u.unbiased(v, "b2", 0)), u.of("eps")))
	}},
	{"scale_by_yogi", adamSettings, Needs{State: "like like", Count: "always"}, `The step of Adam with a second moment v that changes by (1 - b2) g^2, towards g^2 (Yogi).`,
		moments(func(u *updating, _ *uop.UOp) *uop.UOp {
			square := square(u.g)
			return sub(u.state[1], mul(mul(sign(sub(u.state[1], square)), square), oneMinus(u.of("b2"))))
		})},
	{"scale_by_radam", adamSettings + ", threshold operand, nesterov bool = false", Needs{State: "like like", Count: "always"}, `The step of Adam rectified by the variance of its adaptive rate (RAdam, arXiv:1908.03265).`, func(u *updating) *uop.UOp {
		m, v := u.mean(0, u.g, "b1"), u.mean(1, square(u.g), "b2")
		first, second := u.first(m, "b1"), u.unbiased(v, "b2", 0)
		count := cast(u.count, uop.LeastUpper(uop.Float32, u.g.DType))
		var most *uop.UOp
		if b2, is := u.of("b2").(float64); is {
			most = likeConst(count, 2/(1-b2)-1)
		} else {
			most = sub(div(2.0, oneMinus(u.of("b2"))), 1)
		}
		power := u.power("b2", 0)
		ro := sub(most, div(mul(mul(count, power), 2), sub(1, power)))
		r := sqrt(div(mul(mul(sub(ro, 4), sub(ro, 2)), most), mul(mul(sub(most, 4), sub(most, 2)), ro)))
		return where(ge(ro, u.of("threshold")), mul(cast(r, first.DType), u.over(first, second)), first)
	}},
	{"scale_by_amsgrad", adamSettings + ", bias_correction_mu bool = true, bias_correction_nu bool = true", Needs{State: "like like like", Count: "bias_correction_mu bias_correction_nu"}, `The step of Adam with the greatest second moment so far (AMSGrad, arXiv:1904.09237).`, func(u *updating) *uop.UOp {
		m, v := u.mean(0, u.g, "b1"), u.mean(1, square(u.g), "b2")
		if u.is("bias_correction_mu") {
			m = u.unbiased(m, "b1", 0)
		}
		if u.is("bias_correction_nu") {
			v = u.unbiased(v, "b2", 0)
		}
		u.state[2] = maximum(u.state[2], v)
		return u.over(m, u.state[2])
	}},
	{"scale_by_adamax", "b1 operand, b2 operand, eps operand", Needs{State: "like like", Count: "always"}, `The first moment over a decaying maximum of |g| (AdaMax, arXiv:1412.6980).`, func(u *updating) *uop.UOp {
		m := u.mean(0, u.g, "b1")
		u.state[1] = maximum(add(abs(u.g), u.of("eps")), mul(u.state[1], u.of("b2")))
		return div(u.unbiased(m, "b1", 0), u.state[1])
	}},
	{"scale_by_novograd", adamSettings + ", weight_decay operand", Needs{State: "like one", Count: "always", Param: true}, `The decaying sum of gradients, each over the root of the averaged squared norm of its layer (NovoGrad, arXiv:1905.11286).`, func(u *updating) *uop.UOp {
		begins, square := eq(u.count, 1), sum(square(u.g), nil, false)
		u.state[1] = where(begins, square, average(square, u.state[1], u.of("b2")))
		scaled := add(u.over(u.g, u.state[1]), mul(u.p, u.of("weight_decay")))
		u.state[0] = where(begins, scaled, add(mul(u.state[0], u.of("b1")), scaled))
		return u.state[0]
	}},
	{"scale_by_lion", "b1 operand, b2 operand, mode text {hard smooth refined}, smooth_beta operand", Needs{State: "like"}, `The sign of an average of gradients, or a smooth or refined form of the sign (Lion, arXiv:2302.06675).`, func(u *updating) *uop.UOp {
		m := average(u.g, u.state[0], u.of("b1"))
		u.mean(0, u.g, "b2")
		switch u.of("mode") {
		case "smooth":
			return tanh(mul(m, u.of("smooth_beta")))
		case "refined":
			return where(lt(abs(m), 1), m, sign(m))
		}
		return sign(m)
	}},
	{"scale_by_rss", "eps operand", Needs{State: "like"}, `The gradient over the root of the sum of all squared gradients (AdaGrad).`, func(u *updating) *uop.UOp {
		u.state[0] = add(square(u.g), u.state[0])
		return mul(u.g, rsqrtPositive(u.state[0], u.of("eps")))
	}},
	{"scale_by_rms", "decay operand, eps operand, eps_in_sqrt bool, bias_correction bool",
		Needs{State: "like? like", Count: "bias_correction"}, `The gradient over the root of the moving average of its square (RMSProp) or, with two state tensors, over its standard deviation (centered RMSProp).`, deviation},
	{"scale_by_adadelta", "rho operand, eps operand", Needs{State: "like like"}, `The gradient times the root mean square of past updates over that of past gradients (AdaDelta).`, func(u *updating) *uop.UOp {
		u.mean(0, square(u.g), "rho")
		root := func(x *uop.UOp) *uop.UOp { return sqrt(add(x, u.of("eps"))) }
		scaled := mul(div(root(u.state[1]), root(u.state[0])), u.g)
		u.mean(1, square(scaled), "rho")
		return scaled
	}},
	{"scale_by_adan", "b1 operand, b2 operand, b3 operand, eps operand, eps_root operand", Needs{State: "like like like like", Count: "always"}, `The moving averages of gradients and of their differences, over the root of a second moment (Adan, arXiv:2208.06677).`, func(u *updating) *uop.UOp {
		change := where(eq(u.count, 1), 0.0, sub(u.g, u.state[3]))
		ahead := oneMinus(u.of("b2"))
		m, v := u.mean(0, u.g, "b1"), u.mean(1, change, "b2")
		n := u.mean(2, square(add(u.g, mul(change, ahead))), "b3")
		u.state[3] = u.g
		return u.over(add(u.unbiased(m, "b1", 0), mul(u.unbiased(v, "b2", 0), ahead)), u.unbiased(n, "b3", 0))
	}},
	{"scale_by_ademamix", "b1 operand, b2 operand, b3 operand, alpha operand, eps operand, eps_root operand",
		Needs{State: "like like like", Count: "always"}, `The step of Adam with the sum of a fast and a slow moving average (AdEMAMix, arXiv:2409.03137).`, func(u *updating) *uop.UOp {
			fast, slow, v := u.mean(0, u.g, "b1"), u.mean(1, u.g, "b3"), u.mean(2, square(u.g), "b2")
			return u.over(add(u.unbiased(fast, "b1", 0), mul(slow, u.of("alpha"))), u.unbiased(v, "b2", 0))
		}},
	{"scale_by_simplified_ademamix", "b1 operand, b2 operand, alpha operand, eps operand, eps_root operand",
		Needs{State: "like like", Count: "always"}, `A decaying sum of gradients plus alpha times the gradient, over the root of the second moment (arXiv:2502.02431).`, func(u *updating) *uop.UOp {
			u.state[0] = add(u.g, mul(u.state[0], u.of("b1")))
			v := u.mean(1, square(u.g), "b2")
			return u.over(add(u.state[0], mul(u.g, u.of("alpha"))), u.unbiased(v, "b2", 0))
		}},
	{"scale_by_rprop", "eta_minus operand, eta_plus operand, min_step_size operand, max_step_size operand",
		Needs{State: "like like"}, `Steps by the sign of the previous gradient, longer while the sign stays and shorter when it changes (Rprop).`, func(u *updating) *uop.UOp {
			size, last := u.state[0], u.state[1]
			same := mul(u.g, last)
			turned := lt(same, 0)
			factor := where(gt(same, 0), asTensor(u.of("eta_plus"), size), u.of("eta_minus"))
			changed := minimum(maximum(mul(size, factor), u.of("min_step_size")), u.of("max_step_size"))
			u.state[0] = where(eq(same, 0), size, changed)
			u.state[1] = where(turned, 0.0, mul(u.state[0], sign(u.g)))
			return where(turned, 0.0, last)
		}},
	{"scale_by_sm3", "b1 operand, b2 operand, eps operand", Needs{State: "axis* like"}, `The gradient over the root of second moments kept as one vector of maxima for each axis (SM3, arXiv:1901.11150).`, func(u *updating) *uop.UOp {
		n := len(u.state) - 1
		var least *uop.UOp
		for axis, m := range u.state[:n] {
			shape := make(uop.Shape, n)
			for i := range shape {
				shape[i] = uop.N(1)
			}
			shape[axis] = u.g.Shape()[axis]
			if m = reshape(m, shape); axis > 0 {
				m = minimum(least, m)
			}
			least = m
		}
		total := square(u.g)
		if b2 := u.of("b2"); b2 != 1.0 {
			total = mul(total, oneMinus(b2))
		}
		if n > 0 {
			total = add(total, mul(least, u.of("b2")))
		}
		step := u.mean(n, mul(u.g, rsqrtPositive(total, u.of("eps"))), "b1")
		for axis := range n {
			var others []int
			for i := range n {
				if i != axis {
					others = append(others, i)
				}
			}
			if u.state[axis] = total; others != nil {
				u.state[axis] = maxOf(total, others, false)
			}
		}
		return step
	}},
	{"scale_by_factored_rms", "decay operand, epsilon operand, axes ints?",
		Needs{State: "row column whole", Param: true}, `The gradient over the root of the moving average of its square, factored into row and column averages if two axes are given (Adafactor, arXiv:1804.04235).`, func(u *updating) *uop.UOp {
			square := add(square(u.g), u.of("epsilon"))
			root := func(x *uop.UOp) *uop.UOp { return pow(x, -0.5) }
			axes, factored := u.of("axes").([]int64)
			if !factored {
				return mul(u.g, root(cast(u.mean(2, square, "decay"), u.p.DType)))
			}
			second, longest := int(axes[0]), int(axes[1])
			row := cast(u.mean(0, mean(square, []int{longest}, false), "decay"), u.p.DType)
			col := cast(u.mean(1, mean(square, []int{second}, false), "decay"), u.p.DType)
			at := second
			if second > longest {
				at--
			}
			row = root(div(row, mean(row, []int{at}, true)))
			return mul(mul(u.g, unsqueeze(row, longest)), unsqueeze(root(col), second))
		}},
	{"scale_by_distance_over_gradients", "eps operand, global_scale operand", Needs{State: "one one like", Param: true}, `The gradient times the greatest distance from the initial parameter over the root of the sum of squared gradients (DoG, arXiv:2302.12022).`, func(u *updating) *uop.UOp {
		u.state[0] = maximum(u.state[0], norm2(sub(u.p, u.state[2])))
		u.state[1] = add(u.state[1], sum(square(u.g), nil, false))
		squares := sum(u.state[1], nil, false) // optax has it as a vector of one, which would be the shape of steps of scalars
		return mul(mul(div(u.state[0], sqrt(add(squares, u.of("eps")))), u.of("global_scale")), u.g)
	}},
	{"scale_by_acprop", adamSettings, Needs{State: "like like", Count: "always"}, `The gradient over the root of the variance of earlier gradients (ACProp, arXiv:2110.05454).`, func(u *updating) *uop.UOp {
		before, first := u.state[1], eq(u.count, 1)
		u.state[1] = add(average(square(sub(u.g, u.state[0])), before, u.of("b2")), u.of("eps_root"))
		u.mean(0, u.g, "b1")
		return div(u.g, add(sqrt(where(first, 1.0, u.unbiased(before, "b2", -1))), u.of("eps")))
	}},
	{"scale_by_adopt", "b1 operand, b2 operand, eps operand, nesterov bool, clip operand?",
		Needs{State: "like like", Count: "always"}, `The first moment of gradients over the root of the previous second moment, clipped to [-clip, clip] (ADOPT, arXiv:2411.02853).`, func(u *updating) *uop.UOp {
			first := eq(u.count, 1)
			scaled := div(u.g, maximum(sqrt(u.state[1]), u.of("eps")))
			if most := u.of("clip"); most != nil {
				limit := asTensor(most, scaled)
				scaled = minimum(maximum(scaled, neg(limit)), limit)
			}
			u.state[1] = where(first, square(u.g), average(square(u.g), u.state[1], u.of("b2")))
			next := func(m *uop.UOp) *uop.UOp { return where(first, m, average(scaled, m, u.of("b1"))) }
			u.state[0] = next(u.state[0])
			if u.is("nesterov") {
				return next(u.state[0])
			}
			return u.state[0]
		}},
	{"scale_by_cocob", "alpha operand", Needs{State: "like like like like like", Param: true}, `Steps by coin betting on each coordinate of the gradient (COCOB, arXiv:1705.07795).`, func(u *updating) *uop.UOp {
		start, size := u.state[0], abs(u.g)
		total := sub(u.state[1], u.g)
		most, length := maximum(u.state[2], size), add(u.state[3], size)
		reward := maximum(sub(u.state[4], mul(u.g, sub(u.p, start))), 0)
		u.state = []*uop.UOp{start, total, most, length, reward}
		bet := div(total, mul(most, maximum(add(length, most), mul(most, u.of("alpha")))))
		return add(sub(start, u.p), mul(bet, add(most, reward)))
	}},
	{"scale_by_madgrad", "learning_rate operand, momentum operand, eps operand", Needs{State: "like like like", Count: "always", Param: true}, `Steps of dual averaging, scaled by the cube root of a weighted sum of squared gradients (MADGRAD, arXiv:2101.11075).`, func(u *updating) *uop.UOp {
		steps := sqrt(cast(u.count, uop.LeastUpper(uop.Float32, u.g.DType)))
		weight := mul(steps, add(mul(likeConst(steps, 1), u.of("learning_rate")), u.of("eps")))
		u.state[0] = add(u.state[0], cast(mul(weight, square(u.g)), u.g.DType))
		u.state[1] = add(u.state[1], cast(mul(weight, u.g), u.g.DType))
		root, err := CubeRoot(u.state[0])
		if err != nil {
			panic(err)
		}
		average := sub(u.state[2], div(u.state[1], add(root, u.of("eps"))))
		return mul(sub(average, u.p), oneMinus(u.of("momentum")))
	}},
	{"trace", "decay operand, nesterov bool = false", Needs{State: "like"}, `Momentum: the decaying sum of gradients.`, momentum},
	{"ema", "decay operand, debias bool = true", Needs{State: "like", Count: "debias"}, `The exponential moving average of gradients.`, func(u *updating) *uop.UOp {
		m := u.mean(0, u.g, "decay")
		if u.is("debias") {
			m = u.unbiased(m, "decay", 0)
		}
		return m
	}},
	{"scale_by_trust_ratio", "min_norm operand, trust_coefficient operand, eps operand", Needs{Param: true}, `The gradient scaled to the norm of the parameter, times trust_coefficient.`, func(u *updating) *uop.UOp {
		// The derivative of a norm below min_norm is 0, and not NaN at 0.
		length := func(x *uop.UOp) *uop.UOp {
			small := le(norm2(x), u.of("min_norm"))
			norm := norm2(where(small, 1.0, x))
			return where(small, asTensor(u.of("min_norm"), norm), norm)
		}
		return mul(u.g, trustRatio(length(u.p), length(u.g), u.of("trust_coefficient"), u.of("eps")))
	}},
}

// momentum adds to a sum that decays, and looks ahead along it by Nesterov.
func momentum(u *updating) *uop.UOp {
	u.state[0] = add(mul(u.state[0], u.of("decay")), u.g)
	if u.is("nesterov") {
		return add(mul(u.state[0], u.of("decay")), u.g)
	}
	return u.state[0]
}

// trustRatio is coefficient * rp / (rs + more), the factor of a step of norm rs for a parameter of norm rp; 1 if one of them is 0.
func trustRatio(rp, rs *uop.UOp, coefficient, more any) *uop.UOp {
	both := bitAnd(gt(rp, 0), gt(rs, 0))
	if coefficient != 1.0 {
		rp = mul(rp, coefficient)
	}
	if more != 0.0 {
		rs = add(rs, more)
	}
	return where(both, div(rp, rs), 1.0)
}

// check refuses tensors that a rule does not take.
func (r *UpdateRule) check(u *updating) {
	if r.Needs.Param && u.p == nil {
		fail("param", "is not given, expected the parameter")
	}
	if u.p != nil {
		needSame("param", u.g, u.p)
		needFloat("param", u.p)
		needOfShape("param", u.p, u.g.Shape())
	}
	for _, setting := range strings.Fields(r.Needs.Count) {
		if u.count == nil && (setting == "always" || u.is(setting)) {
			fail("count", "is not given, expected the number of steps with this one")
		}
	}
	if u.count != nil {
		needOne("count", u.g, u.count)
	}
	shapes := r.shapes(u)
	if len(u.state) != len(shapes) {
		fail("state", "has %d tensors, expected %d", len(u.state), len(shapes))
	}
	for i, want := range shapes {
		arg := numbered("state", i)
		needSame(arg, u.g, u.state[i])
		needFloat(arg, u.state[i])
		switch want {
		case nil: // not read
		case oneElement:
			needOne(arg, u.g, u.state[i])
		default:
			needOfShape(arg, u.state[i], *want)
		}
	}
}

// oneElement stands for shapes of one element.
var oneElement = &uop.Shape{}

// shapes are the shapes of the state that a rule takes; nil is any.
func (r *UpdateRule) shapes(u *updating) (all []*uop.Shape) {
	g := u.g.Shape()
	without := func(axis int64) *uop.Shape {
		rest := slices.Delete(slices.Clone(g), int(axis), int(axis)+1)
		return &rest
	}
	axes, factored := u.of("axes").([]int64)
	if factored {
		n := int64(len(g))
		outside := func(axis int64) bool { return axis < 0 || axis >= n }
		if len(axes) != 2 || axes[0] == axes[1] || slices.ContainsFunc(axes, outside) {
			fail("axes", "is %v, expected two axes of the gradient, which has the shape %s", axes, g)
		}
	}
	kinds := strings.Fields(r.Needs.State)
	for _, kind := range kinds {
		var shape *uop.Shape
		switch kind {
		case "like":
			shape = &g
		case "like?":
			if len(u.state) < len(kinds) {
				continue
			}
			shape = &g
		case "one":
			shape = oneElement
		case "axis*":
			for _, size := range g {
				all = append(all, &uop.Shape{size})
			}
			continue
		case "row":
			if factored {
				shape = without(axes[1])
			}
		case "column":
			if factored {
				shape = without(axes[0])
			}
		case "whole":
			if !factored {
				shape = &g
			}
		}
		all = append(all, shape)
	}
	return all
}

// needOfShape refuses another shape.
func needOfShape(arg string, x *uop.UOp, want uop.Shape) {
	if !x.Shape().Equal(want) {
		fail(arg, "has shape %s, expected %s", x.Shape(), want)
	}
}

// Update is a rule for a gradient: the step, then the new state, in the types of the old one. p and count may be nil if the rule needs none.
func (r *UpdateRule) Update(g, p, count *uop.UOp, state []*uop.UOp, settings map[string]any) (out []*uop.UOp, err error) {
	defer guard("Update", &err)
	needFloat("gradient", g)
	u := &updating{g: g, p: p, count: count, state: append([]*uop.UOp(nil), state...), settings: settings}
	r.check(u)
	step := r.rule(u)
	out = append(out, step)
	for i, x := range u.state {
		out = append(out, cast(x, state[i].DType))
	}
	return out, nil
}
