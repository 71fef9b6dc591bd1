package fuse_test

import (
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Loops over padded, joined and rolled values are cut where they are long, also in reductions: nothing is compared inside of them.
func TestLoopsAreCut(t *testing.T) {
	pad := func(x *uop.UOp, lo, hi int64) *uop.UOp {
		return x.Pad([]uop.Pair{{}, {Lo: uop.N(lo), Hi: uop.N(hi)}})
	}
	joined := func(g graph, n int64) *uop.UOp { return pad(g.in(64, n), 0, n).Add(pad(g.in(64, n), n, 0)) }
	for _, c := range []struct {
		name             string
		build            func(g graph) *uop.UOp
		kernels, selects int
	}{
		{"pad", func(g graph) *uop.UOp { return pad(g.in(64, 256).Exp2(), 1, 2).ContiguousOp() }, 1, 0},
		{"short rows", func(g graph) *uop.UOp { return pad(g.in(64, 8).Exp2(), 1, 2).ContiguousOp() }, 1, 1},
		{"joined", func(g graph) *uop.UOp { return joined(g, 256).Exp2().ContiguousOp() }, 1, 0},
		{"joined rows that turn", func(g graph) *uop.UOp { return joined(g, 256).Permute([]int{1, 0}).ContiguousOp() }, 2, 0},
		{"planes with repeated edges", func(g graph) *uop.UOp {
			x := g.in(16, 56, 64)
			x = x.Shrink([]uop.Pair{{Hi: uop.N(16)}, {Hi: uop.N(56)}, {Hi: uop.N(1)}}).Pad([]uop.Pair{{}, {}, {Hi: uop.N(64)}}).
				Add(x.Pad([]uop.Pair{{}, {}, {Lo: uop.N(1)}}))
			x = x.Shrink([]uop.Pair{{Hi: uop.N(16)}, {Hi: uop.N(1)}, {Hi: uop.N(65)}}).Pad([]uop.Pair{{}, {Hi: uop.N(56)}, {}}).
				Add(x.Pad([]uop.Pair{{}, {Lo: uop.N(1)}, {}}))
			return x.ContiguousOp()
		}, 1, 0},
		{"padded values that are padded and joined", func(g graph) *uop.UOp {
			x := pad(pad(g.in(64, 256), 3, 1), 2, 4)
			return pad(x, 0, 266).Add(pad(x, 266, 0)).Exp2().ContiguousOp()
		}, 1, 0},
		{"many joined", func(g graph) *uop.UOp {
			all := pad(g.in(64, 256), 0, 11*256)
			for i := range int64(11) {
				all = all.Add(pad(g.in(64, 256), 256*(i+1), 256*(10-i)))
			}
			return all.Exp2().ContiguousOp()
		}, 1, 0},
		{"stacked", func(g graph) *uop.UOp {
			at := func(k int64) *uop.UOp {
				return g.in(1, 4096).Pad([]uop.Pair{{Lo: uop.N(k), Hi: uop.N(2 - k)}, {}})
			}
			return at(0).Add(at(1)).Add(at(2)).ContiguousOp()
		}, 3, 0},
		{"a sum of rows in front of them", func(g graph) *uop.UOp {
			x := g.in(64, 256)
			first := x.ReduceAxes(uop.Add, 0).Pad([]uop.Pair{{Hi: uop.N(64)}, {}})
			return first.Add(x.Pad([]uop.Pair{{Lo: uop.N(1)}, {}})).ContiguousOp()
		}, 2, 0},
		{"a sum of rows below padding", func(g graph) *uop.UOp {
			return g.in(64, 256).ReduceAxes(uop.Add, 0).Pad([]uop.Pair{{Lo: uop.N(3)}, {}}).ContiguousOp()
		}, 2, 0},
		{"windows of rows below padding, of which some reach into it", func(g graph) *uop.UOp {
			x := g.in(64, 256).Pad([]uop.Pair{{Lo: uop.N(3)}, {}})
			return g.ok(tensor.Unfold(x, 0, 3, 1)).ReduceAxes(uop.Max, 2)
		}, 2, 1},
		{"sum", func(g graph) *uop.UOp { return pad(g.in(64, 256), 1, 2).ReduceAxes(uop.Add, 1) }, 1, 0},
		{"maximum of joined matrices", func(g graph) *uop.UOp {
			rows := func(lo, hi int64) *uop.UOp { return g.in(33, 96).Pad([]uop.Pair{{Lo: uop.N(lo), Hi: uop.N(hi)}, {}}) }
			return rows(0, 66).Add(rows(33, 33)).Add(rows(66, 0)).ReduceAxes(uop.Max, 0, 1)
		}, 1, 0},
		{"sum of a matrix with padding on all sides", func(g graph) *uop.UOp {
			return g.in(33, 96).Exp2().Pad([]uop.Pair{{Lo: uop.N(3), Hi: uop.N(2)}, {Lo: uop.N(1), Hi: uop.N(4)}}).ReduceAxes(uop.Max, 0, 1)
		}, 1, 0},
		{"joined matrices minus a sum of all elements", func(g graph) *uop.UOp {
			x := g.in(33, 192)
			rows := x.Pad([]uop.Pair{{Hi: uop.N(33)}, {}}).Add(x.Pad([]uop.Pair{{Lo: uop.N(33)}, {}}))
			return rows.Sub(x.ReduceAxes(uop.Add, 0, 1).Expand(rows.Shape())).Exp2().ContiguousOp()
		}, 1, 0},
		{"maximum, of which an iteration is a piece", func(g graph) *uop.UOp {
			x := g.in(64, 512)
			return pad(x.Exp2(), 1, 0).Add(pad(x, 0, 1)).ReduceAxes(uop.Max, 1)
		}, 1, 0},
		{"a piece is merged with its producer, the other runs before", func(g graph) *uop.UOp {
			y := g.in(16384).Exp2().ContiguousOp()
			joined := g.in(16384).Pad([]uop.Pair{{Hi: uop.N(16384)}}).Add(y.Pad([]uop.Pair{{Lo: uop.N(16384)}}))
			return joined.ContiguousOp()
		}, 2, 0},
		{"softmax", func(g graph) *uop.UOp { return softmax(pad(g.in(64, 256), 1, 2), 1) }, 1, 0},
		{"softmax, one part of which is a function", func(g graph) *uop.UOp {
			x := g.in(64, 96)
			return softmax(pad(x.Exp2().Add(x).Recip().Exp2(), 0, 96).Add(pad(x, 96, 0)), 1)
		}, 1, 0},
		{"softmax inside", func(g graph) *uop.UOp { return pad(softmax(g.in(64, 256), 1), 1, 2).ContiguousOp() }, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGraph(t)
			s := g.fused(options, c.build(g))
			g.expect(s, c.kernels)
			for _, k := range s.Kernels {
				for _, u := range k.AST.Toposort() {
					if u.Op == uop.Reduce && len(u.Src) < 2 {
						t.Error("a reduction has no loop")
					}
				}
			}
			if n := count(s, uop.Where); (n > 0) != (c.selects > 0) {
				t.Errorf("%d choices, expected %d", n, c.selects)
			}
		})
	}
}

// A row that is looked up is cut, too: the conditions on positions are joined with those on what is looked up, which stay.
func TestLookedUpRowsAreCut(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns int64
		cut     bool
	}{{"long", 140, true}, {"short", 21, false}} {
		t.Run(c.name, func(t *testing.T) {
			g := newGraph(t)
			x := g.in(33, c.columns).Pad([]uop.Pair{{Lo: uop.N(1)}, {Lo: uop.N(1), Hi: uop.N(2)}})
			s := g.fused(options, g.ok(tensor.Embedding(x, g.NewBuffer("CPU", 96, uop.Int32))).ReduceAxes(uop.Max, 0, 1))
			g.expect(s, 1)
			compared := false
			for _, u := range s.Kernels[0].AST.Toposort() {
				compared = compared || u.Op == uop.CmpLt && u.Src[0].Op == uop.Range
			}
			if compared == c.cut || count(s, uop.Where) == 0 {
				t.Errorf("positions are compared: %v; %d choices, expected those of what is looked up", compared, count(s, uop.Where))
			}
		})
	}
}
