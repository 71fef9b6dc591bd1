package uop

import "sync"

// nodeSet is the set of nodes of one graph that a walk has visited. It has, by node number, the number of the last walk that visited the node, so a
// set is reused for the next walk without clearing it.
type nodeSet struct {
	walk uint32
	at   []uint32
	list []*UOp // the output buffer of a topological sort
}

var freeSets = sync.Pool{New: func() any { return &nodeSet{} }}

func newNodeSet() *nodeSet {
	s := freeSets.Get().(*nodeSet)
	if s.walk++; s.walk == 0 {
		clear(s.at)
		s.walk = 1
	}
	return s
}

// free ends the walk and returns the set to the pool.
func (s *nodeSet) free() { freeSets.Put(s) }

// add marks u and reports whether it was new.
func (s *nodeSet) add(u *UOp) bool {
	if int(u.id) >= len(s.at) {
		s.at = append(s.at, make([]uint32, int(u.g.nextID)+len(s.at)/2-len(s.at)+64)...)
	}
	if s.at[u.id] == s.walk {
		return false
	}
	s.at[u.id] = s.walk
	return true
}

func (s *nodeSet) has(u *UOp) bool { return int(u.id) < len(s.at) && s.at[u.id] == s.walk }

// Toposort lists the graph below u, sources before users, u last. It is a depth
// first walk that visits Src[0] first; every order in the compiler comes from it.
func (u *UOp) Toposort() []*UOp { return u.ToposortGated(nil) }

// ToposortGated is Toposort without entering nodes for which gate is false.
func (u *UOp) ToposortGated(gate func(*UOp) bool) []*UOp {
	type entry struct {
		u       *UOp
		visited bool
	}
	done := newNodeSet()
	out := done.list[:0]
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
	list := make([]*UOp, len(out))
	copy(list, out)
	clear(out)
	done.list = out
	done.free()
	return list
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

// Find walks u and the nodes below it, in no particular order, and returns the first that satisfies f, or nil.
func (u *UOp) Find(f func(*UOp) bool) *UOp {
	seen := newNodeSet()
	var found *UOp
	stack := []*UOp{u}
	for len(stack) > 0 {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !seen.add(x) {
			continue
		}
		if f(x) {
			found = x
			break
		}
		stack = append(stack, x.Src...)
	}
	seen.free()
	return found
}

func contains(us []*UOp, u *UOp) bool {
	for _, x := range us {
		if x == u {
			return true
		}
	}
	return false
}
