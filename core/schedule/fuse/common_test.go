package fuse_test

import (
	"testing"

	"polygrad/core/schedule/fuse"
	"polygrad/core/uop"
)

// A function that several kernels compute, of a row of every third element or of rolled rows, is stored for all of them if it takes more
// operations than memory.
func TestCommonFunctionsAreStored(t *testing.T) {
	everyThird := func(x *uop.UOp) *uop.UOp {
		s := x.Shape()
		x = x.Reshape(uop.ShapeOf(s[0].N, s[1].N/3, 3))
		return x.Shrink([]uop.Pair{{Hi: s[0]}, {Hi: uop.N(s[1].N / 3)}, {Hi: uop.N(1)}}).Reshape(uop.ShapeOf(s[0].N, s[1].N/3))
	}
	for _, c := range []struct {
		name      string
		function  func(x *uop.UOp) *uop.UOp
		stored    bool
		functions int // of the kernels
	}{
		{"many operations", func(x *uop.UOp) *uop.UOp { return x.Sin().Exp2().Sin().Exp2() }, true, 2},
		{"shared operands", func(x *uop.UOp) *uop.UOp { // 2^40 paths
			for range 40 {
				x = x.Add(x.Mul(x))
			}
			return x.Sin()
		}, true, 2},
		{"one operation", func(x *uop.UOp) *uop.UOp { return x.Mul(x) }, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGraph(t)
			s, ds := g.decided(options, softmax(c.function(everyThird(g.in(192, 384))), 1))
			if stored := decided(ds, "store common", fuse.Pays); stored != c.stored {
				t.Errorf("stored: %v, expected %v", stored, c.stored)
			}
			if n := count(s, uop.Sin); n != c.functions {
				t.Errorf("%d sines, expected %d", n, c.functions)
			}
		})
	}
}

// The loops over rows of every other element are merged: vectors load them as pairs.
func TestEveryOtherElementIsARow(t *testing.T) {
	g := newGraph(t)
	pairs := g.in(64, 96).Reshape(uop.ShapeOf(64, 48, 2))
	x := pairs.Shrink([]uop.Pair{{Hi: uop.N(64)}, {Hi: uop.N(48)}, {Hi: uop.N(1)}}).Reshape(uop.ShapeOf(64, 48))
	if s, _ := g.decided(options, softmax(x, 1)); len(s.Kernels) != 1 {
		t.Errorf("%d kernels, expected 1", len(s.Kernels))
	}
}

// What is computed of a maximum that its kernel stores is stored by that kernel, as its reader goes through it in another order.
func TestCommonFunctionsOfReductions(t *testing.T) {
	g := newGraph(t)
	x := g.in(384, 192)
	pooled := softmax(x.Sin(), 1).Reshape(uop.ShapeOf(192, 2, 96, 2)).ReduceAxes(uop.Max, 1, 3)
	s, ds := g.decided(options, pooled)
	if !decided(ds, "store common", fuse.Pays) || count(s, uop.Exp2) != 1 {
		t.Errorf("%d exponentials, expected 1", count(s, uop.Exp2))
	}
}
