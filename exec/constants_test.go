package exec

import (
	"testing"
	"unsafe"

	"polygrad/core/uop"
)

// Kernels that depend on no input run until their values are kept, then no more; a kernel that changes its operand in place stays.
func TestConstantsAreKept(t *testing.T) {
	b := newBench(t)
	for name, e := range map[string]*Executor{"interp": b.e, "remote": b.remote} {
		g := b.g
		const n = 64
		in, out := g.NewBuffer("CPU", n, uop.Float32), g.NewBuffer("CPU", n, uop.Float32)
		steps := g.DeviceConst(uop.Float32, uop.Float(1), "CPU", uop.ShapeOf(n)).PrefixAlong(uop.PrefixArg{Op: uop.Add, Axis: 0})
		table := steps.ContiguousOp()
		sink := g.Sink(nil, out.Store(in.Add(table).ReduceAxes(uop.Add, 0).Expand(uop.ShapeOf(n)).Add(table)))
		step, err := e.Compile(sink)
		if err != nil {
			t.Fatal(err)
		}
		if step.plan.constants == nil {
			t.Fatal(name, "no constants were found")
		}
		x, y := make([]float32, n), make([]float32, n)
		for run := range 4 {
			total := float32(n * (n + 1) / 2)
			for i := range x {
				x[i] = float32(run)
				total += x[i]
			}
			if err := step.Run([]Binding{{Buffer: in, Ptr: unsafe.Pointer(&x[0])}, {Buffer: out, Ptr: unsafe.Pointer(&y[0])}}, nil); err != nil {
				t.Fatal(err)
			}
			for i := range y {
				if want := total + float32(i+1); y[i] != want {
					t.Fatalf("%s: run %d: element %d is %v, expected %v", name, run, i, y[i], want)
				}
			}
			if kept := step.plan.kept.Load() != nil; kept != (run > 0) {
				t.Errorf("%s: run %d: values are kept: %v", name, run, kept)
			}
		}
	}
}
