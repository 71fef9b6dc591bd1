package polygrad

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"polygrad/core/tensor"
	"polygrad/variable"
)

// An Optimizer updates parameters by their gradients. Its state has the types of the parameters, at least Float32. State, Save and
// LoadState keep an optimizer as they keep a model: the names are those of all languages (lr, b1_t, m.0, v.0 …).
type Optimizer struct {
	// LR is the learning rate, a tensor of shape (1). Assign to it to change the rate of later steps, also of compiled ones.
	LR *Tensor
	// Params are the parameters, each once.
	Params []*Tensor
	// B is the momentum of each parameter: of SGD and Muon with momentum.
	B []*Tensor
	// M and V are the first and second moments of each parameter: of Adam, AdamW and LAMB.
	M, V []*Tensor
	// B1T and B2T are Beta1 and Beta2 to the power of the number of steps, Float64 of shape (1): of Adam, AdamW and LAMB.
	B1T, B2T *Tensor
	o        *variable.Optimizer
}

// SGDOptions are the settings of NewSGD. The zero value is plain gradient descent.
type SGDOptions struct {
	Momentum, WeightDecay float64
	// Nesterov selects Nesterov momentum: p -= lr * (g + momentum * b).
	Nesterov bool
	// Trust multiplies the step of a parameter by Trust * |p| / (|g| + WeightDecay * |p|) (LARS, arXiv:1708.03888); 0: it does not.
	Trust float64
}

// NewSGD returns gradient descent with momentum: g += weight decay * p, b = momentum * b + g, p -= lr * b. params are tensors of
// floating types, one or more; they require gradients from now on. Other tensors are an error.
func NewSGD(params []*Tensor, lr float64, o SGDOptions) (*Optimizer, error) {
	return newLARS("SGD", params, lr, tensor.LARSOptions{
		Momentum: o.Momentum, WeightDecay: o.WeightDecay, Nesterov: o.Nesterov, Trust: o.Trust, Classic: o.Trust != 0,
	})
}

// MuonOptions are the settings of NewMuon: see DefaultMuon.
type MuonOptions struct {
	Momentum, WeightDecay float64
	Nesterov              bool
	// Steps is the number of Newton-Schulz iterations, with Coefficients.
	Steps        int
	Coefficients []float64
}

// DefaultMuon are the default settings of Muon.
var DefaultMuon = MuonOptions{Momentum: 0.95, WeightDecay: 0.1, Nesterov: true, Steps: 5, Coefficients: []float64{3.4445, -4.775, 2.0315}}

// NewMuon returns Muon, gradient descent with momentum whose updates of matrices are orthogonalized (Jordan et al., 2024; Liu et al.,
// arXiv:2502.16982). params are as for NewSGD.
func NewMuon(params []*Tensor, lr float64, o MuonOptions) (*Optimizer, error) {
	return newLARS("Muon", params, lr, tensor.LARSOptions{
		Momentum: o.Momentum, WeightDecay: o.WeightDecay, Nesterov: o.Nesterov, DecoupledDecay: true, Steps: o.Steps, Coefficients: o.Coefficients,
	})
}

func newLARS(name string, params []*Tensor, lr float64, o tensor.LARSOptions) (*Optimizer, error) {
	return newOptimizer(name, params, func(vs []*variable.Variable) (*variable.Optimizer, error) { return variable.NewLARS(vs, lr, o) })
}

// AdamOptions are the settings of NewAdam, NewAdamW and NewLAMB: see DefaultAdam.
type AdamOptions struct{ Beta1, Beta2, Eps, WeightDecay float64 }

// DefaultAdam are the default settings of Adam, without weight decay.
var DefaultAdam = AdamOptions{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}

// NewAdam returns Adam (Kingma and Ba, arXiv:1412.6980); weight decay is added to the gradient. params are as for NewSGD.
func NewAdam(params []*Tensor, lr float64, o AdamOptions) (*Optimizer, error) {
	return newLAMB("Adam", params, lr, o, true, true)
}

// NewAdamW returns Adam with decoupled weight decay (Loshchilov and Hutter, arXiv:1711.05101). params are as for NewSGD.
func NewAdamW(params []*Tensor, lr float64, o AdamOptions) (*Optimizer, error) {
	return newLAMB("AdamW", params, lr, o, true, false)
}

// NewLAMB returns LAMB, Adam whose update of a parameter is scaled to the norm of the parameter (You et al., arXiv:1904.00962). params
// are as for NewSGD.
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
		return nil, wrapError(name, err)
	}
	c := params[0].c
	c.lock()
	defer c.unlock()
	o, err := make(vs)
	if err != nil {
		return nil, wrapError(name, err)
	}
	made := &Optimizer{LR: c.tensor(o.LR.Retain()), o: o}
	for i, v := range o.Params {
		made.Params = append(made.Params, params[slices.Index(vs, v)])
		states := []*[]*Tensor{&made.B}
		if len(o.State[i]) == 2 {
			states = []*[]*Tensor{&made.M, &made.V}
		}
		for k, s := range o.State[i] {
			*states[k] = append(*states[k], c.tensor(s.Retain()))
		}
	}
	for i, s := range o.Shared {
		*[]**Tensor{&made.B1T, &made.B2T}[i] = c.tensor(s.Retain())
	}
	runtime.AddCleanup(made, func(o *variable.Optimizer) {
		for _, v := range o.Retained() {
			c.dropLater(v)
		}
	}, o)
	return made, nil
}

// ZeroGrad removes the gradients of the parameters.
func (o *Optimizer) ZeroGrad() {
	if o == nil {
		return
	}
	for _, p := range o.Params {
		p.ZeroGrad()
	}
}

// Step updates each parameter that has a gradient, in one program. All new values are computed from the old ones.
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
	return wrapError("Optimizer.Step", c.vars.StepAll(o.o))
}
