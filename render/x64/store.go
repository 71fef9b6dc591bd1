package x64

import (
	"math/bits"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// store writes a scalar or a vector.
func (g *gen) store(s *ir.Store) {
	at, val := s.At, stored(s)
	g.ready(val)
	g.readyPlace(at)
	switch {
	case val.Lanes == 1:
		g.storeScalar(at, val)
	case at.Index == nil && at.Stride == 1 && g.storeNeighbours(at, val):
	case g.f.AVX512 && at.Buf.Kind != ir.Bool && at.Buf.Kind.Size() >= 4 && g.size(val) == val.Lanes*int(val.Kind.Width()):
		g.scatter(at, val)
	default:
		g.storeLanes(at, val)
	}
}

// stored is the value that a store needs: for a narrow integer only the low bits, so a Narrow before it is skipped.
func stored(s *ir.Store) *ir.Value {
	v, k := s.Val, s.At.Buf.Kind
	bits := uint64(8 * k.Size())
	for k != ir.Bool && !k.Float() && bits < 32 {
		switch x := v.Args; {
		case v.Op == ir.And && x[1].Op == ir.Const && x[1].Bits&(1<<bits-1) == 1<<bits-1:
			v = x[0]
		case v.Op == ir.Shr && x[0].Op == ir.Shl && x[1].Op == ir.Const && x[0].Args[1].Op == ir.Const &&
			x[0].Args[1].Bits == x[1].Bits && x[1].Bits+bits <= 32:
			v = x[0].Args[0]
		default:
			return v
		}
	}
	return v
}

// storeScalar stores a scalar, to the spare area if its gate is closed.
func (g *gen) storeScalar(at *ir.Place, val *ir.Value) {
	k := at.Buf.Kind
	if c, ok := g.storedConst(k, val); ok && at.Gate == nil {
		op := asm.MOV
		switch k.Size() {
		case 1:
			op = asm.MOV8
		case 2:
			op = asm.MOV16
		}
		i := g.to(op, max(4, int(k.Size())), g.address(at, 0))
		i.Imm = c
		return
	}
	r := g.use(val)
	m := asm.Mem{Base: g.gated[at]}
	if m.Base == 0 {
		m = g.address(at, 0)
		if at.Gate != nil {
			m = asm.Mem{Base: g.orSpare(m, at.Gate)}
		}
	}
	g.storeReg(k, m, r)
}

// storedConst is a constant that fits into a store instruction.
func (g *gen) storedConst(k ir.Kind, val *ir.Value) (int64, bool) {
	if k.Float() {
		return 0, false
	}
	c, ok := g.immediate(val)
	if k.Size() < 4 {
		c &= 1<<(8*k.Size()) - 1
	}
	return c, ok
}

// storeNeighbours stores a vector to contiguous elements if there are instructions for that.
func (g *gen) storeNeighbours(at *ir.Place, val *ir.Value) bool {
	k := at.Buf.Kind
	lanes := val.Lanes
	w := accessWidth(k)
	size := vectorSize(lanes, w)
	bytes := lanes * int(k.Size())
	whole := k != ir.Bool && k.Size() >= 4 && bytes >= 16
	// Without AVX512 many processors take more than ten cycles for a masked store: the first lanes are stored in parts, and all lanes behind
	// one gate go to the spare area.
	masked := g.f.AVX512 && (whole || lanes >= 8) || g.f.AVX2 && whole && (at.Gate == nil || at.Gate.Lanes > 1)
	if lanes < 4 && k.Size() < 4 || at.Gate != nil && at.Gate.Lanes > 1 && !masked {
		return false
	}
	r := g.useForm(val, g.formAt(val))
	if k == ir.Bool {
		r = g.boolBytes(r, lanes)
	}
	m := g.address(at, 0)
	if n := firstLanes(at.Gate); n > 0 && whole && !g.f.AVX512 {
		g.need(at.Gate)
		g.vals[at.Gate.ID].left--
		g.storeFirst(m, r, size, n*w)
		return true
	}
	var gate asm.Reg
	switch {
	case at.Gate == nil:
	case masked:
		gate = g.mask(at.Gate, lanes, w)
	default:
		t := g.gp()
		g.from(asm.LEA, 8, t, m)
		g.ins(g.test(at.Gate).Not().Cmov(), 8, t, g.spare())
		m = asm.Mem{Base: t}
	}
	switch {
	case k == ir.Bool && g.f.AVX512:
		g.storeBytes(m, r, lanes, gate)
	case whole && gate != 0 && !g.f.AVX512:
		g.to(sized(w, asm.VMASKMOVPS, asm.VMASKMOVPD), size, m, gate, r)
	case whole && at.Stream && at.Gate == nil:
		// Non-temporal stores, to addresses aligned to the vector.
		g.streams = true
		g.to(asm.VMOVNTPS, size, m, r)
	case whole:
		g.to(sized(w, asm.VMOVUPS, asm.VMOVUPD), size, m, r).Mask = gate
	case k == ir.F16:
		g.to(asm.VCVTPS2PH, size, m, r).Mask = gate
	case k.Size() >= 4:
		g.to(asm.VMOVSD, 16, m, r)
	case g.f.AVX512 && k.Size() == 1:
		g.to(asm.VPMOVDB, size, m, r).Mask = gate
	case g.f.AVX512:
		g.to(asm.VPMOVDW, size, m, r).Mask = gate
	default:
		g.storeNarrow(m, r, lanes, int(max(k.Size(), 1)))
	}
	return true
}

// firstLanes is how many lanes, from the first, a gate of several lanes opens, 0 if it is not of that kind.
func firstLanes(gate *ir.Value) int {
	if gate == nil || gate.Lanes == 1 || !opensFirst(gate) || gate.Args[1].Op != ir.Const {
		return 0
	}
	return int(min(ir.ConstInt(gate.Args[1]), int64(gate.Lanes)))
}

// storeFirst stores the first bytes of a vector register, a multiple of 4, in parts of 16, 8 and 4.
func (g *gen) storeFirst(m asm.Mem, r asm.Reg, size, bytes int) {
	for bytes >= 4 {
		part := min(1<<(bits.Len(uint(bytes))-1), size)
		if part == 32 {
			g.to(asm.VMOVUPS, 32, m, r)
			return
		}
		g.smallTo(m, r, part)
		m.Disp += int32(part)
		if bytes -= part; bytes == 0 {
			return
		}
		if part == 16 {
			r = g.part128(r, size, 1)
			continue
		}
		high := g.vec()
		g.imm(asm.VPSHUFD, 16, high, 0x0E, r)
		r = high
	}
}

// formAt is the form of bools for a store: lanes of 4 bytes where there are no mask registers.
func (g *gen) formAt(val *ir.Value) int {
	if val.Kind == ir.Bool && !g.f.AVX512 {
		return 4
	}
	return 0
}

// boolBytes turns a vector of bools into numbers 0 and 1: bytes with mask registers, else lanes of 4 bytes.
func (g *gen) boolBytes(r asm.Reg, lanes int) asm.Reg {
	d := g.vec()
	if g.f.AVX512 {
		i := g.ins(asm.VMOVDQU8, 16, d, g.splat(4, 4, 0x01010101))
		i.Mask, i.Zero = r, true
		return d
	}
	g.ins(asm.VPAND, vectorSize(lanes, 4), d, r, g.splat(4, lanes, 1))
	return d
}

// storeBytes stores the low byte of each lane.
func (g *gen) storeBytes(m asm.Mem, r asm.Reg, lanes int, gate asm.Reg) {
	if gate != 0 {
		few := g.fresh(asm.Mask)
		g.ins(asm.KMOVW, 8, few, gate)
		if lanes == 8 {
			g.ins(asm.KMOVB, 8, few, gate)
		}
		g.to(asm.VMOVDQU8, 16, m, r).Mask = few
		return
	}
	g.smallTo(m, r, lanes)
}

// smallTo stores the low 4, 8 or 16 bytes of a vector register.
func (g *gen) smallTo(m asm.Mem, r asm.Reg, bytes int) {
	switch bytes {
	case 4:
		g.to(asm.VMOVSS, 16, m, r)
	case 8:
		g.to(asm.VMOVSD, 16, m, r)
	case 16:
		g.to(asm.VMOVUPS, 16, m, r)
	default:
		fail("a vector of %d bytes", bytes)
	}
}

// storeNarrow stores the low 1 or 2 bytes of 4-byte lanes: packed within each 16 bytes, then across them.
func (g *gen) storeNarrow(m asm.Mem, r asm.Reg, lanes, width int) {
	pattern := make([]byte, 16)
	for i := range pattern {
		pattern[i] = 0x80 // zeroes the byte
		if i < 4*width {
			pattern[i] = byte(i/width*4 + i%width)
		}
	}
	shuffle := g.pool.mem(pattern)
	s := g.vec()
	g.from(asm.VMOVAPS, 16, s, shuffle)
	lo := g.vec()
	g.ins(asm.VPSHUFB, 16, lo, r, s)
	if lanes*4 > 16 {
		hi := g.part128(r, 32, 1)
		h := g.vec()
		g.ins(asm.VPSHUFB, 16, h, hi, s)
		d := g.vec()
		op := asm.VPUNPCKLDQ
		if width == 2 {
			op = asm.VPUNPCKLQDQ
		}
		g.ins(op, 16, d, lo, h)
		lo = d
	}
	g.smallTo(m, lo, lanes*width)
}
