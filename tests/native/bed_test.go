//go:build linux && amd64 && cgo

// Package native tests native code as a whole: programs of all shapes, for each kind of processor that this one can be,
// against sums in float64. The memory of all of them lies beside pages that nothing can touch.
package native

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/tests/guard"
	"polygrad/tests/levels"
)

var all = flag.Bool("all", false, "all sizes up to the largest, not only some")

const largest = 70

// sizes are 1 to largest, or those beside sizes of vectors and tiles.
func sizes() (out []int64) {
	for n := int64(1); n <= largest; n++ {
		beside := n < 10 || n%16 < 2 || n%16 == 15 || n%14 == 0 || n == largest
		if *all || beside {
			out = append(out, n)
		}
	}
	return out
}

// eachLevel runs a test for every kind of processor, or the one that POLY_CPU names.
func eachLevel(t *testing.T, f func(t *testing.T, e *exec.Executor)) {
	found := levels.Native(t)
	if len(found) == 0 {
		t.Skip("no native code here")
	}
	for _, d := range found {
		t.Run(d.Name(), func(t *testing.T) { f(t, exec.New(d)) })
	}
}

// bed is a request that is made and run.
type bed struct {
	t      *testing.T
	e      *exec.Executor
	g      *uop.Graph
	r      *rand.Rand
	binds  []exec.Binding
	stores []*uop.UOp
	place  int
}

func newBed(t *testing.T, e *exec.Executor, seed ...int64) *bed {
	n := uint64(0)
	for _, s := range seed {
		n = n*1009 + uint64(s)
	}
	return &bed{t: t, e: e, g: symbolic.NewGraph(), r: rand.New(rand.NewPCG(n, 77)), place: int(n % 6)}
}

func (b *bed) ok(u *uop.UOp, err error) *uop.UOp {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}

// number is what elements of inputs are.
type number interface {
	~float32 | ~float64 | ~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64
}

var typeOf = map[string]*uop.DType{
	"float32": uop.Float32, "float64": uop.Float64, "int8": uop.Int8, "uint8": uop.Uint8, "int16": uop.Int16, "uint16": uop.Uint16,
	"int32": uop.Int32, "uint32": uop.Uint32, "int64": uop.Int64, "uint64": uop.Uint64,
}

func bindTo[V number](b *bed, dims []int64) (*uop.UOp, []V) {
	b.t.Helper()
	s := uop.ShapeOf(dims...)
	data := guard.Slice[V](b.t, int(s.Numel().N), b.place)
	b.place++
	var v V
	u := b.g.NewBuffer("CPU", int64(len(data)), typeOf[fmt.Sprintf("%T", v)])
	b.binds = append(b.binds, exec.Binding{Buffer: u, Ptr: unsafe.Pointer(unsafe.SliceData(data)), Bytes: int64(len(data)) * int64(unsafe.Sizeof(v))})
	return u.Reshape(s), data
}

// input is a tensor of random numbers: floats from -1 to 1, others from -100 or 0 to 100.
func input[V number](b *bed, dims ...int64) (*uop.UOp, []V) {
	b.t.Helper()
	u, data := bindTo[V](b, dims)
	for i := range data {
		switch {
		case u.DType.IsFloat():
			data[i] = V(2*b.r.Float64() - 1)
		case u.DType.IsUnsigned():
			data[i] = V(b.r.IntN(101))
		default:
			data[i] = V(int64(b.r.IntN(201) - 100))
		}
	}
	return u, data
}

// floats is a tensor of random numbers from -1 to 1.
func (b *bed) floats(dims ...int64) (*uop.UOp, []float32) {
	b.t.Helper()
	return input[float32](b, dims...)
}

// output is memory that a value will be in.
func output[V number](b *bed, u *uop.UOp, err error) []V {
	b.t.Helper()
	b.ok(u, err)
	n, ok := u.Shape().Ints()
	if !ok {
		b.t.Fatalf("shape %s is symbolic", u.Shape())
	}
	to, data := bindTo[V](b, n)
	if to.DType != u.DType {
		b.t.Fatalf("the value is %s, its memory %s", u.DType, to.DType)
	}
	b.stores = append(b.stores, to.Base().Store(u.Reshape(uop.ShapeOf(int64(len(data))))))
	return data
}

// want is memory that a float value will be in.
func (b *bed) want(u *uop.UOp, err error) []float32 {
	b.t.Helper()
	return output[float32](b, u, err)
}

func (b *bed) run() {
	b.t.Helper()
	if err := b.e.Realize(b.g.Sink(nil, b.stores...), b.binds, nil); err != nil {
		b.t.Fatal(err)
	}
}

// near compares results with sums in float64 that may differ by so much.
func near[V number](b *bed, what string, got []V, want []float64, tolerance float64) {
	b.t.Helper()
	if len(got) != len(want) {
		b.t.Fatalf("%s: %d elements, expected %d", what, len(got), len(want))
	}
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - w); !(d <= tolerance*max(1, math.Abs(w))) && float64(got[i]) != w {
			b.t.Fatalf("%s: element %d is %v, expected %v", what, i, got[i], w)
		}
	}
}
