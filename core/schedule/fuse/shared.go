package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// sharedFunctions is the number of functions in an element from which on a value is stored instead of recomputed.
const sharedFunctions = 2

// shared is what is known of a value of a graph.
type shared struct {
	// functions are those that have to be computed for an element, some of them.
	functions []*uop.UOp
	// ends are sums and stored values that it is needed for, some of them; uses is in how many operations, stored that it
	// has memory of its own already.
	ends   []*uop.UOp
	uses   int
	stored bool
}

// storeShared gives values memory of their own that take several functions to compute and that several sums need, in a
// normalised graph before it is scheduled: the state of a recurrent network would otherwise be computed in each of its
// steps from that of the steps before.
func storeShared(root *uop.UOp) *uop.UOp {
	order := root.Toposort()
	if n := slices.IndexFunc(order, func(u *uop.UOp) bool { return functions.Has(u.Op) }); n < 0 {
		return root
	}
	known := make(map[*uop.UOp]*shared, len(order))
	for _, u := range order {
		known[u] = &shared{}
	}
	for _, u := range slices.Backward(order) {
		for i, s := range u.Src {
			if slices.Contains(u.Src[:i], s) {
				continue
			}
			x, uses, ends := known[s], 1, []*uop.UOp{u}
			if computedWithUser(u) {
				ends = known[u].ends
			}
			if uop.GroupMovement.Has(u.Op) {
				uses = known[u].uses
			}
			x.uses += uses
			x.ends = union(x.ends, ends)
			x.stored = x.stored || u.Op == uop.Contiguous || u.Op == uop.Sink
		}
	}
	stored := map[*uop.UOp]bool{}
	for _, u := range order {
		x := known[u]
		if !computedWithUser(u) {
			continue
		}
		for _, s := range u.Src {
			x.functions = union(x.functions, known[s].functions)
		}
		if functions.Has(u.Op) {
			x.functions = union(x.functions, []*uop.UOp{u})
		}
		if uop.GroupMovement.Has(u.Op) || x.stored || x.uses < 2 || len(x.ends) < 2 || !u.DType.IsFloat() {
			continue
		}
		if own := slices.DeleteFunc(slices.Clone(x.functions), func(f *uop.UOp) bool { return elements(f) < elements(u) }); len(own) >= sharedFunctions {
			stored[u] = true
			x.functions = nil
		}
	}
	return storeAll(root, stored)
}

// computedWithUser reports whether a value is computed in the loops of its consumer.
func computedWithUser(u *uop.UOp) bool {
	return uop.GroupElementwise.Has(u.Op) || uop.GroupMovement.Has(u.Op)
}

// union are the members of two lists, a few of them.
func union(a, b []*uop.UOp) []*uop.UOp {
	const most = 8
	for _, u := range b {
		if len(a) < most && !slices.Contains(a, u) {
			a = append(slices.Clip(a), u)
		}
	}
	return a
}

// elements is the number of elements of a value, 0 if it is not known.
func elements(u *uop.UOp) int64 {
	if n := u.Shape().Numel(); !n.Symbolic() {
		return n.N
	}
	return 0
}
