package table

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"polygrad/core/gradient"
	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/interp"
)

// accepted are, for each set of types, which of a few types belong to it.
var accepted = map[ops.Types]string{
	ops.AnyType: "bool int32 uint8 float16 float32", ops.FloatTypes: "float16 float32",
	ops.IntegerTypes: "int32 uint8", ops.IntegerOrBool: "bool int32 uint8",
}

// ofType is the case with ones of a type in place of its first operand, and of others that have the same type.
func (c *Case) ofType(name string) *Case {
	out := *c
	out.Inputs = slices.Clone(c.Inputs)
	operands := c.Operands()
	was := out.Inputs[operands[0]].Tensor.DType
	var one any = json.Number("1")
	if name == "bool" {
		one = true
	}
	for _, i := range operands {
		if in := out.Inputs[i].Tensor; in != nil && in.DType == was {
			other := *in
			other.DType, other.Data = name, slices.Repeat([]any{one}, len(in.Data))
			out.Inputs[i].Tensor = &other
		}
	}
	return &out
}

// What descriptions say of types and gradients is what the operations do.
func TestTypesAndGradients(t *testing.T) {
	cases, err := Read(Path)
	if err != nil {
		t.Fatal(err)
	}
	e := exec.New(interp.New())
	types, flows := map[string]map[string]bool{}, map[string]bool{}
	for _, c := range cases {
		name := c.Op
		if other, ok := renamed[name]; ok {
			name = other
		}
		op, known := ops.Find(name)
		if !known || c.Error != "" || op.Form == ops.Maker || len(c.Operands()) == 0 || c.Inputs[c.Operands()[0]].Tensor == nil {
			continue
		}
		if types[name] == nil {
			types[name] = map[string]bool{}
		}
		for _, dt := range []string{"bool", "int32", "uint8", "float16", "float32"} {
			if types[name][dt] && (dt != "float32" && dt != "int32" || flows[name]) {
				continue
			}
			call, _, err := newGoCall(t, c.ofType(dt), e)
			if err != nil {
				continue
			}
			x := call.in[c.Operands()[0]]
			if dt == "int32" && !flows[name] { // a gradient may flow through integers
				if float, err := tensor.Cast(x, uop.Float32); err == nil {
					x = float
					if call.in[c.Operands()[0]], err = tensor.Cast(float, uop.Int32); err != nil {
						t.Fatal(err)
					}
				}
			}
			results, err := call.results()
			if err != nil {
				continue
			}
			types[name][dt] = true
			if dt == "float32" || dt == "int32" {
				flows[name] = flows[name] || slices.ContainsFunc(results, func(y *uop.UOp) bool { return y != nil && differentiable(y, x) })
			}
		}
	}
	// These depend on another operand: a source has the type of x, and bool is divided by numbers only.
	partly := []string{"scatter", "scatter_reduce", "mod", "fmod", "floordiv", "idiv"}
	casts := []string{"cast", "bitcast", "imag", "angle", "where"} // whether they have a gradient depends on the type; that of where is in the other operands
	if len(types) < 200 {
		t.Errorf("%d operations", len(types))
	}
	for name, accepts := range types {
		op, _ := ops.Find(name)
		want := accepted[op.Types]
		for _, dt := range []string{"bool", "int32", "uint8", "float16", "float32"} {
			if !slices.Contains(partly, name) && accepts[dt] != containsWord(want, dt) {
				t.Errorf("%s: accepts %s: %v; its description says %s", name, dt, accepts[dt], op.Types)
			}
		}
		if !slices.Contains(casts, name) && flows[name] == op.NoGradient {
			t.Errorf("%s: a gradient flows: %v, which its description denies", name, flows[name])
		}
	}
}

func containsWord(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// differentiable reports whether a result has a gradient with respect to x.
func differentiable(y, x *uop.UOp) bool {
	y, err := tensor.Cast(y, uop.Float32)
	if err != nil {
		return false
	}
	s, err := tensor.Sum(y, nil, false)
	if err != nil {
		return false
	}
	g, err := gradient.Of(s, []*uop.UOp{x}, nil)
	if err != nil || g[0] == nil {
		return false
	}
	base := g[0].Base()
	return base.Op != uop.ConstOp || base.ConstVal().F() != 0
}
