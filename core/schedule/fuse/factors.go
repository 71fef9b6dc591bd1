package fuse

import (
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// factorReductions hoists factors out of sums: the gradient of x in (x @ w).sum(-1).tanh() is, for each i and k,
//
//	sum over j of g[i] * w[k, j]  =  g[i] * (sum over j of w[k, j])
//
// where each sum on the right is computed once for all i, instead of a matrix product. Within a kernel factors are hoisted, too, but there
// each sum is inside the loops over all results already.
func (f *fuser) factorReductions() bool {
	order := f.root.Toposort()
	product := func(u *uop.UOp) bool { return u.Op == uop.ReduceAxis && u.Src[0].Op == uop.Mul }
	if !slices.ContainsFunc(order, product) {
		return false
	}
	seen := map[*uop.UOp]uint64{}
	factored := map[*uop.UOp]bool{}
	for _, u := range order {
		if product(u) && f.factoredOut(u, u.Src[0], seen) != nil {
			factored[u] = true
		}
	}
	if len(factored) == 0 {
		return false
	}
	t := newImages()
	for _, u := range order {
		to := rebuilt(u, t)
		if factored[u] {
			if v := f.factoredOut(u, to.Src[0], seen); v != nil {
				to = v
			}
		}
		t.set(u, to)
	}
	f.root = t.get(f.root)
	t.reset()
	return true
}

// factoredOut is the sum u of the given terms with factors hoisted that are the same for all terms. It is nil if there are none, or if the
// sum of the other factors is not uniform along enough axes of the result: computing it only once along them must pay for a kernel.
func (f *fuser) factoredOut(u, terms *uop.UOp, seen map[*uop.UOp]uint64) *uop.UOp {
	a := u.Arg.(uop.AxisReduce)
	if a.Op != uop.Add || terms.Op != uop.Mul {
		return nil
	}
	var outside, inside *uop.UOp
	var summed, same uint64
	for _, axis := range a.Axes {
		summed |= 1 << axis
	}
	for _, v := range appendFactors(nil, terms) {
		if axes := schedule.Uniform(v, seen); axes&summed == summed {
			outside = times(outside, v)
		} else if inside == nil {
			inside, same = v, axes
		} else {
			inside, same = inside.Mul(v), same&axes
		}
	}
	if outside == nil || inside == nil {
		return nil
	}
	same &^= summed
	all, once := terms.Shape().MaxNumel(), slices.Clone(terms.Shape())
	for i := range once {
		if same>>i&1 != 0 {
			once[i] = uop.N(1)
		}
	}
	if f.o.Machine.vectorCycles(float64(all-once.MaxNumel())) <= f.o.Machine.launchCycles()+2*f.o.Machine.transferCycles(once.MaxNumel()) {
		return nil // the saved terms do not pay for another kernel
	}
	sum := first(inside, same).ReduceAxes(uop.Add, a.Axes...)
	return first(outside, summed).Mul(sum.Expand(u.Shape()))
}

// times is u * v; u may be nil.
func times(u, v *uop.UOp) *uop.UOp {
	if u == nil {
		return v
	}
	return u.Mul(v)
}

// first takes only the first element of a value along the given axes.
func first(u *uop.UOp, axes uint64) *uop.UOp {
	var bounds []uop.Pair
	for i, s := range u.Shape() {
		if axes>>i&1 != 0 && !s.IsNum(1) {
			s = uop.N(1)
		}
		bounds = append(bounds, uop.Pair{Lo: uop.N(0), Hi: s})
	}
	return u.Shrink(bounds)
}

// mostFactors is the limit of factors of a product that are considered.
const mostFactors = 16

func appendFactors(list []*uop.UOp, u *uop.UOp) []*uop.UOp {
	if u.Op != uop.Mul || len(list) >= mostFactors {
		return append(list, u)
	}
	return appendFactors(appendFactors(list, u.Src[0]), u.Src[1])
}
