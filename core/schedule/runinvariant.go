package schedule

import "polygrad/core/uop"

// RunInvariant are the nodes below a request with the same value in every run: they depend on no variable and no buffer that
// changes, neither the given ones nor targets of ASSIGNs. As in tinygrad's TinyJit, only nodes with kernels of their own count:
// reductions of buffers, and contiguous values. Elementwise work is fused into its consumers.
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
		if !changes[u] && (u.Op == uop.Contiguous || (u.Op == uop.ReduceAxis || inOrder.Has(u.Op)) && reads[u]) {
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
