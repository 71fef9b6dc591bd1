package fuse_test

import (
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

func (g graph) sorted(n int64) *uop.UOp {
	values, _, err := tensor.Sort(g.in(n), 0, false)
	if err != nil {
		g.Fatal(err)
	}
	return values
}

// A pass over the digits of a sort moves each element in the loop that finds its place: places of elements are not stored.
func TestIndirectStoresJoinTheirAddresses(t *testing.T) {
	const n = 1000
	for _, c := range []struct {
		name   string
		places bool
		build  func(g graph, place *uop.UOp) []*uop.UOp
	}{
		{"a move", false, func(g graph, place *uop.UOp) []*uop.UOp { return []*uop.UOp{fuseSequential(g, place, g.in(n))} }},
		{"two moves", false, func(g graph, place *uop.UOp) []*uop.UOp {
			return []*uop.UOp{fuseSequential(g, place, g.in(n)), fuseSequential(g, place, g.in(n))}
		}},
		{"a place that is used elsewhere", true, func(g graph, place *uop.UOp) []*uop.UOp {
			return []*uop.UOp{fuseSequential(g, place, g.in(n)), place}
		}},
		{"an element from another place", true, func(g graph, place *uop.UOp) []*uop.UOp {
			return []*uop.UOp{fuseSequential(g, place.Flip(uop.Flags{true}), g.in(n))}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGraph(t)
			ints := func(n int64) *uop.UOp { return g.NewBuffer("CPU", n, uop.Int32) }
			digit := ints(n)
			one := digit.ConstLike(uop.Int(1))
			place := ints(256).FetchFrom(uop.ScatterArg{Op: uop.Add, Checked: true}, digit, one)
			s := g.fused(options, c.build(g, place)...)
			stored := false
			for _, slot := range s.Slots {
				stored = stored || slot.Input < 0 && slot.Size == n && slot.DType == uop.Int32
			}
			if stored != c.places {
				t.Errorf("places are stored: %v, expected %v\n%s", stored, c.places, s.Dump())
			}
		})
	}
}

func fuseSequential(g graph, place, v *uop.UOp) *uop.UOp {
	return v.ConstLike(uop.Float(0)).StoreWhole(0, place, v)
}

// A running reduction computes cheap functions of its values in its loop; others run in full vectors, in a kernel of their own.
func TestRunningReductionsWithFunctions(t *testing.T) {
	for _, c := range []struct {
		name    string
		kernels int
		build   func(sums *uop.UOp) []*uop.UOp
	}{
		{"one operation", 1, func(sums *uop.UOp) []*uop.UOp { return []*uop.UOp{sums.Mul(sums.ConstLike(uop.Float(2)))} }},
		{"of sums that are wanted, too", 1, func(sums *uop.UOp) []*uop.UOp { return []*uop.UOp{sums, sums.Mul(sums.ConstLike(uop.Float(2)))} }},
		{"many operations", 2, func(sums *uop.UOp) []*uop.UOp { return []*uop.UOp{sums.Sin().Exp2()} }},
		{"the neighbour", 2, func(sums *uop.UOp) []*uop.UOp {
			return []*uop.UOp{sums.Flip(uop.Flags{true, false}).Mul(sums.ConstLike(uop.Float(2)))}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGraph(t)
			s := g.fused(options, c.build(g.ok(tensor.CumSum(g.in(100, 64), 1)))...)
			if len(s.Kernels) != c.kernels {
				t.Errorf("%d kernels, expected %d\n%s", len(s.Kernels), c.kernels, s.Dump())
			}
		})
	}
}

// Elements are read when their last value is stored: a place that several iterations store to is not read in their loop.
func TestScatteredElementsAreReadAfterTheLoop(t *testing.T) {
	const n = 3
	g := newGraph(t)
	values := g.in(n)
	place := g.Const(uop.Int32, uop.Int(0)).Reshape(uop.ShapeOf(1)).Expand(uop.ShapeOf(n))
	most := g.in(1).ScatterTo(uop.ScatterArg{Op: uop.Max, Checked: true}, place, values)
	s := g.fused(options, most.Expand(uop.ShapeOf(n)).Mul(values.ConstLike(uop.Float(2))))
	for _, k := range s.Kernels {
		scatters, reads := false, false
		for _, u := range k.AST.Toposort() {
			scatters = scatters || u.Op == uop.Range && u.RangeID().Type == uop.AxisPrefix
			reads = reads || u.Op == uop.Mul
		}
		if scatters && reads {
			t.Errorf("an element is read in the loop that scatters to it\n%s", s.Dump())
		}
	}
}

// Running maxima and their positions, which read the maximum before each element, are one loop. Sums of the elements before would round
// otherwise.
func TestPositionsOfRunningMaxima(t *testing.T) {
	both := func(values, at *uop.UOp, err error) []*uop.UOp {
		if err != nil {
			t.Fatal(err)
		}
		return []*uop.UOp{values, at}
	}
	before := func(g graph, y *uop.UOp) *uop.UOp {
		p := uop.PrefixArg{Op: uop.Max, Axis: 1}
		return g.ok(tensor.Maximum(y.NeighbourAlong(p, -1, uop.Int(0)), g.in(2000, 2048))).PrefixAlong(p)
	}
	for _, c := range []struct {
		name    string
		kernels int
		build   func(g graph, x *uop.UOp) []*uop.UOp
	}{
		{"maxima", 1, func(_ graph, x *uop.UOp) []*uop.UOp { return both(tensor.CumMax(x, 1)) }},
		{"minima", 1, func(_ graph, x *uop.UOp) []*uop.UOp { return both(tensor.CumMin(x, 1)) }},
		{"columns", 1, func(_ graph, x *uop.UOp) []*uop.UOp { return both(tensor.CumMax(x, 0)) }},
		{"positions only", 1, func(_ graph, x *uop.UOp) []*uop.UOp { return both(tensor.CumMax(x, 1))[1:] }},
		{"sums", 2, func(g graph, x *uop.UOp) []*uop.UOp {
			y := g.ok(tensor.CumSum(x, 1))
			return []*uop.UOp{y, before(g, y)}
		}},
		{"of a function, which is stored", 2, func(_ graph, x *uop.UOp) []*uop.UOp { return both(tensor.CumMax(x.Sin().Exp2(), 1)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGraph(t)
			if s := g.fused(options, c.build(g, g.in(2000, 2048))...); len(s.Kernels) != c.kernels {
				t.Errorf("%d kernels, expected %d\n%s", len(s.Kernels), c.kernels, s.Dump())
			}
		})
	}
}
