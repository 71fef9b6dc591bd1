package model

import (
	"strings"
	"testing"

	"polygrad/core/uop"
	"polygrad/exec"
)

// The parts of every node of a model make that node again.
func TestPartsMakeTheNode(t *testing.T) {
	for name, m := range map[string]func() (*Instance, error){
		"mlp": func() (*Instance, error) {
			return NewMLP(nil, []byte(`{"layers":[4,8,3],"activation":"gelu","loss":"cross_entropy","batch_size":2}`))
		},
		"nam": func() (*Instance, error) {
			return NewNAM(nil, []byte(`{"n_features":2,"hidden_sizes":[4],"loss":"mse"}`))
		},
		"gpt2": func() (*Instance, error) {
			return NewGPT2(nil, GPT2Config{Vocab: 11, Embd: 8, Head: 2, Layer: 1, MaxSeq: 4}, 2)
		},
	} {
		i, err := m()
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, e := range i.entries {
			for _, u := range e.sink.Toposort() {
				if u.Op == uop.Device || u.Op == uop.CustomGradient || u.DType.IsIndex() { // files have no gradients
					continue
				}
				src, arg := NodeParts(u)
				var from []Readings
				for _, s := range src {
					from = append(from, Readings{Keep: s})
				}
				v, err := MakeNode(i.g, u.Op, u.DType, from, arg)
				if err == nil && u.Op == uop.ConstOp && u.DType == v.Keep.DType && uop.ArgEqual(u.Arg, v.Keep.Arg) {
					u = v.Keep // constants differ in devices and numbers, which files do not tell
				}
				if err != nil || v.Keep != u || v.Drop != nil && u.Op != uop.ReduceAxis {
					t.Fatalf("%s: %s of %+v with %+v: got %v, %v", name, u, src, arg, v, err)
				}
				seen++
			}
		}
		if seen < 50 {
			t.Errorf("%s: only %d nodes", name, seen)
		}
	}
}

func TestMakeNodeRefuses(t *testing.T) {
	g := exec.NewGraph()
	b := Readings{Keep: g.NewBuffer("CPU", 6, uop.Float32)}
	for name, c := range map[string]struct {
		op   uop.Op
		dt   *uop.DType
		src  []Readings
		arg  NodeArg
		text string
	}{
		"kernel":   {uop.Load, uop.Float32, []Readings{b}, NodeArg{}, "no operation of a model"},
		"arity":    {uop.Add, uop.Float32, []Readings{b}, NodeArg{}, "1 sources"},
		"type":     {uop.Add, uop.Int32, []Readings{b, b}, NodeArg{}, "type float"},
		"arg":      {uop.Reshape, uop.Float32, []Readings{b}, NodeArg{}, "no sizes"},
		"size":     {uop.Reshape, uop.Float32, []Readings{b}, NodeArg{Kind: ArgInts, Nums: []int64{4}}, "4"},
		"axis":     {uop.ReduceAxis, uop.Float32, []Readings{b}, NodeArg{Kind: ArgReduce, Num: int64(uop.Add), Nums: []int64{3}}, "axis 3"},
		"sink":     {uop.Sink, uop.Void, []Readings{b}, NodeArg{}, "STORE"},
		"buffer":   {uop.Buffer, uop.Float32, []Readings{b}, NodeArg{Kind: ArgInt, Num: 2}, "UNIQUE"},
		"device":   {uop.Device, uop.Void, nil, NodeArg{Kind: ArgString, Text: "CPU"}, "tensor graph"},
		"variable": {uop.DefineVar, uop.Int32, nil, NodeArg{Kind: ArgVar, Text: "n", Lo: 2, Hi: 1}, "bounds"},
	} {
		if v, err := MakeNode(g, c.op, c.dt, c.src, c.arg); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, %v, expected an error with %q", name, v, err, c.text)
		}
	}
	first := g.UniqueOf(1000)
	if u := g.NewUnique(); u == first || u.Arg.(uop.Num) != 1001 {
		t.Errorf("after UNIQUE 1000: %v", u)
	}
}
