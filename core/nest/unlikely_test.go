package nest_test

import (
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// TestUnlikely: what hardly any element needs is computed behind a branch, after whatever the result is converted to.
func TestUnlikely(t *testing.T) {
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
		if text := native(t, name, g, 1000, y); !strings.Contains(text, "(unlikely)") {
			t.Errorf("%s has no branch around the unlikely case:\n%s", name, text)
		}
	}
}
