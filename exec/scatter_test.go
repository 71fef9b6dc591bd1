package exec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"polygrad/core/gradient"
	"polygrad/core/nest/ir"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/interp"
	"polygrad/tests/devices/nested"
	"polygrad/tests/levels"
)

// TestScatteredSums takes rows of a table, some of them several times and some by numbers that no row has, and computes the gradient of the table,
// alone and added to another gradient.
func TestScatteredSums(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for _, d := range append(levels.Native(t), nested.New(ir.AVX512), nested.New(ir.AVX2), nested.New(ir.SSE4)) {
		e := exec.New(d)
		for _, s := range [][3]int64{{64, 40, 48}, {200, 33, 17}, {1000, 300, 1}, {70, 7, 100}, {65, 130, 33}} {
			for _, tied := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v tied %v", d.Name(), s, tied), func(t *testing.T) { scattered(t, e, r, s, tied) })
			}
		}
	}
}

func scattered(t *testing.T, e *exec.Executor, r *rand.Rand, s [3]int64, tied bool) {
	rows, taken, width := s[0], s[1], s[2]
	g := symbolic.NewGraph()
	var binds []exec.Binding
	floats := func(dims ...int64) (*uop.UOp, []float32) {
		shape := uop.ShapeOf(dims...)
		x := make([]float32, shape.MaxNumel())
		for i := range x {
			x[i] = r.Float32() - 0.5
		}
		b := g.NewBuffer("CPU", int64(len(x)), uop.Float32)
		binds = append(binds, exec.Binding{Buffer: b, Ptr: unsafe.Pointer(&x[0])})
		return b.Reshape(shape), x
	}
	table, tableValues := floats(rows, width)
	seed, seedValues := floats(taken, width)
	out, got := floats(rows, width)
	numbers := make([]int32, taken)
	for i := range numbers {
		numbers[i] = int32(r.Int64N(rows/3+1) * 3)
		if i%5 == 1 {
			numbers[i] = -1 - numbers[i]
		}
		if i%7 == 1 {
			numbers[i] = int32(rows) + int32(i)
		}
	}
	place := g.NewBuffer("CPU", taken, uop.Int32)
	binds = append(binds, exec.Binding{Buffer: place, Ptr: unsafe.Pointer(&numbers[0])})
	y := must(tensor.Mul(must(tensor.Embedding(table, place)), seed))
	if tied {
		y = must(tensor.Add(must(tensor.Sum(must(tensor.Mul(y, y)), nil, false)), must(tensor.Sum(must(tensor.Mul(table, table)), nil, false))))
	} else {
		y = must(tensor.Sum(y, nil, false))
	}
	grad := must(gradient.Of(y, []*uop.UOp{table}, nil))[0]
	if err := e.Realize(g.Sink(nil, out.Base().Store(grad.Reshape(uop.ShapeOf(rows*width)))), binds, nil); err != nil {
		t.Fatal(err)
	}
	want := make([]float64, rows*width)
	if tied {
		for i, v := range tableValues {
			want[i] = 2 * float64(v)
		}
	}
	for i, n := range numbers {
		if n < 0 || int64(n) >= rows {
			continue
		}
		for j := range width {
			at, v := int64(n)*width+j, float64(seedValues[int64(i)*width+j])
			if tied {
				v *= 2 * float64(tableValues[at]) * v
			}
			want[at] += v
		}
	}
	for i := range want {
		if d := math.Abs(float64(got[i]) - want[i]); !(d < 1e-4) {
			t.Fatalf("element %d is %g, expected %g", i, got[i], want[i])
		}
	}
}

// TestMaskedLongsAsPlaces scatters to the low bits of uint64, and to -1, which is no place, where a condition does not hold.
func TestMaskedLongsAsPlaces(t *testing.T) {
	const n, places = 100, 8
	keys, want := make([]uint64, n), make([]int32, places)
	for i := range keys {
		keys[i] = uint64(i)*0x9E3779B97F4A7C15 + uint64(i)<<60
		if keys[i]>>60 < 11 {
			want[keys[i]%places]++
		}
	}
	for _, d := range append(levels.Native(t), nested.New(ir.AVX2), interp.New()) {
		t.Run(d.Name(), func(t *testing.T) {
			g := symbolic.NewGraph()
			got := make([]int32, places)
			in, out := g.NewBuffer("CPU", n, uop.Uint64), g.NewBuffer("CPU", places, uop.Int32)
			c := func(dt *uop.DType, v uop.Const, n int64) *uop.UOp {
				return g.Const(dt, v).Reshape(uop.ShapeOf(1)).Expand(uop.ShapeOf(n))
			}
			low := must(tensor.Cast(must(tensor.BitAnd(in, c(uop.Uint64, uop.Uint(places-1), n))), uop.Int32))
			chosen := must(tensor.Lt(must(tensor.ShiftRight(in, c(uop.Uint64, uop.Uint(60), n))), c(uop.Uint64, uop.Uint(11), n)))
			place := must(tensor.Where(chosen, low, c(uop.Int32, uop.Int(-1), n)))
			v := c(uop.Int32, uop.Int(0), places).ScatterTo(uop.ScatterArg{Op: uop.Add}, place, c(uop.Int32, uop.Int(1), n))
			binds := []exec.Binding{{Buffer: in, Ptr: unsafe.Pointer(&keys[0])}, {Buffer: out, Ptr: unsafe.Pointer(&got[0])}}
			if err := exec.New(d).Realize(g.Sink(nil, out.Store(v)), binds, nil); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("counts are %v, expected %v", got, want)
			}
		})
	}
}
