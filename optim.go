package polygrad

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// An Optimizer changes parameters by their gradients.
type Optimizer struct {
	// LR is the learning rate, a tensor of one element: write it to change the rate, also that of compiled steps.
	LR *Tensor
	// first is the rate that schedules begin with, kept by the first of them.
	first  *Tensor
	params []*Tensor
	// state are tensors of zeros for each parameter, shared are common to all.
	state  [][]*Tensor
	shared []*Tensor
	// next returns the new values of shared.
	next func(shared []*uop.UOp) ([]*uop.UOp, error)
	// update returns the new values of a parameter and of its state.
	update func(p, g, lr *uop.UOp, state, shared []*uop.UOp) ([]*uop.UOp, error)
}

// SGDOptions are the settings of SGD and LARS.
type SGDOptions struct {
	Momentum, WeightDecay float64
	// Nesterov looks one step ahead: p -= lr * (g + momentum * b).
	Nesterov bool
	// Trust scales the step of a parameter by Trust * |p| / (|g| + WeightDecay * |p|) (LARS, arXiv:1708.03888); 0 turns that off.
	Trust float64
}

// NewSGD returns gradient descent: g += weight decay * p, b = momentum * b + g, p -= lr * b.
func NewSGD(params []*Tensor, lr float64, o SGDOptions) (*Optimizer, error) {
	if err := notNegative("SGD", map[string]float64{"Momentum": o.Momentum, "WeightDecay": o.WeightDecay, "Trust": o.Trust}); err != nil {
		return nil, err
	}
	return newLARS("SGD", params, lr, tensor.LARSOptions{
		Momentum: o.Momentum, WeightDecay: o.WeightDecay, Nesterov: o.Nesterov, Trust: o.Trust, Classic: o.Trust != 0,
	})
}

// MuonOptions are the settings of Muon.
type MuonOptions struct {
	Momentum, WeightDecay float64
	Nesterov              bool
	// Steps of the Newton-Schulz iteration with Coefficients.
	Steps        int
	Coefficients []float64
}

// DefaultMuon are the usual settings of Muon.
var DefaultMuon = MuonOptions{Momentum: 0.95, WeightDecay: 0.1, Nesterov: true, Steps: 5, Coefficients: []float64{3.4445, -4.775, 2.0315}}

// NewMuon returns gradient descent by orthogonal steps, for matrices (Jordan et al., 2024; Liu et al., arXiv:2502.16982).
func NewMuon(params []*Tensor, lr float64, o MuonOptions) (*Optimizer, error) {
	if err := notNegative("Muon", map[string]float64{"Momentum": o.Momentum, "WeightDecay": o.WeightDecay}); err != nil {
		return nil, err
	}
	for i, p := range params {
		if p.Err() == nil && p.NDim() == 0 {
			return nil, fmt.Errorf("polygrad: Muon: params[%d]: a tensor without axes, expected a matrix", i)
		}
	}
	return newLARS("Muon", params, lr, tensor.LARSOptions{
		Momentum: o.Momentum, WeightDecay: o.WeightDecay, Nesterov: o.Nesterov, DecoupledDecay: true, Steps: o.Steps, Coefficients: o.Coefficients,
	})
}

func newLARS(name string, params []*Tensor, lr float64, o tensor.LARSOptions) (*Optimizer, error) {
	states := 0
	if o.Momentum != 0 {
		states = 1
	}
	opt, err := newOptimizer(name, params, lr, states)
	if err != nil {
		return nil, err
	}
	opt.update = func(p, g, lr *uop.UOp, state, _ []*uop.UOp) ([]*uop.UOp, error) {
		if len(state) == 0 {
			state = []*uop.UOp{nil}
		}
		next, buffer, err := tensor.LARS(p, g, lr, state[0], o)
		if buffer == nil {
			return []*uop.UOp{next}, err
		}
		return []*uop.UOp{next, buffer}, err
	}
	return opt, nil
}

// AdamOptions are the settings of Adam, AdamW and LAMB.
type AdamOptions struct{ Beta1, Beta2, Eps, WeightDecay float64 }

// DefaultAdam are the usual settings of Adam.
var DefaultAdam = AdamOptions{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}

// NewAdam returns Adam (Kingma and Ba, arXiv:1412.6980); weight decay is added to the gradient.
func NewAdam(params []*Tensor, lr float64, o AdamOptions) (*Optimizer, error) {
	return newLAMB("Adam", params, lr, o, true, true)
}

// NewAdamW returns Adam with weight decay of the parameter itself (Loshchilov and Hutter, arXiv:1711.05101).
func NewAdamW(params []*Tensor, lr float64, o AdamOptions) (*Optimizer, error) {
	return newLAMB("AdamW", params, lr, o, true, false)
}

// NewLAMB returns Adam with steps as long as lr times the parameter (You et al., arXiv:1904.00962).
func NewLAMB(params []*Tensor, lr float64, o AdamOptions) (*Optimizer, error) {
	return newLAMB("LAMB", params, lr, o, false, false)
}

func newLAMB(name string, params []*Tensor, lr float64, o AdamOptions, adam, coupled bool) (*Optimizer, error) {
	if err := notNegative(name, map[string]float64{"Eps": o.Eps, "WeightDecay": o.WeightDecay}); err != nil {
		return nil, err
	}
	for field, b := range map[string]float64{"Beta1": o.Beta1, "Beta2": o.Beta2} {
		if !(b >= 0 && b < 1) {
			return nil, fmt.Errorf("polygrad: %s: %s: %v, expected 0 or more and less than 1", name, field, b)
		}
	}
	opt, err := newOptimizer(name, params, lr, 2)
	if err != nil {
		return nil, err
	}
	c := opt.params[0].v.ctx
	// The powers of the betas are float64: they come close to 1 and are subtracted from it.
	opt.shared = []*Tensor{FromIn(c, []float64{1}), FromIn(c, []float64{1})}
	opt.next = func(shared []*uop.UOp) ([]*uop.UOp, error) {
		out := make([]*uop.UOp, 2)
		for i, b := range []float64{o.Beta1, o.Beta2} {
			factor, err := tensor.Scalar(shared[i], uop.Float(b))
			if err == nil {
				out[i], err = tensor.Mul(shared[i], factor)
			}
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	options := tensor.LAMBOptions{Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps, WeightDecay: o.WeightDecay, Adam: adam, CoupledDecay: coupled}
	opt.update = func(p, g, lr *uop.UOp, state, powers []*uop.UOp) ([]*uop.UOp, error) {
		next, m, v, err := tensor.LAMB(p, g, lr, state[0], state[1], powers[0], powers[1], options)
		return []*uop.UOp{next, m, v}, err
	}
	return opt, nil
}

func notNegative(name string, numbers map[string]float64) error {
	for field, x := range numbers {
		if !(x >= 0) || math.IsInf(x, 0) {
			return fmt.Errorf("polygrad: %s: %s: %v, expected 0 or more", name, field, x)
		}
	}
	return nil
}

// newOptimizer makes parameters, each of which counts once, require gradients, and their state of zeros.
func newOptimizer(name string, params []*Tensor, lr float64, states int) (*Optimizer, error) {
	if err := notNegative(name, map[string]float64{"lr": lr}); err != nil {
		return nil, err
	}
	if len(params) == 0 {
		return nil, fmt.Errorf("polygrad: %s: params: none, expected tensors of floating types", name)
	}
	o := &Optimizer{}
	for i, p := range params {
		if slices.Contains(o.params, p) {
			continue
		}
		if err := p.SetRequiresGrad(true).Err(); err != nil {
			return nil, fmt.Errorf("polygrad: %s: params[%d]: %w", name, i, err)
		}
		if p.v.ctx != params[0].v.ctx {
			return nil, fmt.Errorf("polygrad: %s: params[%d]: belongs to another context", name, i)
		}
		if p.v.isView() {
			return nil, fmt.Errorf("polygrad: %s: params[%d]: is a view, expected a tensor with memory of its own", name, i)
		}
		kind := Float32
		if p.DType() == Float64 {
			kind = Float64
		}
		var state []*Tensor
		for range states {
			state = append(state, p.v.ctx.fill(name, kind, p.Shape(), func(b []byte) { clear(b) }))
		}
		o.params, o.state = append(o.params, p), append(o.state, state)
	}
	o.LR = FromIn(params[0].v.ctx, []float32{float32(lr)})
	return o, nil
}

// ZeroGrad forgets the gradients of the parameters.
func (o *Optimizer) ZeroGrad() {
	for _, p := range o.params {
		p.ZeroGrad()
	}
}

// Step changes each parameter that has a gradient. All new values are computed from the old ones, in one program.
func (o *Optimizer) Step() error { return told("Optimizer.Step", o.step()) }

func (o *Optimizer) step() error {
	c := o.params[0].v.ctx
	c.lock()
	defer c.unlock()
	if err := o.LR.Err(); err != nil {
		return err
	}
	var targets []*variable
	var news []*value
	defer func() {
		for _, v := range news {
			v.release()
		}
	}()
	write := func(targetsOf []*Tensor, nodes []*uop.UOp, from []*value) {
		for i, u := range nodes {
			v := c.newValue(u, from...)
			v.flow = flowNever
			v.retain()
			targets, news = append(targets, targetsOf[i].v), append(news, v)
		}
	}
	common := []*value{o.LR.v.source()}
	var powers []*uop.UOp
	for i, p := range o.params {
		g := p.v.grad
		if g == nil {
			continue
		}
		if powers == nil && o.next != nil {
			nodes, from := nodesOf(o.shared)
			next, err := o.next(nodes)
			if err != nil {
				return err
			}
			powers, common = next, append(common, from...)
			write(o.shared, next, from)
		}
		state, from := nodesOf(o.state[i])
		from = append(from, p.v.source(), g.source())
		nodes, err := o.update(p.v.node(), g.node(), o.LR.v.node(), state, powers)
		if err != nil {
			return fmt.Errorf("parameter %d: %w", i, err)
		}
		from = append(from, common...)
		write(append([]*Tensor{p}, o.state[i]...), nodes, from)
	}
	if len(targets) == 0 {
		return nil
	}
	if c.trace == nil {
		for _, t := range targets {
			if !t.cell.value.leaf {
				return errors.New("a parameter is not computed")
			}
		}
	}
	return c.assign(targets, news)
}

func nodesOf(ts []*Tensor) (nodes []*uop.UOp, from []*value) {
	for _, t := range ts {
		from = append(from, t.v.source())
		nodes = append(nodes, t.v.node())
	}
	return nodes, from
}
