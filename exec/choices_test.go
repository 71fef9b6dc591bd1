package exec_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/schedule/fuse"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/device"
	"polygrad/tests/interp"
)

// everyChoice is a device that runs each kernel as the heuristics lay it out, and then as every neighbour of that does,
// whose results must be the same.
type everyChoice struct {
	device.Host
	t      *testing.T
	m      ir.Machine
	target *lower.Target
	tried  int
}

func (d *everyChoice) Name() string          { return "every choice" }
func (d *everyChoice) Target() *lower.Target { return d.target }
func (d *everyChoice) Fusion() fuse.Options  { return device.FusionFor(&d.m, d.Target()) }

func (d *everyChoice) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	var out []device.Kernel
	for _, p := range progs {
		k, l, err := nest.CompileAs(p.Name, p.Linear, d.m, "")
		if err != nil {
			return nil, err
		}
		out = append(out, &choiceKernel{d, p, k, l.Neighbours(d.m)})
	}
	return out, nil
}

// lowTiles are choices of tiles that are one row high, which are far away from those of the heuristics.
var lowTiles = []plan.Choice{"h1", "c1h1", "d1h1", "c1d1h1", "c1d1h1y3x2", "c1d1h1i-1", "h1w1"}

type choiceKernel struct {
	d *everyChoice
	p *lower.Program
	k *ir.Kernel
	// near are the choices next to that of the heuristics.
	near []plan.Choice
}

// runParts runs a kernel in two calls, if it has more than one work item.
func runParts(k *ir.Kernel, bufs []unsafe.Pointer, vars []int64) error {
	first := k.Items / 2
	if err := interp.Run(k, bufs, vars, 0, first); err != nil {
		return err
	}
	return interp.Run(k, bufs, vars, first, k.Items-first)
}

func (c *choiceKernel) Run(bufs []unsafe.Pointer, vars []int64) error {
	before := c.written(bufs)
	if err := runParts(c.k, bufs, vars); err != nil {
		return err
	}
	want := c.written(bufs)
	todo := append(slices.Clone(c.near), lowTiles...)
	// Further away from the heuristics every third choice is tried.
	for i, choice := range c.near {
		_, l, err := nest.CompileAs(c.p.Name, c.p.Linear, c.d.m, choice)
		if err != nil {
			return err
		}
		for j, further := range l.Neighbours(c.d.m) {
			if (i+j)%7 == 0 {
				todo = append(todo, further)
			}
		}
	}
	for _, choice := range todo {
		c.d.tried++
		k, _, err := nest.CompileAs(c.p.Name, c.p.Linear, c.d.m, choice)
		if err != nil {
			return err
		}
		c.restore(bufs, before)
		if err := runParts(k, bufs, vars); err != nil {
			return err
		}
		for i, got := range c.written(bufs) {
			if got == nil {
				continue
			}
			for j := range got {
				if d := math.Abs(float64(got[j] - want[i][j])); !(d <= 1e-5*max(1, math.Abs(float64(want[i][j])))) {
					c.d.t.Fatalf("%s: choice %q: element %d of buffer %d is %g, expected %g", c.p.Name, choice, j, i, got[j], want[i][j])
				}
			}
		}
	}
	c.restore(bufs, want)
	return nil
}

func (c *choiceKernel) floats(bufs []unsafe.Pointer, i int) []float32 {
	return unsafe.Slice((*float32)(bufs[i]), c.k.Params[i].Size)
}

// written copies the buffers that the kernel writes.
func (c *choiceKernel) written(bufs []unsafe.Pointer) [][]float32 {
	out := make([][]float32, len(bufs))
	for i, p := range c.k.Params {
		if p.Written {
			out[i] = slices.Clone(c.floats(bufs, i))
		}
	}
	return out
}

func (c *choiceKernel) restore(bufs []unsafe.Pointer, to [][]float32) {
	for i, v := range to {
		copy(c.floats(bufs, i), v)
	}
}

// TestChoices runs kernels of several kinds as all choices near the heuristic one have them.
func TestChoices(t *testing.T) {
	small := ir.AVX512
	small.Name, small.L1, small.L2, small.L3, small.Threads = "small caches", 2<<10, 8<<10, 64<<10, 2
	machines := []ir.Machine{small, ir.AVX2, ir.SSE4}
	if testing.Short() {
		machines = machines[:1]
	}
	for _, m := range machines {
		r := rand.New(rand.NewPCG(21, 22))
		d := &everyChoice{t: t, m: m, target: lower.Native()}
		e := exec.New(d)
		for name, build := range choiceKernels {
			t.Run(m.Name+"/"+name, func(t *testing.T) {
				d.t, d.tried = t, 0
				runChoices(t, e, r, build)
				if d.tried < 3 {
					t.Errorf("%d choices were tried, expected several", d.tried)
				}
			})
		}
	}
}

// choiceKernels make values of 32-bit floats from a function that makes inputs.
var choiceKernels = map[string]func(in func(dims ...int64) *uop.UOp) *uop.UOp{
	"product": func(in func(...int64) *uop.UOp) *uop.UOp { return must(tensor.MatMul(in(37, 40), in(40, 50))) },
	"product b": func(in func(...int64) *uop.UOp) *uop.UOp {
		return must(tensor.MatMul(in(37, 40), permuted(in(50, 40))))
	},
	"product a": func(in func(...int64) *uop.UOp) *uop.UOp {
		return must(tensor.MatMul(permuted(in(33, 29)), in(33, 48)))
	},
	"batch": func(in func(...int64) *uop.UOp) *uop.UOp {
		return must(tensor.MatMul(in(3, 2, 17, 20), in(3, 2, 20, 33)))
	},
	"long product": func(in func(...int64) *uop.UOp) *uop.UOp {
		return must(tensor.MatMul(in(7, 310), permuted(in(20, 310))))
	},
	"long batch": func(in func(...int64) *uop.UOp) *uop.UOp {
		return must(tensor.Sum(must(tensor.Mul(in(3, 5, 9, 1, 40), in(3, 1, 9, 18, 40))), []int{2, 4}, false))
	},
	"matvec":     func(in func(...int64) *uop.UOp) *uop.UOp { return must(tensor.MatMul(in(60, 70), in(70, 1))) },
	"sum rows":   func(in func(...int64) *uop.UOp) *uop.UOp { return must(tensor.Sum(in(40, 150), []int{0}, false)) },
	"sum lanes":  func(in func(...int64) *uop.UOp) *uop.UOp { return must(tensor.Sum(in(40, 75), []int{1}, false)) },
	"softmax":    func(in func(...int64) *uop.UOp) *uop.UOp { return must(tensor.Softmax(in(9, 70), 1)) },
	"turn":       func(in func(...int64) *uop.UOp) *uop.UOp { v := permuted(in(33, 50)); return v.Add(v) },
	"broadcast":  func(in func(...int64) *uop.UOp) *uop.UOp { return must(tensor.Add(in(20, 30), in(30))) },
	"three axes": func(in func(...int64) *uop.UOp) *uop.UOp { return must(tensor.Sum(in(5, 20, 33), []int{1}, false)) },
}

func permuted(u *uop.UOp) *uop.UOp { return u.Permute([]int{1, 0}) }

func runChoices(t *testing.T, e *exec.Executor, r *rand.Rand, build func(in func(dims ...int64) *uop.UOp) *uop.UOp) {
	g := symbolic.NewGraph()
	var binds []exec.Binding
	buffer := func(s uop.Shape) *uop.UOp {
		n := s.Numel().N
		u, data := g.NewBuffer("CPU", n, uop.Float32), make([]float32, n)
		for i := range data {
			data[i] = r.Float32() - 0.5
		}
		binds = append(binds, exec.Binding{Buffer: u, Ptr: unsafe.Pointer(&data[0])})
		return u
	}
	v := build(func(dims ...int64) *uop.UOp {
		s := uop.ShapeOf(dims...)
		return buffer(s).Reshape(s)
	})
	out := buffer(v.Shape())
	if err := e.Realize(g.Sink(nil, out.Store(v.Reshape(uop.ShapeOf(v.Shape().Numel().N)))), binds, nil); err != nil {
		t.Fatal(err)
	}
}
