//go:build linux && amd64 && cgo

package native

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// reduction is a function of the elements along an axis.
type reduction struct {
	name string
	of   func(x *uop.UOp, axis int) (*uop.UOp, error)
	want func(v []float64) float64
	// floats says that it is only for floats, loose that its result is rounded for those.
	floats, loose bool
}

func fold(f func(a, b float64) float64) func(v []float64) float64 {
	return func(v []float64) float64 {
		sum := v[0]
		for _, x := range v[1:] {
			sum = f(sum, x)
		}
		return sum
	}
}

func along(f func(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error)) func(x *uop.UOp, axis int) (*uop.UOp, error) {
	return func(x *uop.UOp, axis int) (*uop.UOp, error) { return f(x, []int{axis}, false) }
}

func total(v []float64) float64 { return fold(func(a, b float64) float64 { return a + b })(v) }

// spread is the mean of the squared distances from the mean.
func spread(v []float64) float64 {
	mean, sum := total(v)/float64(len(v)), 0.0
	for _, x := range v {
		sum += (x - mean) * (x - mean)
	}
	return sum / float64(len(v))
}

// first is the place of the first element that is as wanted.
func first(v []float64, wanted float64) float64 {
	for i, x := range v {
		if x == wanted {
			return float64(i)
		}
	}
	return -1
}

var reductions = []reduction{
	{"sum", along(tensor.Sum), total, false, true},
	{"max", along(tensor.Max), fold(math.Max), false, false},
	{"min", along(tensor.Min), fold(math.Min), false, false},
	{"prod", along(tensor.Prod), fold(func(a, b float64) float64 { return a * b }), true, true},
	{"mean", along(tensor.Mean), func(v []float64) float64 { return total(v) / float64(len(v)) }, true, true},
	{"var", func(x *uop.UOp, axis int) (*uop.UOp, error) { return tensor.Var(x, []int{axis}, false, 0) }, spread, true, true},
	{"logsumexp", along(tensor.LogSumExp), func(v []float64) float64 {
		sum := 0.0
		for _, x := range v {
			sum += math.Exp(x)
		}
		return math.Log(sum)
	}, true, true},
	{"argmax", func(x *uop.UOp, axis int) (*uop.UOp, error) { return tensor.ArgMax(x, axis, false) },
		func(v []float64) float64 { return first(v, fold(math.Max)(v)) }, false, false},
	{"argmin", func(x *uop.UOp, axis int) (*uop.UOp, error) { return tensor.ArgMin(x, axis, false) },
		func(v []float64) float64 { return first(v, fold(math.Min)(v)) }, false, false},
	{"all", func(x *uop.UOp, axis int) (*uop.UOp, error) { return tensor.All(x, []int{axis}, false) }, fold(func(a, b float64) float64 { return truth(a != 0 && b != 0) }), false, false},
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// eachRow calls f with the elements along an axis, one row after the other.
func eachRow[V number](data []V, dims []int64, axis int, f func(v []float64)) {
	inner := int64(1)
	for _, d := range dims[axis+1:] {
		inner *= d
	}
	n := dims[axis]
	for at := int64(0); at < int64(len(data)); at++ {
		if at/inner%n != 0 {
			continue
		}
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(data[at+int64(i)*inner])
		}
		f(v)
	}
}

// reduce computes every reduction of the type along an axis.
func reduce[V number](t *testing.T, e *exec.Executor, dims []int64, axis int) {
	for _, r := range reductions {
		b := newBed(t, e, dims...)
		x, data := input[V](b, dims...)
		if r.floats && !x.DType.IsFloat() {
			continue
		}
		u := b.ok(tensor.Cast(b.ok(r.of(x, axis)), uop.Float64))
		got := output[float64](b, u, nil)
		b.run()
		var want []float64
		eachRow(data, dims, axis, func(v []float64) {
			w := r.want(v)
			if len(v) == 1 && r.name == "all" {
				w = truth(v[0] != 0)
			}
			want = append(want, w)
		})
		tolerance := 0.0
		if r.loose && x.DType.IsFloat() {
			tolerance = math.Ldexp(8, 1-map[int]int{4: 24, 8: 50}[x.DType.Itemsize()]) * math.Sqrt(float64(dims[axis]))
		}
		near(b, fmt.Sprintf("%s of %s %v along %d", r.name, x.DType, dims, axis), got, want, tolerance)
	}
}

func TestReductions(t *testing.T) {
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for i, s := range sizes() {
			dims := [][]int64{{s, 19}, {21, s}, {5, s, 18}}[i%3]
			t.Run(fmt.Sprint(dims), func(t *testing.T) {
				for axis := range dims {
					reduce[float32](t, e, dims, axis)
					switch i % 4 {
					case 0:
						reduce[float64](t, e, dims, axis)
						reduce[uint16](t, e, dims, axis)
					case 1:
						reduce[int32](t, e, dims, axis)
						reduce[uint32](t, e, dims, axis)
					case 2:
						reduce[int8](t, e, dims, axis)
						reduce[int64](t, e, dims, axis)
					case 3:
						reduce[uint8](t, e, dims, axis)
						reduce[int16](t, e, dims, axis)
					}
				}
			})
		}
	})
}

// rowwise is a function of rows that gives rows.
type rowwise struct {
	name string
	of   func(x *uop.UOp) (*uop.UOp, error)
	want func(v []float64) []float64
}

func each(v []float64, f func(i int) float64) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = f(i)
	}
	return out
}

var rowwises = []rowwise{
	{"softmax", func(x *uop.UOp) (*uop.UOp, error) { return tensor.Softmax(x, -1) }, func(v []float64) []float64 {
		sum := 0.0
		for _, x := range v {
			sum += math.Exp(x)
		}
		return each(v, func(i int) float64 { return math.Exp(v[i]) / sum })
	}},
	{"layer norm", func(x *uop.UOp) (*uop.UOp, error) { return tensor.LayerNorm(x, []int{-1}, 1e-3) }, func(v []float64) []float64 {
		mean, scale := total(v)/float64(len(v)), 1/math.Sqrt(spread(v)+1e-3)
		return each(v, func(i int) float64 { return (v[i] - mean) * scale })
	}},
	{"running sum", func(x *uop.UOp) (*uop.UOp, error) { return tensor.CumSum(x, -1) }, func(v []float64) []float64 {
		return each(v, func(i int) float64 { return total(v[:i+1]) })
	}},
	{"sort", func(x *uop.UOp) (*uop.UOp, error) {
		values, _, err := tensor.Sort(x, -1, false)
		return values, err
	}, func(v []float64) []float64 { return slices.Sorted(slices.Values(v)) }},
}

// TestRows has rows of every size.
func TestRows(t *testing.T) {
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for _, s := range sizes() {
			t.Run(fmt.Sprint(s), func(t *testing.T) {
				for _, f := range rowwises {
					rows[float32](t, e, f, []int64{1 + s%7, s})
					rows[float64](t, e, f, []int64{3, 1 + s%4, s})
				}
			})
		}
	})
}

func rows[V number](t *testing.T, e *exec.Executor, f rowwise, dims []int64) {
	b := newBed(t, e, dims...)
	x, data := input[V](b, dims...)
	u, err := f.of(x)
	got := output[V](b, u, err)
	b.run()
	var want []float64
	eachRow(data, dims, len(dims)-1, func(v []float64) { want = append(want, f.want(v)...) })
	near(b, fmt.Sprintf("%s of %s %v", f.name, x.DType, dims), got, want, 1e-5)
}
