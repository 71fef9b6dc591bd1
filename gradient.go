package polygrad

import (
	"errors"
	"fmt"

	"polygrad/variable"
)

// RequiresGrad reports whether Backward gives the tensor, or one that it is computed from, a gradient.
func (t *Tensor) RequiresGrad() (requires bool) {
	t.ask(func() { requires = t.v.RequiresGrad() })
	return requires
}

// SetRequiresGrad says whether Backward gives the tensor a gradient, and returns it. Elements of integer types have none.
func (t *Tensor) SetRequiresGrad(on bool) *Tensor {
	return t.change("SetRequiresGrad", func() error { return t.v.Require(on) })
}

// change locks the context of a tensor for f, and returns the tensor, or one with the error of f.
func (t *Tensor) change(fn string, f func() error) *Tensor {
	var err error
	t.ask(func() { err = f() })
	if err != nil {
		return failed(fn, err)
	}
	return t
}

// Grad returns the gradient that Backward calls have added up, or nil.
func (t *Tensor) Grad() (grad *Tensor) {
	t.ask(func() {
		if g := t.v.Grad(); g != nil {
			grad = t.c.tensor(g.Retain())
		}
	})
	return grad
}

// ZeroGrad forgets the gradient.
func (t *Tensor) ZeroGrad() { t.ask(func() { t.v.SetGrad(nil) }) }

// Backward computes the gradients of the tensor for all tensors that require one, adds them to these tensors' Grad, and returns the
// tensor. A tensor of several elements needs the gradient that comes in, of its own shape: see WithGradient.
func (t *Tensor) Backward(opts ...Option) *Tensor {
	return t.change("Backward", func() error {
		seed, err := incoming(opts)
		if err != nil {
			return err
		}
		return t.v.Backward(seed)
	})
}

// WithGradient is the gradient of the tensor whose gradients are asked for, of its shape.
func WithGradient(g *Tensor) Option { return Option{"gradient", g} }

// incoming is the gradient that comes in, as an option; nil for none.
func incoming(opts []Option) (seed *variable.Variable, err error) {
	for _, o := range opts {
		g, ok := o.value.(*Tensor)
		if o.name != "gradient" || !ok {
			return nil, fmt.Errorf("%s: is no argument, expected gradient", o.name)
		}
		if err := g.Err(); err != nil {
			return nil, fmt.Errorf("gradient: %w", err)
		}
		seed = g.v
	}
	return seed, nil
}

// Gradient returns the gradients of the tensor with respect to others, and stores none. Targets on which it does not depend have
// gradients of zeros.
func (t *Tensor) Gradient(targets []*Tensor, opts ...Option) []*Tensor {
	out := make([]*Tensor, len(targets))
	err := t.Err()
	t.ask(func() {
		var seed *variable.Variable
		var vs, grads []*variable.Variable
		if seed, err = incoming(opts); err == nil {
			vs, err = variables(targets)
		}
		if err == nil {
			grads, err = t.v.Gradients(vs, seed, true)
		}
		for i, g := range grads {
			out[i] = t.c.tensor(g)
		}
	})
	if err != nil {
		for i := range out {
			out[i] = failed("Gradient", err)
		}
	}
	return out
}

// variables are the variables of tensors.
func variables(ts []*Tensor) ([]*variable.Variable, error) {
	out := make([]*variable.Variable, len(ts))
	var errs []error
	for i, t := range ts {
		if err := t.Err(); err != nil {
			errs = append(errs, fmt.Errorf("tensor %d: %w", i, err))
			continue
		}
		out[i] = t.v
	}
	return out, errors.Join(errs...)
}
