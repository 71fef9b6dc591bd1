package exec_test

import (
	"math/rand/v2"
	"testing"

	"polygrad/core/gradient"
	"polygrad/core/schedule/fuse"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/exec/wasm"
	"polygrad/tests/element"
)

// merging is a device for which kernels are merged.
type merging struct{ device.Device }

func (merging) Fusion() fuse.Options {
	return fuse.For(fuse.Machine{Lanes: 16, Threads: 2, L1: 32 << 10, L2: 1 << 20, L3: 4 << 20})
}

// model builds requests; the first error stays.
type model struct {
	t *testing.T
	g *uop.Graph
}

func (m model) ok(u *uop.UOp, err error) *uop.UOp {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
	return u
}

func (m model) in(dims ...int64) *uop.UOp {
	s := uop.ShapeOf(dims...)
	return m.g.NewBuffer("CPU", s.MaxNumel(), uop.Float32).Reshape(s)
}

func (m model) classes(n int64) *uop.UOp { return m.g.NewBuffer("CPU", n, uop.Int32) }

func (m model) num(x *uop.UOp, f float64) *uop.UOp { return m.ok(tensor.Scalar(x, uop.Float(f))) }

func (m model) scaled(x *uop.UOp, f float64) *uop.UOp { return m.ok(tensor.Mul(x, m.num(x, f))) }

func (m model) stores(vs ...*uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, len(vs))
	for i, v := range vs {
		out[i] = m.g.NewBuffer("CPU", v.Shape().MaxNumel(), v.DType).Store(v)
	}
	return out
}

func (m model) grads(y, seed *uop.UOp, wrt ...*uop.UOp) []*uop.UOp {
	m.t.Helper()
	gs, err := gradient.Of(y, wrt, seed)
	if err != nil {
		m.t.Fatal(err)
	}
	return gs
}

// fusions are requests with the number of kernels that they have when kernels are merged.
var fusions = []struct {
	name    string
	kernels int
	build   func(m model) []*uop.UOp
}{
	{"softmax", 1, func(m model) []*uop.UOp { return m.stores(m.ok(tensor.Softmax(m.in(64, 128), -1))) }},
	{"softmax of three axes", 1, func(m model) []*uop.UOp { return m.stores(m.ok(tensor.Softmax(m.in(3, 16, 40), -1))) }},
	{"softmax of the first axis", 4, func(m model) []*uop.UOp { return m.stores(m.ok(tensor.Softmax(m.in(64, 128), 0))) }},
	{"log softmax", 1, func(m model) []*uop.UOp { return m.stores(m.ok(tensor.LogSoftmax(m.in(64, 128), -1))) }},
	{"logsumexp, whose logarithms need full vectors", 2, func(m model) []*uop.UOp { return m.stores(m.ok(tensor.LogSumExp(m.in(64, 128), []int{-1}, false))) }},
	{"softmax and its gradient", 1, func(m model) []*uop.UOp {
		x := m.in(64, 128)
		y := m.ok(tensor.Softmax(x, -1))
		return m.stores(y, m.grads(y, m.in(64, 128), x)[0])
	}},
	{"layer norm", 1, func(m model) []*uop.UOp { return m.stores(layerNorm(m, m.in(4, 16, 128), m.in(128), m.in(128))) }},
	{"layer norm and its gradients", 2, func(m model) []*uop.UOp {
		x, w, b := m.in(4, 16, 128), m.in(128), m.in(128)
		y := layerNorm(m, x, w, b)
		return m.stores(append(m.grads(y, m.in(4, 16, 128), x, w, b), y)...)
	}},
	{"rms norm", 1, func(m model) []*uop.UOp {
		return m.stores(m.ok(tensor.Mul(m.ok(tensor.RMSNorm(m.in(64, 128), 1e-5)), m.in(128))))
	}},
	{"batch norm", 1, func(m model) []*uop.UOp {
		x := m.in(8, 32, 16, 16)
		mean, variance, err := tensor.BatchStats(x)
		m.ok(mean, err)
		inv := m.ok(tensor.Rsqrt(m.ok(tensor.Add(variance, m.num(variance, 1e-5)))))
		return m.stores(m.ok(tensor.BatchNorm(x, m.in(32), m.in(32), mean, inv, []int{1})))
	}},
	{"batch norm and its gradients", 1, func(m model) []*uop.UOp {
		x, w, b := m.in(2, 32, 8, 8), m.in(32), m.in(32)
		mean, variance, err := tensor.BatchStats(x)
		m.ok(mean, err)
		inv := m.ok(tensor.Rsqrt(m.ok(tensor.Add(variance, m.num(variance, 1e-5)))))
		y := m.ok(tensor.BatchNorm(x, w, b, mean, inv, []int{1}))
		return m.stores(append(m.grads(y, m.in(2, 32, 8, 8), x, w, b), y)...)
	}},
	{"group norm", 1, func(m model) []*uop.UOp {
		return m.stores(m.ok(tensor.GroupNorm(m.in(4, 32, 16, 16), 8, m.in(32), m.in(32), 1e-5)))
	}},
	{"mean and variance", 1, func(m model) []*uop.UOp {
		x := m.in(64, 128)
		return m.stores(m.ok(tensor.Mean(x, []int{-1}, false)), m.ok(tensor.Var(x, []int{-1}, false, 0)))
	}},
	{"cross entropy", 2, func(m model) []*uop.UOp {
		return m.stores(m.ok(tensor.SparseCategoricalCrossEntropy(m.in(64, 128), m.classes(64), -1, tensor.ReduceMean, 0)))
	}},
	{"linear and gelu, both wanted", 1, func(m model) []*uop.UOp {
		h := m.ok(tensor.Linear(m.in(64, 32), m.in(48, 32), m.in(48)))
		return m.stores(h, m.ok(tensor.Gelu(h)))
	}},
	{"adam", 1, func(m model) []*uop.UOp {
		w, a, v, g := m.in(1000), m.in(1000), m.in(1000), m.in(1000)
		a2 := m.ok(tensor.Add(m.scaled(a, .9), m.scaled(g, .1)))
		v2 := m.ok(tensor.Add(m.scaled(v, .99), m.scaled(m.ok(tensor.Mul(g, g)), .01)))
		root := m.ok(tensor.Sqrt(v))
		step := m.ok(tensor.Div(a, m.ok(tensor.Add(root, m.num(root, 1e-8)))))
		return []*uop.UOp{a.AssignTo(a2), v.AssignTo(v2), w.AssignTo(m.ok(tensor.Sub(w, m.scaled(step, .001))))}
	}},
	// Products of matrices: forward 2, backward 3; rows of the cross entropy, the loss, sums for two biases.
	{"step of an MLP", 9, func(m model) []*uop.UOp {
		params := []*uop.UOp{m.in(48, 64), m.in(48), m.in(10, 48), m.in(10)}
		h := m.ok(tensor.Relu(m.ok(tensor.Linear(m.in(32, 64), params[0], params[1]))))
		z := m.ok(tensor.Linear(h, params[2], params[3]))
		loss := m.ok(tensor.SparseCategoricalCrossEntropy(z, m.classes(32), -1, tensor.ReduceMean, 0))
		out := m.stores(loss)
		for i, g := range m.grads(loss, nil, params...) {
			out = append(out, params[i].AssignTo(m.ok(tensor.Sub(params[i], m.scaled(g, .01)))))
		}
		return out
	}},
	{"attention", 3, func(m model) []*uop.UOp {
		q, k, v := m.in(2, 4, 16, 32), m.in(2, 4, 16, 32), m.in(2, 4, 16, 32)
		return m.stores(m.ok(tensor.ScaledDotProductAttention(q, k, v, tensor.AttentionOptions{})))
	}},
}

func layerNorm(m model, x, w, b *uop.UOp) *uop.UOp {
	y := m.ok(tensor.LayerNorm(x, []int{-1}, 1e-5))
	return m.ok(tensor.Add(m.ok(tensor.Mul(y, w)), b))
}

// contents runs a request on a device twice, on inputs that are the same each time, and returns what is in its buffers
// then and the number of kernels.
func contents(t *testing.T, d device.Device, build func(m model) []*uop.UOp) (all [][]float64, kernels int) {
	t.Helper()
	g := symbolic.NewGraph()
	step, err := exec.New(d).Compile(g.Sink(nil, build(model{t, g})...))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var binds []exec.Binding
	for _, b := range step.Buffers() {
		n := int64(b.Arg.(uop.Num))
		p := element.Memory(b.DType, n)
		for i := range n {
			v := uop.Float(.1 + r.Float64())
			if b.DType == uop.Int32 {
				v = uop.Int(r.Int64N(10))
			}
			element.Put(p, i, b.DType, v)
		}
		binds = append(binds, exec.Binding{Buffer: b, Ptr: p})
	}
	for range 2 {
		if err := step.Run(binds, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range binds {
		vals := make([]float64, b.Buffer.Arg.(uop.Num))
		for i := range vals {
			vals[i] = element.Get(b.Ptr, int64(i), b.Buffer.DType).F()
		}
		all = append(all, vals)
	}
	return all, step.Kernels()
}

// TestMergedKernels counts the kernels of requests, and compares what they compute with what the kernels as tinygrad cuts
// them compute.
func TestMergedKernels(t *testing.T) {
	for _, c := range fusions {
		t.Run(c.name, func(t *testing.T) {
			want, before := contents(t, interp.New(), c.build)
			for _, d := range []device.Device{interp.New(), wasm.New()} {
				got, kernels := contents(t, merging{d}, c.build)
				if kernels != c.kernels {
					t.Errorf("%s: %d kernels of %d, expected %d", d.Name(), kernels, before, c.kernels)
				}
				for i := range want {
					for j := range want[i] {
						if !element.Close(want[i][j], got[i][j], 1e-4) {
							t.Fatalf("%s: buffer %d, element %d: %g, expected %g", d.Name(), i, j, got[i][j], want[i][j])
						}
					}
				}
			}
		})
	}
}

// TestMergingCanBeTurnedOff also shows that devices that do not ask for it get the kernels of tinygrad.
func TestMergingCanBeTurnedOff(t *testing.T) {
	_, plain := contents(t, interp.New(), fusions[0].build)
	t.Setenv("POLY_FUSE", "0")
	if _, off := contents(t, merging{interp.New()}, fusions[0].build); off != plain || off != 3 {
		t.Errorf("%d kernels with POLY_FUSE=0, %d on a device that merges none, expected 3", off, plain)
	}
}

// TestLongSum cuts a sum for a few threads: one kernel sums parts of neighbours, the other one those sums.
func TestLongSum(t *testing.T) {
	for _, c := range []struct {
		d       device.Device
		kernels int
	}{{interp.New(), 3}, {merging{interp.New()}, 2}} {
		m := model{t, symbolic.NewGraph()}
		step, err := exec.New(c.d).Compile(m.g.Sink(nil, m.stores(m.ok(tensor.Sum(m.in(10_000_000), nil, false)))...))
		if err != nil {
			t.Fatal(err)
		}
		if n := step.Kernels(); n != c.kernels {
			t.Errorf("%d kernels, expected %d", n, c.kernels)
		}
	}
}
