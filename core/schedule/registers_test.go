package schedule

import (
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// Loops over few numbers are one kernel whose state is in registers, for each loop of a batch; others say why not.
func TestLoopsInRegisters(t *testing.T) {
	g := symbolic.NewGraph()
	const steps = 7
	param := func(i int64, n ...int64) *uop.UOp {
		s := uop.ShapeOf(n...)
		p := g.New(uop.Param, uop.Float32, []*uop.UOp{g.ShapeArg(uop.ShapeOf(s.Numel().N)), g.DeviceOp("CPU")}, uop.Num(i), nil)
		return p.Reshape(s)
	}
	i := uop.S(g.Variable("i", uop.Int(0), uop.Int(steps-1), uop.IndexT))
	row := func(x *uop.UOp) *uop.UOp {
		return x.Shrink([]uop.Pair{{Lo: i, Hi: i.Add(uop.N(1))}, {Lo: uop.N(0), Hi: x.Shape()[1]}})
	}
	sum := func(x *uop.UOp) *uop.UOp { return x.ReduceAxes(uop.Add, 1).Expand(x.Shape()) }
	step := func(x *uop.UOp) *uop.UOp { return x.Mul(x).Add(x) }
	for _, c := range []struct {
		name   string
		shapes [][]int64 // of the states
		writes func(states []*uop.UOp) []*uop.UOp
		want   string // what the reason begins with
		one    bool
	}{
		{"one number", [][]int64{{1, 1}}, func(s []*uop.UOp) []*uop.UOp { return []*uop.UOp{s[0].AssignTo(step(s[0]))} },
			"1 side by side, each with 1 numbers and 2 operations", true},
		{"many loops", [][]int64{{1000, 1}}, func(s []*uop.UOp) []*uop.UOp { return []*uop.UOp{s[0].AssignTo(step(s[0]))} },
			"1000 side by side, each with 1 numbers and 2 operations", true},
		{"many loops over sums", [][]int64{{100, 3}}, func(s []*uop.UOp) []*uop.UOp { return []*uop.UOp{s[0].AssignTo(sum(step(s[0])))} },
			"100 side by side, each with 4 numbers and 8 operations", true},
		{"sequences that are kept", [][]int64{{1, 20}, {steps, 20}}, func(s []*uop.UOp) []*uop.UOp {
			return []*uop.UOp{s[0].AssignTo(step(s[0])), row(s[1]).AssignTo(step(s[0]))}
		}, "20 side by side, each with 1 numbers", true},
		{"elements of the state by number", [][]int64{{steps, 2}}, func(s []*uop.UOp) []*uop.UOp { return []*uop.UOp{row(s[0]).AssignTo(step(row(s[0])))} },
			"2 side by side: an address of the state depends on the iteration, or on another loop", false},
		{"sums over the batch", [][]int64{{3000, 1}}, func(s []*uop.UOp) []*uop.UOp {
			return []*uop.UOp{s[0].AssignTo(step(s[0]).ReduceAxes(uop.Add, 0).Expand(s[0].Shape()))}
		}, "3000 side by side: ", false},
		{"many numbers", [][]int64{{1, 200}}, func(s []*uop.UOp) []*uop.UOp {
			return []*uop.UOp{s[0].AssignTo(sum(step(s[0])).Add(s[0]))}
		}, "200 side by side: a kernel has no loop over a batch of 200, 1 side by side: ", false},
	} {
		var states, sources []*uop.UOp
		for k, n := range c.shapes {
			states = append(states, param(int64(k), n...))
			sources = append(sources, g.NewBuffer("CPU", uop.ShapeOf(n...).MaxNumel(), uop.Float32).Reshape(uop.ShapeOf(n...)))
		}
		results := g.RepeatOn(uop.RepeatArg{Variable: "i", Count: steps, States: len(states)}, []*uop.UOp{g.Sink(nil, c.writes(states)...)}, sources, nil)
		var stores []*uop.UOp
		for _, r := range results {
			stores = append(stores, g.NewBuffer("CPU", r.Size(), uop.Float32).Store(r.Reshape(uop.ShapeOf(r.Size()))))
		}
		root, _, _, err := Normalize(g, g.Sink(nil, stores...))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Repeated(root, func(root *uop.UOp) (*Schedule, error) { return OfRequest(root) }, false)
		if err != nil || len(s.Loops) != 1 {
			t.Fatalf("%s: %d loops, error %v", c.name, len(s.Loops), err)
		}
		k, reason := s.inRegisters(&s.Loops[0], func(int) bool { return false })
		if (k != nil) != c.one || !strings.HasPrefix(reason, c.want) {
			t.Errorf("%s: one kernel %v, %q; expected %v, %q", c.name, k != nil, reason, c.one, c.want)
		}
		if k != nil && !k[0].AST.HasOp(uop.Ops(uop.DefineReg)) {
			t.Errorf("%s: the kernel has no registers", c.name)
		}
	}
}

// While loops are such kernels, too, which do some iterations in a launch; side by side, if a loop that has ended does not change.
func TestWhileLoopsInRegisters(t *testing.T) {
	g := symbolic.NewGraph()
	param := func(i, n int64, dt *uop.DType) *uop.UOp {
		return g.New(uop.Param, dt, []*uop.UOp{g.ShapeArg(uop.ShapeOf(n)), g.DeviceOp("CPU")}, uop.Num(i), nil)
	}
	step := func(x *uop.UOp) *uop.UOp { return x.Mul(x).Add(x) }
	small := func(x *uop.UOp) *uop.UOp { return x.Lt(g.DeviceConst(x.DType, uop.Int(9), "CPU", x.Shape())) }
	anywhere := func(flags *uop.UOp) *uop.UOp {
		return flags.Cast(uop.Int32).ReduceAxes(uop.Max, 0).Ne(g.DeviceConst(uop.Int32, uop.Int(0), "CPU", uop.ShapeOf(1)))
	}
	for _, c := range []struct {
		name    string
		n       int64 // numbers of the state
		masked  bool
		kernels int
		want    string // what the reason has
	}{
		{"one loop", 1, false, 1, "1 side by side, each with 2 numbers and 3 operations in an iteration; 4 cycles, 80 in loops over elements; 1024 iterations in a launch"},
		{"loops side by side", 1000, true, 2, "1000 side by side, each with 2 numbers"},
		{"one condition for many", 1000, false, 0, "1000 side by side: the condition of the loops side by side is none of each loop"},
	} {
		x, flags, goesOn := param(0, c.n, uop.Float32), param(1, c.n, uop.Bool), param(2, 1, uop.Bool)
		next := step(x)
		flag := small(next)
		if c.masked {
			next, flag = flags.Where(next, x), flags.Where(flag, flags)
		}
		writes, states, while := []*uop.UOp{goesOn.AssignTo(anywhere(flag)), x.AssignTo(next), flags.AssignTo(flag)}, []*uop.UOp{x, flags, goesOn}, 3
		if c.n == 1 {
			writes, states, while = []*uop.UOp{flags.AssignTo(flag), x.AssignTo(next)}, states[:2], 2
		}
		sources := make([]*uop.UOp, len(states))
		for i, s := range states {
			sources[i] = g.NewBuffer("CPU", s.Size(), s.DType)
		}
		arg := uop.RepeatArg{Variable: "i", Count: 1 << 30, States: len(states), While: while}
		result := g.RepeatOn(arg, []*uop.UOp{g.Sink(nil, writes...)}, sources, nil)[0]
		root, _, _, err := Normalize(g, g.Sink(nil, g.NewBuffer("CPU", c.n, uop.Float32).Store(result)))
		if err != nil {
			t.Fatal(err)
		}
		cut := func(root *uop.UOp) (*Schedule, error) { return OfRequest(root) }
		s, err := Repeated(root, cut, false)
		if err != nil || len(s.Loops) != 1 {
			t.Fatalf("%s: %d loops, error %v", c.name, len(s.Loops), err)
		}
		made, reason := s.inRegisters(&s.Loops[0], func(slot int) bool { return slot > 5 || !c.masked && slot > 3 }) // of the loop alone
		if len(made) != c.kernels || !strings.Contains(reason, c.want) {
			t.Errorf("%s: %d kernels, %q; expected %d, %q", c.name, len(made), reason, c.kernels, c.want)
		}
		// The loop over launches stays, and looks at the condition before each.
		if s, err = Repeated(root, cut, true); err != nil || len(s.Loops) != 1 || s.Loops[0].While < 0 {
			t.Errorf("%s: loops %v, error %v", c.name, s.Loops, err)
		}
	}
}

// A while loop that counts its iterations goes on counting in the next launch of its kernel.
func TestWhileLoopsCountOverLaunches(t *testing.T) {
	g := symbolic.NewGraph()
	const n, size, count = 3, 3000, 2000
	param := func(i, n int64, dt *uop.DType) *uop.UOp {
		return g.New(uop.Param, dt, []*uop.UOp{g.ShapeArg(uop.ShapeOf(n)), g.DeviceOp("CPU")}, uop.Num(i), nil)
	}
	x, goesOn := param(0, size, uop.Float32), param(1, 1, uop.Bool)
	i := uop.S(g.Variable("i", uop.Int(0), uop.Int(count-1), uop.IndexT))
	here := x.Shrink([]uop.Pair{{Lo: i, Hi: i.Add(uop.N(n))}})
	flag := here.ReduceAxes(uop.Max, 0).Lt(g.DeviceConst(uop.Float32, uop.Int(9), "CPU", uop.ShapeOf(1)))
	statements := []*uop.UOp{g.Sink(nil, here.AssignTo(here.Add(here))), g.Sink(nil, goesOn.AssignTo(flag))}
	sources := []*uop.UOp{g.NewBuffer("CPU", size, uop.Float32), g.NewBuffer("CPU", 1, uop.Bool)}
	result := g.RepeatOn(uop.RepeatArg{Variable: "i", Count: count, States: 2, While: 2}, statements, sources, nil)[0]
	root, _, _, err := Normalize(g, g.Sink(nil, g.NewBuffer("CPU", size, uop.Float32).Store(result)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Repeated(root, func(root *uop.UOp) (*Schedule, error) { return OfRequest(root) }, true)
	if err != nil || len(s.Loops) != 1 {
		t.Fatalf("loops %v, error %v", s.Loops, err)
	}
	l := s.Loops[0]
	if launches := l.Variable.Max.I() + 1; l.Last-l.First != 1 || launches != l.Count || launches < 2 || launches >= count/2 {
		t.Errorf("%d kernels, %d launches, variable up to %s; expected one kernel, launched a few times, each with its number",
			l.Last-l.First, l.Count, l.Variable.Max)
	}
	var counted bool
	for _, u := range s.Kernels[l.First].Vars {
		counted = counted || uop.ArgEqual(u.Arg, l.Variable)
	}
	if !counted {
		t.Errorf("the kernel has variables %v, expected %v", s.Kernels[l.First].Vars, l.Variable)
	}
}
