package schedule_test

import (
	"slices"
	"strings"
	"testing"

	"polygrad/core/schedule"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

func (t tensors) buffer(n int64) *uop.UOp { return t.g.NewBuffer("CPU", n, uop.Float32) }

// request schedules STOREs and ASSIGNs. inputs are the BUFFERs in the order of their numbers.
func (t tensors) request(src ...*uop.UOp) (s *schedule.Schedule, inputs []*uop.UOp) {
	t.Helper()
	root, inputs, _, err := schedule.Normalize(symbolic.NewGraph(), t.g.Sink(nil, src...))
	if err != nil {
		t.Fatal(err)
	}
	if s, err = schedule.OfRequest(root); err != nil {
		t.Fatal(err)
	}
	return s, inputs
}

// A STORE of what is computed is an output with a target; one of an input as it is, also where that shows only after passes, is a copy.
func TestStoresAreOutputsAndCopies(t *testing.T) {
	ts := newTensors(t)
	x, sum, same, late, empty := ts.buffer(8), ts.buffer(8), ts.buffer(8), ts.buffer(8), ts.buffer(0)
	square := x.Reshape(uop.ShapeOf(2, 4))
	backward := square.F(uop.ContiguousBackward, nil, nil)
	s, inputs := ts.request(sum.Store(x.Add(x)), same.Store(square), late.Store(backward.Reshape(uop.ShapeOf(8))),
		empty.Store(ts.buffer(0)), sum.Store(x.Add(x)))
	at := func(b *uop.UOp) int { return slices.Index(inputs, b) }
	if len(s.Kernels) != 1 || s.Outputs[0].Target != at(sum) {
		t.Errorf("%d kernels, output %+v, expected 1 and target %d", len(s.Kernels), s.Outputs[0], at(sum))
	}
	if want := []schedule.Copy{{From: at(x), To: at(same)}, {From: at(x), To: at(late)}}; !slices.Equal(s.Copies, want) {
		t.Errorf("copies %v, expected %v", s.Copies, want)
	}
}

// A schedule is printed with all that a device needs to know.
func TestScheduleIsPrinted(t *testing.T) {
	ts := newTensors(t)
	x, y, z := ts.buffer(8), ts.buffer(8), ts.buffer(8)
	sum := x.ReduceAxes(uop.Add, 0).ContiguousOp().Expand(x.Shape())
	s, _ := ts.request(y.Store(x.Mul(sum)), z.Store(x))
	text := s.Dump()
	for _, part := range []string{"8 float", "input 0\n", "1 float, at 0 of 256 bytes\n", "output 0\n", "kernel 1 on slots", "STORE", "= input", "to input"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s\nexpected it to say %q", text, part)
		}
	}
}

// One number fills a buffer, in the type of the buffer.
func TestStoreFitsTheValue(t *testing.T) {
	ts := newTensors(t)
	s, _ := ts.request(ts.buffer(8).Store(ts.g.Const(uop.Int32, uop.Int(3))))
	if o := s.Outputs[0]; len(s.Kernels) != 1 || s.Slots[o.Slot].DType != uop.Float32 || s.Slots[o.Slot].Size != 8 {
		t.Errorf("%d kernels to %+v, expected one to 8 floats", len(s.Kernels), s.Slots[o.Slot])
	}
	ok := ts.buffer(4)
	for _, c := range []struct {
		src  *uop.UOp
		want string
	}{
		{ok.Store(ts.buffer(3)), "a value of shape (3) (3 elements) does not fit a buffer of 4 elements"},
		{ok, "source 0: got PARAM, expected STORE or ASSIGN"},
		{ok.Add(ok).AssignTo(ok), "expected a BUFFER or a view of one"},
	} {
		root, _, _, err := schedule.Normalize(symbolic.NewGraph(), ts.g.Sink(nil, c.src))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := schedule.NewRequest(root); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, expected one with %q", err, c.want)
		}
	}
}

// A later ASSIGN reads what an earlier one wrote, except through a reduction; of two that write all of one buffer only the
// last one writes it.
func TestAssignsTakeEffectInOrder(t *testing.T) {
	ts := newTensors(t)
	x, y, z := ts.buffer(8), ts.buffer(8), ts.buffer(8)
	whole := x.ReduceAxes(uop.Add, 0).Expand(x.Shape())
	request := func(src ...*uop.UOp) *uop.UOp {
		root, _, _, err := schedule.Normalize(symbolic.NewGraph(), ts.g.Sink(nil, src...))
		if err != nil {
			t.Fatal(err)
		}
		r, err := schedule.NewRequest(root)
		if err != nil {
			t.Fatal(err)
		}
		return r.Sink
	}
	sink := request(x.AssignTo(x.Add(x)), y.AssignTo(x.Mul(x)), z.AssignTo(whole))
	if first := sink.Src[0]; !sink.Src[1].Src[1].DependsOn(first) || sink.Src[2].DependsOn(first) {
		t.Errorf("the second ASSIGN reads the first one: %v, the sum does: %v; expected true and false",
			sink.Src[1].Src[1].DependsOn(first), sink.Src[2].DependsOn(first))
	}
	sink = request(x.AssignTo(x.Add(x)), y.AssignTo(x.Mul(x)), x.AssignTo(x.Sub(y)))
	assigns := 0
	for _, u := range sink.Toposort() {
		if u.Op == uop.Assign && u.Src[0].Base() == sink.Src[1].Src[0].Base() {
			assigns++
		}
	}
	if len(sink.Src) != 2 || assigns != 1 {
		t.Errorf("%d sources, %d ASSIGNs to x, expected y and the last one\n%s", len(sink.Src), assigns, sink.Dump())
	}
}

// What each run computes alike is a reduction of memory, or stored, and of nothing that changes.
func TestRunInvariant(t *testing.T) {
	ts := newTensors(t)
	weight, data, state := ts.buffer(8), ts.buffer(8), ts.buffer(8)
	all := func(x *uop.UOp) *uop.UOp { return x.ReduceAxes(uop.Add, 0).Expand(weight.Shape()) }
	norm, stored := all(weight.Mul(weight)), weight.Add(weight).ContiguousOp()
	n := ts.g.Variable("n", uop.Int(1), uop.Int(8), uop.IndexT)
	part := weight.Shrink([]uop.Pair{{Lo: uop.N(0), Hi: uop.S(n.BindTo(3))}}).ReduceAxes(uop.Max, 0)
	sink := ts.g.Sink(nil,
		ts.buffer(8).Store(data.Mul(norm).Add(stored).Add(all(data)).Add(all(state)).Add(weight.Sqrt())),
		ts.buffer(1).Store(part), state.AssignTo(state.Add(data)))
	got := schedule.RunInvariant(sink, []*uop.UOp{data})
	if want := []*uop.UOp{norm.Src[0].Base(), stored}; len(got) != 2 || !slices.Contains(got, stored) || !slices.ContainsFunc(got, func(u *uop.UOp) bool { return u.Op == uop.ReduceAxis && norm.DependsOn(u) }) {
		t.Errorf("%v, expected %v", got, want)
	}
}
