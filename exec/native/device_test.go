//go:build linux && amd64 && cgo

package native_test

import (
	"testing"
	"unsafe"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// graph is a graph with float buffers on the native device.
type graph struct {
	t     *testing.T
	g     *uop.Graph
	e     *exec.Executor
	binds []exec.Binding
}

func newGraph(t *testing.T) *graph {
	e, err := exec.Open("native")
	if err != nil {
		t.Fatal(err)
	}
	if e.Device().Name() != "native" {
		t.Skip("no native code here")
	}
	return &graph{t: t, g: symbolic.NewGraph(), e: e}
}

func (g *graph) floats(vals []float32) *uop.UOp {
	u := g.g.NewBuffer("CPU", int64(len(vals)), uop.Float32)
	g.binds = append(g.binds, exec.Binding{Buffer: u, Ptr: unsafe.Pointer(&vals[0]), Bytes: int64(len(vals) * 4)})
	return u
}

func (g *graph) run(src ...*uop.UOp) {
	g.t.Helper()
	if err := g.e.Realize(g.g.Sink(nil, src...), g.binds, nil); err != nil {
		g.t.Fatal(err)
	}
}

func (g *graph) must(u *uop.UOp, err error) *uop.UOp {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
	return u
}

func sequence(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i%17) - 5
	}
	return v
}

func TestElementwise(t *testing.T) {
	for _, n := range []int{1, 10, 100, 4099, 300_000} {
		g := newGraph(t)
		x, y, out := sequence(n), sequence(n), make([]float32, n+1)
		out[n] = -1
		g.run(g.floats(out[:n]).Store(g.must(tensor.Add(g.floats(x), g.floats(y)))))
		for i, v := range out[:n] {
			if v != x[i]+y[i] {
				t.Fatalf("%d elements: element %d is %g, expected %g", n, i, v, x[i]+y[i])
			}
		}
		if out[n] != -1 {
			t.Errorf("%d elements: one more was written", n)
		}
	}
}

func TestProducts(t *testing.T) { products(t, 1, 3, 16, 33, 130) }

// products compares products of square matrices of some sizes with sums.
func products(t *testing.T, sizes ...int) {
	t.Helper()
	for _, n := range sizes {
		g := newGraph(t)
		a, b, out := sequence(n*n), sequence(n*n), make([]float32, n*n)
		square := uop.Shape{uop.N(int64(n)), uop.N(int64(n))}
		product := g.must(tensor.MatMul(g.floats(a).Reshape(square), g.floats(b).Reshape(square)))
		g.run(g.floats(out).Store(product))
		for i := range n {
			for j := range n {
				want := float32(0)
				for k := range n {
					want += a[i*n+k] * b[k*n+j]
				}
				if out[i*n+j] != want { // small whole numbers: exact
					t.Fatalf("%d: element %d, %d is %g, expected %g", n, i, j, out[i*n+j], want)
				}
			}
		}
	}
}

// TestBatchedLast compares products whose lanes are batches with sums: of tiles with rests in all axes, and of more rows than L2 holds.
func TestBatchedLast(t *testing.T) {
	for _, d := range []struct{ i, k, j, b int }{{31, 7, 33, 17}, {34, 3, 40, 16}, {31, 90, 900, 17}} {
		g := newGraph(t)
		x, y, out := sequence(d.i*d.k*d.b), sequence(d.k*d.j*d.b), make([]float32, d.i*d.j*d.b)
		dims := func(n ...int) uop.Shape { return uop.ShapeOf(int64(n[0]), int64(n[1]), int64(n[2])) }
		g.run(g.floats(out).Store(g.must(tensor.Einsum("ikb,kjb->ijb", g.floats(x).Reshape(dims(d.i, d.k, d.b)), g.floats(y).Reshape(dims(d.k, d.j, d.b))))))
		for n, v := range out {
			i, j, b := n/d.b/d.j, n/d.b%d.j, n%d.b
			want := float32(0)
			for k := range d.k {
				want += x[(i*d.k+k)*d.b+b] * y[(k*d.j+j)*d.b+b]
			}
			if v != want { // small whole numbers: exact
				t.Fatalf("%v: element %d, %d, %d is %g, expected %g", d, i, j, b, v, want)
			}
		}
	}
}

func TestWasmInstead(t *testing.T) {
	t.Setenv("POLY_CPU", "wasm")
	e, err := exec.Open("native")
	if err != nil || e.Device().Name() != "wasm" {
		t.Errorf("POLY_CPU=wasm opens %v, %v", e, err)
	}
}
