//go:build linux && amd64 && cgo

package native

import (
	"fmt"
	"math"
	"testing"

	"polygrad/core/tensor"
	"polygrad/exec"
)

// TestAttention has scores that are too many for the cache, so that they are made in blocks of rows, and such whose
// number has no divisor that would do for the height of a block.
func TestAttention(t *testing.T) {
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for _, s := range []struct {
			heads, queries, keys, size, width int64
			causal                            bool
		}{
			{3, 320, 288, 20, 20, false},
			{1, 640, 640, 7, 33, true},
			{2, 400, 401, 33, 64, true},
			{16, 130, 150, 16, 5, false},
			{1, 613, 500, 9, 17, true},
		} {
			t.Run(fmt.Sprintf("%dx%dx%d", s.heads, s.queries, s.keys), func(t *testing.T) {
				b := newBed(t, e, s.heads, s.queries)
				q, qs := b.floats(s.heads, s.queries, s.size)
				k, ks := b.floats(s.heads, s.keys, s.size)
				v, vs := b.floats(s.heads, s.keys, s.width)
				u, err := tensor.ScaledDotProductAttention(q, k, v, tensor.AttentionOptions{Causal: s.causal})
				got := output[float32](b, u, err)
				b.run()
				var want []float64
				for h := range s.heads {
					for i := range s.queries {
						row := qs[(h*s.queries+i)*s.size:][:s.size]
						n := s.keys
						if s.causal {
							n = min(i+1, s.keys)
						}
						want = append(want, attended(row, ks[h*s.keys*s.size:], vs[h*s.keys*s.width:], n, s.width)...)
					}
				}
				near(b, "attention", got, want, 1e-5)
			})
		}
	})
}

// attended is the sum of the first n values, each times the softmax of its key's product with the query.
func attended(query, keys, values []float32, n, width int64) []float64 {
	size := int64(len(query))
	sum, out := 0.0, make([]float64, width)
	for j := range n {
		score := 0.0
		for l, x := range query {
			score += float64(x) * float64(keys[j*size+int64(l)])
		}
		weight := math.Exp(score / math.Sqrt(float64(size)))
		sum += weight
		for c := range out {
			out[c] += weight * float64(values[j*width+int64(c)])
		}
	}
	for c := range out {
		out[c] /= sum
	}
	return out
}
