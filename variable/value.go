package variable

import (
	"slices"

	"polygrad/core/uop"
)

// A value is a node of the graph together with the values it is computed from. A node denotes the same elements forever: a write makes
// a new leaf, and readers of the old leaf keep its elements.
//
// Values have two reference counts. A computed tensor keeps the values it was computed from for backward; these references are its
// history. A leaf that only histories refer to may be overwritten, which makes a gradient through it an error.
type value struct {
	ctx  *Context
	node *uop.UOp
	// from are the values whose memory this one is computed from.
	from []*value
	// refs counts the cells and values that read this one, histories the computed values that keep it for gradients only.
	refs, histories int
	// mem holds the elements of a leaf; nil for a lazy value, and for a leaf that was overwritten.
	mem *memory
	// origin is the lazy value that a leaf was computed from, if a gradient may flow there.
	origin *value
	// lazyNode is the lazy node that a leaf was computed from, at the time computedAt.
	lazyNode   *uop.UOp
	computedAt int64
	// made is when the value was made, or the first of the lazy values that it is computed from.
	made int64
	// cells are the cells whose value this is.
	cells []*cell
	flow  flow
	leaf  bool
	// device is that of the programs that compute it or read it: see Variable.To.
	device string
	// argument: it stands for an argument of a function that is traced (Tracing).
	argument bool
	// addressUsed: C holds the address of the elements (Step.Rerunnable), and Context.OnInvalidate is called when that changes.
	addressUsed bool
	// exported: other nodes were computed from the node, so its memory must not be overwritten under the same node.
	exported bool
	// The values of a context form a doubly linked list.
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
	// view is the node of a view, derived from base, the node of the cell at that time.
	base, view *uop.UOp
	// computedView is the leaf of a view that was computed alone; valid until the lazy value of the cell changes.
	computedView *value
	requiresGrad bool // backward gives it a gradient
	detached     bool // no gradient flows through it
	grad         *Variable
	refs         int
}

// Context is the context of the variable.
func (v *Variable) Context() *Context { return v.ctx }

// A cell is what a tensor and its views share: a value that a write replaces.
type cell struct {
	value     *value
	variables []*Variable
	tracing   *Tracing // that it was made in, nil for none
}

// newValue makes a value that nobody refers to yet.
func (c *Context) newValue(node *uop.UOp, from ...*value) *value {
	v := &value{from: from}
	c.addValue(v, node)
	return v
}

// addValue adds a value to the context's list, retains its sources and derives its flow from theirs.
func (c *Context) addValue(v *value, node *uop.UOp) {
	v.ctx, v.node, v.prev, v.next, v.made = c, node, &c.values, c.values.next, c.clock
	c.values.next.prev = v
	c.values.next = v
	if len(v.from) > 0 {
		v.flow = flowNever
	}
	for _, s := range v.from {
		s.retain()
		s.exported = true
		s.invalidate()
		if v.device == "" {
			v.device = s.device
		}
		if !s.leaf {
			v.made = min(v.made, s.made)
		}
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

// bind makes the memory of a leaf available to kernels.
func (c *Context) bind(v *value) { c.memory[v.node.Storage()] = v.mem }

// historyOnly reports whether only histories refer to a value.
func (v *value) historyOnly() bool { return v.refs == 0 && v.histories > 0 }

// retain counts one more reader of the elements.
func (v *value) retain() {
	was := v.historyOnly()
	v.refs++
	if was { // its sources have a reader again
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

// retainHistory adds a reference that only serves gradients, to a value that has a reader.
func (v *value) retainHistory() { v.histories++ }

// releaseHistory drops a reference that only serves gradients.
func (v *value) releaseHistory() {
	v.histories--
	if v.refs > 0 || v.histories > 0 {
		return
	}
	for _, s := range v.from {
		s.releaseHistory()
	}
	v.from = nil
	v.free()
}

// invalidate reports that the memory, node or readers of a leaf have changed.
func (v *value) invalidate() {
	if v.addressUsed {
		v.addressUsed = false
		v.ctx.invalidate()
	}
}

func (c *Context) invalidate() {
	if c.OnInvalidate != nil {
		c.OnInvalidate()
	}
}

// free drops a value that nobody refers to.
func (v *value) free() {
	c := v.ctx
	v.invalidate()
	v.prev.next, v.next.prev = v.next, v.prev
	if v.leaf {
		c.unbind(v)
	}
	if v.argument {
		delete(c.arguments, v.node.Storage())
	}
	if v.mem != nil {
		v.mem.free()
		v.mem = nil
	}
	c.forgetComputed(v)
	if v.origin != nil {
		v.origin.releaseHistory()
		v.origin = nil
	}
	for _, s := range v.from {
		s.release()
	}
	v.from = nil
}

func (c *Context) unbind(v *value) { delete(c.memory, v.node.Storage()) }

// set replaces the value of a cell.
func (x *cell) set(v *value) {
	old := x.value
	if old != nil {
		old.invalidate()
	}
	v.retain()
	v.cells = append(v.cells, x)
	x.value = v
	if old != nil {
		x.removeFrom(old)
	}
}

// removeFrom ends that a cell stands for a value.
func (x *cell) removeFrom(old *value) {
	i := slices.Index(old.cells, x)
	old.cells = slices.Delete(old.cells, i, i+1)
	old.release()
}

// IsView reports whether a variable is a view of its cell's value.
func (v *Variable) IsView() bool { return v.view != nil }

// Node is the current node of a variable.
func (v *Variable) Node() *uop.UOp {
	now := v.cell.value.node
	switch {
	case v.view == nil:
		return now
	case v.base != now:
		v.view, v.base = moveView(v.view, v.base, now), now
		v.setComputedView(nil)
	}
	return v.view
}

// ExportNode is Node for callers that build other nodes on it.
func (v *Variable) ExportNode() *uop.UOp {
	v.cell.value.exported = true
	v.cell.value.invalidate()
	return v.Node()
}

// source is the value that results of an operation on the variable refer to. Call it before Node: a trace may replace the node here.
func (v *Variable) source() *value {
	if t := v.ctx.trace; t != nil {
		t.capture(v.cell)
	}
	x := v.cell.value
	if !v.detached || x.flow != flowAlways {
		return x
	}
	d := v.ctx.newValue(v.Node(), x)
	d.flow = flowNever
	return d
}

// unshare copies the leaf of a cell that shares it with other cells.
func (x *cell) unshare(c *Context) error {
	old := x.value
	if !old.leaf || old.mem == nil || len(old.cells) < 2 {
		return nil
	}
	own, err := c.copyOf(old)
	if err != nil {
		return err
	}
	own.flow = old.flow
	if own.origin = old.origin; own.origin != nil {
		own.origin.retainHistory()
	}
	x.set(own)
	return nil
}

// differentiable reports whether a gradient flows through a variable.
func (v *Variable) differentiable() bool { return v.cell.value.flow == flowAlways && !v.detached }

// setComputedView sets the leaf of a view that was computed alone; nil for none.
func (v *Variable) setComputedView(leaf *value) {
	if leaf != nil {
		leaf.retain()
	}
	if v.computedView != nil {
		v.computedView.release()
	}
	v.computedView = leaf
}

// IsComputed reports whether the elements, or those that the variable is a view of, are computed.
func (v *Variable) IsComputed() bool { return v.leaf() != nil }

// leaf is the leaf with the elements of a variable or of its base; nil if neither is computed.
func (v *Variable) leaf() *value {
	if v.IsView() {
		v.Node() // drops a computedView that is out of date
	}
	if v.cell.value.leaf {
		return v.cell.value
	}
	return v.computedView
}
