package fuse

import (
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// moveElements merges a kernel into a producer with sequential loops whose results it reads element by element: an indirect store whose
// addresses the producer computes (the steps of a radix sort), so that the addresses are not stored; a cheap function of a running
// reduction; and a running maximum of such functions, as of the positions of running maxima.
func (f *fuser) moveElements() (changed bool) {
	for j := 1; j < len(f.groups); j++ {
		for i := j - 1; i >= 0; i-- {
			p, k := f.groups[i], f.groups[j]
			if p.kernel == nil || k.kernel == nil || p.body != nil || !overlap(p.writes, k.reads) || k.body != nil && !k.body.cheap() {
				continue
			}
			merged, reason := f.moved(i, j)
			before, after, ok := f.between(i, j)
			if reason == Pays && !ok {
				reason = OrderBetween
			}
			f.observe(p, k, reason, Costs{})
			if reason != Pays {
				continue
			}
			kernels := slices.Concat(p.kernels, k.kernels)
			slices.Sort(kernels)
			f.replace(i, j+1, slices.Concat(before, []*group{opaque(merged, slices.Compact(kernels))}, after))
			j, changed = i+len(before), true
			break
		}
	}
	return changed
}

// cheapWork is the largest number of additional operations in a step of a running reduction.
const cheapWork = 4

// cheap reports whether a body is a cheap function of elements.
func (b *body) cheap() bool {
	work := 0.0
	for _, u := range b.values() {
		if u.Op == uop.Reduce {
			return false
		}
		if uop.GroupElementwise.Has(u.Op) && !u.DType.IsIndex() {
			work += weight(u)
		}
	}
	return len(b.stores) == 1 && work <= cheapWork
}

// loopsAndStores are the loops and stores of a kernel whose stores are all in the same loops, with slots for PARAMs.
func loopsAndStores(k *schedule.Kernel) (loops, stores []*uop.UOp) {
	if len(k.AST.Src) != 1 || k.AST.Src[0].Op != uop.End {
		return nil, nil
	}
	m := map[*uop.UOp]*uop.UOp{}
	for _, u := range k.AST.Toposort() {
		if u.Op == uop.Param {
			m[u] = u.WithArg(uop.Num(k.Bufs[int(u.Arg.(uop.Num))]))
		}
	}
	end := replace(k.AST.Src[0], m)
	stores = end.Src[:1]
	if end.Src[0].Op == uop.Group {
		stores = end.Src[0].Src
	}
	if slices.ContainsFunc(stores, func(s *uop.UOp) bool { return s.Op != uop.Store || len(s.Src) != 2 || s.Src[0].Op != uop.Index }) {
		return nil, nil
	}
	return end.Src[1:], stores
}

// moved merges kernel j into the loops of kernel i, one of which is sequential: j reads element by element what i stores.
func (f *fuser) moved(i, j int) (merged schedule.Kernel, reason Reason) {
	from, to := f.groups[i].kernel, f.groups[j].kernel
	loops, stores := loopsAndStores(from)
	if b := f.groups[j].body; b != nil && len(b.loops) == 1 && len(loops) > 1 && volume(b.loops) == volume(loops) {
		split, inner := loopSplits{}, int64(1)
		for _, r := range slices.Backward(loops) {
			inner *= sizeOf(r)
			split.add(b.loops[0], inner)
		}
		if b = f.split(b, split); b == nil {
			return merged, ReadsOtherOrder
		}
		k := f.kernelOf(b)
		to = &k
	}
	own, moves := loopsAndStores(to)
	switch {
	case stores == nil || moves == nil || !slices.ContainsFunc(loops, runsInOrder) || slices.ContainsFunc(own, runsInOrder) && !runningMaxima(moves):
		return merged, Opaque
	case len(loops) != len(own):
		return merged, ReadsOtherOrder
	}
	m := map[*uop.UOp]*uop.UOp{}
	for n, r := range own {
		if r.Src[0] != loops[n].Src[0] || runsInOrder(r) && !runsInOrder(loops[n]) {
			return merged, ReadsOtherOrder
		}
		m[r] = loops[n]
	}
	moves = slices.Clone(moves)
	for n, s := range moves {
		moves[n] = replace(s, m)
	}
	before, after := accessOf(*from), accessOf(*to)
	type element struct {
		slot int
		at   *uop.UOp
	}
	values, passed := map[element]*uop.UOp{}, slotSet(nil)
	var kept []*uop.UOp
	for _, s := range stores {
		at, slot := s.Src[0], slotOf(s.Src[0])
		if after.reads.has(slot) {
			passed.add(slot)
			if distinct(at.Src[1], loops) {
				if reads := readsBefore(moves, at); len(reads) > 0 {
					value, before := currentAndPrevious(s.Src[1])
					if before == nil {
						return merged, ReadsOtherOrder
					}
					s = s.With(at, value)
					for _, i := range reads {
						values[element{slot, i}] = i.GetValid().Where(before, before.IntLike(0))
					}
				}
				values[element{slot, at.Src[1]}] = s.Src[1]
			}
			if !f.needed(slot, i, j) {
				continue
			}
		}
		kept = append(kept, s)
	}
	for n, s := range moves {
		loads := map[*uop.UOp]*uop.UOp{}
		for _, u := range s.Toposort() {
			if u.Op != uop.Index || u.Src[0].Op != uop.Param || !passed.has(slotOf(u)) {
				continue
			}
			v := values[element{slotOf(u), u.Src[1]}]
			if v == nil || len(u.Src) != 2 || v.DType != u.DType {
				return merged, ReadsOtherOrder
			}
			loads[u] = v
		}
		moves[n] = replace(s, loads)
	}
	for slot := range f.slots {
		if before.writes.has(slot) && !passed.has(slot) && after.reads.has(slot) || after.writes.has(slot) && (before.reads.has(slot) || before.writes.has(slot)) {
			return merged, Dependent
		}
	}
	return f.inLoops(loops, append(kept, moves...)), Pays
}

// runningMaxima reports whether all stores are of running maxima.
func runningMaxima(stores []*uop.UOp) bool {
	return !slices.ContainsFunc(stores, func(s *uop.UOp) bool { return s.Src[1].Op != uop.Prefix || s.Src[1].Arg.(uop.PrefixArg).Op != uop.Max })
}

// readsBefore are the indices in stores that read the element which the previous iteration stored through at, and nothing in the first iteration.
func readsBefore(stores []*uop.UOp, at *uop.UOp) (found []*uop.UOp) {
	r := at.Src[1].Ranges()[slices.IndexFunc(at.Src[1].Ranges(), runsInOrder)]
	start := map[*uop.UOp]*uop.UOp{r: r.IntLike(0)}
	for _, u := range at.Graph().Group(stores...).Toposort() {
		if u.Op != uop.Index || u.Src[0] != at.Src[0] || len(u.Src) != 2 || slices.Contains(found, u.Src[1]) {
			continue
		}
		by, known := difference(u.Src[1].GetIdx(), at.Src[1])
		if known && by == -strideIn(at.Src[1], r) && symbolic.Simplify(replace(u.Src[1], start)).IsInvalid() {
			found = append(found, u.Src[1])
		}
	}
	return found
}

// currentAndPrevious are the values of a cheap function of a running maximum in this iteration and in the previous one, both computed from the
// maximum of all earlier elements. They are nil for other values: a running sum that is computed so would be rounded differently.
func currentAndPrevious(v *uop.UOp) (now, before *uop.UOp) {
	p := v.Find(func(u *uop.UOp) bool { return u.Op == uop.Prefix })
	if p == nil {
		return nil, nil
	}
	a, x, r := p.Arg.(uop.PrefixArg), p.Src[0], p.Src[len(p.Src)-1]
	if a.Op != uop.Max || replace(v, map[*uop.UOp]*uop.UOp{p: p.IntLike(0)}).InRange(r) {
		return nil, nil
	}
	work, inside := 0.0, r.GeInt(1)
	earlier, gated := map[*uop.UOp]*uop.UOp{r: r.SubInt(1)}, map[*uop.UOp]*uop.UOp{}
	for _, u := range x.Toposort() {
		switch {
		case u.Op == uop.Prefix || u.Op == uop.Reduce || u.Op == uop.Index && (len(u.Src) != 2 || u.Src[0].Op != uop.Param || isGather(u)):
			return nil, nil
		case u.Op == uop.Index:
			i := replace(u.Src[1], earlier)
			gated[u] = u.With(u.Src[0], symbolic.Simplify(i.GetIdx()).Valid(symbolic.Simplify(inside.And(i.GetValid()))))
		case uop.GroupElementwise.Has(u.Op) && !u.DType.IsIndex():
			work += weight(u)
		}
	}
	if work > cheapWork {
		return nil, nil
	}
	gated[r] = earlier[r]
	first := x.ConstLike(a.Identity(x.DType))
	most := p.With(append([]*uop.UOp{inside.Where(replace(x, gated), first)}, p.Src[1:]...)...)
	return replace(v, map[*uop.UOp]*uop.UOp{p: a.Step(most, p.Src[:1])}), replace(v, map[*uop.UOp]*uop.UOp{p: most})
}

func runsInOrder(r *uop.UOp) bool { return r.RangeID().Type == uop.AxisPrefix }

// inLoops is a kernel of stores to slots that are all in the same loops.
func (f *fuser) inLoops(loops, stores []*uop.UOp) (k schedule.Kernel) {
	g := stores[0].Graph()
	body := stores[0]
	if len(stores) > 1 {
		body = g.Group(stores...)
	}
	sink := g.Sink(uop.KernelInfo{Name: "test"}, body.EndRanges(loops...))
	m := map[*uop.UOp]*uop.UOp{}
	param := func(u *uop.UOp) {
		if u.Op == uop.Param && m[u] == nil {
			m[u] = u.WithArg(uop.Num(len(k.Bufs)))
			k.Bufs = append(k.Bufs, int(u.Arg.(uop.Num)))
		}
	}
	for _, s := range stores {
		param(s.Src[0].Src[0])
	}
	for _, u := range sink.Toposort() {
		param(u)
		if u.Op == uop.DefineVar {
			k.Vars = append(k.Vars, u)
		}
	}
	k.AST = replace(sink, m)
	schedule.SortVars(k.Vars)
	return k
}
