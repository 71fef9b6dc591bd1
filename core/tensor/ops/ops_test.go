package ops_test

import (
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
)

func TestDescriptions(t *testing.T) {
	seen := map[string]bool{}
	for _, op := range ops.All() {
		if seen[op.Name] {
			t.Errorf("%s is described twice", op.Name)
		}
		seen[op.Name] = true
		if !strings.HasSuffix(op.Doc, ".") {
			t.Errorf("%s: %q is no sentence", op.Name, op.Doc)
		}
		optional := false
		for _, p := range op.Params {
			if optional && !p.Optional && op.Form != ops.Maker && op.Name != "batchnorm" {
				t.Errorf("%s: %s may not be left out, but stands behind what may", op.Name, p.Name)
			}
			optional = optional || p.Optional
		}
		if found, ok := ops.Find(op.Name); !ok || found != op {
			t.Errorf("%s is not found", op.Name)
		}
	}
	if _, ok := ops.Find("nothing"); ok {
		t.Error("an operation is found that does not exist")
	}
}

func TestArguments(t *testing.T) {
	g := symbolic.NewGraph()
	x := g.NewBuffer("CPU", 6, uop.Float32).Reshape(uop.ShapeOf(2, 3))
	sum, _ := ops.Find("sum")
	for _, c := range []struct {
		name  string
		value any
		error string
	}{
		{"axis", int64(1), ""},
		{"axis", []int64{0, 1}, ""},
		{"axis", nil, ""},
		{"axis", "rows", "axis: is \"rows\", expected axes"},
		{"keepdim", int64(1), "keepdim: is 1, expected a bool"},
		{"dim", int64(1), "dim: is no argument, expected axis, keepdim, dtype"},
	} {
		a := sum.Call(g)
		a.X = x
		err := a.Set(c.name, c.value)
		if err == nil && c.error == "" {
			_, err = a.Results()
		}
		if got := ""; err != nil && err.Error() != c.error || err == nil && c.error != got {
			t.Errorf("sum(%s=%v): error %v, expected %q", c.name, c.value, err, c.error)
		}
	}
	reshape, _ := ops.Find("reshape")
	a := reshape.Call(g)
	a.X = x
	if _, err := a.Results(); err == nil || err.Error() != "shape: is missing, expected sizes" {
		t.Errorf("reshape(): error %v", err)
	}
}

// Dropout of attention takes a random number for each score.
func TestAttentionTakesAWordForEachScore(t *testing.T) {
	g := symbolic.NewGraph()
	in := func(n ...int64) *uop.UOp {
		size := int64(1)
		for _, d := range n {
			size *= d
		}
		return g.NewBuffer("CPU", size, uop.Float32).Reshape(uop.ShapeOf(n...))
	}
	attention, _ := ops.Find("scaled_dot_product_attention")
	a := attention.Call(g)
	a.X, a.Training = in(1, 5, 8), true
	var taken uint64
	a.Seed = func(words uint64) (*uop.UOp, error) {
		taken = words
		return g.NewBuffer("CPU", 3, uop.Uint32), nil
	}
	for name, v := range map[string]any{"key": in(4, 7, 8), "value": in(4, 7, 8), "dropout_p": 0.5} {
		if err := a.Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Results(); err != nil || taken != 4*5*7 {
		t.Errorf("%d words, %v; expected 140", taken, err)
	}
}
