package nest_test

import (
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
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
		if text := native(t, name, g, 1000, y); !strings.Contains(text, "(seldom)") {
			t.Errorf("%s has no loop for what is seldom:\n%s", name, text)
		}
	}
}
