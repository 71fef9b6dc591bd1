package polygrad_test

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"polygrad"
)

// A compiled function reads and writes clones, and tensors that were lazy, where they are.
func TestCompiledClones(t *testing.T) {
	compile := func(f func() *polygrad.Tensor) *polygrad.Step {
		t.Helper()
		s, err := polygrad.Compile(func(...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			return []*polygrad.Tensor{f()}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	run := func(s *polygrad.Step) *polygrad.Tensor {
		t.Helper()
		out, err := s.Run()
		if err != nil {
			t.Fatal(err)
		}
		return out[0]
	}
	x := vector(1, 2)
	c := x.Clone()
	s := compile(func() *polygrad.Tensor {
		x.Assign(x.Add(1))
		return c.Assign(c.Mul(10)).Add(0)
	})
	for range 2 {
		run(s)
	}
	want(t, x, 3, 4)
	want(t, c, 100, 200)
	x, c = vector(1, 2), nil
	c = x.Clone()
	s = compile(func() *polygrad.Tensor { return x.Add(c) })
	x.Assign(10)
	want(t, run(s), 11, 12)
	source := vector(1, 2)
	lazy := source.Add(1)
	s = compile(func() *polygrad.Tensor { return lazy.Mul(1) })
	source.Assign(100)
	want(t, run(s), 2, 3)
	lazy.Assign(50)
	want(t, run(s), 50, 50)
}

// Clones and computed tensors have gradients of their own.
func TestGradientsOfClonesAndComputedTensors(t *testing.T) {
	p := vector(1, 2).SetRequiresGrad(true)
	target := p.Clone().SetRequiresGrad(false)
	if !p.RequiresGrad() || target.RequiresGrad() {
		t.Error("a clone has changed its original")
	}
	q := p.Clone().SetRequiresGrad(true)
	p.Mul(p).Sum().Backward()
	want(t, p.Grad(), 2, 4)
	if q.Grad() != nil || p.Detach().Clone().RequiresGrad() {
		t.Error("a clone has the gradient of its original")
	}
	x := vector(1, 2)
	y := x.Mul(2)
	z := y.Mul(y).Sum()
	if err := y.Realize(); err != nil {
		t.Fatal(err)
	}
	want(t, z.Gradient([]*polygrad.Tensor{y})[0], 4, 8)
	y = x.SetRequiresGrad(true).Mul(2).SetRequiresGrad(true)
	z = y.Mul(y).Sum()
	if err := y.Realize(); err != nil {
		t.Fatal(err)
	}
	z.Backward()
	want(t, y.Grad(), 4, 8)
	data := []float32{1, 2}
	shared := polygrad.Share(data)
	shared.Clone().Assign(5)
	shared.Assign(7)
	if data[0] != 7 {
		t.Errorf("a clone has taken the memory: %v", data)
	}
}

// What is written to a clone of a parameter is no write to the parameter: gradients flow to its other elements.
func TestAClonedParameterIsWritten(t *testing.T) {
	w := vector(1, 2, 3).SetRequiresGrad(true)
	c := w.Clone()
	c.Set(0, polygrad.At(1))
	c.Mul(2).Sum().Backward()
	want(t, w, 1, 2, 3)
	want(t, w.Grad(), 2, 0, 2)
}

// A clone of a tensor whose memory the program lends has memory of its own, and gradients flow through it.
func TestGradientsFlowThroughClonesOfSharedMemory(t *testing.T) {
	data := []float32{1, 2, 3}
	x := polygrad.Share(data).SetRequiresGrad(true)
	c := x.Clone()
	data[0] = 9
	want(t, c, 1, 2, 3)
	c.Set(vector(5), polygrad.SliceBy(1, 3, 2)) // a step beyond the end: one element
	c.Mul(2).Sum().Backward()
	want(t, c, 1, 5, 3)
	want(t, x.Grad(), 2, 0, 2)
}

// NoGrad of several goroutines ends with the last of them.
func TestNoGradOverlaps(t *testing.T) {
	c, err := polygrad.NewContext("")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	begun := make(chan struct{})
	all.Go(func() { _ = c.NoGrad(func() error { close(begun); return nil }) })
	_ = c.NoGrad(func() error { <-begun; return nil })
	all.Wait()
	if !polygrad.FromIn(c, []float32{1}).SetRequiresGrad(true).Mul(2).RequiresGrad() {
		t.Error("no gradients flow any more")
	}
}

// A function may lose what it has written, panic, or return a tensor of elsewhere: nothing is left behind.
func TestTracesThatGoWrong(t *testing.T) {
	c, err := polygrad.NewContext("")
	if err != nil {
		t.Fatal(err)
	}
	state := polygrad.FromIn(c, []float32{1})
	arg := polygrad.FromIn(c, []float32{2})
	step, err := polygrad.Compile(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		state.Assign(args[0])
		state = args[0].Mul(2)
		runtime.GC()
		return []*polygrad.Tensor{state}, nil
	}, arg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := step.Run(arg); err != nil {
		t.Error(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic is lost")
			}
		}()
		_, _ = polygrad.Compile(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			arg.Assign(args[0].Add(1))
			panic("here")
		}, arg)
	}()
	_, err = polygrad.Compile(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return []*polygrad.Tensor{vector(1)}, nil
	}, arg)
	if err == nil || !strings.Contains(err.Error(), "another context") {
		t.Errorf("a result of another context: %v", err)
	}
	for range 20 {
		p := polygrad.FromIn(c, []float32{1, 2}).SetRequiresGrad(true)
		_, _ = p.Detach().Reshape(2, 1), p.Detach().Add(polygrad.FromIn(c, []float32{1, 2, 3}))
	}
	step, state, arg = nil, nil, nil
	if n := c.Values(); n > 0 {
		t.Errorf("%d values are left behind", n)
	}
}

func TestAComputedTensorThatWantsAGradientGetsItOnce(t *testing.T) {
	x := polygrad.From([]float32{1, 2}, 2).SetRequiresGrad(true)
	h := x.Mul(2.0).SetRequiresGrad(true)
	early := h.Mul(1.0)
	if err := h.Realize(); err != nil {
		t.Fatal(err)
	}
	if err := early.Add(h.Mul(h)).Sum().Backward().Err(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of   *polygrad.Tensor
		want []float32
	}{{h, []float32{5, 9}}, {x, []float32{10, 18}}} {
		got, err := polygrad.Values[float32](c.of.Grad())
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("gradient %v (%v), expected %v", got, err, c.want)
		}
	}
}

func TestWhoHoldsAGradientSeesTheSum(t *testing.T) {
	x := polygrad.From([]float32{3}, 1).SetRequiresGrad(true)
	x.Mul(2.0).Backward()
	held := x.Grad()
	x.Mul(3.0).Backward()
	if got, err := polygrad.Values[float32](held); err != nil || got[0] != 5 {
		t.Errorf("gradient %v (%v), expected 5", got, err)
	}
}
