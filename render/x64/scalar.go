package x64

import (
	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// makeProduct multiplies general registers.
func makeProduct(g *gen, v *ir.Value) asm.Reg {
	a, b := v.Args[0], v.Args[1]
	if a.Op == ir.Const {
		a, b = b, a
	}
	g.need(a)
	if c, ok := g.immediate(b); ok {
		ra := g.use(a)
		d := g.dst(v)
		if d == ra {
			g.imm(asm.IMULI, g.size(v), d, c, ra)
		} else {
			g.multiply(g.size(v), d, ra, c)
		}
		return d
	}
	return alu(asm.IMUL)(g, v)
}

func negScalar(g *gen, v *ir.Value) asm.Reg {
	g.use(v.Args[0])
	d := g.overwriting(v.Args[0])
	g.ins(asm.NEG, g.size(v), d)
	return d
}

func absScalar(g *gen, v *ir.Value) asm.Reg {
	a := g.use(v.Args[0])
	d := g.gp()
	g.move(d, a)
	g.ins(asm.NEG, g.size(v), d)
	g.ins(asm.CMOVS, g.size(v), d, a)
	return d
}

// greaterScalar is the maximum or minimum of two integers.
func greaterScalar(g *gen, v *ir.Value) asm.Reg {
	c := asm.L
	if !v.Kind.Signed() {
		c = asm.B
	}
	g.need(v.Args[0])
	b := g.use(v.Args[1])
	a := g.use(v.Args[0])
	d := g.gp()
	g.move(d, a)
	if v.Op == ir.MinSS {
		g.ins(asm.CMP, g.size(v), 0, b, a)
	} else {
		g.ins(asm.CMP, g.size(v), 0, a, b)
	}
	g.ins(c.Cmov(), g.size(v), d, b)
	return d
}

// andNotScalar is a and not b.
func andNotScalar(g *gen, v *ir.Value) asm.Reg {
	a, b := g.use(v.Args[0]), g.use(v.Args[1])
	d := g.gp()
	if g.f.AVX2 {
		g.ins(asm.ANDN, g.size(v), d, b, a)
	} else {
		g.move(d, b)
		g.ins(asm.NOT, g.size(v), d)
		g.ins(asm.AND, g.size(v), d, a)
	}
	if v.Kind == ir.Bool {
		g.imm(asm.AND, 4, d, 1)
	}
	return d
}

// shiftScalar shifts a general register.
func shiftScalar(g *gen, v *ir.Value) asm.Reg {
	a, by := v.Args[0], v.Args[1]
	op, x := asm.SHL, asm.SHLX
	if v.Op == ir.Shr {
		op, x = asm.SHR, asm.SHRX
		if v.Kind.Signed() {
			op, x = asm.SAR, asm.SARX
		}
	}
	g.need(a)
	size := g.size(v)
	if c, ok := g.immediate(by); ok {
		g.use(a)
		d := g.overwriting(a)
		if c &= int64(8*size - 1); c != 0 {
			g.imm(op, size, d, c)
		}
		return d
	}
	rb := g.use(by)
	if g.f.AVX2 {
		ra := g.use(a)
		d := g.dst(v)
		g.ins(x, size, d, ra, rb)
		return d
	}
	g.use(a)
	d := g.overwriting(a)
	g.ins(asm.MOV, 4, asm.RCX, rb)
	g.ins(op, size, d, asm.RCX)
	return d
}

// compareScalar is a comparison as 0 or 1.
func compareScalar(g *gen, v *ir.Value) asm.Reg {
	if v.Args[0].Kind.Float() && (v.Op == ir.Equal || v.Op == ir.NotEqual) {
		return compareEqual(g, v)
	}
	c := g.compare(v)
	d := g.gp()
	g.ins(c.Set(), 4, asm.RAX)
	g.ins(asm.MOVZX8, 4, d, asm.RAX)
	return d
}

// compareEqual compares floats that may be NaN: the parity flag is set for NaN.
func compareEqual(g *gen, v *ir.Value) asm.Reg {
	g.compare(v)
	d := g.gp()
	op := asm.AND
	if v.Op == ir.Equal {
		g.ins(asm.SETNP, 4, asm.RAX)
		g.ins(asm.SETE, 4, asm.RCX)
	} else {
		g.ins(asm.SETP, 4, asm.RAX)
		g.ins(asm.SETNE, 4, asm.RCX)
		op = asm.OR
	}
	g.ins(op, 4, asm.RAX, asm.RCX)
	g.ins(asm.MOVZX8, 4, d, asm.RAX)
	return d
}

// compare sets the flags by a comparison and returns the condition for true. Floats are compared in reverse order, as the condition
// "above" is false with NaN.
func (g *gen) compare(v *ir.Value) asm.Cond {
	a, b := v.Args[0], v.Args[1]
	if a.Kind.Float() {
		op := asm.VUCOMISS
		if a.Kind == ir.F64 {
			op = asm.VUCOMISD
		}
		rb := g.use(b)
		oa := g.operand(a)
		with(g.ins(op, 16, 0, rb), oa)
		if v.Op == ir.Less {
			return asm.A
		}
		return asm.AE
	}
	size := g.size(a)
	c := conditions[condKey{v.Op, a.Kind.Signed(), false}]
	if a.Op == ir.Const && b.Op != ir.Const {
		a, b = b, a
		c = conditions[condKey{v.Op, a.Kind.Signed(), true}]
	}
	ra := g.use(a)
	if i, ok := g.immediate(b); ok {
		g.imm(asm.CMP, size, 0, i, ra)
	} else {
		ob := g.operand(b)
		with(g.ins(asm.CMP, size, 0, ra), ob)
	}
	return c
}

// condKey is a comparison of integers; swap exchanges the arguments.
type condKey struct {
	op           ir.Op
	signed, swap bool
}

var conditions = map[condKey]asm.Cond{
	{ir.Equal, false, false}: asm.E, {ir.Equal, true, false}: asm.E,
	{ir.Equal, false, true}: asm.E, {ir.Equal, true, true}: asm.E,
	{ir.NotEqual, false, false}: asm.NE, {ir.NotEqual, true, false}: asm.NE,
	{ir.NotEqual, false, true}: asm.NE, {ir.NotEqual, true, true}: asm.NE,
	{ir.Less, false, false}: asm.B, {ir.Less, true, false}: asm.L,
	{ir.Less, false, true}: asm.A, {ir.Less, true, true}: asm.G,
	{ir.LessEqual, false, false}: asm.BE, {ir.LessEqual, true, false}: asm.LE,
	{ir.LessEqual, false, true}: asm.AE, {ir.LessEqual, true, true}: asm.GE,
}

// fusable reports whether v is a comparison of scalars with one use, where it remains a condition of the flags.
func (g *gen) fusable(v *ir.Value) bool {
	if v.Lanes > 1 || !g.only(v) {
		return false
	}
	equality := v.Op == ir.Equal || v.Op == ir.NotEqual
	return v.Op == ir.Less || v.Op == ir.LessEqual || equality && !v.Args[0].Kind.Float()
}

// test sets the flags by a scalar bool for one use of it, and returns the condition for true.
func (g *gen) test(v *ir.Value) asm.Cond {
	if g.fusable(v) {
		g.vals[v.ID].left--
		return g.compare(v)
	}
	r := g.use(v)
	g.ins(asm.TEST, 4, 0, r, r)
	return asm.NE
}

// chooseScalar selects one of two general registers.
func chooseScalar(g *gen, v *ir.Value) asm.Reg {
	c, t, f := v.Args[0], v.Args[1], v.Args[2]
	g.need(f)
	rt := g.use(t)
	if !g.only(c) {
		g.need(c)
	}
	rf := g.use(f)
	d := g.gp()
	g.move(d, rf)
	size := max(4, int(v.Kind.Width()))
	g.ins(g.test(c).Cmov(), size, d, rt)
	return d
}

// chooseFloat selects one of two scalars in vector registers.
func chooseFloat(g *gen, v *ir.Value) asm.Reg {
	c, t, f := v.Args[0], v.Args[1], v.Args[2]
	width := int(v.Kind.Width())
	rt, rf := g.use(t), g.use(f)
	if g.f.AVX512 {
		k := g.fresh(asm.Mask)
		g.ins(asm.KMOVW, 4, k, g.use(c))
		return g.blendMask(v, k, rt, rf)
	}
	size := max(4, width)
	g.ins(asm.MOV, 4, asm.RAX, g.use(c))
	g.ins(asm.NEG, size, asm.RAX)
	m := g.vec()
	op := asm.VMOVD
	if width == 8 {
		op = asm.VMOVQ
	}
	g.ins(op, size, m, asm.RAX)
	return g.blend(width, 16, m, rt, rf)
}
