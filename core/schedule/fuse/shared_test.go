package fuse_test

import (
	"testing"

	"polygrad/core/schedule"
	"polygrad/core/schedule/fuse"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// The state of a recurrent network is computed once in each step, not in every step from the first on.
func TestSharedStateIsStored(t *testing.T) {
	g := newGraph(t)
	const steps, size = 5, 32
	state, cell, weight := g.in(8, size), g.in(8, size), g.in(size, size)
	for range steps {
		wide := state.Reshape(uop.ShapeOf(8, 1, size)).Expand(uop.ShapeOf(8, size, size))
		product := wide.Mul(weight.Reshape(uop.ShapeOf(1, size, size)).Expand(uop.ShapeOf(8, size, size))).ReduceAxes(uop.Add, 2)
		gate := product.Reshape(uop.ShapeOf(8, size))
		cell = cell.Mul(gate.Exp2()).Add(gate.Sin())
		state = cell.Exp2().Mul(gate.Sin())
	}
	if n := count(g.fused(options, state), uop.Exp2); n != 2*steps {
		t.Errorf("%d exponentials, expected two for each of %d steps", n, steps)
	}
	root, _, _, err := schedule.Normalize(symbolic.NewGraph(), g.Sink(nil, state))
	if err != nil {
		t.Fatal(err)
	}
	s, err := schedule.New(root)
	if err != nil {
		t.Fatal(err)
	}
	if n := count(s, uop.Exp2); n <= 2*steps {
		t.Errorf("%d exponentials if nothing is stored, expected more than %d", n, 2*steps)
	}
}

// What takes one function, or is needed once, is computed where it is needed.
func TestCheapValuesAreNotStored(t *testing.T) {
	g := newGraph(t)
	x := g.in(8, 32)
	once := x.Exp2().Sin().ReduceAxes(uop.Add, 1)
	cheap := x.Exp2()
	root := g.Sink(nil, once, cheap.ReduceAxes(uop.Add, 1), cheap.ReduceAxes(uop.Max, 0))
	if fuse.StoreShared(root) != root {
		t.Error("something is stored")
	}
}
