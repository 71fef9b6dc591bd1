package x64

import (
	"math"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
	"polygrad/render/x64/asm"
)

// F16 is computed as F32 and rounded after every operation, which takes two conversions. With F16 vector instructions, which give
// the same results, an operation and its rounding are one. Such a vector has two forms: that of F32, and one of half the size
// with F16 as in memory; if both are needed the latter is made first.

// halfOps are the instructions for operations whose results are rounded.
var halfOps = map[ir.Op]asm.Op{ir.Add: asm.VADDPH, ir.Sub: asm.VSUBPH, ir.Mul: asm.VMULPH, ir.Div: asm.VDIVPH, ir.Sqrt: asm.VSQRTPH}

// halfChoices are the instructions for operations that return one of their arguments.
var halfChoices = map[ir.Op]asm.Op{ir.MaxSS: asm.VMAXPH, ir.MinSS: asm.VMINPH}

// halfDepth is the number of operations without rounding that are looked through.
const halfDepth = 4

// isHalf reports whether an F32 certainly has an F16 value.
func isHalf(v *ir.Value, depth int) bool {
	switch v.Op {
	case ir.Const:
		_, ok := halfBits(v)
		return ok
	case ir.Cast:
		return v.Kind == ir.F32 && v.Args[0].Kind == ir.F16
	case ir.Splat, ir.MaxSS, ir.MinSS, ir.Where:
		args := v.Args
		if v.Op == ir.Where {
			args = args[1:]
		}
		for _, a := range args {
			if depth == 0 || !isHalf(a, depth-1) {
				return false
			}
		}
		return true
	}
	return false
}

// halfBits is an F32 constant as F16, if it is exact.
func halfBits(v *ir.Value) (uint16, bool) {
	f := math.Float32frombits(uint32(v.Bits))
	h := uop.FloatToHalf(float64(f))
	return h, math.Float32bits(uop.HalfToFloat(h)) == uint32(v.Bits)
}

// cheapHalf reports whether an F32 with an F16 value has the F16 form without a conversion.
func (g *gen) cheapHalf(v *ir.Value, depth int) bool {
	switch {
	case v.Op == ir.Const || g.vals[v.ID].other != 0 || g.readsHalf(v):
		return true
	case v.Op == ir.Cast && v.Args[0].Op == ir.Narrow:
		return g.vals[v.Args[0].ID].other != 0 || g.roundsHalves(v.Args[0], depth)
	case halfChoices[v.Op] != 0 && depth > 0:
		return g.cheapHalf(v.Args[0], depth-1) && g.cheapHalf(v.Args[1], depth-1)
	}
	return false
}

// readsHalf reports whether an F32 is a pending load of contiguous F16.
func (g *gen) readsHalf(v *ir.Value) bool {
	if v.Op != ir.Cast || v.Args[0].Op != ir.Load {
		return false
	}
	l := v.Args[0]
	return l.Pos == 0 && l.At.Buf.Kind == ir.F16 && l.At.Stride == 1 && l.At.Gate == nil && l.At.Index == nil &&
		l.Lanes >= 8 && l.Block == v.Block && g.vals[l.ID].reg == 0
}

// roundsHalves reports whether a rounded operation takes vectors of F16: at least one argument needs no conversion.
func (g *gen) roundsHalves(v *ir.Value, depth int) bool {
	a := v.Args[0]
	if !g.f.FP16 || v.Kind != ir.F16 || v.Lanes < 8 || g.vals[a.ID].reg != 0 || halfOps[a.Op] == 0 || depth == 0 {
		return false
	}
	cheap := false
	for _, x := range a.Args {
		if !isHalf(x, halfDepth) {
			return false
		}
		cheap = cheap || g.cheapHalf(x, depth-1)
	}
	return cheap
}

// halfSize is the size of a vector of F16.
func halfSize(lanes int) int { return vectorSize(lanes, 2) }

// rounded is the register of an F16 operation with its rounding.
func (g *gen) rounded(v *ir.Value) asm.Reg {
	if r := g.vals[v.ID].other; r != 0 {
		return r
	}
	a := v.Args[0]
	g.in(v.Block, func() {
		var room [2]asm.Reg
		args := room[:len(a.Args)]
		for i, x := range a.Args {
			args[i] = g.half(x, v.Lanes)
		}
		r := g.vec()
		g.ins(halfOps[a.Op], halfSize(v.Lanes), r, args...)
		g.vals[v.ID].other = r
	})
	return g.vals[v.ID].other
}

// half is the F16 form of an F32 with an F16 value. Its uses are not counted: the operation may also be computed as F32.
func (g *gen) half(v *ir.Value, lanes int) asm.Reg {
	if v.Op == ir.Const {
		bits, _ := halfBits(v)
		return g.splat(4, lanes/2, uint64(bits)<<16|uint64(bits))
	}
	if v.Op == ir.Cast && v.Args[0].Op == ir.Narrow && (g.vals[v.Args[0].ID].other != 0 || g.roundsHalves(v.Args[0], halfDepth)) {
		return g.rounded(v.Args[0])
	}
	if r := g.vals[v.ID].other; r != 0 {
		return r
	}
	g.in(v.Block, func() {
		r := g.vec()
		switch op := halfChoices[v.Op]; {
		case op != 0 && g.cheapHalf(v, halfDepth):
			x, y := g.half(v.Args[0], lanes), g.half(v.Args[1], lanes)
			g.ins(op, halfSize(lanes), r, y, x) // the second source is the result for unordered operands
		case g.readsHalf(v):
			at := v.Args[0].At
			g.readyPlace(at)
			g.from(asm.VMOVUPS, halfSize(lanes), r, g.address(at, 0))
		default:
			g.need(v)
			g.imm(asm.VCVTPS2PH, lanes*4, r, 0, g.vals[v.ID].reg)
		}
		g.vals[v.ID].other = r
	})
	return g.vals[v.ID].other
}

// fromHalf is a rounded F16 operation as F32.
func (g *gen) fromHalf(v *ir.Value) asm.Reg {
	h := g.rounded(v)
	d := g.vec()
	g.ins(asm.VCVTPH2PS, g.size(v), d, h)
	return d
}
