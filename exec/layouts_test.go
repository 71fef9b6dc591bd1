package exec_test

import (
	"fmt"
	"strings"
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

// layouts is a device that notes how kernels are laid out.
type layouts struct {
	everyChoice
	chosen []plan.Choice
}

func (d *layouts) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	for _, p := range progs {
		_, l, err := nest.CompileAs(p.Name, p.Linear, d.m, "")
		if err != nil {
			return nil, err
		}
		d.chosen = append(d.chosen, l.Chosen())
	}
	return make([]device.Kernel, len(progs)), nil
}

// TestLayoutsOfProducts compiles products of matrices of several shapes: what is packed, which axis vectors lie along
// and how large blocks are, as measured to be fast.
func TestLayoutsOfProducts(t *testing.T) {
	plain := func(m, k, n int64) func(in func(...int64) *uop.UOp) *uop.UOp {
		return func(in func(...int64) *uop.UOp) *uop.UOp { return must(tensor.MatMul(in(m, k), in(k, n))) }
	}
	turnedB := func(m, k, n int64) func(in func(...int64) *uop.UOp) *uop.UOp {
		return func(in func(...int64) *uop.UOp) *uop.UOp { return must(tensor.MatMul(in(m, k), permuted(in(n, k)))) }
	}
	turnedA := func(m, k, n int64) func(in func(...int64) *uop.UOp) *uop.UOp {
		return func(in func(...int64) *uop.UOp) *uop.UOp { return must(tensor.MatMul(permuted(in(k, m)), in(k, n))) }
	}
	m := ir.AVX512
	m.L1, m.L2, m.L3 = 48<<10, 2<<20, 4<<20
	for _, c := range []struct {
		name  string
		build func(in func(...int64) *uop.UOp) *uop.UOp
		want  string // knobs, as in a choice
	}{
		{"columns stay in the second cache", plain(256, 256, 256), "v2 c-1 i-1"},
		{"columns do not", plain(1024, 1024, 1024), "v2 c1 w4 h6 x3 i-1"},
		{"vectors across lines", plain(1023, 1023, 1023), "c1"},
		{"vectors across lines, in the first cache", plain(512, 64, 1000), "c-1"},
		{"blocks of packs", turnedB(1024, 256, 1024), "v2 c1 x16 i-1"},
		{"the fewer are packed", turnedB(64, 784, 512), "v1 c1"},
		{"few rows", turnedB(4, 1024, 1024), "v-1 r1 h4"},
		{"few columns", turnedB(1024, 512, 10), "v-1 r2 h5"},
		{"few columns that leave L1", turnedB(1024, 1024, 10), "v1 r2"},
		{"rows that lie apart", turnedA(1024, 1024, 1024), "v2 c1 d1 i1"},
		{"rows that do not", turnedA(256, 256, 256), "v2 c-1 d-1 i-1"},
		{"rows from memory", turnedB(4096, 2048, 512), "i1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &layouts{everyChoice: everyChoice{t: t, m: m, target: lower.Native()}}
			g := symbolic.NewGraph()
			v := c.build(func(dims ...int64) *uop.UOp {
				s := uop.ShapeOf(dims...)
				return g.NewBuffer("CPU", s.Numel().N, uop.Float32).Reshape(s)
			})
			n := v.Shape().Numel().N
			if _, err := exec.New(d).Compile(g.Sink(nil, g.NewBuffer("CPU", n, uop.Float32).Store(v.Reshape(uop.ShapeOf(n))))); err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(d.chosen)
			for _, knob := range strings.Fields(c.want) {
				if i := strings.Index(got, knob); i < 0 || strings.ContainsRune("0123456789", rune(got[i+len(knob)])) {
					t.Errorf("laid out as %s, expected %s", got, c.want)
					break
				}
			}
		})
	}
}
