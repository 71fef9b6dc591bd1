package fuse_test

import (
	"testing"

	"polygrad/core/gradient"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// A scatter or a scan writes directly to the output, unless the old contents of the output are still needed.
func TestResultsAreNotCopied(t *testing.T) {
	scattered := func(g graph, base, x *uop.UOp) *uop.UOp {
		rows := g.NewBuffer("CPU", 9, uop.Int32).Reshape(uop.ShapeOf(9, 1)).Expand(uop.ShapeOf(9, 32))
		return base.ScatterTo(uop.ScatterArg{Op: uop.Add}, rows, x)
	}
	for _, c := range []struct {
		name        string
		temporaries int
		build       func(g graph) []*uop.UOp
	}{
		{"a scatter", 0, func(g graph) []*uop.UOp { return []*uop.UOp{scattered(g, g.in(40, 32), g.in(9, 32)).ContiguousOp()} }},
		{"a scan", 0, func(g graph) []*uop.UOp { return []*uop.UOp{g.ok(tensor.CumSum(g.in(8, 100), 1))} }},
		{"a scatter that is used again", 0, func(g graph) []*uop.UOp {
			y := scattered(g, g.in(40, 32), g.in(9, 32))
			return []*uop.UOp{y, y.Exp2()}
		}},
		{"two scatters in a row", 0, func(g graph) []*uop.UOp {
			return []*uop.UOp{scattered(g, scattered(g, g.in(40, 32), g.in(9, 32)), g.in(9, 32)).ContiguousOp()}
		}},
		{"a scatter of what its target was", 1, func(g graph) []*uop.UOp {
			target := g.NewBuffer("CPU", 9*32, uop.Float32)
			was := target.Reshape(uop.ShapeOf(9, 32))
			return []*uop.UOp{target.AssignTo(scattered(g, g.in(9, 32), was).Reshape(target.Shape()))}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGraph(t)
			s := g.fused(options, c.build(g)...)
			n := 0
			for _, slot := range s.Slots {
				if slot.Input < 0 && slot.Output < 0 {
					n++
				}
			}
			if n != c.temporaries {
				t.Errorf("%d temporaries, expected %d\n%s", n, c.temporaries, s.Dump())
			}
		})
	}
}

// Equal views are stored once: those that each position of a window takes of a permuted product.
func TestEqualKernelsAreOne(t *testing.T) {
	g := newGraph(t)
	x := g.in(48, 64)
	y := g.ok(tensor.Sum(times(g.ok(tensor.Unfold(x, 0, 3, 1)).ReduceAxes(uop.Add, 2).Reshape(uop.ShapeOf(46, 64)), g.in(33, 64)).Sin(), nil, false))
	grads, err := gradient.Of(y, []*uop.UOp{x}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := g.decided(options, grads[0])
	g.expect(s, 8)
	if n := count(s, uop.Store); n != 8 {
		t.Errorf("%d stores, expected one in each kernel", n)
	}
}
