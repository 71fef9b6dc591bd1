package variable

import (
	"fmt"
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// A write gives a cell another value. Results built from the tensor before keep the old elements: the old memory stays with them and
// the tensor gets other memory. If there are no such results, the write is in place.

// moveView rebases a view of base to another node.
func moveView(view, base, to *uop.UOp) *uop.UOp {
	moved, err := tensor.MoveView(view, base, to)
	if err != nil {
		panic("variable: " + err.Error()) // a view was checked when it was made, and a cell keeps its shape and type
	}
	return moved
}

// setValue gives the cell of a variable a lazy value.
func (v *Variable) setValue(to *value) error {
	if err := v.ctx.mayWrite(v.cell); err != nil {
		return err
	}
	old := v.cell.value
	if v.IsView() {
		node, err := tensor.SetView(v.Node(), old.node, to.node)
		if err != nil {
			return err
		}
		to = v.ctx.newValue(node, old, to)
	}
	if v.ctx.trace != nil {
		v.ctx.trace.save(v.cell)
	}
	v.cell.set(to)
	return nil
}

// assign writes values of the targets' shapes and types; all are computed before any is written. The caller has retained the values.
func (c *Context) assign(targets []*Variable, news []*value) error {
	c.waitJobs()
	for _, t := range targets {
		if err := c.mayWrite(t.cell); err != nil {
			return err
		}
	}
	own := countReads(news)
	devices := make([]string, len(targets))
	var all []string
	for i, t := range targets {
		var err error
		if devices[i], err = t.target(news[i]); err != nil {
			return err
		}
		all = c.appendDevice(all, devices[i])
	}
	var written []pendingWrite
	for i, t := range targets {
		if news[i] == t.cell.value && !t.IsView() {
			continue
		}
		if c.trace != nil || !t.cell.value.leaf || t.IsView() && t.cell.value.origin != nil { // gradients flow through the other elements
			if err := t.setValue(c.detach(news[i])); err != nil {
				return err
			}
			continue
		}
		w, err := c.prepareWrite(t, news[i], own[t.cell.value], devices[i], len(all) == 1)
		if err != nil {
			for _, w := range written {
				w.leaf.release()
			}
			return err
		}
		written = append(written, w)
	}
	var works []work
	for _, w := range written {
		if w.store != nil {
			works = append(works, work{w.store, w.leaf.device})
		}
	}
	err := c.run(works)
	for _, w := range written {
		if err == nil {
			w.commit()
		}
		w.leaf.release()
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

// A pendingWrite is a write to a leaf that has been prepared and has not run.
type pendingWrite struct {
	cell *cell
	// leaf has the new contents. In place it gets the memory of the old leaf.
	leaf    *value
	inPlace bool
	store   *uop.UOp // nil where there are no elements
	aliases []*cell  // cells of the written value, which share the leaf afterwards
}

// countReads counts, for each value, its reads by the new values that have no other readers: these reads end with the write.
func countReads(news []*value) map[*value]int {
	own := map[*value]int{}
	for _, v := range news {
		if v.refs == 1+len(v.cells) {
			for _, s := range v.from {
				own[s]++
			}
		}
	}
	return own
}

// prepareWrite prepares a write on a device. own is the number of reads of the old contents that end with the write (see countReads). alone:
// the writes are one program, so none of them is done before the others have read.
func (c *Context) prepareWrite(t *Variable, to *value, own int, device string, alone bool) (pendingWrite, error) {
	old := t.cell.value
	w := pendingWrite{cell: t.cell, inPlace: alone && old.refs-own == 1}
	if w.inPlace && !t.IsView() && !to.leaf {
		w.aliases = slices.Clone(to.cells)
	} else if len(to.cells) > 0 && own > 0 {
		w.inPlace = false // the value's own cells go on reading the old contents
	}
	var err error
	if w.leaf, err = c.newLeaf(old.node.DType, old.node.Shape(), nil); err != nil {
		return w, err
	}
	w.leaf.device = device
	w.leaf.retain()
	c.unbind(w.leaf)
	target := old.node
	if !w.inPlace {
		m, err := c.allocate(old.mem.size, device)
		if err != nil {
			w.leaf.release()
			return w, err
		}
		if t.IsView() || old.mem.stays() {
			if err := m.copyFrom(old.mem); err != nil {
				m.free()
				w.leaf.release()
				return w, err
			}
		}
		if old.mem.stays() { // the tensor keeps the memory of the host or the program, the readers get the copy
			old.mem, m = m, old.mem
			c.bind(old)
		}
		w.leaf.mem = m
		c.bind(w.leaf)
		target = w.leaf.node
	}
	if tensor.Elements(to.node) == 0 {
		return w, nil
	}
	m := w.leaf.mem
	if w.inPlace {
		m = old.mem
	}
	copied := false
	if t.IsView() && own == 0 {
		if copied, err = t.copyTo(m, to); err != nil {
			w.leaf.release()
			return w, err
		}
	}
	switch {
	case copied:
	case t.IsView():
		w.store, err = tensor.AssignTo(moveView(t.Node(), old.node, target), to.node)
	case w.inPlace:
		w.store, err = tensor.AssignTo(target, to.node)
	default:
		w.store, err = tensor.Store(target, to.node)
	}
	if err != nil {
		w.leaf.release()
	}
	return w, err
}

// commit replaces the values of the cells by the new leaf.
func (w *pendingWrite) commit() {
	old := w.cell.value
	c := old.ctx
	if w.inPlace {
		c.forgetComputed(old)
		c.unbind(old)
		w.leaf.mem, old.mem = old.mem, nil
		c.bind(w.leaf)
	}
	w.leaf.flow = flowUnset
	for _, v := range w.cell.variables {
		if v.requiresGrad {
			w.leaf.flow = flowAlways
		}
	}
	if old.flow == flowNever && w.leaf.flow == flowUnset {
		w.leaf.flow = flowNever
	}
	w.cell.set(w.leaf)
	for _, x := range w.aliases {
		x.set(w.leaf)
	}
}

// sameType checks that a node has the type of a variable.
func (v *Variable) sameType(x *uop.UOp) error {
	if want := v.Node().DType; x.DType != want {
		return fmt.Errorf("x: is %s, expected %s as the tensor: see Cast", x.DType.NumpyName(), want.NumpyName())
	}
	return nil
}

// fit broadcasts a value to the shape of a variable, and checks its type.
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
		return nil, fmt.Errorf("x: of shape %s, expected one that broadcasts to %s", have.Shape(), node.Shape())
	}
	return v.ctx.newValue(wide, to), nil
}
