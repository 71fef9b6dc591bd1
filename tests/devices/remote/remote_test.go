package remote_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unsafe"

	"polygrad/core/gradient"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/tests/devices/remote"
)

// lab is a graph with named float buffers on the host.
type lab struct {
	t     *testing.T
	g     *uop.Graph
	binds []exec.Binding
}

func newLab(t *testing.T) *lab { return &lab{t: t, g: symbolic.NewGraph()} }

func (l *lab) floats(v []float32) *uop.UOp {
	u := l.g.NewBuffer("CPU", int64(len(v)), uop.Float32)
	l.binds = append(l.binds, exec.Binding{Buffer: u, Ptr: unsafe.Pointer(unsafe.SliceData(v)), Bytes: int64(len(v)) * 4})
	return u
}

func (l *lab) must(u *uop.UOp, err error) *uop.UOp {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
	return u
}

func (l *lab) compile(d device.Device, stores ...*uop.UOp) *exec.Step {
	l.t.Helper()
	s, err := exec.New(d).Compile(l.g.Sink(nil, stores...))
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// wave is n numbers from -1 to 1.
func wave(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(math.Sin(float64(i*i + i)))
	}
	return v
}

// train runs steps of SGD with momentum on a network of two layers, and returns the parameters and the losses. The step is
// compiled and bound once.
func train(t *testing.T, d device.Device) (params [][]float32, losses []float32) {
	l := newLab(t)
	x, y := l.floats(wave(8*4)).Reshape(uop.ShapeOf(8, 4)), l.floats(wave(8)).Reshape(uop.ShapeOf(8, 1))
	loss := make([]float32, 1)
	out := l.floats(loss)
	var nodes, moments []*uop.UOp
	for _, n := range []int{4 * 16, 16, 16} {
		v := wave(n)
		params = append(params, v)
		nodes, moments = append(nodes, l.floats(v)), append(moments, l.floats(make([]float32, n)))
	}
	h := l.must(tensor.Add(l.must(tensor.MatMul(x, nodes[0].Reshape(uop.ShapeOf(4, 16)))), nodes[1].Reshape(uop.ShapeOf(1, 16))))
	diff := l.must(tensor.Sub(l.must(tensor.MatMul(l.must(tensor.Tanh(h)), nodes[2].Reshape(uop.ShapeOf(16, 1)))), y))
	mean := l.must(tensor.Mean(l.must(tensor.Square(diff)), nil, false))
	grads, err := gradient.Of(mean, nodes, nil)
	if err != nil {
		t.Fatal(err)
	}
	scaled := func(u *uop.UOp, by float64) *uop.UOp { return u.Mul(u.ConstLike(uop.Float(by))) }
	stores := []*uop.UOp{out.Store(mean.Reshape(uop.ShapeOf(1)))}
	for i, p := range nodes {
		m := moments[i].AssignTo(scaled(moments[i], 0.5).Add(grads[i].Reshape(moments[i].Shape())))
		stores = append(stores, m, p.AssignTo(p.Sub(scaled(m, 0.1))))
	}
	step, err := l.compile(d, stores...).Bind(l.binds)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := step.Run(nil); err != nil {
			t.Fatal(err)
		}
		losses = append(losses, loss[0])
	}
	return params, losses
}

func TestTrainingStepsAgree(t *testing.T) {
	want, wantLosses := train(t, interp.New())
	got, losses := train(t, remote.New())
	for i := range want {
		for j := range want[i] {
			if math.Abs(float64(got[i][j]-want[i][j])) > 1e-5 {
				t.Fatalf("parameter %d of %d is %g, expected %g", j, i, got[i][j], want[i][j])
			}
		}
	}
	for i := range losses {
		if math.Abs(float64(losses[i]-wantLosses[i])) > 1e-5 {
			t.Fatalf("losses are %v, expected %v", losses, wantLosses)
		}
	}
	if first, last := losses[0], losses[len(losses)-1]; !(last < first/2) {
		t.Errorf("the loss went from %g to %g: nothing was learnt", first, last)
	}
}

// TestErrorsOfLaunches: what goes wrong after a launch shows when the run is waited for, and leaves results as they were.
func TestErrorsOfLaunches(t *testing.T) {
	d := remote.New()
	l := newLab(t)
	x, out := []float32{1, 2}, []float32{7, 7}
	u := l.floats(x)
	s := l.compile(d, l.floats(out).Store(u.Add(u)))
	broken := errors.New("lost in space")
	name := ""
	d.Before = func(kernel string) error { name = kernel; return broken }
	err := s.Run(l.binds, nil)
	if !errors.Is(err, broken) || name == "" || !strings.Contains(err.Error(), name) || out[0] != 7 {
		t.Errorf("got %v and %v, expected %v with the name of kernel %q", err, out, broken, name)
	}
	d.Before = nil
	if err := s.Run(l.binds, nil); err != nil || out[0] != 2 || out[1] != 4 {
		t.Errorf("after an error: got %v and %v, expected 2 4", err, out)
	}
}

// TestFewBuffers adds more inputs than a kernel takes.
func TestFewBuffers(t *testing.T) {
	l := newLab(t)
	out := []float32{0, 0}
	sum := l.floats([]float32{0, 0})
	for i := range 3 * remote.MaxBuffers {
		sum = sum.Add(l.floats([]float32{float32(i), 1}))
	}
	s := l.compile(remote.New(), l.floats(out).Store(sum))
	if err := s.Run(l.binds, nil); err != nil {
		t.Fatal(err)
	}
	const n = 3 * remote.MaxBuffers
	if s.Kernels() < 3 || out[0] != n*(n-1)/2 || out[1] != n {
		t.Errorf("%d kernels, got %v, expected %d %d", s.Kernels(), out, n*(n-1)/2, n)
	}
}

func TestNoFloat64(t *testing.T) {
	l := newLab(t)
	sink := l.g.Sink(nil, l.floats([]float32{0, 0}).Store(l.g.NewBuffer("CPU", 2, uop.Float64).Sin()))
	_, err := exec.New(remote.New()).Compile(sink)
	if err == nil || !strings.Contains(err.Error(), "device remote has no float64") {
		t.Errorf("got %v, expected that the device has no float64", err)
	}
}

// TestQueueWaits: nothing is done before Wait, and freed memory is found out.
func TestQueueWaits(t *testing.T) {
	d := remote.New()
	b, err := d.Allocate(128)
	if err != nil {
		t.Fatal(err)
	}
	q := d.NewQueue()
	in, out := []byte{1, 2, 3}, []byte{9, 9, 9}
	if err := errors.Join(q.CopyIn(d.Part(b, 64), in), q.Copy(b, d.Part(b, 64), 3), q.CopyOut(out, b)); err != nil {
		t.Fatal(err)
	}
	if out[0] != 9 {
		t.Error("the copy was done before Wait")
	}
	if err := q.Wait(); err != nil || out[2] != 3 {
		t.Errorf("got %v and %v, expected %v", err, out, in)
	}
	if err := d.Free(b, 128); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(q.CopyOut(out, b), q.Wait()); err == nil || d.Free(b, 128) == nil {
		t.Error("freed memory was read or freed again")
	}
}
