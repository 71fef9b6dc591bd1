package regalloc

import "polygrad/render/x64/asm"

// evict takes v out of its register, into the frame if it can not be made again.
func (a *alloc) evict(i, v int32) {
	x := &a.vals[v]
	at, r := i, x.reg
	// The store goes in front of the outermost loop or skipped code where the value is the same. Where the scope has not
	// touched the value, it need not have it in a register at its beginning either.
	for s := len(a.scopes) - 1; s >= 0; s-- {
		sc := &a.scopes[s]
		e := sc.find(x, v)
		if e < 0 {
			break
		}
		if x.touch < sc.start && x.reg == e {
			sc.entry[x.class][e] = none
			sc.mask[x.class] &^= 1 << e
		} else if sc.loop != none && a.writtenIn(x, sc.loop) || sc.loop == none && x.wrot > sc.start {
			break
		}
		at, r = sc.start, e
	}
	if !x.valid && x.remake == none {
		a.store(at, v, r)
	}
	x.valid = true
	a.release(v)
	if !x.spilled {
		x.spilled = true
		a.spilled = append(a.spilled, v)
	}
}

// find is the register that holds v at the beginning of the scope, or -1.
func (s *scope) find(x *value, v int32) int8 {
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

// store writes register r to the slot of v before instruction at.
func (a *alloc) store(at, v int32, r int8) {
	x := &a.vals[v]
	a.slotOf(v)
	inst := storeInst(asm.Phys(asm.Class(x.class), int(r)), x.size)
	a.added = append(a.added, added{inst, at, Moved, v})
}

// reload brings v to register r before instruction i.
func (a *alloc) reload(i, v int32, r int8) {
	x := &a.vals[v]
	fresh := x.touch == none && x.next == dead && x.cur == x.acc // nothing has written it yet
	a.hold(v, r)
	x.next, x.wrap = a.upcoming(x, x.cur, a.loop)
	if fresh && a.loop == 0 {
		return
	}
	inst, slot, origin := a.fetch(v, asm.Phys(asm.Class(x.class), int(r)))
	a.added = append(a.added, added{inst, i, origin, slot})
	x.valid = true
}

// fetch is the instruction that brings v to register r, the value whose slot it reads (or none), and its origin.
func (a *alloc) fetch(v int32, r asm.Reg) (asm.Inst, int32, int32) {
	x := &a.vals[v]
	if x.remake != none {
		return remade(&a.c.Insts[x.remake], r), none, Remade - x.remake
	}
	a.slotOf(v)
	return loadInst(r, x.size), v, Moved
}

// fold lets an instruction read v from the frame, or the constant that it is, if that is the best way.
func (a *alloc) fold(i int32, inst *asm.Inst, v int32) bool {
	x := &a.vals[v]
	if x.class == uint8(asm.Mask) || !x.valid && x.remake == none || inst.Mask.Virtual() && a.number(inst.Mask) == v ||
		inst.ReadsDst() && inst.Dst.Virtual() && a.number(inst.Dst) == v {
		return false
	}
	if a.free[x.class] != 0 && x.cur+1 < x.end && a.accs[x.cur+1].reads && a.accs[x.cur+1].pos < a.loops[a.loop].end {
		return false // it is used again soon, and there is room
	}
	at := -1
	for k, r := range inst.Src {
		if r.Virtual() && a.number(r) == v {
			if at >= 0 {
				return false
			}
			at = k
		}
	}
	if at < 0 {
		return false
	}
	if !a.foldAt(i, inst, v, at) {
		other, ok := exchanged(inst)
		if !ok || at > 1 || !a.foldAt(i, &other, v, 1-at) {
			return false
		}
		*inst = other
	}
	return true
}

// foldAt puts memory in the place of source at, which is v.
func (a *alloc) foldAt(i int32, inst *asm.Inst, v int32, at int) bool {
	elem, ok := inst.TakesMem(at, a.c.Encodings)
	if !ok {
		return false
	}
	if d := a.vals[v].remake; d != none {
		mem, bcast, ok := constant(&a.c.Insts[d], inst.Size, elem)
		if !ok {
			return false
		}
		inst.Src[at], inst.Mem, inst.Bcast = 0, mem, bcast
		return true
	}
	inst.Src[at], inst.Mem = 0, asm.Mem{Base: asm.RBP}
	a.slots = append(a.slots, slotRef{i, v})
	return true
}

// slotOf makes sure that v has a place in the frame; write says where.
func (a *alloc) slotOf(v int32) {
	a.vals[v].slot = 0
}
