package regalloc

import "math/bits"

// Allocator is the state of one allocation; the next one reuses its memory. The zero Allocator is ready for use.
type Allocator[I comparable] struct {
	c         *Code[I]
	m         Machine[I]
	index     [classes][]int32 // the intervals of virtual registers
	ops       []Operand
	effects   []Effects
	uses      []use
	first     []int32 // the first use of each instruction
	intervals []interval
	accs      []access
	count     []int32
	labels    []int32
	loops     []loop
	loopOf    []int32
	skips     []skip
	skipOf    []int32
	stack     []int32

	rank     [classes][nreg]int8  // index in the order of preference
	all      [classes]uint32      // allocatable registers
	free     [classes]uint32      // free registers
	occupant [classes][nreg]int32 // their values
	fixed    [classes][nreg]int32 // their last instruction as arguments

	loop        int32 // the innermost loop here
	scopes      []scope
	spilled     []int32          // intervals that have been spilled
	pressure    [][classes]int16 // numbers of live values before each instruction
	liveThrough [][classes]int16 // numbers of values that are live through each loop without a use in it
	fence       []bool           // instructions that must not be reordered
	scheduler   scheduler[I]

	insts   []I    // Code.Insts with physical registers
	deleted []bool // removed instructions
	added   []insertion[I]
	folded  []folded
	reads   []int32 // intervals read by the instruction
	ids     []int32
	swaps   bool // registers are swapped through the frame
}

// scope is code with a fixed register state at its beginning and end: a loop, or code that a forward branch skips.
type scope struct {
	start int32 // the LoopBegin or the branch
	label int32 // of a branch
	loop  int32 // number of the loop, none for branches
	entry [classes][nreg]int32
	mask  [classes]uint32 // registers in use
}

// insertion is an added instruction before number pos.
type insertion[I comparable] struct {
	inst I
	added
	pos      int32
	interval int32 // the interval of its spill slot, or none
	copies   bool  // stands for a Copy of the code
}

func (a *Allocator[I]) scan() error {
	n := len(a.c.Insts)
	a.insts = append(a.insts[:0], a.c.Insts...)
	a.deleted = grow(a.deleted, n)
	clear(a.deleted)
	a.added, a.folded, a.scopes, a.spilled = a.added[:0], a.folded[:0], a.scopes[:0], a.spilled[:0]
	a.swaps = false
	a.loop = 0
	for i := range a.insts {
		inst := &a.insts[i]
		var err error
		switch e, p := a.effects[i], int32(i); {
		case e&LoopBegin != 0:
			a.enterLoop(p)
			a.deleted[i] = true
		case e&LoopEnd != 0:
			a.leaveLoop()
			a.deleted[i] = true
		case e&Label != 0:
			a.reachLabel(p, a.m.Label(inst))
		case e&Copy != 0:
			err = a.copy(p, inst)
			a.deleted[i] = true
		case e&Branch != 0:
			a.branch(p, a.m.Label(inst))
		default:
			err = a.step(p, inst)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step assigns the registers of one instruction.
func (a *Allocator[I]) step(i int32, inst *I) error {
	a.ops = a.m.Operands(inst, a.ops[:0])
	reads := a.reads[:0]
	var pin [classes]uint32 // registers read by this instruction
	early := false
sources:
	for k := range a.ops {
		o := &a.ops[k]
		early = early || o.Early
		if !o.Reads || !o.Reg.Virtual() {
			continue
		}
		v := a.number(o.Reg)
		for _, w := range reads {
			if w == v {
				continue sources
			}
		}
		reads = append(reads, v)
		if x := &a.intervals[v]; x.reg >= 0 {
			pin[x.class] |= 1 << x.reg
		}
	}
	a.reads = reads
	for _, v := range reads {
		x := &a.intervals[v]
		if x.reg >= 0 {
			continue
		}
		if a.fold(i, inst, v) {
			a.advance(v, i)
			return a.step(i, inst)
		}
		r, err := a.allocate(i, v, pin)
		if err != nil {
			return err
		}
		a.reload(i, v, r)
		pin[x.class] |= 1 << r
	}
	for k := range a.ops {
		switch o := &a.ops[k]; {
		case !o.Reg.Virtual():
			a.argument(i, o.Reg)
		case o.Reads:
			a.m.Assign(inst, o.At, a.intervals[a.number(o.Reg)].phys())
		}
	}
	for _, v := range reads {
		a.advance(v, i)
		if x := &a.intervals[v]; a.accs[x.cur-1].write {
			x.inSlot, x.lastWrite = false, i
		} else if x.nextUse == dead && !early {
			pin[x.class] &^= 1 << x.reg
			a.release(v)
		}
	}
	if !early {
		pin = [classes]uint32{} // the result may overwrite a source
	}
	for k := range a.ops {
		o := &a.ops[k]
		if !o.Writes || o.Reads || !o.Reg.Virtual() {
			continue
		}
		dst := a.number(o.Reg)
		x := &a.intervals[dst]
		first, second, commutes := a.m.TwoAddress(inst)
		if x.reg >= 0 && second == x.phys() && !commutes {
			// The first source cannot go there while the second is there: the second moves elsewhere, if there is room.
			if free := a.free[x.class]; free != 0 {
				a.release(dst)
				a.free[x.class] &^= 1 << second.Num()
				r, err := a.choose(i, dst, pin, first, second, commutes)
				a.free[x.class] |= 1 << second.Num()
				if err != nil {
					return err
				}
				a.occupy(dst, r)
			}
		}
		if x.reg < 0 {
			r, err := a.choose(i, dst, pin, first, second, commutes)
			if err != nil {
				return err
			}
			a.occupy(dst, r)
		}
		pin[x.class] |= 1 << x.reg
		a.m.Assign(inst, o.At, x.phys())
		a.advance(dst, i)
		x.inSlot, x.lastWrite = false, i
	}
	for k := range a.ops {
		if o := &a.ops[k]; o.Reg.Virtual() {
			if v := a.number(o.Reg); a.intervals[v].reg >= 0 && a.intervals[v].nextUse == dead {
				a.release(v)
			}
		}
	}
	return nil
}

// phys is the register of x.
func (x *interval) phys() Reg { return Phys(Class(x.class), int(x.reg)) }

// copy is a Copy: removed if its source ends there.
func (a *Allocator[I]) copy(i int32, inst *I) error {
	a.ops = a.m.Operands(inst, a.ops[:0])
	s, d, size := a.ops[0].Reg, a.ops[1].Reg, a.ops[0].Size
	if d == s {
		if d.Virtual() {
			v := a.number(d)
			a.advance(v, i)
			if a.intervals[v].lastWrite = i; a.intervals[v].nextUse == dead && a.intervals[v].reg >= 0 {
				a.release(v)
			}
		}
		return nil
	}
	from, src := s, none
	if s.Virtual() {
		src, from = a.number(s), 0
		x := &a.intervals[src]
		a.advance(src, i)
		if x.reg >= 0 {
			from = x.phys()
			if x.nextUse == dead {
				a.release(src)
			}
		}
	} else {
		a.argument(i, s)
	}
	if !d.Virtual() {
		a.materialise(i, d, from, src, size)
		return nil
	}
	dst := a.number(d)
	x := &a.intervals[dst]
	switch {
	case x.reg >= 0:
	case from != 0 && a.free[x.class]>>from.Num()&1 != 0:
		a.occupy(dst, int8(from.Num()))
	default:
		r, err := a.choose(i, dst, [classes]uint32{}, 0, 0, false)
		if err != nil {
			return err
		}
		a.occupy(dst, r)
	}
	if r := x.phys(); r != from {
		a.materialise(i, r, from, src, max(size, x.size))
	}
	a.advance(dst, i)
	x.inSlot, x.lastWrite = false, i
	if x.nextUse == dead {
		a.release(dst)
	}
	return nil
}

// materialise adds the instruction for a Copy to register r: from a register, or else of interval v, which is in none.
func (a *Allocator[I]) materialise(i int32, r, from Reg, v int32, size uint8) {
	if from != 0 {
		a.move(i, r, from, size, none)
	} else {
		a.restore(i, v, r)
	}
	a.added[len(a.added)-1].copies = true
}

// move adds a copy between registers, or between a register and the spill slot of an interval, before instruction i.
func (a *Allocator[I]) move(i int32, to, from Reg, size uint8, interval int32) {
	a.added = append(a.added, insertion[I]{inst: a.m.Move(to, from, size), added: added{to: to, from: from, size: size, remat: none}, pos: i, interval: interval})
}

// argument frees a register after its last instruction as an argument.
func (a *Allocator[I]) argument(i int32, r Reg) {
	if k, n := r.Class(), r.Num(); a.fixed[k][n] == i {
		a.free[k] |= 1 << n
		a.fixed[k][n] = none
	}
}

// advance passes instruction i, an access of v, and finds the next use.
func (a *Allocator[I]) advance(v, i int32) {
	x := &a.intervals[v]
	for x.cur < x.end && a.accs[x.cur].pos <= i {
		x.cur++
	}
	x.lastAccess = i
	x.nextUse, x.wrapUse = a.nextUseAfter(x, x.cur, a.loop)
}

// occupy puts v into register r.
func (a *Allocator[I]) occupy(v int32, r int8) {
	x := &a.intervals[v]
	a.occupant[x.class][r] = v
	a.free[x.class] &^= 1 << r
	x.reg, x.lastReg = r, r
}

// release frees the register of v.
func (a *Allocator[I]) release(v int32) {
	x := &a.intervals[v]
	a.occupant[x.class][x.reg] = none
	a.free[x.class] |= 1 << x.reg
	x.reg = -1
}

// choose is a register for a result: the target of a later move, or that of a source that ends there if the instruction would
// overwrite it.
func (a *Allocator[I]) choose(i, v int32, pin [classes]uint32, first, second Reg, commutes bool) (int8, error) {
	x := &a.intervals[v]
	free := a.free[x.class] &^ pin[x.class]
	if free == 0 {
		return a.allocate(i, v, pin)
	}
	if x.lastReg >= 0 && free>>x.lastReg&1 != 0 && a.wanted(v, x.lastReg) {
		return x.lastReg, nil
	}
	for h, k := x.hint, 0; h != none && k < 4; h, k = a.intervals[h].hint, k+1 {
		if r := a.intervals[h].lastReg; r >= 0 && free>>r&1 != 0 {
			return r, nil
		}
	}
	if uint8(first.Class()) == x.class && free>>first.Num()&1 != 0 {
		return int8(first.Num()), nil
	}
	if uint8(second.Class()) == x.class && free>>second.Num()&1 != 0 {
		if commutes {
			return int8(second.Num()), nil
		}
		if rest := free &^ (1 << second.Num()); rest != 0 {
			free = rest
		}
	}
	return a.preferred(x.class, free), nil
}

// wanted reports whether an open loop has v in register r at its head.
func (a *Allocator[I]) wanted(v int32, r int8) bool {
	for s := len(a.scopes) - 1; s >= 0; s-- {
		if a.scopes[s].entry[a.intervals[v].class][r] == v {
			return true
		}
	}
	return false
}

// preferred is the first of the free registers in order, avoiding those that an open loop expects a value in.
func (a *Allocator[I]) preferred(class uint8, free uint32) int8 {
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

// allocate is a free register for v, after an eviction if necessary.
func (a *Allocator[I]) allocate(i, v int32, pin [classes]uint32) (int8, error) {
	x := &a.intervals[v]
	free := a.free[x.class] &^ pin[x.class]
	if free != 0 {
		if x.lastReg >= 0 && free>>x.lastReg&1 != 0 {
			return x.lastReg, nil
		}
		return a.preferred(x.class, free), nil
	}
	victim := a.furthestUse(i, x.class, pin[x.class])
	if victim == none || a.c.Classes[x.class].NoSpill {
		return 0, errorAt(a.c, int(i), "it needs more registers than the %d of its class", bits.OnesCount32(a.all[x.class]))
	}
	r := a.intervals[victim].reg
	a.evict(i, victim)
	return r, nil
}

// furthestUse is the interval in a register of a class with the furthest next use.
func (a *Allocator[I]) furthestUse(i int32, class uint8, pin uint32) int32 {
	best, score, wrap := none, int64(-1), int32(0)
	for m := a.all[class] &^ a.free[class] &^ pin; m != 0; m &= m - 1 {
		v := a.occupant[class][bits.TrailingZeros32(m)]
		if v == none {
			continue
		}
		x := &a.intervals[v]
		s := int64(x.nextUse - i)
		if x.inSlot || x.remat != none {
			s += s/2 + 4
		}
		for l := a.loop; l != 0 && a.loops[l].end <= x.nextUse; l = a.loops[l].parent {
			s += 1 << 32
		}
		if s > score || s == score && x.wrapUse > wrap {
			best, score, wrap = v, s, x.wrapUse
		}
	}
	return best
}
