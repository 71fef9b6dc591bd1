package model

import (
	"strings"
	"testing"

	"polygrad/core/uop"
	"polygrad/exec"
)

func TestModule(t *testing.T) {
	c, err := ParseConfig([]byte(`{"layers":[3,4,2],"loss":"mse"}`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewModule("mlp", c)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	g := exec.NewGraph()
	asked := map[string]int{}
	param := func(p *Buffer) *uop.UOp {
		asked[p.Name]++
		return g.NewBuffer("CPU", int64(len(p.Data)), uop.Float32).Reshape(uop.ShapeOf(p.Shape...))
	}
	for _, batch := range []int64{1, 5} {
		x := g.NewBuffer("CPU", 3*batch, uop.Float32).Reshape(uop.ShapeOf(batch, 3))
		out, err := m.Apply([]*uop.UOp{x}, param)
		if err != nil || len(out) != 1 || !out[0].Shape().Equal(uop.ShapeOf(batch, 2)) || out[0].Graph() != g || !out[0].DependsOn(x) {
			t.Fatalf("batch %d: %v, %v", batch, out, err)
		}
	}
	if len(m.Params()) != 4 || len(asked) != 4 || asked["layers.1.bias"] != 2 {
		t.Errorf("parameters %v", asked)
	}
	for text, inputs := range map[string][]*uop.UOp{
		"0 nodes": nil, "has shape (6)": {g.NewBuffer("CPU", 6, uop.Float32)},
		"x has shape (3,2), expected (3,3)": {g.NewBuffer("CPU", 6, uop.Float32).Reshape(uop.ShapeOf(3, 2))},
	} {
		if _, err := m.Apply(inputs, param); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := NewModule("cnn", c); err == nil || !strings.Contains(err.Error(), "gpt2 mlp nam tabm") {
		t.Errorf("a kind that there is not: %v", err)
	}
}
