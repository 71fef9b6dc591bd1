package variable

import (
	"errors"
	"fmt"
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// A Trace records what a function does to tensors, so that it can be compiled. Nothing is computed meanwhile: a write only gives its
// cell another value. At the end all cells and gradients that are older than the trace are restored.
type Trace struct {
	// Prune: values that do not change between runs (they depend on no argument, random number or written tensor) are computed once,
	// by Compile.
	Prune bool
	// Fixed: each run writes the results to the same variables.
	Fixed bool

	caller string
	ctx    *Context
	step   *Step
	params []*Variable // the arguments of the function
	cells  []*cell
	before map[*cell]*value // retained
	grads  map[*Variable]*stepGrad
	order  []*stepGrad
	seeds  []seed
	// created are the cells that the function has made.
	created map[*cell]bool
	// captured are the older cells whose leaves the function reads, by buffer.
	captured map[*uop.UOp]*cell
	// cellRefs keep the changed cells alive.
	cellRefs []*Variable
}

// Compiling reports whether a Trace has begun and not ended.
func (c *Context) Compiling() bool { return c.trace != nil }

// eachOnce refuses a variable that is given twice: the program would not know which of two arguments a write changes.
func eachOnce(args []*Variable) error {
	for i, v := range args {
		if k := slices.Index(args[:i], v); k >= 0 {
			return fmt.Errorf("arguments %d and %d are one tensor, which is given more than once: clone it", k, i)
		}
	}
	return nil
}

// Trace starts recording, until Compile or Abandon. caller names the function in errors. given are placeholders of args without
// values, to call the traced function on.
func (c *Context) Trace(who string, args []*Variable) (t *Trace, given []*Variable, err error) {
	if c.trace != nil {
		return nil, nil, fmt.Errorf("inside of %s", c.trace.caller)
	}
	if err := eachOnce(args); err != nil {
		return nil, nil, err
	}
	if err := c.Realize(args...); err != nil {
		return nil, nil, err
	}
	t = &Trace{
		caller: who, ctx: c, step: &Step{ctx: c},
		before: map[*cell]*value{}, grads: map[*Variable]*stepGrad{}, created: map[*cell]bool{}, captured: map[*uop.UOp]*cell{},
	}
	for i, v := range args {
		if v.ctx != c {
			t.step.Drop()
			return nil, nil, fmt.Errorf("argument %d: %w", i, ErrOtherContext)
		}
		node := v.Node()
		leaf, err := c.newLeaf(node.DType, node.Shape(), nil)
		if err != nil {
			t.step.Drop()
			return nil, nil, err
		}
		leaf.flow, leaf.device, leaf.argument = v.cell.value.flow, v.cell.value.device, true
		c.arguments[leaf.node.Storage()] = t
		t.step.inputs = append(t.step.inputs, leaf)
		t.step.retained = append(t.step.retained, c.variable(leaf))
		w := c.variable(leaf)
		w.requiresGrad = v.requiresGrad
		if v.grad != nil {
			w.grad = v.grad.Retain()
		}
		given = append(given, w)
	}
	t.params = given
	c.trace = t
	c.invalidate()
	return t, given, nil
}

// Abandon ends a trace without compiling it.
func (t *Trace) Abandon() {
	for _, ch := range t.restore() {
		ch.release()
		ch.ref.Drop()
	}
	for _, g := range t.order {
		g.drop()
		g.owner.Drop()
	}
	t.step.Drop()
}

// Compile ends a trace and compiles the recorded writes, gradients and results.
func (t *Trace) Compile(results []*Variable) (*Step, error) {
	c, s := t.ctx, t.step
	nodes := make([]*value, len(results))
	for i, r := range results {
		nodes[i] = c.newValue(r.Node(), r.cell.value)
		nodes[i].retain()
	}
	s.prune, s.fixed, s.created = t.Prune, t.Fixed, t.created
	s.changes, s.seeds, s.grads = t.restore(), t.seeds, t.order
	s.results = len(results)
	for _, g := range s.grads {
		s.retained = append(s.retained, g.owner)
		if g.stored() {
			results, nodes = append(results, g.after), append(nodes, g.after.cell.value)
			g.after.cell.value.retain()
		}
	}
	for _, sd := range s.seeds {
		s.retained = append(s.retained, c.variable(sd.leaf))
	}
	err := s.build(results, nodes, t.params, t.captured)
	for _, ch := range s.changes {
		ch.release()
		s.retained = append(s.retained, ch.ref)
	}
	for _, v := range nodes {
		v.release()
	}
	for _, g := range s.grads {
		g.drop()
		if g.input >= 0 { // the arguments of a run have gradients of their own
			g.owner.SetGrad(nil)
		}
	}
	if err != nil {
		s.Drop()
		return nil, err
	}
	return s, nil
}

// A change is a write of a traced function to a cell that is older than the trace.
type change struct {
	cell          *cell
	ref           *Variable // keeps the cell alive
	before, after *value    // retained
}

// release releases the values.
func (ch *change) release() {
	ch.after.release()
	ch.before.release()
}

// restore resets all older cells and gradients, and returns the writes.
func (t *Trace) restore() []change {
	t.ctx.trace = nil
	var changes []change
	for i, x := range t.cells {
		before, after := t.before[x], x.value
		after.retain()
		x.set(before)
		changes = append(changes, change{x, t.cellRefs[i], before, after})
	}
	for _, g := range t.order {
		g.after, g.owner.grad, g.before = g.owner.grad, g.before, nil
	}
	return changes
}

func (t *Trace) valueNeeded() error {
	if t.ctx.trace == t {
		return &neededValue{caller: t.caller}
	}
	return hasLeft(t.caller)
}

// save records the value of an older cell that is about to change.
func (t *Trace) save(x *cell) {
	if t.created[x] || t.before[x] != nil {
		return
	}
	t.capture(x)
	x.value.retain()
	t.before[x] = x.value
	t.cells = append(t.cells, x)
	t.cellRefs = append(t.cellRefs, x.newVariable(t.ctx))
}

// capture records an older cell that the function reads. A run finds its memory by the cell, so a lazy value is computed and a clone
// gets memory of its own.
func (t *Trace) capture(x *cell) {
	if t.created[x] || t.before[x] != nil {
		return
	}
	if t.captured[x.value.node.Storage()] == x { // clones that the function made read the memory that the run finds
		return
	}
	c := t.ctx
	c.trace = nil
	defer func() { c.trace = t }()
	if !x.value.leaf {
		v := x.newVariable(c)
		err := c.Realize(v)
		v.Drop()
		if err != nil {
			return // the error is reported where the value is used
		}
	}
	if x.unshare(c) == nil {
		t.captured[x.value.node.Storage()] = x
	}
}

// A stepGrad is the gradient of an older variable or of an argument, which the function reads or changes.
type stepGrad struct {
	owner *Variable
	input int // the index of the argument, or -1
	// before is the gradient while the function is traced.
	before *Variable
	// read is the placeholder of the gradient before a run, zeros if there is none.
	read *value
	// after is the gradient at the end of the function, nil for none. A run does not store one that was zeroed first and then consumed
	// by an optimizer.
	after        *Variable
	zeroed, used bool
	// A run removes the gradient, or leaves it unchanged.
	removed, unchanged bool
}

// stored sets removed and unchanged, and reports whether a run stores a gradient.
func (g *stepGrad) stored() bool {
	g.removed = g.after == nil || g.zeroed && g.used
	g.unchanged = g.after != nil && g.after.cell.value == g.read
	return !g.removed && !g.unchanged
}

func (g *stepGrad) drop() {
	if g.after != nil {
		g.after.Drop()
		g.after = nil
	}
}

// gradient is the record of a variable's gradient; nil if the function has created the variable.
func (t *Trace) gradient(v *Variable) *stepGrad {
	g := t.grads[v]
	input := slices.Index(t.params, v)
	if g == nil && (input >= 0 || !t.created[v.cell]) {
		g = &stepGrad{owner: v.Retain(), input: input, before: v.grad}
		v.grad = nil
		t.grads[v], t.order = g, append(t.order, g)
	}
	return g
}

// readGrad makes a placeholder for a gradient that the function has not changed yet, if there is one or make is set.
func (t *Trace) readGrad(v *Variable, make bool) {
	if t.grads[v] != nil || v.grad == nil && !make {
		return
	}
	g := t.gradient(v)
	if g == nil {
		return
	}
	node := v.Node()
	leaf, err := t.ctx.newLeaf(node.DType, node.Shape(), nil)
	if err != nil {
		panic("variable: " + err.Error()) // v has that shape
	}
	leaf.device = v.cell.value.device
	g.read, v.grad = leaf, t.ctx.variable(leaf)
	t.step.retained = append(t.step.retained, t.ctx.variable(leaf))
}

// realize gives lazy tensors memory of their own in the program.
func (t *Trace) realize(vs []*Variable) error {
	for _, v := range vs {
		x := v.cell.value
		if x.leaf || v.IsView() {
			continue
		}
		node, err := tensor.Contiguous(x.node)
		if err != nil {
			return err
		}
		if node == x.node {
			continue
		}
		made := t.ctx.newValue(node, x)
		made.retain()
		for len(x.cells) > 0 {
			t.save(x.cells[0])
			x.cells[0].set(made)
		}
		made.release()
	}
	return nil
}

func (t *Trace) roots(mark func(*uop.UOp)) {
	for _, v := range t.before {
		mark(v.node)
	}
}

var errNotComputed = errors.New("a tensor is written that was not computed before")
