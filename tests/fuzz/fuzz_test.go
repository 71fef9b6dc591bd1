package fuzz

import (
	"flag"
	"fmt"
	"os/exec"
	"testing"

	"polygrad/core/uop"
	run "polygrad/exec"
	"polygrad/tests/element"
)

var seeds = flag.Int("seeds", 2000, "number of random programs")

// devices opens the interpreter, which is the reference, and every other device of this machine.
func devices(t testing.TB) []*run.Executor {
	var out []*run.Executor
	for _, name := range []string{"interp", "wasm", "clang"} {
		if _, err := exec.LookPath("clang"); name == "clang" && err != nil {
			continue
		}
		e, err := run.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// check runs the programs of some seeds as one request on every device and compares each with the first.
func check(devs []*run.Executor, from, to uint64) error {
	var want []*Program
	for _, e := range devs {
		g := uop.NewGraph()
		var programs []*Program
		var stores []*uop.UOp
		var binds []run.Binding
		for seed := from; seed < to; seed++ {
			p, err := Generate(g, seed)
			if err != nil {
				return err
			}
			programs, stores = append(programs, p), append(stores, p.Stores...)
			for _, list := range [][]Memory{p.Inputs, p.Outputs} {
				for j := range list {
					binds = append(binds, list[j].Bind())
				}
			}
		}
		if err := e.Realize(g.Sink(nil, stores...), binds, nil); err != nil {
			return fmt.Errorf("seeds %d to %d on %s: %w", from, to-1, e.Device().Name(), err)
		}
		if want == nil {
			want = programs
		}
		for i, p := range programs {
			for j, o := range p.Outputs {
				if err := same(want[i].Outputs[j], o, p.Loose[j]); err != nil {
					return fmt.Errorf("seed %d: output %d (%s %s): %s differs from %s: %w", p.Seed, j, o.Buffer.DType,
						p.Stores[j].Src[1].Shape(), e.Device().Name(), devs[0].Device().Name(), err)
				}
			}
		}
	}
	return nil
}

func same(want, got Memory, loose bool) error {
	dt, tol := got.Buffer.DType, 0.0
	if loose {
		tol = 1e-4
	}
	for i := range int64(got.Buffer.Arg.(uop.Num)) {
		a, b := element.Get(want.Data, i, dt), element.Get(got.Data, i, dt)
		if !a.Same(b) && !(dt.IsFloat() && element.Close(a.F(), b.F(), tol)) {
			return fmt.Errorf("element %d is %s, expected %s", i, b, a)
		}
	}
	return nil
}

// batch is the number of programs that are compiled together.
const batch = 25

func TestFuzzDevicesAgree(t *testing.T) {
	devs := devices(t)
	failed := 0
	for from := uint64(0); from < uint64(*seeds); from += batch {
		if err := check(devs, from, min(from+batch, uint64(*seeds))); err != nil {
			t.Error(err)
			if failed++; failed == 20 {
				t.Fatal("too many failures")
			}
		}
	}
}

func FuzzDevicesAgree(f *testing.F) {
	devs := devices(f)
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) {
		if err := check(devs, seed, seed+1); err != nil {
			t.Error(err)
		}
	})
}
