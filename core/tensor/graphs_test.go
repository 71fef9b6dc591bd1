package tensor_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

const reference = "../../tests/parity/testdata"

// leaves makes the inputs of a case: buffers, or copies of host arrays where the reference has them.
func leaves(t *testing.T, g *uop.Graph, c *dump.Case) inputs {
	t.Helper()
	copied := false
	for _, n := range c.TensorGraph {
		copied = copied || n.Op == "DEVICE" && *n.Arg == "NPY"
	}
	var in inputs
	for _, v := range c.Case.Inputs {
		dt, err := uop.ParseDType(v.DType)
		if err != nil {
			t.Fatal(err)
		}
		s := uop.ShapeOf(v.Shape...)
		device := "CPU"
		if copied {
			device = "NPY"
		}
		u := g.NewBuffer(device, s.MaxNumel(), dt).Reshape(s)
		if copied {
			u = g.New(uop.Copy, dt, []*uop.UOp{u, g.DeviceOp("CPU")}, nil, nil)
		}
		in = append(in, T{u})
	}
	return in
}

func buildCase(t *testing.T, c *dump.Case, build func(inputs) []T) (list []dump.Node, err error) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	g := symbolic.NewGraph()
	g.AsTinygrad()
	out := build(leaves(t, g, c))
	return dump.Graph(g.Sink(nil, nodes(out...)...)), nil
}

// The graphs that core/tensor and core/gradient build equal those of tinygrad, node for node.
func TestGraphsEqualTheReference(t *testing.T) {
	total := 0
	for _, set := range []string{"golden", "cases"} {
		names, err := dump.Names(filepath.Join(reference, set))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			build := graphs[name]
			if build == nil {
				if !counted[name] {
					t.Errorf("%s: no operation builds this case", name)
				}
				continue
			}
			total++
			t.Run(name, func(t *testing.T) {
				c, err := dump.ReadCase(filepath.Join(reference, set, name+".json.gz"))
				if err != nil {
					t.Fatal(err)
				}
				list, err := buildCase(t, c, build)
				if err != nil {
					t.Fatal(err)
				}
				if i := dump.Diff(c.TensorGraph, list, false); i >= 0 {
					t.Fatalf("node %d of %d differs:\nwant %s\ngot  %s", i, len(c.TensorGraph), at(c.TensorGraph, i), at(list, i))
				}
			})
		}
	}
	if total < 150 {
		t.Fatalf("only %d cases were built", total)
	}
}

func at(list []dump.Node, i int) string {
	if i >= len(list) {
		return "(end)"
	}
	return list[i].String()
}
