package tensor_test

import (
	"math"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// accuracy is a function of one number with its reference and the error that it may have: ulp units of the
// last place of the result, plus eps units of the last place of 1 (near zeros of the function).
type accuracy struct {
	name     string
	f        func(*uop.UOp) (*uop.UOp, error)
	ref      func(float64) float64
	lo, hi   float64
	ulp, eps float64
}

var accurate = []accuracy{
	{"asin", tensor.Asin, math.Asin, -1, 1, 4, 0},
	{"acos", tensor.Acos, acosRef, -1, 1, 4, 0},
	{"atan", tensor.Atan, math.Atan, -50, 50, 4, 0},
	{"atan near 0", tensor.Atan, math.Atan, -1e-3, 1e-3, 4, 0},
	{"sinh", tensor.Sinh, math.Sinh, -80, 80, 4, 0},
	{"sinh near 0", tensor.Sinh, math.Sinh, -1.5, 1.5, 4, 0},
	{"cosh", tensor.Cosh, math.Cosh, -80, 80, 4, 0},
	{"asinh", tensor.Asinh, math.Asinh, -100, 100, 4, 0},
	{"asinh far", tensor.Asinh, math.Asinh, -1e30, 1e30, 4, 0},
	{"asinh near 0", tensor.Asinh, math.Asinh, -0.1, 0.1, 4, 0},
	{"acosh", tensor.Acosh, math.Acosh, 1, 100, 4, 0},
	{"acosh near 1", tensor.Acosh, math.Acosh, 1, 1.01, 4, 0},
	{"acosh far", tensor.Acosh, math.Acosh, 1, 1e30, 4, 0},
	{"atanh", tensor.Atanh, math.Atanh, -1, 1, 4, 0},
	{"logit", tensor.Logit, logitRef, 0, 1, 4, 0},
	{"logit near 1/2", tensor.Logit, logitRef, 0.38, 0.62, 4, 0},
	{"atanh near 0", tensor.Atanh, math.Atanh, -0.01, 0.01, 4, 0},
	{"log1p", tensor.Log1p, math.Log1p, -0.999, 10, 4, 0},
	{"log1p near 0", tensor.Log1p, math.Log1p, -1e-3, 1e-3, 4, 0},
	{"expm1", tensor.Expm1, math.Expm1, -80, 80, 4, 0},
	{"expm1 near 0", tensor.Expm1, math.Expm1, -0.7, 0.7, 4, 0},
	// compositions that are tinygrad's: their errors are absolute
	{"erf", tensor.Erf, math.Erf, -4, 4, 1, 4},
	{"tanh", tensor.Tanh, math.Tanh, -5, 5, 2, 4},
	{"exp", tensor.Exp, math.Exp, -1, 1, 4, 0},
	{"log", tensor.Log, math.Log, 0, 10, 4, 1},
	{"cos", tensor.Cos, math.Cos, -10, 10, 4, 16},
	{"tan", tensor.Tan, math.Tan, -1, 1, 8, 4},
	{"sigmoid", tensor.Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, -5, 5, 8, 0},
}

// erf32 is the error that formula 7.1.26 has in every type.
const erf32 = 1.5e-7

func acosRef(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }

func lgammaRef(x float64) float64 { v, _ := math.Lgamma(x); return v }

// grid is n points between lo and hi.
func grid(lo, hi float64, n int, round func(float64) float64) []float64 {
	out := make([]float64, 0, n)
	for i := range n {
		out = append(out, round(lo+(hi-lo)*(float64(i)+0.5)/float64(n)))
	}
	return out
}

func ulp(dt *uop.DType, v float64) float64 {
	_, m := dt.FloatInfo()
	if v = math.Abs(v); v == 0 || math.IsInf(v, 0) {
		return math.SmallestNonzeroFloat64
	}
	return math.Ldexp(1, math.Ilogb(v)-m)
}

func TestAccuracy(t *testing.T) {
	onDevices(t, accuracyOn)
}

func accuracyOn(l *lab) {
	l.t.Helper()
	for _, dt := range []*uop.DType{uop.Float32, uop.Float64} {
		for _, c := range accurate {
			xs := grid(c.lo, c.hi, 400, func(v float64) float64 { return uop.RoundTo(dt, v) })
			got := l.values(l.tensor(dt, xs, 400).do(c.f))
			worst, where := 0.0, 0.0
			for i, x := range xs {
				want := c.ref(x)
				d := math.Abs(got[i]-want) - c.eps*ulp(dt, 1)
				if c.name == "erf" {
					d -= erf32
				}
				if e := d / ulp(dt, want); e > worst || e != e {
					worst, where = e, x
				}
			}
			if !(worst <= c.ulp) {
				l.t.Errorf("%s %s: %.1f ulp at %v, need %v", dt, c.name, worst, where, c.ulp)
			}
		}
	}
}

func TestSpecialValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name     string
		f        func(*uop.UOp) (*uop.UOp, error)
		in, want []float64
	}{
		{"asin", tensor.Asin, []float64{-1, 0, 1, 2, nan}, []float64{-math.Pi / 2, 0, math.Pi / 2, nan, nan}},
		{"acos", tensor.Acos, []float64{-1, 0, 1, -2, nan}, []float64{math.Pi, math.Pi / 2, 0, nan, nan}},
		{"atan", tensor.Atan, []float64{-inf, 0, inf, nan}, []float64{-math.Pi / 2, 0, math.Pi / 2, nan}},
		{"sinh", tensor.Sinh, []float64{-inf, 0, inf, nan}, []float64{-inf, 0, inf, nan}},
		{"cosh", tensor.Cosh, []float64{-inf, 0, inf, nan}, []float64{inf, 1, inf, nan}},
		{"asinh", tensor.Asinh, []float64{-inf, 0, inf, nan}, []float64{-inf, 0, inf, nan}},
		{"acosh", tensor.Acosh, []float64{0, 1, inf, nan, -3}, []float64{nan, 0, inf, nan, nan}},
		{"atanh", tensor.Atanh, []float64{-1, 0, 1, 2, nan}, []float64{-inf, 0, inf, nan, nan}},
		{"logit", tensor.Logit, []float64{-1, 0, 1e-40, 0.5, 1, 2, nan, inf}, []float64{nan, -inf, -40 * math.Ln10, 0, inf, nan, nan, nan}},
		{"log1p", tensor.Log1p, []float64{-1, 0, inf, -2, nan}, []float64{-inf, 0, inf, nan, nan}},
		{"expm1", tensor.Expm1, []float64{-inf, 0, inf, nan}, []float64{-1, 0, inf, nan}},
		{"erfc", tensor.Erfc, []float64{-inf, 0, inf, nan}, []float64{2, 1, 0, nan}},
		{"erf", tensor.Erf, []float64{-3e38, 3e38}, []float64{-1, 1}},
		{"erfinv", tensor.Erfinv, []float64{-1, 0, 1, 2, nan}, []float64{-inf, 0, inf, nan, nan}},
		{"ndtri", tensor.Ndtri, []float64{0, 0.5, 1, -1, 2, nan}, []float64{-inf, 0, inf, nan, nan, nan}},
		{"lgamma", tensor.Lgamma, []float64{-inf, -1, 0, 1, 2, inf, nan}, []float64{inf, inf, inf, 0, 0, inf, nan}},
		{"digamma", tensor.Digamma, []float64{-inf, -1, 0, inf, nan}, []float64{nan, nan, -inf, inf, nan}},
		{"exp", tensor.Exp, []float64{-inf, 0, inf, nan}, []float64{0, 1, inf, nan}},
		{"log", tensor.Log, []float64{-1, 0, 1, inf, nan}, []float64{nan, -inf, 0, inf, nan}},
		{"sqrt", tensor.Sqrt, []float64{-1, 0, 4, inf, nan}, []float64{nan, 0, 2, inf, nan}},
		{"sin", tensor.Sin, []float64{-inf, 0, inf, nan}, []float64{nan, 0, nan, nan}},
		{"round", tensor.Round, []float64{-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4, 2.6}, []float64{-2, -2, 0, 0, 2, 2, 2, 3}},
		{"floor", tensor.Floor, []float64{-1.5, -1, 0, 1.5}, []float64{-2, -1, 0, 1}},
		{"ceil", tensor.Ceil, []float64{-1.5, -1, 0, 1.5}, []float64{-1, -1, 0, 2}},
		{"relu", tensor.Relu, []float64{-1, 0, 2, nan, inf, -inf}, []float64{0, 0, 2, nan, inf, 0}},
		{"relu6", tensor.Relu6, []float64{-inf, -1, 0, 3, 7, inf, nan}, []float64{0, 0, 0, 3, 6, 6, nan}},
		{"hardsigmoid", tensor.HardSigmoid, []float64{-inf, -3, 0, 3, inf, nan}, []float64{0, 0, 0.5, 1, 1, nan}},
		{"hardswish", tensor.HardSwish, []float64{-inf, -3, -1, 0, 4, inf, nan}, []float64{0, 0, -1.0 / 3, 0, 4, inf, nan}},
		{"sign", tensor.Sign, []float64{-inf, -2, 0, 1e-30, inf, nan}, []float64{-1, -1, 0, 1, 1, nan}},
		{"isnan", tensor.IsNaN, []float64{0, nan, inf}, []float64{0, 1, 0}},
		{"isinf", tensor.IsInf, []float64{0, nan, inf, -inf}, []float64{0, 0, 1, 1}},
		{"isfinite", tensor.IsFinite, []float64{0, nan, inf, -inf}, []float64{1, 0, 0, 0}},
	} {
		for _, dt := range []*uop.DType{uop.Float32, uop.Float64} {
			l := newLab(t, "interp")
			got := l.values(l.tensor(dt, c.in, int64(len(c.in))).do(c.f))
			for i, want := range c.want {
				if !same(got[i], want, 1e-6) {
					t.Errorf("%s %s(%v) = %v, need %v", dt, c.name, c.in[i], got[i], want)
				}
			}
		}
	}
}

// same compares two numbers: NaN and infinities exactly, others relative to the greater of 1 and want.
func same(got, want, tol float64) bool {
	if got == want || got != got && want != want {
		return true
	}
	return math.Abs(got-want) <= tol*max(1, math.Abs(want))
}
