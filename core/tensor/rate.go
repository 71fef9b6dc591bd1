package tensor

import (
	"math"

	"polygrad/core/uop"
)

// RateSchedule is the dependence of a learning rate on the step count.
type RateSchedule uint8

// Schedules of LearningRate. t is the number of steps so far, lr the initial rate; the parameters are listed after each formula.
// Cosine schedules follow Loshchilov and Hutter, SGDR (arXiv:1608.03983), one cycle Smith and Topin, Super-convergence
// (arXiv:1708.07120); names and conventions are PyTorch's.
const (
	// RateStep is lr * gamma^floor(t/size): size, gamma.
	RateStep RateSchedule = iota
	// RateMultiStep is lr times gamma for each milestone that t has reached: gamma, milestones….
	RateMultiStep
	// RateExponential is lr * gamma^t: gamma.
	RateExponential
	// RateConstant is lr * factor before total steps, then lr: factor, total.
	RateConstant
	// RateLinear is lr * (start + (end - start) * t/total) before total steps, then lr * end: start, end, total.
	RateLinear
	// RatePolynomial is lr * (1 - t/total)^power before total steps, then 0: total, power.
	RatePolynomial
	// RateCosine oscillates between lr and least in half periods of total steps: total, least.
	RateCosine
	// RateCosineRestarts falls from lr to least in first steps and restarts, each time with factor times as many steps: first,
	// factor, least.
	RateCosineRestarts
	// RateWarmupCosine rises to lr in warmup steps and falls to least in decay steps: warmup, decay, least.
	RateWarmupCosine
	// RateOneCycle rises from most/divisor to most and falls to most/(divisor*final): most, total, fraction of rising steps, 1 for
	// linear and 0 for cosine, divisor, final, 1 for three phases (a fall as long as the rise first), else 0.
	RateOneCycle
)

// rates are the formulas of the schedules, in float64, with their parameters' limits.
var rates = [...]struct {
	name   string
	params int // number of parameters without the milestones
	check  func(p []float64)
	rate   func(lr, t *uop.UOp, p []float64) *uop.UOp
}{
	RateStep: {"step", 2, func(p []float64) { needSteps("step_size", p[0]) }, func(lr, t *uop.UOp, p []float64) *uop.UOp {
		return mul(lr, pow(likeConst(t, p[1]), floor(div(t, p[0]))))
	}},
	RateMultiStep: {"multistep", 1, func(p []float64) {}, func(lr, t *uop.UOp, p []float64) *uop.UOp {
		for _, at := range p[1:] {
			lr = mul(lr, where(ge(t, at), p[0], 1.0))
		}
		return lr
	}},
	RateExponential: {"exponential", 1, func(p []float64) {}, func(lr, t *uop.UOp, p []float64) *uop.UOp {
		return mul(lr, pow(likeConst(t, p[0]), t))
	}},
	RateConstant: {"constant", 2, func(p []float64) { needNonNegative("total_iters", p[1]) },
		func(lr, t *uop.UOp, p []float64) *uop.UOp {
			return mul(lr, where(lt(t, p[1]), p[0], 1.0))
		}},
	RateLinear: {"linear", 3, func(p []float64) { needSteps("total_iters", p[2]) },
		func(lr, t *uop.UOp, p []float64) *uop.UOp {
			return mul(lr, between(p[0], p[1], part(t, 0, p[2])))
		}},
	RatePolynomial: {"polynomial", 2, func(p []float64) { needSteps("total_iters", p[0]); needNonNegative("power", p[1]) },
		func(lr, t *uop.UOp, p []float64) *uop.UOp {
			left := sub(1, part(t, 0, p[0]))
			// 0 to the power 0 would be 1 after the end.
			return mul(lr, where(gt(left, 0), pow(left, p[1]), 0.0))
		}},
	RateCosine: {"cosine", 2, func(p []float64) { needSteps("T_max", p[0]) }, func(lr, t *uop.UOp, p []float64) *uop.UOp {
		return halfCosine(lr, p[1], div(t, p[0]))
	}},
	RateCosineRestarts: {"cosine restarts", 3, func(p []float64) {
		needSteps("T_0", p[0])
		if p[1] != math.Trunc(p[1]) || !(p[1] >= 1) {
			fail("T_mult", "is %v, expected a whole number of 1 or more", p[1])
		}
	}, restarts},
	RateWarmupCosine: {"cosine with warmup", 3, func(p []float64) { needSteps("warmup_steps", p[0]); needSteps("decay_steps", p[1]) },
		func(lr, t *uop.UOp, p []float64) *uop.UOp {
			t = add(t, 1)
			return where(gt(t, p[0]), halfCosine(lr, p[2], part(t, p[0], p[0]+p[1])), mul(lr, div(t, p[0])))
		}},
	RateOneCycle: {"one cycle", 7, func(p []float64) {
		needSteps("total_steps", p[1])
		if !(p[2] >= 0 && p[2] <= 1) {
			fail("pct_start", "is %v, expected 0..1", p[2])
		}
		for i, arg := range map[int]string{4: "div_factor", 5: "final_div_factor"} {
			if !(p[i] > 0) {
				fail(arg, "is %v, expected a number greater than 0", p[i])
			}
		}
	}, oneCycle},
}

// needSteps checks a number of steps; it may be fractional.
func needSteps(arg string, v float64) {
	if !(v > 0) || math.IsInf(v, 1) {
		fail(arg, "is %v, expected a number greater than 0", v)
	}
}

// LearningRate is the rate of a schedule after t steps. lr and t have one element; the result has the shape of lr, in float32 or
// the type of lr if that is a wider float.
func LearningRate(lr, t *uop.UOp, schedule RateSchedule, params []float64) (r *uop.UOp, err error) {
	defer guard("LearningRate", &err)
	needSame("operands", lr, t)
	needOne("lr", lr, lr)
	needOne("t", lr, t)
	if int(schedule) >= len(rates) {
		fail("schedule", "is %d, expected 0..%d", schedule, len(rates)-1)
	}
	s := rates[schedule]
	if len(params) != s.params && (schedule != RateMultiStep || len(params) < s.params) {
		fail("params", "%d numbers, expected %d for the schedule %s", len(params), s.params, s.name)
	}
	needFinite("params", params...)
	s.check(params)
	scalar := func(x *uop.UOp) *uop.UOp { return reshape(cast(x, uop.Float64), uop.Shape{}) }
	r = s.rate(scalar(lr), scalar(t), params)
	return reshape(cast(r, uop.LeastUpper(lr.DType, uop.Float32)), lr.Shape()), nil
}

// part is the fraction of the way from lo to hi, clamped to 0..1.
func part(t *uop.UOp, lo, hi float64) *uop.UOp {
	return clamp(div(sub(t, lo), max(hi-lo, math.SmallestNonzeroFloat32)), 0, 1)
}

// between interpolates: a + (b - a) * share.
func between(a, b float64, share *uop.UOp) *uop.UOp { return add(a, mul(b-a, share)) }

// halfCosine falls from a to b in half a period while x goes from 0 to 1.
func halfCosine(a operand, b float64, x *uop.UOp) *uop.UOp {
	wave := mul(0.5, add(1, cos(mul(x, math.Pi))))
	return add(b, mul(sub(asTensor(a, x), b), wave))
}

// restarts counts the cycles before t by comparing it with their ends.
func restarts(lr, t *uop.UOp, p []float64) *uop.UOp {
	length, factor := p[0], p[1]
	if factor == 1 {
		return halfCosine(lr, p[2], div(mod(t, length), length))
	}
	share := div(t, length)
	// A step counter, an int32, is less than 2^31.
	for end := length; end < math.MaxInt32; end += length {
		length *= factor
		share = where(ge(t, end), div(sub(t, end), length), share)
	}
	return halfCosine(lr, p[2], share)
}

// oneCycle has two or three phases; their step counts are PyTorch's.
func oneCycle(_, t *uop.UOp, p []float64) *uop.UOp {
	most, total, share := p[0], p[1], p[2]
	low := most / p[4]
	type piece struct{ end, from, to float64 }
	up := max(share*total-1, 0)
	pieces := []piece{{up, low, most}, {total - 1, most, low / p[5]}}
	if p[6] != 0 {
		pieces = []piece{{up, low, most}, {max(2*share*total-2, up), most, low}, {total - 1, low, low / p[5]}}
	}
	ease := halfCosineBetween
	if p[3] != 0 {
		ease = between
	}
	var rate *uop.UOp
	start := 0.0
	for _, now := range pieces {
		value := ease(now.from, now.to, part(t, start, now.end))
		if rate == nil {
			rate = value
		} else {
			rate = where(gt(t, start), value, rate)
		}
		start = now.end
	}
	return rate
}

func halfCosineBetween(a, b float64, x *uop.UOp) *uop.UOp { return halfCosine(a, b, x) }

// PlateauOptions are the settings of Plateau.
type PlateauOptions struct {
	// Maximize: a greater metric is better.
	Maximize bool
	// Relative: Threshold is a fraction of the best metric.
	Relative bool
	// A metric is better if it differs by more than Threshold.
	Threshold float64
	// Factor multiplies the rate after more than Patience steps without a better metric; the next Cooldown steps do not count. The
	// rate does not fall below Least, nor change by Eps or less.
	Factor, Least, Eps float64
	Patience, Cooldown int64
}

// Plateau lowers a learning rate when a metric stops improving (PyTorch's ReduceLROnPlateau). lr, the metric and the state have
// one element: best is the best metric so far (initially infinite), bad and cooldown count steps. Results are the new rate
// and the new state.
func Plateau(lr, metric, best, bad, cooldown *uop.UOp, o PlateauOptions) (out []*uop.UOp, err error) {
	defer guard("Plateau", &err)
	ins := []*uop.UOp{lr, metric, best, bad, cooldown}
	for i, arg := range []string{"lr", "metric", "best", "bad", "cooldown"} {
		needOne(arg, lr, ins[i])
	}
	if !(o.Factor > 0 && o.Factor < 1) {
		fail("factor", "is %v, expected more than 0 and less than 1", o.Factor)
	}
	needNonNegative("threshold", o.Threshold)
	needNonNegative("min_lr", o.Least)
	needNonNegative("eps", o.Eps)
	if o.Patience < 0 {
		fail("patience", "is %d, expected 0 or more", o.Patience)
	}
	if o.Cooldown < 0 {
		fail("cooldown", "is %d, expected 0 or more", o.Cooldown)
	}
	s := make([]*uop.UOp, len(ins))
	for i, x := range ins {
		s[i] = reshape(cast(x, uop.Float64), uop.Shape{})
	}
	sign := 1.0
	if o.Maximize {
		sign = -1
	}
	limit := sub(s[2], sign*o.Threshold)
	if o.Relative {
		limit = mul(s[2], 1-sign*o.Threshold)
	}
	better := lt(mul(s[1], sign), mul(limit, sign))
	cooling := gt(s[4], 0)
	count := where(bitOr(better, cooling), 0.0, add(s[3], 1))
	stalled := gt(count, float64(o.Patience))
	lower := maximum(mul(s[0], o.Factor), o.Least)
	news := []*uop.UOp{
		where(bitAnd(stalled, gt(sub(s[0], lower), o.Eps)), lower, s[0]),
		where(better, s[1], s[2]),
		where(stalled, 0.0, count),
		where(stalled, float64(o.Cooldown), where(cooling, sub(s[4], 1), 0.0)),
	}
	for i, from := range []*uop.UOp{lr, best, bad, cooldown} {
		out = append(out, reshape(cast(news[i], from.DType), from.Shape()))
	}
	return out, nil
}
