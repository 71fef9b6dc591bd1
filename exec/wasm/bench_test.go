package wasm

import (
	"path/filepath"
	"testing"

	"polygrad/core/lower"
	"polygrad/core/symbolic"
	render "polygrad/render/wasm"
	"polygrad/tests/parity/dump"
)

// BenchmarkBuild renders and compiles kernels of the reference data.
func BenchmarkBuild(b *testing.B) {
	for _, name := range []string{"vecadd", "o_mm_256", "o_layernorm_32x128", "o_conv_16x16", "un_sin"} {
		c, err := dump.ReadCase(filepath.Join("../../tests/parity/testdata", "opt", name+".json.gz"))
		if err != nil {
			b.Fatal(err)
		}
		target := lower.Native()
		var progs []*lower.Program
		for _, k := range c.Kernels {
			ast, err := dump.Root(symbolic.NewScratch(), k.AST)
			if err != nil {
				b.Fatal(err)
			}
			p, err := lower.Lower(ast, target)
			if err != nil {
				b.Fatal(err)
			}
			progs = append(progs, p)
		}
		rendered := func() []*render.Kernel {
			var out []*render.Kernel
			for _, p := range progs {
				out = append(out, renderList(b, p.Name, p.Linear, render.Options{}))
			}
			return out
		}
		b.Run("render/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rendered()
			}
		})
		b.Run("compile/"+name, func(b *testing.B) {
			for b.Loop() {
				ks, err := Compile(1, rendered()...)
				if err != nil {
					b.Fatal(err)
				}
				for _, k := range ks {
					k.Close()
				}
			}
		})
	}
}
