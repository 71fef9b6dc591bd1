package x64

import (
	"math"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// divide divides scalar integers. Division by 0 gives 0, the least number divided by -1 wraps: the instruction would fault on both.
func divide(g *gen, v *ir.Value) asm.Reg {
	a, b := v.Args[0], v.Args[1]
	size := g.size(v)
	if b.Op == ir.Const {
		return g.divideConst(v, a, b)
	}
	ra, rb := g.use(a), g.use(b)
	return g.divideRegs(v.Op, v.Kind, size, ra, rb)
}

// divideRegs divides general registers.
func (g *gen) divideRegs(op ir.Op, k ir.Kind, size int, ra, rb asm.Reg) asm.Reg {
	// by is b, or 1 for the excluded divisors: 0, and -1 of signed kinds.
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
	// For b = 0 and b = -1 the quotient is a times b, and the remainder 0.
	fix := g.gp()
	switch {
	case op == ir.Mod:
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

// rawDivide is the division instruction.
func (g *gen) rawDivide(op ir.Op, k ir.Kind, size int, d, a, b asm.Reg) {
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
	if op == ir.Mod {
		g.ins(asm.MOV, size, d, asm.RDX)
	} else {
		g.ins(asm.MOV, size, d, asm.RAX)
	}
}

// divideVector divides 4-byte integers as F64. Its 53 bits are enough: a quotient that is no integer is at least 2**-32 away from
// the next one, more than its rounding error.
func divideVector(g *gen, v *ir.Value) asm.Reg {
	size, lanes := g.size(v), v.Lanes
	by := v.Args[1]
	ra, rb := g.use(v.Args[0]), g.use(by)
	quotient := func(d, x asm.Reg, wide, i int) { g.ins(asm.VDIVPD, wide, d, x, g.half64(rb, by.Kind, size, wide, i)) }
	if c := signed(by); by.Op == ir.Const && c != 0 {
		quotient = func(d, x asm.Reg, wide, _ int) { g.byReciprocal(d, x, wide, by) }
	}
	wide := min(2*size, 64)
	if !g.f.AVX512 || size == 16 {
		wide = 32
	}
	parts := (lanes*8 + wide - 1) / wide
	var qs [2]asm.Reg
	for i := range parts {
		q := g.vec()
		quotient(q, g.half64(ra, v.Kind, size, wide, i), wide, i)
		qs[i] = g.fromF64(q, v.Kind, wide)
	}
	q := qs[0]
	switch {
	case parts == 2 && size == 64:
		q = g.vec()
		g.imm(asm.VINSERTI64X4, 64, q, 1, qs[0], qs[1])
	case parts == 2:
		q = g.vec()
		g.imm(g.insert128(), 32, q, 1, qs[0], qs[1])
	}
	if v.Op == ir.Mod {
		p := g.vec()
		g.ins(asm.VPMULLD, size, p, q, rb)
		d := g.vec()
		g.ins(asm.VPSUBD, size, d, ra, p)
		q = d
	}
	if by.Op == ir.Const && by.Bits != 0 {
		return q
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
	g.ins(asm.VPCMPEQD, size, m, rb, g.splat(4, lanes, 0))
	g.ins(asm.VPANDN, size, d, m, q)
	return d
}

// half64 is the i-th part of a vector of integers of 4 bytes, or all of it, as a vector of F64 of wide bytes.
func (g *gen) half64(r asm.Reg, k ir.Kind, size, wide, i int) asm.Reg {
	return g.toF64(g.partOf(r, size, wide/2, i), k, wide)
}

// byReciprocal is a quotient by a constant that truncates to the right integer: half a unit is added to the magnitude of the
// dividend, which keeps multiples of the divisor from rounding down and other numbers from rounding up.
func (g *gen) byReciprocal(d, x asm.Reg, wide int, by *ir.Value) {
	c := float64(signed(by))
	if !by.Kind.Signed() {
		c = float64(uint32(by.Bits))
	}
	half := g.splat(8, wide/8, math.Float64bits(0.5))
	if by.Kind.Signed() {
		s := g.vec()
		g.ins(asm.VANDPS, wide, s, x, g.splat(8, wide/8, 1<<63))
		g.ins(asm.VORPS, wide, s, s, half)
		half = s
	}
	g.ins(asm.VADDPD, wide, d, x, half)
	g.ins(asm.VMULPD, wide, d, d, g.splat(8, wide/8, math.Float64bits(1/c)))
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
func (g *gen) toF64(r asm.Reg, k ir.Kind, size int) asm.Reg {
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
func (g *gen) fromF64(r asm.Reg, k ir.Kind, size int) asm.Reg {
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
