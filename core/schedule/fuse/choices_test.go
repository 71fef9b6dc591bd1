package fuse_test

import (
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// butterfly is the sums and differences of two rows, as a last axis.
func butterfly(g graph) []*uop.UOp {
	x, y := g.in(64, 256), g.in(64, 256)
	return []*uop.UOp{g.ok(tensor.Stack([]*uop.UOp{x.Add(y), x.Sub(y)}, 2))}
}

// Expressions that are stacked are computed in one iteration, each once, if they share operands or stand side by side; so are repeated elements.
func TestStacksAreUnrolled(t *testing.T) {
	for _, c := range []struct {
		name                    string
		build                   func(g graph) []*uop.UOp
		kernels, stores, ranges int
	}{
		{"side by side", butterfly, 1, 2, 1},
		{"each in a half", func(g graph) []*uop.UOp {
			x, y := g.in(64, 256), g.in(64, 256)
			return []*uop.UOp{g.ok(tensor.Cat([]*uop.UOp{x.Add(y), x.Sub(y)}, 0))}
		}, 1, 2, 1},
		{"of a common value", func(g graph) []*uop.UOp {
			x, y := g.in(64, 256), g.in(64, 256)
			common := x.Mul(y).Exp2()
			return []*uop.UOp{g.ok(tensor.Stack([]*uop.UOp{common, common.Add(x), common.Sub(y)}, 1))}
		}, 1, 3, 2},
		{"repeated three times", func(g graph) []*uop.UOp {
			return []*uop.UOp{g.in(64, 256).Reshape(uop.ShapeOf(64, 256, 1)).Expand(uop.ShapeOf(64, 256, 3)).ContiguousOp()}
		}, 1, 3, 2},
		{"repeated four times", func(g graph) []*uop.UOp {
			return []*uop.UOp{g.in(64, 256).Reshape(uop.ShapeOf(64, 256, 1)).Expand(uop.ShapeOf(64, 256, 4)).ContiguousOp()}
		}, 1, 4, 2},
		{"of halves", func(g graph) []*uop.UOp {
			x, y := g.in(64, 256), g.in(64, 256)
			return []*uop.UOp{g.ok(tensor.Stack([]*uop.UOp{x.Cast(uop.Float16), y.Cast(uop.Float16)}, 2))}
		}, 1, 2, 1},
		{"neighbours", func(g graph) []*uop.UOp {
			return []*uop.UOp{g.ok(tensor.Unfold(g.in(64, 256), 1, 3, 1)).ContiguousOp()}
		}, 1, 3, 2},
		{"along a loop that is cut near its ends", func(g graph) []*uop.UOp {
			x := g.in(64, 256)
			around := g.ok(tensor.Cat([]*uop.UOp{x, x.Shrink([]uop.Pair{{Lo: uop.N(0), Hi: uop.N(64)}, {Lo: uop.N(0), Hi: uop.N(1)}})}, 1))
			mirror := g.ok(tensor.Flip(around, 1))
			return []*uop.UOp{g.ok(tensor.Stack([]*uop.UOp{around.Mul(mirror), around.Sub(mirror)}, 2))}
		}, 1, 6, 2},
		{"with nothing in common, apart", func(g graph) []*uop.UOp {
			return []*uop.UOp{g.ok(tensor.Cat([]*uop.UOp{g.in(64, 256).Exp2(), g.in(64, 256).Sin()}, 0))}
		}, 2, 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGraph(t)
			s, _ := g.decided(options, c.build(g)...)
			ranges := 0
			for _, k := range s.Kernels {
				for _, u := range k.AST.Toposort() {
					if u.Op == uop.Range {
						ranges++
					}
				}
			}
			if stores := count(s, uop.Store); len(s.Kernels) != c.kernels || stores != c.stores || ranges != c.ranges {
				t.Errorf("%d kernels, %d stores in %d loops, expected %d, %d and %d", len(s.Kernels), stores, ranges, c.kernels, c.stores, c.ranges)
			}
			if n := count(s, uop.Where); n != 0 {
				t.Errorf("%d comparisons are left", n)
			}
		})
	}
}
