package fuse

import (
	"slices"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// evaluate decides whether a merged body is legal and cheaper than the separate bodies. rows are their common loops.
func (f *fuser) evaluate(b *body, rows []*uop.UOp, before []*body, epilogue bool) candidate {
	c := candidate{body: b}
	order, ok := loopOrder(b)
	switch {
	case f.o.HostTypes != nil && slices.ContainsFunc(before, f.runsOnHost) && !all(before, f.runsOnHost):
		c.reason = HostOnly
	case !ok:
		c.reason = NoLoopOrder
	case !hazardFree(b):
		c.reason = Hazard
	case !contiguousInnermost(b, order) && !b.scatters() && !f.hasShortRows(b):
		c.reason = ShortRuns
	case b.needsGather() && !slices.ContainsFunc(before, (*body).needsGather):
		c.reason = ShortRuns
	default:
		c.costs = f.costsOf(b, rows, before)
		c.costs.Epilogue = epilogue
		c.reason = f.o.judge(&c.costs)
	}
	return c
}

// runsOnHost reports whether a kernel runs on the host because the device lacks a type.
func (f *fuser) runsOnHost(b *body) bool {
	return slices.ContainsFunc(b.values(), func(u *uop.UOp) bool { return f.o.HostTypes(u.DType.Base().Scalar()) })
}

func all[T any](list []T, f func(T) bool) bool {
	return !slices.ContainsFunc(list, func(x T) bool { return !f(x) })
}

func (f *fuser) costsOf(b *body, rows []*uop.UOp, before []*body) Costs {
	if slices.ContainsFunc(b.values(), func(u *uop.UOp) bool { return u.Op == uop.Reduce && len(b.loopsOf(u)) == 0 }) {
		rows = nil // it runs before all loops
	}
	c := Costs{Rows: volume(rows), Iterations: b.iterations(), RowBytes: b.rowBytes(rows), Stores: len(b.stores)}
	var after int64
	after, c.Buffers = f.traffic(b)
	for _, x := range before {
		bytes, _ := f.traffic(x)
		c.WorkBefore += f.workOf(x)
		c.BytesSaved += bytes
		c.StallCycles -= f.stallCycles(x)
	}
	c.BytesSaved -= after
	c.StallCycles += f.stallCycles(b)
	m := &f.o.Machine
	c.WorkAfter = f.workOf(b)
	c.RecomputeCycles = m.vectorCycles(max(c.WorkAfter-c.WorkBefore, 0))
	c.SavedCycles = f.o.Machine.launchCycles() + m.transferCycles(max(c.BytesSaved, 0)) + m.vectorCycles(max(c.WorkBefore-c.WorkAfter, 0))
	return c
}

// workOf is the arithmetic of a run of a body, with functions of rows computed once.
func (f *fuser) workOf(b *body) float64 {
	if b.cost == 0 {
		var form *body
		if inner, ok := f.shortRows(b); ok {
			form = f.rowsUnrolled(b, inner)
		} else {
			form = f.cacheFunctionRows(b, 1)
		}
		b.cost = form.countWork(&f.o.Machine)
	}
	return b.cost
}

// stallCycles is the latency that dependent reductions add to the rows of a body. A processor overlaps the next row with up to two dependent
// reductions, but not with more. Short rows hardly fill vectors in each pass over a row, unless all passes are unrolled.
func (f *fuser) stallCycles(b *body) float64 {
	const dependent, hardlyFilled = 2, 8
	if f.hasShortRows(b) {
		return 0
	}
	level := map[*uop.UOp]int64{}
	most := int64(0)
	for _, u := range b.values() {
		n := int64(0)
		for _, s := range u.Src {
			n = max(n, level[s])
		}
		if u.Op == uop.Reduce {
			n++
			if rows := b.loopsOf(u); len(rows) > 0 {
				most = max(most, dependent*(n-1)*(n-2)*volume(rows))
				again := func(s store) bool { return volume(s.loops) > volume(rows) }
				if volume(u.Src[1:]) <= fewElements && (n > 1 || slices.ContainsFunc(b.stores, again)) {
					most = max(most, hardlyFilled*volume(rows))
				}
			}
		}
		level[u] = n
	}
	return float64(most)
}

// fewElements is the length up to which vectors should have elements of several rows.
const fewElements = 4

// traffic is the number of bytes of the buffers of a body (counted twice if read and written), and the number of buffers.
func (f *fuser) traffic(b *body) (bytes int64, buffers int) {
	var all access
	count := func(of *slotSet, slot int) {
		if of.has(slot) {
			return
		}
		if !all.reads.has(slot) && !all.writes.has(slot) {
			buffers++
		}
		of.add(slot)
		bytes += f.slots[slot].Size * int64(f.slots[slot].DType.Itemsize())
	}
	for _, s := range b.stores {
		count(&all.writes, s.slot)
	}
	for _, l := range b.loads() {
		count(&all.reads, slotOf(l))
	}
	return bytes, buffers
}

// hazardFree reports whether every load of a buffer that the body writes has the address of a store, and feeds only that store: loads
// then always see the contents before the kernel.
func hazardFree(b *body) bool {
	loads := b.loads()
	for i := range b.stores {
		s := &b.stores[i]
		for j := range b.stores {
			if i != j && b.stores[j].slot == s.slot && !b.pieces {
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

// iterations is the number of iterations of the innermost loop of the body, reductions included.
func (b *body) iterations() int64 {
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

// rowBytes is the memory that is reread within a row and should fit the cache.
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

// minContiguousRun is the shortest contiguous run of an innermost loop.
const minContiguousRun = 8

// contiguousInnermost reports whether the innermost loops have unit stride: those around the stores, if they were
// interchanged, and those of reductions, if the body streams through a row several times.
func contiguousInnermost(b *body, order []*uop.UOp) bool {
	for _, s := range b.stores {
		path := within(order, s.loops)
		if len(path) > 1 && !slices.Equal(path, byStride(&s)) && contiguousRun(s.index(), path[len(path)-1:]) < minContiguousRun {
			return false
		}
	}
	if !b.multiPass() {
		return true
	}
	for _, u := range b.values() {
		if u.Op == uop.Reduce && !contiguous(u) {
			return false
		}
	}
	return true
}

// byStride returns the loops of a store in the order of the strides of its buffer.
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

// multiPass reports whether several loops stream through the same row: of reductions, or around stores.
func (b *body) multiPass() bool {
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
			if on < len(s.loops) {
				return true
			}
		}
	}
	return false
}

// contiguous reports whether a reduction reads some buffer contiguously, or reads nothing in its loops.
func contiguous(red *uop.UOp) bool {
	reads := false
	for _, u := range red.Src[0].ToposortGated(func(u *uop.UOp) bool { return u.Op != uop.Reduce }) {
		if u.Op != uop.Index || len(within(u.Ranges(), red.Src[1:])) == 0 {
			continue
		}
		reads = true
		if at := u.Src[1].GetIdx(); contiguousRun(at, red.Src[1:]) >= min(minContiguousRun, volume(red.Src[1:])) || inVectors(at, red.Src[1:]) {
			return true
		}
	}
	return !reads
}

// inVectors reports whether an index runs along a reduction through memory backwards, or to every second element: a load or two for a vector.
func inVectors(index *uop.UOp, rs []*uop.UOp) bool {
	if len(rs) != 1 || sizeOf(rs[0]) < minContiguousRun {
		return false
	}
	stride, known := int64(0), true
	symbolic.EachTerm(index, 1, func(t *uop.UOp, factor int64) {
		switch {
		case t == rs[0]:
			stride += factor
		case t.InRange(rs[0]):
			known = false
		}
	})
	return known && (stride == -1 || stride == 2 || stride == -2)
}

// needsGather reports whether no loop of a reduction could be vectorized with all loads contiguous.
func (b *body) needsGather() bool {
	return slices.ContainsFunc(b.values(), func(red *uop.UOp) bool {
		if red.Op != uop.Reduce || contracts(red) {
			return false
		}
		var loads []*uop.UOp
		for _, u := range red.Src[0].ToposortGated(func(u *uop.UOp) bool { return u.Op != uop.Reduce }) {
			if u.Op == uop.Index {
				loads = append(loads, u)
			}
		}
		strided := func(r *uop.UOp) bool {
			return slices.ContainsFunc(loads, func(l *uop.UOp) bool { return strideIn(l.Src[1].GetIdx(), r) > 2 })
		}
		rs := slices.Concat(red.Ranges(), red.Src[1:])
		rs = slices.DeleteFunc(rs, func(r *uop.UOp) bool { return sizeOf(r) < minContiguousRun })
		return len(rs) > 0 && !slices.ContainsFunc(rs, func(r *uop.UOp) bool { return !strided(r) })
	})
}

// contiguousRun is the number of consecutive elements that an index addresses while the ranges run.
func contiguousRun(index *uop.UOp, rs []*uop.UOp) int64 {
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
