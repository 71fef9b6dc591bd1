package parity

import (
	"math"
	"strings"
	"testing"

	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

func text(s string) *string { return &s }

// sample is a case with one kernel that stores a constant.
func sample(c string) *dump.Case {
	list := []dump.Node{
		{Op: "PARAM", DType: "float.ptr(1)", Arg: text("0")},
		{Op: "CONST", DType: "int", Arg: text("0")},
		{Op: "INDEX", DType: "float.ptr(1)", Src: []int{0, 1}},
		{Op: "CONST", DType: "float", Arg: text(c)},
		{Op: "STORE", DType: "void", Src: []int{2, 3}},
		{Op: "SINK", DType: "void", Src: []int{4}, Arg: text("KernelInfo(name=test)")},
	}
	k := dump.Kernel{AST: list, Rewritten: list, Linear: list}
	for _, n := range list {
		k.Ops = append(k.Ops, n.Op)
	}
	k.Structure = Structure(k.Ops)
	out := dump.Output{DType: "float", Values: []dump.Value{dump.Value(uop.Float(1))}}
	return &dump.Case{NKernels: 1, Kernels: []dump.Kernel{k}, Outputs: []dump.Output{out}}
}

func levelsOf(l Levels) string {
	var names []string
	for i, ok := range l {
		if ok {
			names = append(names, Level(i).String())
		}
	}
	return strings.Join(names, " ")
}

func TestCompareSeesEachLevel(t *testing.T) {
	const everything = "kern struct ops full graph ast vals"
	swap := func(list []dump.Node) []dump.Node {
		out := append([]dump.Node(nil), list...)
		out[0], out[1] = out[1], out[0]
		out[2].Src = []int{1, 0}
		return out
	}
	for name, c := range map[string]struct {
		change func(*dump.Case)
		want   string
	}{
		"nothing":           {func(*dump.Case) {}, everything},
		"constant reworded": {func(c *dump.Case) { c.Kernels[0].Linear = sample("1e0").Kernels[0].Linear }, everything},
		"other constant":    {func(c *dump.Case) { c.Kernels[0].Rewritten = sample("2.0").Kernels[0].AST }, "kern struct ops full ast vals"},
		"other order":       {func(c *dump.Case) { c.Kernels[0].Rewritten = swap(c.Kernels[0].Rewritten) }, everything},
		"other linear order": {func(c *dump.Case) {
			c.Kernels[0].Linear = swap(c.Kernels[0].Linear)
			c.Kernels[0].Ops = []string{"CONST", "PARAM", "INDEX", "CONST", "STORE", "SINK"}
		}, "kern struct graph ast vals"},
		"other kernel":    {func(c *dump.Case) { c.Kernels[0].AST = sample("2.0").Kernels[0].AST }, "kern struct ops full graph vals"},
		"more loops":      {func(c *dump.Case) { c.Kernels[0].Structure = Structure([]string{"RANGE", "END"}) }, "kern ops full graph ast vals"},
		"no kernel":       {func(c *dump.Case) { c.NKernels, c.Kernels = 0, nil }, "vals"},
		"other value":     {func(c *dump.Case) { c.Outputs[0].Values[0] = dump.Value(uop.Float(1.001)) }, "kern struct ops full graph ast"},
		"value in bounds": {func(c *dump.Case) { c.Outputs[0].Values[0] = dump.Value(uop.Float(1.000001)) }, everything},
		"nan":             {func(c *dump.Case) { c.Outputs[0].Values[0] = dump.Value(uop.Float(math.NaN())) }, "kern struct ops full graph ast"},
		"no output":       {func(c *dump.Case) { c.Outputs = nil }, "kern struct ops full graph ast"},
	} {
		got := sample("1.0")
		c.change(got)
		if l := levelsOf(Compare(sample("1.0"), got)); l != c.want {
			t.Errorf("%s: equal at %q, expected %q", name, l, c.want)
		}
	}
}

func TestStructureCountsLoops(t *testing.T) {
	s := Structure(strings.Fields("PARAM RANGE RANGE LOAD END STORE END RANGE END SINK"))
	for k, v := range map[string]int{"RANGE": 3, "END": 3, "LOAD": 1, "STORE": 1, "REDUCE": 0, "MAX_RANGE_DEPTH": 2, "FINAL_RANGE_DEPTH": 0, "MIN_RANGE_DEPTH": 0} {
		if s[k] != v {
			t.Errorf("%s is %d, expected %d", k, s[k], v)
		}
	}
}

func TestFirstDifferenceNamesThePass(t *testing.T) {
	a, b := sample("1.0").Kernels[0].AST, sample("2.0").Kernels[0].AST
	ref := dump.Stage{Stage: "kernel0", Passes: []dump.Pass{{Name: "one", Nodes: a}, {Name: "no graph"}, {Name: "two", Nodes: a}, {Name: "three", Nodes: a}}}
	for want, got := range map[string]Trace{
		"":      {"kernel0", []Pass{{"one", a}, {"extra", b}, {"two", a}, {"three", a}}},
		"two":   {"kernel0", []Pass{{"one", a}, {"two", b}, {"three", a}}},
		"three": {"kernel0", []Pass{{"one", a}, {"two", a}}},
	} {
		d := FirstDifference(ref, got, nil)
		if name := map[bool]func() string{true: func() string { return "" }, false: func() string { return d.Pass }}[d == nil](); name != want {
			t.Errorf("first difference in %q, expected %q", name, want)
		}
		if d != nil && !strings.Contains(d.Detail(), "tinygrad") {
			t.Errorf("no detail: %s", d.Detail())
		}
	}
}
