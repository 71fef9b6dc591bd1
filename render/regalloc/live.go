package regalloc

import (
	"math"
	"sort"

	"polygrad/render/x64/asm"
)

const (
	classes = int(asm.Tile) + 1
	nreg    = 32
	none    = int32(-1)
	dead    = int32(math.MaxInt32)
)

// access is one instruction that reads or writes a virtual register.
type access struct {
	pos   int32
	reads bool // the value before matters, also where a write may be jumped over
	write bool
}

// value is a virtual register and where it is.
type value struct {
	class       uint8
	size        uint8 // bytes of the widest instruction that has it
	depth       uint8 // of hint
	valid       bool  // its slot in the frame holds it
	reg         int8  // where it is, or -1
	home        int8  // where it was last
	acc, end    int32 // its accesses; cur is the next of them
	cur         int32
	writes      int32 // how many of them write
	hint        int32 // the value that it is copied to
	remake      int32 // the instruction that makes it from nothing, or none
	slot        int32
	next        int32 // the next use: where, or the end of the loop that carries it there
	wrap        int32 // with a loop's end: the first use in the loop
	touch, wrot int32 // the last access and the last write so far
	want        int8  // where conform wants it
	spilled     bool  // is in the list of values that have been in the frame
}

// loop is a loop of the code; number 0 is the code as a whole.
type loop struct {
	start, end int32 // LOOP, ENDLOOP
	parent     int32
	depth      int32
}

// region is code that a forward jump skips.
type region struct{ start, end int32 }

// operands calls f for each register that inst reads or writes. An idiom like VPXOR v, v, v reads nothing.
func operands(inst *asm.Inst, f func(r asm.Reg, reads, writes bool)) {
	if inst.Dst != 0 {
		f(inst.Dst, inst.ReadsDst() && !idiom(inst), true)
	}
	if !idiom(inst) {
		for k, r := range inst.Src {
			if r != 0 {
				f(r, true, k == 0 && r.Class() == asm.Vec && inst.Mask == 0 && inst.Op.WritesMask() && !inst.Stores())
			}
		}
	}
	if inst.Mem.Base != 0 {
		f(inst.Mem.Base, true, false)
	}
	if inst.Mem.Index != 0 {
		f(inst.Mem.Index, true, false)
	}
	if inst.Mask != 0 {
		f(inst.Mask, true, inst.Op.WritesMask())
	}
}

// read numbers the virtual registers and notes loops, labels, accesses, and wishes for registers.
func (a *alloc) read(c *Code) error {
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

// use is a value that an instruction reads or writes, once for each instruction.
type use struct {
	value        int32
	reads, write bool
}

// gather lists the values of all instructions, the places of labels, and the registers that hold arguments.
func (a *alloc) gather() {
	insts := a.c.Insts
	a.vals, a.uses, a.labels = a.vals[:0], a.uses[:0], a.labels[:0]
	for k := range a.index {
		a.index[k] = a.index[k][:0]
	}
	a.first = grow(a.first, len(insts)+1)
	for i := range insts {
		inst := &insts[i]
		begin := len(a.uses)
		a.first[i] = int32(begin)
		if inst.To != 0 {
			for len(a.labels) <= int(inst.To) {
				a.labels = append(a.labels, none)
			}
			if inst.Op == asm.LABEL {
				a.labels[inst.To] = int32(i)
			}
		}
		operands(inst, func(r asm.Reg, reads, writes bool) {
			k, n := r.Class(), r.Num()
			if !r.Virtual() {
				if a.all[k]>>n&1 != 0 {
					a.fixed[k][n] = int32(i)
					a.free[k] &^= 1 << n
				}
				return
			}
			for len(a.index[k]) <= n {
				a.index[k] = append(a.index[k], none)
			}
			id := a.index[k][n]
			if id == none {
				id = int32(len(a.vals))
				a.index[k][n] = id
				a.vals = append(a.vals, value{class: uint8(k), size: 8, reg: -1, home: -1, hint: none, remake: none, slot: none, next: dead, touch: none, wrot: none, want: -1})
			}
			v := &a.vals[id]
			if k == asm.Vec {
				v.size = max(v.size, 16, inst.Size)
			}
			if writes {
				v.remake = int32(i)
				v.writes++
			}
			for k := begin; k < len(a.uses); k++ {
				if u := &a.uses[k]; u.value == id {
					u.reads, u.write = u.reads || reads, u.write || writes
					return
				}
			}
			a.uses = append(a.uses, use{id, reads, writes})
			v.end++
		})
	}
	a.first[len(insts)] = int32(len(a.uses))
}

// nest finds loops and the regions that jumps skip.
func (a *alloc) nest(n int) error {
	a.loops = append(a.loops[:0], loop{start: -1, end: int32(n), parent: none})
	a.loopOf = grow(a.loopOf, n)
	a.regionOf = grow(a.regionOf, n)
	a.regions = a.regions[:0]
	a.stack = a.stack[:0]
	cur := int32(0)
	for i := range a.c.Insts {
		inst := &a.c.Insts[i]
		p := int32(i)
		for len(a.stack) > 0 && a.regions[a.stack[len(a.stack)-1]].end <= p {
			a.stack = a.stack[:len(a.stack)-1]
		}
		a.regionOf[i] = none
		if len(a.stack) > 0 {
			a.regionOf[i] = a.stack[len(a.stack)-1]
		}
		switch {
		case inst.Op == asm.LOOP:
			a.loops = append(a.loops, loop{start: p, end: int32(n), parent: cur, depth: a.loops[cur].depth + 1})
			cur = int32(len(a.loops) - 1)
		case inst.Op == asm.ENDLOOP:
			if cur == 0 {
				return errorAt(a.c, i, "no loop is open")
			}
			a.loops[cur].end = p
			cur = a.loops[cur].parent
		case inst.Op.Branch():
			to := a.labels[inst.To]
			if to < 0 {
				return errorAt(a.c, i, "label %d is nowhere", inst.To)
			}
			if to < p {
				if cur == 0 || to != a.loops[cur].start+1 {
					return errorAt(a.c, i, "a jump back must go to the label that begins the innermost loop")
				}
				break
			}
			if len(a.stack) > 0 && to > a.regions[a.stack[len(a.stack)-1]].end || inst.Op == asm.JMP {
				return errorAt(a.c, i, "jumps forward must be conditional and nested")
			}
			a.regions = append(a.regions, region{p, to})
			a.stack = append(a.stack, int32(len(a.regions)-1))
		}
		a.loopOf[i] = cur
	}
	if cur != 0 {
		return errorAt(a.c, int(a.loops[cur].start), "the loop has no end")
	}
	for _, r := range a.regions {
		if a.loopOf[r.start] != a.loopOf[r.end] {
			return errorAt(a.c, int(r.start), "a jump forward must stay in its loop")
		}
	}
	return nil
}

// registers makes those of the limits free, but for the ones that hold arguments.
func (a *alloc) registers() {
	a.order = [classes][]asm.Reg{asm.GP: a.c.Regs.GP, asm.Vec: a.c.Regs.Vec, asm.Mask: a.c.Regs.Mask, asm.Tile: a.c.Regs.Tile}
	for k := range a.order {
		a.free[k] = 0
		a.rank[k] = [nreg]int8{}
		for n, r := range a.order[k] {
			a.free[k] |= 1 << r.Num()
			a.rank[k][r.Num()] = int8(n)
		}
		for r := range a.held[k] {
			a.held[k][r] = none
			a.fixed[k][r] = none
		}
		a.all[k] = a.free[k]
	}
}

// accesses lists, for each value, the instructions that have it.
func (a *alloc) accesses() {
	insts := a.c.Insts
	sum := int32(0)
	for id := range a.vals {
		v := &a.vals[id]
		n := v.end
		v.acc, v.end, v.cur = sum, sum, sum
		sum += n
		if v.writes != 1 || !fromNothing(&insts[v.remake]) {
			v.remake = none
		}
	}
	a.accs = grow(a.accs, int(sum))
	for i := range insts {
		for _, u := range a.uses[a.first[i]:a.first[i+1]] {
			v := &a.vals[u.value]
			a.accs[v.end] = access{int32(i), u.reads, u.write}
			v.end++
		}
		if inst := &insts[i]; inst.Op == asm.MOVE && inst.Dst.Virtual() && inst.Src[0].Virtual() {
			s := &a.vals[a.number(inst.Src[0])]
			if d := uint8(a.loops[a.loopOf[i]].depth); s.hint == none || d >= s.depth {
				s.hint, s.depth = a.number(inst.Dst), d
			}
		}
	}
}

// skipped lets a write that may be jumped over leave what was there before, if anything outside its region knows the
// value.
func (a *alloc) skipped() {
	if len(a.regions) == 0 {
		return
	}
	for id := range a.vals {
		v := &a.vals[id]
		first, last := a.accs[v.acc].pos, a.accs[v.end-1].pos
		for k := v.acc; k < v.end; k++ {
			c := &a.accs[k]
			if r := a.regionOf[c.pos]; c.write && r != none && (first < a.regions[r].start || last > a.regions[r].end) {
				c.reads = true
			}
		}
	}
}

// number is the place of a virtual register in vals.
func (a *alloc) number(r asm.Reg) int32 { return a.index[r.Class()][r.Num()] }

// firstIn is the first access of v in loop l, or behind it.
func (a *alloc) firstIn(v *value, l int32) int32 {
	start := a.loops[l].start
	return v.acc + int32(sort.Search(int(v.end-v.acc), func(k int) bool { return a.accs[v.acc+int32(k)].pos > start }))
}

// exposed reports whether the value that v has at the head of loop l is read in it.
func (a *alloc) exposed(v *value, l int32) bool {
	f := a.firstIn(v, l)
	return f < v.end && a.accs[f].pos < a.loops[l].end && a.accs[f].reads
}

// writtenIn reports whether loop l writes v.
func (a *alloc) writtenIn(v *value, l int32) bool {
	for f := a.firstIn(v, l); f < v.end && a.accs[f].pos < a.loops[l].end; f++ {
		if a.accs[f].write {
			return true
		}
	}
	return false
}

// upcoming is the next use of v as seen from loop l if the accesses before k are over: where it is, or, if a loop carries the
// value around, the last place in that loop and the use in its next turn; dead if there is none.
func (a *alloc) upcoming(v *value, k, l int32) (next, wrap int32) {
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

// grow is s with length n; what it holds is undefined.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2)
	}
	return s[:n]
}
