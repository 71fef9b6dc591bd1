//go:build linux && amd64 && cgo

package native

import (
	"fmt"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// TestLongNarrowSums has sums that are so long that they are made in parts or passes, of elements so small that not every
// processor can shut lanes of them, for every rest behind the last whole vector.
func TestLongNarrowSums(t *testing.T) {
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for _, n := range []int64{8, 13, 16, 29, 35} {
			t.Run(fmt.Sprint("product of ", n, " columns"), func(t *testing.T) { longProduct(t, e, 21, 9000, n) })
		}
		for _, n := range []int64{1056, 1061, 1075} {
			t.Run(fmt.Sprint("sum of ", n, " columns"), func(t *testing.T) {
				columnSums[uint8](t, e, 100, 4*n)
				columnSums[int16](t, e, 100, n)
			})
		}
	})
}

// longProduct multiplies bytes as floats; all sums are exact.
func longProduct(t *testing.T, e *exec.Executor, m, k, n int64) {
	b := newBed(t, e, m, k, n)
	x, xs := input[int8](b, m, k)
	y, ys := input[int8](b, k, n)
	v := b.ok(tensor.MatMul(b.ok(tensor.Cast(x, uop.Float32)), b.ok(tensor.Cast(y, uop.Float32))))
	got := b.want(v, nil)
	b.run()
	want := make([]float64, 0, m*n)
	for i := range m {
		for j := range n {
			sum := 0.0
			for l := range k {
				sum += float64(xs[i*k+l]) * float64(ys[l*n+j])
			}
			want = append(want, sum)
		}
	}
	near(b, "product", got, want, 1e-5)
}

// columnSums adds up the rows of a matrix, as floats.
func columnSums[V number](t *testing.T, e *exec.Executor, rows, columns int64) {
	b := newBed(t, e, rows, columns)
	x, xs := input[V](b, rows, columns)
	got := b.want(tensor.Sum(b.ok(tensor.Cast(x, uop.Float32)), []int{0}, false))
	b.run()
	want := make([]float64, columns)
	for i, v := range xs {
		want[int64(i)%columns] += float64(v)
	}
	near(b, fmt.Sprintf("sums of %s", x.DType), got, want, 0)
}
