package model

import (
	"fmt"

	"polygrad/core/tensor"
	"polygrad/exec"
)

// NewTabM makes an ensemble of perceptrons with shared weights; each member scales inputs and outputs of a layer by its own
// factors. JSON: layers, n_ensemble (32), activation (relu, gelu, silu, none), loss, batch_size, seed.
func NewTabM(e *exec.Executor, json []byte) (*Instance, error) {
	return family("NewTabM", e, json, tabm)
}

// tabm writes the formulas of an ensemble.
func tabm(b *builder, c *Config) error {
	layers, err := c.layers()
	if err != nil {
		return err
	}
	k := c.Int("n_ensemble", 32)
	if k < 1 {
		return fmt.Errorf("n_ensemble: %d, expected at least 1", k)
	}
	s := c.common()
	act := activations[c.word("activation", "relu", "gelu", "silu", "none")]
	x := b.buffer("x", []int64{s.batch, layers[0]})
	h := shaped(x, []int64{s.batch, 1, layers[0]})
	last := len(layers) - 2
	for l := 0; l <= last; l++ {
		in, out := layers[l], layers[l+1]
		name := func(part string) string { return fmt.Sprintf("layers.%d.%s", l, part) }
		w := b.weight(name("weight"), s.seed, out, in)
		r := b.param(name("r"), ones, k, in)
		scale := b.param(name("s"), ones, k, out)
		add := b.param(name("b"), nil, k, out)
		h = must(tensor.Linear(must(tensor.Mul(h, r)), w, nil))
		h = must(tensor.Add(must(tensor.Mul(h, scale)), add))
		if l < last {
			h = once(must(act(once(h))))
		}
	}
	b.supervised(x, must(tensor.Mean(h, []int{1}, false)), s.loss, s.batch, layers[0], layers[last+1])
	return nil
}
