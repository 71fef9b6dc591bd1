package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// pays reports whether a merged body is right and better than the bodies it is made of, whose work was before. rows are
// the loops that both run in.
func (f *fuser) pays(b *body, rows []*uop.UOp, before float64) bool {
	order, ok := nest(b)
	if !ok || !harmless(b) || f.buffers(b) > f.o.MaxBuffers {
		return false
	}
	if !wideEnough(b, order) {
		return false
	}
	if f.o.MinRows > volume(rows) && b.elements() > f.o.SmallWork {
		return false
	}
	return b.work() <= f.o.MaxWork*before && b.rowBytes(rows) <= f.o.RowBytes
}

// harmless reports whether every buffer that the body writes is read, if at all, just where it is written, for the
// value that is written there: what is read is then always what was there before.
func harmless(b *body) bool {
	loads := b.loads()
	for i := range b.stores {
		s := &b.stores[i]
		for j := range b.stores {
			if i != j && b.stores[j].slot == s.slot {
				return false
			}
		}
		for _, l := range loads {
			if slotOf(l) == s.slot && (l.Src[1] != s.index() || !s.value.DependsOn(l)) {
				return false
			}
		}
	}
	return true
}

// buffers counts the buffers of a body.
func (f *fuser) buffers(b *body) int {
	seen := map[int]bool{}
	for _, s := range b.stores {
		seen[s.slot] = true
	}
	for _, l := range b.loads() {
		seen[slotOf(l)] = true
	}
	return len(seen)
}

// elements is the number of values that the body goes through, reductions included.
func (b *body) elements() int64 {
	most := int64(1)
	for _, u := range b.root().Toposort() {
		n := volume(b.loopsOf(u))
		for _, r := range u.Ranges() {
			if !slices.Contains(b.loops, r) {
				n *= sizeOf(r)
			}
		}
		most = max(most, n)
	}
	return most
}

// rowBytes is how much memory the body goes through more than once for the same values of the rows.
func (b *body) rowBytes(rows []*uop.UOp) int64 {
	type use struct {
		loads int
		bytes int64
	}
	uses := map[int]*use{}
	for _, l := range b.loads() {
		n := int64(l.DType.Itemsize())
		inner := false
		for _, r := range l.Ranges() {
			if !slices.Contains(rows, r) {
				n *= sizeOf(r)
				inner = true
			}
		}
		if !inner {
			continue
		}
		u := uses[slotOf(l)]
		if u == nil {
			u = &use{}
			uses[slotOf(l)] = u
		}
		u.loads++
		u.bytes = max(u.bytes, n)
	}
	total := int64(0)
	for _, u := range uses {
		if u.loads > 1 {
			total += u.bytes
		}
	}
	return total
}

// contiguousMin is how many neighbours a loop should go through before it jumps.
const contiguousMin = 8

// wideEnough reports whether the innermost loops go through memory in order: those around the stores, if they had to
// change places, and those of reductions, if other loops follow them in the same row.
func wideEnough(b *body, order []*uop.UOp) bool {
	for _, s := range b.stores {
		path := within(order, s.loops)
		if len(path) > 1 && !slices.Equal(path, byStride(&s)) && neighbours(s.index(), path[len(path)-1:]) < contiguousMin {
			return false
		}
	}
	if !b.rowwise() {
		return true
	}
	for _, u := range b.values() {
		if u.Op == uop.Reduce && !contiguous(u) {
			return false
		}
	}
	return true
}

// byStride are the loops of a store as its buffer lies.
func byStride(s *store) []*uop.UOp {
	ts, ok := terms(s.index())
	if !ok {
		return s.loops
	}
	var out []*uop.UOp
	for _, t := range ts {
		out = append(out, t.r)
	}
	return out
}

// rowwise reports whether several loops follow each other in the same row: of reductions, or around stores.
func (b *body) rowwise() bool {
	var loop *uop.UOp
	for _, u := range b.values() {
		if u.Op != uop.Reduce {
			continue
		}
		if loop != nil && loop != u.Src[1] {
			return true
		}
		loop = u.Src[1]
		on := len(b.loopsOf(u))
		for _, s := range b.stores {
			if on < len(s.loops) && s.value.DependsOn(u) {
				return true
			}
		}
	}
	return false
}

// contiguous reports whether a reduction reads some buffer in order, or reads nothing in its loops.
func contiguous(red *uop.UOp) bool {
	reads := false
	for _, u := range red.Src[0].ToposortGated(func(u *uop.UOp) bool { return u.Op != uop.Reduce }) {
		if u.Op != uop.Index || len(within(u.Ranges(), red.Src[1:])) == 0 {
			continue
		}
		reads = true
		if neighbours(u.Src[1], red.Src[1:]) >= min(contiguousMin, volume(red.Src[1:])) {
			return true
		}
	}
	return !reads
}

// neighbours is how many elements an index goes through one after the other when the ranges run.
func neighbours(index *uop.UOp, rs []*uop.UOp) int64 {
	n := int64(1)
	for grown := true; grown; {
		grown = false
		for _, r := range rs {
			if sizeOf(r) > 1 && strideIn(index, r) == n {
				n *= sizeOf(r)
				grown = true
			}
		}
	}
	return n
}
