package variable

import (
	"slices"

	"polygrad/core/uop"
)

// A value is a node of the graph together with the values it is computed from. A node denotes the same elements forever: a write makes
// a new leaf, and whoever reads the old one keeps its elements.
//
// Values are counted. A leaf that only histories refer to (a computed tensor keeps what it was computed from, for backward) may be
// overwritten: there is no gradient through it from then on.
type value struct {
	ctx  *Context
	node *uop.UOp
	// from are the values whose memory this one is computed from.
	from []*value
	// refs counts the cells and values that refer to this one, histories those of them that only serve gradients.
	refs, histories int
	// mem holds the elements of a leaf; nil for a lazy value, and for a leaf that was overwritten.
	mem *memory
	// origin is the lazy value that a leaf was computed from, if a gradient may flow there.
	origin *value
	// was is the lazy node that a leaf was computed from.
	was *uop.UOp
	// holders are the cells that stand for the value.
	holders []*cell
	flow    flow
	leaf    bool
	// watched: somebody outside relies on where the elements are (Step.Steady), and hears of it when that ends.
	watched bool
	// read: others were computed from the node, and computed leaves may stand for what they were.
	read bool
	// All values of a context are a list.
	prev, next *value
}

// flow is whether gradients flow through a value.
type flow int8

const (
	flowUnset flow = iota
	flowNever
	flowAlways
)

// A Variable is a cell, or a view of one.
type Variable struct {
	ctx  *Context
	cell *cell
	// view is the node of a view when the cell's value was base.
	base, view *uop.UOp
	// shown is the leaf with the elements of a view of a variable that is not computed, as long as that keeps its value.
	shown    *value
	wants    bool // backward gives it a gradient
	detached bool // no gradient flows through it
	grad     *Variable
	refs     int
}

// Context is the context of the variable.
func (v *Variable) Context() *Context { return v.ctx }

// A cell is what a tensor and its views share: a value that a write replaces.
type cell struct {
	value     *value
	variables []*Variable
}

// newValue makes a value that nobody refers to yet.
func (c *Context) newValue(node *uop.UOp, from ...*value) *value {
	v := &value{from: from}
	c.enlist(v, node)
	return v
}

// enlist makes a value one of the context, for a node that is computed from its from.
func (c *Context) enlist(v *value, node *uop.UOp) {
	v.ctx, v.node, v.prev, v.next = c, node, &c.values, c.values.next
	c.values.next.prev = v
	c.values.next = v
	if len(v.from) > 0 {
		v.flow = flowNever
	}
	for _, s := range v.from {
		s.retain()
		s.read = true
		s.changed()
		switch {
		case s.flow == flowAlways:
			v.flow = flowAlways
		case s.flow == flowUnset && v.flow == flowNever:
			v.flow = flowUnset
		}
	}
}

// newLeaf makes a value on memory, with a buffer of its own.
func (c *Context) newLeaf(dt *uop.DType, s uop.Shape, m *memory) (*value, error) {
	node, err := c.newBuffer(dt, s)
	if err != nil {
		return nil, err
	}
	v := c.newValue(node)
	v.leaf, v.mem = true, m
	c.bind(v)
	return v, nil
}

// bind notes the memory of a leaf for kernels.
func (c *Context) bind(v *value) { c.memory[v.node.Base()] = v.mem }

// historic reports whether only histories refer to a value.
func (v *value) historic() bool { return v.refs == 0 && v.histories > 0 }

// retain counts one more reader of the elements.
func (v *value) retain() {
	was := v.historic()
	v.refs++
	if was { // what it is computed from is read again as well
		for _, s := range v.from {
			s.retain()
			s.histories--
		}
	}
}

// release counts one reader less; without any the value is freed.
func (v *value) release() {
	v.refs--
	switch {
	case v.refs > 0:
	case v.histories > 0:
		for _, s := range v.from {
			s.histories++
			s.release()
		}
	default:
		v.free()
	}
}

// remember counts one more history of a value that somebody still reads.
func (v *value) remember() { v.histories++ }

// forget counts one history less.
func (v *value) forget() {
	v.histories--
	if v.refs > 0 || v.histories > 0 {
		return
	}
	for _, s := range v.from {
		s.forget()
	}
	v.from = nil
	v.free()
}

// changed tells that a leaf is not what it was.
func (v *value) changed() {
	if v.watched {
		v.watched = false
		v.ctx.change()
	}
}

func (c *Context) change() {
	if c.Changed != nil {
		c.Changed()
	}
}

// free drops a value that nobody refers to.
func (v *value) free() {
	c := v.ctx
	v.changed()
	v.prev.next, v.next.prev = v.next, v.prev
	if v.leaf {
		c.unbind(v)
	}
	if v.mem != nil {
		v.mem.free()
		v.mem = nil
	}
	c.forget(v)
	if v.origin != nil {
		v.origin.forget()
		v.origin = nil
	}
	for _, s := range v.from {
		s.release()
	}
	v.from = nil
}

func (c *Context) unbind(v *value) { delete(c.memory, v.node.Base()) }

// set lets a cell stand for another value.
func (x *cell) set(v *value) {
	old := x.value
	if old != nil {
		old.changed()
	}
	v.retain()
	v.holders = append(v.holders, x)
	x.value = v
	if old != nil {
		x.leave(old)
	}
}

// leave ends that a cell stands for a value.
func (x *cell) leave(old *value) {
	i := slices.Index(old.holders, x)
	old.holders = slices.Delete(old.holders, i, i+1)
	old.release()
}

// IsView reports whether a variable shows the cell's value in another way.
func (v *Variable) IsView() bool { return v.view != nil }

// Node is the node that a variable stands for now.
func (v *Variable) Node() *uop.UOp {
	now := v.cell.value.node
	switch {
	case v.view == nil:
		return now
	case v.base != now:
		v.view, v.base = moveView(v.view, v.base, now), now
		v.show(nil)
	}
	return v.view
}

// Lend is Node for somebody who makes other nodes of it.
func (v *Variable) Lend() *uop.UOp {
	v.cell.value.read = true
	v.cell.value.changed()
	return v.Node()
}

// source is the value that what is made of a variable is computed from. It comes before the variable's node.
func (v *Variable) source() *value {
	if t := v.ctx.trace; t != nil {
		t.use(v.cell)
	}
	x := v.cell.value
	if !v.detached || x.flow != flowAlways {
		return x
	}
	d := v.ctx.newValue(v.Node(), x)
	d.flow = flowNever
	return d
}

// split gives a cell that shares its leaf with others a leaf of its own.
func (x *cell) split(c *Context) error {
	old := x.value
	if !old.leaf || old.mem == nil || len(old.holders) < 2 {
		return nil
	}
	own, err := c.copyOf(old)
	if err != nil {
		return err
	}
	own.flow = old.flow
	x.set(own)
	return nil
}

// differentiable reports whether a gradient flows through a variable.
func (v *Variable) differentiable() bool { return v.cell.value.flow == flowAlways && !v.detached }

// show keeps the leaf with the elements of a view; nil for none.
func (v *Variable) show(leaf *value) {
	if leaf != nil {
		leaf.retain()
	}
	if v.shown != nil {
		v.shown.release()
	}
	v.shown = leaf
}

// IsComputed reports whether the elements, or those that the variable is a view of, are computed.
func (v *Variable) IsComputed() bool { return v.leaf() != nil }

// leaf is the leaf with the elements of a variable, or of what it is a view of; nil if it is not computed.
func (v *Variable) leaf() *value {
	if v.IsView() {
		v.Node() // lets go of what is shown no more
	}
	if v.cell.value.leaf {
		return v.cell.value
	}
	return v.shown
}
