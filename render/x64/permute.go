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

// makeLookup takes numbers from a table of two vectors, or of one if they are equal, for a scalar one in the first lane.
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
	if size > 16 && (size > 32 || width == 4) {
		g.ins(sized(width, asm.VPERMPS, asm.VPERMPD), size, d, g.lanesOf(width, vs), r)
		return d
	}
	// An immediate permutes four parts: of 8 bytes, or of 4, two of which may be a lane.
	op, imm := asm.VPSHUFD, int64(0)
	if size == 32 {
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
