package model

import (
	"fmt"
	"maps"
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// kinds are the families of a Module.
var kinds = map[string]func(b *builder, c *Config) error{
	"mlp": mlp, "tabm": tabm, "nam": additive, "gpt2": func(b *builder, c *Config) error {
		g, err := gpt2Config(c, 0)
		if err != nil {
			return err
		}
		batch := c.common().batch
		act, err := g.check(batch)
		if err == nil {
			gpt2{g, act}.define(b, batch)
		}
		return err
	},
}

// Kinds are the names of the families of NewModule.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// Module is a model of a family for use in any graph: parameters with memory, and formulas.
type Module struct {
	kind   string
	config *Config
	params []*Buffer
	memory *block
}

// otherNames maps the keys of a config.json to those of a GPT2Config.
var otherNames = map[string]string{"max_seq_len": "n_positions", "norm_eps": "layer_norm_epsilon"}

// NewModule makes a model of a kind. The configuration has the keys of the kind's instances; for gpt2 those of a config.json,
// max_seq_len and norm_eps. Parameters are initialized like those of instances.
func NewModule(kind string, c *Config) (*Module, error) {
	formulas := kinds[kind]
	if formulas == nil {
		return nil, fmt.Errorf("model.NewModule: kind: there is no %q, expected one of %v", kind, Kinds())
	}
	m := &Module{kind: kind, config: c.Clone()}
	if err := m.config.Set("loss", "none"); err != nil {
		return nil, err
	}
	for name, meant := range otherNames {
		if kind == "gpt2" && c.Has(name) {
			m.config.values[meant] = c.values[name]
		}
	}
	b := &builder{d: Definition{Graph: exec.NewGraph()}}
	err := b.run(func(b *builder) error { return formulas(b, m.config) })
	if err != nil {
		return nil, fmt.Errorf("model.NewModule: config: %w", err)
	}
	var sizes []int64
	for _, v := range b.d.Variables {
		if v.Role == Param {
			n, err := elements(v.Shape)
			if err != nil {
				return nil, fmt.Errorf("model.NewModule: config: %s: %w", v.Name, err)
			}
			sizes = append(sizes, n)
			m.params = append(m.params, &Buffer{Name: v.Name, Role: Param, Shape: v.Shape})
		}
	}
	if m.memory, err = newBlock(sizes...); err != nil {
		return nil, fmt.Errorf("model.NewModule: config: %w", err)
	}
	for i, p := range m.params {
		p.Data = m.memory.arrays[i]
		for _, f := range b.first {
			if f.name == p.Name {
				f.fill(p.Data)
			}
		}
	}
	return m, nil
}

// Params are the parameters, in order. Their Data stays at one address until Free.
func (m *Module) Params() []*Buffer { return m.params }

// Free releases the memory of the parameters.
func (m *Module) Free() { m.memory.free() }

// Apply writes the formulas in the graph of the inputs: x of shape (batch, in), any batch; for gpt2 token numbers (batch, up to
// n_positions) and optionally positions (1, same). param gives the node of a parameter.
func (m *Module) Apply(inputs []*uop.UOp, param func(p *Buffer) *uop.UOp) ([]*uop.UOp, error) {
	fail := func(format string, a ...any) ([]*uop.UOp, error) {
		return nil, fmt.Errorf("model.Module.Apply: "+format, a...)
	}
	most := 1
	if m.kind == "gpt2" {
		most = 2
	}
	if len(inputs) < 1 || len(inputs) > most {
		return fail("inputs: %d nodes, expected 1 to %d", len(inputs), most)
	}
	dims, ok := inputs[0].Shape().Ints()
	if !ok || len(dims) != 2 || dims[0] < 1 || dims[1] < 1 {
		return fail("inputs: x has shape %s, expected (batch, n)", inputs[0].Shape())
	}
	c := m.config.Clone()
	keys := map[string]int64{"batch_size": dims[0]}
	if m.kind == "gpt2" {
		if limit := m.config.Int("n_positions", gpt2Positions); dims[1] > limit {
			return fail("inputs: x has rows of %d tokens, expected at most %d", dims[1], limit)
		}
		keys["n_positions"] = dims[1]
	}
	for k, v := range keys {
		if err := c.Set(k, v); err != nil {
			return nil, err
		}
	}
	b := &builder{d: Definition{Graph: inputs[0].Graph()}, supply: func(name string, shape []int64) (*uop.UOp, error) {
		return m.supply(inputs, param, name, shape)
	}}
	if err := b.run(func(b *builder) error { return kinds[m.kind](b, c) }); err != nil {
		return fail("inputs: %w", err)
	}
	for _, e := range b.d.Entries {
		if e.Name == EntryForward {
			return []*uop.UOp{e.Sink.Src[0].Src[1]}, nil
		}
	}
	return fail("%s has no outputs", m.kind)
}

// supply gives the formulas parameters and inputs.
func (m *Module) supply(inputs []*uop.UOp, param func(p *Buffer) *uop.UOp, name string, shape []int64) (*uop.UOp, error) {
	for _, p := range m.params {
		if p.Name == name {
			return rows(param(p), shape)
		}
	}
	want := uop.ShapeOf(shape...)
	switch {
	case name == "x":
		x := inputs[0]
		if !x.Shape().Equal(want) {
			return nil, fmt.Errorf("x has shape %s, expected %s", x.Shape(), want)
		}
		return x, nil
	case name == "positions" && len(inputs) == 2:
		return tensor.Reshape(inputs[1], want)
	case name == "positions":
		n, err := tensor.Arange(inputs[0].Graph(), uop.Int(0), uop.Int(shape[1]), uop.Int(1), uop.Int32)
		if err != nil {
			return nil, err
		}
		return tensor.Reshape(n, want)
	}
	return nil, nil
}

// rows is a parameter, or its first rows: of a position table for a shorter text.
func rows(u *uop.UOp, shape []int64) (*uop.UOp, error) {
	s := u.Shape()
	if s.Equal(uop.ShapeOf(shape...)) {
		return u, nil
	}
	pairs := make([]uop.Pair, len(s))
	for i, d := range s {
		pairs[i] = uop.Pair{Lo: uop.N(0), Hi: d}
	}
	pairs[0].Hi = uop.N(shape[0])
	return tensor.Shrink(u, pairs)
}
