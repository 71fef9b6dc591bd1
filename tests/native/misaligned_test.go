//go:build linux && amd64 && cgo

package native

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/tests/element"
	"polygrad/tests/guard"
)

// TestMisalignedMemory has elements at addresses that are no multiples of their size, as in a file with a header.
func TestMisalignedMemory(t *testing.T) {
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for _, dt := range []*uop.DType{uop.Float32, uop.Float64, uop.Int16, uop.Int64, uop.Float16} {
			for shift := 1; shift < 8; shift += 2 {
				t.Run(fmt.Sprintf("%s, %d bytes", dt, shift), func(t *testing.T) { misaligned(t, e, dt, shift) })
			}
		}
	})
}

// misaligned computes x+x, the sums of x and x times itself, of whole numbers.
func misaligned(t *testing.T, e *exec.Executor, dt *uop.DType, shift int) {
	const n = 37
	g := symbolic.NewGraph()
	var binds []exec.Binding
	memory := func(elements int64) (*uop.UOp, unsafe.Pointer) {
		u := g.NewBuffer("CPU", elements, dt)
		p := guard.For(t, int(elements)*dt.Itemsize(), guard.Side(len(binds)%2), shift)
		binds = append(binds, exec.Binding{Buffer: u, Ptr: p})
		return u, p
	}
	in, x := memory(n * n)
	value := func(i int64) int64 { return i%5 - 2 }
	for i := range int64(n * n) {
		element.Put(x, i, dt, uop.Int(value(i)))
	}
	a := in.Reshape(uop.ShapeOf(n, n))
	ok := func(u *uop.UOp, err error) *uop.UOp {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	var stores []*uop.UOp
	var outs []unsafe.Pointer
	results := []*uop.UOp{ok(tensor.Add(a, a)), ok(tensor.Cast(ok(tensor.Sum(a, []int{1}, false)), dt)), ok(tensor.MatMulAs(a, a, dt))}
	for _, v := range results {
		u, p := memory(v.Shape().Numel().N)
		stores, outs = append(stores, u.Store(v)), append(outs, p)
	}
	if err := e.Realize(g.Sink(nil, stores...), binds, nil); err != nil {
		t.Fatal(err)
	}
	check := func(result int, i, want int64) {
		t.Helper()
		if got := element.Get(outs[result], i, dt).F(); math.Abs(got-float64(want)) > 0 {
			t.Fatalf("result %d, element %d is %g, expected %d", result, i, got, want)
		}
	}
	for i := range int64(n) {
		sum := int64(0)
		for j := range int64(n) {
			sum += value(i*n + j)
			product := int64(0)
			for k := range int64(n) {
				product += value(i*n+k) * value(k*n+j)
			}
			check(0, i*n+j, 2*value(i*n+j))
			check(2, i*n+j, product)
		}
		check(1, i, sum)
	}
}
