package model

import (
	"fmt"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// NewMLP makes a multi-layer perceptron. JSON: layers (sizes, at least two), activation (relu, gelu, silu, tanh,
// sigmoid, none), bias, loss (mse, cross_entropy, none), batch_size, seed.
func NewMLP(e *exec.Executor, json []byte) (*Instance, error) {
	return family("NewMLP", e, json, mlp)
}

// mlp writes the formulas of a perceptron.
func mlp(b *builder, c *Config) error {
	layers, err := c.layers()
	if err != nil {
		return err
	}
	s := c.common()
	act := activations[c.word("activation", "relu", "gelu", "silu", "tanh", "sigmoid", "none")]
	bias := c.True("bias", true)
	x := b.buffer("x", []int64{s.batch, layers[0]})
	h := shaped(x, []int64{s.batch, layers[0]})
	last := len(layers) - 2
	for l := 0; l <= last; l++ {
		w := b.weight(fmt.Sprintf("layers.%d.weight", l), s.seed, layers[l+1], layers[l])
		var add *uop.UOp
		if bias {
			add = b.param(fmt.Sprintf("layers.%d.bias", l), nil, layers[l+1])
		}
		h = must(tensor.Linear(h, w, add))
		if l < last {
			h = once(must(act(once(h))))
		}
	}
	b.supervised(x, h, s.loss, s.batch, layers[0], layers[last+1])
	return nil
}
