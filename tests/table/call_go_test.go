package table

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
)

// renamed are operations of the table that have another name in their description, or none of their own.
var renamed = map[string]string{"setitem": "with_item", "clip": "clamp", "clone": "contiguous"}

// results are the results of the case's operation by its description.
func (c *goCall) results() ([]*uop.UOp, error) {
	name := c.Op
	if other, ok := renamed[name]; ok {
		name = other
	}
	if name == "max_pool2d" && c.Bool("return_indices", false) {
		name = "max_pool2d_with_indices"
	}
	if name == "detach" {
		u, err := tensor.Detach(c.x[0])
		return []*uop.UOp{u}, err
	}
	op, found := ops.Find(name)
	if !found {
		return nil, fmt.Errorf("no description of operation %q", name)
	}
	a := op.Call(c.g)
	a.Seed = func(uint64) (*uop.UOp, error) { return c.seed() }
	a.Value = func(u *uop.UOp) (uop.Const, error) {
		c.computed = true
		v, err := c.values(u)
		if err != nil {
			return uop.Const{}, err
		}
		return v[0], nil
	}
	a.Training = c.Training || c.Error != ""
	given := c.Operands()
	switch op.Form {
	case ops.Method:
		a.X, given = c.in[given[0]], given[1:]
	case ops.Joiner:
		for _, i := range given {
			a.Xs = append(a.Xs, c.in[i])
		}
		given = nil
	}
	if op.Name == "with_item" {
		if err := a.Set("value", c.input(given[0])); err != nil {
			return nil, err
		}
		given = nil
	}
	for i, k := range given {
		if err := a.SetAt(i, c.input(k)); err != nil {
			return nil, err
		}
	}
	for i, p := range op.Params {
		if c.Has(p.Name) {
			v, err := c.value(p, a)
			if err == nil {
				err = a.SetAt(i, v)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return a.Results()
}

// input is an input as an argument: a tensor or a number.
func (c *goCall) input(i int) any {
	if c.in[i] != nil {
		return c.in[i]
	}
	return c.Inputs[i].Number
}

// value is the argument of a parameter.
func (c *goCall) value(p ops.Param, a *ops.Args) (any, error) {
	if i := c.Input(p.Name); i >= 0 {
		return c.in[i], nil
	}
	switch p.Kind {
	case ops.Operand, ops.Number:
		return number(c.Args[p.Name])
	case ops.Int:
		return c.Int(p.Name, 0), nil
	case ops.Ints, ops.Axes:
		return c.Ints(p.Name), nil
	case ops.Shape, ops.NewShape:
		if err := c.positive(p.Name); err != nil && a.X == nil {
			return nil, err
		}
		return uop.ShapeOf(c.Ints(p.Name)...), nil
	case ops.Float:
		return c.Float(p.Name, 0), nil
	case ops.Floats:
		return c.Floats(p.Name), nil
	case ops.Bool:
		return c.Bool(p.Name, false), nil
	case ops.Text, ops.IntsOrText:
		return c.Text(p.Name, ""), nil
	case ops.DType:
		return uop.ParseDType(c.Text(p.Name, ""))
	case ops.Pairs:
		return c.pairs(p.Name, len(a.X.Shape())), nil
	case ops.Items:
		return c.items(), nil
	case ops.Sizes:
		_, sizes := c.Lengths()
		return sizes, nil
	}
	return nil, fmt.Errorf("%s: no arguments of kind %s in the table", p.Name, p.Kind)
}

// positive checks the shape of a new tensor.
func (c *goCall) positive(name string) error {
	for _, n := range c.Ints(name) {
		if n < 0 {
			return fmt.Errorf("shape: %d, expected 0 or more", n)
		}
	}
	return nil
}

// seed is the seed of the case, as a tensor of two words.
func (c *goCall) seed() (*uop.UOp, error) {
	if c.Seed == nil {
		c.Seed = "0"
	}
	s := c.SeedNumber()
	return c.leaf(&Tensor{DType: "uint32", Shape: []int64{2}, Data: []any{fmt.Sprint(s & math.MaxUint32), fmt.Sprint(s >> 32)}})
}

// pairs are two numbers for each axis; a flat list begins with the last axis, and leaves out the first ones.
func (c *goCall) pairs(name string, ndim int) [][]uop.Sint {
	list, _ := c.Args[name].([]any)
	if len(list) > 0 {
		if _, flat := list[0].(json.Number); flat {
			given, out := c.Ints(name), make([][]uop.Sint, ndim)
			for i := 0; i < len(given); i += 2 {
				out[ndim-1-i/2] = []uop.Sint{uop.N(given[i]), uop.N(given[i+1])}
			}
			return out
		}
	}
	out := make([][]uop.Sint, len(list))
	for i, v := range list {
		if pair, ok := v.([]any); ok {
			for _, n := range pair {
				out[i] = append(out[i], uop.N(integer(n)))
			}
		}
	}
	return out
}

// items is the index expression of the case.
func (c *goCall) items() []tensor.Index {
	var out []tensor.Index
	for _, item := range c.Items() {
		switch item.Kind {
		case ItemInt:
			out = append(out, tensor.At(item.At))
		case ItemSlice:
			step := int64(1)
			if item.Slice[2] != nil {
				step = *item.Slice[2]
			}
			out = append(out, tensor.Slice(item.Slice[0], item.Slice[1], step))
		case ItemNewAxis:
			out = append(out, tensor.NewAxis())
		case ItemEllipsis:
			out = append(out, tensor.Ellipsis())
		case ItemTensor:
			out = append(out, tensor.Take(c.in[item.Input]))
		}
	}
	return out
}

// Every operation that is described has a case.
func TestGoEveryOperationHasACase(t *testing.T) {
	cases, err := Read(Path)
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{"with_item": true}
	for _, c := range cases {
		tried[c.Op] = true
	}
	for _, op := range ops.All() {
		if !tried[op.Name] && !elsewhere[op.Name] {
			t.Errorf("%s has no case in tests/ops.json", op.Name)
		}
	}
}

// elsewhere are the operations with tests of their own, or made of two that have cases.
var elsewhere = map[string]bool{
	"complex":  true, // the table has no complex numbers
	"var_mean": true, "std_mean": true, "short": true, "embedding": true, "max_pool2d_with_indices": true,
	"hash": true, "shrink_to": true, "empty": true, "empty_like": true, "const_like": true, "pad_to": true}
