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
	before, after *value // retained
}

// end puts everything back and returns the writes.
func (t *trace) end() []change {
	t.ctx.trace = nil
	var changes []change
	for _, x := range t.cells {
		before, after := t.before[x], x.value
		after.retain()
		x.set(before)
		changes = append(changes, change{x, before, after})
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
	x.value.retain()
	t.before[x] = x.value
	t.cells = append(t.cells, x)
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
