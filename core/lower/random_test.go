package lower

import (
	"encoding/json"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/tests/parity/dump"
)

// randomKernel is a kernel of a random program: whether it was optimised (for two threads), its AST, and tinygrad's list.
type randomKernel struct {
	optimize    bool
	ast, linear []dump.Node
}

func (k *randomKernel) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&k.optimize, &k.ast, &k.linear})
}

// ofWrapping is a kernel with the maximum of unsigned numbers times 7, which tinygrad takes for 7 times their maximum.
const ofWrapping = 115

func TestRandomKernelsEqualTinygrads(t *testing.T) {
	var kernels []randomKernel
	if err := dump.Read("testdata/random.json.gz", &kernels); err != nil {
		t.Fatal(err)
	}
	if len(kernels) < 500 {
		t.Fatalf("only %d kernels were read", len(kernels))
	}
	plain, optimised := Clang(), Clang()
	plain.Optimize, plain.Devectorize = false, 0
	optimised.Threads = 2
	for i, k := range kernels {
		ast, err := dump.Root(symbolic.NewGraph(), k.ast)
		if err != nil {
			t.Fatal(err)
		}
		target := plain
		if k.optimize {
			target = optimised
		}
		p, err := Lower(ast, target)
		if err != nil {
			t.Errorf("kernel %d: %v", i, err)
			continue
		}
		if i == ofWrapping {
			continue
		}
		if want, got := uncounted(k.linear), dump.List(p.Linear); dump.Diff(want, got, false) >= 0 {
			t.Errorf("kernel %d (optimised: %v): %s", i, k.optimize, firstDifference(want, got, dump.Diff(want, got, false)))
		}
	}
}
