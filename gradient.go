package polygrad

import (
	"errors"
	"fmt"

	"polygrad/core/gradient"
	"polygrad/core/rewrite"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// RequiresGrad reports whether Backward gives the tensor, or one that it is computed from, a gradient.
func (t *Tensor) RequiresGrad() (requires bool) {
	t.ask(func() { requires = t.v.wants || t.v.differentiable() })
	return requires
}

// SetRequiresGrad says whether Backward gives the tensor a gradient, and returns it. Elements of integer types have none.
func (t *Tensor) SetRequiresGrad(on bool) *Tensor {
	var err error
	t.ask(func() { err = t.v.require(on) })
	if err != nil {
		return failed("SetRequiresGrad", err)
	}
	return t
}

func (v *variable) require(on bool) error {
	if !v.isView() { // a clone has a gradient of its own
		if err := v.cell.part(v.ctx); err != nil {
			return err
		}
	}
	x := v.cell.value
	if !on {
		v.wants = false
		if x.leaf && x.origin == nil {
			x.flow = flowNever
		}
		return nil
	}
	if !x.node.DType.IsFloat() {
		return fmt.Errorf("the tensor is %s, expected a floating type", nameOf(x.node.DType))
	}
	if !v.isView() && x.flow != flowAlways && v.ctx.trace == nil {
		// A variable is a leaf of its own: its gradient is not that of others with the same elements.
		if err := v.ctx.realize([]*variable{v}); err != nil {
			return err
		}
		if x = v.cell.value; len(x.holders) > 1 || x.refs > 1 {
			m, err := allocate(x.mem.size)
			if err != nil {
				return err
			}
			copy(m.bytes(), x.mem.bytes())
			own, err := v.ctx.newLeaf(x.node.DType, x.node.Shape(), m)
			if err != nil {
				m.free()
				return err
			}
			v.cell.set(own)
			x = own
		}
	}
	v.wants = true
	x.flow = flowAlways
	return nil
}

// Grad returns the gradient that Backward calls have added up, or nil.
func (t *Tensor) Grad() (grad *Tensor) {
	t.ask(func() {
		if g := t.v.grad; g != nil {
			g.refs++
			grad = t.v.ctx.hand(g)
		}
	})
	return grad
}

// ZeroGrad forgets the gradient.
func (t *Tensor) ZeroGrad() { t.ask(func() { t.v.setGrad(nil) }) }

// setGrad gives a variable another gradient, whose reference it takes.
func (v *variable) setGrad(g *variable) {
	if v.ctx.trace != nil {
		v.ctx.trace.keepGrad(v)
	}
	if v.grad != nil {
		v.grad.drop()
	}
	v.grad = g
}

// Backward computes the gradients of the tensor for all tensors that require one, adds them to these tensors' Grad, and returns the
// tensor. A tensor of several elements needs the gradient that comes in, of its own shape: see WithGradient.
func (t *Tensor) Backward(opts ...Option) *Tensor {
	var err error
	t.ask(func() { err = t.v.backward(opts) })
	if err != nil {
		return failed("Backward", err)
	}
	return t
}

// WithGradient is the gradient of the tensor whose gradients are asked for, of its shape.
func WithGradient(g *Tensor) Option { return Option{"gradient", g} }

// seed is the gradient that comes in, as an option; nil for one element.
func (v *variable) seed(opts []Option) (*uop.UOp, []*value, error) {
	k := call{ctx: v.ctx}
	var seed *uop.UOp
	for _, o := range opts {
		g, ok := o.value.(*Tensor)
		if o.name != "gradient" || !ok {
			return nil, nil, fmt.Errorf("%s: is no argument, expected gradient", o.name)
		}
		u, err := k.tensor(g)
		if err != nil {
			return nil, nil, fmt.Errorf("gradient: %w", err)
		}
		seed = u
	}
	node := v.node()
	switch n := tensor.Elements(node); {
	case seed == nil && n != 1:
		return nil, nil, fmt.Errorf("the tensor has shape %s, expected one element or a gradient", node.Shape())
	case seed != nil && n == 1 && tensor.Elements(seed) == 1:
		u, err := tensor.Reshape(seed, node.Shape())
		return u, k.from, err
	}
	return seed, k.from, nil
}

func (v *variable) backward(opts []Option) error {
	seed, from, err := v.seed(opts)
	if err != nil {
		return err
	}
	c, root := v.ctx, v.cell.value
	var targets []*variable
	overwritten := false
	root.visit(func(x *value) {
		overwritten = overwritten || x.leaf && x.mem == nil && c.trace == nil
		holders := x.holders
		if leaf := c.computed[x.node]; leaf != nil && leaf != x { // who stood for the value stands for the leaf now
			holders = append(holders[:len(holders):len(holders)], leaf.holders...)
		}
		for _, h := range holders {
			for _, w := range h.variables {
				if w.wants {
					targets = append(targets, w)
				}
			}
		}
	})
	switch {
	case overwritten:
		return errors.New("a tensor that it is computed from was overwritten since")
	case len(targets) == 0:
		return errors.New("no tensor that this one depends on requires a gradient")
	}
	nodes := make([]*uop.UOp, len(targets))
	for i, w := range targets {
		nodes[i] = w.node()
	}
	grads, err := c.differentiate(v.node(), seed, nodes, root)
	if err != nil {
		return err
	}
	compute := []*variable{v}
	for i, w := range targets {
		made := c.newValue(grads[i], append(from[:len(from):len(from)], root.sources()...)...)
		if w.grad != nil {
			sum, err := tensor.Add(w.grad.node(), grads[i])
			if err != nil {
				return err
			}
			made.retain()
			defer made.release()
			made = c.newValue(sum, w.grad.cell.value, made)
		}
		g := c.newVariable(made)
		w.setGrad(g)
		compute = append(compute, g)
	}
	if c.trace != nil {
		return nil
	}
	return c.realize(compute)
}

// sources are the values that a gradient of x is computed from: x, and what computed values on the way came from.
func (x *value) sources() []*value {
	all := []*value{x}
	x.visit(func(y *value) {
		if y.origin != nil {
			all = append(all, y.origin)
		}
	})
	return all
}

// visit calls f for each value that a gradient of x flows through, x first.
func (x *value) visit(f func(x *value)) {
	seen := map[*value]bool{x: true}
	for stack := []*value{x}; len(stack) > 0; {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		f(x)
		below := x.from
		if x.origin != nil {
			below = []*value{x.origin}
		}
		for _, s := range below {
			if s.flow == flowAlways && !seen[s] {
				seen[s] = true
				stack = append(stack, s)
			}
		}
	}
}

// differentiate returns the gradients of a node, computed from root, with respect to others. Computed tensors on the way are seen as
// what they were computed from; where their elements are needed, they are read.
func (c *Context) differentiate(node, seed *uop.UOp, wrt []*uop.UOp, root *value) ([]*uop.UOp, error) {
	origins := rewrite.Map{}
	root.visit(func(x *value) {
		if x.origin != nil {
			origins[x.node] = x.origin.node
		}
	})
	whole := rewrite.Substitute(node, origins)
	below := map[*uop.UOp]bool{}
	for _, u := range whole.Toposort() {
		below[u] = true
	}
	at := make([]*uop.UOp, len(wrt))
	for i, u := range wrt {
		at[i] = rewrite.Substitute(u, origins)
		if !below[at[i]] { // what was computed after it was used stands in the graph as it was
			at[i] = rewrite.Substitute(u, c.lazily())
		}
	}
	return gradient.Of(whole, at, seed)
}

// lazily are the lazy nodes of leaves that were computed.
func (c *Context) lazily() rewrite.Map {
	m := make(rewrite.Map, len(c.known))
	for lazy, leaf := range c.known {
		m[leaf] = lazy
	}
	return m
}

// Gradient returns the gradients of the tensor with respect to others, and stores none. Targets on which it does not depend have
// gradients of zeros.
func (t *Tensor) Gradient(targets []*Tensor, opts ...Option) []*Tensor {
	out := make([]*Tensor, len(targets))
	err := t.Err()
	t.ask(func() { err = t.v.gradients(targets, opts, out) })
	if err != nil {
		for i := range out {
			out[i] = failed("Gradient", err)
		}
	}
	return out
}

func (v *variable) gradients(targets []*Tensor, opts []Option, out []*Tensor) error {
	seed, from, err := v.seed(opts)
	if err != nil {
		return err
	}
	k := call{ctx: v.ctx}
	wrt := make([]*uop.UOp, len(targets))
	for i, t := range targets {
		if wrt[i], err = k.tensor(t); err != nil {
			return fmt.Errorf("targets[%d]: %w", i, err)
		}
	}
	grads, err := v.ctx.differentiate(v.node(), seed, wrt, v.cell.value)
	if err != nil {
		return err
	}
	from = append(append(from, v.cell.value.sources()...), k.from...)
	for i, g := range grads {
		out[i] = v.ctx.hand(v.ctx.newVariable(v.ctx.newValue(g, from...)))
	}
	return nil
}
