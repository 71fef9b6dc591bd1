package model

import (
	"cmp"
	"fmt"
	"math"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// GPT2Config is the shape of a GPT-2 model.
type GPT2Config struct {
	Vocab, Embd, Head, Layer, MaxSeq int64
	NormEps                          float64
	// Inner is the width of the feed-forward layers, 4*Embd if it is 0.
	Inner int64
	// Activation is the activation of the feed-forward layers; "" is gelu_new.
	Activation string
}

// hfActivations are the activations by their names in config.json.
var hfActivations = map[string]activation{
	"gelu_new": tensor.Gelu, "gelu_fast": tensor.Gelu, "gelu_pytorch_tanh": tensor.Gelu, "gelu": exactGelu,
	"quick_gelu": tensor.QuickGelu, "relu": tensor.Relu, "silu": tensor.Silu, "swish": tensor.Silu, "tanh": tensor.Tanh,
	"sigmoid": tensor.Sigmoid,
}

// exactGelu is x * Φ(x) with the normal distribution function Φ.
func exactGelu(x *uop.UOp) (*uop.UOp, error) {
	erf := must(tensor.Erf(must(tensor.Mul(x, number(x, math.Sqrt(0.5))))))
	return tensor.Mul(must(tensor.Mul(number(x, 0.5), x)), must(tensor.Add(number(x, 1), erf)))
}

// number is a constant of the type of x.
func number(x *uop.UOp, v float64) *uop.UOp { return must(tensor.Scalar(x, uop.Float(v))) }

// maxLayers is far above any real model: it bounds the time spent on a damaged configuration.
const maxLayers = 4096

// check validates a configuration and returns its activation.
func (c *GPT2Config) check(batch int64) (activation, error) {
	for _, v := range []struct {
		name string
		n    int64
	}{{"batch", batch}, {"vocab_size", c.Vocab}, {"n_embd", c.Embd}, {"n_head", c.Head}, {"n_layer", c.Layer}, {"n_positions", c.MaxSeq}} {
		if v.n < 1 || v.n > math.MaxInt32 {
			return nil, fmt.Errorf("%s: %d, expected at least 1", v.name, v.n)
		}
	}
	act, ok := hfActivations[cmp.Or(c.Activation, "gelu_new")]
	switch {
	case c.Layer > maxLayers:
		return nil, fmt.Errorf("n_layer: %d, expected at most %d", c.Layer, maxLayers)
	case c.Embd%c.Head != 0:
		return nil, fmt.Errorf("n_embd: %d is no multiple of the %d heads", c.Embd, c.Head)
	case c.Inner < 0 || c.Inner > math.MaxInt32:
		return nil, fmt.Errorf("n_inner: %d, expected at least 1", c.Inner)
	case !ok:
		return nil, fmt.Errorf("activation_function: %q is unknown", c.Activation)
	case !(c.NormEps >= 0):
		return nil, fmt.Errorf("layer_norm_epsilon: %v, expected 0 or more", c.NormEps)
	}
	return act, nil
}

// NewGPT2 makes a GPT-2 model for batch rows of MaxSeq tokens; all parameters are zero. Inputs are x (token numbers) and
// positions, initially 0, 1, …; the mask is causal. The output is the logits. The inputs arange and vocab_arange exist for
// old callers; the graph does not read them.
func NewGPT2(e *exec.Executor, c GPT2Config, batch int64) (*Instance, error) {
	act, err := c.check(batch)
	if err == nil {
		var m *Instance
		m, err = build(e, func(b *builder) error { gpt2{c, act}.define(b, batch); return nil })
		if err == nil {
			m.text = gpt2{c, act}
			return m, nil
		}
	}
	return nil, fmt.Errorf("model.NewGPT2: config: %w", err)
}

// gpt2 are the formulas of GPT-2.
type gpt2 struct {
	c   GPT2Config
	act activation
}

func (g gpt2) size() decoderSize {
	return decoderSize{vocab: g.c.Vocab, room: g.c.MaxSeq, layers: g.c.Layer, heads: g.c.Head, width: g.c.Embd / g.c.Head}
}

func (g gpt2) define(b *builder, batch int64) {
	b.languageModel(g, batch, g.c.MaxSeq, func() {
		b.declare(Input, "arange", nil, g.c.MaxSeq)
		b.declare(Aux, "vocab_arange", nil, g.c.Vocab)
		b.first = append(b.first, initializer{"arange", counting}, initializer{"vocab_arange", counting})
	})
}

// table is the embedding table of tokens; the output layer shares it.
func (g gpt2) table(b *builder) matrix { return b.matrix("wte.weight", g.c.Vocab, g.c.Embd, false) }

func (g gpt2) stack(b *builder, s *span) *uop.UOp {
	wte := g.table(b)
	wpe := b.param("wpe.weight", nil, g.c.MaxSeq, g.c.Embd)
	h := once(must(tensor.Add(wte.rows(s.tokens), must(tensor.Embedding(wpe, s.positions)))))
	for l := range g.c.Layer {
		at := fmt.Sprintf("h.%d.", l)
		h = must(tensor.Add(h, g.attention(b, s, l, at+"attn.", g.norm(b, at+"ln_1", h))))
		h = must(tensor.Add(h, g.feedForward(b, at+"mlp.", g.norm(b, at+"ln_2", h))))
		h = once(h)
	}
	return once(g.norm(b, "ln_f", h))
}

func (g gpt2) logits(b *builder, h *uop.UOp) *uop.UOp { return g.table(b).times(h) }

// norm is layer normalization over the last axis with scale and shift.
func (g gpt2) norm(b *builder, name string, h *uop.UOp) *uop.UOp {
	return b.layerNorm(name, h, g.c.Embd, g.c.NormEps)
}

// linear is h @ w + b with a weight of shape (in, out), GPT-2's layout.
func (g gpt2) linear(b *builder, name string, h *uop.UOp, in, out int64) *uop.UOp {
	w, bias := b.matrix(name+".weight", out, in, true), b.param(name+".bias", nil, out)
	return once(must(tensor.Add(w.times(once(h)), bias)))
}

func (g gpt2) attention(b *builder, s *span, l int64, name string, h *uop.UOp) *uop.UOp {
	c := g.c
	qkv := g.linear(b, name+"c_attn", h, c.Embd, 3*c.Embd)
	var parts [3]*uop.UOp
	for i := range parts {
		at := int64(i) * c.Embd
		parts[i] = once(splitHeads(columns(qkv, at, at+c.Embd), c.Head))
	}
	o := joinHeads(s.attend(l, parts[0], parts[1], parts[2]))
	return g.linear(b, name+"c_proj", o, c.Embd, c.Embd)
}

func (g gpt2) feedForward(b *builder, name string, h *uop.UOp) *uop.UOp {
	inner := g.c.Inner
	if inner == 0 {
		inner = 4 * g.c.Embd
	}
	h = must(g.act(g.linear(b, name+"c_fc", h, g.c.Embd, inner)))
	return g.linear(b, name+"c_proj", h, inner, g.c.Embd)
}
