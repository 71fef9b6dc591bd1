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

// TestAbsolute: the choice of a value, its negative or 0 is one operation, also for a difference.
func TestAbsolute(t *testing.T) {
	for name, f := range map[string]func(x, y *uop.UOp) (*uop.UOp, error){
		"abs":     func(x, _ *uop.UOp) (*uop.UOp, error) { return tensor.Abs(x) },
		"isclose": func(x, y *uop.UOp) (*uop.UOp, error) { return tensor.IsClose(x, y, 1e-5, 1e-8, false) },
	} {
		g := symbolic.NewGraph()
		in := func() *uop.UOp { return g.NewBuffer("CPU", 1024, uop.Float32).Reshape(uop.ShapeOf(1024)) }
		y, err := f(in(), in())
		if err != nil {
			t.Fatal(err)
		}
		text := native(t, name, g, 1024, y)
		if !strings.Contains(text, "= abs.f32x16") {
			t.Errorf("%s has no absolute value:\n%s", name, text)
		}
	}
}

// TestLessOrEqual: less or equal is one comparison, also where it is negated.
func TestLessOrEqual(t *testing.T) {
	for _, c := range []struct {
		dt   *uop.DType
		text string
	}{{uop.Float32, "lessequal.boolx16"}, {uop.Int32, "less.boolx16"}} {
		g := symbolic.NewGraph()
		in := func() *uop.UOp { return g.NewBuffer("CPU", 1024, c.dt).Reshape(uop.ShapeOf(1024)) }
		x, y := in(), in()
		above := x.Lt(y).Or(x.Alu(uop.CmpEq, y)).Not()
		if text := native(t, "above", g, 1024, above); !strings.Contains(text, c.text) || strings.Contains(text, "= equal") {
			t.Errorf("%s: no single comparison:\n%s", c.dt, text)
		}
	}
}

// native is the code for AVX-512 of the one kernel that computes a tensor of n elements, as text.
func native(t *testing.T, name string, g *uop.Graph, n int64, y *uop.UOp) string {
	t.Helper()
	asts, err := exec.Schedule(g.Sink(nil, g.NewBuffer("CPU", n, y.DType).Store(y)))
	if err != nil {
		t.Fatal(err)
	}
	if len(asts) != 1 {
		t.Fatalf("%s has %d kernels, expected 1", name, len(asts))
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
	return text.String()
}
