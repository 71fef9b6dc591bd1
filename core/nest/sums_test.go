package nest_test

import (
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
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
		text := native(t, name, g, 1, sum)
		if !strings.Contains(text, "= sum.f32") {
			t.Errorf("the sum of %s has no vectors:\n%s", name, text)
		}
	}
}
