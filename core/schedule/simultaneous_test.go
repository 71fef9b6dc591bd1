package schedule

import (
	"slices"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// assigner makes ASSIGNs to buffers of n float32.
type assigner struct {
	g *uop.Graph
}

func (a assigner) buffer() *uop.UOp { return a.g.NewBuffer("CPU", 4, uop.Float32) }

func places(assigns, out []*uop.UOp) []int {
	at := make([]int, len(out))
	for i, o := range out {
		at[i] = slices.IndexFunc(assigns, func(a *uop.UOp) bool { return a.Src[0] == o.Src[0] })
	}
	return at
}

func TestSimultaneousPutsReadersFirst(t *testing.T) {
	a := assigner{symbolic.NewGraph()}
	m, v, p := a.buffer(), a.buffer(), a.buffer()
	assigns := []*uop.UOp{m.AssignTo(m.Add(m)), v.AssignTo(v.Mul(v)), p.AssignTo(p.Add(m).Add(v))}
	out := Simultaneous(slices.Clone(assigns))
	if got := places(assigns, out); !slices.Equal(got, []int{2, 0, 1}) {
		t.Errorf("order %v, expected the reader 2 before 0 and 1", got)
	}
	for i, o := range out {
		if o.Src[1].Op == uop.Contiguous {
			t.Errorf("assignment %d was set apart without need", i)
		}
	}
}

func TestSimultaneousBreaksCircles(t *testing.T) {
	a := assigner{symbolic.NewGraph()}
	x, y := a.buffer(), a.buffer()
	assigns := []*uop.UOp{x.AssignTo(y.Add(y)), y.AssignTo(x.Add(x))}
	out := Simultaneous(slices.Clone(assigns))
	if len(out) != 2 {
		t.Fatalf("%d assignments, expected 2", len(out))
	}
	apart := 0
	for _, o := range out {
		if o.Src[1].Op == uop.Contiguous {
			apart++
		}
	}
	if apart != 1 {
		t.Errorf("%d values were set apart, expected 1", apart)
	}
	if out[1].Src[1].Op != uop.Contiguous {
		t.Errorf("the value that is computed after an assignment it reads is not set apart")
	}
}

func TestSimultaneousIgnoresReductions(t *testing.T) {
	a := assigner{symbolic.NewGraph()}
	x, y := a.buffer(), a.buffer()
	sum := a.g.New(uop.ReduceAxis, x.DType, []*uop.UOp{x}, uop.AxisReduce{Op: uop.Add, Axes: []int{0}}, nil)
	assigns := []*uop.UOp{x.AssignTo(x.Add(x)), y.AssignTo(sum.Expand(uop.ShapeOf(4)))}
	if got := places(assigns, Simultaneous(slices.Clone(assigns))); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("order %v, expected it unchanged", got)
	}
}
