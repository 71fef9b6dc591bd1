package variable

import (
	"fmt"
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// A write gives a cell another value. What was made of the tensor before keeps the elements of then: they stay where they are and the
// tensor gets other memory, unless nobody else reads them; then it is written in place.

// moveView is a view of base as the same view of another node.
func moveView(view, base, to *uop.UOp) *uop.UOp {
	moved, err := tensor.MoveView(view, base, to)
	if err != nil {
		panic("variable: " + err.Error()) // a view was checked when it was made, and a cell keeps its shape and type
	}
	return moved
}

// put lets a variable, and all views of its cell, stand for a new value without computing it.
func (v *Variable) put(to *value) error {
	old := v.cell.value
	if v.IsView() {
		node, err := tensor.SetView(v.Node(), old.node, to.node)
		if err != nil {
			return err
		}
		to = v.ctx.newValue(node, old, to)
	}
	if v.ctx.trace != nil {
		v.ctx.trace.keep(v.cell)
	}
	v.cell.set(to)
	return nil
}

// assign writes values of the targets' shapes and types, all computed before any is written. The caller has retained the values.
func (c *Context) assign(targets []*Variable, news []*value) error {
	c.settle()
	own := owned(news)
	var written []writing
	for i, t := range targets {
		if news[i] == t.cell.value && !t.IsView() {
			continue
		}
		if c.trace != nil || !t.cell.value.leaf || t.IsView() && t.cell.value.origin != nil { // gradients flow through the other elements
			if err := t.put(c.detach(news[i])); err != nil {
				return err
			}
			continue
		}
		w, err := c.begin(t, news[i], own[t.cell.value])
		if err != nil {
			for _, w := range written {
				w.fresh.release()
			}
			return err
		}
		written = append(written, w)
	}
	var stores, assigns []*uop.UOp
	for _, w := range written {
		switch {
		case w.store == nil:
		case w.store.Op == uop.Store:
			stores = append(stores, w.store)
		default:
			assigns = append(assigns, w.store)
		}
	}
	err := c.run(append(stores, schedule.Simultaneous(assigns)...))
	for _, w := range written {
		if err == nil {
			w.end()
		}
		w.fresh.release()
	}
	return err
}

// detach is a value through which no gradient flows.
func (c *Context) detach(v *value) *value {
	if v.flow != flowAlways {
		return v
	}
	node, err := tensor.Detach(v.node)
	if err != nil {
		panic("variable: " + err.Error()) // any tensor can be detached
	}
	d := c.newValue(node, v)
	d.flow = flowNever
	return d
}

// A writing is a write to a leaf that is about to run.
type writing struct {
	cell *cell
	// fresh is the leaf of the new contents. In place it gets the memory of the old one.
	fresh   *value
	inPlace bool
	store   *uop.UOp // nil where there are no elements
	same    []*cell  // cells of the value that is written: they stand for the new contents
}

// owned counts, for each value, how often values that are about to be written read it, if nothing else is computed from those.
func owned(news []*value) map[*value]int {
	own := map[*value]int{}
	for _, v := range news {
		if v.refs == 1+len(v.holders) {
			for _, s := range v.from {
				own[s]++
			}
		}
	}
	return own
}

// begin prepares a write. Of the readers of the old contents, own are values that are about to be written.
func (c *Context) begin(t *Variable, to *value, own int) (writing, error) {
	old := t.cell.value
	w := writing{cell: t.cell, inPlace: old.refs-own == 1}
	if w.inPlace && !t.IsView() && !to.leaf {
		w.same = slices.Clone(to.holders)
	} else if len(to.holders) > 0 && own > 0 {
		w.inPlace = false // who holds the value goes on reading the old contents
	}
	var err error
	if w.fresh, err = c.newLeaf(old.node.DType, old.node.Shape(), nil); err != nil {
		return w, err
	}
	w.fresh.retain()
	c.unbind(w.fresh)
	target := old.node
	if !w.inPlace {
		m, err := allocate(old.mem.size)
		if err != nil {
			w.fresh.release()
			return w, err
		}
		if t.IsView() || old.mem.shared() {
			copy(m.bytes(), old.mem.bytes())
		}
		if old.mem.shared() { // others see this memory: the readers get the copy
			old.mem, m = m, old.mem
			c.bind(old)
		}
		w.fresh.mem = m
		c.bind(w.fresh)
		target = w.fresh.node
	}
	if tensor.Elements(to.node) == 0 {
		return w, nil
	}
	m := w.fresh.mem
	if w.inPlace {
		m = old.mem
	}
	switch {
	case t.IsView() && own == 0 && t.copyTo(m, to):
	case t.IsView():
		w.store, err = tensor.AssignTo(moveView(t.Node(), old.node, target), to.node)
	case w.inPlace:
		w.store, err = tensor.AssignTo(target, to.node)
	default:
		w.store, err = tensor.Store(target, to.node)
	}
	if err != nil {
		w.fresh.release()
	}
	return w, err
}

// end lets cells stand for the new contents.
func (w *writing) end() {
	old := w.cell.value
	c := old.ctx
	if w.inPlace {
		c.forget(old)
		c.unbind(old)
		w.fresh.mem, old.mem = old.mem, nil
		c.bind(w.fresh)
	}
	w.fresh.flow = flowUnset
	for _, v := range w.cell.variables {
		if v.wants {
			w.fresh.flow = flowAlways
		}
	}
	if old.flow == flowNever && w.fresh.flow == flowUnset {
		w.fresh.flow = flowNever
	}
	w.cell.set(w.fresh)
	for _, x := range w.same {
		x.set(w.fresh)
	}
}

// sameType checks that a node has the type of a variable.
func (v *Variable) sameType(x *uop.UOp) error {
	if want := v.Node().DType; x.DType != want {
		return fmt.Errorf("x: is %s, expected %s as the tensor: see Cast", x.DType.NumpyName(), want.NumpyName())
	}
	return nil
}

// fit is a value in the shape and type of a variable, to be assigned.
func (v *Variable) fit(to *value) (*value, error) {
	node, have := v.Node(), to.node
	if err := v.sameType(have); err != nil {
		return nil, err
	}
	if have.Shape().Equal(node.Shape()) {
		return to, nil
	}
	wide, err := tensor.Expand(have, node.Shape())
	if err != nil || len(have.Shape()) > len(node.Shape()) {
		return nil, fmt.Errorf("x: of shape %s does not broadcast to %s", have.Shape(), node.Shape())
	}
	return v.ctx.newValue(wide, to), nil
}
