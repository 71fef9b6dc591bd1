package x64

import (
	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// The beginning of the frame is memory for operations that are computed lane by lane.
const (
	areaSize = 64
	// reserved is the size of the areas of the frame: a spare one, the target of gated accesses that must not happen, and four others.
	reserved = 5 * areaSize
)

// spare is the address of the spare area.
func (g *gen) spare() asm.Reg {
	g.reserved = reserved
	return asm.RBP
}

// area is the n-th area, from 1, at a byte offset.
func (g *gen) area(n, byte int) asm.Mem {
	g.reserved = reserved
	return asm.Mem{Base: asm.RBP, Disp: int32(n*areaSize + byte)}
}

// spill writes a vector register to an area.
func (g *gen) spill(n int, r asm.Reg, size int) {
	g.to(asm.VMOVUPS, size, g.area(n, 0), r)
}

// scalarFrom loads a scalar of a register kind.
func (g *gen) scalarFrom(k ir.Kind, m asm.Mem) asm.Reg {
	r := g.fresh(asm.GP)
	switch k {
	case ir.F32:
		r = g.vec()
		g.from(asm.VMOVSS, 16, r, m)
	case ir.F64:
		r = g.vec()
		g.from(asm.VMOVSD, 16, r, m)
	default:
		g.from(asm.MOV, int(k.Width()), r, m)
	}
	return r
}

// scalarTo stores a scalar of a register kind.
func (g *gen) scalarTo(k ir.Kind, m asm.Mem, r asm.Reg) {
	switch k {
	case ir.F32:
		g.to(asm.VMOVSS, 16, m, r)
	case ir.F64:
		g.to(asm.VMOVSD, 16, m, r)
	default:
		g.to(asm.MOV, int(k.Width()), m, r)
	}
}

// lanewise computes a vector lane by lane, for operations with scalar instructions only.
func lanewise(g *gen, v *ir.Value) asm.Reg {
	var args [2]asm.Reg
	for i, a := range v.Args {
		args[i] = g.use(a)
	}
	for i, a := range v.Args {
		if a.Lanes > 1 {
			g.spill(1+i, args[i], g.size(a))
		}
	}
	for l := range v.Lanes {
		var xs [2]asm.Reg
		for i, a := range v.Args {
			xs[i] = args[i]
			if a.Lanes > 1 {
				xs[i] = g.scalarFrom(a.Kind, g.area(1+i, l*int(a.Kind.Width())))
			}
		}
		r := g.laneOf(v, xs)
		g.scalarTo(v.Kind, g.area(3, l*int(v.Kind.Width())), r)
	}
	d := g.vec()
	g.from(asm.VMOVUPS, g.size(v), d, g.area(3, 0))
	return d
}

// laneOf computes one lane.
func (g *gen) laneOf(v *ir.Value, xs [2]asm.Reg) asm.Reg {
	size := int(v.Kind.Width())
	switch v.Op {
	case ir.Div, ir.Mod:
		return g.divideRegs(v.Op, v.Kind, size, xs[0], xs[1])
	case ir.Shl, ir.Shr:
		op := asm.SHL
		if v.Op == ir.Shr {
			op = asm.SHR
			if v.Kind.Signed() {
				op = asm.SAR
			}
		}
		d := g.gp()
		g.move(d, xs[0])
		g.ins(asm.MOV, 4, asm.RCX, xs[1])
		g.ins(op, size, d, asm.RCX)
		return d
	}
	fail("operation %d lane by lane", v.Op)
	return 0
}

// acrossLanes reduces the lanes of a vector of 8-byte integers one after the other.
func acrossLanes(g *gen, v *ir.Value) asm.Reg {
	a := v.Args[0]
	g.spill(1, g.use(a), g.size(a))
	d := g.scalarFrom(a.Kind, g.area(1, 0))
	for l := 1; l < a.Lanes; l++ {
		x := g.scalarFrom(a.Kind, g.area(1, 8*l))
		if v.Op == ir.Product {
			g.ins(asm.IMUL, 8, d, x)
			continue
		}
		c := asm.L
		if !a.Kind.Signed() {
			c = asm.B
		}
		g.ins(asm.CMP, 8, 0, d, x)
		g.ins(c.Cmov(), 8, d, x)
	}
	return d
}
