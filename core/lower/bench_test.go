package lower

import (
	"path/filepath"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

// BenchmarkLower lowers small and large kernels of the reference data, with and without the optimiser.
func BenchmarkLower(b *testing.B) {
	for _, bc := range []struct {
		set, name string
		native    bool
	}{
		{"golden", "vecadd", false}, {"golden", "grad_fdiv_sum_y", false}, {"cases", "un_sin", false}, {"cases", "rn_dropout", false}, {"opt", "vecadd", false},
		{"opt", "o_vecadd_1027", false}, {"opt", "o_mm_256", false}, {"opt", "o_layernorm_32x128", false}, {"opt", "o_conv_16x16", false}, {"opt", "un_sin", false},
		{"opt", "o_mm_256", true}, {"opt", "o_conv_16x16", true}, {"opt", "un_sin", true},
	} {
		c, err := dump.ReadCase(filepath.Join(reference, bc.set, bc.name+".json.gz"))
		if err != nil {
			b.Fatal(err)
		}
		name := bc.set + "/" + bc.name
		if bc.native {
			name += "/native"
		}
		b.Run(name, func(b *testing.B) {
			g := symbolic.NewGraph()
			asts := make([]*uop.UOp, len(c.Kernels))
			for i, k := range c.Kernels {
				if asts[i], err = dump.Root(g, k.AST); err != nil {
					b.Fatal(err)
				}
			}
			target := Clang()
			target.Optimize, target.Devectorize, target.Threads = c.Settings.Optimize, c.Settings.Devectorize, c.Settings.CPUCount
			if bc.native {
				target = Native()
			}
			for b.Loop() {
				for _, ast := range asts {
					if _, err := Lower(ast, target); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(len(asts)), "kernels")
		})
	}
}
