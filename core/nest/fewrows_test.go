package nest_test

import (
	"testing"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// TestForFew: a kernel whose rows share an operand has a form for few of them, if there may be few and may be many.
func TestForFew(t *testing.T) {
	product := func(v *uop.UOp) (*uop.UOp, error) {
		return tensor.MatMul(v, v.Graph().NewBuffer("CPU", 64*32, uop.Float32).Reshape(uop.ShapeOf(64, 32)))
	}
	sum := func(v *uop.UOp) (*uop.UOp, error) { return tensor.Sum(v, []int{1}, false) }
	for _, c := range []struct {
		name   string
		lo, hi int64
		of     func(*uop.UOp) (*uop.UOp, error)
		want   bool
	}{
		{"product", 1, 100, product, true},
		{"always many", 7, 100, product, false},
		{"never many", 1, 24, product, false},
		{"a number", 100, 100, product, false},
		{"nothing is shared", 1, 100, sum, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := symbolic.NewGraph()
			n := g.Variable("n", uop.Int(c.lo), uop.Int(c.hi), uop.IndexT).BindTo(c.hi)
			v := g.NewBuffer("CPU", 100*64, uop.Float32).Reshape(uop.ShapeOf(100, 64)).Shrink([]uop.Pair{{Hi: uop.S(n)}, {Hi: uop.N(64)}})
			y, err := c.of(v)
			if err != nil {
				t.Fatal(err)
			}
			total, err := tensor.Sum(y.F(uop.Contiguous, nil, nil), []int{0}, false)
			if err != nil {
				t.Fatal(err)
			}
			size := total.Shape().Numel().N
			asts, err := exec.Schedule(g.Sink(nil, g.NewBuffer("CPU", size, uop.Float32).Store(total.Reshape(uop.ShapeOf(size)))))
			if err != nil {
				t.Fatal(err)
			}
			p, err := lower.Lower(asts[0], lower.Native())
			if err != nil {
				t.Fatal(err)
			}
			few := nest.ForFewRows(p.Linear)
			if (few != nil) != c.want {
				t.Fatalf("a form for few rows: %v, expected %v", few != nil, c.want)
			}
			if few == nil {
				return
			}
			if again := nest.ForFewRows(few.List); few.Variable != "n" || again != nil || len(few.List) != len(p.Linear) {
				t.Errorf("variable %s, %d nodes, expected n and %d; a form of the form: %v", few.Variable, len(few.List), len(p.Linear), again != nil)
			}
		})
	}
}
