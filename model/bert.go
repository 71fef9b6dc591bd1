package model

import (
	"fmt"
	"math"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// bert is an encoder: each token sees all others of its row. Devlin et al., arXiv 1810.04805.
type bert struct {
	vocab, embd, inner, layers, heads, room, types int64

	eps float64
	act activation
	// pooler and masked say which heads the model has: the pooled value of a row, and the logits of masked tokens.
	pooler, masked bool
}

// bertConfig reads the keys of a config.json; has reports whether the files hold a tensor.
func bertConfig(j *Config, seq int64, has func(name string) bool) (*bert, error) {
	c := &bert{
		vocab: j.Int("vocab_size", 30522), embd: j.Int("hidden_size", 768), inner: j.Int("intermediate_size", 3072),
		layers: j.Int("num_hidden_layers", 12), heads: j.Int("num_attention_heads", 12),
		room: j.Int("max_position_embeddings", 512), types: j.Int("type_vocab_size", 2), eps: j.Number("layer_norm_eps", 1e-12),
		pooler: has("pooler.dense.weight"), masked: has("cls.predictions.transform.dense.weight"),
	}
	for _, v := range []struct {
		name string
		n    int64
	}{{"vocab_size", c.vocab}, {"hidden_size", c.embd}, {"intermediate_size", c.inner}, {"num_hidden_layers", c.layers},
		{"num_attention_heads", c.heads}, {"max_position_embeddings", c.room}, {"type_vocab_size", c.types}} {
		if v.n < 1 || v.n > math.MaxInt32 {
			return nil, fmt.Errorf("%s: %d, expected at least 1", v.name, v.n)
		}
	}
	act := j.Text("hidden_act", "gelu")
	c.act = hfActivations[act]
	switch positions := j.Text("position_embedding_type", "absolute"); {
	case c.layers > maxLayers:
		return nil, fmt.Errorf("num_hidden_layers: %d, expected at most %d", c.layers, maxLayers)
	case c.embd%c.heads != 0:
		return nil, fmt.Errorf("hidden_size: %d is no multiple of the %d heads", c.embd, c.heads)
	case c.act == nil:
		return nil, fmt.Errorf("hidden_act: %q is unknown", act)
	case !(c.eps >= 0):
		return nil, fmt.Errorf("layer_norm_eps: %v, expected 0 or more", c.eps)
	case positions != "absolute":
		return nil, fmt.Errorf("position_embedding_type: %q, expected \"absolute\"", positions)
	case seq < 0 || seq > c.room:
		return nil, &roomError{seq, c.room}
	}
	if seq > 0 {
		c.room = seq
	}
	if c.masked {
		if err := onlyOptions(j, option{"tie_word_embeddings", true}); err != nil {
			return nil, err
		}
	}
	return c, onlyOptions(j, option{"is_decoder", false}, option{"add_cross_attention", false})
}

// define writes the entry point forward. Inputs: x, positions (0, 1, …), token_type (0) and attention_mask (1 for a token
// that is present). Outputs: hidden, pooled if there is a pooler, and output, the logits of masked tokens or else hidden. With
// logits there is also the entry point of their cross entropy.
func (c *bert) define(b *builder, batch int64) {
	n := c.room
	s, x, positions := b.wholeSpan(batch, n, 0)
	kinds, mask := b.buffer("token_type", []int64{batch, n}), b.buffer("attention_mask", []int64{batch, n})
	there := must(tensor.Ne(shaped(mask, []int64{batch, 1, 1, n}), must(tensor.Scalar(mask, uop.Float(0)))))
	there = must(tensor.Expand(there, uop.ShapeOf(batch, 1, n, n)))
	s.attend = func(_ int64, q, k, v *uop.UOp) *uop.UOp { return attention(q, k, v, there) }

	h := b.matrix("embeddings.word_embeddings.weight", c.vocab, c.embd, false).rows(s.tokens)
	table := func(name string, rows int64, at *uop.UOp) *uop.UOp {
		return must(tensor.Embedding(b.param("embeddings."+name+"_embeddings.weight", nil, rows, c.embd), at))
	}
	h = must(tensor.Add(h, table("token_type", c.types, b.whole(kinds, batch, n))))
	h = must(tensor.Add(h, table("position", n, s.positions)))
	h = once(c.norm(b, "embeddings.LayerNorm", once(h)))
	for l := range c.layers {
		h = c.layer(b, s, l, fmt.Sprintf("encoder.layer.%d.", l), h)
	}

	stores := []*uop.UOp{b.output("hidden", h, batch, n, c.embd)}
	if c.pooler {
		first := shaped(must(tensor.Shrink(h, []uop.Pair{{Lo: uop.N(0), Hi: uop.N(batch)}, {Lo: uop.N(0), Hi: uop.N(1)}, {Lo: uop.N(0), Hi: uop.N(c.embd)}})), []int64{batch, c.embd})
		stores = append(stores, b.output("pooled", must(tensor.Tanh(b.linear("pooler.dense", first, c.embd, c.embd, true))), batch, c.embd))
	}
	out, wide := h, c.embd
	if c.masked {
		out, wide = c.maskedHead(b, h), c.vocab
	}
	stores = append(stores, b.output("output", out, batch, n, wide))
	b.d.Entries = append(b.d.Entries, Entry{EntryForward, b.d.Graph.Sink(nil, stores...)})
	for _, in := range []struct {
		name string
		node *uop.UOp
		rows int64
		fill func([]float32)
	}{{"x", x, batch, nil}, {"positions", positions, 1, counting}, {"token_type", kinds, batch, func([]float32) {}}, {"attention_mask", mask, batch, ones}} {
		b.declare(Input, in.name, in.node, in.rows, n)
		if in.fill != nil {
			b.first = append(b.first, initializer{in.name, in.fill})
		}
	}
	if c.masked {
		b.tokenLoss(out, batch, n, c.vocab)
	}
}

func (c *bert) norm(b *builder, name string, h *uop.UOp) *uop.UOp {
	return b.layerNorm(name, h, c.embd, c.eps)
}

func (c *bert) layer(b *builder, s *span, l int64, name string, h *uop.UOp) *uop.UOp {
	part := func(what string) *uop.UOp {
		return once(splitHeads(once(b.linear(name+"attention.self."+what, h, c.embd, c.embd, true)), c.heads))
	}
	o := once(joinHeads(s.attend(l, part("query"), part("key"), part("value"))))
	o = b.linear(name+"attention.output.dense", o, c.embd, c.embd, true)
	h = once(c.norm(b, name+"attention.output.LayerNorm", once(must(tensor.Add(h, o)))))
	inner := once(must(c.act(once(b.linear(name+"intermediate.dense", h, c.embd, c.inner, true)))))
	o = b.linear(name+"output.dense", inner, c.inner, c.embd, true)
	return once(c.norm(b, name+"output.LayerNorm", once(must(tensor.Add(h, o)))))
}

// maskedHead are the logits of each token.
func (c *bert) maskedHead(b *builder, h *uop.UOp) *uop.UOp {
	const name = "cls.predictions."
	h = once(must(c.act(once(b.linear(name+"transform.dense", h, c.embd, c.embd, true)))))
	h = once(c.norm(b, name+"transform.LayerNorm", h))
	logits := b.matrix("embeddings.word_embeddings.weight", c.vocab, c.embd, false).times(h)
	return must(tensor.Add(logits, b.param(name+"bias", nil, c.vocab)))
}
