package x64

import (
	"fmt"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// gen selects the instructions of one kernel.
type gen struct {
	k *ir.Kernel
	f Features
	// vals is what is known about each value, by its ID.
	vals     []state
	sections map[*ir.Block]*section
	cur      *section
	loops    map[*ir.Loop]*loop
	phis     map[*ir.Value]*phi
	places   placeTable
	pool     pool
	room     *room
	// streams says that some stores go around the caches.
	streams bool
	// tiles says that the registers of tiles are used.
	tiles   bool
	virtual [asm.Tile + 1]int
	labels  asm.Label
	// reserved is how much of the frame is for operations that need memory.
	reserved   int32
	stamp      int32
	closed     int64
	args       asm.Reg
	transposed map[*ir.Value][]transposed
	// splats and vectors are registers that hold constants.
	splats  map[splatKey]asm.Reg
	vectors map[int32]asm.Reg
}

// state is what is known about a value.
type state struct {
	// reg holds the value once it is computed. Vectors of bools without mask registers also have the form for
	// elements of the other width, vectors of F16 that of memory.
	reg, other asm.Reg
	// index is the value as 64 bits with its sign, if that is not reg.
	index asm.Reg
	// lanes is a scalar bool in all lanes: a mask register, or of 4 and of 8 bytes.
	lanes [2]asm.Reg
	// width is that of the lanes of a vector of bools, once it is known.
	width int8
	// left counts the uses that are not emitted yet.
	left int32
	// shared values are used in loops inside of their block, or by addresses: no use is known to be the last.
	shared bool
	// chain is the variable of a loop that the value brings towards its next value.
	chain *phi
	// mark is the stamp of the last walk that came here, led what it found.
	mark int32
	led  bool
}

// section is the code of a block as far as it is known. What loops inside of it need from it is added to it as long
// as they are not closed.
type section struct {
	block *ir.Block
	out   []asm.Inst
}

// failure is why a kernel cannot be rendered.
type failure struct{ error }

func fail(format string, args ...any) {
	panic(failure{fmt.Errorf(format, args...)})
}

func (g *gen) fresh(c asm.Class) asm.Reg {
	g.virtual[c]++
	return asm.Virt(c, g.virtual[c]-1)
}

func (g *gen) gp() asm.Reg  { return g.fresh(asm.GP) }
func (g *gen) vec() asm.Reg { return g.fresh(asm.Vec) }

func (g *gen) label() asm.Label {
	g.labels++
	return g.labels
}

// ins appends an instruction to the current section. The result may be completed until the next one is appended.
func (g *gen) ins(op asm.Op, size int, dst asm.Reg, src ...asm.Reg) *asm.Inst {
	i := asm.Inst{Op: op, Size: uint8(size), Dst: dst}
	copy(i.Src[:], src)
	g.cur.out = append(g.cur.out, i)
	return &g.cur.out[len(g.cur.out)-1]
}

// imm is ins with a constant.
func (g *gen) imm(op asm.Op, size int, dst asm.Reg, imm int64, src ...asm.Reg) *asm.Inst {
	i := g.ins(op, size, dst, src...)
	i.Imm = imm
	return i
}

// from is ins with a last source in memory.
func (g *gen) from(op asm.Op, size int, dst asm.Reg, m asm.Mem, src ...asm.Reg) *asm.Inst {
	i := g.ins(op, size, dst, src...)
	i.Mem = m
	return i
}

// to writes a register to memory.
func (g *gen) to(op asm.Op, size int, m asm.Mem, src ...asm.Reg) *asm.Inst {
	return g.from(op, size, 0, m, src...)
}

// move copies a register, all of it.
func (g *gen) move(dst, src asm.Reg) {
	if dst == src {
		return
	}
	g.ins(asm.MOVE, moved(dst.Class(), g.f), dst, src)
}

// moved is how many bytes a copy of a register has: all that may be in use.
func moved(c asm.Class, f Features) int {
	if c == asm.Vec {
		return f.Bytes()
	}
	return 8
}

// in calls emit with block b as the current one.
func (g *gen) in(b *ir.Block, emit func()) {
	outer := g.cur
	g.cur = g.section(b)
	emit()
	g.cur = outer
}

func (g *gen) section(b *ir.Block) *section {
	s := g.sections[b]
	if s == nil {
		fail("value of the block of %v, which is not open", b.Loop)
	}
	return s
}

// size is how many bytes the instructions for a value's register work on.
func (g *gen) size(v *ir.Value) int {
	if v.Lanes == 1 {
		if v.Kind.Float() {
			return 16
		}
		return max(4, int(v.Kind.Width()))
	}
	if v.Kind == ir.Bool {
		return vectorSize(v.Lanes, g.width(v))
	}
	return vectorSize(v.Lanes, int(v.Kind.Width()))
}

// vectorSize is the register for so many lanes of a width: half of the smallest register may be all that is used.
func vectorSize(lanes, width int) int { return max(16, lanes*width) }

// class is the register file that holds a value.
func (g *gen) class(v *ir.Value) asm.Class {
	switch {
	case v.Lanes == 1 && !v.Kind.Float():
		return asm.GP
	case v.Lanes > 1 && v.Kind == ir.Bool && g.f.AVX512:
		return asm.Mask
	}
	return asm.Vec
}

// need computes a value if that was not done yet, in its block.
func (g *gen) need(v *ir.Value) {
	s := &g.vals[v.ID]
	if s.reg != 0 {
		return
	}
	if v.Op == ir.Load && v.Pos != 0 && g.cur.block != v.Block {
		fail("load number %d is used before its place", v.Pos)
	}
	outer := g.cur
	g.cur = g.section(v.Block)
	r := g.make(v)
	g.cur = outer
	g.vals[v.ID].reg = r
}

// ready computes what an operation needs before the operation uses the first of its arguments: from there on nothing
// may be computed that overwrites one. What can be part of the operation itself is left, but for what that needs.
func (g *gen) ready(v *ir.Value) {
	switch {
	case g.vals[v.ID].reg != 0 || v.Op == ir.Const:
	case g.inMemory(v):
		if v.Op == ir.Splat {
			v = v.Args[0]
		}
		g.readyPlace(v.At)
	case g.fusable(v):
		for _, a := range v.Args {
			g.ready(a)
		}
	default:
		g.need(v)
	}
}

// readyPlace is ready for what a place has.
func (g *gen) readyPlace(at *ir.Place) {
	g.part(g.places.planned[at])
	if at.Index != nil {
		g.ready(at.Index)
	}
	if at.Gate != nil {
		g.ready(at.Gate)
	}
}

// use is the register of a value, for one of its uses.
func (g *gen) use(v *ir.Value) asm.Reg {
	g.need(v)
	g.vals[v.ID].left--
	return g.vals[v.ID].reg
}

// lastUse reports whether no use of v is left, so that what is computed now in the same block may overwrite it.
func (g *gen) lastUse(v *ir.Value) bool {
	s := &g.vals[v.ID]
	return s.left <= 0 && !s.shared && v.Block == g.cur.block && v.Op != ir.Const && v.Op != ir.Iter
}

// dst is a register for the result v of an operation whose operands have been used: that of an operand that was a
// variable of the loop if v leads to its next value, or a new one.
func (g *gen) dst(v *ir.Value) asm.Reg {
	if p := g.vals[v.ID].chain; p != nil && p.reg != 0 {
		for _, a := range v.Args {
			if g.vals[a.ID].reg == p.reg && g.class(v) == p.reg.Class() && g.lastUse(a) {
				return p.reg
			}
		}
	}
	return g.fresh(g.class(v))
}

// overwriting is a register for a result that holds the operand a, which has been used already: that of a at its last
// use.
func (g *gen) overwriting(a *ir.Value) asm.Reg {
	r := g.vals[a.ID].reg
	if g.lastUse(a) {
		return r
	}
	d := g.fresh(r.Class())
	g.move(d, r)
	return d
}
