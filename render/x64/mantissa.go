package x64

import (
	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

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
