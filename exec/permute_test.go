package exec_test

import (
	"fmt"
	"slices"
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

// TestPermutedCopies copies matrices and cubes with their axes in another order, of sizes around those of vectors and tiles.
func TestPermutedCopies(t *testing.T) {
	shapes := [][]int64{{16, 16}, {64, 64}, {33, 70}, {130, 48}, {17, 15}, {5, 3, 40}, {3, 32, 35}, {20, 21, 22}}
	for _, d := range append(levels.Native(t), wasm.New(), nested.New(ir.AVX512), nested.New(ir.AVX2), nested.New(ir.SSE4)) {
		e := exec.New(d)
		for _, s := range shapes {
			order := []int{1, 0}
			if len(s) == 3 {
				order = []int{2, 0, 1}
			}
			t.Run(fmt.Sprintf("%s/%v", d.Name(), s), func(t *testing.T) {
				permutedCopy[float32](t, e, uop.Float32, s, order)
				permutedCopy[float64](t, e, uop.Float64, s, order)
				permutedCopy[uint8](t, e, uop.Uint8, s, order)
				permutedCopy[int64](t, e, uop.Int64, s, order)
				permutedCopy[int16](t, e, uop.Int16, s, order)
			})
		}
	}
}

// TestLargeTransposes copies matrices that are written around the caches, in memory that allows that and in memory that does not.
func TestLargeTransposes(t *testing.T) {
	for _, d := range levels.Native(t) {
		e := exec.New(d)
		for _, s := range [][]int64{{1200, 1080}, {1200, 1085}, {1203, 1080}} {
			t.Run(fmt.Sprintf("%s/%v", d.Name(), s), func(t *testing.T) {
				permutedCopy[float32](t, e, uop.Float32, s, []int{1, 0})
				permutedCopy[float64](t, e, uop.Float64, s, []int{1, 0})
			})
		}
		permutedCopy[float32](t, e, uop.Float32, []int64{6, 480, 550}, []int{0, 2, 1})
	}
}

func permutedCopy[V float32 | float64 | uint8 | int16 | int64](t *testing.T, e *exec.Executor, dt *uop.DType, shape []int64, order []int) {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	in, out := guard.Slice[V](t, int(n), int(shape[0])), guard.Slice[V](t, int(n), int(shape[1]))
	for i := range in {
		in[i] = V(i)
	}
	g := symbolic.NewGraph()
	from, to := g.NewBuffer("CPU", n, dt), g.NewBuffer("CPU", n, dt)
	v := from.Reshape(uop.ShapeOf(shape...)).Permute(order).Reshape(uop.ShapeOf(n))
	binds := []exec.Binding{{Buffer: from, Ptr: unsafe.Pointer(&in[0])}, {Buffer: to, Ptr: unsafe.Pointer(&out[0])}}
	// A sum keeps the copy from being no kernel at all.
	if err := e.Realize(g.Sink(nil, to.Store(v.Add(v))), binds, nil); err != nil {
		t.Fatal(err)
	}
	strides := make([]int64, len(shape))
	for i, s := len(shape)-1, int64(1); i >= 0; i-- {
		strides[i] = s
		s *= shape[i]
	}
	at := make([]int64, len(shape))
	for i, got := range out {
		rest := int64(i)
		for j := len(order) - 1; j >= 0; j-- {
			at[order[j]] = rest % shape[order[j]]
			rest /= shape[order[j]]
		}
		from := int64(0)
		for j, s := range strides {
			from += s * at[j]
		}
		if want := 2 * in[from]; got != want {
			t.Fatalf("%s: element %d is %v, expected %v (axes %v of %v)", dt, i, got, want, order, slices.Clone(shape))
		}
	}
}
