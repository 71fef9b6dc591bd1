package regalloc

import (
	"math/bits"
	"slices"

	"polygrad/render/x64/asm"
)

// write puts the added instructions between the others and gives the values in the frame their places.
func (a *alloc) write() Result {
	frame := a.frame()
	n := len(a.insts)
	first := grow(a.count, n+2)
	a.count = first
	clear(first)
	spills := 0.0
	for k := range a.added {
		d := &a.added[k]
		first[d.pos+1]++
		if d.slot != none {
			d.inst.Mem.Disp = a.vals[d.slot].slot
		}
		spills += weight(a.loops[a.loopOf[d.pos]].depth - before(a, d.pos))
	}
	for _, s := range a.slots {
		a.insts[s.pos].Mem.Disp = a.vals[s.value].slot
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
	r := Result{
		Insts:  make([]asm.Inst, 0, n+len(a.added)),
		Origin: make([]int32, 0, n+len(a.added)),
		Frame:  frame,
		Spills: spills,
	}
	k := 0
	for i := range n {
		for ; k < len(order) && a.added[order[k]].pos == int32(i); k++ {
			d := &a.added[order[k]]
			r.Insts, r.Origin = append(r.Insts, d.inst), append(r.Origin, d.origin)
		}
		if !a.gone[i] {
			r.Insts, r.Origin = append(r.Insts, a.insts[i]), append(r.Origin, int32(i))
		}
	}
	return r
}

// before is 1 for the LOOP itself, before which code of the loop around it stands.
func before(a *alloc, pos int32) int32 {
	if a.c.Insts[pos].Op == asm.LOOP {
		return 1
	}
	return 0
}

// weight is how often an instruction of that depth is thought to run.
func weight(depth int32) float64 {
	w := 1.0
	for range depth {
		w *= 10
	}
	return w
}

// frame gives the values that were in the frame places, one after the other the same where they are not needed together.
func (a *alloc) frame() int32 {
	size := (a.c.Reserved + 63) &^ 63
	type place struct {
		end, disp int32
	}
	var places [7][]place // by the logarithm of the size
	a.ids = a.ids[:0]
	for v := range a.vals {
		if x := &a.vals[v]; x.slot != none {
			x.touch, x.wrot = a.span(x)
			a.ids = append(a.ids, int32(v))
		}
	}
	if len(a.ids) == 0 && !a.scratch {
		return a.c.Reserved
	}
	slices.SortFunc(a.ids, func(v, w int32) int { return int(a.vals[v].touch - a.vals[w].touch) })
	for k := len(places) - 1; k >= 3; k-- {
	values:
		for _, v := range a.ids {
			x := &a.vals[v]
			if slotSize(x) != k {
				continue
			}
			for n := range places[k] {
				if p := &places[k][n]; p.end < x.touch {
					p.end, x.slot = x.wrot, p.disp
					continue values
				}
			}
			x.slot = size
			places[k] = append(places[k], place{x.wrot, size})
			size += 1 << k
		}
		if k == 6 && a.scratch {
			for n := range a.added {
				if a.added[n].slot == scratchSlot {
					a.added[n].slot, a.added[n].inst.Mem.Disp = none, size
				}
			}
			size += 64
		}
	}
	return size
}

// slotSize is the logarithm of the size of the place of x in the frame.
func slotSize(x *value) int {
	if asm.Class(x.class) != asm.Vec {
		return 3
	}
	return max(4, bits.Len8(x.size-1))
}

// span is where the value begins and ends to matter, with the loops that carry it around.
func (a *alloc) span(x *value) (from, to int32) {
	from, to = a.accs[x.acc].pos, a.accs[x.end-1].pos
	for k := x.acc; k < x.end; k++ {
		for l := a.loopOf[a.accs[k].pos]; l != 0; l = a.loops[l].parent {
			if (a.loops[l].start < from || a.loops[l].end > to) && a.exposed(x, l) {
				from, to = min(from, a.loops[l].start), max(to, a.loops[l].end)
			}
		}
	}
	return from, to
}
