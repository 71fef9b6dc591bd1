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
				leaf.origin, leaf.was = nil, nil
				leaf.release()
			}
		}
	}()
	stores := make([]*uop.UOp, 0, len(todo))
	known := c.known()
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
			store, err := tensor.Store(leaf.node, rewrite.Substitute(v.node, known))
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
		leaf.flow, leaf.was = v.flow, v.node
		if v.flow == flowAlways && v.node.DType.IsFloat() {
			leaf.origin = v
			v.remember()
		}
		c.computed[v.node] = leaf
	}
	return leaves, nil
}

// known are the leaves that stand for lazy nodes which are computed.
func (c *Context) known() rewrite.Map {
	m := make(rewrite.Map, len(c.computed))
	for node, leaf := range c.computed {
		m[node] = leaf.node
	}
	return m
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
	delete(c.computed, node)
	leaf.mem, leaf.was = nil, nil
	leaf.release()
	return m, nil
}
