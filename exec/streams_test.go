package exec_test

import (
	"testing"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/device"
)

// streams is a device that notes whether kernels store around the caches.
type streams struct {
	everyChoice
	choice plan.Choice
	found  bool
}

func (d *streams) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	for _, p := range progs {
		k, _, err := nest.CompileAs(p.Name, p.Linear, d.m, d.choice)
		if err != nil {
			return nil, err
		}
		for _, q := range k.Params {
			d.found = d.found || q.Aligned
		}
	}
	return make([]device.Kernel, len(progs)), nil
}

// TestStreams compiles kernels whose results are larger than caches or are not, and asks which are written around these.
func TestStreams(t *testing.T) {
	elements := func(n int64) func(in func(...int64) *uop.UOp) *uop.UOp {
		return func(in func(...int64) *uop.UOp) *uop.UOp { return must(tensor.Mul(in(n), in(n))) }
	}
	turn := func(rows, columns int64) func(in func(...int64) *uop.UOp) *uop.UOp {
		return func(in func(...int64) *uop.UOp) *uop.UOp { v := permuted(in(rows, columns)); return v.Add(v) }
	}
	softmax := func(rows, columns int64) func(in func(...int64) *uop.UOp) *uop.UOp {
		return func(in func(...int64) *uop.UOp) *uop.UOp { return must(tensor.Softmax(in(rows, columns), 1)) }
	}
	repeat := func(rows, columns int64) func(in func(...int64) *uop.UOp) *uop.UOp {
		return func(in func(...int64) *uop.UOp) *uop.UOp {
			return must(tensor.Expand(in(1, columns), uop.ShapeOf(rows, columns)))
		}
	}
	for _, c := range []struct {
		name   string
		m      ir.Machine
		choice plan.Choice
		build  func(in func(...int64) *uop.UOp) *uop.UOp
		want   bool
	}{
		{"elements", ir.AVX512, "", elements(4 << 20), true},
		{"elements, few", ir.AVX512, "", elements(4<<20 - 64), false},
		{"vectors of half a line one after the other", ir.AVX2, "w1", elements(4 << 20), true},
		{"repeated rows", ir.AVX512, "", repeat(6144, 1024), true},
		{"repeated rows, few", ir.AVX512, "", repeat(6143, 1024), false},
		{"sums", ir.AVX512, "", softmax(8192, 1024), true},
		{"sums, few", ir.AVX512, "", softmax(8192, 1008), false},
		{"lines that lie apart", ir.AVX512, "", turn(1024, 512), true},
		{"lines that lie apart, few", ir.AVX512, "", turn(1024, 496), false},
		{"rows across lines", ir.AVX512, "", turn(4100, 4096), false},
		{"rows across lines, by half a line", ir.AVX2, "", turn(4104, 4096), false},
		{"lines of several vectors", ir.AVX2, "", turn(4096, 4096), true},
		{"halves of lines", ir.AVX2, "w1", turn(4096, 4096), false},
		{"quarters of lines", ir.SSE4, "w2", turn(4096, 4096), false},
		{"lines of four vectors", ir.SSE4, "w4", turn(4096, 4096), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := c.m
			m.Stream, m.L2 = 16<<20, 1<<20
			d := &streams{everyChoice{t: t, m: m, target: lower.Native()}, c.choice, false}
			g := symbolic.NewGraph()
			v := c.build(func(dims ...int64) *uop.UOp {
				s := uop.ShapeOf(dims...)
				return g.NewBuffer("CPU", s.Numel().N, uop.Float32).Reshape(s)
			})
			out := g.NewBuffer("CPU", v.Shape().Numel().N, uop.Float32)
			if _, err := exec.New(d).Compile(g.Sink(nil, out.Store(v.Reshape(uop.ShapeOf(v.Shape().Numel().N))))); err != nil {
				t.Fatal(err)
			}
			if d.found != c.want {
				t.Errorf("written around the caches: %v, expected %v", d.found, c.want)
			}
		})
	}
}
