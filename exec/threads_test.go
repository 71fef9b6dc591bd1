package exec_test

import (
	"fmt"
	"testing"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/exec"
)

// TestThreadsShareConvolutions: convolutions to few channels have work for all threads.
func TestThreadsShareConvolutions(t *testing.T) {
	m := ir.AVX512
	m.Threads = 4
	for _, channels := range []int64{8, 16, 32, 128} {
		t.Run(fmt.Sprint(channels), func(t *testing.T) {
			g := model{t, symbolic.NewGraph()}
			y := g.ok(tensor.Conv(g.in(8, 64, 20, 20), g.in(channels, 64, 3, 3), nil, 1, tensor.Window{}))
			asts, err := exec.Schedule(g.g.Sink(nil, g.stores(y)...))
			if err != nil {
				t.Fatal(err)
			}
			for _, ast := range asts {
				p, err := lower.Lower(ast, lower.Native())
				if err != nil {
					t.Fatal(err)
				}
				k, err := nest.Compile(p.Name, p.Linear, m)
				if err != nil {
					t.Fatal(err)
				}
				if k.Items < int64(m.Threads) {
					t.Errorf("%s has %d items (%s), expected one for each of %d threads at least", k.Name, k.Items, k.Choice, m.Threads)
				}
			}
		})
	}
}
