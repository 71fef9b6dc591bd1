package regalloc

import (
	"math/bits"
	"slices"
)

// emit merges the added instructions with the others and assigns the slots of spilled intervals.
func (a *Allocator[I]) emit() Result[I] {
	r := Result[I]{Frame: a.frame()}
	n := len(a.insts)
	first := grow(a.count, n+2)
	a.count = first
	clear(first)
	for k := range a.added {
		d := &a.added[k]
		first[d.pos+1]++
		if d.interval >= 0 {
			d.offset = a.intervals[d.interval].slot
		}
		if d.interval != none {
			a.m.Displace(&d.inst, d.offset)
		}
		if d.copies {
			continue
		}
		depth := a.loops[a.loopOf[d.pos]].depth
		if a.effects[d.pos]&LoopBegin != 0 {
			depth-- // before the loop
		}
		r.Spills += weight(depth)
	}
	for k := range a.folded {
		f := &a.folded[k]
		if f.remat == none {
			f.offset = a.intervals[f.offset].slot
			a.m.Displace(&a.insts[f.inst], f.offset)
		}
	}
	for i := range n {
		first[i+1] += first[i]
	}
	order := grow(a.stack, len(a.added))
	a.stack = order
	for k := range a.added {
		p := a.added[k].pos
		order[first[p]] = int32(k)
		first[p]++
	}
	r.Insts = make([]I, 0, n+len(a.added))
	if a.c.Check {
		r.folded = slices.Clone(a.folded)
	}
	k := 0
	for i := range n {
		for ; k < len(order) && a.added[order[k]].pos == int32(i); k++ {
			d := &a.added[order[k]]
			r.Insts = append(r.Insts, d.inst)
			if a.c.Check {
				r.added = append(r.added, d.added)
				r.origin = append(r.origin, -int32(len(r.added)))
			}
		}
		if !a.deleted[i] {
			r.Insts = append(r.Insts, a.insts[i])
			if a.c.Check {
				r.origin = append(r.origin, int32(i))
			}
		}
	}
	return r
}

// weight is the assumed number of executions of an instruction at that depth.
func weight(depth int32) float64 {
	w := 1.0
	for range depth {
		w *= 10
	}
	return w
}

// frame assigns slots to the spilled intervals; disjoint intervals share one.
func (a *Allocator[I]) frame() int32 {
	size := (a.c.Reserved + 63) &^ 63
	type place struct {
		end, disp int32
	}
	var places [7][]place // by the logarithm of the size
	a.ids = a.ids[:0]
	for v := range a.intervals {
		if x := &a.intervals[v]; x.slot != none {
			x.lastAccess, x.lastWrite = a.span(x)
			a.ids = append(a.ids, int32(v))
		}
	}
	if len(a.ids) == 0 && !a.swaps {
		return a.c.Reserved
	}
	slices.SortFunc(a.ids, func(v, w int32) int { return int(a.intervals[v].lastAccess - a.intervals[w].lastAccess) })
	for k := len(places) - 1; k >= 3; k-- {
	values:
		for _, v := range a.ids {
			x := &a.intervals[v]
			if max(3, bits.Len8(x.size-1)) != k {
				continue
			}
			for n := range places[k] {
				if p := &places[k][n]; p.end < x.lastAccess {
					p.end, x.slot = x.lastWrite, p.disp
					continue values
				}
			}
			x.slot = size
			places[k] = append(places[k], place{x.lastWrite, size})
			size += 1 << k
		}
		if k == 6 && a.swaps {
			for n := range a.added {
				if a.added[n].interval == swapSlot {
					a.added[n].offset = size
				}
			}
			size += 64
		}
	}
	return size
}

// span is the range in which the value is live, including the loops that carry it around.
func (a *Allocator[I]) span(x *interval) (from, to int32) {
	from, to = a.accs[x.acc].pos, a.accs[x.end-1].pos
	for k := x.acc; k < x.end; k++ {
		for l := a.loopOf[a.accs[k].pos]; l != 0; l = a.loops[l].parent {
			if (a.loops[l].start < from || a.loops[l].end > to) && a.liveIn(x, l) {
				from, to = min(from, a.loops[l].start), max(to, a.loops[l].end)
			}
		}
	}
	return from, to
}
