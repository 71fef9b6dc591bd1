package variable

import (
	"maps"
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Realize computes variables, in one program. A view of a computed tensor stays a view. A view of one that is not is computed
// alone, and stays a view: to compute all of what it is a view of could cost any amount.
func (c *Context) Realize(vs ...*Variable) error {
	if c.trace != nil {
		return c.trace.realize(vs)
	}
	c.settle()
	if !slices.ContainsFunc(vs, func(v *Variable) bool { return v.leaf() == nil }) {
		return nil
	}
	b, stores, err := c.prepare(vs)
	if err == nil {
		err = c.run(stores)
	}
	if err == nil {
		b.finish()
	}
	b.drop()
	return err
}

// A batch is values that are computed by one program.
type batch struct {
	c    *Context
	todo []*value // retained
	// leaves are where the values are computed to, by node; retained.
	leaves map[*uop.UOp]*value
	// apart are views that are computed alone.
	apart []*Variable
}

// prepare finds what has to be computed of variables, and returns the program's stores.
func (c *Context) prepare(vs []*Variable) (b *batch, stores []*uop.UOp, err error) {
	b = &batch{c: c}
	for _, v := range vs {
		switch {
		case v.leaf() != nil:
		case v.IsView():
			made := c.newValue(v.Node(), v.cell.value)
			made.flow = v.cell.value.flow
			b.add(made)
			b.apart = append(b.apart, v)
		default:
			b.add(v.cell.value)
		}
	}
	stores, err = b.stores()
	return b, stores, err
}

func (b *batch) add(v *value) {
	v.retain()
	b.todo = append(b.todo, v)
}

// stores makes the leaves, and what writes them.
func (b *batch) stores() (stores []*uop.UOp, err error) {
	c := b.c
	b.leaves = make(map[*uop.UOp]*value, len(b.todo))
	stores = make([]*uop.UOp, 0, len(b.todo))
	for _, v := range b.todo {
		if b.leaves[v.node] != nil {
			continue
		}
		s, dt := v.node.Shape(), v.node.DType
		n, err := tensor.MostElements(s)
		if err != nil {
			return nil, err
		}
		m, err := allocate(sizeOf(n, dt))
		if err != nil {
			return nil, err
		}
		leaf, err := c.newLeaf(dt, s, m)
		if err != nil {
			m.free()
			return nil, err
		}
		leaf.retain()
		b.leaves[v.node] = leaf
		if n > 0 {
			store, err := tensor.Store(leaf.node, c.withKnown(v.node))
			if err != nil {
				return nil, err
			}
			stores = append(stores, store)
		}
	}
	return stores, nil
}

// finish lets variables stand for the leaves, which have been computed.
func (b *batch) finish() {
	c := b.c
	for _, v := range b.todo {
		leaf := b.leaves[v.node]
		if leaf.was == v.node {
			continue // another value of this node was first
		}
		leaf.flow = v.flow
		if v.flow == flowAlways && v.node.DType.IsFloat() {
			leaf.origin = v
			v.remember()
		}
		c.note(leaf, v.node)
	}
	for _, v := range b.apart {
		if leaf := b.leaves[v.Node()]; leaf != nil && v.leaf() == nil {
			v.show(leaf)
		}
	}
	for _, v := range b.todo {
		for len(v.holders) > 0 {
			v.holders[0].set(b.leaves[v.node])
		}
	}
}

// drop lets go of the values.
func (b *batch) drop() {
	for _, v := range b.todo {
		v.release()
	}
	for _, leaf := range b.leaves {
		leaf.release()
	}
	b.todo, b.leaves = nil, nil
}

// withKnown is a node that reads leaves instead of lazy nodes that are computed.
func (c *Context) withKnown(node *uop.UOp) *uop.UOp {
	if len(c.known) == 0 {
		return node
	}
	return rewrite.Substitute(node, c.known)
}

// Origin is the node that the elements of a computed variable were computed by, as far as it is known; else its node.
func (v *Variable) Origin() *uop.UOp {
	leaf := v.leaf()
	if leaf == nil || leaf.was == nil || v.IsView() && leaf != v.shown {
		return v.Node()
	}
	known := maps.Clone(v.ctx.known)
	delete(known, leaf.was)
	return rewrite.Substitute(leaf.was, known)
}

// note remembers that a leaf has the elements of a lazy node: what is computed from that node reads the leaf.
func (c *Context) note(leaf *value, node *uop.UOp) {
	c.forget(leaf)
	if old := c.computed[node]; old != nil {
		old.was = nil
	}
	leaf.was = node
	c.computed[node] = leaf
	c.known[node] = leaf.node
}

// forget ends that a leaf stands for a lazy node.
func (c *Context) forget(leaf *value) {
	if leaf.was != nil {
		delete(c.computed, leaf.was)
		delete(c.known, leaf.was)
		leaf.was = nil
	}
}

// compute computes a node into new memory.
func (c *Context) compute(node *uop.UOp) (*memory, error) {
	b := &batch{c: c}
	b.add(c.newValue(node))
	defer b.drop()
	stores, err := b.stores()
	if err == nil {
		err = c.run(stores)
	}
	if err != nil {
		return nil, err
	}
	leaf := b.leaves[node]
	m := leaf.mem
	c.unbind(leaf)
	leaf.mem = nil
	return m, nil
}
