package exec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"polygrad/core/nest/ir"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/wasm"
	"polygrad/tests/devices/nested"
	"polygrad/tests/guard"
	"polygrad/tests/levels"
)

// TestSums adds up matrices along each axis and looks for their maxima, in sizes around those of vectors and tiles.
func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	shapes := [][2]int64{{1, 1}, {7, 1}, {1, 33}, {16, 16}, {40, 600}, {33, 515}, {100, 1024}, {67, 1037}, {300, 5}, {5, 300}, {64, 16}, {1000, 3}}
	small := ir.AVX512
	small.Name, small.L1, small.Threads = "small caches", 2<<10, 3
	for _, d := range append(levels.Native(t), wasm.New(), nested.New(ir.AVX512), nested.New(ir.AVX2), nested.New(ir.SSE4), nested.New(small)) {
		e := exec.New(d)
		for _, s := range shapes {
			for _, axes := range [][]int{{0}, {1}, {0, 1}} {
				t.Run(fmt.Sprintf("%s/%v along %v", d.Name(), s, axes), func(t *testing.T) {
					sums[float32](t, e, r, uop.Float32, s, axes)
					sums[float64](t, e, r, uop.Float64, s, axes)
					sums[int32](t, e, r, uop.Int32, s, axes)
					sums[int8](t, e, r, uop.Int8, s, axes)
				})
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func sums[V float32 | float64 | int32 | int8](t *testing.T, e *exec.Executor, r *rand.Rand, dt *uop.DType, shape [2]int64, axes []int) {
	n, m := shape[0], shape[1]
	data := guard.Slice[V](t, int(n*m), int(n+m))
	for i := range data {
		data[i] = V(r.IntN(200) - 100)
	}
	group := func(i, j int64) int64 {
		switch {
		case len(axes) == 2:
			return 0
		case axes[0] == 0:
			return j
		}
		return i
	}
	groups := []int64{m, n, 1}[min(axes[0]+2*(len(axes)-1), 2)]
	wantSum, wantMax := make([]float64, groups), make([]float64, groups)
	for i := range wantMax {
		wantMax[i] = math.Inf(-1)
	}
	for i := range n {
		for j := range m {
			at, v := group(i, j), float64(data[i*m+j])
			wantSum[at] += v
			wantMax[at] = max(wantMax[at], v)
		}
	}
	g := symbolic.NewGraph()
	in := g.NewBuffer("CPU", n*m, dt)
	x := in.Reshape(uop.ShapeOf(n, m))
	outSum, outMax := guard.Slice[float64](t, int(groups), int(n)), guard.Slice[float64](t, int(groups), int(m))
	toSum, toMax := g.NewBuffer("CPU", groups, uop.Float64), g.NewBuffer("CPU", groups, uop.Float64)
	flat := func(v *uop.UOp) *uop.UOp { return v.Reshape(uop.ShapeOf(groups)) }
	sum := must(tensor.Cast(must(tensor.Sum(x, axes, false)), uop.Float64))
	top := must(tensor.Cast(must(tensor.Max(x, axes, false)), uop.Float64))
	binds := []exec.Binding{{Buffer: in, Ptr: unsafe.Pointer(&data[0])}, {Buffer: toSum, Ptr: unsafe.Pointer(&outSum[0])}, {Buffer: toMax, Ptr: unsafe.Pointer(&outMax[0])}}
	if err := e.Realize(g.Sink(nil, toSum.Store(flat(sum)), toMax.Store(flat(top))), binds, nil); err != nil {
		t.Fatal(err)
	}
	for i := range wantSum {
		if outSum[i] != wantSum[i] || outMax[i] != wantMax[i] {
			t.Fatalf("%s: result %d is %g and %g, expected %g and %g", dt, i, outSum[i], outMax[i], wantSum[i], wantMax[i])
		}
	}
}
