package schedule

import (
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// What all iterations of a loop would compute alike is computed once, before it.
func TestInvariants(t *testing.T) {
	g := symbolic.NewGraph()
	const n, steps = 40, 5
	param := func(i int64) *uop.UOp {
		return g.New(uop.Param, uop.Float32, []*uop.UOp{g.ShapeArg(uop.ShapeOf(n)), g.DeviceOp("CPU")}, uop.Num(i), nil)
	}
	state, read := param(0), param(1)
	i := g.Variable("i", uop.Int(0), uop.Int(steps-1), uop.IndexT)
	sum := func(u *uop.UOp) *uop.UOp { return u.ReduceAxes(uop.Add, 0).ContiguousOp().Expand(uop.ShapeOf(n)) }
	number := i.Cast(uop.Float32).Reshape(uop.ShapeOf(1)).Expand(uop.ShapeOf(n))
	for _, c := range []struct {
		name   string
		value  *uop.UOp
		before int
	}{
		{"a sum of what is only read", sum(read), 1},
		{"a sum of such sums", sum(sum(read).Add(read)), 2},
		{"a sum with the number of the iteration", sum(read.Add(number)), 0},
		{"a sum of the state", sum(state.Add(read)), 0},
	} {
		sources := []*uop.UOp{g.NewBuffer("CPU", n, uop.Float32), g.NewBuffer("CPU", n, uop.Float32)}
		write := state.AssignTo(state.Add(c.value))
		result := g.RepeatOn(uop.RepeatArg{Variable: "i", Count: steps, States: 1}, []*uop.UOp{g.Sink(nil, write)}, sources[:1], sources[1:])[0]
		root, _, _, err := Normalize(g, g.Sink(nil, g.NewBuffer("CPU", n, uop.Float32).Store(result)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Repeated(root, func(root *uop.UOp) (*Schedule, error) { return OfRequest(root) }, false)
		if err != nil || len(s.Loops) != 1 {
			t.Fatalf("%s: %d loops, error %v", c.name, len(s.Loops), err)
		}
		before, l := 0, s.Loops[0]
		for _, k := range s.Kernels[:l.First] {
			if k.AST.HasOp(uop.Ops(uop.Reduce)) {
				before++
			}
		}
		if before != c.before || l.Last <= l.First {
			t.Errorf("%s: %d sums before the loop, kernels %d to %d in it, expected %d sums", c.name, before, l.First, l.Last, c.before)
		}
	}
}
