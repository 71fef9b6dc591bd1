package fuse

import (
	"sync"

	"polygrad/core/uop"
)

// images says what nodes of one graph turn into. Graphs number their nodes, so that the index can be a slice; what earlier
// uses left in the index lies beyond the list or belongs to another node.
type images struct {
	index []uint32 // by number of a node: its place in list
	list  []image
}

type image struct{ of, to *uop.UOp }

func (t *images) get(u *uop.UOp) *uop.UOp {
	if id := u.ID(); id < len(t.index) {
		if at := int(t.index[id]); at < len(t.list) && t.list[at].of == u {
			return t.list[at].to
		}
	}
	return nil
}

func (t *images) set(u, to *uop.UOp) {
	id := u.ID()
	if id >= len(t.index) {
		t.index = append(t.index, make([]uint32, id+id/2+64-len(t.index))...)
	}
	if at := int(t.index[id]); at < len(t.list) && t.list[at].of == u {
		t.list[at].to = to
		return
	}
	t.index[id] = uint32(len(t.list))
	t.list = append(t.list, image{u, to})
}

var freeImages = sync.Pool{New: func() any { return &images{} }}

func newImages() *images { return freeImages.Get().(*images) }

// free keeps the room for reuse, without the nodes: one node would keep its whole graph alive.
func (t *images) free() {
	clear(t.list)
	t.list = t.list[:0]
	freeImages.Put(t)
}

// replace substitutes nodes once: substituted nodes are not substituted again.
func replace(root *uop.UOp, m map[*uop.UOp]*uop.UOp) *uop.UOp {
	if len(m) == 0 {
		return root
	}
	t := newImages()
	for u, to := range m {
		t.set(u, to)
	}
	for _, u := range root.ToposortGated(func(u *uop.UOp) bool { return t.get(u) == nil }) {
		t.set(u, rebuilt(u, t))
	}
	out := t.get(root)
	t.free()
	return out
}

// rebuilt is a node with its sources replaced.
func rebuilt(u *uop.UOp, t *images) *uop.UOp {
	for i, s := range u.Src {
		if t.get(s) == s {
			continue
		}
		src := make([]*uop.UOp, len(u.Src))
		copy(src, u.Src[:i])
		for j := i; j < len(src); j++ {
			src[j] = t.get(u.Src[j])
		}
		return u.With(src...)
	}
	return u
}
