package x64

import (
	"math"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// rootByEstimate is the square root of vectors of F64, rounded as by VSQRTPD, which takes twice as long: an estimate of 14 bits for the mantissa and
// half of the exponent. Two steps of Goldschmidt's iteration find the root and half of its reciprocal, and the remainder of the square rounds the root
// to nearest. (Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990.)
func rootByEstimate(g *gen, v *ir.Value) asm.Reg {
	const evenExponent, steps = 1 | 2<<2, 2 // of VGETMANT: mantissas from 1/2 to 2, NaN for negative numbers
	lanes, size := lanesFor(v), g.size(v)
	number := func(x float64) asm.Reg { return g.splat(8, lanes, math.Float64bits(x)) }
	half, most, zero := number(0.5), number(1024), number(0)
	x := g.use(v.Args[0])
	mantissa, exponent, inverse, root, rest := g.vec(), g.vec(), g.vec(), g.vec(), g.vec()
	g.imm(asm.VGETMANTPD, size, mantissa, evenExponent, x)
	g.ins(asm.VGETEXPPD, size, exponent, x)
	g.ins(asm.VFMADD132PD, size, exponent, half, half)
	g.ins(asm.VMINPD, size, exponent, exponent, most) // an infinite exponent would make an infinity of NaN
	g.ins(asm.VRSQRT14PD, size, inverse, mantissa)
	g.ins(asm.VMULPD, size, root, mantissa, inverse)
	g.ins(asm.VMULPD, size, inverse, inverse, half)
	for range steps {
		g.move(rest, half)
		g.ins(asm.VFNMADD231PD, size, rest, root, inverse)
		g.ins(asm.VFMADD231PD, size, root, root, rest)
		g.ins(asm.VFMADD231PD, size, inverse, inverse, rest)
	}
	g.ins(asm.VFNMADD231PD, size, mantissa, root, root)
	g.ins(asm.VFMADD231PD, size, root, mantissa, inverse)
	d := g.dst(v)
	g.ins(asm.VSCALEFPD, size, d, root, exponent)
	isZero := g.fresh(asm.Mask)
	g.imm(asm.VCMPPD, size, isZero, equal, x, zero)
	g.ins(asm.VMOVAPD, size, d, x).Mask = isZero
	return d
}

// fromPositive is the immediate of VGETMANT: fractions from 3/4 to 3/2, NaN for negative numbers.
const fromPositive = 3 | 2<<2

// exponentOrMantissa is VGETEXP or VGETMANT. Scalars use the vector instructions; their upper lanes do not matter.
func exponentOrMantissa(ps, pd asm.Op, how ...int64) maker {
	return func(g *gen, v *ir.Value) asm.Reg {
		op := ps
		if v.Kind == ir.F64 {
			op = pd
		}
		a := g.use(v.Args[0])
		d := g.dst(v)
		if len(how) > 0 {
			g.imm(op, g.size(v), d, how[0], a)
		} else {
			g.ins(op, g.size(v), d, a)
		}
		return d
	}
}
