package model

import (
	"fmt"
	"slices"
	"strings"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// builder collects the buffers that the formulas of a family name. A formula with wrong shapes panics with a buildError, and
// build returns it as an error, so formulas read without error handling.
type builder struct {
	d     Definition
	first []initializer
	// supply gives the node of a named buffer of a shape; without it, or if it gives nil, the builder makes a BUFFER.
	supply func(name string, shape []int64) (*uop.UOp, error)
	// stored is the type of the matrices, nil for float32.
	stored *uop.DType
	// matrices are the matrices named so far.
	matrices map[string]matrix
}

// initializer fills a buffer of a new instance.
type initializer struct {
	name string
	fill func(data []float32)
}

type buildError struct{ error }

// must gives the result of a tensor operation.
func must(u *uop.UOp, err error) *uop.UOp {
	if err != nil {
		panic(buildError{err})
	}
	return u
}

// run runs the formulas of a family. The panic of a wrong formula becomes an error.
func (b *builder) run(formulas func(b *builder) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			wrong, ok := r.(buildError)
			if !ok {
				panic(r)
			}
			err = wrong.error
		}
	}()
	return formulas(b)
}

// build runs the formulas of a family and makes an instance of the buffers they name.
func build(e *exec.Executor, formulas func(b *builder) error) (*Instance, error) {
	return buildStored(e, nil, formulas)
}

// buildStored is build with matrices stored in a data type, nil for float32.
func buildStored(e *exec.Executor, stored *uop.DType, formulas func(b *builder) error) (*Instance, error) {
	b := &builder{d: Definition{Graph: exec.NewGraph()}, stored: stored}
	if err := b.run(formulas); err != nil {
		return nil, err
	}
	m, err := New(&b.d, e)
	if err != nil {
		return nil, err
	}
	for _, f := range b.first {
		buf := m.named[f.name]
		f.fill(buf.Data)
		buf.given = true
	}
	return m, nil
}

// buffer is the node of supply for the name what, or a new BUFFER.
func (b *builder) buffer(what string, shape []int64) *uop.UOp {
	return b.bufferOf(what, uop.Float32, shape)
}

func (b *builder) bufferOf(what string, dt *uop.DType, shape []int64) *uop.UOp {
	n, err := elements(shape)
	if err != nil {
		panic(buildError{fmt.Errorf("%s: %w", what, err)})
	}
	if b.supply != nil {
		if u := must(b.supply(what, shape)); u != nil {
			return u
		}
	}
	return b.d.Graph.NewBuffer(tensor.DeviceName, n, dt)
}

// declare adds a named buffer to the definition; its node may be nil.
func (b *builder) declare(role Role, name string, node *uop.UOp, shape ...int64) {
	b.d.Variables = append(b.d.Variables, Variable{Name: name, Role: role, Shape: shape, Node: node})
}

func shaped(u *uop.UOp, shape []int64) *uop.UOp { return u.Reshape(uop.ShapeOf(shape...)) }

// param declares a parameter with its initializer; a nil fill means zeros.
func (b *builder) param(name string, fill func(data []float32), shape ...int64) *uop.UOp {
	node := b.buffer(name, shape)
	b.declare(Param, name, node, shape...)
	if fill != nil {
		b.first = append(b.first, initializer{name, fill})
	}
	return shaped(node, shape)
}

// weight declares a parameter of shape (out, in) with random initial values.
func (b *builder) weight(name string, seed uint64, out, in int64) *uop.UOp {
	return b.param(name, func(data []float32) { InitKaiming(seed, name, data, in) }, out, in)
}

func ones(data []float32) {
	for i := range data {
		data[i] = 1
	}
}

func counting(data []float32) {
	for i := range data {
		data[i] = float32(i)
	}
}

// entry adds an entry point that stores a value in a new output buffer.
func (b *builder) entry(name, output string, value *uop.UOp, shape ...int64) {
	b.d.Entries = append(b.d.Entries, Entry{name, b.d.Graph.Sink(nil, b.output(output, value, shape...))})
}

// output makes an output buffer and the STORE of a value to it.
func (b *builder) output(name string, value *uop.UOp, shape ...int64) *uop.UOp {
	node := b.buffer(name, shape)
	b.declare(Output, name, node, shape...)
	return node.Store(value)
}

// supervised declares the input and the output and, with a loss, the target and the loss.
func (b *builder) supervised(x, output *uop.UOp, loss string, batch, in, out int64) {
	b.declare(Input, "x", x, batch, in)
	b.entry(EntryForward, "output", output, batch, out)
	if loss != "mse" && loss != "cross_entropy" {
		return
	}
	shape := []int64{batch, out}
	y := b.buffer("y", shape)
	b.declare(Target, "y", y, shape...)
	target := shaped(y, shape)
	var value *uop.UOp
	if loss == "mse" {
		value = must(tensor.MSELoss(output, target, tensor.ReduceMean))
	} else {
		value = must(tensor.CrossEntropy(output, target, -1, tensor.ReduceMean, 0))
	}
	b.entry(EntryLoss, "loss", value, 1)
}

// once materialises a value and, in the backward pass, its gradient. Fused into a matrix product, an activation or norm would be computed again for
// each of its columns.
func once(h *uop.UOp) *uop.UOp {
	return must(tensor.ContiguousBackward(must(tensor.Contiguous(h))))
}

// activation is a function that is applied between layers.
type activation func(x *uop.UOp) (*uop.UOp, error)

func identity(x *uop.UOp) (*uop.UOp, error) { return x, nil }

var activations = map[string]activation{
	"relu": tensor.Relu, "gelu": tensor.Gelu, "silu": tensor.Silu, "tanh": tensor.Tanh, "sigmoid": tensor.Sigmoid, "none": identity,
}

// common are the settings of all families.
type common struct {
	batch int64
	loss  string
	seed  uint64
}

func (c *Config) common() common {
	return common{max(c.Int("batch_size", 1), 1), c.word("loss", "none", "mse", "cross_entropy"), c.seed()}
}

// word is one of the allowed words, the first one by default.
func (c *Config) word(name string, allowed ...string) string {
	text := c.Text(name, allowed[0])
	if !slices.Contains(allowed, text) {
		panic(buildError{fmt.Errorf("%s: %q, expected one of %s", name, text, strings.Join(allowed, ", "))})
	}
	return text
}

// layers is the required list of at least two widths.
func (c *Config) layers() ([]int64, error) {
	list, ok, err := c.widths("layers")
	if err != nil {
		return nil, err
	}
	if !ok || len(list) < 2 {
		return nil, fmt.Errorf("layers: %d sizes, expected at least 2", len(list))
	}
	return list, nil
}

// family makes an instance from a JSON text.
func family(name string, e *exec.Executor, text []byte, formulas func(b *builder, c *Config) error) (*Instance, error) {
	c, err := ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("model.%s: json: %w", name, err)
	}
	c.asked = map[string]bool{}
	m, err := build(e, func(b *builder) error {
		if err := formulas(b, c); err != nil {
			return err
		}
		return c.unknown()
	})
	if err != nil {
		return nil, fmt.Errorf("model.%s: json: %w", name, err)
	}
	return m, nil
}
