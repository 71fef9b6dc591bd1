package ops

import (
	"math"
	"slices"
	"strings"
	"sync"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// optimizer describes an optimizer: its settings behind lr, the names of its state, and what it does.
func optimizer(name, base, params, shared, states, doc string, rule func(a *Args) (any, error)) Class {
	op := describe(Joiner, name, "lr float = 0.001 [0,], "+params, doc, func(a *Args) ([]*uop.UOp, error) { return nil, nil })
	return Class{Name: name, Base: base, Doc: doc, Params: op.Params, Make: &op, Rule: func(a *Args) (float64, any, error) {
		if _, err := a.Results(); err != nil {
			return 0, nil, err
		}
		o, err := rule(a)
		return a.float("lr"), o, err
	}, Shared: strings.Fields(shared), States: strings.Fields(states)}
}

// descent describes a case of LARS; a setting that it does not have keeps its value in o.
func descent(name, base, params, doc string, o tensor.LARSOptions) Class {
	return optimizer(name, base, params, "", "b", doc, func(a *Args) (any, error) {
		o := o
		for _, p := range a.op.Params {
			switch v := a.at(p.Name).(type) {
			case float64:
				if to := map[string]*float64{"momentum": &o.Momentum, "weight_decay": &o.WeightDecay, "tcoef": &o.Trust}[p.Name]; to != nil {
					*to = v
				}
			case bool:
				*map[string]*bool{"nesterov": &o.Nesterov, "classic": &o.Classic, "pre_wd": &o.DecoupledDecay}[p.Name] = v != (p.Name == "pre_wd")
			case int64:
				o.Steps = int(v)
			case []float64:
				o.Coefficients = v
			}
		}
		return o, nil
	})
}

// moments describes a case of LAMB.
func moments(name, base, params, doc string, o tensor.LAMBOptions) Class {
	return optimizer(name, base, "b1 float = 0.9 [0,1), b2 float = 0.999 [0,1), "+params, "b1_t b2_t", "m v", doc, func(a *Args) (any, error) {
		o := o
		o.Beta1, o.Beta2, o.Eps, o.WeightDecay = a.float("b1"), a.float("b2"), a.float("eps"), a.float("weight_decay")
		if name == "LAMB" {
			o.Adam = a.bool("adam")
		}
		return o, nil
	})
}

var optimizers = []Class{
	descent("LARS", "", "momentum float = 0.9 [0,], weight_decay float = 0.0001 [0,], ns_steps int = 0 [0,], ns_coefficients floats?, nesterov bool = false, classic bool = true, pre_wd bool = true, tcoef float = 0.001 [0,]",
		`Layer-wise adaptive rate scaling (You, Gitman and Ginsburg, arXiv:1708.03888).
The rate of a parameter p with the gradient g is lr * tcoef * |p| / (|g| + weight_decay * |p|), or lr if tcoef is 0. g += weight_decay * p;
b = momentum * b + rate * g; p -= b. Unless classic, b = momentum * b + g and p -= rate * b. With nesterov, momentum * b + g takes the place of b
in the last step. With ns_coefficients the step is orthogonalised by ns_steps of the Newton-Schulz iteration. Without pre_wd the weight decay is
decoupled: p shrinks by lr * weight_decay * p.`, tensor.LARSOptions{}),
	descent("SGD", "LARS", "momentum float = 0 [0,], weight_decay float = 0 [0,], nesterov bool = false, classic bool = false",
		`Stochastic gradient descent: g += weight_decay * p, b = momentum * b + g, p -= lr * b.
With nesterov p -= lr * (g + momentum * b). With classic b = momentum * b + lr * g, p -= b.`, tensor.LARSOptions{}),
	descent("Muon", "LARS", "momentum float = 0.95 [0,], weight_decay float = 0.1 [0,], ns_steps int = 5 [0,], ns_coefficients floats = 3.4445 -4.775 2.0315, nesterov bool = true",
		`Gradient descent with orthogonalised momentum (Jordan et al., 2024; arXiv:2502.16982).
The step is newton_schulz(g + momentum * b, ns_steps, ns_coefficients) of the parameter as a matrix of its first axis by all others; weight decay acts on
the parameter itself. Use it for matrices, and AdamW for biases, norms and embeddings (see OptimizerGroup).`,
		tensor.LARSOptions{DecoupledDecay: true}),
	moments("LAMB", "", "eps float = 1e-06 [0,], weight_decay float = 0 [0,], adam bool = false",
		`Layer-wise adaptive moments (You et al., arXiv:1904.00962).
With the betas b1 and b2, m = b1 * m + (1 - b1) * g, v = b2 * v + (1 - b2) * g^2, and after t steps the step is
s = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + weight_decay * p; p -= lr * |p| / |s| * s. The ratio |p| / |s| is 1 if one of the norms is
0; with adam it is left out.`, tensor.LAMBOptions{}),
	moments("Adam", "LAMB", "eps float = 1e-08 [0,], weight_decay float = 0 [0,]",
		"Adam (Kingma and Ba, arXiv:1412.6980); weight_decay is added to the gradient.", tensor.LAMBOptions{Adam: true, CoupledDecay: true}),
	moments("AdamW", "LAMB", "eps float = 1e-08 [0,], weight_decay float = 0.01 [0,]",
		"Adam with decoupled weight decay (Loshchilov and Hutter, arXiv:1711.05101).\nThe step of Adam, and p -= lr * weight_decay * p.", tensor.LAMBOptions{Adam: true}),
}

// rules are operations for transformations of gradients: optim.scale_by_adam and the others of tensor.UpdateRules. They take a gradient, the
// parameter and the number of steps (where a rule needs them) and the state of the parameter; results are the step and the new state.
var rules = sync.OnceValue(func() []Op {
	var all []Op
	for i := range tensor.UpdateRules {
		r := &tensor.UpdateRules[i]
		all = append(all, describe(Method, "optim."+r.Name, "param tensor?, count tensor?, state tensors, "+r.Params, r.Doc, func(a *Args) ([]*uop.UOp, error) {
			settings := map[string]any{}
			for i, p := range a.op.Params {
				settings[p.Name] = a.values[i]
			}
			return r.Update(a.X, a.tensor("param"), a.tensor("count"), get[[]*uop.UOp](a, "state"), settings)
		}))
	}
	return all
})

// clipNorm is clip_grad_norm_ without its parameters: it makes gradients of gradients.
var clipNorm = describe(Joiner, "clip_grad_norm", "max_norm float, norm_type float = 2", "The norm of all tensors taken as one vector, then the tensors times min(1, max_norm / (norm + 1e-6)).",
	func(a *Args) ([]*uop.UOp, error) {
		norm, clipped, err := tensor.ClipNorm(a.Xs, a.float("max_norm"), a.float("norm_type"))
		return append([]*uop.UOp{norm}, clipped...), err
	})

// schedule describes a schedule: its settings are the numbers of a tensor.RateSchedule in their order, unless numbers says which.
func schedule(name, params, doc string, kind tensor.RateSchedule, numbers func(a *Args) ([]float64, error)) Class {
	settings := describe(Maker, name, params, doc, func(a *Args) ([]*uop.UOp, error) { return nil, nil })
	if numbers == nil {
		numbers = func(a *Args) (list []float64, _ error) {
			for _, p := range settings.Params {
				list = append(list, a.float(p.Name))
			}
			return list, nil
		}
	}
	ordered := numbers
	numbers = func(a *Args) ([]float64, error) {
		for _, p := range settings.Params {
			var values []float64
			switch v := a.at(p.Name).(type) {
			case float64:
				values = []float64{v}
			case []float64:
				values = v
			}
			for _, v := range values {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return nil, bad(p.Name, "%v, expected finite numbers", v)
				}
			}
		}
		return ordered(a)
	}
	op := method(name, "t tensor, "+params, "The learning rate after t steps, from the initial rate x.", func(a *Args) (*uop.UOp, error) {
		list, err := numbers(a)
		if err != nil {
			return nil, err
		}
		return tensor.LearningRate(a.X, a.tensor("t"), kind, list)
	})
	return Class{Name: name, Doc: doc, Params: settings.Params, Forward: &op, Settings: &settings, Rate: func(a *Args) (Rate, error) {
		_, err := a.Results() // fills in the defaults
		if err != nil {
			return Rate{}, err
		}
		r := Rate{Schedule: kind}
		if slices.ContainsFunc(settings.Params, func(p Param) bool { return p.Name == "base_lr" }) {
			base := a.float("base_lr")
			r.Base = &base
		}
		r.Params, err = numbers(a)
		return r, err
	}}
}

const sgdr = "Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, arXiv:1608.03983."

var schedules = []Class{
	schedule("StepLR", "step_size float, gamma float = 0.1", "The learning rate is multiplied by gamma every step_size steps.", tensor.RateStep, nil),
	schedule("MultiStepLR", "milestones floats, gamma float = 0.1", "The learning rate is multiplied by gamma at each milestone, a number of steps.", tensor.RateMultiStep,
		func(a *Args) ([]float64, error) {
			return append([]float64{a.float("gamma")}, get[[]float64](a, "milestones")...), nil
		}),
	schedule("ExponentialLR", "gamma float", "The learning rate is multiplied by gamma after each step.", tensor.RateExponential, nil),
	schedule("ConstantLR", "factor float = 0.3333333333333333, total_iters float = 5", "The learning rate is multiplied by factor for the first total_iters steps.", tensor.RateConstant, nil),
	schedule("LinearLR", "start_factor float = 0.3333333333333333, end_factor float = 1, total_iters float = 5",
		`The learning rate times a factor from start_factor to end_factor in total_iters steps.
With a small start_factor it is a warmup; SequentialLR continues with another schedule.`, tensor.RateLinear, nil),
	schedule("PolynomialLR", "total_iters float = 5, power float = 1", "The learning rate times (1 - t/total_iters)^power after t steps, 0 at the end.", tensor.RatePolynomial, nil),
	schedule("CosineAnnealingLR", "T_max float, eta_min float = 0", "The learning rate follows a cosine down to eta_min in T_max steps, then up again.\n"+sgdr, tensor.RateCosine, nil),
	schedule("CosineAnnealingLRWithWarmup", "base_lr float [0,], end_lr float, warmup_steps float, decay_steps float",
		"A linear rise to base_lr in warmup_steps, then a half cosine to end_lr in decay_steps.", tensor.RateWarmupCosine, func(a *Args) ([]float64, error) {
			return []float64{a.float("warmup_steps"), a.float("decay_steps"), a.float("end_lr")}, nil
		}),
	schedule("CosineAnnealingWarmRestarts", "T_0 float, T_mult float = 1, eta_min float = 0", "Half cosines down to eta_min, in cycles of T_0, T_0 * T_mult, T_0 * T_mult^2, … steps.\n"+sgdr, tensor.RateCosineRestarts, nil),
	schedule("OneCycleLR", `max_lr float, total_steps float?, epochs int? [0,], steps_per_epoch int? [0,], pct_start float = 0.3, anneal_strategy text = cos {cos linear}, div_factor float = 25, final_div_factor float = 10000, three_phase bool = false`,
		`From max_lr/div_factor up to max_lr, then down to max_lr/div_factor/final_div_factor.
The rise takes the fraction pct_start of total_steps, which is epochs * steps_per_epoch unless given. anneal_strategy is "cos" or "linear". With
three_phase the rate first returns to max_lr/div_factor in as many steps as it rose. Momentum does not change. Smith and Topin,
Super-convergence, arXiv:1708.07120.`, tensor.RateOneCycle, oneCycle),
	plateau(),
}

func oneCycle(a *Args) ([]float64, error) {
	total := a.float("total_steps")
	if !a.given("total_steps") {
		if !a.given("epochs") || !a.given("steps_per_epoch") {
			return nil, bad("total_steps", "not given, expected total_steps, or epochs and steps_per_epoch")
		}
		total = float64(a.int("epochs") * a.int("steps_per_epoch"))
	}
	linear, phases := 0.0, 0.0
	if a.text("anneal_strategy") == "linear" {
		linear = 1
	}
	if a.bool("three_phase") {
		phases = 1
	}
	return []float64{a.float("max_lr"), total, a.float("pct_start"), linear, a.float("div_factor"), a.float("final_div_factor"), phases}, nil
}

func plateau() Class {
	const settings = `mode text = min {min max}, factor float = 0.1, patience int = 10, threshold float = 0.0001, threshold_mode text = rel {rel abs}, cooldown int = 0, min_lr float = 0, eps float = 1e-08`
	op := several("rate best bad cooling", "ReduceLROnPlateau", "metric tensor, best tensor, bad tensor, cooling tensor, "+settings, "The next rate, best metric, and counts of bad and of cooling steps.", func(a *Args) ([]*uop.UOp, error) {
		o := tensor.PlateauOptions{
			Maximize: a.text("mode") == "max", Relative: a.text("threshold_mode") == "rel", Threshold: a.float("threshold"), Factor: a.float("factor"), Least: a.float("min_lr"), Eps: a.float("eps"), Patience: a.int("patience"), Cooldown: a.int("cooldown"),
		}
		return tensor.Plateau(a.X, a.tensor("metric"), a.tensor("best"), a.tensor("bad"), a.tensor("cooling"), o)
	})
	return Class{Name: "ReduceLROnPlateau", Params: op.Params[4:], Forward: &op, Doc: `The learning rate is multiplied by factor when a metric has stopped improving.
A metric improves if it is less (mode "min") or greater ("max") than the best one so far by more than threshold (threshold_mode "abs") or threshold times
the best ("rel"). step(metrics) counts steps without improvement; after more than patience of them the rate falls, not below min_lr, and the next
cooldown steps are not counted. Changes of eps or less are not made. In a compiled step metrics is a tensor.`}
}
