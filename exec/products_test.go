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

// TestProducts multiplies matrices of many shapes, as they are and transposed,
// and compares with sums in float64: tiles, edges of tiles and spread elements
// all come into play.
func TestProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	shapes := [][3]int64{{1, 1, 1}, {1, 64, 1}, {64, 1, 64}, {4, 4, 4}, {8, 8, 8}, {16, 32, 64}, {64, 64, 64}, {12, 20, 36}, {33, 7, 65}, {128, 96, 160}, {100, 100, 100}, {3, 500, 48}, {256, 16, 256}, {160, 300, 8}, {9, 4200, 18}, {20, 300, 24}}
	for range 12 {
		shapes = append(shapes, [3]int64{1 + r.Int64N(70), 1 + r.Int64N(70), 1 + r.Int64N(70)})
	}
	small := ir.AVX512
	small.Name, small.L1, small.L2, small.L3, small.Threads = "small caches", 2<<10, 8<<10, 64<<10, 2
	for _, d := range append(levels.Native(t), wasm.New(), nested.New(ir.AVX512), nested.New(ir.AVX2), nested.New(ir.SSE4), nested.New(small)) {
		e := exec.New(d)
		for _, s := range shapes {
			for _, transposed := range []string{"", "a", "b"} {
				t.Run(fmt.Sprintf("%s/%dx%dx%d%s", d.Name(), s[0], s[1], s[2], transposed), func(t *testing.T) {
					product(t, e, r, s, transposed)
				})
			}
		}
	}
}

func product(t *testing.T, e *exec.Executor, r *rand.Rand, s [3]int64, transposed string) {
	m, k, n := s[0], s[1], s[2]
	g := symbolic.NewGraph()
	bufA, bufB := g.NewBuffer("CPU", m*k, uop.Float32), g.NewBuffer("CPU", k*n, uop.Float32)
	bufO := g.NewBuffer("CPU", m*n, uop.Float32)
	a, b := bufA.Reshape(uop.ShapeOf(m, k)), bufB.Reshape(uop.ShapeOf(k, n))
	atA := func(i, j int64) int64 { return i*k + j }
	atB := func(i, j int64) int64 { return i*n + j }
	if transposed == "a" {
		a = bufA.Reshape(uop.ShapeOf(k, m)).Permute([]int{1, 0})
		atA = func(i, j int64) int64 { return j*m + i }
	}
	if transposed == "b" {
		b = bufB.Reshape(uop.ShapeOf(n, k)).Permute([]int{1, 0})
		atB = func(i, j int64) int64 { return j*k + i }
	}
	v, err := tensor.MatMul(a, b)
	if err != nil {
		t.Fatal(err)
	}
	place := int(m + n + k)
	x, y, out := guard.Slice[float32](t, int(m*k), place), guard.Slice[float32](t, int(k*n), place+1), guard.Slice[float32](t, int(m*n), place+2)
	for i := range x {
		x[i] = r.Float32() - 0.5
	}
	for i := range y {
		y[i] = r.Float32() - 0.5
	}
	binds := []exec.Binding{{Buffer: bufA, Ptr: unsafe.Pointer(&x[0])}, {Buffer: bufB, Ptr: unsafe.Pointer(&y[0])}, {Buffer: bufO, Ptr: unsafe.Pointer(&out[0])}}
	if err := e.Realize(g.Sink(nil, bufO.Store(v.Reshape(uop.ShapeOf(m*n)))), binds, nil); err != nil {
		t.Fatal(err)
	}
	for i := range m {
		for j := range n {
			want := 0.0
			for l := range k {
				want += float64(x[atA(i, l)]) * float64(y[atB(l, j)])
			}
			if d := math.Abs(float64(out[i*n+j]) - want); !(d < 2e-6*math.Sqrt(float64(k))) {
				t.Fatalf("element %d, %d is %g, expected %g", i, j, out[i*n+j], want)
			}
		}
	}
}

// TestTwoProducts adds two products of different depths, as the cells of recurrent networks do.
func TestTwoProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	for _, d := range append(levels.Native(t), nested.New(ir.AVX512), nested.New(ir.AVX2), nested.New(ir.SSE4)) {
		e := exec.New(d)
		for _, s := range [][4]int64{{4, 5, 6, 7}, {32, 128, 96, 64}, {33, 70, 50, 130}, {100, 17, 65, 40}} {
			t.Run(fmt.Sprintf("%s/%v", d.Name(), s), func(t *testing.T) {
				m, n, k1, k2 := s[0], s[1], s[2], s[3]
				g := symbolic.NewGraph()
				var binds []exec.Binding
				input := func(rows, cols int64) (*uop.UOp, []float32) {
					x := make([]float32, rows*cols)
					for i := range x {
						x[i] = r.Float32() - 0.5
					}
					b := g.NewBuffer("CPU", rows*cols, uop.Float32)
					binds = append(binds, exec.Binding{Buffer: b, Ptr: unsafe.Pointer(&x[0])})
					return b.Reshape(uop.ShapeOf(rows, cols)), x
				}
				a, av := input(m, k1)
				b, bv := input(n, k1)
				c, cv := input(m, k2)
				w, wv := input(k2, n)
				out, got := input(m, n)
				v := must(tensor.Add(must(tensor.MatMul(a, b.Permute([]int{1, 0}))), must(tensor.MatMul(c, w))))
				if err := e.Realize(g.Sink(nil, out.Base().Store(v.Reshape(uop.ShapeOf(m*n)))), binds, nil); err != nil {
					t.Fatal(err)
				}
				for i := range m {
					for j := range n {
						want := 0.0
						for l := range k1 {
							want += float64(av[i*k1+l]) * float64(bv[j*k1+l])
						}
						for l := range k2 {
							want += float64(cv[i*k2+l]) * float64(wv[l*n+j])
						}
						if d := math.Abs(float64(got[i*n+j]) - want); !(d < 4e-5) {
							t.Fatalf("element %d, %d is %g, expected %g", i, j, got[i*n+j], want)
						}
					}
				}
			})
		}
	}
}
