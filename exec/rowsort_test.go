package exec

import (
	"testing"

	"polygrad/core/schedule/fuse"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/transform"
	"polygrad/core/uop"
)

// TestKeysAreSortedOnce: values and their positions are of one sort, whatever sorts.
func TestKeysAreSortedOnce(t *testing.T) {
	inRows := fuse.For(fuse.Machine{Lanes: 16, Threads: 1, L1: 1 << 15, L2: 1 << 20, L3: 1 << 25})
	inRows.SortsRows = true
	halves := inRows
	halves.Machine.Lanes = 8
	networks := fuse.ForInvocations(fuse.Machine{Lanes: 1, Threads: 1, L1: 1 << 15, L2: 1 << 20, L3: 1 << 20})
	for name, c := range map[string]struct {
		o     fuse.Options
		shape uop.Shape
		sorts int // SORTs
	}{
		"a row":       {inRows, uop.ShapeOf(3000), 1},
		"rows":        {inRows, uop.ShapeOf(20, 100), 1},
		"a network":   {inRows, uop.ShapeOf(20, 400), 0},
		"halves":      {halves, uop.ShapeOf(3000), 1},
		"of rows":     {halves, uop.ShapeOf(20, 100), 0},
		"of long":     {halves, uop.ShapeOf(100000), 0},
		"on a device": {networks, uop.ShapeOf(20, 100), 0},
	} {
		g := symbolic.NewGraph()
		x := g.NewBuffer("CPU", c.shape.MaxNumel(), uop.Float32).Reshape(c.shape)
		values, at, err := tensor.Sort(x, -1, false)
		if err != nil {
			t.Fatal(err)
		}
		kernels := func(outs ...*uop.UOp) (all, sorts int) {
			var stores []*uop.UOp
			for _, u := range outs {
				stores = append(stores, g.NewBuffer("CPU", u.Shape().MaxNumel(), u.DType).Store(u))
			}
			s, _, err := portable("test", g.Sink(nil, stores...), &c.o)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range s.Kernels {
				if k.AST.HasOp(uop.Ops(uop.Sort)) {
					sorts++
				}
			}
			return len(s.Kernels), sorts
		}
		alone, _ := kernels(at)
		// Values may be a kernel of their own, after the sort.
		if both, sorts := kernels(values, at); both > alone+1 || sorts != c.sorts {
			t.Errorf("%s: %d kernels, %d SORTs, expected at most %d, %d", name, both, sorts, alone+1, c.sorts)
		}
	}
}

// TestSortsOfBatches: a SORT of a batch is one kernel of all rows, for values alone and with positions.
func TestSortsOfBatches(t *testing.T) {
	o := fuse.For(fuse.Machine{Lanes: 16, Threads: 1, L1: 1 << 15, L2: 1 << 20, L3: 1 << 25})
	o.SortsRows = true
	g := symbolic.NewGraph()
	rows := g.NewBuffer("CPU", 3*5000, uop.Float32).Reshape(uop.ShapeOf(3, 5000))
	row := transform.Placeholder(rows, rows.DType, rows.Shape()[1:])
	values, at, err := tensor.Sort(row, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, outs := range [][]*uop.UOp{{values}, {values, at}} {
		found, err := transform.Batch(outs, map[*uop.UOp]transform.Batched{row: {Node: rows, Mapped: true}}, uop.N(3))
		if err != nil {
			t.Fatal(err)
		}
		var stores []*uop.UOp
		for _, b := range found {
			stores = append(stores, g.NewBuffer("CPU", 3*5000, b.Node.DType).Store(b.Node))
		}
		s, _, err := portable("test", g.Sink(nil, stores...), &o)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, k := range s.Kernels {
			if k.AST.HasOp(uop.Ops(uop.Sort)) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d results: %d kernels with a SORT, expected 1", len(outs), n)
		}
	}
}
