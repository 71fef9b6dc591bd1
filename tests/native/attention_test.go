//go:build linux && amd64 && cgo

package native

import (
	"fmt"
	"math"
	"testing"

	"polygrad/core/gradient"
	"polygrad/core/tensor"
	"polygrad/core/uop"
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

// TestAttentionGradients has a causal mask that leaves blocks of the scores, the last of which may be of one row.
func TestAttentionGradients(t *testing.T) {
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for _, s := range []struct{ heads, length, size int64 }{{2, 320, 24}, {1, 449, 16}, {3, 300, 7}} {
			t.Run(fmt.Sprintf("%dx%dx%d", s.heads, s.length, s.size), func(t *testing.T) {
				b := newBed(t, e, s.heads, s.length)
				q, qs := b.floats(s.heads, s.length, s.size)
				k, ks := b.floats(s.heads, s.length, s.size)
				v, vs := b.floats(s.heads, s.length, s.size)
				seed, seeds := b.floats(s.heads, s.length, s.size)
				y := b.ok(tensor.ScaledDotProductAttention(q, k, v, tensor.AttentionOptions{Causal: true}))
				grads, err := gradient.Of(y, []*uop.UOp{q.Base(), k.Base(), v.Base()}, seed)
				if err != nil {
					t.Fatal(err)
				}
				var got [3][]float32
				for i, g := range grads {
					got[i] = b.want(g, nil)
				}
				b.run()
				var want [3][]float64
				for h := range s.heads {
					of := func(x []float32) []float32 { return x[h*s.length*s.size:][:s.length*s.size] }
					for i, g := range causalGradients(of(qs), of(ks), of(vs), of(seeds), s.size) {
						want[i] = append(want[i], g...)
					}
				}
				for i, name := range []string{"queries", "keys", "values"} {
					near(b, "gradient of the "+name, got[i], want[i], 1e-5)
				}
			})
		}
	})
}

// causalGradients are the gradients of queries, keys and values for those of the results of causal attention.
func causalGradients(queries, keys, values, seeds []float32, size int64) (out [3][]float64) {
	for i := range out {
		out[i] = make([]float64, len(queries))
	}
	n, scale := int64(len(queries))/size, 1/math.Sqrt(float64(size))
	dot := func(a, b []float32) (sum float64) {
		for i, x := range a[:size] {
			sum += float64(x) * float64(b[i])
		}
		return sum
	}
	for i := range n {
		query, seed := queries[i*size:], seeds[i*size:]
		weights, changes := make([]float64, i+1), make([]float64, i+1)
		sum, mean := 0.0, 0.0
		for j := range weights {
			weights[j] = math.Exp(scale * dot(query, keys[int64(j)*size:]))
			changes[j] = dot(seed, values[int64(j)*size:])
			sum += weights[j]
		}
		for j := range weights {
			weights[j] /= sum
			mean += weights[j] * changes[j]
		}
		for j := range weights {
			change := scale * weights[j] * (changes[j] - mean)
			for c := range size {
				at, to := i*size+c, int64(j)*size+c
				out[0][at] += change * float64(keys[to])
				out[1][to] += change * float64(queries[at])
				out[2][to] += weights[j] * float64(seeds[at])
			}
		}
	}
	return out
}

// TestAttentionToLengths has the number of keys of each row of the batch in memory.
func TestAttentionToLengths(t *testing.T) {
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		const batch, queries, keys, size = 5, 300, 330, 16
		b := newBed(t, e)
		q, qs := b.floats(batch, 1, queries, size)
		k, ks := b.floats(batch, 1, keys, size)
		v, vs := b.floats(batch, 1, keys, size)
		lengths, ns := input[int32](b, batch, 1, 1, 1)
		copy(ns, []int32{330, 1, 64, 201, 1000})
		at := b.ok(tensor.Arange(b.g, uop.Int(0), uop.Int(keys), uop.Int(1), nil)).Reshape(uop.ShapeOf(1, 1, 1, keys)).Expand(uop.ShapeOf(batch, 1, queries, keys))
		mask := at.Alu(uop.CmpLt, lengths.Expand(uop.ShapeOf(batch, 1, queries, keys)))
		u, err := tensor.ScaledDotProductAttention(q, k, v, tensor.AttentionOptions{Mask: mask})
		got := output[float32](b, u, err)
		b.run()
		var want []float64
		for n := range batch {
			for i := range queries {
				want = append(want, attended(qs[(n*queries+i)*size:][:size], ks[n*keys*size:], vs[n*keys*size:], min(int64(ns[n]), keys), size)...)
			}
		}
		near(b, "attention", got, want, 1e-5)
	})
}
