package regalloc

import (
	"math/bits"
	"slices"

	"polygrad/render/x64/asm"
)

// open begins a scope with what the registers hold now.
func (a *alloc) open(start, loop int32, label asm.Label) {
	a.scopes = append(a.scopes, scope{start: start, loop: loop, label: label, entry: a.held})
	s := &a.scopes[len(a.scopes)-1]
	for k := range s.mask {
		for m := a.all[k] &^ a.free[k]; m != 0; m &= m - 1 {
			if r := bits.TrailingZeros32(m); a.held[k][r] != none {
				s.mask[k] |= 1 << r
			}
		}
	}
}

// enter begins a loop: what it uses comes into registers before it, if there is room or they hold what it does not use.
func (a *alloc) enter(i int32) {
	l := a.loopOf[i]
	end := a.loops[l].end
	for n := range len(a.spilled) {
		v := a.spilled[n]
		x := &a.vals[v]
		if x.reg >= 0 || x.cur == x.end || a.accs[x.cur].pos > end || !a.accs[x.cur].reads {
			continue
		}
		if a.free[x.class] == 0 {
			u := a.furthest(i, x.class, 0)
			if u == none || a.vals[u].next < end {
				continue
			}
			a.evict(i, u)
		}
		a.reload(i, v, a.best(x.class, a.free[x.class]))
	}
	a.spilled = slices.DeleteFunc(a.spilled, func(v int32) bool {
		x := &a.vals[v]
		x.spilled = x.cur < x.end
		return !x.spilled
	})
	for k := range a.held {
		for m := a.all[k] &^ a.free[k]; m != 0; m &= m - 1 {
			if v := a.held[k][bits.TrailingZeros32(m)]; v != none && a.vals[v].valid && a.writtenIn(&a.vals[v], l) {
				a.vals[v].valid = false
			}
		}
	}
	a.loop = l
	a.open(i, l, 0)
}

// leave ends a loop: what only its next turn would have used is over.
func (a *alloc) leave() {
	a.scopes = a.scopes[:len(a.scopes)-1]
	a.loop = a.loops[a.loop].parent
	for k := range a.held {
		for m := a.all[k] &^ a.free[k]; m != 0; m &= m - 1 {
			v := a.held[k][bits.TrailingZeros32(m)]
			if v == none {
				continue
			}
			x := &a.vals[v]
			if x.next, x.wrap = a.upcoming(x, x.cur, a.loop); x.next == dead {
				a.release(v)
			}
		}
	}
}

// jump is a branch: back to the head of its loop, or forward.
func (a *alloc) jump(i int32, inst *asm.Inst) {
	to := a.labels[inst.To]
	if to < i {
		s := len(a.scopes) - 1
		for a.scopes[s].loop == none {
			s--
		}
		a.conform(&a.scopes[s], i)
		return
	}
	for s := len(a.scopes) - 1; s >= 0; s-- {
		if a.scopes[s].loop == none && a.scopes[s].label == inst.To {
			a.conform(&a.scopes[s], i) // a jump before this one has settled what the label finds
			break
		}
	}
	a.open(i, none, inst.To)
}

// arrive is a label: what comes by a jump and what comes from before must find the same.
func (a *alloc) arrive(i int32, label asm.Label) {
	for n := len(a.scopes); n > 0 && a.scopes[n-1].loop == none && a.scopes[n-1].label == label; n-- {
		a.conform(&a.scopes[n-1], i)
		a.scopes = a.scopes[:n-1]
	}
}

// conform brings registers and slots before instruction i to what the scope had at its beginning: for the end of a loop
// all of it, for a label what is still needed, less what its code has thrown out and the frame holds.
func (a *alloc) conform(s *scope, i int32) {
	l := s.loop
	for k := range a.held {
		class := uint8(k)
		for m := s.mask[k]; m != 0; m &= m - 1 {
			r := int8(bits.TrailingZeros32(m))
			a.vals[s.entry[k][r]].want = r
		}
		// What the scope did not have in a register it had in the frame.
		for m := a.all[k] &^ a.free[k]; m != 0; m &= m - 1 {
			v := a.held[k][bits.TrailingZeros32(m)]
			if v == none {
				continue
			}
			x := &a.vals[v]
			if x.want >= 0 {
				continue
			}
			if l != none {
				if !x.valid && x.remake == none && a.exposed(x, l) {
					a.store(i, v, x.reg)
					x.valid = true
				}
				continue
			}
			if !x.valid && x.remake == none {
				a.store(i, v, x.reg)
			}
			x.valid = true
			a.release(v)
			if !x.spilled {
				x.spilled = true
				a.spilled = append(a.spilled, v)
			}
		}
		// A label does not need everything.
		target := s.mask[k]
		if l == none {
			for m := target; m != 0; m &= m - 1 {
				r := bits.TrailingZeros32(m)
				v := s.entry[k][r]
				x := &a.vals[v]
				x.next, x.wrap = a.upcoming(x, x.cur, a.loop)
				if x.next == dead || x.reg < 0 && x.wrot < s.start {
					target &^= 1 << r
					s.entry[k][r] = none // for a second jump to the label, too
					x.want = -1
					if x.reg >= 0 {
						a.release(v)
					}
				}
			}
		}
		s.mask[k] = target
		a.settle(i, class, s, target)
		for m := s.mask[k]; m != 0; m &= m - 1 {
			v := s.entry[k][bits.TrailingZeros32(m)]
			x := &a.vals[v]
			x.want = -1
			if l == none && x.wrot > s.start {
				x.valid = false
			}
		}
	}
}

// settle moves each value of the target registers there.
func (a *alloc) settle(i int32, class uint8, s *scope, target uint32) {
	k := class
	// Values that stand in the way and have no place to go.
	for m := target &^ a.free[k]; m != 0; m &= m - 1 {
		r := bits.TrailingZeros32(m)
		u := a.held[k][r]
		if u == none || a.vals[u].want >= 0 {
			continue
		}
		if rest := a.free[k] &^ target; rest != 0 {
			to := a.best(k, rest)
			a.shift(i, k, int8(r), to)
		} else {
			a.evict(i, u)
		}
	}
	for pending := true; pending; {
		pending = false
		for again := true; again; {
			again = false
			for m := target; m != 0; m &= m - 1 {
				r := int8(bits.TrailingZeros32(m))
				v := s.entry[k][r]
				x := &a.vals[v]
				if x.reg < 0 || x.reg == r {
					continue
				}
				if a.free[k]>>r&1 != 0 {
					a.shift(i, k, x.reg, r)
					again = true
				}
			}
		}
		for m := target; m != 0; m &= m - 1 {
			r := int8(bits.TrailingZeros32(m))
			if x := &a.vals[s.entry[k][r]]; x.reg >= 0 && x.reg != r {
				a.exchange(i, k, x.reg, r)
				pending = true
				break
			}
		}
	}
	for m := target; m != 0; m &= m - 1 {
		r := int8(bits.TrailingZeros32(m))
		if v := s.entry[k][r]; a.vals[v].reg < 0 {
			a.reload(i, v, r)
		}
	}
}

// shift copies what register from holds to register to, which is free.
func (a *alloc) shift(i int32, class uint8, from, to int8) {
	v := a.held[class][from]
	c := asm.Class(class)
	a.added = append(a.added, added{moveInst(asm.Phys(c, int(to)), asm.Phys(c, int(from)), a.vals[v].size), i, Moved, none})
	a.release(v)
	a.hold(v, to)
}

// scratchSlot stands for the place in the frame that exchange uses.
const scratchSlot int32 = -2

// exchange swaps what two registers hold, through a third that holds nothing or through the frame.
func (a *alloc) exchange(i int32, class uint8, r, q int8) {
	v, w := a.held[class][r], a.held[class][q]
	c := asm.Class(class)
	size := max(a.vals[v].size, a.vals[w].size)
	x, y := asm.Phys(c, int(r)), asm.Phys(c, int(q))
	save, back, slot := storeInst(x, size), loadInst(y, size), scratchSlot
	if a.free[class] != 0 {
		t := asm.Phys(c, bits.TrailingZeros32(a.free[class]))
		save, back, slot = moveInst(t, x, size), moveInst(y, t, size), none
	} else {
		a.scratch = true
	}
	a.added = append(a.added, added{save, i, Moved, slot}, added{moveInst(x, y, size), i, Moved, none}, added{back, i, Moved, slot})
	a.held[class][r], a.held[class][q] = w, v
	a.vals[v].reg, a.vals[v].home = q, q
	a.vals[w].reg, a.vals[w].home = r, r
}
