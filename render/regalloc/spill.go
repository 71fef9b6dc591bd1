package regalloc

// evict spills v: into its slot, unless it can be rematerialised.
func (a *Allocator[I]) evict(i, v int32) {
	x := &a.intervals[v]
	at, r := i, x.reg
	// The store is placed before the outermost loop or skipped code in which the value is unchanged. If the scope has not used the
	// value, its entry state need not have it in a register either.
	for s := len(a.scopes) - 1; s >= 0; s-- {
		sc := &a.scopes[s]
		e := sc.find(x, v)
		if e < 0 {
			break
		}
		if x.lastAccess < sc.start && x.reg == e {
			sc.entry[x.class][e] = none
			sc.mask[x.class] &^= 1 << e
		} else if sc.loop != none && a.writtenIn(x, sc.loop) || sc.loop == none && x.lastWrite > sc.start {
			break
		}
		at, r = sc.start, e
	}
	if !x.inSlot && x.remat == none {
		a.store(at, v, r)
	}
	x.inSlot = true
	a.release(v)
	if !x.spilled {
		x.spilled = true
		a.spilled = append(a.spilled, v)
	}
}

// find is the register of v at the beginning of the scope, or -1.
func (s *scope) find(x *interval, v int32) int8 {
	if x.reg >= 0 && s.entry[x.class][x.reg] == v {
		return x.reg
	}
	for r, w := range s.entry[x.class] {
		if w == v {
			return int8(r)
		}
	}
	return -1
}

// store writes register r to the spill slot of v before instruction at.
func (a *Allocator[I]) store(at, v int32, r int8) {
	x := &a.intervals[v]
	x.slot = 0
	a.move(at, 0, Phys(Class(x.class), int(r)), x.size, v)
}

// reload loads v into register r before instruction i.
func (a *Allocator[I]) reload(i, v int32, r int8) {
	x := &a.intervals[v]
	fresh := x.lastAccess == none && x.nextUse == dead && x.cur == x.acc // not written yet
	a.occupy(v, r)
	x.nextUse, x.wrapUse = a.nextUseAfter(x, x.cur, a.loop)
	if fresh && a.loop == 0 {
		return
	}
	a.restore(i, v, x.phys())
	x.inSlot = true
}

// restore adds the instruction that loads v into register r, or rematerialises it.
func (a *Allocator[I]) restore(i, v int32, r Reg) {
	x := &a.intervals[v]
	if x.remat == none {
		x.slot = 0
		a.move(i, r, 0, x.size, v)
		return
	}
	inst, _ := a.m.Remat(&a.c.Insts[x.remat], r)
	a.added = append(a.added, insertion[I]{inst: inst, added: added{to: r, remat: x.remat}, pos: i, interval: none})
}

// fold lets an instruction read v from its spill slot, or as a constant, if that is cheaper than a reload.
func (a *Allocator[I]) fold(i int32, inst *I, v int32) bool {
	x := &a.intervals[v]
	if !x.inSlot && x.remat == none {
		return false
	}
	if a.free[x.class] != 0 && x.cur+1 < x.end && a.accs[x.cur+1].reads && a.accs[x.cur+1].pos < a.loops[a.loop].end {
		return false // used again soon, and a register is free
	}
	var source *Operand
	for k := range a.ops {
		if o := &a.ops[k]; o.Reads && o.Reg.Virtual() && a.number(o.Reg) == v {
			if source != nil || o.Writes {
				return false
			}
			source = o
		}
	}
	var def *I
	if x.remat != none {
		def = &a.c.Insts[x.remat]
	}
	if !a.m.Fold(inst, source.At, def) {
		return false
	}
	if def == nil {
		x.slot = 0
	}
	a.folded = append(a.folded, folded{inst: i, at: source.At, remat: x.remat, offset: v})
	return true
}
