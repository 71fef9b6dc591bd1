package x64

import (
	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// gatherOps and scatterOps by the width of the index and of the elements, 4 and 8.
var (
	gatherOps  = [2][2]asm.Op{{asm.VGATHERDPS, asm.VGATHERDPD}, {asm.VGATHERQPS, asm.VGATHERQPD}}
	scatterOps = [2][2]asm.Op{{asm.VSCATTERDPS, asm.VSCATTERDPD}, {asm.VSCATTERQPS, asm.VSCATTERQPD}}
)

// vectorAddress is the operand for lanes at non-contiguous addresses, and the width of its index.
func (g *gen) vectorAddress(at *ir.Place, lanes int) (asm.Mem, int) {
	m := g.address(at, 0)
	if m.Index != 0 {
		m = g.lea(m)
	}
	w := 4
	if at.Index != nil {
		m.Index = g.use(at.Index)
		w = int(at.Index.Kind.Width())
	} else {
		vs := make([]uint64, lanes)
		for i := range vs {
			vs[i] = uint64(int64(i) * at.Stride)
		}
		m.Index = g.lanesOf(4, vs)
	}
	m.Scale = uint8(at.Buf.Kind.Size())
	return m, w
}

// gather loads a vector of non-contiguous elements.
func (g *gen) gather(v *ir.Value) asm.Reg {
	at := v.At
	m, iw := g.vectorAddress(at, v.Lanes)
	w := int(v.Kind.Width())
	op := gatherOps[log2(int64(iw))-2][log2(int64(w))-2]
	size := vectorSize(v.Lanes, max(iw, w))
	d := g.vec()
	if at.Gate == nil {
		g.zero(d, g.size(v))
	} else if alt := v.Args[0]; alt.Op == ir.Const && alt.Bits == 0 {
		g.vals[alt.ID].left--
		g.zero(d, g.size(v))
	} else {
		g.move(d, g.use(alt))
	}
	k := g.gatherMask(at, v.Lanes, w)
	g.from(op, size, d, m).Mask = k
	return d
}

// gatherMask is a new register with the mask of lanes: the instruction clears it.
func (g *gen) gatherMask(at *ir.Place, lanes, w int) asm.Reg {
	k := g.fresh(asm.Mask)
	if at.Gate == nil {
		g.move(k, g.allOpen())
	} else {
		g.move(k, g.mask(at.Gate, lanes, w))
	}
	return k
}

// allOpen is a mask register of ones to copy from: the instruction that sets a mask register to ones depends on its old value, so that each gather
// would wait for the previous one.
func (g *gen) allOpen() asm.Reg {
	if g.open == 0 {
		g.open = g.fresh(asm.Mask)
		g.in(g.k.Root, func() { g.ins(asm.KXNORW, 8, g.open, g.open, g.open) })
	}
	return g.open
}

// scatter stores a vector to non-contiguous elements, in lane order.
func (g *gen) scatter(at *ir.Place, val *ir.Value) {
	r := g.use(val)
	m, iw := g.vectorAddress(at, val.Lanes)
	w := int(val.Kind.Width())
	op := scatterOps[log2(int64(iw))-2][log2(int64(w))-2]
	k := g.gatherMask(at, val.Lanes, w)
	g.to(op, vectorSize(val.Lanes, max(iw, w)), m, r).Mask = k
}

// laneAccess is the state of a vector access that is done lane by lane.
type laneAccess struct {
	g     *gen
	at    *ir.Place
	base  asm.Mem
	index asm.Reg
	part  asm.Reg // the 16 bytes of the index that have the current lane
	pair  asm.Reg // two lanes of 4 bytes of the index, in a general register
	gate  asm.Reg // bits
	plain bool    // a scalar gate
}

// laneAccess prepares an access. Loads behind closed gates take index 0 if that is always allowed.
func (g *gen) laneAccess(at *ir.Place, loads bool) laneAccess {
	a := laneAccess{g: g, at: at, base: g.address(at, 0)}
	zeroed := false // the index, where the gate is closed
	if at.Index != nil {
		if a.base.Index != 0 {
			a.base = g.lea(a.base)
		}
		a.index = g.use(at.Index)
		if zeroed = loads && at.Gate != nil && at.Gate.Lanes > 1 && !g.f.AVX512 && g.zeroIsInside(at); zeroed {
			open, d := g.useForm(at.Gate, int(at.Index.Kind.Width())), g.vec()
			g.ins(asm.VPAND, g.size(at.Index), d, a.index, open)
			a.index = d
		}
	}
	switch {
	case zeroed:
	case at.Gate == nil:
	case at.Gate.Lanes == 1:
		a.gate, a.plain = g.use(at.Gate), true
	default:
		a.gate = g.bits(at.Gate)
	}
	return a
}

// zeroIsInside reports whether the element of index 0 is in the buffer whatever the gate says.
func (g *gen) zeroIsInside(at *ir.Place) bool {
	low, high, items := at.Off, at.Off, int64(0)
	for _, t := range at.Terms {
		most := int64(0)
		switch {
		case t.V.Op == ir.First: // plus the iterator of the loop over the work items it is an item of the kernel
			most = g.k.Items - 1
			items -= t.Coef
		case t.V.Op != ir.Iter:
			return false
		case t.V.Loop.Count.Op == ir.Items:
			items += t.Coef
		case t.V.Loop.Count.Op == ir.Const:
			most = ir.ConstInt(t.V.Loop.Count) - 1
		default:
			return false
		}
		low += min(t.Coef*most, 0)
		high += max(t.Coef*most, 0)
	}
	return items == 0 && low >= 0 && high < at.Buf.Size
}

// indexOf is the index of a lane; lanes are asked for in order.
func (a *laneAccess) indexOf(i int) asm.Reg {
	g, w := a.g, int(a.at.Index.Kind.Width())
	if w == 4 && i%2 == 1 {
		g.imm(asm.SAR, 8, a.pair, 32)
		return a.pair
	}
	if i*w%16 == 0 {
		a.part = g.part128(a.index, g.size(a.at.Index), i*w/16)
	} else {
		d := g.vec()
		g.imm(asm.VPSHUFD, 16, d, 0x0E, a.part)
		a.part = d
	}
	x := g.gp()
	g.ins(asm.VMOVQ, 8, x, a.part)
	if w == 8 {
		return x
	}
	a.pair = x
	low := g.gp()
	g.ins(asm.MOVSXD, 8, low, x)
	return low
}

// lane is the address of a lane, or that of the spare area if its gate is closed.
func (a *laneAccess) lane(i int) asm.Mem {
	g := a.g
	m := a.base
	if a.at.Index == nil {
		m = g.plus(m, int64(i)*a.at.Stride*a.at.Buf.Kind.Size())
	} else {
		m.Index, m.Scale = a.indexOf(i), uint8(a.at.Buf.Kind.Size())
	}
	if a.gate == 0 {
		return m
	}
	t := g.gp()
	g.from(asm.LEA, 8, t, m)
	if a.plain {
		g.ins(asm.TEST, 4, 0, a.gate, a.gate)
		g.ins(asm.CMOVE, 8, t, g.spare())
	} else {
		g.imm(asm.BT, 4, 0, int64(i), a.gate)
		g.ins(asm.CMOVAE, 8, t, g.spare())
	}
	return asm.Mem{Base: t}
}

// loadLanes loads a vector lane by lane: elements of 4 and 8 bytes into registers, which are then put together, others into the third
// area. Without AVX-512, that takes half of the time of the instructions that gather.
func (g *gen) loadLanes(v *ir.Value) asm.Reg {
	a := g.laneAccess(v.At, true)
	k := v.At.Buf.Kind
	w := accessWidth(k)
	reg := v.Kind.Register()
	if k == ir.Bool {
		reg = ir.U32
	}
	var d asm.Reg
	if g.whole(v) {
		d = g.collect(&a, v.Lanes, w)
	} else {
		d = g.vec()
		for i := range v.Lanes {
			g.scalarTo(reg, g.area(3, i*w), g.scalarOf(k, a.lane(i)))
		}
		g.from(asm.VMOVUPS, vectorSize(v.Lanes, w), d, g.area(3, 0))
	}
	if k == ir.Bool {
		d = g.boolLanes(d, v.Lanes)
	}
	if v.At.Gate == nil {
		return d
	}
	if g.f.AVX512 {
		return g.orAlternativeMask(v, a, d)
	}
	var mask asm.Reg
	if a.plain {
		mask = g.spreadBool(v.At.Gate, v.Lanes, w)
	} else {
		mask = g.form(v.At.Gate, w)
	}
	return g.orAlternative(v, mask, d)
}

// collect loads lanes of 4 or 8 bytes and joins them, two registers at a time.
func (g *gen) collect(a *laneAccess, lanes, width int) asm.Reg {
	rs := make([]asm.Reg, lanes)
	for i := range rs {
		rs[i] = g.vec()
		g.from(sized(width, asm.VMOVSS, asm.VMOVSD), 16, rs[i], a.lane(i))
	}
	for bytes := width; len(rs) > 1; bytes *= 2 {
		for i := 0; i < len(rs); i += 2 {
			d := g.vec()
			switch bytes {
			case 4:
				g.ins(asm.VUNPCKLPS, 16, d, rs[i], rs[i+1])
			case 8:
				g.ins(asm.VUNPCKLPD, 16, d, rs[i], rs[i+1])
			default:
				g.imm(asm.VINSERTF128, 32, d, 1, rs[i], rs[i+1])
			}
			rs[i/2] = d
		}
		rs = rs[:len(rs)/2]
	}
	return rs[0]
}

// boolLanes turns 4-byte lanes of 0 or 1 into a vector of bools.
func (g *gen) boolLanes(r asm.Reg, lanes int) asm.Reg {
	size := vectorSize(lanes, 4)
	if g.f.AVX512 {
		k := g.fresh(asm.Mask)
		g.ins(asm.VPTESTMD, size, k, r, r)
		return k
	}
	d := g.vec()
	g.ins(asm.VPSUBD, size, d, g.splat(4, lanes, 0), r)
	return d
}

// orAlternativeMask is orAlternative with mask registers.
func (g *gen) orAlternativeMask(v *ir.Value, a laneAccess, d asm.Reg) asm.Reg {
	var k asm.Reg
	if a.plain {
		k = g.spreadBool(v.At.Gate, v.Lanes, 4)
	} else {
		k = g.vals[v.At.Gate.ID].reg
	}
	alt := g.use(v.Args[0])
	if v.Kind == ir.Bool {
		open, shut, out := g.fresh(asm.Mask), g.fresh(asm.Mask), g.fresh(asm.Mask)
		g.ins(asm.KANDW, 8, open, k, d)
		g.ins(asm.KANDNW, 8, shut, k, alt)
		g.ins(asm.KORW, 8, out, open, shut)
		return out
	}
	return g.blendMask(v, k, d, alt)
}

// storeLanes stores a vector lane by lane from the third area.
func (g *gen) storeLanes(at *ir.Place, val *ir.Value) {
	k := at.Buf.Kind
	w := accessWidth(k)
	reg := val.Kind.Register()
	r := g.useForm(val, g.formAt(val))
	size := vectorSize(val.Lanes, w)
	if k == ir.Bool {
		reg = ir.U32
		d := g.vec()
		ones := g.splat(4, val.Lanes, 1)
		if g.f.AVX512 {
			i := g.ins(asm.VMOVDQA32, size, d, ones)
			i.Mask, i.Zero = r, true
		} else {
			g.ins(asm.VPAND, size, d, r, ones)
		}
		r = d
	}
	g.spill(3, r, size)
	a := g.laneAccess(at, false)
	for i := range val.Lanes {
		m := a.lane(i)
		g.storeReg(k, m, g.scalarFrom(reg, g.area(3, i*w)))
	}
}
