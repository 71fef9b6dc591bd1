package plan

import (
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// An F32 is the sum of three BF16, each of which has the next eight bits of its fraction. Of the nine products of two
// such sums the six greatest are added, which leaves out less than the last bit of an F32. That holds for numbers whose
// parts are neither subnormal, which count as 0 there, nor infinite. So the greatest and least numbers are looked for as
// operands are packed, and where one is out of range the tiles that it belongs to are computed as if there were no such
// instructions.

const (
	SplitTerms = 3
	// splitLeast is how many products a split product must have: below, packing takes too long.
	splitLeast = 1 << 18
	// LeastNormal and greatest bound the magnitudes that are split, as bits: from 2**-126 to below 2**127.
	LeastNormal = 0x00800000
	Greatest    = 0x7F000000
)

// canSplit reports whether a term is a product of two F32.
func (pl *planner) canSplit(t *uop.UOp) bool {
	return pl.m.SplitF32 && ir.KindOf[t.Src[0].DType.Scalar()] == ir.F32 && ir.KindOf[t.Src[1].DType.Scalar()] == ir.F32
}
