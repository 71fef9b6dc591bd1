package x64

import (
	"polygrad/core/lower/nest"
	"polygrad/render/x64/asm"
)

// divide divides scalar integers. Division by 0 gives 0, the least number divided by -1 wraps; both are kept away from
// the instruction, which would fault.
func divide(g *gen, v *nest.Value) asm.Reg {
	a, b := v.Args[0], v.Args[1]
	size := g.size(v)
	if b.Op == nest.Const {
		return g.divideConst(v, a, b)
	}
	ra, rb := g.use(a), g.use(b)
	return g.divideRegs(v.Op, v.Kind, size, ra, rb)
}

// divideRegs divides general registers.
func (g *gen) divideRegs(op nest.Op, k nest.Kind, size int, ra, rb asm.Reg) asm.Reg {
	// by is b, or 1 where b cannot be divided by: 0, and -1 of signed kinds.
	by, odd := g.gp(), g.gp()
	one := g.gp()
	g.number(one, 1)
	g.move(by, rb)
	if k.Signed() {
		g.from(asm.LEA, size, odd, asm.Mem{Base: rb, Disp: 1})
		g.imm(asm.CMP, size, 0, 1, odd)
		g.ins(asm.CMOVBE, size, by, one)
	} else {
		g.ins(asm.TEST, size, 0, rb, rb)
		g.ins(asm.CMOVE, size, by, one)
	}
	d := g.gp()
	g.rawDivide(op, k, size, d, ra, by)
	// Where b is 0 or -1 the quotient is a times b, and the rest 0 for both.
	fix := g.gp()
	switch {
	case op == nest.Mod:
		g.number(fix, 0)
	default:
		g.ins(asm.MOV, size, fix, ra)
		g.ins(asm.IMUL, size, fix, rb)
	}
	if k.Signed() {
		g.imm(asm.CMP, size, 0, 1, odd)
		g.ins(asm.CMOVBE, size, d, fix)
	} else {
		g.ins(asm.TEST, size, 0, rb, rb)
		g.ins(asm.CMOVE, size, d, fix)
	}
	return d
}

// rawDivide is the division of the processor.
func (g *gen) rawDivide(op nest.Op, k nest.Kind, size int, d, a, b asm.Reg) {
	g.ins(asm.MOV, size, asm.RAX, a)
	switch {
	case !k.Signed():
		g.ins(asm.XOR, 4, asm.RDX, asm.RDX)
		g.ins(asm.DIV, size, 0, b)
	case size == 8:
		g.ins(asm.CQO, 8, 0)
		g.ins(asm.IDIV, size, 0, b)
	default:
		g.ins(asm.CDQ, 4, 0)
		g.ins(asm.IDIV, size, 0, b)
	}
	if op == nest.Mod {
		g.ins(asm.MOV, size, d, asm.RDX)
	} else {
		g.ins(asm.MOV, size, d, asm.RAX)
	}
}

// divideConst divides by a constant.
func (g *gen) divideConst(v, a, b *nest.Value) asm.Reg {
	g.vals[b.ID].left--
	c := signed(b)
	size := g.size(v)
	ra := g.use(a)
	d := g.gp()
	unsigned := uint64(c)
	if size == 4 {
		unsigned = uint64(uint32(c))
	}
	switch power := unsigned&(unsigned-1) == 0; {
	case unsigned == 0 || v.Kind.Signed() && c == -1 && v.Op == nest.Mod:
		g.number(d, 0)
	case v.Kind.Signed() && c == -1:
		g.move(d, ra)
		g.ins(asm.NEG, size, d)
	case power && !v.Kind.Signed() && v.Op == nest.Div:
		g.move(d, ra)
		if unsigned > 1 {
			g.imm(asm.SHR, size, d, log2(int64(unsigned)))
		}
	case power && !v.Kind.Signed() && unsigned <= 1<<31:
		g.move(d, ra)
		g.imm(asm.AND, size, d, int64(int32(unsigned-1)))
	default:
		by := g.gp()
		g.number(by, unsigned)
		g.rawDivide(v.Op, v.Kind, size, d, ra, by)
	}
	return d
}

// divideVector divides integers of 4 bytes as F64, whose 53 bits hold quotients exactly enough: the quotient of such
// numbers is at least 2**-32 away from the next integer if it is none, more than its rounding error.
func divideVector(g *gen, v *nest.Value) asm.Reg {
	size, half := g.size(v), g.size(v)/2
	ra, rb := g.use(v.Args[0]), g.use(v.Args[1])
	if size == 16 {
		half = 16
	}
	lanes := v.Lanes
	wide := 32
	if size == 64 {
		wide = 64
	}
	parts := (lanes*8 + wide - 1) / wide
	var qs [2]asm.Reg
	for i := range parts {
		x := g.toF64(g.partOf(ra, size, half, i), v.Kind, wide)
		y := g.toF64(g.partOf(rb, size, half, i), v.Kind, wide)
		q := g.vec()
		g.ins(asm.VDIVPD, wide, q, x, y)
		qs[i] = g.fromF64(q, v.Kind, wide)
	}
	q := qs[0]
	if parts == 2 {
		q = g.vec()
		if size == 64 {
			g.imm(asm.VINSERTI64X4, 64, q, 1, qs[0], qs[1])
		} else {
			g.imm(g.insert128(), 32, q, 1, qs[0], qs[1])
		}
	}
	zero := g.splat(4, lanes, 0)
	if v.Op == nest.Mod {
		p := g.vec()
		g.ins(asm.VPMULLD, size, p, q, rb)
		d := g.vec()
		g.ins(asm.VPSUBD, size, d, ra, p)
		q = d
	}
	// Lanes divided by 0 become 0.
	d := g.vec()
	if g.f.AVX512 {
		k := g.fresh(asm.Mask)
		g.ins(asm.VPTESTMD, size, k, rb, rb)
		i := g.ins(asm.VMOVAPS, size, d, q)
		i.Mask, i.Zero = k, true
		return d
	}
	m := g.vec()
	g.ins(asm.VPCMPEQD, size, m, rb, zero)
	g.ins(asm.VPANDN, size, d, m, q)
	return d
}

func (g *gen) insert128() asm.Op {
	if g.f.AVX512 {
		return asm.VINSERTI32X4
	}
	return asm.VINSERTI128
}

// partOf is the i-th part of half the size of a vector register.
func (g *gen) partOf(r asm.Reg, size, half, i int) asm.Reg {
	if i == 0 || half == size {
		return r
	}
	d := g.vec()
	if size == 64 {
		g.imm(asm.VEXTRACTI64X4, 64, d, 1, r)
		return d
	}
	return g.part128(r, size, 1)
}

// toF64 converts integers of 4 bytes to F64, a vector of size bytes.
func (g *gen) toF64(r asm.Reg, k nest.Kind, size int) asm.Reg {
	d := g.vec()
	switch {
	case k.Signed():
		g.ins(asm.VCVTDQ2PD, size, d, r)
	case g.f.AVX512:
		g.ins(asm.VCVTUDQ2PD, size, d, r)
	default:
		g.unsignedToF64(d, r, size)
	}
	return d
}

// fromF64 truncates F64 to integers of 4 bytes.
func (g *gen) fromF64(r asm.Reg, k nest.Kind, size int) asm.Reg {
	d := g.vec()
	switch {
	case k.Signed():
		g.ins(asm.VCVTTPD2DQ, size, d, r)
	case g.f.AVX512:
		g.ins(asm.VCVTTPD2UDQ, size, d, r)
	default:
		g.f64ToUnsigned(d, r, size)
	}
	return d
}
