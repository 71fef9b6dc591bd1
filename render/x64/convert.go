package x64

import (
	"math"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// castScalar converts a scalar by value.
func castScalar(g *gen, v *ir.Value) asm.Reg {
	a := v.Args[0]
	from, to := a.Kind.Register(), v.Kind.Register()
	if registersAgree(from, to) {
		return same(g, v)
	}
	return g.castReg(from, to, g.use(a))
}

// registersAgree reports whether a register holds the same value for both kinds.
func registersAgree(from, to ir.Kind) bool {
	switch {
	case from == to:
		return true
	case from.Float() || to.Float() || to == ir.Bool:
		return false
	case from == ir.Bool || from == ir.U32:
		return true
	}
	return from.Width() == to.Width()
}

// castReg converts a scalar in a register.
func (g *gen) castReg(from, to ir.Kind, r asm.Reg) asm.Reg {
	switch {
	case registersAgree(from, to):
		return r
	case to == ir.Bool:
		return g.truth(from, r)
	case from.Float() && to.Float():
		d := g.vec()
		op := asm.VCVTSS2SD
		if to == ir.F32 {
			op = asm.VCVTSD2SS
		}
		g.ins(op, 16, d, r, r)
		return d
	case to.Float():
		return g.intToFloat(from, to, r)
	case from.Float():
		return g.floatToInt(from, to, r)
	case from == ir.I32:
		d := g.gp()
		g.ins(asm.MOVSXD, 8, d, r)
		return d
	}
	d := g.gp()
	g.ins(asm.MOV, 4, d, r)
	return d
}

// truth is whether a scalar is not 0.
func (g *gen) truth(k ir.Kind, r asm.Reg) asm.Reg {
	d := g.gp()
	if !k.Float() {
		size := max(4, int(k.Width()))
		g.ins(asm.TEST, size, 0, r, r)
		g.ins(asm.SETNE, 4, asm.RAX)
	} else {
		z := g.vec()
		g.zero(z, 16)
		g.ins(sized(int(k.Width()), asm.VUCOMISS, asm.VUCOMISD), 16, 0, r, z)
		g.ins(asm.SETP, 4, asm.RCX)
		g.ins(asm.SETNE, 4, asm.RAX)
		g.ins(asm.OR, 4, asm.RAX, asm.RCX)
	}
	g.ins(asm.MOVZX8, 4, d, asm.RAX)
	return d
}

// intToFloat converts an integer in a general register. Unsigned 4-byte integers are converted as signed 8-byte ones.
func (g *gen) intToFloat(from, to ir.Kind, r asm.Reg) asm.Reg {
	op, unsigned := asm.VCVTSI2SS, asm.VCVTUSI2SS
	if to == ir.F64 {
		op, unsigned = asm.VCVTSI2SD, asm.VCVTUSI2SD
	}
	d := g.vec()
	convert := func(d, r asm.Reg, op asm.Op, size int) {
		g.zero(d, 16) // the upper lanes come from d: breaks the dependence on its old value
		g.ins(op, size, d, d, r)
	}
	switch {
	case from == ir.I32 || from == ir.Bool:
		convert(d, r, op, 4)
	case from == ir.U32 || from == ir.I64:
		convert(d, r, op, 8)
	case g.f.AVX512:
		convert(d, r, unsigned, 8)
	default:
		// Where the top bit is set: halved, with the lost bit kept for rounding, and doubled again.
		half := g.gp()
		g.move(half, r)
		g.imm(asm.SHR, 8, half, 1)
		g.ins(asm.MOV, 8, asm.RAX, r)
		g.imm(asm.AND, 4, asm.RAX, 1)
		g.ins(asm.OR, 8, half, asm.RAX)
		small, large, m := g.vec(), g.vec(), g.vec()
		convert(small, r, op, 8)
		convert(large, half, op, 8)
		g.ins(sized(int(to.Width()), asm.VADDSS, asm.VADDSD), 16, large, large, large)
		g.ins(asm.MOV, 8, asm.RAX, r)
		g.imm(asm.SAR, 8, asm.RAX, 63)
		g.ins(asm.VMOVQ, 8, m, asm.RAX)
		return g.blend(int(to.Width()), 16, m, large, small)
	}
	return d
}

// floatToInt truncates a float to an integer.
func (g *gen) floatToInt(from, to ir.Kind, r asm.Reg) asm.Reg {
	w := int(from.Width())
	op, unsigned := sized(w, asm.VCVTTSS2SI, asm.VCVTTSD2SI), sized(w, asm.VCVTTSS2USI, asm.VCVTTSD2USI)
	d := g.gp()
	switch {
	case to == ir.I32:
		g.ins(op, 4, d, r)
	case to == ir.U32:
		g.ins(op, 8, d, r)
		g.ins(asm.MOV, 4, d, d)
	case to == ir.I64:
		g.ins(op, 8, d, r)
	case g.f.AVX512:
		g.ins(unsigned, 8, d, r)
	default:
		// Numbers from 2**63 on are converted minus that.
		top := g.splat(w, 16/w, topBit(w))
		less, large := g.vec(), g.gp()
		g.ins(sized(w, asm.VSUBSS, asm.VSUBSD), 16, less, r, top)
		g.ins(op, 8, d, r)
		g.ins(op, 8, large, less)
		g.imm(asm.MOV, 8, asm.RAX, math.MinInt64)
		g.ins(asm.XOR, 8, large, asm.RAX)
		g.ins(sized(w, asm.VUCOMISS, asm.VUCOMISD), 16, 0, r, top)
		g.ins(asm.CMOVAE, 8, d, large)
	}
	return d
}

// topBit is 2**63 as a float.
func topBit(width int) uint64 {
	if width == 8 {
		return math.Float64bits(1 << 63)
	}
	return uint64(math.Float32bits(1 << 63))
}

// conversion is an instruction for a cast of vectors. Its size is the wider of both.
type conversion struct {
	from, to kinds
	level    level
	op       asm.Op
}

var conversions = []conversion{
	{i32, i64 | u64, sse, asm.VPMOVSXDQ},
	{u32, i64 | u64, sse, asm.VPMOVZXDQ},
	{i64 | u64, i32 | u32, avx512, asm.VPMOVQD},
	{i32, f32, sse, asm.VCVTDQ2PS},
	{i32, f64, sse, asm.VCVTDQ2PD},
	{u32, f32, avx512, asm.VCVTUDQ2PS},
	{u32, f64, avx512, asm.VCVTUDQ2PD},
	{i64, f32, avx512, asm.VCVTQQ2PS},
	{i64, f64, avx512, asm.VCVTQQ2PD},
	{u64, f32, avx512, asm.VCVTUQQ2PS},
	{u64, f64, avx512, asm.VCVTUQQ2PD},
	{f32, i32, sse, asm.VCVTTPS2DQ},
	{f32, u32, avx512, asm.VCVTTPS2UDQ},
	{f32, i64, avx512, asm.VCVTTPS2QQ},
	{f32, u64, avx512, asm.VCVTTPS2UQQ},
	{f64, i32, sse, asm.VCVTTPD2DQ},
	{f64, u32, avx512, asm.VCVTTPD2UDQ},
	{f64, i64, avx512, asm.VCVTTPD2QQ},
	{f64, u64, avx512, asm.VCVTTPD2UQQ},
	{f32, f64, sse, asm.VCVTPS2PD},
	{f64, f32, sse, asm.VCVTPD2PS},
}

// castVector converts the lanes of a vector by value.
func castVector(g *gen, v *ir.Value) asm.Reg {
	a := v.Args[0]
	from, to := a.Kind.Register(), v.Kind.Register()
	size := max(g.size(a), g.size(v))
	for _, c := range conversions {
		if c.from>>from&1 != 0 && c.to>>to&1 != 0 && g.f.has(c.level) {
			r := g.use(a)
			d := g.vec()
			g.ins(c.op, size, d, r)
			return d
		}
	}
	switch {
	case from == to || !from.Float() && !to.Float() && from.Width() == to.Width():
		return same(g, v)
	case to == ir.Bool:
		return g.truthVector(a)
	case from == ir.Bool:
		return g.fromTruth(v)
	case !from.Float() && !to.Float():
		d := g.vec()
		g.resize(d, g.use(a), v.Lanes, 4)
		return d
	case from == ir.U32 && to == ir.F32:
		return g.unsignedToF32(g.use(a), v.Lanes)
	case from == ir.U32 && to == ir.F64:
		r, d := g.use(a), g.vec()
		g.unsignedToF64(d, r, size)
		return d
	case from == ir.F32 && to == ir.U32:
		return g.f32ToUnsigned(g.use(a), v.Lanes)
	case from == ir.F64 && to == ir.U32:
		r, d := g.use(a), g.vec()
		g.f64ToUnsigned(d, r, size)
		return d
	case !from.Float():
		return g.wordsToFloat(g.use(a), from, to, v.Lanes)
	}
	return g.floatToWords(g.use(a), from, to, v.Lanes)
}

// truthVector is the mask of lanes that are not 0.
func (g *gen) truthVector(a *ir.Value) asm.Reg {
	r := g.use(a)
	w := int(a.Kind.Width())
	size := g.size(a)
	zero := g.splat(w, a.Lanes, 0)
	if g.f.AVX512 {
		k := g.fresh(asm.Mask)
		if a.Kind.Float() {
			g.imm(sized(w, asm.VCMPPS, asm.VCMPPD), size, k, notEqual, r, zero)
		} else {
			g.ins(sized(w, asm.VPTESTMD, asm.VPTESTMQ), size, k, r, r)
		}
		return k
	}
	d := g.vec()
	if a.Kind.Float() {
		g.imm(sized(w, asm.VCMPPS, asm.VCMPPD), size, d, notEqual, r, zero)
		return d
	}
	g.ins(sized(w, asm.VPCMPEQD, asm.VPCMPEQQ), size, d, r, zero)
	g.ins(asm.VPXOR, size, d, d, g.splat(w, a.Lanes, ^uint64(0)))
	return d
}

// fromTruth is 1 in true lanes, else 0.
func (g *gen) fromTruth(v *ir.Value) asm.Reg {
	one := uint64(1)
	switch v.Kind {
	case ir.F32:
		one = uint64(math.Float32bits(1))
	case ir.F64:
		one = math.Float64bits(1)
	}
	w := int(v.Kind.Width())
	ones := g.splat(w, v.Lanes, one)
	m := g.mask(v.Args[0], v.Lanes, w)
	d := g.vec()
	if g.f.AVX512 {
		i := g.ins(sized(w, asm.VMOVDQA32, asm.VMOVDQA64), g.size(v), d, ones)
		i.Mask, i.Zero = m, true
		return d
	}
	g.ins(asm.VANDPS, g.size(v), d, m, ones)
	return d
}

// unsignedToF32 converts both halves of the integers exactly, and rounds once in the addition.
func (g *gen) unsignedToF32(r asm.Reg, lanes int) asm.Reg {
	size := vectorSize(lanes, 4)
	hi, lo := g.vec(), g.vec()
	g.imm(asm.VPSRLD, size, hi, 16, r)
	g.ins(asm.VPAND, size, lo, r, g.splat(4, lanes, 0xFFFF))
	g.ins(asm.VCVTDQ2PS, size, hi, hi)
	g.ins(asm.VCVTDQ2PS, size, lo, lo)
	g.ins(asm.VMULPS, size, hi, hi, g.splat(4, lanes, uint64(math.Float32bits(1<<16))))
	g.ins(asm.VADDPS, size, hi, hi, lo)
	return hi
}

// unsignedToF64 puts the integers into the low bits of 2**52 and subtracts that; size is the size of d.
func (g *gen) unsignedToF64(d, r asm.Reg, size int) {
	magic := g.splat(8, size/8, math.Float64bits(1<<52))
	g.ins(asm.VPMOVZXDQ, size, d, r)
	g.ins(asm.VORPS, size, d, d, magic)
	g.ins(asm.VSUBPD, size, d, d, magic)
}

// f64ToUnsigned adds 2**52 to truncated numbers, so their integers are in the low bits; size is the size of r.
func (g *gen) f64ToUnsigned(d, r asm.Reg, size int) {
	t := g.vec()
	g.imm(asm.VROUNDPD, size, t, toZero|exactly, r)
	g.ins(asm.VADDPD, size, t, t, g.splat(8, size/8, math.Float64bits(1<<52)))
	g.resize(d, t, size/8, 4)
}

// f32ToUnsigned converts numbers from 2**31 on minus that, and restores the top bit.
func (g *gen) f32ToUnsigned(r asm.Reg, lanes int) asm.Reg {
	size := vectorSize(lanes, 4)
	top := g.splat(4, lanes, uint64(math.Float32bits(1<<31)))
	m, t, d := g.vec(), g.vec(), g.vec()
	g.imm(asm.VCMPPS, size, m, lessEqual, top, r)
	g.ins(asm.VANDPS, size, t, m, top)
	g.ins(asm.VSUBPS, size, d, r, t)
	g.ins(asm.VCVTTPS2DQ, size, d, d)
	g.imm(asm.VPSLLD, size, m, 31, m)
	g.ins(asm.VPXOR, size, d, d, m)
	return d
}

// roundHalf rounds F32 to the precision of F16.
func roundHalf(g *gen, v *ir.Value) asm.Reg {
	if v.Kind != ir.F16 {
		fail("values of %v are rounded", v.Kind)
	}
	a := g.use(v.Args[0])
	h, d := g.vec(), g.dst(v)
	g.imm(asm.VCVTPS2PH, g.size(v), h, 0, a)
	g.ins(asm.VCVTPH2PS, g.size(v), d, h)
	return d
}

// makeBitcast is the same bits as another kind.
func makeBitcast(g *gen, v *ir.Value) asm.Reg {
	a := v.Args[0]
	if v.Lanes > 1 || a.Kind.Float() == v.Kind.Float() {
		return same(g, v)
	}
	r := g.use(a)
	w := int(v.Kind.Width())
	if a.Kind.Float() {
		return g.toScalar(r, v.Kind)
	}
	d := g.vec()
	g.ins(sized(w, asm.VMOVD, asm.VMOVQ), w, d, r)
	return d
}
