package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// fuseSiblings merges kernels that read the same data.
func (f *fuser) fuseSiblings() (changed bool) {
	for j := 1; j < len(f.groups); j++ {
		var needed access // of the groups between i and j that must stay before j
		for i := j - 1; i >= 0; i-- {
			p, k := f.groups[i], f.groups[j]
			ordered := needed.dependsOn(&p.access)
			if ordered || k.dependsOn(&p.access) {
				needed.merge(&p.access)
			}
			if !overlap(p.reads, k.reads) {
				continue
			}
			c, before, after := f.inSameLoops(i, j, ordered)
			f.observe(p, k, c.reason, c.costs)
			if c.reason == Pays {
				j = f.merge(i, j, before, after, c.body)
				i, needed, changed = j, access{}, true
			}
		}
	}
	return changed
}

// inSameLoops merges group i into the loops of group j, or the other way round. ordered: a group between them depends on i, and j on it.
func (f *fuser) inSameLoops(i, j int, ordered bool) (c candidate, before, after []*group) {
	p, k := f.groups[i], f.groups[j]
	switch {
	case ordered:
		return candidate{reason: OrderBetween}, nil, nil
	case overlap(p.writes, k.reads) || overlap(p.writes, k.writes):
		return candidate{reason: Dependent}, nil, nil
	case p.body == nil || k.body == nil:
		return candidate{reason: Opaque}, nil, nil
	}
	before, after, ok := f.between(i, j)
	if !ok {
		return candidate{reason: OrderBetween}, nil, nil
	}
	return f.join(p.body, k.body), before, after
}

// join merges two independent bodies that read the same data into the same loops. One of them may have additional inner loops.
func (f *fuser) join(a, b *body) candidate {
	before := []*body{a, b}
	if a, b = f.sameLoops(a, b); a == nil || b == nil {
		return candidate{reason: ReadsOtherOrder}
	}
	outer, inner := a, b
	if len(a.loops) > len(b.loops) {
		outer, inner = b, a
	}
	m := loopsByCommonLoad(outer, inner)
	if m == nil {
		return candidate{reason: ReadsOtherOrder}
	}
	outer, inner = outer.with(m, nil), inner.with(nil, inner.loops) // simplifies both, so that equal loads are interned
	out := f.shareReductionLoops(&body{loops: inner.loops, stores: append(slices.Clone(outer.stores), inner.stores...)})
	shared := f.sharesFunction(out, len(outer.stores))
	switch {
	case !shared && (a.contraction() || b.contraction()):
		return candidate{reason: SiblingContracts}
	case !shared && !sharesStreamedLoad(out, len(outer.stores)):
		return candidate{reason: NothingShared}
	}
	return f.evaluate(out, valuesOf(m), before, false)
}

// loopsByCommonLoad maps each loop of a to a loop of b with the same stride in a load of the same buffer; nil if one has none.
func loopsByCommonLoad(a, b *body) map[*uop.UOp]*uop.UOp {
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

// sameLoops splits the single loop of a body like the loops of the other, if their trip counts agree.
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
	c := loopSplits{}
	inner := int64(1)
	order, ok := loopOrder(like)
	if !ok {
		return nil
	}
	for _, r := range slices.Backward(order) {
		inner *= sizeOf(r)
		c.add(b.loops[0], inner)
	}
	return f.split(b, c)
}

// sharesStreamedLoad reports whether the first n stores and the others share a load that streams through the whole iteration
// space. In a multi-pass body the row is in the cache, so the load may be in another loop.
func sharesStreamedLoad(b *body, n int) bool {
	first, rest, all := b.parts(n)
	cached := b.multiPass()
	for _, x := range first.loads() {
		for _, y := range rest.loads() {
			if volume(x.Ranges()) == all && (x == y || cached && slotOf(x) == slotOf(y) && volume(y.Ranges()) == all) {
				return true
			}
		}
	}
	return false
}

// sharesFunction reports whether the first n stores and the others share a costly function of all positions of the iteration space,
// such as the quotients of all pairs of two vectors.
func (f *fuser) sharesFunction(b *body, n int) bool {
	first, rest, all := b.parts(n)
	if all < 0 {
		return false
	}
	others := map[*uop.UOp]bool{}
	for _, u := range rest.values() {
		others[u] = true
	}
	var common []*uop.UOp // sources before users; all operands of a common value are common, too
	for _, u := range first.values() {
		if others[u] {
			common = append(common, u)
		}
	}
	work := f.o.Machine.workOfValues(common)
	return slices.ContainsFunc(common, func(u *uop.UOp) bool {
		return work[u] >= commonWork && u.DType.IsFloat() && volume(u.Ranges()) == all
	})
}

// parts are bodies of the first n stores and of the others, and the number of iterations if both have the same, else -1.
func (b *body) parts(n int) (first, rest *body, iterations int64) {
	first, rest = &body{stores: b.stores[:n], loops: b.loops}, &body{stores: b.stores[n:], loops: b.loops}
	if iterations = b.iterations(); first.iterations() != rest.iterations() {
		iterations = -1
	}
	return first, rest, iterations
}
