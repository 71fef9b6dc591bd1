package fuse

import (
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// dropCopies removes kernels that only copy a temporary, such as the result of a scatter or a scan, to an output or another temporary: the
// producer of the source writes the destination instead.
func (f *fuser) dropCopies() (changed bool) {
	for i := len(f.groups) - 1; i >= 0; i-- {
		from, to, ok := f.copied(f.groups[i])
		if !ok || !f.interchangeable(i, from, to) {
			continue
		}
		f.replace(i, i+1, nil)
		for j, g := range f.groups {
			if g.reads.has(from) || g.writes.has(from) {
				f.groups[j] = g.renamed(from, to)
			}
		}
		changed = true
	}
	return changed
}

// copied returns source and destination of a group that only copies a whole temporary to another buffer of its size.
func (f *fuser) copied(g *group) (from, to int, ok bool) {
	if g.body == nil || len(g.body.stores) != 1 {
		return 0, 0, false
	}
	s := &g.body.stores[0]
	if v := s.value; v.Op != uop.Index || v.Src[0].Op != uop.Param || v.Src[1] != s.index() || slotOf(v) == s.slot {
		return 0, 0, false
	}
	from, to = slotOf(s.value), s.slot
	source, target := &f.slots[from], &f.slots[to]
	if source.Input >= 0 || source.Output >= 0 || source.DType != target.DType || source.Size != target.Size {
		return 0, 0, false
	}
	at, ok := rowMajor(s.index())
	return from, to, ok && extentOf(at) == target.Size
}

// interchangeable reports whether the two buffers of copy i can be coalesced: the destination is not used before the copy, and afterwards
// they stay equal or only one of them is used.
func (f *fuser) interchangeable(i, from, to int) bool {
	var later access
	for j, g := range f.groups {
		a := g.access
		if g.body == nil {
			a = accessOf(*g.kernel)
		}
		uses := func(slot int) bool { return a.reads.has(slot) || a.writes.has(slot) }
		switch {
		case j < i && uses(to), j > i && uses(from) && uses(to):
			return false
		case j > i:
			later.merge(&a)
		}
	}
	return !later.writes.has(from) && (!later.writes.has(to) || !later.reads.has(from))
}

// renamed is the group with one buffer replaced by another.
func (g *group) renamed(from, to int) *group {
	out := &group{kernels: g.kernels}
	if g.kernel != nil {
		k := schedule.Kernel{AST: g.kernel.AST, Bufs: slices.Clone(g.kernel.Bufs), Vars: g.kernel.Vars}
		for i, b := range k.Bufs {
			if b == from {
				k.Bufs[i] = to
			}
		}
		out.kernel = &k
	}
	if g.body == nil {
		return opaque(*out.kernel, g.kernels)
	}
	m := map[*uop.UOp]*uop.UOp{}
	for _, u := range g.body.root().Toposort() {
		if u.Op == uop.Param && int(u.Arg.(uop.Num)) == from {
			m[u] = u.WithArg(uop.Num(to))
		}
	}
	b := &body{loops: g.body.loops, pieces: g.body.pieces}
	for _, s := range g.body.stores {
		if s.slot == from {
			s.slot = to
		}
		b.stores = append(b.stores, store{s.slot, replace(s.at, m), replace(s.value, m), s.loops})
	}
	named := groupOf(b, g.kernels)
	named.kernel = out.kernel
	return named
}
