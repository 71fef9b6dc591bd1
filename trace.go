package polygrad

import (
	"errors"
	"fmt"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// A trace records what a function does to tensors, so that it can be compiled. Nothing is computed meanwhile: a write only gives its
// cell another value. At the end all cells and gradients that are older than the trace are put back.
type trace struct {
	who    string
	ctx    *Context
	cells  []*cell
	before map[*cell]*value // retained
	grads  map[*variable]*variable
	seeds  []seed
	// young are the cells that the function makes.
	young map[*cell]bool
	// used are the cells in which the function has found leaves, by buffer.
	used map[*uop.UOp]*cell
	// held keep the cells that have changed.
	held []*variable
}

func (c *Context) beginTrace(who string) (*trace, error) {
	if c.trace != nil {
		return nil, fmt.Errorf("inside of %s", c.trace.who)
	}
	c.trace = &trace{who: who, ctx: c, before: map[*cell]*value{}, grads: map[*variable]*variable{}, young: map[*cell]bool{}, used: map[*uop.UOp]*cell{}}
	return c.trace, nil
}

// A change is a write that a function makes: the leaf of a cell from before, and its new value.
type change struct {
	cell          *cell
	held          *variable // keeps the cell
	before, after *value    // retained
}

// let gives up what a change retains.
func (ch *change) let() {
	ch.after.release()
	ch.before.release()
}

// end puts everything back and returns the writes.
func (t *trace) end() []change {
	t.ctx.trace = nil
	var changes []change
	for i, x := range t.cells {
		before, after := t.before[x], x.value
		after.retain()
		x.set(before)
		changes = append(changes, change{x, t.held[i], before, after})
	}
	for v, g := range t.grads {
		if v.grad != nil {
			v.grad.drop()
		}
		v.grad = g
	}
	return changes
}

// keep remembers the value of a cell that is about to change.
func (t *trace) keep(x *cell) {
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
func (t *trace) use(x *cell) {
	if t.young[x] || t.before[x] != nil {
		return
	}
	c := t.ctx
	c.trace = nil
	defer func() { c.trace = t }()
	if !x.value.leaf {
		v := x.hold(c)
		err := c.realize([]*variable{v})
		v.drop()
		if err != nil {
			return // told where the value is needed
		}
	}
	if x.part(c) == nil {
		t.used[x.value.node.Base()] = x
	}
}

// keepGrad remembers the gradient of a variable that is about to change.
func (t *trace) keepGrad(v *variable) {
	if _, known := t.grads[v]; known {
		return
	}
	if v.grad != nil {
		v.grad.refs++
	}
	t.grads[v] = v.grad
}

// realize gives lazy tensors memory of their own in the program.
func (t *trace) realize(vs []*variable) error {
	for _, v := range vs {
		x := v.cell.value
		if x.leaf || v.isView() {
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

func (t *trace) valueNeeded() error {
	return fmt.Errorf("a value is needed while %s traces the function", t.who)
}

func (t *trace) roots(mark func(*uop.UOp)) {
	for _, v := range t.before {
		mark(v.node)
	}
}

var errNotComputed = errors.New("a tensor is written that was not computed before")
