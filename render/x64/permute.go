package x64

import (
	"math"
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// makeSpread is a permutation of the lanes of a vector.
func makeSpread(g *gen, v *ir.Value) asm.Reg {
	vs := make([]uint64, v.Lanes)
	for i := range vs {
		vs[i] = v.Bits >> (4 * i) & 15
	}
	return g.permute(g.use(v.Args[0]), int(v.Kind.Width()), g.size(v), vs)
}

// makeShiftLanes moves the lanes of a vector up or down.
func makeShiftLanes(g *gen, v *ir.Value) asm.Reg {
	from, size, width := g.use(v.Args[0]), g.size(v), int(v.Kind.Width())
	switch by := int64(v.Bits) * int64(width); {
	case by == 16:
		return g.halvesOf(0, g.splat(width, v.Lanes, 0), from)
	case by == -16:
		return g.halvesOf(1, from, g.splat(width, v.Lanes, 0))
	case by > 0:
		d := g.vec()
		g.imm(asm.VPSLLDQ, size, d, by, from)
		return d
	default:
		d := g.vec()
		g.imm(asm.VPSRLDQ, size, d, -by, from)
		return d
	}
}

// makeLookup looks numbers up in a table of two vectors, or of one if both are equal; a scalar is looked up in the first lane.
func makeLookup(g *gen, v *ir.Value) asm.Reg {
	table := ir.Table(v.Bits)
	vs := make([]uint64, len(table))
	for i, x := range table {
		vs[i] = uint64(math.Float32bits(x))
	}
	d, which := g.vec(), g.use(v.Args[0])
	if v.Lanes == 1 {
		first := g.vec()
		g.ins(asm.VMOVD, 4, first, which)
		which = first
	}
	if half := len(vs) / 2; slices.Equal(vs[:half], vs[half:]) {
		g.ins(asm.VPERMPS, 64, d, which, g.lanesOf(4, vs[:half]))
		return d
	}
	g.move(d, g.lanesOf(4, vs[:len(vs)/2]))
	g.ins(asm.VPERMT2PS, 64, d, which, g.lanesOf(4, vs[len(vs)/2:]))
	return d
}

// permute is a register with lanes vs of r.
func (g *gen) permute(r asm.Reg, width, size int, vs []uint64) asm.Reg {
	d := g.vec()
	within := isInLane(width, vs)
	if size > 16 && !within && (size > 32 || width == 4) {
		g.ins(sized(width, asm.VPERMPS, asm.VPERMPD), size, d, g.lanesOf(width, vs), r)
		return d
	}
	// An immediate permutes four parts of 8 or of 4 bytes; a lane of 8 bytes may be two parts of 4.
	op, imm := asm.VPSHUFD, int64(0)
	switch {
	case within:
		vs = vs[:16/width]
	case size == 32:
		op, width = asm.VPERMQ, 4
	}
	parts := width / 4
	for i, v := range vs {
		for j := range parts {
			imm |= (int64(v)*int64(parts) + int64(j)) << (2 * (i*parts + j))
		}
	}
	g.imm(op, size, d, imm, r)
	return d
}

// isInLane reports whether a permutation stays within each 128-bit lane, and is the same in all: such instructions are faster.
func isInLane(width int, vs []uint64) bool {
	n := 16 / width
	for i, v := range vs {
		if v/uint64(n) != uint64(i/n) || v%uint64(n) != vs[i%n] {
			return false
		}
	}
	return len(vs) >= n
}

// makeInterleave takes the lanes of several vectors in turn.
func makeInterleave(g *gen, v *ir.Value) asm.Reg {
	n, width, lanes := len(v.Args), int(v.Kind.Width()), v.Lanes
	size := vectorSize(lanes, width)
	rs := make([]asm.Reg, n)
	for i, a := range v.Args {
		rs[i] = g.use(a)
	}
	first := int(v.Bits) * lanes
	switch d := g.vec(); {
	case n == 2 && lanes*width < 16:
		g.ins(asm.VUNPCKLPS, 16, d, rs[0], rs[1])
		if first > 0 {
			high := g.vec()
			g.imm(asm.VPSHUFD, 16, high, 0x0E, d)
			return high
		}
		return d
	case n == 2 && size == 16:
		op := sized(width, asm.VUNPCKLPS, asm.VUNPCKLPD)
		if first > 0 {
			op = sized(width, asm.VUNPCKHPS, asm.VUNPCKHPD)
		}
		g.ins(op, size, d, rs[0], rs[1])
		return d
	case n == 2 && !g.f.AVX512:
		for _, t := range g.transposed[v.Args[0]] {
			if slices.Equal(t.rows, v.Args) {
				return t.columns[v.Bits]
			}
		}
		rs = g.unpack(rs, size, sized(width, asm.VUNPCKLPS, asm.VUNPCKLPD), sized(width, asm.VUNPCKHPS, asm.VUNPCKHPD))
		lo, hi := g.swapHalves(rs[0], rs[1])
		both := []asm.Reg{lo, hi}
		g.transposed[v.Args[0]] = append(g.transposed[v.Args[0]], transposed{v.Args, both})
		return both[v.Bits]
	}
	lanesFrom := func(s int, other func(i int) uint64) []uint64 {
		vs := make([]uint64, lanes)
		for i := range vs {
			if vs[i] = other(i); (first+i)%n == s {
				vs[i] = uint64((first + i) / n)
			}
		}
		return vs
	}
	if !g.f.AVX512 || size == 16 {
		d := g.permute(rs[0], width, size, lanesFrom(0, func(int) uint64 { return 0 }))
		for s := 1; s < n; s++ {
			from, next := g.permute(rs[s], width, size, lanesFrom(s, func(int) uint64 { return 0 })), g.vec()
			blend := int64(0)
			for i := range lanes {
				if (first+i)%n == s {
					blend |= 1 << i
				}
			}
			g.ins(sized(width, asm.VBLENDPS, asm.VBLENDPD), size, next, d, from).Imm = blend
			d = next
		}
		return d
	}
	d := rs[0]
	for s := 1; s < n; s++ {
		vs := lanesFrom(s, func(i int) uint64 {
			if s == 1 {
				return uint64((first + i) / n)
			}
			return uint64(i) // stays in place
		})
		for i := range vs {
			if (first+i)%n == s {
				vs[i] += uint64(lanes)
			}
		}
		next := g.vec()
		g.move(next, d)
		g.ins(sized(width, asm.VPERMT2PS, asm.VPERMT2PD), size, next, g.lanesOf(width, vs), rs[s])
		d = next
	}
	return d
}
