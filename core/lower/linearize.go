package lower

import (
	"container/heap"
	"math"
	"math/bits"

	"polygrad/core/uop"
)

// sortKey is the preferred position of a node: lower run count first, then the operation's priority, then the node itself.
type sortKey struct {
	u        *uop.UOp
	runs     int64
	priority int
}

// rangeList identifies a slice of ranges; nodes with the same ranges often share one.
type rangeList struct {
	first **uop.UOp
	n     int
}

func counted(seen map[rangeList]int64, rs []*uop.UOp) int64 {
	if len(rs) == 0 {
		return 1
	}
	k := rangeList{&rs[0], len(rs)}
	n, ok := seen[k]
	if !ok {
		n = runCount(rs)
		seen[k] = n
	}
	return n
}

// runCount is the number of executions of a node inside ranges: the product of their sizes. A count that overflows saturates.
func runCount(rs []*uop.UOp) int64 {
	n := int64(1)
	for _, r := range rs {
		size, ok := r.Vmax().Add(uop.Int(1)).Int64()
		hi, lo := bits.Mul64(uint64(n), uint64(size))
		if !ok || hi != 0 || lo > math.MaxInt64 {
			return math.MaxInt64
		}
		n = int64(lo)
	}
	return n
}

// priorityOf puts definitions first, loads early and stores late; loops are closed early and opened late.
func priorityOf(op uop.Op) int {
	switch op {
	case uop.Param:
		return -20
	case uop.DefineVar:
		return -19
	case uop.DefineLocal:
		return -18
	case uop.DefineReg:
		return -17
	case uop.End:
		return -5
	case uop.Load:
		return -1
	case uop.Store:
		return 1
	case uop.Range:
		return 5
	}
	return 0
}

func (k *sortKey) less(o *sortKey) bool {
	switch {
	case k.runs != o.runs:
		return k.runs < o.runs
	case k.priority != o.priority:
		return k.priority < o.priority
	}
	// Parameters and variables are ordered by their arg before anything else; the comparison of nodes does the same, as the operations
	// are equal.
	return uop.TupleLess(k.u, o.u)
}

// highestID is the greatest number of a node in a list, for slices indexed by it.
func highestID(list []*uop.UOp) int {
	top := 0
	for _, u := range list {
		top = max(top, u.ID())
	}
	return top
}

// rankHeap holds nodes with all users placed; the one with the greatest rank comes out first.
type rankHeap struct {
	nodes []*uop.UOp
	rank  []int32 // by node ID
}

func (h *rankHeap) Len() int           { return len(h.nodes) }
func (h *rankHeap) Less(i, j int) bool { return h.rank[h.nodes[i].ID()] > h.rank[h.nodes[j].ID()] }
func (h *rankHeap) Swap(i, j int)      { h.nodes[i], h.nodes[j] = h.nodes[j], h.nodes[i] }
func (h *rankHeap) Push(x any)         { h.nodes = append(h.nodes, x.(*uop.UOp)) }
func (h *rankHeap) Pop() any {
	n := len(h.nodes) - 1
	u := h.nodes[n]
	h.nodes = h.nodes[:n]
	return u
}

// linearize lists the graph in execution order: as close to the order of the sort keys as the edges allow.
func linearize(sink *uop.UOp) []*uop.UOp {
	list := sink.Toposort()
	top := highestID(list)
	keys := make([]sortKey, len(list))
	order := make([]*sortKey, len(list))
	users := make([]int32, top+1)
	counts := map[rangeList]int64{}
	for i, u := range list {
		keys[i] = sortKey{u, counted(counts, u.Ranges()), priorityOf(u.Op)}
		order[i] = &keys[i]
		for _, s := range u.Src {
			users[s.ID()]++
		}
	}
	pySort(order, (*sortKey).less)
	h := &rankHeap{rank: make([]int32, top+1)}
	for i, k := range order {
		h.rank[k.u.ID()] = int32(i)
	}
	h.nodes = append(h.nodes, sink)
	out := make([]*uop.UOp, 0, len(list))
	for len(h.nodes) > 0 {
		u := heap.Pop(h).(*uop.UOp)
		out = append(out, u)
		for _, s := range u.Src {
			users[s.ID()]--
			if users[s.ID()] == 0 {
				heap.Push(h, s)
			}
		}
	}
	reverse(out)
	return out
}

// gateStores puts a store through a gated index between IF and ENDIF. Gated loads need none: they have an alternative value.
func gateStores(list []*uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, 0, len(list))
	for _, u := range list {
		gate := storeGate(u)
		if gate == nil {
			out = append(out, u)
			continue
		}
		open := u.Graph().New(uop.If, uop.Void, []*uop.UOp{gate, u.Src[0]}, nil, nil)
		out = append(out, open, u, open.F(uop.EndIf, uop.Void, nil))
	}
	return out
}

func storeGate(u *uop.UOp) *uop.UOp {
	if u.Op != uop.Store || len(u.Src) != 2 {
		return nil
	}
	idx := uncast(u.Src[0])
	if idx.Op == uop.Index && len(idx.Src) == 3 && idx.Src[2].DType.IsBool() {
		return idx.Src[2]
	}
	return nil
}
