package fuse_test

import (
	"strings"
	"testing"

	"polygrad/core/schedule/fuse"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// What would be computed in the loops of a reduction, or several times, is stored where that costs less, for a reason.
func TestValuesAreStoredByCost(t *testing.T) {
	for _, c := range []struct {
		name    string
		out     func(g graph) *uop.UOp
		reason  fuse.Reason
		kernels int
	}{
		{"sum of a product", func(g graph) *uop.UOp { return times(g.in(64, 64), g.in(64, 64)).ReduceAxes(uop.Add, 0) }, fuse.NestedReduction, 2},
		{"factor with a function", func(g graph) *uop.UOp { return times(g.in(64, 64).Exp2(), g.in(64, 64)) }, fuse.RereadPays, 2},
		{"factor with an addition", func(g graph) *uop.UOp { x := g.in(64, 64); return times(x.Add(g.in(64, 64)), x) }, fuse.CheapFactor, 1},
		{"factor that joins rows", func(g graph) *uop.UOp {
			return times(g.ok(tensor.Cat([]*uop.UOp{g.in(64, 32), g.in(64, 32)}, 1)), g.in(64, 64))
		}, fuse.CheapFactor, 1},
		{"factor that joins rows and columns", func(g graph) *uop.UOp {
			return times(g.ok(tensor.Cat([]*uop.UOp{g.in(32, 64).Permute([]int{1, 0}), g.in(64, 32)}, 1)), g.in(64, 64))
		}, fuse.RereadPays, 3},
		{"few elements", func(g graph) *uop.UOp { return g.in(1, 8).Exp2().Expand(uop.ShapeOf(8, 8)).Add(g.in(8, 8)) }, fuse.CheapRecompute, 1},
		{"terms of a product of short rows", func(g graph) *uop.UOp {
			return times(g.in(24, 24).Cast(uop.BFloat16), g.in(24, 24).Cast(uop.BFloat16))
		}, fuse.ComputedOnce, 3},
		{"several users", func(g graph) *uop.UOp {
			x := g.in(64, 512)
			e := x.Exp2().Sin().Add(x)
			return e.Mul(e.ReduceAxes(uop.Add, 0).Expand(e.Shape()))
		}, fuse.RereadPays, 3},
		{"several users, an addition", func(g graph) *uop.UOp {
			x := g.in(64, 512)
			e := x.Add(g.in(64, 512))
			return e.Mul(e.ReduceAxes(uop.Add, 0).Expand(e.Shape()))
		}, fuse.CheapRecompute, 2},
		{"several users, a function of each row", func(g graph) *uop.UOp {
			e := g.in(64, 1).Exp2().Sin().Expand(uop.ShapeOf(64, 512)).Add(g.in(64, 512))
			return e.Mul(e.ReduceAxes(uop.Add, 0).Expand(e.Shape()))
		}, fuse.CheapRecompute, 3},
		{"sum of values that lie in different orders", func(g graph) *uop.UOp {
			return g.in(512, 512).Permute([]int{1, 0}).Add(g.in(512, 512)).ReduceAxes(uop.Max, 1)
		}, fuse.RereadPays, 2},
		{"sum of all before a long loop", func(g graph) *uop.UOp {
			return g.in(64).ReduceAxes(uop.Add, 0).Reshape(uop.Shape{}).Exp2().Reshape(uop.ShapeOf(1, 1)).Expand(uop.ShapeOf(512, 512)).Mul(g.in(512, 512))
		}, fuse.RowsShared, 2},
		{"before a short one", func(g graph) *uop.UOp {
			return g.in(64).ReduceAxes(uop.Add, 0).Reshape(uop.Shape{}).Exp2().Reshape(uop.ShapeOf(1, 1)).Expand(uop.ShapeOf(16, 16)).Mul(g.in(16, 16))
		}, fuse.ComputedOnce, 1},
		{"sum of values and one of each row", func(g graph) *uop.UOp {
			x := g.in(64, 16, 128)
			return x.Mul(x.ReduceAxes(uop.Max, 2).Expand(x.Shape())).ReduceAxes(uop.Add, 2)
		}, fuse.ComputedOnce, 1},
		{"product of those", func(g graph) *uop.UOp {
			x := g.in(64, 64).Permute([]int{1, 0}).Add(g.in(64, 64)).Cast(uop.Float16)
			shape := uop.ShapeOf(64, 64, 64)
			rows, columns := x.Reshape(uop.ShapeOf(64, 1, 64)).Expand(shape), x.Reshape(uop.ShapeOf(1, 64, 64)).Expand(shape)
			return rows.Mul(columns).Cast(uop.Float32).ReduceAxes(uop.Add, 2)
		}, fuse.RereadPays, 2},
		{"few of those", func(g graph) *uop.UOp {
			return g.in(8, 8).Permute([]int{1, 0}).Add(g.in(8, 8)).ReduceAxes(uop.Max, 1)
		}, fuse.CheapRecompute, 1},
		{"rows of which users take a few", func(g graph) *uop.UOp {
			border := []uop.Pair{{Lo: uop.N(2), Hi: uop.N(2)}, {Lo: uop.N(2), Hi: uop.N(2)}}
			return g.ok(tensor.PadWith(g.in(512, 512), border, tensor.PadReflect))
		}, fuse.CheapRecompute, 3},
		{"short rows that lie across", func(g graph) *uop.UOp {
			x := g.in(32, 16, 2, 16).Permute([]int{0, 3, 1, 2}).Reshape(uop.ShapeOf(1024, 16))
			v := x.Mul(x).Add(x).Mul(x).Add(x).Mul(x)
			most := v.ReduceAxes(uop.Max, 1).Expand(v.Shape())
			return v.Lt(most).Where(v, most).ReduceAxes(uop.Add, 1)
		}, fuse.CheapRecompute, 2},
		{"one user", func(g graph) *uop.UOp { return g.in(64, 64).Exp2().Sin().ReduceAxes(uop.Add, 1) }, fuse.ComputedOnce, 1},
		{"factor of no other terms", func(g graph) *uop.UOp {
			x, y := g.in(64, 64), g.in(64, 64)
			return x.Add(y).Mul(y).ReduceAxes(uop.Add, 1)
		}, fuse.ComputedOnce, 1},
		{"sum of other axes", func(g graph) *uop.UOp {
			shape := uop.ShapeOf(64, 64, 64)
			return g.in(1, 64, 64).Expand(shape).ReduceAxes(uop.Add, 1).Mul(g.in(64, 1, 64))
		}, fuse.RereadPays, 2},
		{"cast to a larger type", func(g graph) *uop.UOp {
			narrow := g.in(1, 512).Exp2().Cast(uop.Float16)
			return narrow.Cast(uop.Float32).Expand(uop.ShapeOf(64, 512)).Add(g.in(64, 512))
		}, fuse.NarrowStored, 2},
		{"mask of numbers", func(g graph) *uop.UOp {
			of := func(v float64) *uop.UOp {
				return g.Const(uop.Float32, uop.Float(v)).Reshape(uop.ShapeOf(1, 1)).Expand(uop.ShapeOf(1, 512))
			}
			mask := g.in(1, 512).Lt(g.in(1, 512)).Where(of(0), of(-1e9))
			return mask.Expand(uop.ShapeOf(64, 512)).Add(g.in(64, 512))
		}, fuse.CheapMask, 1},
		{"choice of values", func(g graph) *uop.UOp {
			x := g.in(1, 512)
			mask := x.Lt(g.in(1, 512)).Where(x.Exp2(), x)
			return mask.Expand(uop.ShapeOf(64, 512)).Add(g.in(64, 512))
		}, fuse.RereadPays, 2},
		{"elements looked up in a sum of two", func(g graph) *uop.UOp { return columns(g, g.in(64, 64).Add(g.in(64, 64))) }, fuse.RereadPays, 3},
		{"elements looked up among bytes", func(g graph) *uop.UOp {
			x := g.NewBuffer("CPU", 64*64, uop.Int8).Reshape(uop.ShapeOf(64, 64)).Cast(uop.Float32)
			return columns(g, x.Add(g.in(1, 1).Expand(uop.ShapeOf(64, 64))))
		}, fuse.RereadPays, 3},
		{"in a sum with one of each row", func(g graph) *uop.UOp { return columns(g, g.in(64, 64).Add(g.in(64, 1).Expand(uop.ShapeOf(64, 64)))) }, fuse.ComputedOnce, 2},
		{"many repetitions", func(g graph) *uop.UOp { return g.in(1, 512).Exp2().Expand(uop.ShapeOf(64, 512)).Add(g.in(64, 512)) }, fuse.RereadPays, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGraph(t)
			s, ds := g.decided(options, c.out(g))
			if !decided(ds, "kernels", c.reason) {
				t.Errorf("%v, expected a value with the reason %q", ds, c.reason)
			}
			g.expect(s, c.kernels)
		})
	}
}

// Who needs the value of an output reads the output.
func TestOutputsAreShared(t *testing.T) {
	g := newGraph(t)
	h := times(g.in(64, 64), g.in(64, 64))
	g.expect(g.fused(options, h, h.Exp2().ReduceAxes(uop.Max, 0)), 2)
	// One that is padded needs no conditions there.
	g = newGraph(t)
	padded := g.in(64, 64).Exp2().Pad([]uop.Pair{{}, {Lo: uop.N(1), Hi: uop.N(1)}})
	s := g.fused(options, padded, padded.ReduceAxes(uop.Add, 0))
	g.expect(s, 2)
	if n := count(s, uop.Exp2); n != 1 {
		t.Errorf("%d exponentials, expected 1", n)
	}
}

// columns are columns of a matrix that are looked up.
func columns(g graph, x *uop.UOp) *uop.UOp {
	return g.ok(tensor.IndexSelect(x, 1, g.NewBuffer("CPU", 64, uop.Int32)))
}

// A decision about a value says what is done, why, and with which costs.
func TestDecisionAboutAValueIsALine(t *testing.T) {
	g := newGraph(t)
	_, ds := g.decided(options, times(g.in(64, 64), g.in(64, 64)).ReduceAxes(uop.Add, 0))
	for _, d := range ds {
		if d.Value != nil && d.Reason == fuse.NestedReduction {
			line := d.String()
			for _, want := range []string{"kernels: value reduction (add of", "store: another reduction reads it", "4096 elements, computed 4096 times"} {
				if !strings.Contains(line, want) {
					t.Errorf("%q, expected %q in it", line, want)
				}
			}
			return
		}
	}
	t.Errorf("%v, expected a decision about the product", ds)
}
