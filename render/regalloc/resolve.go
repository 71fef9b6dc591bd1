package regalloc

import (
	"math/bits"
	"slices"
)

// openScope begins a scope with the current contents of the registers.
func (a *Allocator[I]) openScope(start, loop, label int32) {
	a.scopes = append(a.scopes, scope{start: start, loop: loop, label: label, entry: a.occupant})
	s := &a.scopes[len(a.scopes)-1]
	for k := range s.mask {
		for m := a.all[k] &^ a.free[k]; m != 0; m &= m - 1 {
			if r := bits.TrailingZeros32(m); a.occupant[k][r] != none {
				s.mask[k] |= 1 << r
			}
		}
	}
}

// enterLoop begins a loop: values used in it are brought into registers first, where one is free or holds a value unused in it.
func (a *Allocator[I]) enterLoop(i int32) {
	l := a.loopOf[i]
	end := a.loops[l].end
	for n := range len(a.spilled) {
		v := a.spilled[n]
		x := &a.intervals[v]
		if x.reg >= 0 || x.cur == x.end || a.accs[x.cur].pos > end || !a.accs[x.cur].reads {
			continue
		}
		if a.free[x.class] == 0 {
			u := a.furthestUse(i, x.class, 0)
			if u == none || a.intervals[u].nextUse < end {
				continue
			}
			a.evict(i, u)
		}
		a.reload(i, v, a.preferred(x.class, a.free[x.class]))
	}
	a.spilled = slices.DeleteFunc(a.spilled, func(v int32) bool {
		x := &a.intervals[v]
		x.spilled = x.cur < x.end
		return !x.spilled
	})
	for k := range a.occupant {
		for m := a.all[k] &^ a.free[k]; m != 0; m &= m - 1 {
			if v := a.occupant[k][bits.TrailingZeros32(m)]; v != none && a.intervals[v].inSlot && a.writtenIn(&a.intervals[v], l) {
				a.intervals[v].inSlot = false
			}
		}
	}
	a.loop = l
	a.openScope(i, l, 0)
}

// leaveLoop ends a loop: values for its next iteration only are dead.
func (a *Allocator[I]) leaveLoop() {
	a.scopes = a.scopes[:len(a.scopes)-1]
	a.loop = a.loops[a.loop].parent
	for k := range a.occupant {
		for m := a.all[k] &^ a.free[k]; m != 0; m &= m - 1 {
			v := a.occupant[k][bits.TrailingZeros32(m)]
			if v == none {
				continue
			}
			x := &a.intervals[v]
			if x.nextUse, x.wrapUse = a.nextUseAfter(x, x.cur, a.loop); x.nextUse == dead {
				a.release(v)
			}
		}
	}
}

// branch is a back edge to the head of its loop, or a forward branch.
func (a *Allocator[I]) branch(i, label int32) {
	if a.labels[label] < i {
		s := len(a.scopes) - 1
		for a.scopes[s].loop == none {
			s--
		}
		a.resolve(&a.scopes[s], i)
		return
	}
	for s := len(a.scopes) - 1; s >= 0; s-- {
		if a.scopes[s].loop == none && a.scopes[s].label == label {
			a.resolve(&a.scopes[s], i) // an earlier branch has fixed the state at the label
			break
		}
	}
	a.openScope(i, none, label)
}

// reachLabel is a label: the states at its branches and before it must agree.
func (a *Allocator[I]) reachLabel(i, label int32) {
	for n := len(a.scopes); n > 0 && a.scopes[n-1].loop == none && a.scopes[n-1].label == label; n-- {
		a.resolve(&a.scopes[n-1], i)
		a.scopes = a.scopes[:n-1]
	}
}

// resolve brings registers and slots before instruction i into the state at the scope's beginning: at a back edge all of it, at a
// label only live values, without those evicted in between.
func (a *Allocator[I]) resolve(s *scope, i int32) {
	l := s.loop
	for k := range a.occupant {
		class := uint8(k)
		for m := s.mask[k]; m != 0; m &= m - 1 {
			r := int8(bits.TrailingZeros32(m))
			a.intervals[s.entry[k][r]].wantReg = r
		}
		// A value that was not in a register at the scope's beginning was in the frame.
		for m := a.all[k] &^ a.free[k]; m != 0; m &= m - 1 {
			v := a.occupant[k][bits.TrailingZeros32(m)]
			if v == none {
				continue
			}
			x := &a.intervals[v]
			if x.wantReg >= 0 {
				continue
			}
			if l != none {
				if !x.inSlot && x.remat == none && a.liveIn(x, l) {
					a.store(i, v, x.reg)
					x.inSlot = true
				}
				continue
			}
			if !x.inSlot && x.remat == none {
				a.store(i, v, x.reg)
			}
			x.inSlot = true
			a.release(v)
			if !x.spilled {
				x.spilled = true
				a.spilled = append(a.spilled, v)
			}
		}
		// At a label not everything is live.
		target := s.mask[k]
		if l == none {
			for m := target; m != 0; m &= m - 1 {
				r := bits.TrailingZeros32(m)
				v := s.entry[k][r]
				x := &a.intervals[v]
				x.nextUse, x.wrapUse = a.nextUseAfter(x, x.cur, a.loop)
				if x.nextUse == dead || x.reg < 0 && x.lastWrite < s.start {
					target &^= 1 << r
					s.entry[k][r] = none // for a second jump to the label, too
					x.wantReg = -1
					if x.reg >= 0 {
						a.release(v)
					}
				}
			}
		}
		s.mask[k] = target
		a.parallelMove(i, class, s, target)
		for m := s.mask[k]; m != 0; m &= m - 1 {
			v := s.entry[k][bits.TrailingZeros32(m)]
			x := &a.intervals[v]
			x.wantReg = -1
			if l == none && x.lastWrite > s.start {
				x.inSlot = false
			}
		}
	}
}

// parallelMove brings each value of the target registers there.
func (a *Allocator[I]) parallelMove(i int32, class uint8, s *scope, target uint32) {
	k := class
	// Values in the way that no longer have a target register.
	for m := target &^ a.free[k]; m != 0; m &= m - 1 {
		r := bits.TrailingZeros32(m)
		u := a.occupant[k][r]
		if u == none || a.intervals[u].wantReg >= 0 {
			continue
		}
		if rest := a.free[k] &^ target; rest != 0 {
			to := a.preferred(k, rest)
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
				x := &a.intervals[v]
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
			if x := &a.intervals[s.entry[k][r]]; x.reg >= 0 && x.reg != r {
				a.swap(i, k, x.reg, r)
				pending = true
				break
			}
		}
	}
	for m := target; m != 0; m &= m - 1 {
		r := int8(bits.TrailingZeros32(m))
		if v := s.entry[k][r]; a.intervals[v].reg < 0 {
			a.reload(i, v, r)
		}
	}
}

// shift moves a value from register from to register to, which is free.
func (a *Allocator[I]) shift(i int32, class uint8, from, to int8) {
	v := a.occupant[class][from]
	c := Class(class)
	a.move(i, Phys(c, int(to)), Phys(c, int(from)), a.intervals[v].size, none)
	a.release(v)
	a.occupy(v, to)
}

// swapSlot stands for the frame slot used by swap.
const swapSlot int32 = -2

// swap exchanges two registers, through a free third one or through the frame.
func (a *Allocator[I]) swap(i int32, class uint8, r, q int8) {
	v, w := a.occupant[class][r], a.occupant[class][q]
	c := Class(class)
	size := max(a.intervals[v].size, a.intervals[w].size)
	x, y := Phys(c, int(r)), Phys(c, int(q))
	var through Reg
	slot := swapSlot
	if a.free[class] != 0 {
		through, slot = Phys(c, bits.TrailingZeros32(a.free[class])), none
	} else {
		a.swaps = true
	}
	a.move(i, through, x, size, slot)
	a.move(i, x, y, size, none)
	a.move(i, y, through, size, slot)
	a.occupant[class][r], a.occupant[class][q] = w, v
	a.intervals[v].reg, a.intervals[v].lastReg = q, q
	a.intervals[w].reg, a.intervals[w].lastReg = r, r
}
