package uop

// nodeSet marks nodes that were seen. Graphs number their nodes, so small ones use a bitmap.
type nodeSet struct {
	bits []uint64
	m    map[*UOp]struct{}
}

func newNodeSet(g *Graph) nodeSet {
	if g.limit == 0 || g.nextID < 1<<16 {
		return nodeSet{bits: make([]uint64, g.nextID/64+1)}
	}
	return nodeSet{m: map[*UOp]struct{}{}}
}

// add marks u and reports whether it was new.
func (s *nodeSet) add(u *UOp) bool {
	if s.m != nil {
		n := len(s.m)
		s.m[u] = struct{}{}
		return len(s.m) > n
	}
	w, b := u.id/64, uint64(1)<<(u.id%64)
	for int(w) >= len(s.bits) {
		s.bits = append(s.bits, 0)
	}
	if s.bits[w]&b != 0 {
		return false
	}
	s.bits[w] |= b
	return true
}

func (s *nodeSet) has(u *UOp) bool {
	if s.m != nil {
		_, ok := s.m[u]
		return ok
	}
	return int(u.id/64) < len(s.bits) && s.bits[u.id/64]&(1<<(u.id%64)) != 0
}

// Toposort lists the graph below u, sources before users, u last. It is a depth
// first walk that visits Src[0] first; every order in the compiler comes from it.
func (u *UOp) Toposort() []*UOp { return u.ToposortGated(nil) }

// ToposortGated is Toposort without entering nodes for which gate is false.
func (u *UOp) ToposortGated(gate func(*UOp) bool) []*UOp {
	type entry struct {
		u       *UOp
		visited bool
	}
	done := newNodeSet(u.g)
	var out []*UOp
	stack := make([]entry, 1, 64)
	stack[0].u = u
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if e.visited {
			if done.add(e.u) {
				out = append(out, e.u)
			}
			continue
		}
		if done.has(e.u) || gate != nil && !gate(e.u) {
			continue
		}
		if len(e.u.Src) == 0 {
			done.add(e.u)
			out = append(out, e.u)
			continue
		}
		stack = append(stack, entry{e.u, true})
		for i := len(e.u.Src) - 1; i >= 0; i-- {
			if !done.has(e.u.Src[i]) {
				stack = append(stack, entry{e.u.Src[i], false})
			}
		}
	}
	return out
}

// BackwardSlice is Toposort without u itself.
func (u *UOp) BackwardSlice() []*UOp {
	t := u.Toposort()
	return t[:len(t)-1]
}

// BackwardSliceSet is the set of all nodes below u (u excluded).
func (u *UOp) BackwardSliceSet() map[*UOp]struct{} {
	t := u.BackwardSlice()
	m := make(map[*UOp]struct{}, len(t))
	for _, x := range t {
		m[x] = struct{}{}
	}
	return m
}

// DependsOn reports whether v is u or below u.
func (u *UOp) DependsOn(v *UOp) bool { return u.Find(func(x *UOp) bool { return x == v }) != nil }

// HasOp reports whether u or a node below it has one of the operations.
func (u *UOp) HasOp(ops OpSet) bool { return u.Find(func(x *UOp) bool { return ops.Has(x.Op) }) != nil }

// Find walks u and the nodes below it, in no particular order, and returns the first that satisfies f, or nil.
func (u *UOp) Find(f func(*UOp) bool) *UOp {
	seen := newNodeSet(u.g)
	stack := []*UOp{u}
	for len(stack) > 0 {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !seen.add(x) {
			continue
		}
		if f(x) {
			return x
		}
		stack = append(stack, x.Src...)
	}
	return nil
}

// Consumers maps each node of a list to its users in the list, each once, in list order.
func Consumers(list []*UOp) map[*UOp][]*UOp {
	ret := make(map[*UOp][]*UOp, len(list))
	for _, u := range list {
		ret[u] = nil
		for i, s := range u.Src {
			if c, ok := ret[s]; ok && !contains(u.Src[:i], s) {
				ret[s] = append(c, u)
			}
		}
	}
	return ret
}

func contains(us []*UOp, u *UOp) bool {
	for _, x := range us {
		if x == u {
			return true
		}
	}
	return false
}
