package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// Which values are stored is decided before kernels are merged. Once they are, a temporary may be a cheap function of values that its reader
// loads anyway, or of another output of its kernel:
//
//	for i { a[i] = f(x[i]); b[i] = x[i] > 0 ? a[i] : 0 }; for j { for k { sum += a[k, j] + b[k, j] * x[k, j] }}
//
// Then b is computed where it is read:
//
//	for i { a[i] = f(x[i]) }; for j { for k { sum += a[k, j] + (x[k, j] > 0 ? a[k, j] : 0) * x[k, j] }}

// rematerialize computes temporaries where they are read, if that costs less than storing them.
func (f *fuser) rematerialize() (changed bool) {
	for i := 0; i < len(f.groups); i++ {
		b := f.groups[i].body
		if b == nil || len(b.stores) < 2 || b.pieces || b.contraction() || b.scatters() {
			continue
		}
		for n := range b.stores {
			if groups := f.withoutStore(i, n); groups != nil {
				f.replace(0, len(f.groups), groups)
				changed = true
				i-- // perhaps another store, too
				break
			}
		}
	}
	return changed
}

// withoutStore are the groups in which readers compute the nth store of group i; nil if that is not possible, or costs more.
func (f *fuser) withoutStore(i, n int) (best []*group) {
	p := f.groups[i]
	s := p.body.stores[n]
	if x := f.slots[s.slot]; x.Input >= 0 || x.Output >= 0 || s.value.HasOp(uop.Ops(uop.Reduce, uop.Bufferize)) {
		return nil
	}
	for j, g := range f.groups {
		if j != i && (g.writes.has(s.slot) || j < i && g.reads.has(s.slot)) {
			return nil
		}
	}
	rest := &body{}
	loads := map[*uop.UOp]*uop.UOp{} // loads of the other outputs of the kernel
	for k, o := range p.body.stores {
		if k == n {
			continue
		}
		rest.stores = append(rest.stores, o)
		if sameSet(o.loops, s.loops) && o.value.Op != uop.ConstOp {
			if load := o.at.Src[0].IndexBy(o.index()); load.DType == o.value.DType {
				loads[o.value] = load
			}
		}
	}
	for _, r := range p.body.loops {
		if slices.ContainsFunc(rest.stores, func(o store) bool { return slices.Contains(o.loops, r) }) {
			rest.loops = append(rest.loops, r)
		}
	}
	if overlap(groupOf(&body{stores: []store{s}}, nil).reads, p.writes) {
		return nil // an operand is overwritten
	}
	var least Costs
	values := []*uop.UOp{s.value}
	if of := replace(s.value, loads); of != s.value {
		values = append(values, of)
	}
	for _, value := range values {
		groups, costs := f.computedByReaders(i, &body{loops: s.loops, stores: []store{{s.slot, s.at, value, s.loops}}}, rest)
		if groups != nil && (best == nil || costs.SavedCycles-costs.RecomputeCycles > least.SavedCycles-least.RecomputeCycles) {
			best, least = groups, costs
		}
	}
	if best == nil {
		return nil
	}
	reason := Pays
	switch {
	case least.Buffers > f.o.MaxBuffers:
		reason = TooManyBuffers
	case least.RecomputeCycles >= least.SavedCycles*sureGain:
		reason = Recompute
	}
	if f.observe(p, nil, reason, least); reason != Pays {
		return nil
	}
	return best
}

// computedByReaders are the groups in which all readers of a store compute it, and group i is the rest; nil if that is not possible.
func (f *fuser) computedByReaders(i int, of, rest *body) (groups []*group, c Costs) {
	if _, ok := loopOrder(rest); !ok {
		return nil, c
	}
	groups = slices.Clone(f.groups)
	groups[i] = groupOf(rest, f.groups[i].kernels)
	before, after := []*body{f.groups[i].body}, []*body{rest}
	needs, written := groupOf(of, nil), slotSet(nil)
	slot := of.stores[0].slot
	for j := i + 1; j < len(groups); j++ {
		g := groups[j]
		if g.reads.has(slot) {
			if overlap(written, needs.reads) || g.body == nil {
				return nil, c
			}
			k := f.computing(of, g.body)
			if k == nil {
				return nil, c
			}
			groups[j] = groupOf(k, g.kernels)
			before, after = append(before, g.body), append(after, k)
		}
		written.merge(g.writes)
	}
	for _, b := range before {
		bytes, _ := f.traffic(b)
		c.BytesSaved, c.WorkBefore = c.BytesSaved+bytes, c.WorkBefore+f.workOf(b)
	}
	for _, b := range after {
		bytes, buffers := f.traffic(b)
		c.BytesSaved, c.WorkAfter = c.BytesSaved-bytes, c.WorkAfter+f.workOf(b)
		c.Buffers = max(c.Buffers, buffers)
	}
	m := &f.o.Machine
	c.RecomputeCycles = m.vectorCycles(max(c.WorkAfter-c.WorkBefore, 0))
	c.SavedCycles = m.transferCycles(max(c.BytesSaved, 0)) + m.vectorCycles(max(c.WorkBefore-c.WorkAfter, 0))
	return groups, c
}

// computing is a body that computes a store which it reads; nil if its loads would then be in another order.
func (f *fuser) computing(of, k *body) *body {
	if k.contraction() || k.scatters() || len(of.values())+len(k.values()) > maxValues {
		return nil
	}
	edges, _, _ := findEdges(of, k)
	for _, e := range edges {
		for _, l := range of.loads() {
			at := replace(l.Src[1].GetIdx(), e.at)
			for _, r := range e.load.Ranges() {
				if n := strideIn(at, r); n != 0 && n != 1 && strideIn(e.load.Src[1], r) == 1 {
					return nil
				}
			}
		}
	}
	if edges == nil {
		return nil
	}
	out := f.inline(of, k, edges, nil, func(int) bool { return false })
	if _, ok := loopOrder(out); !ok || !hazardFree(out) || out.needsGather() && !k.needsGather() {
		return nil
	}
	return out
}
