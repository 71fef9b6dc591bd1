package model

import (
	"math"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// decoder is the formulas of a causal language model.
type decoder interface {
	size() decoderSize
	// stack is the hidden state (batch, n, model width) of each token after all layers.
	stack(b *builder, s *span) *uop.UOp
	// logits are the logits of hidden states.
	logits(b *builder, h *uop.UOp) *uop.UOp
}

// decoderSize are the sizes that memory and masks of a decoder depend on.
type decoderSize struct {
	vocab, room, layers int64
	// heads is the number of key-value heads, width the width of one.
	heads, width int64
	// window is the number of tokens that a token attends to, itself included; 0 for all before it.
	window int64
}

// span is the part of the text that one program works on: n tokens of each row.
type span struct {
	batch, n int64
	// tokens (batch, n) and positions (batch or 1, n) are int32.
	tokens, positions *uop.UOp
	// attend is the attention of queries (batch, heads, queries a head * n, width) in layer l, with the keys and values (batch,
	// heads, n, width) of the span.
	attend func(l int64, q, k, v *uop.UOp) *uop.UOp
}

// attention is softmax(q kᵀ / sqrt(width)) v with query i attending to key j if seen (…, 1, n, m) is true. Several query
// heads may share a key-value head: their queries are concatenated, (batch, heads, n * query heads, width).
func attention(q, k, v, seen *uop.UOp) *uop.UOp {
	scores := must(tensor.MatMul(q, must(tensor.Transpose(k, -2, -1))))
	s := q.Shape()
	scores = must(tensor.Mul(scores, number(scores, 1/math.Sqrt(float64(s[3].N)))))
	all := scores.Shape()
	n := seen.Shape()[2].N
	shared := s[2].N != n
	if shared {
		scores = must(tensor.Reshape(scores, uop.Shape{s[0], s[1], uop.N(s[2].N / n), uop.N(n), all[3]}))
		seen = must(tensor.Unsqueeze(seen, 1))
	}
	weights := must(tensor.Softmax(must(tensor.Where(seen, once(scores), number(scores, math.Inf(-1)))), -1))
	if shared {
		weights = must(tensor.Reshape(weights, all))
	}
	return must(tensor.MatMul(once(weights), v))
}

// seenKeys is the causal mask of queries over m keys: true for keys not after the query nor out of the window. at are the
// positions of the queries, (n).
func seenKeys(at *uop.UOp, m, window int64) *uop.UOp {
	n := at.Shape()[0].N
	keys := shaped(must(tensor.Arange(at.Graph(), uop.Int(0), uop.Int(m), uop.Int(1), uop.Int32)), []int64{1, m})
	at = shaped(at, []int64{n, 1})
	seen := must(tensor.Le(keys, at))
	if window > 0 {
		near := must(tensor.Gt(must(tensor.Add(keys, must(tensor.Scalar(keys, uop.Int(window))))), at))
		seen = must(tensor.BitAnd(seen, near))
	}
	return shaped(seen, []int64{1, 1, n, m})
}

// splitHeads reshapes h (batch, n, heads * width) to (batch, heads, n, width).
func splitHeads(h *uop.UOp, heads int64) *uop.UOp {
	s, _ := h.Shape().Ints()
	return must(tensor.Transpose(shaped(h, []int64{s[0], s[1], heads, s[2] / heads}), 1, 2))
}

// joinHeads is the inverse of splitHeads.
func joinHeads(h *uop.UOp) *uop.UOp {
	s, _ := h.Shape().Ints()
	return shaped(must(tensor.Transpose(h, 1, 2)), []int64{s[0], s[2], s[1] * s[3]})
}

// columns are columns lo to hi-1 of the last axis.
func columns(h *uop.UOp, lo, hi int64) *uop.UOp {
	s := h.Shape()
	pairs := make([]uop.Pair, len(s))
	for i, n := range s {
		pairs[i] = uop.Pair{Lo: uop.N(0), Hi: n}
	}
	pairs[len(s)-1] = uop.Pair{Lo: uop.N(lo), Hi: uop.N(hi)}
	return must(tensor.Shrink(h, pairs))
}

// wholeSpan is the span of a program over whole rows of n tokens, with token numbers in the inputs x and positions.
func (b *builder) wholeSpan(batch, n, window int64) (s *span, x, positions *uop.UOp) {
	x, positions = b.buffer("x", []int64{batch, n}), b.buffer("positions", []int64{1, n})
	s = &span{batch: batch, n: n, tokens: b.whole(x, batch, n), positions: b.whole(positions, 1, n)}
	at := must(tensor.Arange(b.d.Graph, uop.Int(0), uop.Int(n), uop.Int(1), uop.Int32))
	s.attend = func(_ int64, q, k, v *uop.UOp) *uop.UOp { return attention(q, k, v, seenKeys(at, n, window)) }
	return s, x, positions
}

// whole casts an input to int32.
func (b *builder) whole(input *uop.UOp, shape ...int64) *uop.UOp {
	return must(tensor.Cast(shaped(input, shape), uop.Int32))
}

// languageModel writes the entry points of a decoder for batch rows of n tokens.
func (b *builder) languageModel(d decoder, batch, n int64, more func()) {
	size := d.size()
	s, x, positions := b.wholeSpan(batch, n, size.window)
	logits := d.logits(b, d.stack(b, s))
	b.declare(Input, "x", x, batch, n)
	b.entry(EntryForward, "output", logits, batch, n, size.vocab)
	b.declare(Input, "positions", positions, 1, n)
	b.first = append(b.first, initializer{"positions", counting})
	more()
	b.entry(EntryLoss, "loss", must(tensor.Sum(must(tensor.Square(logits)), nil, false)), 1)
	b.tokenLoss(logits, batch, n, size.vocab)
}

// tokenLoss names the target y, the expected tokens (batch, n), and writes the entry point of the mean cross entropy. Negative
// targets are ignored; other invalid tokens make the loss NaN.
func (b *builder) tokenLoss(logits *uop.UOp, batch, n, vocab int64) {
	node := b.buffer("y", []int64{batch, n})
	b.declare(Target, "y", node, batch, n)
	b.first = append(b.first, initializer{"y", func(data []float32) {
		for i := range data {
			data[i] = -1
		}
	}})
	y := b.whole(node, batch, n)
	count := func(v int64) *uop.UOp { return must(tensor.Scalar(y, uop.Int(v))) }
	counts := must(tensor.Ge(y, count(0)))
	each := must(tensor.SparseCategoricalCrossEntropy(logits, must(tensor.Maximum(y, count(0))), -1, tensor.ReduceNone, 0))
	each = must(tensor.Where(must(tensor.Lt(y, count(vocab))), each, number(each, math.NaN())))
	each = must(tensor.Where(counts, each, number(each, 0)))
	total := must(tensor.Maximum(must(tensor.Sum(counts, nil, false)), must(tensor.Scalar(y, uop.Int(1)))))
	b.entry(EntryCrossEntropy, "cross_entropy", must(tensor.Div(must(tensor.Sum(each, nil, false)), total)), 1)
}

// layerNorm is layer normalization over the last axis with scale and shift.
func (b *builder) layerNorm(name string, h *uop.UOp, n int64, eps float64) *uop.UOp {
	w, shift := b.param(name+".weight", nil, n), b.param(name+".bias", nil, n)
	return must(tensor.Add(must(tensor.Mul(must(tensor.LayerNorm(h, []int{-1}, eps)), w)), shift))
}
