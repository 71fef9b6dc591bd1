//go:build !wasip1

package wasm

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unsafe"

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
			ast, err := dump.Root(symbolic.NewGraph(), k.AST)
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

// BenchmarkRun adds 1 to numbers, by one thread or two, one run after the other or after a pause in which workers fall asleep.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int64{16, 1e3, 1e4, 1e5, 1e6} {
		in, err := Default.Alloc(int(4 * n))
		if err != nil {
			b.Fatal(err)
		}
		out, err := Default.Alloc(int(4 * n))
		if err != nil {
			b.Fatal(err)
		}
		for _, threads := range []int{1, 2} {
			k := addOne(b, n)
			if threads > 1 {
				if k.Threads, k.pieces = share(k.Items, threads, float64(n), 8*float64(n), 0); k.Threads == 1 {
					continue
				}
			}
			for _, pause := range []time.Duration{0, time.Millisecond} {
				b.Run(fmt.Sprintf("%d/%d threads/pause %s", n, threads, pause), func(b *testing.B) {
					bufs := []unsafe.Pointer{out, in}
					took := make([]time.Duration, 0, b.N)
					for range b.N {
						time.Sleep(pause)
						start := time.Now()
						mustRun(b, k, bufs...)
						took = append(took, time.Since(start))
					}
					slices.Sort(took)
					b.ReportMetric(float64(took[len(took)/2]), "ns/median")
					b.ReportMetric(float64(took[len(took)/20]), "ns/5%")
				})
			}
		}
	}
}
