package exec_test

import (
	"slices"
	"testing"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/device"
)

// nests is a device that keeps kernels as they are laid out.
type nests struct {
	everyChoice
	made []*ir.Kernel
}

func (d *nests) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	for _, p := range progs {
		k, err := nest.Compile(p.Name, p.Linear, d.m)
		if err != nil {
			return nil, err
		}
		d.made = append(d.made, k)
	}
	return make([]device.Kernel, len(progs)), nil
}

func fetches(b *ir.Block) bool {
	return slices.ContainsFunc(b.Items, func(i ir.Item) bool { return i.Prefetch != nil || i.Loop != nil && fetches(i.Loop.Body) })
}

// TestLargeEpilogueOperandsArePrefetched compiles products with what is added to them: it is fetched ahead if it is larger than the
// second cache.
func TestLargeEpilogueOperandsArePrefetched(t *testing.T) {
	for _, c := range []struct {
		rows int64
		want bool
	}{{512, true}, {64, false}} {
		m := ir.AVX512
		m.L2 = 100 << 10
		d := &nests{everyChoice: everyChoice{t: t, m: m, target: lower.Native()}}
		g := symbolic.NewGraph()
		in := func(dims ...int64) *uop.UOp {
			s := uop.ShapeOf(dims...)
			return g.NewBuffer("CPU", s.Numel().N, uop.Float32).Reshape(s)
		}
		v := must(tensor.Add(must(tensor.MatMul(in(c.rows, 80), in(80, 64))), in(c.rows, 64)))
		out := g.NewBuffer("CPU", c.rows*64, uop.Float32)
		if _, err := exec.New(d).Compile(g.Sink(nil, out.Store(v.Reshape(uop.ShapeOf(c.rows*64))))); err != nil {
			t.Fatal(err)
		}
		if len(d.made) != 1 || fetches(d.made[0].Root) != c.want {
			t.Errorf("%d rows: %d kernels, fetching is %v, expected 1 and %v", c.rows, len(d.made), fetches(d.made[0].Root), c.want)
		}
	}
}
