package x64

import (
	"math"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// pick chooses an operation by kind and form.
type pick struct{ ss, sd, ps, pd asm.Op }

func (p pick) of(v *ir.Value) asm.Op {
	switch {
	case v.Kind == ir.F64 && v.Lanes == 1:
		return p.sd
	case v.Kind == ir.F64:
		return p.pd
	case v.Lanes == 1:
		return p.ss
	}
	return p.ps
}

// fused is a fused multiply-add. Of the three forms of the instruction (op is the first, the others follow in the table after those
// for other types) it takes one that overwrites a dying argument.
func fused(op132 asm.Op) maker {
	op213 := op132 + asm.VFMADD213PS - asm.VFMADD132PS
	op231 := op132 + asm.VFMADD231PS - asm.VFMADD132PS
	return func(g *gen, v *ir.Value) asm.Reg {
		a, b, c := v.Args[0], v.Args[1], v.Args[2]
		size := g.size(v)
		if c != a && c != b && g.inMemory(c) && !g.inMemory(a) && !g.inMemory(b) {
			g.use(a)
			rb := g.use(b)
			oc := g.operand(c)
			if !g.lastUse(a) && g.lastUse(b) {
				a, rb = b, g.vals[a.ID].reg
			}
			d := g.overwriting(a)
			with(g.ins(op213, size, d, rb), oc)
			return d
		}
		if a != b && g.inMemory(a) && !g.inMemory(b) {
			a, b = b, a
		}
		ra := g.use(a)
		ob := g.operand(b)
		rc := g.use(c)
		switch {
		case g.lastUse(c) || !g.lastUse(a) && (ob.reg == 0 || !g.lastUse(b)):
			d := g.overwriting(c)
			with(g.ins(op231, size, d, ra), ob)
			return d
		case g.lastUse(a) && ra != rc:
			d := g.overwriting(a)
			with(g.ins(op132, size, d, rc), ob)
			return d
		}
		d := g.overwriting(b)
		g.ins(op132, size, d, rc, ra)
		return d
	}
}

// maxFloat is the maximum, NaN if either number is. The instruction gives its second source if one is NaN.
func maxFloat(op asm.Op) maker {
	return func(g *gen, v *ir.Value) asm.Reg {
		a, b := v.Args[0], v.Args[1]
		if isNumber(a) {
			a, b = b, a
		}
		if isNumber(b) {
			return g.two(op, v, b, a)
		}
		ra, rb := g.use(a), g.use(b)
		t := g.dst(v)
		if t == ra || t == rb {
			t = g.vec() // b is still needed
		}
		g.ins(op, g.size(v), t, rb, ra)
		return g.keepNaN(v, t, rb)
	}
}

// keepNaN replaces lanes of t by those of b that are NaN.
func (g *gen) keepNaN(v *ir.Value, t, b asm.Reg) asm.Reg {
	size := g.size(v)
	cmp := pick{asm.VCMPSS, asm.VCMPSD, asm.VCMPPS, asm.VCMPPD}.of(v)
	if g.f.AVX512 {
		k := g.fresh(asm.Mask)
		g.imm(cmp, size, k, unordered, b, b)
		mov := asm.VMOVAPS
		if v.Kind == ir.F64 {
			mov = asm.VMOVAPD
		}
		g.ins(mov, size, t, b).Mask = k
		return t
	}
	m := g.vec()
	g.imm(cmp, size, m, unordered, b, b)
	return g.blend(int(v.Kind.Width()), size, m, b, t)
}

// isNumber reports whether v is a constant that is not NaN.
func isNumber(v *ir.Value) bool {
	if v.Op != ir.Const {
		return false
	}
	if v.Kind == ir.F64 {
		return !math.IsNaN(math.Float64frombits(v.Bits))
	}
	return !math.IsNaN(float64(math.Float32frombits(uint32(v.Bits))))
}

// The predicates of comparisons of floats.
const (
	equal     = 0
	less      = 1
	lessEqual = 2
	unordered = 3
	notEqual  = 4
	notLess   = 5
)

// Rounding modes.
const (
	toNearest = 0
	toLower   = 1
	toZero    = 3
	// exactly suppresses the inexact exception.
	exactly = 8
)

func rounded(how int64) maker {
	return func(g *gen, v *ir.Value) asm.Reg {
		p := pick{asm.VROUNDSS, asm.VROUNDSD, asm.VROUNDPS, asm.VROUNDPD}
		if g.f.AVX512 {
			p = pick{asm.VRNDSCALESS, asm.VRNDSCALESD, asm.VRNDSCALEPS, asm.VRNDSCALEPD}
		}
		a := g.use(v.Args[0])
		d := g.dst(v)
		if v.Lanes == 1 {
			g.imm(p.of(v), g.size(v), d, how|exactly, a, a)
		} else {
			g.imm(p.of(v), g.size(v), d, how|exactly, a)
		}
		return d
	}
}

func signBit(k ir.Kind) uint64 { return 1 << (8*k.Width() - 1) }

// lanesFor is the number of lanes of constants for v: for scalars they fill the smallest register.
func lanesFor(v *ir.Value) int {
	return max(v.Lanes, 16/int(v.Kind.Width()))
}

func negFloat(g *gen, v *ir.Value) asm.Reg {
	sign := g.splat(int(v.Kind.Width()), lanesFor(v), signBit(v.Kind))
	a := g.use(v.Args[0])
	d := g.dst(v)
	g.ins(asm.VXORPS, g.size(v), d, a, sign)
	return d
}

func absFloat(g *gen, v *ir.Value) asm.Reg {
	rest := g.splat(int(v.Kind.Width()), lanesFor(v), signBit(v.Kind)-1)
	a := g.use(v.Args[0])
	d := g.dst(v)
	g.ins(asm.VANDPS, g.size(v), d, a, rest)
	return d
}
