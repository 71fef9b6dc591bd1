package model

import (
	"fmt"
	"math"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// llama is the LLaMA family: rotary positions, root mean square norms, a gated feed-forward network, and key-value heads that
// several query heads may share. Touvron et al., arXiv 2302.13971 and 2307.09288; Jiang et al., arXiv 2310.06825 (window); Qwen
// team, arXiv 2407.10671 (biases) and 2505.09388 (norms of queries and keys).
type llama struct {
	vocab, embd, inner, layers, heads, kvHeads, width, room, window int64

	eps  float64
	act  activation
	rope rope
	// tied: the output layer shares the embedding table. qkvBias, outBias, mlpBias: layers with biases. headNorm: norms of
	// queries and keys.
	tied, qkvBias, outBias, mlpBias, headNorm bool
}

// usualRoom is the default number of positions of a model with rotary positions that allows more: memory grows with it.
const usualRoom = 4096

// llamaConfig reads the keys of a config.json.
func llamaConfig(kind string, j *Config, seq int64) (*llama, error) {
	c := &llama{
		vocab: j.Int("vocab_size", 32000), embd: j.Int("hidden_size", 4096), inner: j.Int("intermediate_size", 11008),
		layers: j.Int("num_hidden_layers", 32), heads: j.Int("num_attention_heads", 32),
		eps: j.Number("rms_norm_eps", 1e-6), tied: j.True("tie_word_embeddings", false),
		qkvBias: j.True("attention_bias", kind == "qwen2"), outBias: j.True("attention_bias", false),
		mlpBias: j.True("mlp_bias", false), headNorm: kind == "qwen3",
	}
	c.kvHeads = j.Int("num_key_value_heads", c.heads)
	most := j.Int("max_position_embeddings", 2048)
	for _, v := range []struct {
		name string
		n    int64
	}{{"vocab_size", c.vocab}, {"hidden_size", c.embd}, {"intermediate_size", c.inner}, {"num_hidden_layers", c.layers},
		{"num_attention_heads", c.heads}, {"num_key_value_heads", c.kvHeads}, {"max_position_embeddings", most}} {
		if v.n < 1 || v.n > math.MaxInt32 {
			return nil, fmt.Errorf("%s: %d, expected at least 1", v.name, v.n)
		}
	}
	c.width = j.Int("head_dim", c.embd/c.heads)
	act := j.Text("hidden_act", "silu")
	c.act = hfActivations[act]
	switch {
	case c.layers > maxLayers:
		return nil, fmt.Errorf("num_hidden_layers: %d, expected at most %d", c.layers, maxLayers)
	case c.heads%c.kvHeads != 0:
		return nil, fmt.Errorf("num_key_value_heads: %d, expected a divisor of the %d heads", c.kvHeads, c.heads)
	case !j.Has("head_dim") && c.embd%c.heads != 0 || c.width < 1 || c.width > math.MaxInt32:
		return nil, fmt.Errorf("head_dim: hidden_size %d does not divide into %d heads", c.embd, c.heads)
	case c.act == nil:
		return nil, fmt.Errorf("hidden_act: %q is unknown", act)
	case !(c.eps >= 0):
		return nil, fmt.Errorf("rms_norm_eps: %v, expected 0 or more", c.eps)
	case seq < 0 || seq > most:
		return nil, &roomError{seq, most}
	}
	if c.room = seq; seq == 0 {
		c.room = min(most, usualRoom)
	}
	switch {
	case kind == "mistral":
		c.window = j.Int("sliding_window", 0)
	case j.True("use_sliding_window", false):
		return nil, fmt.Errorf("use_sliding_window: true, expected false")
	}
	if c.window < 0 || c.window > math.MaxInt32 {
		return nil, fmt.Errorf("sliding_window: %d, expected at least 1", c.window)
	}
	if c.window >= c.room {
		c.window = 0
	}
	var err error
	c.rope, err = ropeOf(j, c.width)
	return c, err
}

func (c *llama) size() decoderSize {
	return decoderSize{vocab: c.vocab, room: c.room, layers: c.layers, heads: c.kvHeads, width: c.width, window: c.window}
}

func (c *llama) define(b *builder, batch int64) { b.languageModel(c, batch, c.room, func() {}) }

func (c *llama) stack(b *builder, s *span) *uop.UOp {
	h := once(b.matrix("embed_tokens.weight", c.vocab, c.embd, false).rows(s.tokens))
	cos, sin := b.ropeTable(c.rope, c.room)
	at := func(table *uop.UOp) *uop.UOp {
		return must(tensor.Unsqueeze(once(must(tensor.Embedding(table, s.positions))), 1))
	}
	cos, sin = at(cos), at(sin)
	for l := range c.layers {
		name := fmt.Sprintf("layers.%d.", l)
		h = once(must(tensor.Add(h, c.attention(b, s, l, name+"self_attn.", c.norm(b, name+"input_layernorm", h, c.embd), cos, sin))))
		h = once(must(tensor.Add(h, c.feedForward(b, name+"mlp.", c.norm(b, name+"post_attention_layernorm", h, c.embd)))))
	}
	return once(c.norm(b, "norm", h, c.embd))
}

func (c *llama) logits(b *builder, h *uop.UOp) *uop.UOp {
	if c.tied {
		return b.matrix("embed_tokens.weight", c.vocab, c.embd, false).times(h)
	}
	return b.matrix("lm_head.weight", c.vocab, c.embd, false).times(h)
}

// norm divides by the root mean square over the last axis.
func (c *llama) norm(b *builder, name string, h *uop.UOp, n int64) *uop.UOp {
	w := b.param(name+".weight", ones, n)
	return must(tensor.Mul(must(tensor.RMSNorm(h, c.eps)), w))
}

// linear is h @ wᵀ, plus b if there is one.
func (b *builder) linear(name string, h *uop.UOp, in, out int64, biased bool) *uop.UOp {
	y := b.matrix(name+".weight", out, in, false).times(h)
	if biased {
		y = must(tensor.Add(y, b.param(name+".bias", nil, out)))
	}
	return y
}

func (c *llama) attention(b *builder, s *span, l int64, name string, h, cos, sin *uop.UOp) *uop.UOp {
	h = once(h)
	part := func(what string, heads int64) *uop.UOp {
		return splitHeads(once(b.linear(name+what+"_proj", h, c.embd, heads*c.width, c.qkvBias)), heads)
	}
	turned := func(what string, heads int64) *uop.UOp {
		x := part(what, heads)
		if c.headNorm {
			x = once(c.norm(b, name+what+"_norm", x, c.width))
		}
		return once(turn(x, cos, sin))
	}
	q := shaped(turned("q", c.heads), []int64{s.batch, c.kvHeads, c.heads / c.kvHeads * s.n, c.width})
	o := s.attend(l, q, turned("k", c.kvHeads), once(part("v", c.kvHeads)))
	o = joinHeads(shaped(once(o), []int64{s.batch, c.heads, s.n, c.width}))
	return b.linear(name+"o_proj", once(o), c.heads*c.width, c.embd, c.outBias)
}

func (c *llama) feedForward(b *builder, name string, h *uop.UOp) *uop.UOp {
	h = once(h)
	gate := must(c.act(once(b.linear(name+"gate_proj", h, c.embd, c.inner, c.mlpBias))))
	up := once(b.linear(name+"up_proj", h, c.embd, c.inner, c.mlpBias))
	return b.linear(name+"down_proj", once(must(tensor.Mul(gate, up))), c.inner, c.embd, c.mlpBias)
}
