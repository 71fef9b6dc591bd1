package polygrad

import (
	"errors"
	"fmt"
	"slices"

	"polygrad/variable"
)

// RequiresGrad reports whether the tensor, or a tensor it is computed from, receives a gradient in Backward.
func (t *Tensor) RequiresGrad() (requires bool) {
	t.withLock(func() { requires = t.v.RequiresGrad() })
	return requires
}

// SetRequiresGrad sets whether the tensor receives a gradient in Backward, and returns it. A tensor that is not of a floating type is an
// error.
func (t *Tensor) SetRequiresGrad(on bool) *Tensor {
	return t.mutate("SetRequiresGrad", func() error { return t.v.SetRequiresGrad(on) })
}

// mutate locks the context of a tensor for f, and returns the tensor, or one with the error of f.
func (t *Tensor) mutate(fn string, f func() error) *Tensor {
	var err error
	t.withLock(func() { err = f() })
	if err != nil {
		return failedTensor(fn, err)
	}
	return t
}

// Grad returns the sum of the gradients of all Backward calls since ZeroGrad, of the shape of the tensor, or nil if there is none.
func (t *Tensor) Grad() (grad *Tensor) {
	t.withLock(func() {
		if g := t.v.Grad(); g != nil {
			grad = t.c.tensor(g.Retain())
		}
	})
	return grad
}

// ZeroGrad removes the gradient: Grad is nil afterwards.
func (t *Tensor) ZeroGrad() { t.withLock(func() { t.v.SetGrad(nil) }) }

// Backward computes the gradients of the tensor with respect to all tensors that it is computed from and that require one, adds them to
// their Grad, and returns the tensor. It is an error if there is no such tensor. A tensor of several elements needs an incoming gradient.
// Options: WithGradient (ones for one element).
func (t *Tensor) Backward(opts ...Option) *Tensor {
	return t.mutate("Backward", func() error {
		seed, err := incomingGradient(opts)
		if err != nil {
			return err
		}
		return t.v.Backward(seed)
	})
}

// WithGradient is the incoming gradient of Backward and Gradient, of the shape of the tensor they are called on.
func WithGradient(g *Tensor) Option { return Option{"gradient", g} }

// WithMaterializeGrads makes the gradients of targets that the tensor does not depend on zeros. Without it such targets are an error.
func WithMaterializeGrads(on bool) Option { return Option{"materialize_grads", on} }

// incomingGradient is the option "gradient", nil if it is not given.
func incomingGradient(opts []Option) (seed *variable.Variable, err error) {
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

// Gradient returns the gradients of the tensor with respect to targets, each of the shape of its target, without adding to Grad. They can be
// differentiated again. A target that the tensor does not depend on is an error. If there is an error, every result has it.
// Options: WithGradient (ones for one element), WithMaterializeGrads (false).
func (t *Tensor) Gradient(targets []*Tensor, opts ...Option) []*Tensor {
	out := make([]*Tensor, len(targets))
	err := t.Err()
	t.withLock(func() {
		var seed *variable.Variable
		var vs, grads []*variable.Variable
		zeros := false
		opts = slices.DeleteFunc(slices.Clone(opts), func(o Option) bool {
			on, is := o.value.(bool)
			zeros = zeros || is && on
			return is && o.name == "materialize_grads"
		})
		if seed, err = incomingGradient(opts); err == nil {
			vs, err = variables(targets)
		}
		if err == nil {
			grads, err = t.v.Gradients(vs, seed, zeros)
		}
		for i, g := range grads {
			out[i] = t.c.tensor(g)
		}
	})
	if err != nil {
		for i := range out {
			out[i] = failedTensor("Gradient", err)
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
