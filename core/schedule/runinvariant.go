package schedule

import "polygrad/core/uop"

// RunInvariant are the nodes below a request that every run computes alike: from no buffer that changes, be it one of the
// given or the target of an ASSIGN, and from no variable. They are those that get kernels of their own, which tinygrad's TinyJit
// prunes: reductions of what lies in memory, and what is made contiguous. Elementwise work joins the kernels that need it.
func RunInvariant(sink *uop.UOp, changing []*uop.UOp) []*uop.UOp {
	changes, reads := map[*uop.UOp]bool{}, map[*uop.UOp]bool{}
	for _, b := range changing {
		changes[b] = true
	}
	order := sink.Toposort()
	for _, u := range order {
		if u.Op == uop.Assign {
			changes[u.Src[0].Base()] = true
		}
	}
	for _, u := range order {
		_, numbers := u.Shape().Ints()
		changes[u] = changes[u] || u.Op == uop.DefineVar || u.Shape() != nil && !numbers
		reads[u] = u.Op == uop.Buffer
		for _, s := range u.Src {
			changes[u] = changes[u] || changes[s]
			reads[u] = reads[u] || reads[s]
		}
	}
	found := map[*uop.UOp]bool{}
	sink.ToposortGated(func(u *uop.UOp) bool {
		if !changes[u] && (u.Op == uop.Contiguous || u.Op == uop.ReduceAxis && reads[u]) {
			found[u] = true
		}
		return !found[u]
	})
	var invariant []*uop.UOp
	for _, u := range order {
		if found[u] {
			invariant = append(invariant, u)
		}
	}
	return invariant
}
