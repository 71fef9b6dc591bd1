package variable

import (
	"errors"
	"fmt"
	"slices"

	"polygrad/core/gradient"
	"polygrad/core/rewrite"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// RequiresGrad reports whether the variable, or one that it is computed from, receives a gradient in Backward.
func (v *Variable) RequiresGrad() bool {
	return v.requiresGrad || v.differentiable() && v.Node().DType.IsDifferentiable()
}

// SetRequiresGrad sets whether the variable receives a gradient in Backward. Integer types are an error. A detached view becomes a leaf
// with a copy of its elements.
func (v *Variable) SetRequiresGrad(on bool) error {
	if on && v.detached && v.Node().DType.IsDifferentiable() {
		if err := v.materialize(); err != nil {
			return err
		}
	}
	if !v.IsView() { // clones have separate gradients
		if err := v.cell.unshare(v.ctx); err != nil {
			return err
		}
	}
	x := v.cell.value
	if !on {
		v.requiresGrad = false
		if x.leaf && x.origin == nil {
			x.flow = flowNever
		}
		return nil
	}
	if !x.node.DType.IsDifferentiable() {
		return fmt.Errorf("the tensor is %s, expected a floating type, real or complex", x.node.DType.NumpyName())
	}
	if !v.IsView() && x.flow != flowAlways && v.ctx.trace == nil {
		// Other readers of the elements must not take part in the gradient of this leaf.
		if err := v.ctx.Realize(v); err != nil {
			return err
		}
		if x = v.cell.value; len(x.cells) > 1 || x.refs > 1 {
			own, err := v.ctx.copyOf(x)
			if err != nil {
				return err
			}
			v.cell.set(own)
			x = own
		}
	}
	v.requiresGrad = true
	x.flow = flowAlways
	return nil
}

// materialize turns a view into a variable with a cell and a copy of the elements.
func (v *Variable) materialize() error {
	c, node := v.ctx, v.Node()
	var own *value
	if c.trace != nil {
		apart, err := tensor.Contiguous(node)
		if err != nil {
			return err
		}
		own = c.newValue(apart, v.source())
	} else {
		m, err := c.compute(node, v.cell.value.device)
		if err != nil {
			return err
		}
		if own, err = c.newLeaf(node.DType, node.Shape(), m); err != nil {
			m.free()
			return err
		}
		own.device = v.cell.value.device
	}
	own.retain()
	defer own.release()
	v.leaveCell()
	v.cell, v.view, v.base, v.detached = &cell{variables: []*Variable{v}, tracing: v.ctx.innermost()}, nil, nil, false
	if c.trace != nil {
		c.trace.created[v.cell] = true
	}
	v.cell.set(own)
	return nil
}

// copyOf is a leaf with the elements of another.
func (c *Context) copyOf(x *value) (*value, error) {
	m, err := c.allocate(x.mem.size, x.device)
	if err != nil {
		return nil, err
	}
	if err := m.copyFrom(x.mem); err != nil {
		m.free()
		return nil, err
	}
	own, err := c.newLeaf(x.node.DType, x.node.Shape(), m)
	if err != nil {
		m.free()
		return nil, err
	}
	own.device = x.device
	return own, nil
}

// Grad is the gradient that Backward calls have added up, or nil.
func (v *Variable) Grad() *Variable {
	if t := v.ctx.trace; t != nil {
		t.readGrad(v, false)
	}
	return v.grad
}

// SetGrad sets the gradient and takes over its reference; nil for none.
func (v *Variable) SetGrad(g *Variable) {
	v.cell.value.invalidate()
	if t := v.ctx.trace; t != nil {
		if k := t.gradient(v); k != nil {
			k.zeroed, k.used = k.zeroed || g == nil, false
		}
	}
	if g != nil && v.ctx.OnInvalidate != nil { // a step that removes the gradient is not Rerunnable now
		v.ctx.OnInvalidate()
	}
	if g.leadsTo(v) { // in a circle no reference would be the last one
		if shown, err := g.Detach(); err == nil {
			g.Drop()
			g = shown
		}
	}
	if v.grad != nil {
		v.grad.Drop()
	}
	v.grad = g
}

// leadsTo reports whether a variable is another one, or its gradient is, and so on.
func (g *Variable) leadsTo(v *Variable) bool {
	for ; g != nil; g = g.grad {
		if g == v {
			return true
		}
	}
	return false
}

// incoming checks the incoming gradient; nil stands for 1 and needs a variable of one element.
func (v *Variable) incoming(g *Variable) (*uop.UOp, []*value, error) {
	node := v.Node()
	if g == nil {
		if node.DType.IsComplex() {
			return nil, nil, fmt.Errorf("gradient: not given: the tensor is %s, expected a real one, as abs is, or a gradient", node.DType.NumpyName())
		}
		if tensor.Elements(node) != 1 {
			return nil, nil, fmt.Errorf("gradient: not given: the tensor has shape %s, expected one element or a gradient", node.Shape())
		}
		return nil, nil, nil
	}
	if g.ctx != v.ctx {
		return nil, nil, fmt.Errorf("gradient: %w", ErrOtherContext)
	}
	u, from := g.Node(), []*value{g.source()}
	if tensor.Elements(node) == 1 && tensor.Elements(u) == 1 {
		var err error
		if u, err = tensor.Reshape(u, node.Shape()); err != nil {
			return nil, nil, err
		}
	}
	if !u.Shape().Equal(node.Shape()) || u.DType != node.DType {
		return nil, nil, fmt.Errorf("gradient: %s of shape %s, expected %s of shape %s as the tensor", u.DType.NumpyName(), u.Shape(), node.DType.NumpyName(), node.Shape())
	}
	return u, from, nil
}

// Backward computes the gradients of a variable with respect to all variables that require one and adds them to their gradients. A
// variable of several elements needs an incoming gradient.
func (v *Variable) Backward(incoming *Variable) error { return v.backward(incoming, v.ctx.Realize) }

// StartBackward is Backward as a job (see Start). The gradients are set before it returns and are lazy until the job has ended.
func (v *Variable) StartBackward(incoming *Variable, done func(*Job)) error {
	if t := v.ctx.trace; t != nil {
		return t.valueNeeded()
	}
	return v.backward(incoming, func(vs ...*Variable) error {
		_, err := v.ctx.Start(vs, done)
		return err
	})
}

// backward is Backward, with compute called on the results.
func (v *Variable) backward(incoming *Variable, compute func(vs ...*Variable) error) error {
	c, root := v.ctx, v.cell.value
	if t := c.innermost(); t != nil {
		return fmt.Errorf("called while %s traces the function: use the gradient of a function", t.caller)
	}
	seed, from, err := v.incoming(incoming)
	if err != nil {
		return err
	}
	var targets []*Variable
	overwritten := false
	root.visit(func(x *value) {
		overwritten = overwritten || x.leaf && x.mem == nil && c.trace == nil
		holders := x.cells
		if leaf := c.computed[x.node]; leaf != nil && leaf != x { // the value's cells have moved to its leaf
			holders = append(holders[:len(holders):len(holders)], leaf.cells...)
		}
		for _, h := range holders {
			for _, w := range h.variables {
				if w.requiresGrad && !slices.Contains(targets, w) {
					targets = append(targets, w)
				}
			}
		}
	})
	switch {
	case overwritten:
		return errOverwritten
	case len(targets) == 0:
		return errors.New("no tensor that this one depends on requires a gradient, expected one or more")
	}
	nodes := make([]*uop.UOp, len(targets))
	for i, w := range targets {
		nodes[i] = w.Node()
	}
	grads, _, err := c.differentiate(v.Node(), seed, nodes, root)
	if err != nil {
		return err
	}
	made := []*Variable{v}
	for i, w := range targets {
		grad := c.newValue(grads[i], append(from[:len(from):len(from)], root.sources()...)...)
		if c.trace != nil {
			c.trace.readGrad(w, true)
		}
		if w.grad != nil {
			sum, err := tensor.Add(w.grad.Node(), grads[i])
			if err != nil {
				return err
			}
			grad.retain()
			defer grad.release()
			grad = c.newValue(sum, w.grad.cell.value, grad)
			grad.device = root.device
			if c.trace == nil && !w.grad.IsView() { // other references to the gradient see the sum
				w.grad.cell.set(grad)
				made = append(made, w.grad)
				continue
			}
		}
		g := c.variable(grad)
		w.SetGrad(g)
		made = append(made, g)
	}
	if c.trace == nil {
		err = compute(made...)
	}
	for _, w := range targets { // computed with the root, they are with the variables from now on
		if device := w.cell.value.device; device != "" {
			w.grad.cell.value.device = device
		}
	}
	return err
}

// sources are the values that a gradient of x is computed from: x, and the origins of computed values on the way.
func (x *value) sources() []*value {
	all := []*value{x}
	x.visit(func(y *value) {
		if y.origin != nil {
			all = append(all, y.origin)
		}
	})
	return all
}

// visit calls f for each value that a gradient of x flows through, beginning with x.
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

// differentiate returns the gradients of a node, computed from root, with respect to wrt. Leaves of computed tensors are replaced by
// the graphs they came from, and in the gradients these graphs by the leaves. depends[i] reports whether node depends on wrt[i].
func (c *Context) differentiate(node, seed *uop.UOp, wrt []*uop.UOp, root *value) (grads []*uop.UOp, depends []bool, err error) {
	origins, leaves := rewrite.Map{}, rewrite.Map{}
	root.visit(func(x *value) {
		if x.origin != nil {
			to, from := planes(x.origin.node), planes(x.node)
			for i, u := range from {
				origins[u] = to[i]
				if x.lazyNode == x.origin.node && to[i].Base().Op != uop.ConstOp {
					leaves[to[i]] = u
				}
			}
		}
	})
	outputs, seeds := planes(node), []*uop.UOp{seed}
	for i, u := range outputs {
		outputs[i] = rewrite.Substitute(u, origins)
	}
	if seed != nil {
		seeds = planes(tensor.Conjugated(seed))
	}
	below := map[*uop.UOp]bool{}
	for _, output := range outputs {
		for _, u := range output.ToposortGated(func(u *uop.UOp) bool { return u.Op != uop.Detach && !below[u] }) {
			below[u] = true
		}
	}
	var at []*uop.UOp
	depends = make([]bool, len(wrt))
	for i, u := range wrt {
		for _, p := range planes(u) {
			to := rewrite.Substitute(p, origins)
			if !below[to] { // computed after it was used: the graph has its lazy node
				to = rewrite.Substitute(p, c.lazyNodes())
			}
			depends[i] = depends[i] || below[to]
			at = append(at, to)
		}
	}
	grads, err = gradient.OfSeveral(outputs, at, seeds)
	for i, g := range grads {
		if g != nil {
			grads[i] = rewrite.Substitute(g, leaves)
		}
	}
	return conjugateGradients(wrt, grads), depends, err
}

// planes are the real tensors that a node is made of: the two planes of a complex one, otherwise the node.
func planes(u *uop.UOp) []*uop.UOp {
	if !u.DType.IsComplex() {
		return []*uop.UOp{u}
	}
	re, im := u.Planes()
	return []*uop.UOp{re, im}
}

// conjugateGradients makes gradients by planes those by complex tensors: the derivative by the real part less i times that by the imaginary
// one, as in JAX.
func conjugateGradients(wrt, grads []*uop.UOp) []*uop.UOp {
	if grads == nil {
		return nil
	}
	out := make([]*uop.UOp, len(wrt))
	for i, u := range wrt {
		out[i], grads = grads[0], grads[1:]
		if u.DType.IsComplex() {
			out[i], grads = tensor.Conjugated(uop.ComplexPair(out[i], grads[0])), grads[1:]
		}
	}
	return out
}

// lazyNodes maps leaves to the lazy nodes they were computed from.
func (c *Context) lazyNodes() rewrite.Map {
	m := make(rewrite.Map, len(c.computed))
	for lazy, leaf := range c.computed {
		to := planes(lazy)
		for i, u := range planes(leaf.node) {
			if to[i].Base().Op != uop.ConstOp { // a number may stand elsewhere in the graph
				m[u] = to[i]
			}
		}
	}
	return m
}

// Gradients returns the gradients of a variable with respect to targets, without adding them to Grad. A target on which it does not
// depend has a gradient of zeros if zeros is set, else it is an error.
func (v *Variable) Gradients(targets []*Variable, incoming *Variable, zeros bool) ([]*Variable, error) {
	seed, from, err := v.incoming(incoming)
	if err != nil {
		return nil, err
	}
	wrt := make([]*uop.UOp, len(targets))
	for i, t := range targets {
		if t.ctx != v.ctx {
			return nil, fmt.Errorf("targets[%d]: %w", i, ErrOtherContext)
		}
		from = append(from, t.source())
		wrt[i] = t.Node()
	}
	grads, depends, err := v.ctx.differentiate(v.Node(), seed, wrt, v.cell.value)
	if err != nil {
		return nil, err
	}
	if i := slices.Index(depends, false); i >= 0 && !zeros {
		return nil, fmt.Errorf("targets[%d]: the tensor does not depend on it, expected one that it is computed from", i)
	}
	from = append(from, v.cell.value.sources()...)
	out := make([]*Variable, len(grads))
	for i, g := range grads {
		out[i] = v.ctx.variable(v.ctx.newValue(g, from...))
	}
	return out, nil
}
