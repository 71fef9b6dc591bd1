package x64

import (
	"math"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// operand is the last source of an instruction: a register or memory.
type operand struct {
	reg   asm.Reg
	mem   asm.Mem
	bcast bool
}

// with adds an operand to an instruction.
func with(i *asm.Inst, o operand) *asm.Inst {
	if o.reg == 0 {
		i.Mem, i.Bcast = o.mem, o.bcast
		return i
	}
	for n := range i.Src {
		if i.Src[n] == 0 {
			i.Src[n] = o.reg
			break
		}
	}
	return i
}

// operand is a value for one use: loads without other uses become memory operands, also broadcast to a vector where the processor can
// do that.
func (g *gen) operand(v *ir.Value) operand {
	switch {
	case g.foldable(v) && v.Lanes == g.lanesOfMem(v):
		g.vals[v.ID].left--
		return operand{mem: g.address(v.At, 0)}
	case g.f.AVX512 && v.Op == ir.Splat && g.only(v) && g.foldable(v.Args[0]) && v.Kind.Width() >= 4:
		g.vals[v.ID].left--
		g.vals[v.Args[0].ID].left--
		return operand{mem: g.address(v.Args[0].At, 0), bcast: true}
	}
	return operand{reg: g.use(v)}
}

// only reports whether v is pending and has one use, in its block.
func (g *gen) only(v *ir.Value) bool {
	s := &g.vals[v.ID]
	return s.reg == 0 && s.left == 1 && !s.shared && v.Block == g.cur.block
}

// foldable reports whether v is a load in register format for the next use alone.
func (g *gen) foldable(v *ir.Value) bool {
	return v.Op == ir.Load && v.Pos == 0 && v.At.Gate == nil && v.At.Index == nil && v.Kind == v.At.Buf.Kind &&
		v.Kind.Width() == v.Kind.Size() && g.only(v)
}

// lanesOfMem is the number of lanes that instructions read from v as their memory operand, 0 if they cannot.
func (g *gen) lanesOfMem(v *ir.Value) int {
	switch {
	case v.Lanes == 1:
		return 1
	case v.At.Stride == 1 && g.f.AVX2 && v.Lanes*int(v.Kind.Width()) >= 16:
		return v.Lanes
	}
	return 0
}

// inOrder is an instruction of two sources in the order of the arguments.
func inOrder(op asm.Op) maker {
	return func(g *gen, v *ir.Value) asm.Reg { return g.two(op, v, v.Args[0], v.Args[1]) }
}

// swapped is an instruction of two sources in reverse order.
func swapped(op asm.Op) maker {
	return func(g *gen, v *ir.Value) asm.Reg { return g.two(op, v, v.Args[1], v.Args[0]) }
}

// commuting is an instruction with commutative sources: one in memory becomes the second.
func commuting(op asm.Op) maker {
	return func(g *gen, v *ir.Value) asm.Reg {
		a, b := v.Args[0], v.Args[1]
		if a != b && g.inMemory(a) && !g.inMemory(b) {
			a, b = b, a
		}
		return g.two(op, v, a, b)
	}
}

// inMemory reports whether operand will be a memory operand.
func (g *gen) inMemory(v *ir.Value) bool {
	return g.foldable(v) && v.Lanes == g.lanesOfMem(v) || g.f.AVX512 && v.Op == ir.Splat && g.only(v) && g.foldable(v.Args[0])
}

func (g *gen) two(op asm.Op, v, a, b *ir.Value) asm.Reg {
	ra := g.use(a)
	ob := g.operand(b)
	d := g.dst(v)
	with(g.ins(op, g.size(v), d, ra), ob)
	return d
}

// unary is an instruction of one source.
func unary(op asm.Op) maker {
	return func(g *gen, v *ir.Value) asm.Reg {
		a := g.operand(v.Args[0])
		d := g.dst(v)
		with(g.ins(op, g.size(v), d), a)
		return d
	}
}

// twice is a scalar instruction whose first source only provides the upper lanes.
func twice(op asm.Op) maker {
	return func(g *gen, v *ir.Value) asm.Reg {
		a := g.use(v.Args[0])
		d := g.dst(v)
		g.ins(op, g.size(v), d, a, a)
		return d
	}
}

// same is a value that equals its argument's register.
func same(g *gen, v *ir.Value) asm.Reg {
	r := g.use(v.Args[0])
	if g.lastUse(v.Args[0]) {
		return r
	}
	d := g.fresh(r.Class())
	g.move(d, r)
	return d
}

// alu is an instruction of general registers that overwrites its first source.
func alu(op asm.Op) maker {
	return func(g *gen, v *ir.Value) asm.Reg {
		a, b := v.Args[0], v.Args[1]
		if op != asm.SUB && (a.Op == ir.Const || b.Op != ir.Const && g.isLastUse(b) && !g.isLastUse(a)) {
			a, b = b, a
		}
		g.need(a)
		if c, ok := g.immediate(b); ok {
			g.use(a)
			d := g.overwriting(a)
			g.imm(op, g.size(v), d, c)
			return d
		}
		ob := g.operand(b)
		g.use(a)
		d := g.overwriting(a)
		with(g.ins(op, g.size(v), d), ob)
		return d
	}
}

// isLastUse reports whether the next use of v is its last one.
func (g *gen) isLastUse(v *ir.Value) bool {
	s := &g.vals[v.ID]
	return s.left == 1 && !s.shared && v.Block == g.cur.block
}

// immediate is an integer constant as an immediate; this counts as a use.
func (g *gen) immediate(v *ir.Value) (int64, bool) {
	if v.Op != ir.Const || v.Lanes != 1 || v.Kind.Float() {
		return 0, false
	}
	c := signed(v)
	if c < math.MinInt32 || c > math.MaxInt32 {
		return 0, false
	}
	g.vals[v.ID].left--
	return c, true
}

// signed is an integer constant, sign-extended as the instructions of its width do.
func signed(v *ir.Value) int64 {
	if v.Kind == ir.I64 || v.Kind == ir.U64 {
		return int64(v.Bits)
	}
	return int64(int32(v.Bits))
}
