package fuse_test

import (
	"testing"

	"polygrad/core/uop"
)

// Functions of the sums of short rows have a kernel of their own, in full vectors, and stores that loop over the rows again another
// one. Long rows stay in one kernel: reading them again costs more.
func TestFunctionsOfSumsInTheMiddle(t *testing.T) {
	for columns, kernels := range map[int64]int{24: 3, 2048: 1} {
		g := newGraph(t)
		x := g.in(384, columns)
		g.expect(g.fused(options, x.Mul(reduced(x, uop.Add, 1).Sin().Exp2().Sin())), kernels)
	}
	// A root of a sum is not worth that.
	g := newGraph(t)
	x := g.in(384, 24)
	g.expect(g.fused(options, x.Mul(reduced(x.Mul(x), uop.Add, 1).Sqrt())), 1)
}

// A function of a value that is loaded once for each row is computed in full vectors, if one lane before the loop over the row takes longer.
func TestFunctionsOfLoads(t *testing.T) {
	for columns, kernels := range map[int64]int{96: 2, 2: 1} {
		g := newGraph(t)
		x := g.in(384, 1).Sin().Exp2().Sin().Expand(uop.ShapeOf(384, columns))
		g.expect(g.fused(options, g.in(384, columns).Mul(x)), kernels)
	}
	// Dividing by it is not worth that.
	g := newGraph(t)
	g.expect(g.fused(options, g.in(384, 96).Mul(g.in(384, 1).Recip().Expand(uop.ShapeOf(384, 96)))), 1)
}
