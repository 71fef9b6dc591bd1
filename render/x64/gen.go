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
	// vals is the state of each value, by its ID.
	vals     []state
	sections map[*ir.Block]*section
	cur      *section
	loops    map[*ir.Loop]*loop
	phis     map[*ir.Value]*phi
	places   placeTable
	pool     pool
	room     *room
	// interleaved: some values are computed in lockstep.
	interleaved bool
	// streams: some stores are non-temporal.
	streams bool
	// tiles: tile registers are used.
	tiles   bool
	virtual [asm.Tile + 1]int
	labels  asm.Label
	// reserved is the part of the frame for operations that need memory.
	reserved int32
	// masksSpare: masked loads read the spare area with all lanes masked off, which does not map its page.
	masksSpare bool
	stamp      int32
	closed     int64
	args       asm.Reg
	transposed map[*ir.Value][]transposed
	// updates are loads that only the store to the same gated place uses; gated is the address of that place.
	updates map[*ir.Value]*ir.Place
	gated   map[*ir.Place]asm.Reg
	// splats and vectors are registers with constants.
	splats  map[splatKey]asm.Reg
	vectors map[int32]asm.Reg
	// open is a mask register of ones.
	open asm.Reg
}

// state is the state of a value.
type state struct {
	// reg holds the value once it is computed. Vectors of bools without mask registers also have a form for the other element width,
	// vectors of F16 that of memory.
	reg, other asm.Reg
	// index is the value sign-extended to 64 bits, if that is not reg.
	index asm.Reg
	// lanes is a scalar bool in all lanes: a mask register, or lanes of 4 and of 8 bytes.
	lanes [2]asm.Reg
	// width is the lane width of a vector of bools, once it is known.
	width int8
	// left is the number of uses not emitted yet.
	left int32
	// shared values are used in inner loops, or by addresses: no use is known to be the last.
	shared bool
	// chain is the loop variable whose next value is computed from this value in place.
	chain *phi
	// mark is the stamp of the last walk that visited the value; led: dependsOnPhi found that the value depends on the loop variable.
	mark int32
	led  bool
}

// section is the code of a block so far. Until its inner loops are closed, values for them are added to it.
type section struct {
	block *ir.Block
	out   []asm.Inst
}

// failure is the reason why a kernel cannot be rendered.
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

// ins appends an instruction to the current section. The result may be modified until the next one is appended.
func (g *gen) ins(op asm.Op, size int, dst asm.Reg, src ...asm.Reg) *asm.Inst {
	i := asm.Inst{Op: op, Size: uint8(size), Dst: dst}
	copy(i.Src[:], src)
	g.cur.out = append(g.cur.out, i)
	return &g.cur.out[len(g.cur.out)-1]
}

// imm is ins with an immediate.
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

// to stores a register.
func (g *gen) to(op asm.Op, size int, m asm.Mem, src ...asm.Reg) *asm.Inst {
	return g.from(op, size, 0, m, src...)
}

// move copies a whole register.
func (g *gen) move(dst, src asm.Reg) {
	if dst == src {
		return
	}
	g.ins(asm.MOVE, moved(dst.Class(), g.f), dst, src)
}

// moved is the number of bytes to copy of a register: all that may be in use.
func moved(c asm.Class, f Features) int {
	if c == asm.Vec {
		return f.Bytes()
	}
	return 8
}

// in calls emit with b as the current block.
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

// size is the operand size of the instructions for a value.
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

// vectorSize is the register size for so many lanes of a width; of the smallest register only half may be in use.
func vectorSize(lanes, width int) int { return max(16, lanes*width) }

// class is the register file of a value.
func (g *gen) class(v *ir.Value) asm.Class {
	switch {
	case v.Lanes == 1 && !v.Kind.Float():
		return asm.GP
	case v.Lanes > 1 && v.Kind == ir.Bool && g.f.AVX512:
		return asm.Mask
	}
	return asm.Vec
}

// need computes a value in its block unless that is done.
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

// ready computes an operand of an operation before the operation uses its first argument: a later computation could overwrite the register of an
// argument. Operands that can be folded into the operation are left, but their own operands are computed.
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

// readyPlace is ready for the operands of a place.
func (g *gen) readyPlace(at *ir.Place) {
	if g.gated[at] != 0 {
		return
	}
	g.part(g.places.planned[at])
	if at.Index != nil {
		g.ready(at.Index)
	}
	if at.Gate != nil {
		g.ready(at.Gate)
	}
}

// use is the register of a value, and counts as one of its uses.
func (g *gen) use(v *ir.Value) asm.Reg {
	g.need(v)
	g.vals[v.ID].left--
	return g.vals[v.ID].reg
}

// lastUse reports whether v has no use left, so a result in the same block may overwrite it.
func (g *gen) lastUse(v *ir.Value) bool {
	s := &g.vals[v.ID]
	return s.left <= 0 && !s.shared && v.Block == g.cur.block && v.Op != ir.Const && v.Op != ir.Iter
}

// dst is a register for the result v of an operation with used operands: the register of a loop variable if v leads to its next
// value, or a new one.
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

// overwriting is a register for a result that starts from operand a, already used: the register of a at its last use.
func (g *gen) overwriting(a *ir.Value) asm.Reg {
	r := g.vals[a.ID].reg
	if g.lastUse(a) {
		return r
	}
	d := g.fresh(r.Class())
	g.move(d, r)
	return d
}
