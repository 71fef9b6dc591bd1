package x64

import (
	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// rotate rotates the lanes of a vector by a constant.
func rotate(g *gen, v *ir.Value) asm.Reg {
	a, by := g.use(v.Args[0]), v.Args[1]
	g.vals[by.ID].left--
	d := g.vec()
	g.imm(sized(int(v.Kind.Width()), asm.VPROLD, asm.VPROLQ), g.size(v), d, int64(by.Bits), a)
	return d
}

// sized selects an operation by element width.
func sized(width int, op4, op8 asm.Op) asm.Op {
	if width == 8 {
		return op8
	}
	return op4
}

func negVector(g *gen, v *ir.Value) asm.Reg {
	a := g.use(v.Args[0])
	w := int(v.Kind.Width())
	d := g.dst(v)
	g.ins(sized(w, asm.VPSUBD, asm.VPSUBQ), g.size(v), d, g.splat(w, v.Lanes, 0), a)
	return d
}

// signs is ones in the 8-byte lanes that are negative.
func (g *gen) signs(r asm.Reg, lanes int) asm.Reg {
	d := g.vec()
	g.ins(asm.VPCMPGTQ, vectorSize(lanes, 8), d, g.splat(8, lanes, 0), r)
	return d
}

func absWide(g *gen, v *ir.Value) asm.Reg {
	a := g.use(v.Args[0])
	s := g.signs(a, v.Lanes)
	d := g.vec()
	g.ins(asm.VPXOR, g.size(v), d, a, s)
	g.ins(asm.VPSUBQ, g.size(v), d, d, s)
	return d
}

// greaterWide is the maximum or minimum of vectors of 8-byte integers.
func greaterWide(g *gen, v *ir.Value) asm.Reg {
	a, b := g.use(v.Args[0]), g.use(v.Args[1])
	x, y := a, b
	if !v.Kind.Signed() {
		x, y = g.flip(a, 8, v.Lanes), g.flip(b, 8, v.Lanes)
	}
	m := g.vec()
	g.ins(asm.VPCMPGTQ, g.size(v), m, x, y)
	if v.Op == ir.MinSS {
		return g.blend(8, g.size(v), m, b, a)
	}
	return g.blend(8, g.size(v), m, a, b)
}

// mulWide multiplies 8-byte integers by their halves.
func mulWide(g *gen, v *ir.Value) asm.Reg {
	a, b := g.use(v.Args[0]), g.use(v.Args[1])
	size := g.size(v)
	t, u, d := g.vec(), g.vec(), g.vec()
	g.imm(asm.VPSRLQ, size, t, 32, a)
	g.ins(asm.VPMULUDQ, size, t, t, b)
	g.imm(asm.VPSRLQ, size, u, 32, b)
	g.ins(asm.VPMULUDQ, size, u, u, a)
	g.ins(asm.VPADDQ, size, t, t, u)
	g.imm(asm.VPSLLQ, size, t, 32, t)
	g.ins(asm.VPMULUDQ, size, d, a, b)
	g.ins(asm.VPADDQ, size, d, d, t)
	return d
}

// shiftOps are the shifts of vectors: all lanes by one count, or each lane by its own.
var shiftOps = map[shiftKey][2]asm.Op{
	{ir.Shl, false, 4}: {asm.VPSLLD, asm.VPSLLVD},
	{ir.Shl, true, 4}:  {asm.VPSLLD, asm.VPSLLVD},
	{ir.Shl, false, 8}: {asm.VPSLLQ, asm.VPSLLVQ},
	{ir.Shl, true, 8}:  {asm.VPSLLQ, asm.VPSLLVQ},
	{ir.Shr, false, 4}: {asm.VPSRLD, asm.VPSRLVD},
	{ir.Shr, true, 4}:  {asm.VPSRAD, asm.VPSRAVD},
	{ir.Shr, false, 8}: {asm.VPSRLQ, asm.VPSRLVQ},
	{ir.Shr, true, 8}:  {asm.VPSRAQ, asm.VPSRAVQ},
}

type shiftKey struct {
	op     ir.Op
	signed bool
	width  int
}

// shiftVector shifts the lanes of a vector.
func shiftVector(g *gen, v *ir.Value) asm.Reg {
	by := v.Args[1]
	w := int(v.Kind.Width())
	key := shiftKey{v.Op, v.Kind.Signed(), w}
	ops := shiftOps[key]
	each := by.Lanes > 1 && by.Op != ir.Const
	if each && (!g.f.AVX2 || by.Kind.Width() != v.Kind.Width()) {
		return lanewise(g, v)
	}
	size := g.size(v)
	a := g.use(v.Args[0])
	// shift emits one shift of src with op.
	var shift func(d, src asm.Reg, ops [2]asm.Op)
	switch {
	case by.Op == ir.Const:
		g.vals[by.ID].left--
		shift = func(d, src asm.Reg, ops [2]asm.Op) { g.imm(ops[0], size, d, int64(by.Bits), src) }
	case each:
		rb := g.use(by)
		shift = func(d, src asm.Reg, ops [2]asm.Op) { g.ins(ops[1], size, d, src, rb) }
	default:
		c := g.vec()
		g.ins(asm.VMOVD, 4, c, g.use(by))
		shift = func(d, src asm.Reg, ops [2]asm.Op) { g.ins(ops[0], size, d, src, c) }
	}
	d := g.vec()
	if ops[0] != asm.VPSRAQ || g.f.AVX512 {
		shift(d, a, ops)
		return d
	}
	// The sign bit, shifted along, is subtracted to extend the sign.
	logical := shiftOps[shiftKey{ir.Shr, false, 8}]
	top := g.vec()
	shift(top, g.splat(8, v.Lanes, 1<<63), logical)
	shift(d, a, logical)
	g.ins(asm.VPXOR, size, d, d, top)
	g.ins(asm.VPSUBQ, size, d, d, top)
	return d
}
