package schedule_test

import (
	"strings"
	"testing"

	"polygrad/core/schedule"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

// tensors builds small graphs.
type tensors struct {
	*testing.T
	g *uop.Graph
}

func newTensors(t *testing.T) tensors { return tensors{t, symbolic.NewGraph()} }

func (t tensors) input(dims ...int64) *uop.UOp {
	s := uop.ShapeOf(dims...)
	return t.g.NewBuffer("CPU", s.MaxNumel(), uop.Float32).Reshape(s)
}

func (t tensors) schedule(outs ...*uop.UOp) *schedule.Schedule {
	t.Helper()
	s, err := t.try(outs...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (t tensors) try(outs ...*uop.UOp) (*schedule.Schedule, error) {
	root, _, _, err := schedule.Normalize(symbolic.NewGraph(), t.g.Sink(nil, outs...))
	if err != nil {
		return nil, err
	}
	return schedule.New(root)
}

func TestTwoOutputsAndATemporary(t *testing.T) {
	ts := newTensors(t)
	x := ts.input(4, 8)
	sum := x.ReduceAxes(uop.Add, 1).ContiguousOp()
	y := sum.Mul(sum)
	z := x.Add(sum.Expand(x.Shape()))
	s := ts.schedule(y, z)
	if len(s.Kernels) != 3 || len(s.Slots) != 4 {
		t.Fatalf("%d kernels on %d slots, expected 3 on 4", len(s.Kernels), len(s.Slots))
	}
	var inputs, outputs, temporaries int
	for _, slot := range s.Slots {
		switch {
		case slot.Input >= 0:
			inputs++
		case slot.Output >= 0:
			outputs++
		default:
			temporaries++
			if slot.Size != 4 || slot.DType != uop.Float32 || s.ArenaBytes != schedule.ArenaAlign {
				t.Errorf("temporary %+v in an arena of %d bytes, expected 4 floats in 256", slot, s.ArenaBytes)
			}
		}
	}
	if inputs != 1 || outputs != 2 || temporaries != 1 {
		t.Errorf("%d inputs, %d outputs, %d temporaries, expected 1, 2, 1", inputs, outputs, temporaries)
	}
	for i, o := range s.Outputs {
		if s.Slots[o.Slot].Output != i || o.Value.Base().Op != uop.Buffer {
			t.Errorf("output %d is %s in slot %d", i, o.Value, o.Slot)
		}
	}
}

func TestNothingRunsForViewsAndConstants(t *testing.T) {
	ts := newTensors(t)
	x := ts.input(4, 8)
	one := ts.g.DeviceConst(uop.Float32, uop.Float(1), "CPU", uop.ShapeOf(3))
	empty := ts.input(0, 3).ReduceAxes(uop.Add, 0)
	s := ts.schedule(x.Permute([]int{1, 0}), one, empty)
	if len(s.Kernels) != 0 {
		t.Fatalf("%d kernels, expected none", len(s.Kernels))
	}
	for i, base := range []uop.Op{uop.Param, uop.ConstOp, uop.ConstOp} {
		if o := s.Outputs[i]; o.Slot != -1 || o.Value.Base().Op != base {
			t.Errorf("output %d is %s in slot %d, expected a view of %s in none", i, o.Value, o.Slot, base)
		}
	}
	if v := s.Outputs[2].Value.Base(); !v.IsConst(uop.Int(0)) {
		t.Errorf("the sum of nothing is %s, expected 0", v)
	}
}

// A view that is wanted and used in the same graph gets a buffer although its base is cheap to compute again.
func TestWantedViewOfInlinedValue(t *testing.T) {
	ts := newTensors(t)
	x := ts.input(2, 8)
	view := x.Mul(x).Pad([]uop.Pair{{Lo: uop.N(0), Hi: uop.N(0)}, {Lo: uop.N(1), Hi: uop.N(0)}})
	s := ts.schedule(view, view.Add(view))
	if len(s.Kernels) != 2 {
		t.Fatalf("%d kernels, expected 2", len(s.Kernels))
	}
	for i, o := range s.Outputs {
		if o.Slot < 0 {
			t.Errorf("output %d has no buffer: %s", i, o.Value)
		}
	}
}

// A contiguous view of a contiguous value has no buffer of its own, even where its number is lost on the way.
func TestWantedViewOfContiguousValue(t *testing.T) {
	ts := newTensors(t)
	a := ts.input(8)
	a = a.Mul(a)
	b := a.ContiguousOp()
	view := b.Reshape(uop.ShapeOf(2, 4))
	for _, wanted := range []*uop.UOp{view.ContiguousOp(), view.Alu(uop.Detach).ContiguousOp(), view.Alu(uop.Detach)} {
		s := ts.schedule(wanted, b.Alu(uop.Max, a).ContiguousOp())
		if len(s.Kernels) != 2 {
			t.Fatalf("%d kernels, expected 2", len(s.Kernels))
		}
		if o := s.Outputs[0]; o.Slot < 0 || !o.Value.Shape().Equal(uop.ShapeOf(2, 4)) {
			t.Errorf("output 0 is %s in slot %d, expected a view of shape 2, 4 of a buffer", o.Value, o.Slot)
		}
	}
}

// The kernel that overwrites x runs after the kernels that read the old x.
func TestAssignWaitsForReaders(t *testing.T) {
	ts := newTensors(t)
	x := ts.input(4, 8)
	one := x.ConstLike(uop.Float(1))
	sum := x.ReduceAxes(uop.Add, 1).ContiguousOp()
	s := ts.schedule(x.AssignTo(x.Add(one)), sum)
	last := s.Kernels[len(s.Kernels)-1]
	if len(s.Kernels) != 2 || s.Slots[last.Bufs[0]].Input != 0 {
		t.Fatalf("%d kernels, the last writes %+v, expected 2, the last writes the input", len(s.Kernels), s.Slots[last.Bufs[0]])
	}
	if o := s.Outputs[0]; s.Slots[o.Slot].Input != 0 || s.Slots[o.Slot].Output != 0 {
		t.Errorf("the assigned value is in %+v, expected the input", s.Slots[o.Slot])
	}
}

func TestCircleOfAssignsIsAnError(t *testing.T) {
	ts := newTensors(t)
	x := ts.input(4, 8)
	y := x.AssignTo(x.Add(x.ConstLike(uop.Float(1))))
	_, err := ts.try(x.Add(y))
	if err == nil || !strings.Contains(err.Error(), "cycle") {
		t.Errorf("error %v, expected one about a cycle", err)
	}
}

func TestNormalizeNumbersByStructure(t *testing.T) {
	ts := newTensors(t)
	cache := symbolic.NewGraph()
	request := func() (*uop.UOp, *uop.UOp, *uop.UOp) {
		a, b := ts.input(4), ts.input(4)
		return a, b, ts.g.Sink(nil, b.Add(a), a.Mul(b))
	}
	a, b, sink := request()
	r1, bufs, _, err := schedule.Normalize(cache, sink)
	if err != nil {
		t.Fatal(err)
	}
	if len(bufs) != 2 || bufs[0] != b || bufs[1] != a {
		t.Errorf("buffers %v, expected the one that is read first, then the other", bufs)
	}
	_, _, other := request()
	if r2, _, _, _ := schedule.Normalize(cache, other); r2 != r1 {
		t.Errorf("two requests of one structure differ:\n%s%s", r1.Dump(), r2.Dump())
	}
}

func TestNormalizeCollectsVariables(t *testing.T) {
	ts := newTensors(t)
	v := ts.g.Variable("n", uop.Int(1), uop.Int(8), uop.IndexT)
	part := func(n int64) *uop.UOp {
		return ts.input(8).Shrink([]uop.Pair{{Lo: uop.N(0), Hi: uop.S(v.BindTo(n))}})
	}
	x := part(3)
	root, _, vars, err := schedule.Normalize(symbolic.NewGraph(), ts.g.Sink(nil, x.Add(x)))
	if err != nil || vars["n"] != 3 {
		t.Fatalf("variables %v, error %v, expected n = 3", vars, err)
	}
	s, err := schedule.New(root)
	if err != nil {
		t.Fatal(err)
	}
	if vs := s.Kernels[0].Vars; len(vs) != 1 || vs[0].Arg.(uop.VarArg).Name != "n" {
		t.Errorf("the kernel needs %v, expected n", vs)
	}
	if s.Slots[s.Outputs[0].Slot].Size != 8 {
		t.Errorf("the output has %d elements, expected room for 8", s.Slots[s.Outputs[0].Slot].Size)
	}
	_, _, _, err = schedule.Normalize(symbolic.NewGraph(), ts.g.Sink(nil, part(3).ReduceAxes(uop.Add, 0), part(4).ReduceAxes(uop.Add, 0)))
	if err == nil || !strings.Contains(err.Error(), "3 and to 4") {
		t.Errorf("error %v for two values of one variable", err)
	}
}

func TestBadRequestsAreErrors(t *testing.T) {
	g := symbolic.NewGraph()
	x := g.NewBuffer("CPU", 4, uop.Float32)
	if _, _, _, err := schedule.Normalize(g, x); err == nil {
		t.Error("Normalize took a BUFFER for a SINK")
	}
	if _, _, _, err := schedule.Normalize(nil, nil); err == nil {
		t.Error("Normalize took nil")
	}
	if _, err := schedule.New(nil); err == nil {
		t.Error("New took nil")
	}
	if _, err := schedule.New(g.Sink(nil, x)); err == nil || !strings.Contains(err.Error(), "BUFFER") {
		t.Errorf("error %v, expected that a BUFFER is left in the graph", err)
	}
	bad := g.New(uop.Add, uop.Float32, []*uop.UOp{x, g.NewBuffer("CPU", 5, uop.Float32)}, nil, nil)
	root, _, _, err := schedule.Normalize(g, g.Sink(nil, bad))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schedule.New(root); err == nil || !strings.Contains(err.Error(), "pass") {
		t.Errorf("error %v, expected one that names the pass", err)
	}
}

func TestMaxBuffersSplitsKernels(t *testing.T) {
	ts := newTensors(t)
	sum := ts.input(16)
	for range 11 {
		sum = sum.Add(ts.input(16))
	}
	root, _, _, err := schedule.Normalize(symbolic.NewGraph(), ts.g.Sink(nil, sum))
	if err != nil {
		t.Fatal(err)
	}
	s, err := schedule.New(root, schedule.WithMaxBuffers(8))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Kernels) < 2 {
		t.Errorf("%d kernel, expected the 13 buffers to be split up", len(s.Kernels))
	}
	for i, k := range s.Kernels {
		if len(k.Bufs) > 8 {
			t.Errorf("kernel %d uses %d buffers, allowed are 8", i, len(k.Bufs))
		}
	}
}

// The kernels of the reference cases with all orders of work keep their temporaries apart.
func TestTemporariesDoNotOverlap(t *testing.T) {
	planned := 0
	eachCase(t, func(t testing.TB, _, _ string, c *dump.Case) {
		root, _ := normalized(t, c)
		s, err := schedule.New(root)
		if err != nil {
			t.Fatal(err)
		}
		planned += checkArena(t, s)
	})
	if planned < 100 {
		t.Errorf("only %d temporaries were looked at", planned)
	}
}

func checkArena(t testing.TB, s *schedule.Schedule) (temporaries int) {
	type life struct{ first, last int }
	lives := map[int]life{}
	for i, k := range s.Kernels {
		for _, b := range k.Bufs {
			if l, ok := lives[b]; ok {
				lives[b] = life{l.first, i}
			} else {
				lives[b] = life{i, i}
			}
		}
	}
	bytes := func(b int) int64 { return s.Slots[b].Size * int64(s.Slots[b].DType.Itemsize()) }
	for a, la := range lives {
		x := s.Slots[a]
		if x.Input >= 0 || x.Output >= 0 {
			continue
		}
		temporaries++
		if x.Offset%64 != 0 || x.Offset+bytes(a) > s.ArenaBytes {
			t.Errorf("slot %d at %d with %d bytes in an arena of %d", a, x.Offset, bytes(a), s.ArenaBytes)
		}
		for b, lb := range lives {
			y := s.Slots[b]
			if a == b || y.Input >= 0 || y.Output >= 0 || la.last < lb.first || lb.last < la.first {
				continue
			}
			if x.Offset < y.Offset+bytes(b) && y.Offset < x.Offset+bytes(a) {
				t.Errorf("slots %d and %d overlap while both are needed", a, b)
			}
		}
	}
	return temporaries
}

// A device with few threads splits a long reduction once: each part goes through neighbours.
func TestFewRowsAreEnough(t *testing.T) {
	for _, c := range []struct {
		rows    int64
		kernels int
		parts   int64
	}{{0, 3, 0}, {64, 2, 250}, {4, 2, 16}} {
		ts := newTensors(t)
		x := ts.input(10_000_000)
		root, _, _, err := schedule.Normalize(symbolic.NewGraph(), ts.g.Sink(nil, x.ReduceAxes(uop.Add, 0)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := schedule.New(root, schedule.WithRows(c.rows))
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Kernels) != c.kernels {
			t.Fatalf("%d rows: %d kernels, expected %d", c.rows, len(s.Kernels), c.kernels)
		}
		if c.rows == 0 {
			continue
		}
		red := s.Kernels[0].AST.Find(func(u *uop.UOp) bool { return u.Op == uop.Reduce })
		if n := red.Src[1].Src[0].ConstVal().I(); n != 10_000_000/c.parts || s.Slots[s.Kernels[0].Bufs[0]].Size != c.parts {
			t.Errorf("rows of %d in %+v, expected %d rows", n, s.Slots[s.Kernels[0].Bufs[0]], c.parts)
		}
	}
}

// A sum of all elements is split into parts that lie in memory one after the other, also if the number of rows has no fitting divisor.
func TestSumOfAllElementsIsSplitInOrder(t *testing.T) {
	for name, c := range map[string]struct {
		rows, columns int64
		of            func(x *uop.UOp) *uop.UOp
		parts         int
	}{
		"rows of a small divisor": {29 * 1733, 768, func(x *uop.UOp) *uop.UOp { return x }, 256},
		"a prime of rows":         {10007, 512, func(x *uop.UOp) *uop.UOp { return x.Mul(x).Mul(x.ConstLike(uop.Float(2))) }, 256},
		"rows of a large divisor": {1000, 1000, func(x *uop.UOp) *uop.UOp { return x }, 250},
	} {
		ts := newTensors(t)
		root, _, _, err := schedule.Normalize(symbolic.NewGraph(), ts.g.Sink(nil, c.of(ts.input(c.rows, c.columns)).ReduceAxes(uop.Add, 0, 1)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := schedule.New(root, schedule.WithRows(64))
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Kernels) != 2 {
			t.Fatalf("%s: %d kernels, expected 2", name, len(s.Kernels))
		}
		parts := s.Kernels[0].AST.Find(func(u *uop.UOp) bool { return u.Op == uop.Range && u.RangeID().Type == uop.AxisLoop })
		if parts == nil || parts.Vmax().I() != int64(c.parts-1) {
			t.Errorf("%s: the loop over parts is %v, expected %d of them", name, parts, c.parts)
		}
	}
}

// A reduction of a flattened value is split along the axes that it had: positions in rows are not divided.
func TestFlattenedReductionIsSplitAlongRows(t *testing.T) {
	ts := newTensors(t)
	x, y := ts.input(384, 384), ts.input(384, 1)
	sum := x.Add(y.Expand(x.Shape())).Reshape(uop.Shape{uop.N(384 * 384)}).ReduceAxes(uop.Max, 0)
	root, _, _, err := schedule.Normalize(symbolic.NewGraph(), ts.g.Sink(nil, sum))
	if err != nil {
		t.Fatal(err)
	}
	s, err := schedule.New(root, schedule.WithRows(64))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Kernels) != 2 {
		t.Fatalf("%d kernels, expected 2", len(s.Kernels))
	}
	if u := s.Kernels[0].AST.Find(func(u *uop.UOp) bool { return u.Op == uop.Idiv || u.Op == uop.Mod }); u != nil {
		t.Errorf("a position is divided: %s", u.Render())
	}
}

// An ASSIGN whose kernel would read elements that other iterations write is made by way of a temporary; others are not.
func TestAssignFromElsewhereInTheTarget(t *testing.T) {
	for name, c := range map[string]struct {
		value   func(x *uop.UOp) *uop.UOp
		kernels int
	}{
		"the same element":  {func(x *uop.UOp) *uop.UOp { return x.Mul(x) }, 1},
		"a sum of all":      {func(x *uop.UOp) *uop.UOp { return x.Mul(x.ReduceAxes(uop.Add, 0).Expand(x.Shape())) }, 2},
		"the first element": {func(x *uop.UOp) *uop.UOp { return x.Mul(first(x).Expand(x.Shape())) }, 2},
	} {
		ts := newTensors(t)
		x := ts.input(100)
		s := ts.schedule(x.AssignTo(c.value(x)))
		if len(s.Kernels) != c.kernels || s.Outputs[0].Slot != s.Kernels[c.kernels-1].Bufs[0] {
			t.Errorf("%s: %d kernels, of which the last writes slot %d and not the target %d; expected %d", name, len(s.Kernels), s.Kernels[len(s.Kernels)-1].Bufs[0], s.Outputs[0].Slot, c.kernels)
		}
	}
}

// first is the first element of a vector.
func first(x *uop.UOp) *uop.UOp { return x.Shrink([]uop.Pair{{Lo: uop.N(0), Hi: uop.N(1)}}) }
