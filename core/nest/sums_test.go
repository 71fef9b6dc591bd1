package nest_test

import (
	"strings"
	"testing"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// TestSumsOfDifferences: what is subtracted in each step is a term like others, so that sums have several accumulators.
func TestSumsOfDifferences(t *testing.T) {
	g := symbolic.NewGraph()
	in := func() *uop.UOp { return g.NewBuffer("CPU", 1024, uop.Float32).Reshape(uop.ShapeOf(1024)) }
	x, y := in(), in()
	for name, terms := range map[string]*uop.UOp{"-x": x.Neg(), "y-x": y.Sub(x), "x*y-x": x.Mul(y).Sub(x)} {
		sum, err := tensor.Sum(terms, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		asts, err := exec.Schedule(g.Sink(nil, g.NewBuffer("CPU", 1, uop.Float32).Store(sum)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := lower.Lower(asts[0], lower.Native())
		if err != nil {
			t.Fatal(err)
		}
		k, err := nest.Compile(name, p.Linear, ir.AVX512)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		k.Dump(&text)
		if !strings.Contains(text.String(), "= sum.f32") {
			t.Errorf("the sum of %s has no vectors:\n%s", name, &text)
		}
	}
}
