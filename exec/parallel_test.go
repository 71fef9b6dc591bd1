package exec_test

import (
	"slices"
	"sync"
	"testing"

	"polygrad/core/settings"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/tests/element"
	"polygrad/tests/fuzz"
)

// outputs runs the programs of some seeds, which are one request, and returns the bits they computed, twice.
func outputs(e *exec.Executor, from, to uint64) ([]uint64, error) {
	g := symbolic.NewGraph()
	var stores []*uop.UOp
	var binds []exec.Binding
	var out []fuzz.Memory
	for seed := from; seed < to; seed++ {
		p, err := fuzz.Generate(g, seed)
		if err != nil {
			return nil, err
		}
		defer p.Free()
		stores, out = append(stores, p.Stores...), append(out, p.Outputs...)
		for _, m := range append(p.Inputs, p.Outputs...) {
			binds = append(binds, m.Bind())
		}
	}
	sink := g.Sink(nil, stores...)
	var bits []uint64
	for range 2 {
		if err := e.Realize(sink, binds, nil); err != nil {
			return nil, err
		}
		for _, m := range out {
			dt := m.Buffer.DType
			for i := range int64(m.Buffer.Arg.(uop.Num)) {
				bits = append(bits, element.Get(m.Data(), i, dt).Bits(dt))
			}
		}
	}
	return bits, nil
}

// TestContextsSideBySide computes programs in several goroutines on one executor, different ones and the same ones at
// once, and compares the results, bit by bit, with those of an executor that is used by one goroutine alone.
func TestContextsSideBySide(t *testing.T) {
	const workers, rounds, programs = 4, 3, 4
	for _, device := range []string{"native", "wasm", "interp"} {
		if !settings.Device.Values.Has(device) {
			continue
		}
		alone, err := exec.Open(device)
		if err != nil {
			t.Fatal(err)
		}
		want := map[uint64][]uint64{}
		if alone.Device().Name() != device {
			continue // no native code here
		}
		for seed := uint64(0); seed < (workers+rounds)*programs; seed += programs {
			if want[seed], err = outputs(alone, seed, seed+programs); err != nil {
				t.Fatal(err)
			}
		}
		shared, err := exec.Open(device)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for w := range uint64(workers) {
			wg.Go(func() {
				for round := range uint64(rounds) {
					seed := (w + round) * programs
					got, err := outputs(shared, seed, seed+programs)
					if err != nil || !slices.Equal(got, want[seed]) {
						t.Errorf("%s: seeds from %d differ from what one goroutine computes (error: %v)", device, seed, err)
					}
				}
			})
		}
		wg.Wait()
	}
}
