//go:build linux && amd64 && cgo

package native

import (
	"math"
	"math/rand/v2"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// function is one of a number, which code of its own computes, with the numbers for which it is tried.
type function struct {
	name   string
	of     func(x *uop.UOp) (*uop.UOp, error)
	want   func(x float64) float64
	lo, hi float64 // exponents of 2 of the numbers that are tried
	signed bool
	// ulp32 and ulp64 are the units of the last place that results may differ from those of float64, and from Go's.
	ulp32, ulp64 float64
	// zero is the error, relative to 1, that it may have in float64 near its zeros, where Go's function has one too.
	zero float64
}

var functions = []function{
	{"exp", tensor.Exp, math.Exp, -30, 6.4, true, 2, 4, 0},
	{"exp2", tensor.Exp2, math.Exp2, -30, 6.9, true, 2, 4, 0},
	{"log", tensor.Log, math.Log, -125, 127, false, 2, 4, 0},
	{"log2", tensor.Log2, func(x float64) float64 { return math.Log(x) / math.Ln2 }, -125, 127, false, 2, 4, 0},
	{"sin", tensor.Sin, math.Sin, -30, 12, true, 2, 4, 1e-15},
	{"cos", tensor.Cos, math.Cos, -30, 12, true, 2, 4, 1e-15},
	{"sin of large numbers", tensor.Sin, math.Sin, 12, 100, true, 2, 4, 1e-15},
	{"cos of large numbers", tensor.Cos, math.Cos, 12, 100, true, 2, 4, 1e-15},
	{"tanh", tensor.Tanh, math.Tanh, -30, 6, true, 2, 4, 0},
	{"erf", tensor.Erf, math.Erf, -30, 2.5, true, 2, 4, 0},
	{"sqrt", tensor.Sqrt, math.Sqrt, -125, 127, false, 0.5, 0.5, 0},
	{"reciprocal", tensor.Reciprocal, func(x float64) float64 { return 1 / x }, -120, 120, true, 0.5, 0.5, 0},
}

// sample is a number for which a function is tried.
func (f *function) sample(r *rand.Rand) float64 {
	x := math.Exp2(f.lo + (f.hi-f.lo)*r.Float64())
	if f.signed && r.IntN(2) == 0 {
		return -x
	}
	return x
}

// TestFunctions compares functions of numbers of all sizes with what float64, or Go, has.
func TestFunctions(t *testing.T) {
	n := 20_000
	if *all {
		n = 2_000_000
	}
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for _, f := range functions {
			t.Run(f.name, func(t *testing.T) {
				single := accuracy[float32](t, e, &f, n, f.ulp32, 0, func(x float64) float64 {
					v := float32(math.Abs(x))
					return float64(math.Nextafter32(v, math.MaxFloat32) - v)
				})
				double := accuracy[float64](t, e, &f, n, f.ulp64, f.zero, func(x float64) float64 {
					return math.Nextafter(math.Abs(x), math.MaxFloat64) - math.Abs(x)
				})
				t.Logf("%.2f units of the last place in float32, %.2f in float64", single, double)
			})
		}
	})
}

// accuracy is the largest error of a function, in units of the last place.
func accuracy[V float32 | float64](t *testing.T, e *exec.Executor, f *function, n int, most, zero float64, ulp func(x float64) float64) float64 {
	b := newBed(t, e, int64(n))
	x, data := input[V](b, int64(n))
	for i := range data {
		data[i] = V(f.sample(b.r))
	}
	u, err := f.of(x)
	got := output[V](b, u, err)
	b.run()
	largest := 0.0
	for i, v := range data {
		want := f.want(float64(v))
		d := math.Abs(float64(got[i]) - want)
		if d == 0 || d <= zero {
			continue
		}
		off := d / ulp(want)
		if !(off <= most) {
			t.Fatalf("%s(%v) as %s is %v, expected %v: %.2f units of the last place, expected %v", f.name, v, x.DType, got[i], want, off, most)
		}
		largest = max(largest, off)
	}
	return largest
}

// TestSpecialNumbers has what is no common number: infinite ones, none, zeros with their signs, the smallest and the largest.
func TestSpecialNumbers(t *testing.T) {
	specials := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1, 1e-40, -1e-40, 1e-45, 3e38, -3e38, 88.8, -104, 127.9, -149.5}
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for _, f := range functions {
			t.Run(f.name, func(t *testing.T) {
				b := newBed(t, e, 1)
				x, data := b.floats(int64(len(specials)))
				for i, v := range specials {
					data[i] = float32(v)
				}
				got := b.want(f.of(x))
				b.run()
				for i, v := range data {
					want := float32(f.want(float64(v)))
					same := want == got[i] && math.Signbit(float64(want)) == math.Signbit(float64(got[i])) || want != want && got[i] != got[i]
					tiny := math.Abs(float64(want)-float64(got[i])) < 1e-44 // no more than units of the smallest numbers
					near := math.Abs(float64(want)-float64(got[i])) <= 3e-7*math.Abs(float64(want)) && !math.IsInf(float64(want), 0)
					if !same && !tiny && !near {
						t.Errorf("%s(%v) is %v, expected %v", f.name, v, got[i], want)
					}
				}
			})
		}
	})
}
