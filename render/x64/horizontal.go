package x64

import (
	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// spreadLow broadcasts the lowest lane of a vector register.
func (g *gen) spreadLow(d, r asm.Reg, width, size int) {
	switch {
	case g.f.AVX2 && width == 4:
		g.ins(asm.VBROADCASTSS, size, d, r)
	case g.f.AVX2 && size > 16:
		g.ins(asm.VBROADCASTSD, size, d, r)
	case width == 4:
		g.imm(asm.VPSHUFD, 16, d, 0, r)
	default:
		g.ins(asm.VMOVDDUP, 16, d, r)
	}
}

// makeSplat broadcasts a scalar.
func makeSplat(g *gen, v *ir.Value) asm.Reg {
	a := v.Args[0]
	size := g.size(v)
	if v.Kind == ir.Bool {
		return g.maskOf(g.use(a), v.Lanes, g.width(v))
	}
	w := int(v.Kind.Width())
	if g.f.AVX2 && g.foldable(a) {
		g.vals[a.ID].left--
		d := g.vec()
		switch {
		case w == 4:
			g.from(asm.VBROADCASTSS, size, d, g.address(a.At, 0))
		case size > 16:
			g.from(asm.VBROADCASTSD, size, d, g.address(a.At, 0))
		default:
			g.from(asm.VMOVDDUP, size, d, g.address(a.At, 0))
		}
		return d
	}
	r := g.use(a)
	d := g.vec()
	switch {
	case v.Kind.Float():
		g.spreadLow(d, r, w, size)
	case g.f.AVX512:
		g.ins(sized(w, asm.VPBROADCASTD, asm.VPBROADCASTQ), size, d, r)
	default:
		g.ins(sized(w, asm.VMOVD, asm.VMOVQ), w, d, r)
		g.spreadLow(d, d, w, size)
	}
	return d
}

// makeLane is the vector 0, 1, 2, …
func makeLane(g *gen, v *ir.Value) asm.Reg {
	vs := make([]uint64, v.Lanes)
	for i := range vs {
		vs[i] = uint64(i)
	}
	return g.lanesOf(int(v.Kind.Width()), vs)
}

// part128 is a 16-byte part of a vector register.
func (g *gen) part128(r asm.Reg, size, i int) asm.Reg {
	if i == 0 {
		return r
	}
	d := g.vec()
	op := asm.VEXTRACTF32X4
	if !g.f.AVX512 {
		op = asm.VEXTRACTF128
	}
	g.imm(op, size, d, int64(i), r)
	return d
}

// toScalar moves the lowest lane of a vector register to the scalar register of a kind.
func (g *gen) toScalar(r asm.Reg, k ir.Kind) asm.Reg {
	if k.Float() {
		return r
	}
	d := g.gp()
	w := int(k.Width())
	g.ins(sized(w, asm.VMOVD, asm.VMOVQ), w, d, r)
	return d
}

// makeExtract is one lane of a vector.
func makeExtract(g *gen, v *ir.Value) asm.Reg {
	a := v.Args[0]
	i := int(v.Bits)
	if a.Kind == ir.Bool {
		r := g.bits(a)
		d := g.gp()
		g.move(d, r)
		if i > 0 {
			g.imm(asm.SHR, 4, d, int64(i))
		}
		g.imm(asm.AND, 4, d, 1)
		return d
	}
	w := int(a.Kind.Width())
	r := g.part128(g.use(a), g.size(a), i*w/16)
	i %= 16 / w
	d := g.vec()
	switch {
	case i == 0:
		g.move(d, r)
	case w == 4:
		g.imm(asm.VPSHUFD, 16, d, int64(i), r)
	default:
		g.imm(asm.VPSHUFD, 16, d, 0x0E, r)
	}
	return g.toScalar(d, a.Kind)
}

// bits is a vector of bools in the low bits of a general register; the upper bits are 0.
func (g *gen) bits(v *ir.Value) asm.Reg {
	d := g.gp()
	if g.f.AVX512 {
		g.ins(asm.KMOVW, 4, d, g.use(v))
	} else {
		g.ins(sized(g.width(v), asm.VMOVMSKPS, asm.VMOVMSKPD), g.size(v), d, g.use(v))
	}
	g.imm(asm.AND, 4, d, 1<<v.Lanes-1)
	return d
}

// fromBits is a vector of bools from the low bits of a general register, with a lane width.
func (g *gen) fromBits(r asm.Reg, lanes, width int) asm.Reg {
	if g.f.AVX512 {
		k := g.fresh(asm.Mask)
		g.ins(asm.KMOVW, 4, k, r)
		return k
	}
	vs := make([]uint64, lanes)
	for i := range vs {
		vs[i] = 1 << i
	}
	d := g.vec()
	each := g.lanesOf(width, vs)
	size := vectorSize(lanes, width)
	g.ins(sized(width, asm.VMOVD, asm.VMOVQ), width, d, r)
	g.spreadLow(d, d, width, size)
	g.ins(asm.VPAND, size, d, d, each)
	g.ins(sized(width, asm.VPCMPEQD, asm.VPCMPEQQ), size, d, d, each)
	return d
}

// makeInsert is a vector with one lane replaced.
func makeInsert(g *gen, v *ir.Value) asm.Reg {
	a, b := v.Args[0], v.Args[1]
	i := int(v.Bits)
	if v.Kind == ir.Bool {
		d := g.bits(a)
		g.imm(asm.AND, 4, d, int64((1<<v.Lanes-1)&^(1<<i)))
		g.ins(asm.MOV, 4, asm.RAX, g.use(b))
		if i > 0 {
			g.imm(asm.SHL, 4, asm.RAX, int64(i))
		}
		g.ins(asm.OR, 4, d, asm.RAX)
		return g.fromBits(d, v.Lanes, g.width(v))
	}
	w := int(v.Kind.Width())
	size := g.size(v)
	ra, rb := g.use(a), g.use(b)
	s := g.vec()
	if v.Kind.Float() {
		g.spreadLow(s, rb, w, size)
	} else {
		g.ins(sized(w, asm.VMOVD, asm.VMOVQ), w, s, rb)
		g.spreadLow(s, s, w, size)
	}
	if g.f.AVX512 {
		k := g.fresh(asm.Mask)
		g.imm(asm.MOV, 4, asm.RAX, 1<<i)
		g.ins(asm.KMOVW, 4, k, asm.RAX)
		return g.blendMask(v, k, s, ra)
	}
	d := g.vec()
	g.imm(sized(w, asm.VBLENDPS, asm.VBLENDPD), size, d, 1<<i, ra, s)
	return d
}

// makeAnyLane is whether any lane is true.
func makeAnyLane(g *gen, v *ir.Value) asm.Reg {
	r := g.bits(v.Args[0])
	d := g.gp()
	g.ins(asm.TEST, 4, 0, r, r)
	g.ins(asm.SETNE, 4, asm.RAX)
	g.ins(asm.MOVZX8, 4, d, asm.RAX)
	return d
}

// bitsAcross reduces a vector of bools.
func bitsAcross(g *gen, v *ir.Value) asm.Reg {
	r := g.bits(v.Args[0])
	d := g.gp()
	c := asm.NE
	switch v.Op {
	case ir.AndAll, ir.Product:
		g.imm(asm.CMP, 4, 0, int64(1<<v.Args[0].Lanes-1), r)
		c = asm.E
	case ir.XorAll:
		g.ins(asm.POPCNT, 4, d, r)
		g.imm(asm.AND, 4, d, 1)
		return d
	default:
		g.ins(asm.TEST, 4, 0, r, r)
	}
	g.ins(c.Set(), 4, asm.RAX)
	g.ins(asm.MOVZX8, 4, d, asm.RAX)
	return d
}

// across reduces the lanes of a vector, halving until one lane is left.
func across(op asm.Op) maker {
	return func(g *gen, v *ir.Value) asm.Reg {
		a := v.Args[0]
		return g.toScalar(g.halves(a, g.use(a), func(d, x, y asm.Reg, size int) { g.ins(op, size, d, x, y) }), a.Kind)
	}
}

// halves combines the two halves of a vector.
func (g *gen) halves(a *ir.Value, r asm.Reg, combine func(d, x, y asm.Reg, size int)) asm.Reg {
	w := int(a.Kind.Width())
	n := a.Lanes
	for size := g.size(a); n > 1; n /= 2 {
		half, d := g.vec(), g.vec()
		switch n * w {
		case 64:
			g.imm(asm.VEXTRACTF64X4, 64, half, 1, r)
			size = 32
		case 32:
			half = g.part128(r, 32, 1)
			size = 16
		case 16:
			g.imm(asm.VPSHUFD, 16, half, 0x0E, r)
		default:
			g.imm(asm.VPSHUFD, 16, half, 0x01, r)
		}
		combine(d, r, half, size)
		r = d
	}
	return r
}

// highestFloat is the maximum of all lanes, NaN if there is one.
func highestFloat(g *gen, v *ir.Value) asm.Reg {
	a := v.Args[0]
	p := pick{asm.VMAXPS, asm.VMAXPD, asm.VMAXPS, asm.VMAXPD}
	r := g.use(a)
	top := g.halves(a, r, func(d, x, y asm.Reg, size int) { g.ins(p.of(a), size, d, x, y) })
	// The maximum treats NaN by order of operands: NaNs are found separately.
	size := g.size(a)
	cmp := pick{asm.VCMPPS, asm.VCMPPD, asm.VCMPPS, asm.VCMPPD}.of(a)
	bits := g.gp()
	if g.f.AVX512 {
		k := g.fresh(asm.Mask)
		g.imm(cmp, size, k, unordered, r, r)
		g.ins(asm.KMOVW, 4, bits, k)
	} else {
		m := g.vec()
		g.imm(cmp, size, m, unordered, r, r)
		g.ins(sized(int(a.Kind.Width()), asm.VMOVMSKPS, asm.VMOVMSKPD), size, bits, m)
	}
	if a.Lanes < 4 || a.Lanes*int(a.Kind.Width()) < 16 {
		g.imm(asm.AND, 4, bits, 1<<a.Lanes-1)
	}
	// All ones is a NaN: the bits of the maximum are or-ed with 0 or with that.
	g.imm(asm.CMP, 8, 0, 1, bits)
	g.ins(asm.SBB, 8, asm.RAX, asm.RAX)
	g.ins(asm.NOT, 8, asm.RAX)
	m, d := g.vec(), g.vec()
	g.ins(asm.VMOVQ, 8, m, asm.RAX)
	g.ins(asm.VORPS, 16, d, top, m)
	return d
}
