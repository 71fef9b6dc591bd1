package fuse

import (
	"cmp"
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// Kernels that could not be merged may compute the same function of the same elements, as each of the three loops of a softmax over every other
// column does:
//
//	for i { for j { m[i] = max(m[i], f(x[i, 2*j])) }}; for i { for j { s[i] += exp(f(x[i, 2*j]) - m[i]) }}; …
//
// If storing the function takes fewer cycles, a kernel before or just after the first of them stores it for all:
//
//	for i { for j { t[i, j] = f(x[i, 2*j]) }}; for i { for j { m[i] = max(m[i], t[i, j]) } for j { s += exp(t[i, j] - m[i]) } … }

const (
	// commonWork is the least number of operations of a function that is stored for several kernels.
	commonWork = 8
	// maxTrials limits the functions of a schedule that are tried: each trial merges kernels anew.
	maxTrials = 4
	// commonGain is the largest share of the estimated cycles that may be left; one model estimates both forms.
	commonGain = 0.95
)

// commonValue is a function that group number group computes.
type commonValue struct {
	group int
	u     *uop.UOp
	// form is u with loads in place of reductions that the group stores.
	form *uop.UOp
	work float64
}

// storeCommon stores functions that several kernels compute.
func (f *fuser) storeCommon() (changed bool) {
	tried := map[*uop.UOp]bool{}
	for len(tried) < maxTrials {
		stored := false
		for _, users := range f.commonValues() {
			key := users[0].u
			if tried[key] || len(tried) >= maxTrials {
				continue
			}
			tried[key] = true
			if stored = f.storeFor(users); stored {
				break
			}
		}
		if !stored {
			return changed
		}
		changed = true
	}
	return changed
}

// commonValues are functions that more than one group computes, those that take most operations first.
func (f *fuser) commonValues() (common [][]commonValue) {
	if len(f.groups) < 2 {
		return nil
	}
	keys := map[*uop.UOp][]commonValue{}
	var order []*uop.UOp
	places := map[*uop.UOp]*uop.UOp{} // a range for each length
	for i, g := range f.groups {
		if g.body == nil || g.body.pieces || g.body.contraction() || g.body.scatters() {
			continue
		}
		for key, v := range f.functionsOf(i, places) {
			if keys[key] == nil {
				order = append(order, key)
			}
			keys[key] = append(keys[key], v...)
		}
	}
	m := &f.o.Machine
	for _, key := range order {
		users := keys[key]
		n := volume(users[0].form.Ranges())
		again := 0.0
		for _, v := range users {
			if v.group != users[0].group {
				again += m.vectorCycles(v.work * float64(volume(v.u.Ranges())))
			}
		}
		if again > m.storeCycles(n, users[0].u.DType) {
			common = append(common, users)
		}
	}
	slices.SortStableFunc(common, func(a, b []commonValue) int {
		if c := cmp.Compare(b[0].work, a[0].work); c != 0 {
			return c
		}
		return cmp.Compare(a[0].u.ID(), b[0].u.ID())
	})
	return common
}

// functionsOf are the costly functions of group i, keyed by the expression with position 0 in place of the positions of its loads.
func (f *fuser) functionsOf(i int, places map[*uop.UOp]*uop.UOp) map[*uop.UOp][]commonValue {
	b := f.groups[i].body.withSimpleIndices()
	f.groups[i].body = b
	values := b.values()
	stored := map[*uop.UOp]*uop.UOp{}
	for _, s := range b.stores {
		if s.value.Op == uop.Reduce {
			if load := s.at.Src[0].IndexBy(s.index()); load.DType == s.value.DType {
				stored[s.value] = load
			}
		}
	}
	work := f.o.Machine.workOfValues(values)
	divisions := divisionsOf(values)
	inner := b.iterations()
	forms, keys := newImages(), newImages()
	defer forms.reset()
	defer keys.reset()
	out := map[*uop.UOp][]commonValue{}
	opaque := map[*uop.UOp]bool{} // values that depend on a reduction or a scratch row that is not stored
	for _, u := range values {
		form := stored[u]
		if form == nil {
			form = rebuilt(u, forms)
		}
		forms.set(u, form)
		opaque[u] = stored[u] == nil && (u.Op == uop.Reduce || u.Op == uop.Bufferize || slices.ContainsFunc(u.Src, func(s *uop.UOp) bool { return opaque[s] }))
		var key *uop.UOp
		switch {
		case stored[u] != nil:
			key = form.Src[0].IndexBy(form.Src[1].GetIdx().IntLike(0))
		case u.Op == uop.Index && u.Src[0].Op == uop.Param:
			key = u.Src[0].IndexBy(u.Src[1].GetIdx().IntLike(0))
		case u.Op == uop.Range:
			if key = places[u.Src[0]]; key == nil {
				key = f.newRange(u)
				places[u.Src[0]] = key
			}
		default:
			key = rebuilt(u, keys)
		}
		keys.set(u, key)
		if work[u] >= commonWork && !opaque[u] && !divisions[u] && !u.DType.IsIndex() && !u.DType.IsBool() && u.Op != uop.Index && !slices.ContainsFunc(u.Ranges(), variable) && 2*volume(u.Ranges()) >= inner {
			if form == u || u.Op != uop.Mul { // its readers may round a product and a sum once (FMA)
				out[key] = append(out[key], commonValue{i, u, form, work[u]})
			}
		}
	}
	return out
}

// storeFor stores a function in a kernel before its users, or after the first user if that one stores the reductions which the function depends
// on. It does so only if all kernels then take less time.
func (f *fuser) storeFor(users []commonValue) bool {
	first, trial := users[0], *f
	trial.hooks, trial.dumping = nil, false
	behind := first.form != first.u
	of := first.form
	if i := slices.IndexFunc(users, func(v commonValue) bool { return wholeLoad(v.form) != nil }); i > 0 && !behind {
		of = users[i].form
	}
	s, memory := trial.storing(of)
	if s == nil {
		return false
	}
	own := groupOf(s, f.groups[first.group].kernels)
	replaced := map[int]map[*uop.UOp]*uop.UOp{}
	last := first.group
	for _, v := range users {
		if behind && v.group == first.group {
			continue
		}
		at := elementOf(v.form, own.body)
		if at == nil {
			continue
		}
		if replaced[v.group] == nil {
			replaced[v.group] = map[*uop.UOp]*uop.UOp{}
		}
		replaced[v.group][v.u] = memory.IndexBy(at)
		last = max(last, v.group)
	}
	if last == first.group || f.overwritten(first, own, last) {
		return false
	}
	trial.groups = nil
	for i, g := range f.groups {
		if i == first.group && !behind {
			trial.groups = append(trial.groups, own)
		}
		if m := replaced[i]; m != nil {
			g = groupOf(g.body.withValues(m), g.kernels)
		}
		trial.groups = append(trial.groups, g)
		if i == first.group && behind {
			trial.groups = append(trial.groups, own)
		}
	}
	trial.fuseProducers()
	trial.fuseSiblings()
	c := Costs{Elements: volume(s.loops)}
	c.SavedCycles = f.cyclesWithout(f.groups, trial.groups)
	c.StoreCycles = trial.cyclesWithout(trial.groups, f.groups)
	reason := Recompute
	if c.StoreCycles < c.SavedCycles*commonGain {
		reason = Pays
	}
	f.observe(f.groups[first.group], f.groups[last], reason, c)
	if reason == Pays {
		f.slots, f.groups, f.ranges, f.changed = trial.slots, trial.groups, trial.ranges, true
	}
	return reason == Pays
}

// cyclesWithout estimates the cycles of the groups in list that are not in others.
func (f *fuser) cyclesWithout(list, others []*group) (cycles float64) {
	m := &f.o.Machine
	for _, g := range list {
		if g.body == nil || slices.Contains(others, g) {
			continue
		}
		bytes, _ := f.traffic(g.body)
		cycles += m.launchCycles() + m.transferCycles(bytes) + max(f.stallCycles(g.body), 0)
		if f.o.Cycles != nil {
			if n, _, ok := f.cycles([]*group{g}); ok {
				cycles += n
				continue
			}
		}
		cycles += m.vectorCycles(f.workOf(g.body))
	}
	return cycles
}

// overwritten reports whether a group up to the last one writes an operand of a function.
func (f *fuser) overwritten(first commonValue, own *group, last int) bool {
	for _, l := range first.u.Toposort() {
		if l.Op == uop.Index && l.Src[0].Op == uop.Param && f.groups[first.group].writes.has(slotOf(l)) {
			return true
		}
	}
	return slices.ContainsFunc(f.groups[first.group+1:last+1], func(g *group) bool { return overlap(g.writes, own.reads) })
}

// storing returns a body that stores a function, and its buffer. The loops are nested by the strides of the function's loads, the largest
// outermost.
func (f *fuser) storing(u *uop.UOp) (*body, *uop.UOp) {
	loops := slices.Clone(u.Ranges())
	if len(loops) == 0 {
		return nil, nil
	}
	stride := func(r *uop.UOp) (n int64) {
		for _, l := range u.Toposort() {
			if l.Op == uop.Index && l.Src[0].Op == uop.Param && l.InRange(r) {
				by := strideIn(l.Src[1].GetIdx(), r)
				n = max(n, by, -by)
			}
		}
		return n
	}
	slices.SortStableFunc(loops, func(a, b *uop.UOp) int { return cmp.Compare(stride(b), stride(a)) })
	m := map[*uop.UOp]*uop.UOp{}
	b := &body{}
	for _, r := range loops {
		own := f.newRange(r)
		own = own.WithArg(uop.RangeArg{ID: own.RangeID().ID, Type: uop.AxisLoop})
		m[r] = own
		b.loops = append(b.loops, own)
	}
	elements, slot := volume(loops), len(f.slots)
	f.slots = append(slices.Clip(f.slots), schedule.Slot{DType: u.DType, Size: elements, Input: -1, Output: -1})
	memory := u.Graph().New(uop.Param, u.DType.Ptr(elements, uop.Global), nil, uop.Num(slot), nil)
	b.stores = []store{{slot, memory.IndexPtr(rowMajorIndex(b.loops)), replace(u, m), b.loops}}
	return b, memory
}

// elementOf is the index at which the function that s stores equals u, nil if there is none.
func elementOf(u *uop.UOp, s *body) *uop.UOp {
	stored := s.stores[0].value
	at := sameUpToRanges(stored, u)
	if len(at) != len(s.loops) {
		at = elementsAt(stored, u)
		if len(at) != len(s.loops) || !sameElements(replace(stored, at), u) {
			return nil
		}
	}
	return simplify(replace(s.stores[0].index(), at))
}

// wholeLoad is a load of u that reads its whole buffer in row-major order and depends on all loops of u; nil if there is none.
func wholeLoad(u *uop.UOp) *uop.UOp {
	for _, l := range loadsOf(u) {
		if own, ok := rowMajor(l.Src[1]); ok && len(own) == len(u.Ranges()) && extentOf(own) == sizeOfBuffer(l) {
			return l
		}
	}
	return nil
}

// loadsOf are the loads that a value is computed of.
func loadsOf(u *uop.UOp) []*uop.UOp { return (&body{stores: []store{{value: u}}}).loads() }

// elementsAt maps the ranges of a stored function to positions at which it may load the same elements as another function.
func elementsAt(stored, of *uop.UOp) map[*uop.UOp]*uop.UOp {
	whole := wholeLoad(stored)
	if whole == nil {
		return nil
	}
	own, _ := rowMajor(whole.Src[1])
	for _, o := range loadsOf(of) {
		if slotOf(o) != slotOf(whole) || o.Src[1].Find((*uop.UOp).IsInvalid) != nil {
			continue
		}
		at := map[*uop.UOp]*uop.UOp{}
		for i, p := range positionsIn(own, o.Src[1]) {
			at[own[i].r] = p
		}
		return at
	}
	return nil
}

// sameElements reports whether two values are the same function of the same elements.
func sameElements(a, b *uop.UOp) bool {
	type pair struct{ a, b *uop.UOp }
	known := map[pair]bool{}
	var same func(a, b *uop.UOp) bool
	same = func(a, b *uop.UOp) bool {
		if a == b {
			return true
		}
		if a.Op != b.Op || a.DType != b.DType || len(a.Src) != len(b.Src) || !uop.ArgEqual(a.Arg, b.Arg) {
			return false
		}
		if a.Op == uop.Index {
			n, ok := difference(simplify(a.Src[1]), simplify(b.Src[1]))
			return a.Src[0] == b.Src[0] && ok && n == 0
		}
		if len(a.Src) == 0 {
			return false
		}
		if out, ok := known[pair{a, b}]; ok {
			return out
		}
		out := true
		for i := range a.Src {
			out = out && same(a.Src[i], b.Src[i])
		}
		known[pair{a, b}] = out
		return out
	}
	return same(a, b)
}
