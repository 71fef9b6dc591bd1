package fuse_test

import (
	"testing"

	"polygrad/core/schedule/fuse"
	"polygrad/core/uop"
)

// choice is an output and a sum over a temporary that the same kernel stores: a choice between the output and its operand.
func choice(g graph) []*uop.UOp {
	x := g.in(64, 512)
	e := x.Exp2().ContiguousOp()
	return []*uop.UOp{e, x.Lt(e).Where(e, x).ContiguousOp().Mul(x).ReduceAxes(uop.Add, 0)}
}

// A temporary is computed by a sum that reads it in another order than it is stored, unless that takes more operations than memory.
func TestTemporariesAreRematerialized(t *testing.T) {
	of := func(value func(x, y *uop.UOp) *uop.UOp) func(g graph) []*uop.UOp {
		return func(g graph) []*uop.UOp {
			x := g.in(64, 512)
			v := value(x, g.in(64, 512)).ContiguousOp()
			return []*uop.UOp{v.Exp2(), v.Mul(x).ReduceAxes(uop.Add, 0)}
		}
	}
	for _, c := range []struct {
		name      string
		build     func(g graph) []*uop.UOp
		reason    fuse.Reason
		functions int // of the kernels
	}{
		{"from an output", choice, fuse.Pays, 1},
		{"from inputs", of(func(x, y *uop.UOp) *uop.UOp { return x.Lt(y).Where(x, y) }), fuse.Pays, 1},
		{"many operations", of(func(x, y *uop.UOp) *uop.UOp { return x.Exp2().Sin().Exp2().Mul(y) }), fuse.Recompute, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGraph(t)
			s, ds := g.decided(options, c.build(g)...)
			n := 0
			for _, slot := range s.Slots {
				if slot.Input < 0 && slot.Output < 0 {
					n++
				}
			}
			if d := last(ds, "rematerialize"); d == nil || d.Reason != c.reason || (n == 0) != (c.reason == fuse.Pays) {
				t.Errorf("%v and %d temporaries, expected %q", d, n, c.reason)
			}
			if n := count(s, uop.Exp2); n != c.functions {
				t.Errorf("%d exponentials, expected %d", n, c.functions)
			}
		})
	}
}
