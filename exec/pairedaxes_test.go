package exec_test

import (
	"fmt"
	"testing"
	"unsafe"

	"polygrad/core/nest/ir"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/wasm"
	"polygrad/tests/devices/nested"
	"polygrad/tests/guard"
	"polygrad/tests/levels"
)

// TestPairedVectorAxes adds vectors that are broadcast along short rows, and vectors that are broadcast over all rows, to matrices of sizes around
// those of vectors: there vectors go over two axes together.
func TestPairedVectorAxes(t *testing.T) {
	for _, d := range append(levels.Native(t), wasm.New(), nested.New(ir.AVX512), nested.New(ir.AVX2), nested.New(ir.SSE4)) {
		e := exec.New(d)
		for _, short := range []int64{2, 3, 4, 5, 7, 8, 16} {
			for _, rows := range []int64{2, 3, 7, 8, 14, 33} {
				t.Run(fmt.Sprintf("%s/%dx%d", d.Name(), rows, short), func(t *testing.T) {
					addPairs[float32](t, e, uop.Float32, rows, short)
					addPairs[float64](t, e, uop.Float64, rows, short)
					addPairs[uint8](t, e, uop.Uint8, rows, short)
					addPairs[int32](t, e, uop.Int32, rows, short)
				})
			}
		}
	}
}

func addPairs[V float32 | float64 | uint8 | int32](t *testing.T, e *exec.Executor, dt *uop.DType, rows, short int64) {
	const images = 3
	shape := uop.ShapeOf(images, rows, short)
	g := symbolic.NewGraph()
	var binds []exec.Binding
	buffer := func(dims ...int64) (*uop.UOp, []V) {
		s := uop.ShapeOf(dims...)
		n := s.MaxNumel()
		mem := guard.Slice[V](t, int(n), int(rows))
		for i := range mem {
			mem[i] = V(i%50 + 7*len(binds))
		}
		b := g.NewBuffer("CPU", n, dt)
		binds = append(binds, exec.Binding{Buffer: b, Ptr: unsafe.Pointer(&mem[0])})
		return b.Reshape(s), mem
	}
	x, xs := buffer(images, rows, 1)
	y, ys := buffer(images, 1, short)
	z, zs := buffer(images, rows, short)
	to, out := buffer(images, rows, short)
	sum := x.Expand(shape).Add(y.Expand(shape)).Add(z)
	if err := e.Realize(g.Sink(nil, to.Base().Store(sum)), binds, nil); err != nil {
		t.Fatal(err)
	}
	for i, got := range out {
		n := int64(i)
		if want := xs[n/short] + ys[n/(rows*short)*short+n%short] + zs[n]; got != want {
			t.Fatalf("%s: element %d is %v, expected %v", dt, i, got, want)
		}
	}
}
