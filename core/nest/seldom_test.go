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

// TestSeldom: what hardly any element needs is computed in a loop of its own, after whatever the result is converted to.
func TestSeldom(t *testing.T) {
	for name, f := range map[string]func(x, y *uop.UOp) (*uop.UOp, error){
		"mod": tensor.Mod, "truncmod": tensor.TruncMod, "floordiv": tensor.FloorDiv,
		"lgamma": func(x, _ *uop.UOp) (*uop.UOp, error) { return tensor.Lgamma(x) },
	} {
		g := symbolic.NewGraph()
		in := func() *uop.UOp { return g.NewBuffer("CPU", 1000, uop.Float32).Reshape(uop.ShapeOf(1000)) }
		y, err := f(in(), in())
		if err != nil {
			t.Fatal(err)
		}
		asts, err := exec.Schedule(g.Sink(nil, g.NewBuffer("CPU", 1000, uop.Float32).Store(y)))
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
		if !strings.Contains(text.String(), "(seldom)") {
			t.Errorf("%s has no loop for what is seldom:\n%s", name, &text)
		}
	}
}
