package fuse

import (
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// body is a kernel in the form in which kernels are merged: its PARAMs are the slots of the schedule, and no two bodies
// share a RANGE. It is never changed.
type body struct {
	stores []store
	// loops are the ranges of all stores, in the order of the kernel that they come from.
	loops []*uop.UOp
	// pieces says that several stores may fill one buffer.
	pieces bool

	// Cached analyses of the body: nil, 0 or false until computed.
	nodes, indices []*uop.UOp
	cost           float64
	product, known bool
}

// store is one output.
type store struct {
	slot int
	// at is the INDEX of the destination, value the stored value.
	at, value *uop.UOp
	// loops are the ranges around the store.
	loops []*uop.UOp
}

func (s *store) index() *uop.UOp { return s.at.Src[1] }

// keepsElements reports whether a store chooses between a new value and the old one of each element.
func (s *store) keepsElements() bool {
	return s.value.Op == uop.Where && slices.ContainsFunc(s.value.Src[1:], func(u *uop.UOp) bool {
		return u.Op == uop.Index && slices.Equal(u.Src, s.at.Src)
	})
}

// fusible are the operations that the body of a kernel may consist of; others make it opaque.
var fusible = uop.GroupElementwise.Union(uop.Ops(uop.ConstOp, uop.Range, uop.Param, uop.Index, uop.Reduce, uop.DefineVar,
	uop.Store, uop.End, uop.Sink))

// bodyOf is the body of a kernel, nil if the kernel has something in it that is not fusible.
func (f *fuser) bodyOf(k schedule.Kernel) *body {
	sink := k.AST
	if sink.Op != uop.Sink || len(sink.Src) != 1 {
		return nil
	}
	m := map[*uop.UOp]*uop.UOp{}
	var rs []*uop.UOp
	for _, u := range sink.Toposort() {
		switch {
		case !fusible.Has(u.Op) || u.Op == uop.Index && len(u.Src) != 2:
			return nil
		case u.Op == uop.Range:
			if len(u.RangeID().ID) != 1 || u.RangeID().Type == uop.AxisPrefix { // sequential loops are not fused
				return nil
			}
			rs = append(rs, u)
		case u.Op == uop.Param:
			m[u] = u.WithArg(uop.Num(k.Bufs[int(u.Arg.(uop.Num))]))
		}
	}
	slices.SortFunc(rs, byID)
	for _, r := range rs {
		m[r] = f.newRange(r)
	}
	end := replace(sink.Src[0], m)
	b := &body{}
	st := end
	if end.Op == uop.End {
		st, b.loops = end.Src[0], end.Src[1:]
	}
	if st.Op != uop.Store || len(st.Src) != 2 || st.Src[0].Op != uop.Index {
		return nil
	}
	if st.Src[0].Src[1].HasOp(uop.Ops(uop.Index)) {
		return nil // an indirect store
	}
	b.stores = []store{{slot: slotOf(st.Src[0]), at: st.Src[0], value: st.Src[1], loops: b.loops}}
	c := loopSplits{}
	c.ofDivisions(b.root(), b.loops)
	if len(c) > 0 {
		if s := f.split(b, c); s != nil {
			return s
		}
	}
	return b
}

// newRange is a fresh range with the size and type of r.
func (f *fuser) newRange(r *uop.UOp) *uop.UOp {
	f.ranges++
	return r.WithArg(uop.RangeArg{ID: []int{f.ranges}, Type: r.RangeID().Type})
}

// slotOf is the slot that an INDEX accesses.
func slotOf(at *uop.UOp) int { return int(at.Src[0].Arg.(uop.Num)) }

// sizeOf is the length of a range, or the bound of a variable one.
func sizeOf(r *uop.UOp) int64 { return r.Src[0].Vmax().I() }

func variable(r *uop.UOp) bool { return r.Src[0].Op != uop.ConstOp }

func volume(rs []*uop.UOp) int64 {
	n := int64(1)
	for _, r := range rs {
		n *= sizeOf(r)
	}
	return n
}

// with is the body with nodes replaced and simplified; loops are its new ranges.
func (b *body) with(m map[*uop.UOp]*uop.UOp, loops []*uop.UOp) *body {
	out := &body{loops: loops, pieces: b.pieces}
	for _, s := range b.stores {
		out.stores = append(out.stores, s.with(m))
	}
	return out
}

// withValues is the body with nodes of the stored values replaced.
func (b *body) withValues(m map[*uop.UOp]*uop.UOp) *body {
	out := &body{loops: b.loops, pieces: b.pieces}
	for _, s := range b.stores {
		s.value = replace(s.value, m)
		out.stores = append(out.stores, s)
	}
	return out
}

func (s *store) with(m map[*uop.UOp]*uop.UOp) store {
	out := store{slot: s.slot}
	out.at = simplify(replace(s.at, m))
	out.value = simplify(replace(s.value, m))
	for _, r := range s.loops {
		v, ok := m[r]
		if !ok {
			v = r
		}
		for _, x := range v.Ranges() {
			if x.Op == uop.Range {
				out.loops = append(out.loops, x)
			}
		}
	}
	return out
}

// root is a node above all stores, to walk over the body.
func (b *body) root() *uop.UOp {
	var src []*uop.UOp
	for _, s := range b.stores {
		src = append(src, s.at, s.value)
	}
	return b.stores[0].at.Graph().Sink(nil, src...)
}

// loads are the INDEX nodes that the body reads.
func (b *body) loads() []*uop.UOp {
	b.values()
	return b.indices
}

// values are the nodes that the stored values depend on, sources first.
func (b *body) values() []*uop.UOp {
	if b.nodes != nil {
		return b.nodes
	}
	if len(b.stores) == 1 {
		b.nodes = b.stores[0].value.Toposort()
	} else {
		src := make([]*uop.UOp, len(b.stores))
		for i, s := range b.stores {
			src[i] = s.value
		}
		all := b.stores[0].at.Graph().Sink(nil, src...).Toposort()
		b.nodes = all[:len(all)-1]
	}
	for _, u := range b.nodes {
		if u.Op == uop.Index && u.Src[0].Op == uop.Param {
			b.indices = append(b.indices, u)
		}
	}
	return b.nodes
}

// storeTo is the store to a slot, nil if there is none.
func (b *body) storeTo(slot int) *store {
	for i := range b.stores {
		if b.stores[i].slot == slot {
			return &b.stores[i]
		}
	}
	return nil
}
