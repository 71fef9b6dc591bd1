package plan

import (
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// bf16x3: an F32 is the sum of three BF16 with eight bits of its fraction each. Of the nine products of two such sums the six largest are
// added; the others are below the precision of F32. This fails for numbers with subnormal parts, which the instructions flush to 0, and
// for infinities. So packing checks the range of the operands, and tiles with numbers out of range are computed without these
// instructions.

const (
	SplitTerms = 3
	// splitLeast is the least number of multiplications for which packing pays.
	splitLeast = 1 << 18
	// LeastNormal and Greatest bound the magnitudes that can be split, as bits: from 2**-126 to below 2**127.
	LeastNormal = 0x00800000
	Greatest    = 0x7F000000
)

// canSplit reports whether a term is a product of two F32.
func (pl *planner) canSplit(t *uop.UOp) bool {
	return pl.m.SplitF32 && ir.KindOf[t.Src[0].DType.Scalar()] == ir.F32 && ir.KindOf[t.Src[1].DType.Scalar()] == ir.F32
}
