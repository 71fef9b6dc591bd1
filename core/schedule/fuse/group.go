package fuse

import (
	"slices"

	"polygrad/core/ranges"
	"polygrad/core/rewrite"
	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// group is a fusion group: kernels of the scheduler that were merged. It is immutable once its pass has put it into the list.
type group struct {
	// kernels are the numbers of the scheduler's kernels in it, in ascending order.
	kernels []int
	// kernel is nil until the group is emitted as a kernel.
	kernel *schedule.Kernel
	body   *body // nil for kernels that cannot be merged
	access
}

// access is the slots that kernels read and write.
type access struct{ reads, writes slotSet }

// slotSet is a set of slots, a bit for each.
type slotSet []uint64

func (s *slotSet) add(slot int) {
	for slot>>6 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[slot>>6] |= 1 << (slot & 63)
}

func (s slotSet) has(slot int) bool { return slot>>6 < len(s) && s[slot>>6]>>(slot&63)&1 != 0 }

func (s *slotSet) merge(o slotSet) {
	for len(*s) < len(o) {
		*s = append(*s, 0)
	}
	for i, w := range o {
		(*s)[i] |= w
	}
}

func (s slotSet) and(o slotSet) slotSet {
	out := slices.Clone(s[:min(len(s), len(o))])
	for i := range out {
		out[i] &= o[i]
	}
	return out
}

func overlap(a, b slotSet) bool {
	for i := range min(len(a), len(b)) {
		if a[i]&b[i] != 0 {
			return true
		}
	}
	return false
}

func (s slotSet) equal(o slotSet) bool {
	n := max(len(s), len(o))
	return slices.Equal(append(slices.Clone(s), make(slotSet, n-len(s))...), append(slices.Clone(o), make(slotSet, n-len(o))...))
}

// newGroup is a group of one kernel.
func (f *fuser) newGroup(k schedule.Kernel, kernels []int) *group {
	ast := k.AST
	k.AST = rewrite.Graph(ast, ranges.Selections, nil)
	changed := k.AST != ast
	b := f.bodyOf(k)
	if b != nil && changed { // then the body is emitted as a kernel
		if _, ok := loopOrder(b); !ok {
			k.AST = ast
			return opaque(k, kernels)
		}
	}
	f.changed = f.changed || changed
	if b == nil {
		if changed {
			k.AST = numberedRanges(k.AST)
		}
		return opaque(k, kernels)
	}
	g := groupOf(b, kernels)
	if !changed {
		g.kernel = &k
	}
	return g
}

// numberedRanges renumbers the ranges of a kernel from 0, in the same order.
func numberedRanges(ast *uop.UOp) *uop.UOp {
	var loops []*uop.UOp
	for _, u := range ast.Toposort() {
		if u.Op == uop.Range {
			loops = append(loops, u)
		}
	}
	slices.SortStableFunc(loops, byID)
	m := map[*uop.UOp]*uop.UOp{}
	for i, r := range loops {
		m[r] = numbered(r.With(replace(r.Src[0], m)), i)
	}
	return replace(ast, m)
}

// groupOf is the group of a body.
func groupOf(b *body, kernels []int) *group {
	g := &group{kernels: kernels, body: b}
	for _, s := range b.stores {
		g.writes.add(s.slot)
	}
	for _, l := range b.loads() {
		g.reads.add(slotOf(l))
	}
	return g
}

// groupsOf are the groups of some bodies of the same kernels.
func groupsOf(bodies []*body, kernels []int) []*group {
	var groups []*group
	for _, b := range bodies {
		groups = append(groups, groupOf(b, kernels))
	}
	return groups
}

// opaque is the group of a kernel that cannot be merged.
func opaque(k schedule.Kernel, kernels []int) *group {
	g := &group{kernels: kernels, kernel: &k}
	for _, b := range k.Bufs {
		g.reads.add(b)
		g.writes.add(b)
	}
	return g
}

// dependsOn reports whether b, which comes later, must not be moved before a.
func (b *access) dependsOn(a *access) bool {
	return overlap(a.writes, b.reads) || overlap(a.reads, b.writes) || overlap(a.writes, b.writes)
}

func (b *access) merge(a *access) {
	b.reads.merge(a.reads)
	b.writes.merge(a.writes)
}

// between splits the groups between i and j into those that can run before both and those that can run after both. ok is
// false if there are others.
func (f *fuser) between(i, j int) (before, after []*group, ok bool) {
	var behind access
	behind.merge(&f.groups[i].access)
	for _, g := range f.groups[i+1 : j] {
		if g.dependsOn(&behind) {
			behind.merge(&g.access)
			after = append(after, g)
		} else {
			before = append(before, g)
		}
	}
	ok = !slices.ContainsFunc(after, func(g *group) bool { return f.groups[j].dependsOn(&g.access) })
	return before, after, ok
}

// merge replaces the groups i and j by one with the merged body, and returns its index.
func (f *fuser) merge(i, j int, before, after []*group, b *body) int {
	kernels := slices.Concat(f.groups[i].kernels, f.groups[j].kernels)
	slices.Sort(kernels)
	f.replace(i, j+1, slices.Concat(before, []*group{groupOf(b, slices.Compact(kernels))}, after))
	return i + len(before)
}

// replace replaces the groups from i to j.
func (f *fuser) replace(i, j int, groups []*group) {
	f.groups = slices.Concat(f.groups[:i], groups, f.groups[j:])
	f.changed = true
}

// replaceBody replaces the body of group i by one or more.
func (f *fuser) replaceBody(i int, bodies ...*body) {
	f.replace(i, i+1, groupsOf(bodies, f.groups[i].kernels))
}

// needed reports whether a slot is used outside of the groups i and j.
func (f *fuser) needed(slot, i, j int) bool {
	if s := f.slots[slot]; s.Input >= 0 || s.Output >= 0 {
		return true
	}
	for n, g := range f.groups {
		if n != i && n != j && g.reads.has(slot) {
			return true
		}
	}
	return false
}

// dropSlots removes temporaries that no kernel uses any more.
func (f *fuser) dropSlots() {
	used := make([]bool, len(f.s.Slots))
	for _, k := range f.s.Kernels {
		for _, b := range k.Bufs {
			used[b] = true
		}
	}
	for _, o := range f.s.Outputs {
		if o.Slot >= 0 {
			used[o.Slot] = true
		}
	}
	to := make([]int, len(used))
	var slots []schedule.Slot
	for i, s := range f.s.Slots {
		to[i] = len(slots)
		if used[i] || s.Input >= 0 {
			slots = append(slots, s)
		}
	}
	f.s.Slots = slots
	for i := range f.s.Kernels {
		k := &f.s.Kernels[i]
		bufs := make([]int, len(k.Bufs))
		for j, b := range k.Bufs {
			bufs[j] = to[b]
		}
		k.Bufs = bufs
	}
	for i := range f.s.Outputs {
		if o := &f.s.Outputs[i]; o.Slot >= 0 {
			o.Slot = to[o.Slot]
		}
	}
}
