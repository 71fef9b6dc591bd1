package fuse_test

import (
	"testing"

	"polygrad/core/uop"
)

// rowsTimesSums is a product of matrices whose left one is the same along the axis that is summed up.
func rowsTimesSums(g graph, n, m, k int64) *uop.UOp {
	return times(g.in(n, 1).Exp2().Expand(uop.ShapeOf(n, k)), g.in(m, k))
}

// Sums of rows are computed once, not for each factor that they are multiplied with.
func TestFactorsLeaveSums(t *testing.T) {
	g := newGraph(t)
	const n, m, k = 64, 48, 80
	for _, kernel := range g.fused(options, rowsTimesSums(g, n, m, k)).Kernels {
		iterations := int64(1)
		for _, u := range kernel.AST.Toposort() {
			if u.Op == uop.Range {
				iterations *= uop.S(u.Src[0]).Max()
			}
		}
		if iterations > max(n*m, m*k) {
			t.Errorf("a kernel has %d iterations, expected at most those of the sums or of the result:\n%s", iterations, kernel.AST.Dump())
		}
	}
	// Two sums of few terms are not worth a kernel.
	g.expect(g.fused(options, rowsTimesSums(g, 4, 2, 4)), 1)
}

// A function that a sum needs and that is scattered, too, is computed once: what is scattered shares its loops with nothing.
func TestScatteredFunctionsAreStored(t *testing.T) {
	g := newGraph(t)
	x := g.in(97, 48).Exp2().Sin()
	terms := x.Sub(reduced(x, uop.Add, 1))
	rows := g.NewBuffer("CPU", 97, uop.Int32).Reshape(uop.ShapeOf(97, 1)).Expand(x.Shape())
	s := g.fused(options, g.in(383, 48).ScatterTo(uop.ScatterArg{Op: uop.Add}, rows, terms).ContiguousOp())
	if n := count(s, uop.Sin); n != 1 {
		t.Errorf("%d kernels compute sines, expected 1", n)
	}
}

// A function that two kernels need is computed once where one of them reads the other's result in other places, so that they stay two.
func TestFunctionsOfMovedValuesAreStored(t *testing.T) {
	g := newGraph(t)
	f := g.in(93, 96).Exp2().Sin()
	part := f.Mul(g.in(93, 96)) // is stored, as it is read twice
	rolled := part.Shrink([]uop.Pair{{Lo: uop.N(3), Hi: uop.N(93)}, {Hi: uop.N(96)}}).Pad([]uop.Pair{{Hi: uop.N(3)}, {}})
	back := part.Shrink([]uop.Pair{{Hi: uop.N(90)}, {Hi: uop.N(96)}}).Pad([]uop.Pair{{Lo: uop.N(3)}, {}})
	if n := count(g.fused(options, rolled.Add(back).Add(f)), uop.Sin); n != 1 {
		t.Errorf("%d kernels compute sines, expected 1", n)
	}
}

// Terms of all pairs of rows, of four operands, are computed in both sums that read them: they have 64 times as many elements as the largest.
func TestTermsOfPairsAreNotStored(t *testing.T) {
	g := newGraph(t)
	const n, m, k = 192, 160, 64
	s := uop.ShapeOf(n, m, k)
	pairs := func() *uop.UOp { return g.in(n, m, 1).Expand(s) }
	terms := pairs().Mul(pairs()).Mul(g.in(n, 1, k).Expand(s).Sub(g.in(1, m, k).Expand(s)))
	if p := g.fused(options, terms.ReduceAxes(uop.Add, 0), terms.ReduceAxes(uop.Add, 1)); p.ArenaBytes > n*m*k {
		t.Errorf("%d bytes of temporaries, expected at most those of the pairs\n%s", p.ArenaBytes, p.Dump())
	}
}
