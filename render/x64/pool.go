package x64

import (
	"encoding/binary"
	"math/bits"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// pool is the constants of a kernel in memory.
type pool struct{ coder *asm.Coder }

// mem is the operand for a constant, aligned to its size.
func (p pool) mem(data []byte) asm.Mem {
	return asm.Mem{Pool: p.coder.Pool(data, len(data))}
}

// word is a constant of 4 or 8 bytes.
func (p pool) word(width int, v uint64) asm.Mem {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return p.mem(b[:width])
}

// words is a vector of constants, at least 16 bytes.
func (p pool) words(width int, vs []uint64) asm.Mem {
	var b []byte
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, v)[:len(b)+width]
	}
	for len(b) < 16 {
		b = append(b, 0)
	}
	return p.mem(b)
}

func log2(c int64) int64 { return int64(bits.TrailingZeros64(uint64(c))) }

// makeConst is a constant in a register.
func (g *gen) makeConst(v *ir.Value) asm.Reg {
	r := g.fresh(g.class(v))
	g.constant(v, r, g.formOf(v))
	return r
}

// constant loads a constant into a register; form is the lane width of a vector of bools.
func (g *gen) constant(v *ir.Value, r asm.Reg, form int) {
	switch {
	case r.Class() == asm.GP:
		g.number(r, v.Bits)
	case r.Class() == asm.Mask:
		op := asm.KXORW
		if v.Bits != 0 {
			op = asm.KXNORW
		}
		g.ins(op, 8, r, r, r)
	case v.Lanes == 1 && v.Bits == 0:
		g.zero(r, 16)
	case v.Lanes == 1 && v.Kind == ir.F64:
		g.from(asm.VMOVSD, 16, r, g.pool.word(8, v.Bits))
	case v.Lanes == 1:
		g.from(asm.VMOVSS, 16, r, g.pool.word(4, v.Bits))
	case v.Kind == ir.Bool:
		g.spread(r, form, v.Lanes, -v.Bits)
	default:
		g.spread(r, int(v.Kind.Width()), v.Lanes, v.Bits)
	}
}

// number loads an integer into a general register and preserves the flags.
func (g *gen) number(r asm.Reg, v uint64) {
	if v <= 1<<32-1 {
		g.imm(asm.MOV, 4, r, int64(v))
		return
	}
	g.imm(asm.MOV, 8, r, int64(v))
}

// zero clears a vector register.
func (g *gen) zero(r asm.Reg, size int) {
	g.ins(asm.VXORPS, size, r, r, r)
}

// splat is a constant in all lanes, in a new register.
func (g *gen) splat(width, lanes int, v uint64) asm.Reg {
	key := splatKey{width, lanes, v}
	if width == 4 {
		key.v = uint64(uint32(v))
	}
	r := g.splats[key]
	if r == 0 {
		r = g.vec()
		g.splats[key] = r
		g.in(g.k.Root, func() { g.spread(r, width, lanes, v) })
	}
	return r
}

type splatKey struct {
	width, lanes int
	v            uint64
}

// spread broadcasts a constant to all lanes of a vector register.
func (g *gen) spread(r asm.Reg, width, lanes int, v uint64) {
	size := vectorSize(lanes, width)
	switch {
	case v == 0:
		g.zero(r, size)
	case !g.f.AVX2:
		vs := make([]uint64, 16/width)
		for i := range vs {
			vs[i] = v
		}
		g.from(asm.VMOVAPS, 16, r, g.pool.words(width, vs))
	case width == 4:
		g.from(asm.VBROADCASTSS, size, r, g.pool.word(4, v))
	case size == 16:
		g.from(asm.VMOVDDUP, size, r, g.pool.word(8, v))
	default:
		g.from(asm.VBROADCASTSD, size, r, g.pool.word(8, v))
	}
}

// lanesOf is a vector of different constants.
func (g *gen) lanesOf(width int, vs []uint64) asm.Reg {
	m := g.pool.words(width, vs)
	r := g.vectors[m.Pool]
	if r == 0 {
		r = g.vec()
		g.vectors[m.Pool] = r
		g.in(g.k.Root, func() { g.from(asm.VMOVAPS, max(16, len(vs)*width), r, m) })
	}
	return r
}
