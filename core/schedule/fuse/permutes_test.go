package fuse_test

import (
	"testing"

	"polygrad/core/schedule/fuse"
	"polygrad/core/uop"
)

// Functions, reductions and pads of a permuted view are computed in the order of memory, and the result is permuted.
func TestPermutesSink(t *testing.T) {
	g := newGraph(t)
	x := g.in(64, 32)
	turned := x.Permute([]int{1, 0})
	bias := g.in(64).Reshape(uop.ShapeOf(1, 64)).Expand(uop.ShapeOf(32, 64))
	pad := []uop.Pair{{Lo: uop.N(1), Hi: uop.N(0)}, {Lo: uop.N(0), Hi: uop.N(2)}}
	sums := turned.ReduceAxes(uop.Add, 0).Expand(uop.ShapeOf(32, 64))
	for name, u := range map[string]*uop.UOp{
		"functions":        turned.F(uop.Exp2, nil, nil),
		"several":          turned.Mul(turned.F(uop.Exp2, nil, nil)),
		"constants":        turned.Mul(turned.ConstLike(uop.Float(2))),
		"cast constants":   turned.Mul(turned.ConstLike(uop.Float(2)).F(uop.Exp2, nil, nil)),
		"of constants":     turned.Mul(turned.ConstLike(uop.Float(2)).Mul(turned.ConstLike(uop.Float(3)))),
		"vectors":          turned.Add(bias),
		"own sums":         turned.Add(sums),
		"pads":             turned.Pad(pad),
		"parts":            turned.Shrink([]uop.Pair{{Lo: uop.N(1), Hi: uop.N(8)}, {Lo: uop.N(0), Hi: uop.N(9)}}),
		"flips":            turned.Flip([]bool{true, false}),
		"of what is unary": turned.F(uop.Exp2, nil, nil).Pad(pad).F(uop.Sqrt, nil, nil),
	} {
		v := fuse.SinkTurns(u)
		if v.Op != uop.Permute || v.Src[0].Find(func(u *uop.UOp) bool { return u.Op == uop.Permute }) != nil {
			t.Errorf("%s: not a view of what is computed in order:\n%s", name, v.Dump())
		}
		if !v.Shape().Equal(u.Shape()) {
			t.Errorf("%s: shape %s, expected %s", name, v.Shape(), u.Shape())
		}
	}
	if v := fuse.SinkTurns(turned.F(uop.Exp2, nil, nil).Permute([]int{1, 0})); v != x.F(uop.Exp2, nil, nil) {
		t.Errorf("views that undo one another are left:\n%s", v.Dump())
	}
	if v := fuse.SinkTurns(turned.ReduceAxes(uop.Add, 1)); v != x.ReduceAxes(uop.Add, 0).Reshape(uop.ShapeOf(32, 1)) {
		t.Errorf("a view of a vector is left:\n%s", v.Dump())
	}
}

// An outer product, which has no order of its own, is computed in the order of its only reader.
func TestOuterProductsAreInTheOrderOfReaders(t *testing.T) {
	g := newGraph(t)
	shape := uop.ShapeOf(32, 64)
	rows, columns := g.in(32).Reshape(uop.ShapeOf(32, 1)), g.in(64).Reshape(uop.ShapeOf(1, 64))
	outer := rows.Expand(shape).Mul(columns.Expand(shape))
	turned := func(u *uop.UOp) bool { return u.Op == uop.Permute }
	if v := fuse.SinkTurns(outer.Permute([]int{1, 0}).ContiguousOp()); v.Find(turned) != nil || !v.Shape().Equal(uop.ShapeOf(64, 32)) {
		t.Errorf("an outer product is turned:\n%s", v.Dump())
	}
	both := g.Sink(nil, outer.ContiguousOp(), outer.Permute([]int{1, 0}).ContiguousOp())
	if v := fuse.SinkTurns(both); v.Find(turned) == nil {
		t.Errorf("an outer product with two readers is computed twice:\n%s", v.Dump())
	}
}

// A batch in blocks, whose matrices are the last axis in memory, is computed in the order of memory, too; reshapes that split it again vanish.
func TestMergedBatchesSink(t *testing.T) {
	g := newGraph(t)
	x := g.in(32, 4, 8, 16)
	seen := x.Permute([]int{0, 3, 1, 2}).Reshape(uop.ShapeOf(512, 4, 8))
	stored := func(u *uop.UOp) *uop.UOp {
		return u.Reshape(append(uop.ShapeOf(32, 16), u.Shape()[1:]...)).Permute([]int{0, 2, 3, 1})
	}
	part := []uop.Pair{{Lo: uop.N(0), Hi: uop.N(512)}, {Lo: uop.N(1), Hi: uop.N(3)}, {Lo: uop.N(0), Hi: uop.N(8)}}
	pad := []uop.Pair{{}, {Lo: uop.N(1), Hi: uop.N(2)}, {}}
	vector := g.in(8).Reshape(uop.ShapeOf(1, 1, 8)).Expand(uop.ShapeOf(512, 4, 8))
	for name, u := range map[string]*uop.UOp{
		"functions":  seen.F(uop.Exp2, nil, nil),
		"constants":  seen.Mul(seen.ConstLike(uop.Float(2))),
		"vectors":    seen.Add(vector),
		"reductions": seen.ReduceAxes(uop.Max, 1).F(uop.Exp2, nil, nil),
		"parts":      seen.Shrink(part).Flip([]bool{false, true, false}),
		"pads":       seen.Pad(pad).F(uop.Sqrt, nil, nil),
	} {
		v := fuse.SinkTurns(stored(u))
		if v.Find(func(u *uop.UOp) bool { return u.Op == uop.Permute }) != nil {
			t.Errorf("%s: not computed in order:\n%s", name, v.Dump())
		}
		if !v.Shape().Equal(stored(u).Shape()) {
			t.Errorf("%s: shape %s, expected %s", name, v.Shape(), stored(u).Shape())
		}
	}
	if v := fuse.SinkTurns(seen.ReduceAxes(uop.Add, 0)); !v.Shape().Equal(uop.ShapeOf(1, 4, 8)) || v.Op != uop.ReduceAxis {
		t.Errorf("a sum over the batch: %s", v.Dump())
	}
}

// The result of a reduction is contiguous along the same axis as its source.
func TestReductionsInMemoryOrder(t *testing.T) {
	g := newGraph(t)
	windows := g.in(64, 32).Permute([]int{1, 0}).Reshape(uop.ShapeOf(32, 16, 4)) // of a turned view
	v := fuse.SinkTurns(windows.ReduceAxes(uop.Add, 2))
	if x := v.Src[0]; v.Op != uop.Permute || x.Op != uop.ReduceAxis || !x.Shape().Equal(uop.ShapeOf(16, 1, 32)) || !v.Shape().Equal(uop.ShapeOf(32, 16, 1)) {
		t.Errorf("not a view of what is reduced in order:\n%s", v.Dump())
	}
}

// Axes of a permuted view that are split, or merged again, and a broadcast along one of them are computed in the order of memory.
func TestSplitAxesSink(t *testing.T) {
	g := newGraph(t)
	turned := func(u *uop.UOp) bool { return u.Op == uop.Permute }
	back := func(u *uop.UOp) *uop.UOp { return u.Reshape(uop.ShapeOf(48, 64)).Permute([]int{1, 0}) }
	split := g.in(64, 48).Permute([]int{1, 0}).Reshape(uop.ShapeOf(1, 3, 16, 64))
	for name, u := range map[string]*uop.UOp{
		"functions":          split.F(uop.Exp2, nil, nil),
		"several":            split.Mul(split.F(uop.Exp2, nil, nil)),
		"sums":               split.Add(split.ReduceAxes(uop.Add, 1).Expand(split.Shape())),
		"functions of sums":  split.Mul(split.ReduceAxes(uop.Add, 1).F(uop.Exp2, nil, nil).Expand(split.Shape())),
		"sums of other axes": split.Mul(split.ReduceAxes(uop.Add, 2).Expand(split.Shape())),
	} {
		if v := fuse.SinkTurns(back(u)); v.Find(turned) != nil || !v.Shape().Equal(uop.ShapeOf(64, 48)) {
			t.Errorf("%s: not computed in order:\n%s", name, v.Dump())
		}
	}
	// 48 x 64 reshaped to 32 x 96 mixes the axes.
	if u := g.in(64, 48).Permute([]int{1, 0}).Reshape(uop.ShapeOf(32, 96)).F(uop.Exp2, nil, nil); fuse.SinkTurns(u) != u {
		t.Errorf("changed to\n%s", fuse.SinkTurns(u).Dump())
	}
}

// A function of two values that are contiguous along different axes stays, and so does a permute that keeps the last axis, also one of two permutes.
func TestPermutesThatDoNotSink(t *testing.T) {
	g := newGraph(t)
	for _, u := range []*uop.UOp{
		g.in(64, 32).Permute([]int{1, 0}).Add(g.in(32, 64)),
		g.in(4, 8, 32).Permute([]int{1, 0, 2}).F(uop.Exp2, nil, nil),
	} {
		if v := fuse.SinkTurns(u); v != u {
			t.Errorf("changed to\n%s", v.Dump())
		}
	}
	x := g.in(64, 32)
	u := x.Permute([]int{1, 0}).Reshape(uop.ShapeOf(4, 8, 64)).Permute([]int{0, 2, 1}).F(uop.Exp2, nil, nil)
	if v := fuse.SinkTurns(u); v != x.Reshape(uop.ShapeOf(64, 4, 8)).Permute([]int{1, 0, 2}).F(uop.Exp2, nil, nil) {
		t.Errorf("changed to\n%s", v.Dump())
	}
}

// Permuted windows, whose positions are the last axis, are computed without a permute where their axis of one element is dropped.
func TestWindowsSink(t *testing.T) {
	g := newGraph(t)
	windows := g.in(64, 32).Reshape(uop.ShapeOf(64, 32, 1)).Expand(uop.ShapeOf(64, 32, 3)).F(uop.Exp2, nil, nil)
	first := []uop.Pair{{Lo: uop.N(0), Hi: uop.N(32)}, {Lo: uop.N(0), Hi: uop.N(64)}, {Lo: uop.N(0), Hi: uop.N(1)}}
	sum := windows.Permute([]int{1, 0, 2}).Shrink(first).F(uop.Sqrt, nil, nil).Reshape(uop.ShapeOf(32, 64)).Permute([]int{1, 0})
	turned := func(u *uop.UOp) bool { return u.Op == uop.Permute }
	if v := fuse.SinkTurns(sum); v.Find(turned) != nil || !v.Shape().Equal(uop.ShapeOf(64, 32)) {
		t.Errorf("windows are turned twice:\n%s", v.Dump())
	}
}
