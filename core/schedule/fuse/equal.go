package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// dropEqual drops a kernel that stores the same values in a temporary as an earlier kernel in another one, as the views of a gradient that each
// position of a window needs. Its readers read the earlier temporary.
func (f *fuser) dropEqual() {
	writers := make([]int, len(f.slots))
	first := map[*uop.UOp][]int{} // the kernels that stay, by what they compute
	to := map[int]int{}           // the slots that are read in place of those of dropped kernels
	for i, k := range f.s.Kernels {
		for _, slot := range k.Bufs {
			if f.groups[i].writes.has(slot) {
				writers[slot]++
			}
		}
	}
	renamed := func(slots []int) []int {
		out := slices.Clone(slots)
		for i, slot := range out {
			if other, ok := to[slot]; ok {
				out[i] = other
			}
		}
		return out
	}
	twice := func(slots []int) bool {
		sorted := slices.Sorted(slices.Values(slots))
		return len(slices.Compact(sorted)) < len(slots)
	}
	// A kernel that is not emitted anew has an argument for each slot, and a GPU does not accept one buffer as two arguments.
	clashes := func() bool {
		for i, k := range f.s.Kernels {
			if b := f.groups[i].body; twice(renamed(k.Bufs)) && (b == nil || noLoopOrder(b)) {
				return true
			}
		}
		return false
	}
	for i, g := range f.groups {
		if g.body == nil || len(g.body.stores) != 1 {
			continue
		}
		slot, k := g.body.stores[0].slot, f.s.Kernels[i]
		if s := f.slots[slot]; s.Input >= 0 || s.Output >= 0 || writers[slot] != 1 {
			continue
		}
		for _, j := range first[k.AST] {
			to[slot] = f.groups[j].body.stores[0].slot
			if slices.Equal(renamed(k.Bufs), renamed(f.s.Kernels[j].Bufs)) &&
				!slices.ContainsFunc(f.groups[j:i], func(x *group) bool { return overlap(x.writes, g.reads) }) && !clashes() {
				break
			}
			delete(to, slot)
		}
		if _, equal := to[slot]; !equal {
			first[k.AST] = append(first[k.AST], i)
		}
	}
	if len(to) == 0 {
		return
	}
	var groups []*group
	for i, k := range f.s.Kernels {
		if b := f.groups[i].body; b != nil {
			if _, dropped := to[b.stores[0].slot]; dropped {
				continue
			}
		}
		if bufs := renamed(k.Bufs); !slices.Equal(bufs, k.Bufs) {
			k.Bufs = bufs
			g := f.newGroup(k, []int{i})
			if twice(bufs) {
				g.kernel = nil
			}
			groups = append(groups, g)
		} else {
			groups = append(groups, f.groups[i])
		}
	}
	f.groups, f.changed = groups, true
}
