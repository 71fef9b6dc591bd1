package schedule

import (
	"slices"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// A loop keeps nothing for a loop that does not read it.
func TestWithoutDead(t *testing.T) {
	g := symbolic.NewGraph()
	buffer := func() *uop.UOp { return g.NewBuffer("CPU", 4, uop.Float32) }
	param := func(i int64) *uop.UOp {
		return g.New(uop.Param, uop.Float32, []*uop.UOp{g.ShapeArg(uop.ShapeOf(4)), g.DeviceOp("CPU")}, uop.Num(i), nil)
	}
	x, y, z := param(0), param(1), param(2)
	first := g.RepeatOn(uop.RepeatArg{Variable: "i", Count: 3, States: 3},
		[]*uop.UOp{g.Sink(nil, x.AssignTo(x.Sin()), y.AssignTo(x.Add(y)), z.AssignTo(z.Exp2()))}, []*uop.UOp{buffer(), buffer(), buffer()}, nil)
	second := g.RepeatOn(uop.RepeatArg{Variable: "i", Count: 3, States: 2},
		[]*uop.UOp{g.Sink(nil, x.AssignTo(x.Mul(x)), y.AssignTo(y.Mul(z)))}, []*uop.UOp{first[0], first[1]}, []*uop.UOp{first[2]})
	writes := func(u *uop.UOp) (states []int) {
		for _, statement := range u.Src[0].Src {
			for _, w := range statement.Src {
				states = append(states, stateOf(w))
			}
		}
		return states
	}
	for _, c := range []struct {
		result        int
		first, second []int
	}{{0, []int{0}, []int{0}}, {1, []int{0, 1, 2}, []int{1}}} {
		root := withoutDead(g.Sink(nil, buffer().Store(second[c.result])))
		for _, u := range outerNodes(root) {
			if u.Op != uop.Repeat {
				continue
			}
			want := c.second
			if u.Arg.(uop.RepeatArg).States == 3 {
				want = c.first
			}
			if got := writes(u); !slices.Equal(got, want) {
				t.Errorf("result %d: a loop writes the states %v, expected %v", c.result, got, want)
			}
		}
	}
}

// A sequence that a loop fills needs no initial value, in whichever order; one that it reads, or fills in part, does.
func TestOverwritten(t *testing.T) {
	g := symbolic.NewGraph()
	const steps = 5
	param := func(i int64, n ...int64) *uop.UOp {
		return g.New(uop.Param, uop.Float32, []*uop.UOp{g.ShapeArg(uop.ShapeOf(n...)), g.DeviceOp("CPU")}, uop.Num(i), nil)
	}
	x, all := param(0, 1, 3), param(1, steps, 3)
	i := uop.S(g.Variable("i", uop.Int(0), uop.Int(steps-1), uop.IndexT))
	block := func(from uop.Sint, size int64) *uop.UOp {
		return all.Shrink([]uop.Pair{{Lo: from, Hi: from.Add(uop.N(size))}, {Lo: uop.N(0), Hi: uop.N(3)}})
	}
	at := func(from uop.Sint) *uop.UOp { return block(from, 1) }
	x2 := x.Expand(uop.ShapeOf(2, 3))
	for _, c := range []struct {
		name  string
		write *uop.UOp
		want  bool
	}{
		{"an element in each step", at(i).AssignTo(x), true},
		{"from the end", at(uop.N(steps - 1).Sub(i)).AssignTo(x), true},
		{"an element that is read", at(i).AssignTo(at(i)), false},
		{"the same element", at(uop.N(2)).AssignTo(x), false},
		{"elements by twos", at(i.Mul(uop.N(2))).AssignTo(x), false},
		{"blocks that overlap", block(i.Mul(uop.N(3)).Div(uop.N(4)), 2).AssignTo(x2), true},
		{"blocks without the last element", block(i.Mul(uop.N(2)).Div(uop.N(4)), 2).AssignTo(x2), false},
		{"blocks with a gap", block(i.Div(uop.N(4)).Mul(uop.N(3)), 2).AssignTo(x2), false},
	} {
		u := g.RepeatOn(uop.RepeatArg{Variable: "i", Count: steps, States: 2}, []*uop.UOp{g.Sink(nil, c.write)},
			[]*uop.UOp{g.NewBuffer("CPU", 3, uop.Float32).Reshape(uop.ShapeOf(1, 3)), g.NewBuffer("CPU", 3*steps, uop.Float32).Reshape(uop.ShapeOf(steps, 3))}, nil)
		if got := isOverwritten(u[0].Src[0], 1); got != c.want {
			t.Errorf("%s: overwritten is %v, expected %v", c.name, got, c.want)
		}
	}
}

// A slice of the concatenated results of a loop, with a batch or without, is a slice of one result.
func TestWithParts(t *testing.T) {
	g := symbolic.NewGraph()
	around := func(u *uop.UOp, from, to int64) *uop.UOp {
		pairs := make([]uop.Pair, len(u.Shape()))
		for i := range pairs {
			pairs[i] = uop.Pair{Lo: uop.N(0), Hi: uop.N(0)}
		}
		pairs[len(pairs)-1] = uop.Pair{Lo: uop.N(from), Hi: uop.N(to)}
		return u.Pad(pairs)
	}
	for _, batch := range []uop.Shape{nil, uop.ShapeOf(3), uop.ShapeOf(2, 3)} {
		with := func(n ...int64) uop.Shape { return slices.Concat(batch, uop.ShapeOf(n...)) }
		part := func(u *uop.UOp, from, to int64) *uop.UOp {
			var pairs []uop.Pair
			for _, n := range batch {
				pairs = append(pairs, uop.Pair{Lo: uop.N(0), Hi: n})
			}
			return u.Shrink(append(pairs, uop.Pair{Lo: uop.N(from), Hi: uop.N(to)}))
		}
		buffer := func(n int64) *uop.UOp {
			s := with(n)
			return g.NewBuffer("CPU", s.MaxNumel(), uop.Float32).Reshape(s)
		}
		x, y := buffer(4), buffer(2)
		here := around(g.DeviceConst(uop.Bool, uop.BoolConst(true), "CPU", uop.ShapeOf(2)), 4, 0)
		if batch != nil {
			here = here.Reshape(slices.Concat(slices.Repeat(uop.ShapeOf(1), len(batch)), uop.ShapeOf(6))).Expand(with(6))
		}
		both := here.Where(around(y, 4, 0), around(x, 0, 2))
		for _, c := range []struct {
			from, to int64
			want     *uop.UOp
		}{{0, 4, x}, {4, 6, y}, {1, 3, part(x, 1, 3)}, {5, 6, part(y, 1, 2)}, {3, 5, part(both, 3, 5)}} {
			if got := forwardParts(g.Sink(nil, part(both, c.from, c.to))).Src[0]; got != c.want {
				t.Errorf("batch %v, elements %d to %d: %s, expected %s", batch, c.from, c.to, got, c.want)
			}
		}
	}
}
