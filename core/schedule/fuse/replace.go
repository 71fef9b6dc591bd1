package fuse

import (
	"sync"

	"polygrad/core/uop"
)

// substitution maps nodes of one graph to their replacements. Nodes are numbered, so the index is a slice; stale entries of earlier uses are
// beyond the list or belong to another node.
type substitution struct {
	index []uint32 // by number of a node: its index in list
	list  []image
}

type image struct{ of, to *uop.UOp }

func (t *substitution) get(u *uop.UOp) *uop.UOp {
	if id := u.ID(); id < len(t.index) {
		if at := int(t.index[id]); at < len(t.list) && t.list[at].of == u {
			return t.list[at].to
		}
	}
	return nil
}

func (t *substitution) set(u, to *uop.UOp) {
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

var freeImages = sync.Pool{New: func() any { return &substitution{} }}

func newImages() *substitution { return freeImages.Get().(*substitution) }

// reset keeps the memory for reuse, without the nodes: one node would keep its whole graph alive.
func (t *substitution) reset() {
	clear(t.list)
	t.list = t.list[:0]
	freeImages.Put(t)
}

// replace substitutes nodes once: replacements are not substituted again.
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
	t.reset()
	return out
}

// rebuilt is a node with its sources replaced.
func rebuilt(u *uop.UOp, t *substitution) *uop.UOp {
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
