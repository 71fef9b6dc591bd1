package x64

import (
	"math"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// Conversions of vectors between 64-bit integers and floats for processors that have no instructions for them: the halves of an integer are the
// low bits of numbers whose units in the last place are 1 or 2**32.

// twoTo52 is a number whose low bits are an integer of up to 52 bits that is added to it; signed52 serves negative ones, too.
const twoTo52, signed52 = 1 << 52, 3 << 51

// wordsToFloat converts vectors of 64-bit integers.
func (g *gen) wordsToFloat(r asm.Reg, from, to ir.Kind, lanes int) asm.Reg {
	size := vectorSize(lanes, 8)
	if to == ir.F32 {
		r = g.sticky(r, from, lanes)
	}
	// The upper half is added to 2**84; if it has a sign, with 2**31 more.
	upper := uint64(0x45300000_00000000)
	sum := float64(1<<84 + twoTo52)
	if from == ir.I64 {
		upper |= 1 << 31
		sum += 1 << 63
	}
	lo, hi := g.vec(), g.vec()
	g.ins(asm.VPAND, size, lo, r, g.splat(8, lanes, 1<<32-1))
	g.ins(asm.VPOR, size, lo, lo, g.splat(8, lanes, math.Float64bits(twoTo52)))
	g.imm(asm.VPSRLQ, size, hi, 32, r)
	g.ins(asm.VPXOR, size, hi, hi, g.splat(8, lanes, upper))
	g.ins(asm.VSUBPD, size, hi, hi, g.splat(8, lanes, math.Float64bits(sum)))
	g.ins(asm.VADDPD, size, hi, hi, lo)
	if to == ir.F32 {
		d := g.vec()
		g.ins(asm.VCVTPD2PS, size, d, hi)
		return d
	}
	return hi
}

// sticky changes integers of more than 53 bits so that they are exact as F64 and still round to the same F32: bit 11 becomes the sticky bit of those
// below.
func (g *gen) sticky(r asm.Reg, from ir.Kind, lanes int) asm.Reg {
	size := vectorSize(lanes, 8)
	low := g.splat(8, lanes, 1<<11-1)
	x, small := g.vec(), g.vec()
	g.ins(asm.VPAND, size, x, r, low)
	g.ins(asm.VPADDQ, size, x, x, low)
	g.ins(asm.VPOR, size, x, x, r)
	g.ins(asm.VPAND, size, x, x, g.splat(8, lanes, ^uint64(1<<11-1)))
	if from == ir.I64 {
		g.ins(asm.VPADDQ, size, small, r, g.splat(8, lanes, 1<<53))
		g.imm(asm.VPSRLQ, size, small, 54, small)
	} else {
		g.imm(asm.VPSRLQ, size, small, 53, r)
	}
	g.ins(asm.VPCMPEQQ, size, small, small, g.splat(8, lanes, 0))
	return g.blend(8, size, small, r, x)
}

// floatToWords truncates vectors to 64-bit integers. As for scalars, the I64 of NaN and of numbers beyond its range is -2**63.
func (g *gen) floatToWords(r asm.Reg, from, to ir.Kind, lanes int) asm.Reg {
	size := vectorSize(lanes, 8)
	x, hi, lo := g.vec(), g.vec(), g.vec()
	if from == ir.F32 {
		g.ins(asm.VCVTPS2PD, size, x, r)
		r = x
		x = g.vec()
	}
	f64 := func(f float64) asm.Reg { return g.splat(8, lanes, math.Float64bits(f)) }
	g.imm(asm.VROUNDPD, size, x, toZero|exactly, r)
	g.ins(asm.VMULPD, size, hi, x, f64(1.0/(1<<32)))
	g.imm(asm.VROUNDPD, size, hi, toLower|exactly, hi)
	g.ins(asm.VMULPD, size, lo, hi, f64(1<<32))
	g.ins(asm.VSUBPD, size, lo, x, lo)
	g.ins(asm.VADDPD, size, lo, lo, f64(twoTo52))
	g.ins(asm.VADDPD, size, hi, hi, f64(signed52))
	g.ins(asm.VPXOR, size, lo, lo, f64(twoTo52))
	g.imm(asm.VPSLLQ, size, hi, 32, hi)
	g.ins(asm.VPOR, size, hi, hi, lo)
	if to == ir.U64 {
		return hi
	}
	large := g.vec()
	g.ins(asm.VANDPS, size, x, x, g.splat(8, lanes, 1<<63-1))
	g.imm(asm.VCMPPD, size, large, notLess, x, f64(1<<63))
	g.ins(asm.VPANDN, size, hi, large, hi)
	g.imm(asm.VPSLLQ, size, large, 63, large)
	g.ins(asm.VPOR, size, hi, hi, large)
	return hi
}
