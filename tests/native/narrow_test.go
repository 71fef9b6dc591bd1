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

// TestNarrowRests has elements that not every processor can mask, for every rest behind the last whole vector: a vector that overlaps the
// one before computes it, unless it reads what it writes.
func TestNarrowRests(t *testing.T) {
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for n := int64(7); n <= 25; n++ {
			b := newBed(t, e, 5, n)
			x, xs := input[int8](b, 5, n)
			y, ys := input[int8](b, 5, n)
			sums := output[int32](b, b.ok(tensor.Sum(b.ok(tensor.Cast(x, uop.Int32)), []int{1}, false)), nil)
			most := output[int8](b, b.ok(tensor.Max(x, []int{1}, false)), nil)
			twice := output[int8](b, x.Add(x), nil)
			b.stores = append(b.stores, y.AssignTo(y.Add(y).Add(x)))
			var wantSums, wantMost, wantTwice, wantOwn []float64
			for i, v := range xs {
				if int64(i)%n == 0 {
					wantSums, wantMost = append(wantSums, 0), append(wantMost, float64(v))
				}
				row := &wantSums[len(wantSums)-1]
				*row += float64(v)
				last := &wantMost[len(wantMost)-1]
				*last = max(*last, float64(v))
				wantTwice, wantOwn = append(wantTwice, float64(2*v)), append(wantOwn, float64(2*ys[i]+v))
			}
			b.run()
			near(b, "sums", sums, wantSums, 0)
			near(b, "maxima", most, wantMost, 0)
			near(b, "elements", twice, wantTwice, 0)
			near(b, "in place", ys, wantOwn, 0)
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
