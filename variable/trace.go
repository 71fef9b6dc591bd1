package variable

import (
	"errors"
	"fmt"
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// A Trace records what a function does to tensors, so that it can be compiled. Nothing is computed meanwhile: a write only gives its
// cell another value. At the end all cells and gradients that are older than the trace are put back.
type Trace struct {
	// Prune: what depends on no argument, no random number and nothing that the function writes is computed once, when it is compiled.
	Prune bool
	// Fixed: each run writes the results to the same variables.
	Fixed bool

	who    string
	ctx    *Context
	step   *Step
	given  []*Variable // the arguments of the function
	cells  []*cell
	before map[*cell]*value // retained
	grads  map[*Variable]*stepGrad
	order  []*stepGrad
	seeds  []seed
	// young are the cells that the function makes.
	young map[*cell]bool
	// used are the cells in which the function has found leaves, by buffer.
	used map[*uop.UOp]*cell
	// held keep the cells that have changed.
	held []*Variable
}

// Trace begins to record what a function does to variables, until Compile or Abandon. It returns the variables, like args but without
// values, that the function is called on.
func (c *Context) Trace(who string, args []*Variable) (t *Trace, given []*Variable, err error) {
	if c.trace != nil {
		return nil, nil, fmt.Errorf("inside of %s", c.trace.who)
	}
	if err := c.Realize(args...); err != nil {
		return nil, nil, err
	}
	t = &Trace{
		who: who, ctx: c, step: &Step{ctx: c},
		before: map[*cell]*value{}, grads: map[*Variable]*stepGrad{}, young: map[*cell]bool{}, used: map[*uop.UOp]*cell{},
	}
	for i, v := range args {
		if v.ctx != c {
			t.step.Drop()
			return nil, nil, fmt.Errorf("argument %d: %w", i, ErrForeign)
		}
		node := v.Node()
		leaf, err := c.newLeaf(node.DType, node.Shape(), nil)
		if err != nil {
			t.step.Drop()
			return nil, nil, err
		}
		leaf.flow = v.cell.value.flow
		t.step.inputs = append(t.step.inputs, leaf)
		t.step.keep = append(t.step.keep, c.variable(leaf))
		w := c.variable(leaf)
		w.wants = v.wants
		if v.grad != nil {
			w.grad = v.grad.Retain()
		}
		given = append(given, w)
	}
	t.given = given
	c.trace = t
	c.change()
	return t, given, nil
}

// Abandon ends a trace and forgets what was recorded.
func (t *Trace) Abandon() {
	for _, ch := range t.end() {
		ch.release()
		ch.held.Drop()
	}
	for _, g := range t.order {
		g.drop()
		g.of.Drop()
	}
	t.step.Drop()
}

// Compile ends a trace and compiles what the function has done, and what it returns.
func (t *Trace) Compile(results []*Variable) (*Step, error) {
	c, s := t.ctx, t.step
	nodes := make([]*value, len(results))
	for i, r := range results {
		nodes[i] = c.newValue(r.Node(), r.cell.value)
		nodes[i].retain()
	}
	s.prune, s.fixed, s.young = t.Prune, t.Fixed, t.young
	s.changes, s.seeds, s.grads = t.end(), t.seeds, t.order
	s.results = len(results)
	for _, g := range s.grads {
		s.keep = append(s.keep, g.of)
		if g.stored() {
			results, nodes = append(results, g.after), append(nodes, g.after.cell.value)
			g.after.cell.value.retain()
		}
	}
	for _, sd := range s.seeds {
		s.keep = append(s.keep, c.variable(sd.leaf))
	}
	err := s.build(results, nodes, t.given, t.used)
	for _, ch := range s.changes {
		ch.release()
		s.keep = append(s.keep, ch.held)
	}
	for _, v := range nodes {
		v.release()
	}
	for _, g := range s.grads {
		g.drop()
		if g.input >= 0 { // runs have their own
			g.of.SetGrad(nil)
		}
	}
	if err != nil {
		s.Drop()
		return nil, err
	}
	return s, nil
}

// A change is a write that a function makes: the leaf of a cell from before, and its new value.
type change struct {
	cell          *cell
	held          *Variable // keeps the cell
	before, after *value    // retained
}

// release gives up what a change retains.
func (ch *change) release() {
	ch.after.release()
	ch.before.release()
}

// end puts everything back and returns the writes.
func (t *Trace) end() []change {
	t.ctx.trace = nil
	var changes []change
	for i, x := range t.cells {
		before, after := t.before[x], x.value
		after.retain()
		x.set(before)
		changes = append(changes, change{x, t.held[i], before, after})
	}
	for _, g := range t.order {
		g.after, g.of.grad, g.before = g.of.grad, g.before, nil
	}
	return changes
}

// keep remembers the value of a cell that is about to change.
func (t *Trace) keep(x *cell) {
	if t.young[x] || t.before[x] != nil {
		return
	}
	t.use(x)
	x.value.retain()
	t.before[x] = x.value
	t.cells = append(t.cells, x)
	t.held = append(t.held, x.hold(t.ctx))
}

// use notes a cell from before in which the function finds a leaf. A lazy one is computed, and a clone gets memory of its own: a run
// finds the memory by the cell.
func (t *Trace) use(x *cell) {
	if t.young[x] || t.before[x] != nil {
		return
	}
	c := t.ctx
	c.trace = nil
	defer func() { c.trace = t }()
	if !x.value.leaf {
		v := x.hold(c)
		err := c.Realize(v)
		v.Drop()
		if err != nil {
			return // told where the value is needed
		}
	}
	if x.split(c) == nil {
		t.used[x.value.node.Base()] = x
	}
}

// A stepGrad is the gradient of a variable from before the trace, or of an argument, which the function reads or changes.
type stepGrad struct {
	of    *Variable
	input int // the argument it belongs to, or -1
	// before is the gradient while the function is traced.
	before *Variable
	// read is the leaf that stands for the gradient before a run: zeros if there is none.
	read *value
	// after is what the function leaves, nil for none. A run computes it, unless it began at nothing and an optimizer has used it up.
	after        *Variable
	zeroed, used bool
	// A run leaves none, or the same as before.
	none, same bool
}

// stored decides what a run leaves, and reports whether it computes that.
func (g *stepGrad) stored() bool {
	g.none = g.after == nil || g.zeroed && g.used
	g.same = g.after != nil && g.after.cell.value == g.read
	return !g.none && !g.same
}

func (g *stepGrad) drop() {
	if g.after != nil {
		g.after.Drop()
		g.after = nil
	}
}

// gradient is the record of a variable's gradient; nil if the function has made the variable.
func (t *Trace) gradient(v *Variable) *stepGrad {
	g := t.grads[v]
	input := slices.Index(t.given, v)
	if g == nil && (input >= 0 || !t.young[v.cell]) {
		g = &stepGrad{of: v.Retain(), input: input, before: v.grad}
		v.grad = nil
		t.grads[v], t.order = g, append(t.order, g)
	}
	return g
}

// readGrad lets a leaf stand for a gradient that the function has not changed yet. Without make it does so only if there is one.
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
	g.read, v.grad = leaf, t.ctx.variable(leaf)
	t.step.keep = append(t.step.keep, t.ctx.variable(leaf))
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
		for len(x.holders) > 0 {
			t.keep(x.holders[0])
			x.holders[0].set(made)
		}
		made.release()
	}
	return nil
}

func (t *Trace) valueNeeded() error {
	return fmt.Errorf("a value is needed while %s traces the function", t.who)
}

func (t *Trace) roots(mark func(*uop.UOp)) {
	for _, v := range t.before {
		mark(v.node)
	}
}

var errNotComputed = errors.New("a tensor is written that was not computed before")
