package x64

import (
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
