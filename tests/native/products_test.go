//go:build linux && amd64 && cgo

package native

import (
	"fmt"
	"math"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// layout says how the factors of a product lie in memory.
type layout struct {
	name          string
	leftT, rightT bool
}

var layouts = []layout{{"NN", false, false}, {"NT", false, true}, {"TN", true, false}}

// factor is a stack of matrices and how they are indexed.
func factor[V number](b *bed, batch, rows, columns int64, turned bool) (*uop.UOp, func(n, i, j int64) float64) {
	b.t.Helper()
	dims := []int64{batch, rows, columns}
	if turned {
		dims[1], dims[2] = dims[2], dims[1]
	}
	u, data := input[V](b, dims...)
	if turned {
		u = b.ok(tensor.Permute(u, 0, 2, 1))
	}
	return u, func(n, i, j int64) float64 {
		if turned {
			i, j = j, i
		}
		return float64(data[(n*dims[1]+i)*dims[2]+j])
	}
}

// product multiplies stacks of matrices. With an epilogue a bias is added and negative numbers become 0.
func product[V number](t *testing.T, e *exec.Executor, l layout, batch, m, k, n int64, epilogue bool) {
	b := newBed(t, e, batch, m, k, n)
	x, atX := factor[V](b, batch, m, k, l.leftT)
	y, atY := factor[V](b, batch, k, n, l.rightT)
	if batch == 1 {
		x, y = x.Reshape(x.Shape()[1:]), y.Reshape(y.Shape()[1:])
	}
	v := b.ok(tensor.MatMulAs(x, y, x.DType))
	var bias []V
	if epilogue {
		var u *uop.UOp
		u, bias = input[V](b, n)
		v = b.ok(tensor.Relu(b.ok(tensor.Add(v, u))))
	}
	got := output[V](b, v, nil)
	b.run()
	want := make([]float64, 0, batch*m*n)
	for s := range batch {
		for i := range m {
			for j := range n {
				sum := 0.0
				for l := range k {
					sum += atX(s, i, l) * atY(s, l, j)
				}
				if epilogue {
					sum = max(sum+float64(bias[j]), 0)
				}
				want = append(want, sum)
			}
		}
	}
	tolerance := 0.0
	if x.DType.IsFloat() {
		tolerance = math.Ldexp(4, 1-map[int]int{4: 24, 8: 53}[x.DType.Itemsize()]) * math.Sqrt(float64(k))
	}
	near(b, fmt.Sprintf("%s %d times %dx%dx%d, epilogue %v", l.name, batch, m, k, n, epilogue), got, want, tolerance)
}

// TestProducts has each dimension of a product in turn of every size.
func TestProducts(t *testing.T) {
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for i, s := range sizes() {
			others := [][2]int64{{33, 20}, {64, 96}, {17, 130}}[i%3]
			for turn := range 3 {
				dims := [3]int64{others[0], others[1], others[0]}
				dims[turn] = s
				for j, l := range layouts {
					t.Run(fmt.Sprintf("%s/%dx%dx%d", l.name, dims[0], dims[1], dims[2]), func(t *testing.T) {
						product[float32](t, e, l, 1, dims[0], dims[1], dims[2], (i+j)%2 == 0)
						product[float32](t, e, l, 2+s%2, min(dims[0], 40), dims[1], min(dims[2], 50), (i+j)%4 == 0)
					})
				}
			}
		}
	})
}

// TestProductsOfOneSize has all dimensions of one size, also for types other than float32.
func TestProductsOfOneSize(t *testing.T) {
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for i, s := range sizes() {
			for _, l := range layouts {
				t.Run(fmt.Sprintf("%s/%d", l.name, s), func(t *testing.T) {
					product[float32](t, e, l, 1, s, s, s, i%2 == 0)
					product[float64](t, e, l, 1, s, s, s, i%2 == 1)
					product[int32](t, e, l, 1, s, s, s, i%2 == 0)
				})
			}
		}
	})
}
