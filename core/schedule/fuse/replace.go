package fuse

import (
	"sync"

	"polygrad/core/uop"
)

// images says what nodes of one graph turn into. Graphs number their nodes, so that it can be a slice; the entries of
// earlier uses have another number and need not be cleared.
type images struct {
	use uint32
	at  []image
}

type image struct {
	use uint32
	to  *uop.UOp
}

func (t *images) get(u *uop.UOp) *uop.UOp {
	if id := u.ID(); id < len(t.at) && t.at[id].use == t.use {
		return t.at[id].to
	}
	return nil
}

func (t *images) set(u, to *uop.UOp) {
	id := u.ID()
	if id >= len(t.at) {
		t.at = append(t.at, make([]image, id+id/2+64-len(t.at))...)
	}
	t.at[id] = image{t.use, to}
}

var freeImages = sync.Pool{New: func() any { return &images{} }}

func newImages() *images {
	t := freeImages.Get().(*images)
	if t.use++; t.use == 0 {
		clear(t.at)
		t.use = 1
	}
	return t
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
	freeImages.Put(t)
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
