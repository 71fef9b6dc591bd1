package exec

import (
	"strings"
	"testing"
	"unsafe"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/exec/report"
)

// inspected is w = w - sum(x)*w, of which the new sum is also stored: one buffer is read, one updated, one written.
type inspected struct {
	sink      *uop.UOp
	x, w, sum *uop.UOp
	xs, ws    []float32
}

func newInspected() *inspected {
	g := symbolic.NewGraph()
	in := &inspected{x: g.NewBuffer("CPU", 512, uop.Float32), w: g.NewBuffer("CPU", 512, uop.Float32), sum: g.NewBuffer("CPU", 1, uop.Float32)}
	total := in.x.Reshape(uop.ShapeOf(16, 32)).ReduceAxes(uop.Add, 0, 1)
	scale := total.Reshape(uop.ShapeOf(1)).Expand(uop.ShapeOf(512))
	in.sink = g.Sink(nil, in.sum.Store(total.Reshape(uop.ShapeOf(1))), in.w.AssignTo(in.w.Add(in.w.Mul(scale))))
	in.xs, in.ws = make([]float32, 512), make([]float32, 512)
	for i := range in.xs {
		in.xs[i], in.ws[i] = 1, float32(i)
	}
	return in
}

func (in *inspected) bind([]*uop.UOp) []Binding {
	return []Binding{
		{Buffer: in.x, Ptr: unsafe.Pointer(&in.xs[0]), Bytes: 2048}, {Buffer: in.w, Ptr: unsafe.Pointer(&in.ws[0]), Bytes: 2048},
	}
}

func TestInspect(t *testing.T) {
	for _, name := range []string{"native", "wasm", "interp", "clang"} {
		t.Run(name, func(t *testing.T) {
			e, err := Open(name)
			if err != nil {
				t.Skip(err)
			}
			in := newInspected()
			r, err := e.Inspect(in.sink, in.bind, 3)
			if err != nil {
				t.Fatal(err)
			}
			if r.Device != e.Device().Name() || r.Runs != 3 || r.Compile <= 0 || len(r.Kernels) == 0 {
				t.Errorf("got %+v", r)
			}
			roles := map[string]string{}
			for _, b := range r.Buffers {
				roles[b.Role] += b.DType
			}
			for _, role := range []string{"input", "updated", "output"} {
				if roles[role] != "float32" {
					t.Errorf("roles are %v, want one %s of float32", roles, role)
				}
			}
			for i, k := range r.Kernels {
				if k.Fastest <= 0 || k.Mean < k.Fastest || k.Bytes <= 0 || k.Code == "" || k.Language == "" || !strings.Contains(k.Graph, "STORE") {
					t.Errorf("kernel %d: %+v", i, k)
				}
				for _, b := range append(k.Reads, k.Writes...) {
					if b < 0 || b >= len(r.Buffers) || r.Buffers[b].Bytes <= 0 {
						t.Errorf("kernel %d has buffer %d of %v", i, b, r.Buffers)
					}
				}
			}
			for i, w := range in.ws {
				if w != float32(i) {
					t.Fatalf("w[%d] is %v: inspecting changed it", i, w)
				}
			}
		})
	}
}

// The work of a kernel is counted as one would by hand.
func TestInspectCountsWork(t *testing.T) {
	e, err := Open("interp")
	if err != nil {
		t.Fatal(err)
	}
	g := symbolic.NewGraph()
	a, b, out := g.NewBuffer("CPU", 64, uop.Float32), g.NewBuffer("CPU", 64, uop.Float32), g.NewBuffer("CPU", 64, uop.Float32)
	r, err := e.Inspect(g.Sink(nil, out.Store(a.Mul(b).Add(a))), func([]*uop.UOp) []Binding { return nil }, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Kernels) != 1 || r.Kernels[0].Ops != 128 || r.Kernels[0].Bytes != 768 || len(r.Buffers) != 3 {
		t.Errorf("got %+v", r)
	}
}

func TestInspectShowsTheLanguageOfTheDevice(t *testing.T) {
	for name, want := range map[string]string{"native": "ret", "wasm": "(module", "interp": "PARAM", "clang": "void "} {
		e, err := Open(name)
		if err != nil || e.Device().Name() != name {
			continue
		}
		in := newInspected()
		r, err := e.Inspect(in.sink, in.bind, 0)
		if err != nil {
			t.Fatal(err)
		}
		text, err := r.In(report.Code)
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: no %q in %v\n%s", name, want, err, text)
		}
		if r.Kernels[0].Fastest != 0 {
			t.Errorf("%s: a kernel ran, with 0 runs", name)
		}
	}
}

func TestInspectChecksItsArguments(t *testing.T) {
	e, err := Open("interp")
	if err != nil {
		t.Fatal(err)
	}
	in := newInspected()
	for _, runs := range []int{-1, MaxInspectRuns + 1} {
		if _, err := e.Inspect(in.sink, in.bind, runs); err == nil || !strings.Contains(err.Error(), "runs") {
			t.Errorf("%d runs: %v", runs, err)
		}
	}
	if _, err := e.Inspect(in.x, in.bind, 1); err == nil || !strings.Contains(err.Error(), "SINK") {
		t.Errorf("a buffer: %v", err)
	}
}

// A request that only copies has no kernels.
func TestInspectOfCopies(t *testing.T) {
	e, err := Open("interp")
	if err != nil {
		t.Fatal(err)
	}
	in := newInspected()
	out := in.x.Graph().NewBuffer("CPU", 512, uop.Float32)
	r, err := e.Inspect(in.x.Graph().Sink(nil, out.Store(in.x)), in.bind, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Kernels) != 0 || len(r.Copies) != 1 || r.Copies[0].Bytes != 2048 {
		t.Errorf("got %+v", r)
	}
}
