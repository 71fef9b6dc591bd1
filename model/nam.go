package model

import (
	"fmt"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// maxHidden is the limit for the number of hidden layers of a NAM, maxFeatures for that of its networks. Every one of them is built,
// which would take hours for an absurd number.
const (
	maxHidden   = 16
	maxFeatures = 1 << 16
)

// NewNAM makes a neural additive model: the sum of an intercept and one small network for each feature. JSON:
// n_features, hidden_sizes ([64]), activation (exu, relu, gelu, silu), n_outputs (1), loss, batch_size, seed.
func NewNAM(e *exec.Executor, json []byte) (*Instance, error) {
	return family("NewNAM", e, json, additive)
}

// additive writes the formulas of a neural additive model.
func additive(b *builder, c *Config) error {
	features, outputs := c.Int("n_features", 0), c.Int("n_outputs", 1)
	hidden, given, err := c.widths("hidden_sizes")
	switch {
	case err != nil:
		return err
	case !given:
		hidden = []int64{64}
	case len(hidden) > maxHidden:
		return fmt.Errorf("hidden_sizes: %d layers, expected at most %d", len(hidden), maxHidden)
	}
	if features < 1 || features > maxFeatures {
		return fmt.Errorf("n_features: %d, expected 1 to %d", features, maxFeatures)
	}
	if outputs < 1 {
		return fmt.Errorf("n_outputs: %d, expected at least 1", outputs)
	}
	s := c.common()
	n := nam{b, s.seed, c.word("activation", "exu", "relu", "gelu", "silu"), append(hidden, outputs)}
	x := b.buffer("x", []int64{s.batch, features})
	all := shaped(x, []int64{s.batch, features})
	out := b.param("intercept", nil, outputs)
	for k := range features {
		column := must(tensor.Shrink(all, []uop.Pair{{Lo: uop.N(0), Hi: uop.N(s.batch)}, {Lo: uop.N(k), Hi: uop.N(k + 1)}}))
		out = must(tensor.Add(out, n.feature(k, column)))
	}
	b.supervised(x, out, s.loss, s.batch, features, outputs)
	return nil
}

type nam struct {
	b      *builder
	seed   uint64
	act    string
	widths []int64
}

// feature is the network of one feature.
func (n *nam) feature(k int64, h *uop.UOp) *uop.UOp {
	in := int64(1)
	for l, out := range n.widths {
		name := func(kind, part string) string { return fmt.Sprintf("features.%d.%s.%d.%s", k, kind, l, part) }
		w := n.b.weight(name("layers", "weight"), n.seed, out, in)
		h = must(tensor.Linear(h, w, n.b.param(name("layers", "bias"), nil, out)))
		in = out
		if l == len(n.widths)-1 {
			break
		}
		if n.act == "exu" {
			h = once(exu(h, n.b.param(name("exu", "weight"), nil, out), n.b.param(name("exu", "bias"), nil, out)))
		} else {
			h = once(must(activations[n.act](h)))
		}
	}
	return h
}

// exu is relu(e^w * (h - b)).
func exu(h, w, b *uop.UOp) *uop.UOp {
	return must(tensor.Relu(must(tensor.Mul(must(tensor.Exp(w)), must(tensor.Sub(h, b))))))
}
