package tensor

import (
	"math"

	"polygrad/core/uop"
)

// attention is softmax(q kᵀ / sqrt(d) + mask) v.
func attention(q, k, v *uop.UOp, o AttentionOptions) *uop.UOp {
	qk, mask := dot(q, transpose(k, -2, -1), uop.LeastUpper(q.DType, k.DType, uop.Float32)), o.Mask
	if o.Scale == 0 {
		qk = div(qk, math.Sqrt(float64(intSize("q", q.Shape(), len(q.Shape())-1))))
	} else {
		qk = mul(qk, o.Scale)
	}
	if o.Causal {
		mask = tril(full(qk.Graph(), qk.Shape(), uop.BoolConst(true), uop.Bool), 0)
	}
	if mask != nil {
		if mask.DType.IsBool() {
			mask = where(mask, 0, math.Inf(-1))
		}
		qk = add(qk, mask)
	}
	weights := softmax(cast(qk, q.DType), []int{-1})
	if o.Dropout > 0 {
		weights = dropout(tensorSeed(o.Seed), weights, o.Dropout)
	}
	return dot(weights, v, nil)
}

// AttentionOptions are the options of ScaledDotProductAttention.
type AttentionOptions struct {
	// Mask is added to the scores; a bool mask keeps the scores where it is true. It broadcasts and may be nil.
	Mask *uop.UOp
	// Causal masks the scores of keys after the query.
	Causal bool
	// Grouped lets several query heads (axis -3) share one key-value head.
	Grouped bool
	// Scale replaces 1/sqrt(d) unless it is 0.
	Scale float64
	// Dropout is the probability of dropping a weight, with the random numbers of Seed (see RandSeeded).
	Dropout float64
	Seed    *uop.UOp
}

// ScaledDotProductAttention is softmax(q kᵀ / sqrt(d) + mask) v for q (…, L, d), k (…, S, d) and v (…, S, e).
func ScaledDotProductAttention(q, k, v *uop.UOp, o AttentionOptions) (r *uop.UOp, err error) {
	defer guard("ScaledDotProductAttention", &err)
	needSame("operands", q, k, v)
	needFloat("q", q)
	qs, ks, vs := q.Shape(), k.Shape(), v.Shape()
	if len(qs) < 2 || len(ks) < 2 || len(vs) < 2 || qs[len(qs)-1] != ks[len(ks)-1] || ks[len(ks)-2] != vs[len(vs)-2] {
		fail("operands", "shapes %s, %s and %s, expected (…, L, d), (…, S, d) and (…, S, e)", qs, ks, vs)
	}
	if o.Mask != nil {
		needSame("mask", q, o.Mask)
		if o.Causal {
			fail("mask", "is given together with causal attention, expected one of them")
		}
	}
	if o.Grouped {
		k, v = shareHeads(q, k), shareHeads(q, v)
	}
	needProbability("dropout_p", o.Dropout)
	if o.Dropout > 0 {
		needSame("seed", q, o.Seed)
	}
	return attention(q, k, v, o), nil
}

// shareHeads repeats the heads of k to match those of q.
func shareHeads(q, k *uop.UOp) *uop.UOp {
	if len(q.Shape()) < 3 || len(k.Shape()) < 3 {
		fail("operands", "shapes %s and %s have no axis of heads, expected 3 dimensions or more", q.Shape(), k.Shape())
	}
	n, m := intSize("q", q.Shape(), len(q.Shape())-3), intSize("k", k.Shape(), len(k.Shape())-3)
	if m == 0 || n%m != 0 {
		fail("operands", "%d query heads, expected a multiple of the %d heads of keys and values", n, m)
	}
	return repeatInterleave(k, n/m, -3)
}
