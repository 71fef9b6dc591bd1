package model

import (
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
	// Activation is that of the feed-forward layers; "" is gelu_new.
	Activation string
}

var gpt2Activations = map[string]activation{
	"": tensor.Gelu, "gelu_new": tensor.Gelu, "gelu_fast": tensor.Gelu, "gelu_pytorch_tanh": tensor.Gelu, "gelu": exactGelu,
	"quick_gelu": tensor.QuickGelu, "relu": tensor.ReluNaN, "silu": tensor.Silu, "swish": tensor.Silu, "tanh": tensor.Tanh,
	"sigmoid": tensor.Sigmoid,
}

// exactGelu is x * Φ(x) with Φ the distribution function of the normal distribution.
func exactGelu(x *uop.UOp) (*uop.UOp, error) {
	erf := must(tensor.FullErf(must(tensor.Mul(x, number(x, math.Sqrt(0.5))))))
	return tensor.Mul(must(tensor.Mul(number(x, 0.5), x)), must(tensor.Add(number(x, 1), erf)))
}

// number is a constant beside x.
func number(x *uop.UOp, v float64) *uop.UOp { return must(tensor.Scalar(x, uop.Float(v))) }

// maxLayers is far above any model: a damaged configuration must not keep the process building.
const maxLayers = 4096

// check gives the activation of a configuration that makes sense.
func (c *GPT2Config) check(batch int64) (activation, error) {
	for _, v := range []struct {
		name string
		n    int64
	}{{"batch", batch}, {"vocab_size", c.Vocab}, {"n_embd", c.Embd}, {"n_head", c.Head}, {"n_layer", c.Layer}, {"n_positions", c.MaxSeq}} {
		if v.n < 1 || v.n > math.MaxInt32 {
			return nil, fmt.Errorf("%s: %d, expected at least 1", v.name, v.n)
		}
	}
	act, ok := gpt2Activations[c.Activation]
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

// NewGPT2 makes a GPT-2 model for batch rows of MaxSeq tokens; all parameters are zero. Inputs are x (token numbers)
// and positions, which begins as 0, 1, …; the mask is causal. The output is the logits. arange and vocab_arange are
// there for callers that fill them; the graph counts by itself.
func NewGPT2(e *exec.Executor, c GPT2Config, batch int64) (*Instance, error) {
	act, err := c.check(batch)
	if err == nil {
		var m *Instance
		m, err = build(e, func(b *builder) error { gpt2{b, c, act, batch}.define(); return nil })
		if err == nil {
			return m, nil
		}
	}
	return nil, fmt.Errorf("model.NewGPT2: config: %w", err)
}

type gpt2 struct {
	*builder
	c     GPT2Config
	act   activation
	batch int64
}

func (g gpt2) define() {
	c := g.c
	x, positions := g.buffer("x", []int64{g.batch, c.MaxSeq}), g.buffer("positions", []int64{1, c.MaxSeq})
	wte := g.param("wte.weight", nil, c.Vocab, c.Embd)
	wpe := g.param("wpe.weight", nil, c.MaxSeq, c.Embd)
	look := func(table, at *uop.UOp, rows int64) *uop.UOp {
		i := must(tensor.Cast(shaped(at, []int64{rows, c.MaxSeq}), uop.Int32))
		return must(tensor.Embedding(table, i))
	}
	h := once(must(tensor.Add(look(wte, x, g.batch), look(wpe, positions, 1))))
	for l := range c.Layer {
		at := fmt.Sprintf("h.%d.", l)
		h = must(tensor.Add(h, g.attention(at+"attn.", g.norm(at+"ln_1", h))))
		h = must(tensor.Add(h, g.feedForward(at+"mlp.", g.norm(at+"ln_2", h))))
		h = once(h)
	}
	logits := must(tensor.Linear(once(g.norm("ln_f", h)), wte, nil))
	g.declare(Input, "x", x, g.batch, c.MaxSeq)
	g.entry(EntryForward, "output", logits, g.batch, c.MaxSeq, c.Vocab)
	g.declare(Input, "positions", positions, 1, c.MaxSeq)
	g.declare(Input, "arange", nil, c.MaxSeq)
	g.declare(Aux, "vocab_arange", nil, c.Vocab)
	for _, name := range []string{"positions", "arange", "vocab_arange"} {
		g.first = append(g.first, initializer{name, counting})
	}
	g.entry(EntryLoss, "loss", must(tensor.Sum(must(tensor.Square(logits)), nil, false)), 1)
}

// norm is a layer normalization over the last axis with scale and shift.
func (g gpt2) norm(name string, h *uop.UOp) *uop.UOp {
	w, b := g.param(name+".weight", nil, g.c.Embd), g.param(name+".bias", nil, g.c.Embd)
	n := must(tensor.LayerNorm(h, []int{-1}, g.c.NormEps))
	return must(tensor.Add(must(tensor.Mul(n, w)), b))
}

// linear is h @ w + b for a weight of shape (in, out), as GPT-2 keeps them.
func (g gpt2) linear(name string, h *uop.UOp, in, out int64) *uop.UOp {
	w, b := g.param(name+".weight", nil, in, out), g.param(name+".bias", nil, out)
	return once(must(tensor.Add(must(tensor.MatMul(once(h), w)), b)))
}

func (g gpt2) attention(name string, h *uop.UOp) *uop.UOp {
	c := g.c
	width := c.Embd / c.Head
	qkv := g.linear(name+"c_attn", h, c.Embd, 3*c.Embd)
	var parts [3]*uop.UOp
	for i := range parts {
		at := int64(i) * c.Embd
		part := must(tensor.Shrink(qkv, []uop.Pair{
			{Lo: uop.N(0), Hi: uop.N(g.batch)}, {Lo: uop.N(0), Hi: uop.N(c.MaxSeq)}, {Lo: uop.N(at), Hi: uop.N(at + c.Embd)},
		}))
		part = shaped(part, []int64{g.batch, c.MaxSeq, c.Head, width})
		parts[i] = once(must(tensor.Transpose(part, 1, 2)))
	}
	scores := must(tensor.MatMul(parts[0], must(tensor.Transpose(parts[1], 2, 3))))
	scores = once(must(tensor.Mul(scores, number(scores, 1/math.Sqrt(float64(width))))))
	seen := must(tensor.Tril(must(tensor.Full(g.d.Graph, uop.ShapeOf(c.MaxSeq, c.MaxSeq), uop.BoolConst(true), uop.Bool)), 0))
	weights := once(must(tensor.Softmax(must(tensor.Where(seen, scores, number(scores, math.Inf(-1)))), -1)))
	o := must(tensor.MatMul(weights, parts[2]))
	o = shaped(must(tensor.Transpose(o, 1, 2)), []int64{g.batch, c.MaxSeq, c.Embd})
	return g.linear(name+"c_proj", o, c.Embd, c.Embd)
}

func (g gpt2) feedForward(name string, h *uop.UOp) *uop.UOp {
	inner := g.c.Inner
	if inner == 0 {
		inner = 4 * g.c.Embd
	}
	h = must(g.act(g.linear(name+"c_fc", h, g.c.Embd, inner)))
	return g.linear(name+"c_proj", h, inner, g.c.Embd)
}
