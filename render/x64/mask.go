package x64

import (
	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// width is the lane width of a vector of bools: that of its operands. (With mask registers it only matters as the size compared.)
func (g *gen) width(v *ir.Value) int {
	s := &g.vals[v.ID]
	if s.width == 0 {
		w := g.findWidth(v)
		g.vals[v.ID].width = int8(w)
		return w
	}
	return int(s.width)
}

func (g *gen) findWidth(v *ir.Value) int {
	switch v.Op {
	case ir.Const, ir.Load, ir.Splat:
		return 4
	case ir.Phi:
		return g.width(g.phis[v].Init)
	case ir.Where:
		if v.Args[1].Op == ir.Const {
			return g.width(v.Args[2])
		}
		return g.width(v.Args[1])
	case ir.Cast:
		if k := v.Args[0].Kind; k != ir.Bool {
			return int(k.Width())
		}
	}
	if len(v.Args) == 0 {
		return 4
	}
	a := v.Args[0]
	if a.Op == ir.Const && len(v.Args) > 1 {
		a = v.Args[1]
	}
	if a.Kind != ir.Bool {
		return int(a.Kind.Width())
	}
	return g.width(a)
}

// useForm is use for values that may be vectors of bools: form is the requested lane width, 0 if v is none.
func (g *gen) useForm(v *ir.Value, form int) asm.Reg {
	g.use(v)
	return g.form(v, form)
}

// form is the register of a computed value in a form.
func (g *gen) form(v *ir.Value, form int) asm.Reg {
	r := g.vals[v.ID].reg
	if form == 0 || form == g.width(v) {
		return r
	}
	if g.vals[v.ID].other == 0 {
		o := g.vec()
		g.in(v.Block, func() { g.resize(o, r, v.Lanes, form) })
		g.vals[v.ID].other = o
	}
	return g.vals[v.ID].other
}

// resize converts lanes of ones and zeros to another width.
func (g *gen) resize(d, r asm.Reg, lanes, to int) {
	if to == 8 {
		g.ins(asm.VPMOVSXDQ, vectorSize(lanes, 8), d, r)
		return
	}
	if lanes*8 <= 16 {
		g.imm(asm.VPSHUFD, 16, d, 0x08, r)
		return
	}
	g.imm(asm.VEXTRACTI128, 32, d, 1, r)
	g.imm(asm.VSHUFPS, 16, d, 0x88, r, d)
}

// mask is a bool as the mask of a vector access or selection with a lane width: a mask register, or lanes of ones. A scalar applies
// to all lanes.
func (g *gen) mask(v *ir.Value, lanes, width int) asm.Reg {
	if v.Lanes == 1 {
		g.use(v)
		return g.spreadBool(v, lanes, width)
	}
	if g.f.AVX512 {
		return g.use(v)
	}
	return g.useForm(v, width)
}

// spreadBool is a computed scalar bool in all lanes, shared by all accesses that it gates.
func (g *gen) spreadBool(v *ir.Value, lanes, width int) asm.Reg {
	n := 0
	if width == 8 && !g.f.AVX512 {
		n = 1
	}
	if g.vals[v.ID].lanes[n] == 0 {
		var m asm.Reg
		g.in(v.Block, func() { m = g.maskOf(g.vals[v.ID].reg, lanes, width) })
		g.vals[v.ID].lanes[n] = m
	}
	return g.vals[v.ID].lanes[n]
}

// maskOf broadcasts a bool in a general register.
func (g *gen) maskOf(r asm.Reg, lanes, width int) asm.Reg {
	g.ins(asm.MOV, 4, asm.RAX, r)
	g.ins(asm.NEG, 4, asm.RAX)
	if g.f.AVX512 {
		k := g.fresh(asm.Mask)
		g.ins(asm.KMOVW, 4, k, asm.RAX)
		return k
	}
	m := g.vec()
	g.ins(asm.VMOVD, 4, m, asm.RAX)
	g.spreadLow(m, m, 4, vectorSize(lanes, width))
	return m
}

// blendMask is t where k is set, else f.
func (g *gen) blendMask(v *ir.Value, k, t, f asm.Reg) asm.Reg {
	op := pick{asm.VBLENDMPS, asm.VBLENDMPD, asm.VBLENDMPS, asm.VBLENDMPD}.of(v)
	if v.Kind.Width() == 8 {
		op = asm.VBLENDMPD
	}
	d := g.dst(v)
	g.ins(op, g.size(v), d, f, t).Mask = k
	return d
}

// blend is t where the lanes of m are ones, else f.
func (g *gen) blend(width, size int, m, t, f asm.Reg) asm.Reg {
	d := g.vec()
	switch {
	case g.f.AVX2 && width == 8:
		g.ins(asm.VBLENDVPD, size, d, f, t, m)
	case g.f.AVX2:
		g.ins(asm.VBLENDVPS, size, d, f, t, m)
	default:
		// The instruction of SSE4 has its mask in XMM0.
		g.ins(asm.VANDPS, size, d, t, m)
		o := g.vec()
		g.ins(asm.VANDNPS, size, o, m, f)
		g.ins(asm.VORPS, size, d, d, o)
	}
	return d
}

// chooseMask selects between vectors by a mask register.
func chooseMask(g *gen, v *ir.Value) asm.Reg {
	c, t, f := v.Args[0], v.Args[1], v.Args[2]
	if v.Kind == ir.Bool {
		k, a, b := g.use(c), g.use(t), g.use(f)
		x, d := g.fresh(asm.Mask), g.fresh(asm.Mask)
		g.ins(asm.KANDNW, 8, x, k, b)
		g.ins(asm.KANDW, 8, d, k, a)
		g.ins(asm.KORW, 8, d, d, x)
		return d
	}
	if g.maskable(t) {
		return g.maskedOp(v)
	}
	if f.Op == ir.Const && f.Bits == 0 {
		g.vals[f.ID].left--
		ot := g.operand(t)
		k := g.mask(c, v.Lanes, int(v.Kind.Width()))
		d := g.dst(v)
		op := asm.VMOVAPS
		switch {
		case ot.bcast && v.Kind.Width() == 8:
			op, ot.bcast = asm.VBROADCASTSD, false
		case ot.bcast:
			op, ot.bcast = asm.VBROADCASTSS, false
		case v.Kind.Width() == 8 && ot.reg == 0:
			op = asm.VMOVUPD
		case v.Kind.Width() == 8:
			op = asm.VMOVAPD
		case ot.reg == 0:
			op = asm.VMOVUPS
		}
		i := with(g.ins(op, g.size(v), d), ot)
		i.Mask, i.Zero = k, true
		return d
	}
	rt, rf := g.use(t), g.use(f)
	k := g.mask(c, v.Lanes, int(v.Kind.Width()))
	return g.blendMask(v, k, rt, rf)
}

// chooseLanes selects between vectors by lanes of ones.
func chooseLanes(g *gen, v *ir.Value) asm.Reg {
	c, t, f := v.Args[0], v.Args[1], v.Args[2]
	if v.Kind == ir.Bool {
		w := g.width(v)
		rt, rf := g.useForm(t, w), g.useForm(f, w)
		return g.blend(w, g.size(v), g.mask(c, v.Lanes, w), rt, rf)
	}
	rt, rf := g.use(t), g.use(f)
	w := int(v.Kind.Width())
	return g.blend(w, g.size(v), g.mask(c, v.Lanes, w), rt, rf)
}

// masking are the operations with a single instruction that can be masked.
var masking = map[ir.Op]bool{
	ir.Add: true, ir.Sub: true, ir.Mul: true, ir.Div: true, ir.Neg: true, ir.Abs: true, ir.MaxSS: true, ir.MinSS: true,
	ir.Sqrt: true, ir.And: true, ir.Or: true, ir.Xor: true, ir.AndNot: true, ir.Shl: true, ir.Shr: true,
	ir.Trunc: true, ir.Round: true, ir.Floor: true,
}

// maskable reports whether v can be computed by a masked instruction that preserves the other lanes.
func (g *gen) maskable(v *ir.Value) bool {
	return g.f.AVX512 && v.Lanes > 1 && v.Kind != ir.Bool && masking[v.Op] && g.only(v)
}

// maskedOp selects between a value without other uses and another: the last instruction of the first becomes a masked one, on a copy
// of the second.
func (g *gen) maskedOp(v *ir.Value) asm.Reg {
	c, t, f := v.Args[0], v.Args[1], v.Args[2]
	k := g.mask(c, v.Lanes, int(v.Kind.Width()))
	zero := f.Op == ir.Const && f.Bits == 0
	if !zero {
		g.need(f)
	}
	from := len(g.cur.out)
	r := g.use(t)
	g.vals[f.ID].left--
	rf := g.vals[f.ID].reg
	last := asm.Inst{Op: asm.VMOVAPS, Size: uint8(g.size(v)), Src: [3]asm.Reg{r}}
	if v.Kind.Width() == 8 {
		last.Op = asm.VMOVAPD
	}
	if n := len(g.cur.out) - 1; n >= from && g.byElement(&g.cur.out[n], v) && g.cur.out[n].Dst == r {
		last = g.cur.out[n]
		g.cur.out = g.cur.out[:n]
	}
	last.Dst, last.Mask, last.Zero = rf, k, zero
	if zero {
		last.Dst = g.vec()
	} else if !g.lastUse(f) {
		last.Dst = g.vec()
		g.move(last.Dst, rf)
	}
	g.cur.out = append(g.cur.out, last)
	return last.Dst
}

// byElement reports whether an instruction's mask selects lanes of v's width, and it writes nothing else.
func (g *gen) byElement(i *asm.Inst, v *ir.Value) bool {
	if i.Mask != 0 || i.ReadsDst() || i.Op == asm.MOVE || i.Stores() {
		return false
	}
	return elementOps[i.Op] == int(v.Kind.Width())
}

// elementOps are instructions with the width of their elements.
var elementOps = func() map[asm.Op]int {
	m := map[asm.Op]int{}
	for _, p := range [][2]asm.Op{
		{asm.VADDPS, asm.VADDPD}, {asm.VSUBPS, asm.VSUBPD}, {asm.VMULPS, asm.VMULPD}, {asm.VDIVPS, asm.VDIVPD}, {asm.VMAXPS, asm.VMAXPD},
		{asm.VMINPS, asm.VMINPD}, {asm.VSQRTPS, asm.VSQRTPD}, {asm.VRNDSCALEPS, asm.VRNDSCALEPD}, {asm.VPADDD, asm.VPADDQ},
		{asm.VPSUBD, asm.VPSUBQ}, {asm.VPMULLD, asm.VPMULLQ}, {asm.VPABSD, asm.VPABSQ}, {asm.VPSLLD, asm.VPSLLQ}, {asm.VPROLD, asm.VPROLQ},
		{asm.VPSRLD, asm.VPSRLQ}, {asm.VPSRAD, asm.VPSRAQ}, {asm.VPSLLVD, asm.VPSLLVQ}, {asm.VPSRLVD, asm.VPSRLVQ}, {asm.VPSRAVD, asm.VPSRAVQ},
		{asm.VPANDD, asm.VPANDQ}, {asm.VPORD, asm.VPORQ}, {asm.VPXORD, asm.VPXORQ}, {asm.VPANDND, asm.VPANDNQ},
	} {
		m[p[0]], m[p[1]] = 4, 8
	}
	m[asm.VXORPS], m[asm.VANDPS] = 4, 4
	return m
}()

// predicates of comparisons of integers with mask registers.
var predicates = map[ir.Op]int64{ir.Equal: 0, ir.Less: 1, ir.LessEqual: 2, ir.NotEqual: 4}

// compareMask compares vectors into a mask register.
func compareMask(g *gen, v *ir.Value) asm.Reg {
	var op asm.Op
	switch v.Args[0].Kind.Register() {
	case ir.F32:
		op = asm.VCMPPS
	case ir.F64:
		op = asm.VCMPPD
	case ir.I32:
		op = asm.VPCMPD
	case ir.U32:
		op = asm.VPCMPUD
	case ir.I64:
		op = asm.VPCMPQ
	default:
		op = asm.VPCMPUQ
	}
	a := g.use(v.Args[0])
	b := g.operand(v.Args[1])
	d := g.fresh(asm.Mask)
	with(g.imm(op, g.size(v.Args[0]), d, predicates[v.Op], a), b)
	return d
}

// compareLanes compares vectors into lanes of ones and zeros.
func compareLanes(g *gen, v *ir.Value) asm.Reg {
	x, y := v.Args[0], v.Args[1]
	size := g.size(x)
	a := g.use(x)
	d := g.vec()
	if x.Kind.Float() {
		b := g.operand(y)
		op := asm.VCMPPS
		if x.Kind == ir.F64 {
			op = asm.VCMPPD
		}
		with(g.imm(op, size, d, predicates[v.Op], a), b)
		return d
	}
	b := g.use(y)
	eq, gt := asm.VPCMPEQD, asm.VPCMPGTD
	width := int(x.Kind.Width())
	if width == 8 {
		eq, gt = asm.VPCMPEQQ, asm.VPCMPGTQ
	}
	if (v.Op == ir.Less || v.Op == ir.LessEqual) && !x.Kind.Signed() {
		a, b = g.flip(a, width, x.Lanes), g.flip(b, width, x.Lanes)
	}
	switch v.Op {
	case ir.Equal, ir.NotEqual:
		g.ins(eq, size, d, a, b)
	case ir.Less:
		g.ins(gt, size, d, b, a)
	case ir.LessEqual:
		g.ins(gt, size, d, a, b)
	}
	if v.Op == ir.NotEqual || v.Op == ir.LessEqual {
		g.ins(asm.VPXOR, size, d, d, g.splat(width, x.Lanes, ^uint64(0)))
	}
	return d
}

// flip flips the sign bits, so comparisons of signed numbers order unsigned ones.
func (g *gen) flip(r asm.Reg, width, lanes int) asm.Reg {
	d := g.vec()
	g.ins(asm.VPXOR, vectorSize(lanes, width), d, r, g.splat(width, lanes, 1<<(8*width-1)))
	return d
}

// logicOps are operations on vectors of bools: with mask registers, with lanes of ones. And-not instructions complement their
// first source.
var logicOps = map[ir.Op]struct {
	k, v     asm.Op
	swap     bool // exchange the sources
	negative bool // the complement
}{
	ir.And:       {asm.KANDW, asm.VANDPS, false, false},
	ir.Mul:       {asm.KANDW, asm.VANDPS, false, false},
	ir.Or:        {asm.KORW, asm.VORPS, false, false},
	ir.Add:       {asm.KORW, asm.VORPS, false, false},
	ir.Max:       {asm.KORW, asm.VORPS, false, false},
	ir.MaxSS:     {asm.KORW, asm.VORPS, false, false},
	ir.Xor:       {asm.KXORW, asm.VXORPS, false, false},
	ir.Sub:       {asm.KXORW, asm.VXORPS, false, false},
	ir.NotEqual:  {asm.KXORW, asm.VXORPS, false, false},
	ir.Equal:     {asm.KXORW, asm.VXORPS, false, true},
	ir.Less:      {asm.KANDNW, asm.VANDNPS, false, false},
	ir.AndNot:    {asm.KANDNW, asm.VANDNPS, true, false},
	ir.LessEqual: {asm.KANDNW, asm.VANDNPS, true, true},
}

// isNotOfLoad reports whether a vector of bools is the complement of a load that nothing else uses.
func (g *gen) isNotOfLoad(v *ir.Value) bool {
	a, b := v.Args[0], v.Args[1]
	return g.f.AVX512 && v.Op == ir.Xor && v.Kind == ir.Bool && b.Op == ir.Const && b.Bits == 1 && a.Op == ir.Load && a.Pos == 0 && g.only(a) &&
		a.At.Buf.Kind == ir.Bool && a.At.Gate == nil && a.At.Index == nil && a.At.Stride == 1 && a.Lanes == 16
}

// loadNot loads the complement of bools: which of their bytes are 0.
func (g *gen) loadNot(v *ir.Value) asm.Reg {
	g.vals[v.ID].left--
	m, zero, d := g.address(v.At, 0), g.splat(4, 4, 0), g.fresh(asm.Mask)
	g.from(asm.VPCMPEQB, 16, d, m, zero)
	return d
}

// logic combines vectors of bools.
func logic(g *gen, v *ir.Value) asm.Reg {
	o := logicOps[v.Op]
	if g.f.AVX512 {
		a, b := g.use(v.Args[0]), g.use(v.Args[1])
		if o.swap {
			a, b = b, a
		}
		d := g.fresh(asm.Mask)
		g.ins(o.k, 8, d, a, b)
		if o.negative {
			g.ins(asm.KNOTW, 8, d, d)
		}
		return d
	}
	w := g.width(v)
	a, b := g.useForm(v.Args[0], w), g.useForm(v.Args[1], w)
	if o.swap {
		a, b = b, a
	}
	d := g.vec()
	g.ins(o.v, g.size(v), d, a, b)
	if o.negative {
		g.ins(asm.VXORPS, g.size(v), d, d, g.splat(w, v.Lanes, ^uint64(0)))
	}
	return d
}
