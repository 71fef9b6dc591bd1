package polygrad

import (
	"polygrad/core/rewrite"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// realize computes variables, in one program. A view of a computed tensor stays a view. A view of one that is not is computed
// alone, and stays a view: to compute all of what it is a view of could cost any amount.
func (c *Context) realize(vs []*variable) error {
	if c.trace != nil {
		return c.trace.realize(vs)
	}
	var todo []*value
	var apart []*variable
	for _, v := range vs {
		switch {
		case v.leaf() != nil:
		case v.isView():
			made := c.newValue(v.node(), v.cell.value)
			made.flow = v.cell.value.flow
			made.retain()
			defer made.release()
			todo, apart = append(todo, made), append(apart, v)
		default:
			todo = append(todo, v.cell.value)
		}
	}
	leaves, err := c.computeAll(todo)
	if err != nil {
		return err
	}
	for _, v := range apart {
		v.show(leaves[v.node()])
	}
	for _, v := range todo {
		for len(v.holders) > 0 {
			v.holders[0].set(leaves[v.node])
		}
	}
	for _, leaf := range leaves {
		leaf.release()
	}
	return nil
}

// computeAll computes lazy values. The leaves, by node, are retained for the caller.
func (c *Context) computeAll(todo []*value) (leaves map[*uop.UOp]*value, err error) {
	leaves = make(map[*uop.UOp]*value, len(todo))
	defer func() {
		if err != nil {
			for _, leaf := range leaves {
				leaf.release()
			}
		}
	}()
	stores := make([]*uop.UOp, 0, len(todo))
	var order []*value
	for _, v := range todo {
		if leaves[v.node] != nil {
			continue
		}
		s, dt := v.node.Shape(), v.node.DType
		n, err := tensor.MostElements(s)
		if err != nil {
			return leaves, err
		}
		m, err := allocate(sizeOf(n, dt))
		if err != nil {
			return leaves, err
		}
		leaf, err := c.newLeaf(dt, s, m)
		if err != nil {
			m.free()
			return leaves, err
		}
		leaf.retain()
		leaves[v.node] = leaf
		order = append(order, v)
		if n > 0 {
			store, err := tensor.Store(leaf.node, c.withKnown(v.node))
			if err != nil {
				return leaves, err
			}
			stores = append(stores, store)
		}
	}
	if err := c.run(stores); err != nil {
		return leaves, err
	}
	for _, v := range order {
		leaf := leaves[v.node]
		leaf.flow = v.flow
		if v.flow == flowAlways && v.node.DType.IsFloat() {
			leaf.origin = v
			v.remember()
		}
		c.note(leaf, v.node)
	}
	return leaves, nil
}

// withKnown is a node that reads leaves instead of lazy nodes that are computed.
func (c *Context) withKnown(node *uop.UOp) *uop.UOp {
	if len(c.known) == 0 {
		return node
	}
	return rewrite.Substitute(node, c.known)
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
	v := c.newValue(node)
	v.retain()
	defer v.release()
	leaves, err := c.computeAll([]*value{v})
	if err != nil {
		return nil, err
	}
	leaf := leaves[node]
	m := leaf.mem
	c.unbind(leaf)
	c.forget(leaf)
	leaf.mem = nil
	leaf.release()
	return m, nil
}
