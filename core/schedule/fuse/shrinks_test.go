package fuse_test

import (
	"testing"

	"polygrad/core/uop"
)

// Only the used slice of a sum that is stored for a later one is computed.
func TestReductionsAreShrunk(t *testing.T) {
	g := newGraph(t)
	sums := g.in(64, 32, 128).ReduceAxes(uop.Add, 1).Reshape(uop.ShapeOf(64, 128))
	part := sums.Shrink([]uop.Pair{{Hi: uop.N(64)}, {Lo: uop.N(1), Hi: uop.N(9)}})
	s := g.fused(options, part.Reshape(uop.ShapeOf(64, 8, 1)).Expand(uop.ShapeOf(64, 8, 3)).ContiguousOp())
	for _, slot := range s.Slots {
		if slot.Input < 0 && slot.Size > 64*8*3 {
			t.Errorf("%d elements are stored, expected %d at most", slot.Size, 64*8*3)
		}
	}
}

// A sum of which no element is used is not computed.
func TestEmptyPartOfAReduction(t *testing.T) {
	g := newGraph(t)
	sums := g.in(4, 3, 5).ReduceAxes(uop.Add, 2)
	none := sums.Shrink([]uop.Pair{{Hi: uop.N(4)}, {Hi: uop.N(3)}, {Lo: uop.N(0), Hi: uop.N(0)}})
	g.expect(g.fused(options, none.Pad([]uop.Pair{{Lo: uop.N(0), Hi: uop.N(0)}, {Lo: uop.N(0), Hi: uop.N(0)}, {Lo: uop.N(1), Hi: uop.N(0)}}).ContiguousOp()), 1)
}
