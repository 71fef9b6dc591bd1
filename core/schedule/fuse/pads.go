package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// padReuse is the least number of reads of each element for which a padded tensor is stored: a contraction without conditions (the halo is
// memory) then saves more than the copy costs.
const padReuse = 4

// storePads materialises values where padding meets products, in a normalised graph before scheduling: padded tensors that products read
// several times, whose sums then need no conditions, and padded products, whose halo would be computed and thrown away.
func storePads(root *uop.UOp) *uop.UOp {
	stored, without := map[*uop.UOp]bool{}, map[*uop.UOp]bool{}
	store := func(u *uop.UOp) {
		if u.Op != uop.Contiguous {
			stored[u] = true
		}
	}
	for _, u := range root.Toposort() {
		if u.Op == uop.Pad && hasProduct(u.Src[0], stored, without) {
			store(rowMajorBase(u.Src[0]))
		}
		factors, n := factorsOf(u)
		for _, factor := range factors {
			if pad := paddedBelow(factor); pad != nil {
				if m := pad.Shape().Numel(); !m.Symbolic() && n/max(m.N, 1) >= padReuse {
					store(pad)
				}
			}
		}
	}
	return Stored(root, stored)
}

// rowMajorBase is the base of a view: a value of which the view may permute, repeat or cast the elements, but drops and adds none.
func rowMajorBase(u *uop.UOp) *uop.UOp {
	for u.Op == uop.Permute || u.Op == uop.Reshape || u.Op == uop.Flip || u.Op == uop.Expand || u.Op == uop.Cast {
		u = u.Src[0]
	}
	return u
}

// Stored materialises some values of a graph, which may depend on each other.
func Stored(root *uop.UOp, stored map[*uop.UOp]bool) *uop.UOp {
	if len(stored) == 0 {
		return root
	}
	t := newImages()
	for _, u := range root.Toposort() {
		to := rebuilt(u, t)
		if stored[u] {
			to = to.F(uop.Contiguous, nil, nil)
		}
		t.set(u, to)
	}
	out := t.get(root)
	t.reset()
	return out
}

// factorsOf are the factors that a sum of products adds up, and how many products there are; nil for other operations.
func factorsOf(u *uop.UOp) (factors []*uop.UOp, n int64) {
	if u.Op != uop.ReduceAxis {
		return nil, 0
	}
	product := u.Src[0]
	for product.Op == uop.Cast || product.Op == uop.Reshape || product.Op == uop.Permute {
		product = product.Src[0]
	}
	if product.Op != uop.Mul || product.Shape().Numel().Symbolic() {
		return nil, 0
	}
	return product.Src, product.Shape().Numel().N
}

// hasProduct reports whether computing a value from the stored ones takes a contraction: a sum of products, none of whose factors has all
// of the axes that are summed over. Values known to take none are in without.
func hasProduct(u *uop.UOp, stored, without map[*uop.UOp]bool) bool {
	if without[u] || stored[u] || u.Op == uop.Contiguous {
		return false
	}
	if factors, n := factorsOf(u); factors != nil && !slices.ContainsFunc(factors, func(f *uop.UOp) bool { return baseElements(f) >= n }) {
		return true
	}
	for _, s := range u.Src {
		if hasProduct(s, stored, without) {
			return true
		}
	}
	without[u] = true
	return false
}

// baseElements is the number of elements of the base of a view.
func baseElements(u *uop.UOp) int64 {
	for u.Op == uop.Cast || uop.GroupMovement.Has(u.Op) {
		u = u.Src[0]
	}
	if n := u.Shape().Numel(); !n.Symbolic() {
		return n.N
	}
	return 0
}

// isRolled reports whether a view begins in the middle of an axis and continues at its start.
func isRolled(u *uop.UOp) bool {
	if u.Op != uop.Shrink || u.Src[0].Op != uop.Reshape || u.Src[0].Src[0].Op != uop.Expand {
		return false
	}
	shape, size := u.Shape(), u.Src[0].Src[0].Src[0].Size()
	return u.Size() == size && !shape.Equal(u.Src[0].Shape()) && slices.ContainsFunc(u.MovementPairs(), func(p uop.Pair) bool { return !p.Lo.IsNum(0) })
}

// paddedBelow is the PAD, or the rolled view, that a tensor is a view of; nil if there is none.
func paddedBelow(u *uop.UOp) *uop.UOp {
	for {
		switch {
		case u.Op == uop.Pad || isRolled(u):
			return u
		case u.Op == uop.Cast || uop.GroupMovement.Has(u.Op):
			u = u.Src[0]
		default:
			return nil
		}
	}
}
