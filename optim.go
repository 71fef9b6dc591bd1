package polygrad

import (
	"errors"
	"fmt"
	"runtime"

	"polygrad/core/tensor"
	"polygrad/variable"
)

// An Optimizer changes parameters by their gradients.
type Optimizer struct {
	// LR is the learning rate, a tensor of one element: write it to change the rate, also that of compiled steps.
	LR     *Tensor
	params []*Tensor
	o      *variable.Optimizer
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
	return newLARS("Muon", params, lr, tensor.LARSOptions{
		Momentum: o.Momentum, WeightDecay: o.WeightDecay, Nesterov: o.Nesterov, DecoupledDecay: true, Steps: o.Steps, Coefficients: o.Coefficients,
	})
}

func newLARS(name string, params []*Tensor, lr float64, o tensor.LARSOptions) (*Optimizer, error) {
	return newOptimizer(name, params, func(vs []*variable.Variable) (*variable.Optimizer, error) { return variable.NewLARS(vs, lr, o) })
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
	options := tensor.LAMBOptions{Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps, WeightDecay: o.WeightDecay, Adam: adam, CoupledDecay: coupled}
	return newOptimizer(name, params, func(vs []*variable.Variable) (*variable.Optimizer, error) { return variable.NewLAMB(vs, lr, options) })
}

func newOptimizer(name string, params []*Tensor, make func(vs []*variable.Variable) (*variable.Optimizer, error)) (*Optimizer, error) {
	vs, err := variables(params)
	if err == nil && len(params) == 0 {
		err = errors.New("params: none, expected tensors of floating types")
	}
	if err != nil {
		return nil, told(name, err)
	}
	c := params[0].c
	c.lock()
	defer c.unlock()
	o, err := make(vs)
	if err != nil {
		return nil, told(name, err)
	}
	made := &Optimizer{LR: c.tensor(o.LR.Retain()), params: params, o: o}
	runtime.AddCleanup(made, func(o *variable.Optimizer) {
		for _, v := range o.Kept() {
			c.lose(v)
		}
	}, o)
	return made, nil
}

// ZeroGrad forgets the gradients of the parameters.
func (o *Optimizer) ZeroGrad() {
	if o == nil {
		return
	}
	for _, p := range o.params {
		p.ZeroGrad()
	}
}

// Step changes each parameter that has a gradient. All new values are computed from the old ones, in one program.
func (o *Optimizer) Step() error {
	if o == nil || o.o == nil {
		return errors.New("polygrad: Optimizer.Step: the optimizer is nil or empty: see NewSGD")
	}
	if err := o.LR.Err(); err != nil {
		return fmt.Errorf("polygrad: Optimizer.Step: LR: %w", err)
	}
	c := o.LR.c
	c.lock()
	defer c.unlock()
	if o.LR.v != o.o.LR { // another tensor was put there
		o.o.LR.Drop()
		o.o.LR = o.LR.v.Retain()
	}
	return told("Optimizer.Step", c.vars.Steps(o.o))
}
