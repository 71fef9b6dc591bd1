package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// joinable reports whether two bodies may run in the same loops.
func joinable(a, b *body) bool {
	return a != nil && b != nil && volume(a.loops) == volume(b.loops) && !a.contraction() && !b.contraction()
}

// join puts two bodies that do not need each other into the same loops, if they read the same data there.
func (f *fuser) join(a, b *body) *body {
	before := a.work() + b.work()
	if a, b = f.sameLoops(a, b); a == nil || b == nil {
		return nil
	}
	inA, ok := nest(a)
	if !ok {
		return nil
	}
	inB, ok := nest(b)
	if !ok {
		return nil
	}
	m := map[*uop.UOp]*uop.UOp{}
	for i, r := range inA {
		if sizeOf(r) != sizeOf(inB[i]) {
			return nil
		}
		m[r] = inB[i]
	}
	out := &body{loops: b.loops, merged: true}
	for _, s := range a.stores {
		out.stores = append(out.stores, s.with(m))
	}
	out.stores = append(out.stores, b.stores...)
	out = f.share(out)
	if !readsOnce(out, len(a.stores)) || !f.pays(out, out.loops, before) {
		return nil
	}
	return out
}

// sameLoops splits the one loop of a body as the loops of the other. It is nil if there are as many loops nowhere.
func (f *fuser) sameLoops(a, b *body) (*body, *body) {
	switch {
	case len(a.loops) == len(b.loops):
		return a, b
	case volume(a.loops) != volume(b.loops):
		return nil, nil
	case len(a.loops) == 1:
		return f.splitLike(a, b), b
	case len(b.loops) == 1:
		return a, f.splitLike(b, a)
	}
	return nil, nil
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
// body goes through.
func readsOnce(b *body, n int) bool {
	first, rest := &body{stores: b.stores[:n], loops: b.loops}, &body{stores: b.stores[n:], loops: b.loops}
	if first.elements() != rest.elements() {
		return false
	}
	others := rest.loads()
	for _, l := range first.loads() {
		if volume(l.Ranges()) == b.elements() && slices.Contains(others, l) {
			return true
		}
	}
	return false
}
