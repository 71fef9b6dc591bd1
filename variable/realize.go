package variable

import (
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Realize computes variables in one program. A view of a computed tensor needs no computation. A view of a lazy tensor is computed
// without its base, which could cost any amount, and stays a view.
func (c *Context) Realize(vs ...*Variable) error {
	if c.trace != nil {
		return c.trace.realize(vs)
	}
	c.waitJobs()
	if !slices.ContainsFunc(vs, func(v *Variable) bool { return v.leaf() == nil }) {
		return nil
	}
	b, stores, err := c.prepare(vs)
	if err == nil {
		err = c.run(stores)
	}
	if err == nil {
		b.commit()
	}
	b.release()
	return err
}

// A batch is a set of values that one program computes.
type batch struct {
	c      *Context
	values []*value // retained
	// leaves are the destinations, by node and device; retained.
	leaves map[placed]*value
	// views are the views computed without their bases.
	views []*Variable
}

// A placed node is computed on a device, "" for that of the context.
type placed struct {
	node   *uop.UOp
	device string
}

func (v *value) placed() placed { return placed{v.node, v.device} }

// prepare collects the lazy ones of the variables, and returns the program's stores.
func (c *Context) prepare(vs []*Variable) (b *batch, stores []work, err error) {
	b = &batch{c: c}
	for _, v := range vs {
		switch {
		case v.leaf() != nil:
		case v.IsView():
			made := c.newValue(v.Node(), v.cell.value)
			made.flow = v.cell.value.flow
			b.add(made)
			b.views = append(b.views, v)
		default:
			b.add(v.cell.value)
		}
	}
	stores, err = b.stores()
	return b, stores, err
}

func (b *batch) add(v *value) {
	v.retain()
	b.values = append(b.values, v)
}

// stores makes the leaves, and the STOREs that fill them.
func (b *batch) stores() (stores []work, err error) {
	c := b.c
	b.leaves = make(map[placed]*value, len(b.values))
	stores = make([]work, 0, len(b.values))
	for _, v := range b.values {
		if b.leaves[v.placed()] != nil {
			continue
		}
		s, dt := v.node.Shape(), v.node.DType
		n, err := tensor.MostElements(s)
		if err != nil {
			return nil, err
		}
		m, err := c.allocate(sizeOf(n, dt), v.device)
		if err != nil {
			return nil, err
		}
		leaf, err := c.newLeaf(dt, s, m)
		if err != nil {
			m.free()
			return nil, err
		}
		leaf.retain()
		b.leaves[v.placed()] = leaf
		if n > 0 {
			store, err := tensor.Store(leaf.node, c.readComputed(v))
			if err != nil {
				return nil, err
			}
			stores = append(stores, work{store, v.device})
		}
	}
	return stores, nil
}

// commit replaces the values by their leaves, which have been computed.
func (b *batch) commit() {
	c := b.c
	for _, v := range b.values {
		leaf := b.leaves[v.placed()]
		if leaf.computedAt > 0 {
			continue // another value of the same node and device was handled
		}
		v.computedAs(leaf)
		c.recordComputed(leaf, v.node)
	}
	for _, v := range b.views {
		if leaf := b.leaves[placed{v.Node(), v.cell.value.device}]; leaf != nil && v.leaf() == nil {
			v.setComputedView(leaf)
		}
	}
	for _, v := range b.values {
		for len(v.cells) > 0 {
			v.cells[0].set(b.leaves[v.placed()])
		}
	}
}

// release releases the values and leaves.
func (b *batch) release() {
	for _, v := range b.values {
		v.release()
	}
	for _, leaf := range b.leaves {
		leaf.release()
	}
	b.values, b.leaves = nil, nil
}

// readComputed replaces lazy nodes in a value by the leaves that were computed from them since the value was made. An older leaf is not read:
// what is computed from the same node once more, perhaps because a host has written the memory that it is computed from, is computed anew.
func (c *Context) readComputed(v *value) *uop.UOp {
	if v.made == c.clock {
		return v.node // nothing was computed since
	}
	leaves := rewrite.Map{}
	for _, u := range v.node.Toposort() {
		if leaf := c.computed[u]; leaf != nil && leaf.computedAt > v.made && u.Base().Op != uop.ConstOp { // programs know numbers better than memory
			leaves[u] = leaf.node
		}
		if leaf := c.planes[u]; leaf != nil && leaf.computedAt > v.made && u.Base().Op != uop.ConstOp {
			leaves[u] = planeOf(leaf.node, leaf.lazyNode, u)
		}
	}
	return rewrite.Substitute(v.node, leaves)
}

// Origin is the lazy node that a computed variable was computed from, if it is known; else its node.
func (v *Variable) Origin() *uop.UOp {
	leaf := v.leaf()
	if leaf == nil || leaf.lazyNode == nil || v.IsView() && leaf != v.computedView {
		return v.Node()
	}
	known := rewrite.Map{}
	for node, other := range v.ctx.computed {
		if other != leaf && node.Base().Op != uop.ConstOp {
			known[node] = other.node
		}
	}
	return rewrite.Substitute(leaf.lazyNode, known)
}

// recordComputed records that a leaf has the elements of a lazy node, so that programs of values that were made before read the leaf instead
// of computing the node.
func (c *Context) recordComputed(leaf *value, node *uop.UOp) {
	c.forgetComputed(leaf)
	if old := c.computed[node]; old != nil {
		old.lazyNode = nil
	}
	c.clock++
	leaf.lazyNode, leaf.computedAt = node, c.clock
	c.computed[node] = leaf
	if node.DType.IsComplex() {
		re, im := node.Planes()
		c.planes[re], c.planes[im] = leaf, leaf
	}
}

// planeOf is the plane of a complex tensor that corresponds to one of another.
func planeOf(x, like, plane *uop.UOp) *uop.UOp {
	re, im := x.Planes()
	if first, _ := like.Planes(); first == plane {
		return re
	}
	return im
}

// forgetComputed removes the record of a leaf.
func (c *Context) forgetComputed(leaf *value) {
	if leaf.lazyNode != nil {
		delete(c.computed, leaf.lazyNode)
		if leaf.lazyNode.DType.IsComplex() {
			re, im := leaf.lazyNode.Planes()
			for _, u := range []*uop.UOp{re, im} {
				if c.planes[u] == leaf {
					delete(c.planes, u)
				}
			}
		}
		leaf.lazyNode = nil
	}
}

// compute computes a node into new memory, on a device.
func (c *Context) compute(node *uop.UOp, device string) (*memory, error) {
	b := &batch{c: c}
	v := c.newValue(node)
	v.device = device
	b.add(v)
	defer b.release()
	stores, err := b.stores()
	if err == nil {
		err = c.run(stores)
	}
	if err != nil {
		return nil, err
	}
	leaf := b.leaves[v.placed()]
	m := leaf.mem
	c.unbind(leaf)
	leaf.mem = nil
	return m, nil
}
