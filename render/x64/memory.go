package x64

import (
	"math"
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
	"polygrad/render/x64/asm"
)

// load reads a scalar or a vector.
func (g *gen) load(v *ir.Value) asm.Reg {
	at := v.At
	switch {
	case v.Lanes == 1:
		return g.loadScalar(v)
	case at.Index == nil && at.Stride == 1:
		return g.loadNeighbours(v)
	case at.Index == nil && at.Stride == 0 && at.Gate == nil:
		return g.loadSame(v)
	case at.Index == nil && at.Gate == nil && at.Stride == -1 && fills(v):
		return g.loadReversed(v)
	case at.Index == nil && at.Gate == nil && (at.Stride == 2 || at.Stride == -2) && fills(v), at.Index == nil && at.Stride == 2 && g.f.AVX512 && g.whole(v):
		return g.loadPairs(v)
	case g.whole(v) && g.f.AVX512:
		return g.gather(v)
	}
	return g.loadLanes(v)
}

// fills reports whether the elements of a vector fill a register once they are loaded, at least the smallest.
func fills(v *ir.Value) bool {
	k := v.At.Buf.Kind
	return k != ir.Bool && v.Lanes*int(k.Width()) >= 16
}

// whole reports whether the elements fill a register in memory, too: they are not widened by the load.
func (g *gen) whole(v *ir.Value) bool { return v.At.Buf.Kind.Size() >= 4 && fills(v) }

// loadScalar loads a scalar. A gate selects the address of the alternative instead of branching.
func (g *gen) loadScalar(v *ir.Value) asm.Reg {
	m := g.address(v.At, 0)
	switch at := g.updates[v]; {
	case at != nil:
		g.vals[v.Args[0].ID].left--
		g.gated[at] = g.orSpare(m, at.Gate)
		m = asm.Mem{Base: g.gated[at]}
	case v.At.Gate != nil:
		m = g.orElse(v, m)
	}
	return g.scalarOf(v.At.Buf.Kind, m)
}

// orSpare is the address m, or that of the spare area if a scalar gate is closed.
func (g *gen) orSpare(m asm.Mem, gate *ir.Value) asm.Reg {
	t := g.gp()
	g.from(asm.LEA, 8, t, m)
	g.ins(g.test(gate).Not().Cmov(), 8, t, g.spare())
	return t
}

// findUpdates finds the loads whose only use is a store to the same place with the same scalar gate: the value loaded while the gate is closed is
// arbitrary, since it is not stored. Scalars share one address for the load and the store.
func (g *gen) findUpdates(b *ir.Block) {
	for _, it := range b.Items {
		if it.Store == nil || it.Store.At.Gate == nil || it.Store.At.Gate.Lanes > 1 {
			continue
		}
		at, vector := it.Store.At, it.Store.Val.Lanes > 1
		if vector && (g.f.AVX512 || at.Stride != 1) || !vector && aliases4K(at, b) {
			continue
		}
		if v := g.updated(stored(it.Store), at, b); v != nil && v.Lanes == it.Store.Val.Lanes {
			g.updates[v] = at
			if !vector {
				g.vals[at.Gate.ID].left--
			}
		}
	}
}

// aliases4K reports whether the addresses of indirect accesses in a block are multiples of a quarter of a page apart (4K aliasing): a load waits
// for an earlier store with the same offset in another page, once the address of that is known.
func aliases4K(at *ir.Place, b *ir.Block) bool {
	const quarterPage = 1 << 10
	return slices.ContainsFunc(at.Terms, func(t ir.Term) bool {
		return t.V.Block == b && t.V.Op != ir.Iter && t.Coef*at.Buf.Kind.Size()%quarterPage == 0
	})
}

// updated finds the load from the place of a store among the values that only the store needs, nil if there is none.
func (g *gen) updated(v *ir.Value, at *ir.Place, b *ir.Block) *ir.Value {
	if s := &g.vals[v.ID]; s.left != 1 || s.shared || v.Block != b {
		return nil
	}
	if v.Op == ir.Load {
		l := v.At
		if l.Gate == at.Gate && l.Buf == at.Buf && l.Off == at.Off && g.places.planned[l] == g.places.planned[at] &&
			l.Index == nil && l.Stride == at.Stride && v.Args[0].Op == ir.Const {
			return v
		}
		return nil
	}
	for _, a := range v.Args {
		if found := g.updated(a, at, b); found != nil {
			return found
		}
	}
	return nil
}

// orElse is the address m, or that of a scalar load's alternative where its gate is closed.
func (g *gen) orElse(v *ir.Value, m asm.Mem) asm.Mem {
	alt := v.Args[0]
	k := v.At.Buf.Kind
	var other asm.Mem
	if alt.Op == ir.Const {
		g.vals[alt.ID].left--
		other = g.pool.word(8, memoryBits(k, alt.Bits))
	} else {
		other = g.area(1, 0)
		g.storeReg(k, other, g.use(alt))
	}
	t, o := g.gp(), g.gp()
	g.from(asm.LEA, 8, t, m)
	g.from(asm.LEA, 8, o, other)
	c := g.test(v.At.Gate)
	g.ins(c.Not().Cmov(), 8, t, o)
	return asm.Mem{Base: t}
}

// memoryBits is a constant in memory format of its kind.
func memoryBits(k ir.Kind, bits uint64) uint64 {
	if k == ir.F16 {
		return uint64(uop.FloatToHalf(float64(math.Float32frombits(uint32(bits)))))
	}
	return bits
}

// scalarOf loads an element of a kind into its register format.
func (g *gen) scalarOf(k ir.Kind, m asm.Mem) asm.Reg {
	op := asm.MOV
	switch k {
	case ir.Bool, ir.U8, ir.E4M3, ir.E5M2:
		op = asm.MOVZX8
	case ir.I8:
		op = asm.MOVSX8
	case ir.U16, ir.BF16:
		op = asm.MOVZX16
	case ir.I16:
		op = asm.MOVSX16
	case ir.F16:
		r := g.vec()
		g.from(asm.MOVZX16, 4, asm.RAX, m)
		g.ins(asm.VMOVD, 4, r, asm.RAX)
		g.ins(asm.VCVTPH2PS, 16, r, r)
		return r
	case ir.F32, ir.F64:
		return g.scalarFrom(k, m)
	}
	r := g.gp()
	g.from(op, max(4, int(k.Size())), r, m)
	return r
}

// storeReg stores a scalar register as an element of a kind.
func (g *gen) storeReg(k ir.Kind, m asm.Mem, r asm.Reg) {
	switch {
	case k == ir.F16:
		h := g.vec()
		g.imm(asm.VCVTPS2PH, 16, h, 0, r)
		g.ins(asm.VMOVD, 4, asm.RAX, h)
		g.to(asm.MOV16, 4, m, asm.RAX)
	case k == ir.F32 || k == ir.F64:
		g.scalarTo(k, m, r)
	case k.Size() == 1:
		g.to(asm.MOV8, 4, m, r)
	case k.Size() == 2:
		g.to(asm.MOV16, 4, m, r)
	default:
		g.to(asm.MOV, int(k.Size()), m, r)
	}
}

// loadOps load contiguous elements and widen them to lanes: with masks, without.
var loadOps = map[ir.Kind]asm.Op{
	ir.I8: asm.VPMOVSXBD, ir.U8: asm.VPMOVZXBD, ir.I16: asm.VPMOVSXWD, ir.U16: asm.VPMOVZXWD, ir.F16: asm.VCVTPH2PS,
	ir.I32: asm.VMOVUPS, ir.U32: asm.VMOVUPS, ir.F32: asm.VMOVUPS,
	ir.I64: asm.VMOVUPD, ir.U64: asm.VMOVUPD, ir.F64: asm.VMOVUPD,
}

// accessWidth is the width of the lanes of a gate for an access to elements of a kind.
func accessWidth(k ir.Kind) int { return max(4, int(k.Size())) }

// loadNeighbours loads contiguous elements into a vector.
func (g *gen) loadNeighbours(v *ir.Value) asm.Reg {
	at := v.At
	k := at.Buf.Kind
	w := accessWidth(k)
	switch bytes := v.Lanes * int(k.Size()); {
	case at.Gate == nil:
		return g.neighbours(k, v.Lanes, g.address(at, 0))
	case g.f.AVX512 && k == ir.Bool && v.Lanes >= 8:
		return g.loadBools(v)
	case g.f.AVX512 && k != ir.Bool && bytes >= 4 && v.Lanes*w >= 16:
		mask := g.mask(at.Gate, v.Lanes, w)
		m := g.within(at, mask, v.Lanes)
		d, shut := g.alternative(v)
		i := g.from(loadOps[k], g.size(v), d, m)
		i.Mask, i.Zero = mask, shut
		return d
	case g.updates[v] != nil:
		g.vals[v.Args[0].ID].left--
		return g.neighbours(k, v.Lanes, asm.Mem{Base: g.orSpare(g.address(at, 0), at.Gate)})
	case g.f.AVX2 && !g.f.AVX512 && g.whole(v):
		mask := g.mask(at.Gate, v.Lanes, w)
		m := g.within(at, mask, v.Lanes)
		d := g.vec()
		g.from(sized(w, asm.VMASKMOVPS, asm.VMASKMOVPD), g.size(v), d, m, mask)
		if alt := v.Args[0]; alt.Op == ir.Const && alt.Bits == 0 {
			g.vals[alt.ID].left--
			return d
		}
		return g.orAlternative(v, mask, d)
	case !g.f.AVX512 && at.Gate.Lanes == 1:
		// The value loaded for a closed gate is unused: the address only has to be valid.
		m := g.address(at, 0)
		gate := g.use(at.Gate)
		mask := g.spreadBool(at.Gate, v.Lanes, w)
		t := g.gp()
		g.from(asm.LEA, 8, t, m)
		g.ins(asm.TEST, 4, 0, gate, gate)
		g.ins(asm.CMOVE, 8, t, g.spare())
		d := g.neighbours(k, v.Lanes, asm.Mem{Base: t})
		return g.orAlternative(v, mask, d)
	}
	return g.loadLanes(v)
}

// within is the address of a masked load, or that of the spare area if all lanes are masked off: the address may then be far outside of the buffer,
// and processors take hundreds of cycles for a masked load from an unmapped page, even if it loads nothing.
func (g *gen) within(at *ir.Place, mask asm.Reg, lanes int) asm.Mem {
	m := g.address(at, 0)
	w := accessWidth(at.Buf.Kind)
	if opensFirst(at.Gate) || opensLast(at.Gate, lanes) || lanes*w > areaSize {
		return m
	}
	t := g.gp()
	g.from(asm.LEA, 8, t, m)
	switch {
	case at.Gate.Lanes == 1:
		gate := g.vals[at.Gate.ID].reg
		g.ins(asm.TEST, 4, 0, gate, gate)
	default:
		open := g.gp()
		if g.f.AVX512 {
			g.ins(asm.KMOVW, 4, open, mask)
		} else {
			g.ins(sized(w, asm.VMOVMSKPS, asm.VMOVMSKPD), vectorSize(lanes, w), open, mask)
		}
		g.ins(asm.TEST, 4, 0, open, open)
	}
	g.ins(asm.CMOVE, 8, t, g.spare())
	g.masksSpare = true
	return asm.Mem{Base: t}
}

// opensFirst reports whether a gate masks off the lanes beyond the end of a row, lane < n: at least the first lane is open.
func opensFirst(gate *ir.Value) bool { return gate.Op == ir.Less && gate.Args[0].Op == ir.Lane }

// opensLast reports whether a gate masks off the lanes before the beginning of a row, c < first + lane with first >= 0: at least the last lane is
// open.
func opensLast(gate *ir.Value, lanes int) bool {
	if gate.Op != ir.Less || gate.Lanes == 1 || gate.Args[0].Op != ir.Const || ir.ConstInt(gate.Args[0]) >= int64(lanes-1) {
		return false
	}
	at := gate.Args[1]
	return at.Op == ir.Add && at.Args[1].Op == ir.Lane && counts(at.Args[0])
}

// counts reports whether a value is a loop's iterator times a factor that is not negative.
func counts(v *ir.Value) bool {
	switch v.Op {
	case ir.Iter:
		return true
	case ir.Splat, ir.Cast:
		return counts(v.Args[0])
	case ir.Mul:
		return v.Args[1].Op == ir.Const && ir.ConstInt(v.Args[1]) >= 0 && counts(v.Args[0])
	}
	return false
}

// alternative is a new register with the alternative of a gated load; shut if the alternative is 0, so that the load itself can zero the masked
// lanes.
func (g *gen) alternative(v *ir.Value) (d asm.Reg, shut bool) {
	alt := v.Args[0]
	if alt.Op == ir.Const && alt.Bits == 0 {
		g.vals[alt.ID].left--
		return g.vec(), true
	}
	g.use(alt)
	return g.overwriting(alt), false
}

// orAlternative is d where a gate is open, else the alternative of a load: d is arbitrary there.
func (g *gen) orAlternative(v *ir.Value, mask, d asm.Reg) asm.Reg {
	alt := v.Args[0]
	w := accessWidth(v.At.Buf.Kind)
	if alt.Op == ir.Const && alt.Bits == 0 {
		g.vals[alt.ID].left--
		out := g.vec()
		g.ins(asm.VANDPS, g.size(v), out, d, mask)
		return out
	}
	return g.blend(w, g.size(v), mask, d, g.useForm(alt, g.formOf(v)))
}

// neighbours loads contiguous elements, and no byte more.
func (g *gen) neighbours(k ir.Kind, lanes int, m asm.Mem) asm.Reg {
	d := g.vec()
	size := vectorSize(lanes, accessWidth(k))
	bytes := lanes * int(k.Size())
	switch {
	case k == ir.Bool:
		return g.boolsFrom(lanes, m)
	case bytes == size || k.Size() < 4 && lanes >= 4:
		g.from(loadOps[k], size, d, m)
	default:
		g.small(d, bytes, m)
		if k.Size() < 4 {
			g.ins(loadOps[k], size, d, d)
		}
	}
	return d
}

// small loads 2, 4, 8 or 16 bytes into a vector register.
func (g *gen) small(d asm.Reg, bytes int, m asm.Mem) {
	switch bytes {
	case 2:
		g.from(asm.MOVZX16, 4, asm.RAX, m)
		g.ins(asm.VMOVD, 4, d, asm.RAX)
	case 4:
		g.from(asm.VMOVSS, 16, d, m)
	case 8:
		g.from(asm.VMOVSD, 16, d, m)
	case 16:
		g.from(asm.VMOVUPS, 16, d, m)
	default:
		fail("a vector of %d bytes", bytes)
	}
}

// boolsFrom loads contiguous bools.
func (g *gen) boolsFrom(lanes int, m asm.Mem) asm.Reg {
	d := g.vec()
	if g.f.AVX512 {
		g.small(d, lanes, m)
		k := g.fresh(asm.Mask)
		g.ins(asm.VPTESTMB, 16, k, d, d)
		return k
	}
	if lanes >= 4 {
		g.from(asm.VPMOVZXBD, vectorSize(lanes, 4), d, m)
	} else {
		g.small(d, lanes, m)
		g.ins(asm.VPMOVZXBD, 16, d, d)
	}
	out := g.vec()
	g.ins(asm.VPSUBD, vectorSize(lanes, 4), out, g.splat(4, lanes, 0), d)
	return out
}

// loadBools loads contiguous bools with a gate into a mask register.
func (g *gen) loadBools(v *ir.Value) asm.Reg {
	m := g.address(v.At, 0)
	gate := g.mask(v.At.Gate, v.Lanes, 4)
	few := g.fresh(asm.Mask)
	g.ins(asm.KMOVW, 8, few, gate)
	if v.Lanes == 8 {
		g.ins(asm.KMOVB, 8, few, gate)
	}
	x, k := g.vec(), g.fresh(asm.Mask)
	i := g.from(asm.VMOVDQU8, 16, x, m)
	i.Mask, i.Zero = few, true
	g.ins(asm.VPTESTMB, 16, k, x, x)
	if alt := v.Args[0]; alt.Op != ir.Const || alt.Bits != 0 {
		o := g.fresh(asm.Mask)
		g.ins(asm.KANDNW, 8, o, gate, g.use(alt))
		g.ins(asm.KORW, 8, k, k, o)
	} else {
		g.vals[alt.ID].left--
	}
	return k
}

// loadSame broadcasts one element to all lanes.
func (g *gen) loadSame(v *ir.Value) asm.Reg {
	k := v.At.Buf.Kind
	m := g.address(v.At, 0)
	size := g.size(v)
	w := accessWidth(k)
	if k == ir.Bool {
		return g.maskOf(g.scalarOf(k, m), v.Lanes, 4)
	}
	d := g.vec()
	if g.f.AVX2 && k.Size() >= 4 {
		switch {
		case w == 4:
			g.from(asm.VBROADCASTSS, size, d, m)
		case size > 16:
			g.from(asm.VBROADCASTSD, size, d, m)
		default:
			g.from(asm.VMOVDDUP, 16, d, m)
		}
		return d
	}
	r := g.scalarOf(k, m)
	if r.Class() == asm.GP {
		g.ins(sized(w, asm.VMOVD, asm.VMOVQ), w, d, r)
		r = d
	}
	g.spreadLow(d, r, w, size)
	return d
}

// loadReversed loads contiguous elements in reverse order of lanes.
func (g *gen) loadReversed(v *ir.Value) asm.Reg {
	first := -int64(v.Lanes-1) * v.At.Buf.Kind.Size()
	return g.reversed(g.neighbours(v.At.Buf.Kind, v.Lanes, g.address(v.At, first)), v)
}

// reversed is a register of the lanes of a value in reverse order.
func (g *gen) reversed(r asm.Reg, v *ir.Value) asm.Reg {
	vs := make([]uint64, v.Lanes)
	for i := range vs {
		vs[i] = uint64(v.Lanes - 1 - i)
	}
	return g.permute(r, int(v.Kind.Width()), g.size(v), vs)
}

// loadPairs loads every second element, in reverse order if the stride is negative: two vectors, the second of which ends at the last element needed.
func (g *gen) loadPairs(v *ir.Value) asm.Reg {
	w := int(v.Kind.Width())
	n := v.Lanes
	at, first := v.At, int64(0)
	apart := int64(n-1) * at.Buf.Kind.Size()
	vs := make([]uint64, n)
	for i := range vs {
		vs[i] = uint64(2 * i)
		if 2*i >= n {
			vs[i]++ // lane n of the second vector is element n-1
		}
	}
	reverse := at.Stride < 0
	if reverse {
		first = at.Stride * apart
		slices.Reverse(vs)
	}
	join := func(x, y asm.Reg) asm.Reg {
		d := g.vec()
		if !g.f.AVX512 {
			// In each half of 16 bytes the even elements of x and the odd ones of y, then the halves of both side by side.
			places := int64(0xD8)
			if w == 8 {
				places = 0xE4
			}
			g.imm(asm.VSHUFPS, g.size(v), d, places, x, y)
			if g.size(v) > 16 {
				g.imm(asm.VPERMPD, g.size(v), d, 0xD8, d)
			}
			if reverse {
				return g.reversed(d, v)
			}
			return d
		}
		g.move(d, x)
		g.ins(sized(w, asm.VPERMT2PS, asm.VPERMT2PD), g.size(v), d, g.lanesOf(w, vs), y)
		return d
	}
	if at.Gate == nil {
		k, last := at.Buf.Kind, first+apart
		return join(g.neighbours(k, n, g.address(at, first)), g.neighbours(k, n, g.address(at, last)))
	}
	mask := g.mask(at.Gate, n, w)
	m := g.within(at, mask, n)
	bits := g.gp()
	g.ins(asm.KMOVW, 4, bits, mask)
	half := func(places uint64, m asm.Mem) asm.Reg {
		among, to, k, d := g.gp(), g.gp(), g.fresh(asm.Mask), g.vec()
		g.number(among, places)
		g.ins(asm.PDEP, 4, to, bits, among)
		g.ins(asm.KMOVW, 4, k, to)
		i := g.from(loadOps[at.Buf.Kind], g.size(v), d, m)
		i.Mask, i.Zero = k, true
		return d
	}
	x := half(0x5555, m)
	g.imm(asm.SHR, 4, bits, int64(n/2))
	d := join(x, half(0xAAAA, g.plus(m, apart)))
	if alt := v.Args[0]; alt.Op == ir.Const && alt.Bits == 0 {
		g.vals[alt.ID].left--
		return d
	}
	return g.blendMask(v, mask, d, g.use(v.Args[0]))
}
