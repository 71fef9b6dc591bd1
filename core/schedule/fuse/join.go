package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// joinable reports whether two bodies may run in the same loops.
func joinable(a, b *body) bool {
	return a != nil && b != nil && !a.contraction() && !b.contraction()
}

// join puts two bodies that do not need each other into the same loops, if they read the same data there. One of them
// may have more loops inside of those.
func (f *fuser) join(a, b *body) *body {
	before := a.work() + b.work()
	if a, b = f.sameLoops(a, b); a == nil || b == nil {
		return nil
	}
	outer, inner := a, b
	if len(a.loops) > len(b.loops) {
		outer, inner = b, a
	}
	m := loopsByLoads(outer, inner)
	if m == nil {
		return nil
	}
	outer = outer.with(m, nil)
	out := &body{loops: inner.loops, merged: true, stores: append(slices.Clone(outer.stores), inner.stores...)}
	out = f.share(out)
	if !readsOnce(out, len(outer.stores)) || !f.pays(out, valuesOf(m), before) {
		return nil
	}
	return out
}

// loopsByLoads finds for each loop of a one of b that goes through some buffer in the same steps, nil if there is none
// for one of them.
func loopsByLoads(a, b *body) map[*uop.UOp]*uop.UOp {
	for _, x := range a.loads() {
		for _, y := range b.loads() {
			if slotOf(x) != slotOf(y) {
				continue
			}
			if m := loopsByStrides(a.loops, b.loops, x.Src[1], y.Src[1]); m != nil {
				return m
			}
		}
	}
	return nil
}

func loopsByStrides(from, to []*uop.UOp, x, y *uop.UOp) map[*uop.UOp]*uop.UOp {
	m := map[*uop.UOp]*uop.UOp{}
	for _, r := range from {
		stride := strideIn(x, r)
		i := slices.IndexFunc(to, func(o *uop.UOp) bool { return sizeOf(o) == sizeOf(r) && strideIn(y, o) == stride })
		if stride <= 0 || i < 0 {
			return nil
		}
		m[r] = to[i]
	}
	return m
}

// sameLoops splits the one loop of a body as the loops of the other, if those go through as much.
func (f *fuser) sameLoops(a, b *body) (*body, *body) {
	switch {
	case len(a.loops) == len(b.loops) || volume(a.loops) != volume(b.loops):
		return a, b
	case len(a.loops) == 1:
		return f.splitLike(a, b), b
	case len(b.loops) == 1:
		return a, f.splitLike(b, a)
	}
	return a, b
}

func (f *fuser) splitLike(b, like *body) *body {
	c := cuts{}
	inner := int64(1)
	order, ok := nest(like)
	if !ok {
		return nil
	}
	for _, r := range slices.Backward(order) {
		inner *= sizeOf(r)
		c.add(b.loops[0], inner)
	}
	return f.split(b, c)
}

// readsOnce reports whether the first n stores and the others have a load in common that goes through all that their
// body goes through; where a row is gone through several times it is in the cache, and another loop may have the load.
func readsOnce(b *body, n int) bool {
	first, rest := &body{stores: b.stores[:n], loops: b.loops}, &body{stores: b.stores[n:], loops: b.loops}
	all, cached := b.elements(), b.rowwise()
	if first.elements() != rest.elements() {
		return false
	}
	for _, x := range first.loads() {
		for _, y := range rest.loads() {
			if x == y && volume(x.Ranges()) == all || cached && slotOf(x) == slotOf(y) && volume(x.Ranges()) == all && volume(y.Ranges()) == all {
				return true
			}
		}
	}
	return false
}
