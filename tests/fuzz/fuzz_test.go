package fuzz

import (
	"flag"
	"fmt"
	"math"
	"os/exec"
	"testing"

	"polygrad/core/uop"
	run "polygrad/exec"
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

// check runs the program of a seed everywhere and compares each device with the first.
func check(devs []*run.Executor, seed uint64) error {
	var want [][]uint64
	for i, e := range devs {
		p, err := Generate(seed)
		if err != nil {
			return err
		}
		var binds []run.Binding
		for j := range p.Inputs {
			binds = append(binds, p.Inputs[j].Bind())
		}
		for j := range p.Outputs {
			binds = append(binds, p.Outputs[j].Bind())
		}
		if err := e.Realize(p.Sink, binds, nil); err != nil {
			return fmt.Errorf("seed %d on %s: %w", seed, e.Device().Name(), err)
		}
		for j, o := range p.Outputs {
			if i == 0 {
				want = append(want, o.Data)
			} else if err := same(want[j], o, p.Loose[j]); err != nil {
				return fmt.Errorf("seed %d: output %d (%s %s): %s differs from %s: %w", seed, j, o.Buffer.DType, p.Sink.Src[j].Src[1].Shape(), e.Device().Name(), devs[0].Device().Name(), err)
			}
		}
	}
	return nil
}

func same(want []uint64, o Memory, loose bool) error {
	dt := o.Buffer.DType
	for i := range int(o.Buffer.Arg.(uop.Num)) {
		a, b := get(want, i, dt), get(o.Data, i, dt)
		tol := 0.0
		if loose && dt.IsFloat() {
			tol = 1e-4 * math.Max(1, math.Max(math.Abs(a), math.Abs(b)))
		}
		if a != b && !(a != a && b != b) && !(math.Abs(a-b) <= tol) {
			return fmt.Errorf("element %d is %v, expected %v", i, b, a)
		}
	}
	return nil
}

func TestFuzzDevicesAgree(t *testing.T) {
	devs := devices(t)
	failed := 0
	for seed := range uint64(*seeds) {
		if err := check(devs, seed); err != nil {
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
		if err := check(devs, seed); err != nil {
			t.Error(err)
		}
	})
}
