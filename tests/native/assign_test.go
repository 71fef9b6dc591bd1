//go:build linux && amd64 && cgo

package native

import (
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// TestAssignReadsWhatWasThereBefore assigns to buffers values that are made of other elements of the same buffer.
func TestAssignReadsWhatWasThereBefore(t *testing.T) {
	type maker func(b *bed, x, y, z *uop.UOp) (*uop.UOp, error)
	shrunk := func(b *bed, u *uop.UOp, axis int, lo, hi int64) *uop.UOp {
		s, ok := u.Shape().Ints()
		if !ok {
			b.t.Fatalf("shape %s is symbolic", u.Shape())
		}
		bounds := make([]uop.Pair, len(s))
		for i, n := range s {
			bounds[i] = uop.Pair{Lo: uop.N(0), Hi: uop.N(n)}
		}
		bounds[axis] = uop.Pair{Lo: uop.N(lo), Hi: uop.N(hi)}
		return b.ok(tensor.Shrink(u, bounds))
	}
	cases := []struct {
		name    string
		dims    []int64
		target  int
		value   maker
		rounded bool // sums are formed in another order
	}{
		{"its first row", []int64{300, 70}, 0, func(b *bed, x, _, _ *uop.UOp) (*uop.UOp, error) {
			return tensor.Mul(x, shrunk(b, x, 0, 0, 1))
		}, false},
		{"its last column", []int64{300, 70}, 0, func(b *bed, x, _, _ *uop.UOp) (*uop.UOp, error) {
			return tensor.Sub(x, shrunk(b, x, 1, 69, 70))
		}, false},
		{"the row before", []int64{300, 70}, 0, func(b *bed, x, _, _ *uop.UOp) (*uop.UOp, error) {
			return tensor.Cat([]*uop.UOp{shrunk(b, x, 0, 299, 300), shrunk(b, x, 0, 0, 299)}, 0)
		}, false},
		{"keys of attention", []int64{2, 600, 40}, 1, func(_ *bed, q, k, v *uop.UOp) (*uop.UOp, error) {
			return tensor.ScaledDotProductAttention(q, k, v, tensor.AttentionOptions{Causal: true})
		}, true},
		{"values of attention", []int64{2, 600, 40}, 2, func(_ *bed, q, k, v *uop.UOp) (*uop.UOp, error) {
			return tensor.ScaledDotProductAttention(q, k, v, tensor.AttentionOptions{})
		}, true},
	}
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				made := func(finish func(b *bed, to, u *uop.UOp, data []float32) []float32) []float32 {
					b := newBed(t, e, 5)
					var us [3]*uop.UOp
					var datas [3][]float32
					for i := range us {
						us[i], datas[i] = b.floats(c.dims...)
					}
					out := finish(b, us[c.target], b.ok(c.value(b, us[0], us[1], us[2])), datas[c.target])
					b.run()
					return out
				}
				stored := made(func(b *bed, _, u *uop.UOp, _ []float32) []float32 { return b.want(u, nil) })
				assigned := made(func(b *bed, to, u *uop.UOp, data []float32) []float32 {
					b.stores = append(b.stores, to.AssignTo(u))
					return data
				})
				want := make([]float64, len(stored))
				for i, v := range stored {
					want[i] = float64(v)
				}
				tolerance := 0.0
				if c.rounded {
					tolerance = 1e-5
				}
				near(newBed(t, e), c.name, assigned, want, tolerance)
			})
		}
	})
}
