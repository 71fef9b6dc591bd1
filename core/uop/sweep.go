package uop

import (
	"math"
	"slices"
)

// swept is the graph of the nodes that Sweep dropped. It has no table, and the nodes' number is out of range, so building on a dropped node or
// walking through it fails at once.
var swept = &Graph{}

// Crowded reports whether the graph has grown so much since the last sweep that another one pays.
func (g *Graph) Crowded() bool { return g.limit > 0 && g.count >= g.limit }

// Sweep drops every node that is neither a root nor below one. The roots are all nodes of the graph that anybody will use again: nodes that are made
// later are new ones even if they are equal to dropped ones. The remaining nodes keep their order, but get new numbers.
func (g *Graph) Sweep(roots func(mark func(*UOp))) {
	seen := newNodeSet()
	defer seen.free()
	var live []*UOp
	mark := func(u *UOp) {
		if u != nil && u.g == g && seen.add(u) {
			live = append(live, u)
		}
	}
	roots(mark)
	for i := 0; i < len(live); i++ {
		for _, s := range live[i].Src {
			mark(s)
		}
		if c, ok := live[i].Arg.(holder); ok {
			c.Nodes(mark)
		}
	}
	for _, u := range g.table {
		if u != nil && !seen.has(u) {
			u.g, u.id = swept, math.MaxUint32
		}
	}
	slices.SortFunc(live, func(a, b *UOp) int { return a.ID() - b.ID() })
	g.count, g.nextID = len(live), uint32(len(live))
	g.recent, g.made, g.copies = recent{}, nil, nil
	g.limit = max(minCrowded, 2*g.count)
	size := minTable
	for 3*size < 4*g.limit {
		size *= 2
	}
	if size == len(g.table) {
		clear(g.table)
	} else {
		g.table = make([]*UOp, size)
	}
	for i, u := range live {
		u.id, u.p = uint32(i), nil // the cached properties may refer to dropped nodes
		if u.t != nil {
			*u.t = tensorProps{}
		}
		g.put(u)
	}
}

// A holder is an arg that refers to nodes; they stay in the graph as long as the node with the arg.
type holder interface {
	Nodes(f func(*UOp))
}

// Nodes calls f for the nodes of a chain.
func (c MovementChain) Nodes(f func(*UOp)) {
	for _, s := range c {
		for _, u := range s.Src {
			f(u)
		}
		for _, d := range s.Shape {
			f(d.U)
		}
	}
}
