// Package table reads tests/ops.json, the calls of operations that every binding must answer alike, and runs them on
// core/tensor and, as a C program, on the C interface. See README.md for the format.
package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"polygrad/core/uop"
)

// Path is where the table lies, seen from this package.
const Path = "../ops.json"

// A Tensor is an operand or a result.
type Tensor struct {
	DType string       `json:"dtype"`
	Shape []int64      `json:"shape"`
	Data  []any        `json:"data"`
	View  [][2]rawView `json:"view"`
	Index bool         `json:"index"`
}

// rawView is the name of a movement, or its argument.
type rawView = json.RawMessage

// An Input is a tensor, or a plain number or bool.
type Input struct {
	Tensor *Tensor
	Number uop.Const
}

// UnmarshalJSON reads a tensor or a number.
func (in *Input) UnmarshalJSON(text []byte) error {
	if text[0] == '{' {
		in.Tensor = new(Tensor)
		return decode(text, in.Tensor)
	}
	var v any
	if err := decode(text, &v); err != nil {
		return err
	}
	n, err := number(v)
	in.Number = n
	return err
}

// A Case is one call with what must come out.
type Case struct {
	Name     string         `json:"name"`
	Op       string         `json:"op"`
	Kind     string         `json:"kind"`
	Inputs   []Input        `json:"inputs"`
	Args     map[string]any `json:"args"`
	Outputs  []*Tensor      `json:"outputs"`
	RTol     float64        `json:"rtol"`
	ATol     float64        `json:"atol"`
	Error    string         `json:"error"`
	Weights  [][]float64    `json:"weights"`
	Grads    [][]float64    `json:"grads"`
	GradTol  float64        `json:"grad_tol"`
	Seed     any            `json:"seed"`
	Training bool           `json:"training"`
}

// Read reads the table.
func Read(path string) ([]*Case, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var cases []*Case
	if err := decode(text, &cases); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cases, nil
}

// decode keeps numbers as they are written: 2 and 2.0 differ, and integers may need 64 bits.
func decode(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(to)
}

// number is a JSON value as a constant: bool, integer or floating.
func number(v any) (uop.Const, error) {
	switch v := v.(type) {
	case bool:
		return uop.BoolConst(v), nil
	case json.Number:
		return parse(v.String())
	case string:
		return parse(v)
	}
	return uop.Const{}, fmt.Errorf("%v is not a number", v)
}

func parse(text string) (uop.Const, error) {
	if !strings.ContainsAny(text, ".enif") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return uop.Int(n), nil
		}
		n, err := strconv.ParseUint(text, 10, 64)
		return uop.Uint(n), err
	}
	f, err := strconv.ParseFloat(text, 64)
	return uop.Float(f), err
}

// Type is the data type of a tensor.
func (t *Tensor) Type() (*uop.DType, error) { return uop.ParseDType(t.DType) }

// Elements are the elements of a tensor in its type.
func (t *Tensor) Elements() ([]uop.Const, error) {
	dt, err := t.Type()
	if err != nil {
		return nil, err
	}
	out := make([]uop.Const, len(t.Data))
	for i, v := range t.Data {
		c, err := number(v)
		if err != nil {
			return nil, err
		}
		if dt.IsFloat() && !c.IsFloat() {
			c = uop.Float(c.F())
		}
		out[i] = uop.FromBits(dt, c.Bits(dt))
	}
	return out, nil
}

// A Movement is one step of a view.
type Movement struct {
	Op    string
	Dims  []int64
	Pairs [][2]int64
}

// Movements are the steps of the view of a tensor.
func (t *Tensor) Movements() ([]Movement, error) {
	out := make([]Movement, len(t.View))
	for i, v := range t.View {
		if err := json.Unmarshal(v[0], &out[i].Op); err != nil {
			return nil, err
		}
		var to any = &out[i].Dims
		if out[i].Op == "shrink" {
			to = &out[i].Pairs
		}
		if err := json.Unmarshal(v[1], to); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// named is the input that an argument names, -1 if the argument is no input.
func named(arg any) int {
	m, ok := arg.(map[string]any)
	if !ok {
		return -1
	}
	n, ok := m["input"].(json.Number)
	if !ok {
		return -1
	}
	i, err := n.Int64()
	if err != nil {
		return -1
	}
	return int(i)
}

// Operands are the inputs that no argument names: what the operation is called with, in order.
func (c *Case) Operands() []int {
	taken := map[int]bool{}
	for _, a := range c.Args {
		taken[named(a)] = true
		if items, ok := a.([]any); ok {
			for _, item := range items {
				taken[named(item)] = true
			}
		}
	}
	var out []int
	for i := range c.Inputs {
		if !taken[i] {
			out = append(out, i)
		}
	}
	return out
}
