package regalloc

import (
	"math/bits"

	"polygrad/render/x64/asm"
)

// alloc is the state of one allocation; its memory is used again by the next.
type alloc struct {
	c        *Code
	index    [classes][]int32 // the values of virtual registers
	uses     []use
	first    []int32 // the first use of each instruction
	vals     []value
	accs     []access
	count    []int32
	labels   []int32
	loops    []loop
	loopOf   []int32
	regions  []region
	regionOf []int32
	stack    []int32

	order [classes][]asm.Reg
	rank  [classes][nreg]int8  // place in order
	all   [classes]uint32      // registers that may be given away
	free  [classes]uint32      // those that hold nothing
	held  [classes][nreg]int32 // what they hold
	fixed [classes][nreg]int32 // the last instruction that has them as arguments

	loop    int32 // the innermost loop at this place
	scopes  []scope
	spilled []int32          // values that have been in the frame
	gone    []bool           // instructions that are not needed
	alive   [][classes]int16 // how many values are alive before each instruction
	through [][classes]int16 // how many values are alive through each loop and not used in it
	fence   []bool           // instructions that keep their place
	sort    order

	insts   []asm.Inst // Code.Insts with physical registers
	added   []added
	slots   []slotRef
	ids     []int32
	scratch bool // registers are exchanged through the frame
}

// scope is code that begins with known registers, to which its end returns: a loop, or what a forward jump skips.
type scope struct {
	start int32     // the LOOP or the jump
	label asm.Label // of a jump
	loop  int32     // number of the loop, none for jumps
	entry [classes][nreg]int32
	mask  [classes]uint32 // registers that hold something
}

// added is an instruction that stands before number pos.
type added struct {
	inst   asm.Inst
	pos    int32
	origin int32
	slot   int32 // the value whose slot it reads or writes, or none
}

// slotRef is an instruction of the code that reads the slot of a value.
type slotRef struct{ pos, value int32 }

func (a *alloc) walk() error {
	n := len(a.c.Insts)
	a.insts = append(a.insts[:0], a.c.Insts...)
	a.gone = grow(a.gone, n)
	clear(a.gone)
	a.added, a.slots, a.scopes, a.spilled = a.added[:0], a.slots[:0], a.scopes[:0], a.spilled[:0]
	a.scratch = false
	a.loop = 0
	for i := range a.insts {
		inst := &a.insts[i]
		var err error
		switch p := int32(i); {
		case inst.Op == asm.LOOP:
			a.enter(p)
			a.gone[i] = true
		case inst.Op == asm.ENDLOOP:
			a.leave()
			a.gone[i] = true
		case inst.Op == asm.LABEL:
			a.arrive(p, inst.To)
		case inst.Op == asm.MOVE:
			err = a.copy(p, inst)
		case inst.Op.Branch():
			a.jump(p, inst)
		default:
			err = a.step(p, inst)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step gives one instruction its registers.
func (a *alloc) step(i int32, inst *asm.Inst) error {
	var pin [classes]uint32 // registers that this instruction reads
	var read [8]int32       // values that it reads
	nr := 0
	id := idiom(inst)
	keep := inst.Op.WritesMask()
	virtual := func(r asm.Reg) {
		if !r.Virtual() {
			return
		}
		v := a.number(r)
		for _, w := range read[:nr] {
			if w == v {
				return
			}
		}
		read[nr] = v
		nr++
		if x := &a.vals[v]; x.reg >= 0 {
			pin[x.class] |= 1 << x.reg
		}
	}
	if !id {
		for _, r := range inst.Src {
			virtual(r)
		}
	}
	virtual(inst.Mem.Base)
	virtual(inst.Mem.Index)
	virtual(inst.Mask)
	tied := inst.Dst != 0 && inst.ReadsDst() && !id
	if tied {
		virtual(inst.Dst)
	}
	for n, v := range read[:nr] {
		if a.vals[v].reg >= 0 {
			continue
		}
		if !id && a.fold(i, inst, v) {
			copy(read[n:nr], read[n+1:nr])
			nr--
			a.passed(v, i)
			return a.step(i, inst)
		}
		r, err := a.take(i, v, pin)
		if err != nil {
			return err
		}
		a.reload(i, v, r)
		pin[a.vals[v].class] |= 1 << r
	}
	physical := func(r *asm.Reg) {
		switch {
		case r.Virtual():
			v := &a.vals[a.number(*r)]
			*r = asm.Phys(r.Class(), int(v.reg))
		case *r != 0:
			a.argument(i, *r)
		}
	}
	if !id {
		for k := range inst.Src {
			physical(&inst.Src[k])
		}
	}
	physical(&inst.Mem.Base)
	physical(&inst.Mem.Index)
	physical(&inst.Mask)
	dst := none
	if inst.Dst.Virtual() {
		dst = a.number(inst.Dst)
	}
	first, second := inst.Src[0], inst.Src[1]
	for _, v := range read[:nr] {
		a.passed(v, i)
		if x := &a.vals[v]; x.next == dead && v != dst && !keep {
			pin[x.class] &^= 1 << x.reg
			a.release(v)
		}
	}
	if keep { // a value that is cleared
		for _, v := range read[:nr] {
			if x := &a.vals[v]; v != dst && a.accs[x.cur-1].write {
				x.valid, x.wrot = false, i
			}
		}
	}
	if dst >= 0 {
		x := &a.vals[dst]
		if x.reg >= 0 && second == asm.Phys(asm.Class(x.class), int(x.reg)) && !tied && a.c.legacy() && overwrites(inst) && !commutes(inst.Op) {
			// The first source can not go there while the second is: the value moves elsewhere, if there is room.
			if free := a.free[x.class]; free != 0 {
				a.release(dst)
				a.free[x.class] &^= 1 << second.Num()
				r, err := a.choose(i, dst, pin, first, second, inst)
				a.free[x.class] |= 1 << second.Num()
				if err != nil {
					return err
				}
				a.hold(dst, r)
			}
		}
		if x.reg < 0 {
			if !keep {
				pin = [classes]uint32{} // the result may overwrite a source, too
			}
			r, err := a.choose(i, dst, pin, first, second, inst)
			if err != nil {
				return err
			}
			a.hold(dst, r)
		}
		r := asm.Phys(inst.Dst.Class(), int(x.reg))
		inst.Dst = r
		if id {
			for k := range inst.Src {
				if inst.Src[k] != 0 {
					inst.Src[k] = r
				}
			}
		}
		a.passed(dst, i)
		x.valid, x.wrot = false, i
		if x.next == dead {
			a.release(dst)
		}
	} else {
		physical(&inst.Dst)
	}
	if keep {
		for _, v := range read[:nr] {
			if x := &a.vals[v]; x.reg >= 0 && x.next == dead {
				a.release(v)
			}
		}
	}
	return nil
}

// copy is a MOVE: nothing if its source ends there.
func (a *alloc) copy(i int32, inst *asm.Inst) error {
	d, s := inst.Dst, inst.Src[0]
	if d == s {
		a.gone[i] = true
		if d.Virtual() {
			v := a.number(d)
			a.passed(v, i)
			if a.vals[v].wrot = i; a.vals[v].next == dead && a.vals[v].reg >= 0 {
				a.release(v)
			}
		}
		return nil
	}
	from := -1
	src := none
	if s.Virtual() {
		src = a.number(s)
		x := &a.vals[src]
		a.passed(src, i)
		from = int(x.reg)
		if from >= 0 {
			if x.next == dead {
				a.release(src)
			}
		}
	} else {
		from = s.Num()
		a.argument(i, s)
	}
	if !d.Virtual() {
		if from < 0 {
			a.put(i, d, src)
		} else {
			*inst = moveInst(d, asm.Phys(s.Class(), from), inst.Size)
		}
		return nil
	}
	dst := a.number(d)
	x := &a.vals[dst]
	switch {
	case x.reg >= 0:
	case from >= 0 && a.free[x.class]>>from&1 != 0:
		a.hold(dst, int8(from))
	default:
		r, err := a.choose(i, dst, [classes]uint32{}, 0, 0, inst)
		if err != nil {
			return err
		}
		a.hold(dst, r)
	}
	r := asm.Phys(d.Class(), int(x.reg))
	switch {
	case from < 0:
		a.put(i, r, src)
	case from == int(x.reg):
		a.gone[i] = true
	default:
		*inst = moveInst(r, asm.Phys(d.Class(), from), max(inst.Size, x.size))
	}
	a.passed(dst, i)
	x.valid, x.wrot = false, i
	if x.next == dead {
		a.release(dst)
	}
	return nil
}

// put makes instruction i one that brings the spilled value v to register r.
func (a *alloc) put(i int32, r asm.Reg, v int32) {
	inst, slot, _ := a.fetch(v, r)
	a.insts[i] = inst
	if slot != none {
		a.slots = append(a.slots, slotRef{i, v})
	}
}

// argument lets a register go after the last instruction that has it as an argument.
func (a *alloc) argument(i int32, r asm.Reg) {
	if k, n := r.Class(), r.Num(); a.fixed[k][n] == i {
		a.free[k] |= 1 << n
		a.fixed[k][n] = none
	}
}

// passed notes that instruction i has v, and looks for the next use.
func (a *alloc) passed(v, i int32) {
	x := &a.vals[v]
	for x.cur < x.end && a.accs[x.cur].pos <= i {
		x.cur++
	}
	x.touch = i
	x.next, x.wrap = a.upcoming(x, x.cur, a.loop)
}

// hold puts v into register r.
func (a *alloc) hold(v int32, r int8) {
	x := &a.vals[v]
	a.held[x.class][r] = v
	a.free[x.class] &^= 1 << r
	x.reg, x.home = r, r
}

// release frees the register of v.
func (a *alloc) release(v int32) {
	x := &a.vals[v]
	a.held[x.class][x.reg] = none
	a.free[x.class] |= 1 << x.reg
	x.reg = -1
}

// choose is a register for the result of an instruction: one that it will be moved to anyway, or one of a source that
// ends there where the instruction would overwrite it.
func (a *alloc) choose(i, v int32, pin [classes]uint32, first, second asm.Reg, inst *asm.Inst) (int8, error) {
	x := &a.vals[v]
	free := a.free[x.class] &^ pin[x.class]
	if free == 0 {
		return a.take(i, v, pin)
	}
	if x.home >= 0 && free>>x.home&1 != 0 && a.wanted(v, x.home) {
		return x.home, nil
	}
	for h, k := x.hint, 0; h != none && k < 4; h, k = a.vals[h].hint, k+1 {
		if r := a.vals[h].home; r >= 0 && free>>r&1 != 0 {
			return r, nil
		}
	}
	if a.c.legacy() && overwrites(inst) {
		if r := first; r.Class() == asm.Vec && free>>r.Num()&1 != 0 {
			return int8(r.Num()), nil
		}
		if r := second; r != 0 && r.Class() == asm.Vec && free>>r.Num()&1 != 0 {
			if commutes(inst.Op) {
				return int8(r.Num()), nil
			}
			if rest := free &^ (1 << r.Num()); rest != 0 {
				free = rest
			}
		}
	}
	return a.best(x.class, free), nil
}

// wanted reports whether an open loop has v in register r at its head.
func (a *alloc) wanted(v int32, r int8) bool {
	for s := len(a.scopes) - 1; s >= 0; s-- {
		if a.scopes[s].entry[a.vals[v].class][r] == v {
			return true
		}
	}
	return false
}

// best is the first in order of the free registers, rather one to which no open loop has to return something.
func (a *alloc) best(class uint8, free uint32) int8 {
	for s := range a.scopes {
		if rest := free &^ a.scopes[s].mask[class]; rest != 0 {
			free = rest
		}
	}
	best := int8(bits.TrailingZeros32(free))
	for m := free & (free - 1); m != 0; m &= m - 1 {
		if r := int8(bits.TrailingZeros32(m)); a.rank[class][r] < a.rank[class][best] {
			best = r
		}
	}
	return best
}

// take is a free register for v, made free if there is none.
func (a *alloc) take(i, v int32, pin [classes]uint32) (int8, error) {
	x := &a.vals[v]
	free := a.free[x.class] &^ pin[x.class]
	if free != 0 {
		if x.home >= 0 && free>>x.home&1 != 0 {
			return x.home, nil
		}
		return a.best(x.class, free), nil
	}
	victim := a.furthest(i, x.class, pin[x.class])
	if victim == none || x.class == uint8(asm.Tile) {
		return 0, errorAt(a.c, int(i), "it needs more registers than the %d of its class", bits.OnesCount32(a.all[x.class]))
	}
	r := a.vals[victim].reg
	a.evict(i, victim)
	return r, nil
}

// furthest is the value in a register of a class whose next use is furthest away.
func (a *alloc) furthest(i int32, class uint8, pin uint32) int32 {
	best, score, wrap := none, int64(-1), int32(0)
	for m := a.all[class] &^ a.free[class] &^ pin; m != 0; m &= m - 1 {
		v := a.held[class][bits.TrailingZeros32(m)]
		if v == none {
			continue
		}
		x := &a.vals[v]
		s := int64(x.next - i)
		if x.valid || x.remake != none {
			s += s/2 + 4
		}
		for l := a.loop; l != 0 && a.loops[l].end <= x.next; l = a.loops[l].parent {
			s += 1 << 32
		}
		if s > score || s == score && x.wrap > wrap {
			best, score, wrap = v, s, x.wrap
		}
	}
	return best
}
