package regalloc

import (
	"math"
	"sort"
)

const (
	none = int32(-1)
	dead = int32(math.MaxInt32)
)

// access is an instruction that reads or writes a virtual register.
type access struct {
	pos   int32
	reads bool // the old value matters, also where a branch may skip a write
	write bool
}

// interval is the live range of a virtual register, and its location at the current position of the scan.
type interval struct {
	class      uint8
	size       uint8 // bytes of its widest access
	hintDepth  uint8 // the loop depth of the copy behind hint
	inSlot     bool  // its spill slot holds the value
	spilled    bool  // is in the list of intervals that have been in the frame
	reg        int8  // its register, or -1
	lastReg    int8  // its last register
	wantReg    int8  // the target register of resolve, or -1
	acc, end   int32 // its accesses; cur is the next one
	cur        int32
	writes     int32 // the number of writing accesses
	hint       int32 // the interval that it is copied to
	remat      int32 // the instruction that rematerialises it, or none
	slot       int32 // the offset of its spill slot, or none
	nextUse    int32 // the next use, or the end of the loop that carries the value there
	wrapUse    int32 // with a loop's end: the first use in the loop
	lastAccess int32
	lastWrite  int32
}

// loop is a loop of the code; number 0 is the code as a whole.
type loop struct {
	start, end int32 // LoopBegin, LoopEnd
	parent     int32
	depth      int32
}

// skip is code that a forward branch skips.
type skip struct{ start, end int32 }

// read computes live intervals: it numbers the virtual registers and records loops, labels, accesses and copy hints.
func (a *Allocator[I]) read(c *Code[I]) error {
	a.c = c
	a.registers()
	a.gather()
	if err := a.nest(len(c.Insts)); err != nil {
		return err
	}
	a.accesses()
	a.skipped()
	return nil
}

// use is an access of an instruction to an interval, one for each instruction.
type use struct {
	interval     int32
	reads, write bool
}

// gather lists the intervals of all instructions, the positions of labels, and the registers of arguments.
func (a *Allocator[I]) gather() {
	insts := a.c.Insts
	a.intervals, a.uses, a.labels = a.intervals[:0], a.uses[:0], a.labels[:0]
	for k := range a.index {
		a.index[k] = a.index[k][:0]
	}
	a.first = grow(a.first, len(insts)+1)
	a.effects = grow(a.effects, len(insts))
	for i := range insts {
		inst := &insts[i]
		begin := len(a.uses)
		a.first[i] = int32(begin)
		a.effects[i] = a.m.Effects(inst)
		if to := a.m.Label(inst); to != 0 {
			for len(a.labels) <= int(to) {
				a.labels = append(a.labels, none)
			}
			if a.effects[i]&Label != 0 {
				a.labels[to] = int32(i)
			}
		}
		a.ops = a.m.Operands(inst, a.ops[:0])
	operands:
		for n := range a.ops {
			o := &a.ops[n]
			k, n := o.Reg.Class(), o.Reg.Num()
			if !o.Reg.Virtual() {
				if a.all[k]>>n&1 != 0 {
					a.fixed[k][n] = int32(i)
					a.free[k] &^= 1 << n
				}
				continue
			}
			for len(a.index[k]) <= n {
				a.index[k] = append(a.index[k], none)
			}
			id := a.index[k][n]
			if id == none {
				id = int32(len(a.intervals))
				a.index[k][n] = id
				a.intervals = append(a.intervals, interval{class: uint8(k), size: 8, reg: -1, lastReg: -1, hint: none, remat: none, slot: none, nextUse: dead, lastAccess: none, lastWrite: none, wantReg: -1})
			}
			x := &a.intervals[id]
			x.size = max(x.size, o.Size)
			if o.Writes {
				x.remat = int32(i)
				x.writes++
			}
			for k := begin; k < len(a.uses); k++ {
				if u := &a.uses[k]; u.interval == id {
					u.reads, u.write = u.reads || o.Reads, u.write || o.Writes
					continue operands
				}
			}
			a.uses = append(a.uses, use{id, o.Reads, o.Writes})
			x.end++
		}
	}
	a.first[len(insts)] = int32(len(a.uses))
}

// nest finds loops and the code that branches skip.
func (a *Allocator[I]) nest(n int) error {
	a.loops = append(a.loops[:0], loop{start: -1, end: int32(n), parent: none})
	a.loopOf = grow(a.loopOf, n)
	a.skipOf = grow(a.skipOf, n)
	a.skips = a.skips[:0]
	a.stack = a.stack[:0]
	cur := int32(0)
	for i := range a.c.Insts {
		p := int32(i)
		for len(a.stack) > 0 && a.skips[a.stack[len(a.stack)-1]].end <= p {
			a.stack = a.stack[:len(a.stack)-1]
		}
		a.skipOf[i] = none
		if len(a.stack) > 0 {
			a.skipOf[i] = a.stack[len(a.stack)-1]
		}
		switch e := a.effects[i]; {
		case e&LoopBegin != 0:
			a.loops = append(a.loops, loop{start: p, end: int32(n), parent: cur, depth: a.loops[cur].depth + 1})
			cur = int32(len(a.loops) - 1)
		case e&LoopEnd != 0:
			if cur == 0 {
				return errorAt(a.c, i, "no loop is open")
			}
			a.loops[cur].end = p
			cur = a.loops[cur].parent
		case e&Branch != 0:
			label := a.m.Label(&a.c.Insts[i])
			to := a.labels[label]
			if a.first[i] != a.first[i+1] {
				return errorAt(a.c, i, "a branch depends on the flags only, not on registers")
			}
			if to < 0 {
				return errorAt(a.c, i, "label %d is nowhere", label)
			}
			if to < p {
				if cur == 0 || to != a.loops[cur].start+1 {
					return errorAt(a.c, i, "a jump back must go to the label that begins the innermost loop")
				}
				break
			}
			if len(a.stack) > 0 && to > a.skips[a.stack[len(a.stack)-1]].end || e&Jump != 0 {
				return errorAt(a.c, i, "jumps forward must be conditional and nested")
			}
			a.skips = append(a.skips, skip{p, to})
			a.stack = append(a.stack, int32(len(a.skips)-1))
		}
		a.loopOf[i] = cur
	}
	if cur != 0 {
		return errorAt(a.c, int(a.loops[cur].start), "the loop has no end")
	}
	for _, r := range a.skips {
		if a.loopOf[r.start] != a.loopOf[r.end] {
			return errorAt(a.c, int(r.start), "a jump forward must stay in its loop")
		}
	}
	return nil
}

// registers frees the registers of the classes, except those of arguments.
func (a *Allocator[I]) registers() {
	for k := range a.free {
		a.free[k] = 0
		a.rank[k] = [nreg]int8{}
		for n, r := range a.c.Classes[k].Regs {
			a.free[k] |= 1 << r.Num()
			a.rank[k][r.Num()] = int8(n)
		}
		for r := range a.occupant[k] {
			a.occupant[k][r] = none
			a.fixed[k][r] = none
		}
		a.all[k] = a.free[k]
	}
}

// accesses lists, for each interval, its instructions.
func (a *Allocator[I]) accesses() {
	insts := a.c.Insts
	sum := int32(0)
	for id := range a.intervals {
		v := &a.intervals[id]
		n := v.end
		v.acc, v.end, v.cur = sum, sum, sum
		sum += n
		if v.remat != none {
			if _, ok := a.m.Remat(&insts[v.remat], Virt(Class(v.class), 0)); !ok || v.writes != 1 {
				v.remat = none
			}
		}
	}
	a.accs = grow(a.accs, int(sum))
	for i := range insts {
		for _, u := range a.uses[a.first[i]:a.first[i+1]] {
			v := &a.intervals[u.interval]
			a.accs[v.end] = access{int32(i), u.reads, u.write}
			v.end++
		}
		if a.effects[i]&Copy == 0 {
			continue
		}
		a.ops = a.m.Operands(&insts[i], a.ops[:0])
		if from, to := a.ops[0].Reg, a.ops[1].Reg; from.Virtual() && to.Virtual() {
			s := &a.intervals[a.number(from)]
			if d := uint8(a.loops[a.loopOf[i]].depth); s.hint == none || d >= s.hintDepth {
				s.hint, s.hintDepth = a.number(to), d
			}
		}
	}
}

// skipped marks a write that may be skipped as a read as well, if the value is used outside of the skipped code: the old value
// survives.
func (a *Allocator[I]) skipped() {
	if len(a.skips) == 0 {
		return
	}
	for id := range a.intervals {
		v := &a.intervals[id]
		first, last := a.accs[v.acc].pos, a.accs[v.end-1].pos
		for k := v.acc; k < v.end; k++ {
			c := &a.accs[k]
			if r := a.skipOf[c.pos]; c.write && r != none && (first < a.skips[r].start || last > a.skips[r].end) {
				c.reads = true
			}
		}
	}
}

// number is the index of a virtual register in vals.
func (a *Allocator[I]) number(r Reg) int32 { return a.index[r.Class()][r.Num()] }

// firstIn is the first access of v at or behind the beginning of loop l.
func (a *Allocator[I]) firstIn(v *interval, l int32) int32 {
	start := a.loops[l].start
	return v.acc + int32(sort.Search(int(v.end-v.acc), func(k int) bool { return a.accs[v.acc+int32(k)].pos > start }))
}

// liveIn reports whether loop l reads the value that v has at its head.
func (a *Allocator[I]) liveIn(v *interval, l int32) bool {
	f := a.firstIn(v, l)
	return f < v.end && a.accs[f].pos < a.loops[l].end && a.accs[f].reads
}

// writtenIn reports whether loop l writes v.
func (a *Allocator[I]) writtenIn(v *interval, l int32) bool {
	for f := a.firstIn(v, l); f < v.end && a.accs[f].pos < a.loops[l].end; f++ {
		if a.accs[f].write {
			return true
		}
	}
	return false
}

// nextUseAfter is the next use of v seen from loop l, after its first k accesses: the position, or, if a loop carries the value
// around, the end of that loop and the use in its next iteration; dead if there is none.
func (a *Allocator[I]) nextUseAfter(v *interval, k, l int32) (next, wrap int32) {
	for {
		if k < v.end && a.accs[k].pos < a.loops[l].end {
			if a.accs[k].reads {
				return a.accs[k].pos, 0
			}
			return dead, 0
		}
		if l == 0 {
			return dead, 0
		}
		if v.acc < k && a.accs[k-1].pos > a.loops[l].start {
			if f := a.firstIn(v, l); a.accs[f].reads {
				return a.loops[l].end - 1, a.accs[f].pos
			}
		}
		l = a.loops[l].parent
	}
}

// grow is s with length n and undefined contents.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2)
	}
	return s[:n]
}
