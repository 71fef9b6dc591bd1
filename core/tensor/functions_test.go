package tensor_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// function is a function of one number with the error that it may have anywhere, in units of the last place.
type function struct {
	name  string
	f     func(*uop.UOp) (*uop.UOp, error)
	ref   func(float64) float64
	limit float64
}

// Go's exponential overflows early, and its logarithm is wrong for subnormal numbers; its sine and cosine lose digits
// for great arguments and its logarithm to base 2 near 1.

func expRef(x float64) float64 {
	if x > 600 {
		return math.Expm1(x)
	}
	return math.Exp(x)
}

// sinhOrCosh is f, or e^|x|/2 with the sign of x where f overflows early.
func sinhOrCosh(x float64, f func(float64) float64) float64 {
	if math.Abs(x) < 600 {
		return f(x)
	}
	half := math.Exp(math.Abs(x) / 2)
	return math.Copysign(half/2*half, x)
}

func logRef(x float64) float64 {
	if m, e := math.Frexp(x); e < -1000 {
		return math.Log(m) + float64(e)*math.Ln2
	}
	return math.Log(x)
}

func exact(op uop.Op) func(float64) float64 {
	return func(x float64) float64 { v, _ := uop.ExecALU(op, uop.Float(x)); return v.F() }
}

func tanRef(x float64) float64 {
	if x == 0 {
		return x
	}
	return exact(uop.Sin)(x) / exact(uop.Cos)(x)
}

func sigmoidRef(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / (1 + math.Exp(x))
	}
	return 1 / (1 + math.Exp(-x))
}

var functions = []function{
	{"exp", tensor.Exp, expRef, 4},
	{"exp2", tensor.Exp2, math.Exp2, 4},
	{"log", tensor.Log, logRef, 4},
	{"log2", tensor.Log2, exact(uop.Log2), 4},
	{"log10", tensor.Log10, func(x float64) float64 { return logRef(x) / math.Ln10 }, 4},
	{"sin", tensor.Sin, exact(uop.Sin), 4},
	{"cos", tensor.Cos, exact(uop.Cos), 4},
	{"tan", tensor.Tan, tanRef, 6},
	{"tanh", tensor.Tanh, math.Tanh, 4},
	{"sigmoid", tensor.Sigmoid, sigmoidRef, 4},
	{"sqrt", tensor.Sqrt, math.Sqrt, 0.5},
	{"sinh", tensor.Sinh, func(x float64) float64 { return sinhOrCosh(x, math.Sinh) }, 4},
	{"cosh", tensor.Cosh, func(x float64) float64 { return math.Abs(sinhOrCosh(x, math.Cosh)) }, 4},
	{"expm1", tensor.Expm1, math.Expm1, 4},
	{"log1p", tensor.Log1p, math.Log1p, 4},
	{"asinh", tensor.Asinh, math.Asinh, 4},
	{"acosh", tensor.Acosh, math.Acosh, 4},
	{"atanh", tensor.Atanh, math.Atanh, 4},
	{"logit", tensor.Logit, logitRef, 4},
	{"asin", tensor.Asin, math.Asin, 4},
	{"acos", tensor.Acos, acosRef, 4},
	{"atan", tensor.Atan, math.Atan, 4},
	{"erf", tensor.Erf, math.Erf, 4},
	{"erfc", tensor.Erfc, math.Erfc, 4},
	{"erfinv", tensor.Erfinv, math.Erfinv, 6},
	{"softplus", func(x *uop.UOp) (*uop.UOp, error) { return tensor.Softplus(x, 1) }, softplusRef, 4},
	{"logsigmoid", tensor.LogSigmoid, func(x float64) float64 { return -softplusRef(-x) }, 4},
	{"elu", func(x *uop.UOp) (*uop.UOp, error) { return tensor.Elu(x, 1) }, eluRef, 4},
	{"celu", func(x *uop.UOp) (*uop.UOp, error) { return tensor.Celu(x, 2) }, func(x float64) float64 { return 2 * eluRef(x/2) }, 4},
	{"selu", func(x *uop.UOp) (*uop.UOp, error) { return tensor.Selu(x, 1, 2) }, func(x float64) float64 { return 2 * eluRef(x) }, 4},
	{"round", tensor.Round, math.RoundToEven, 0},
	{"floor", tensor.Floor, math.Floor, 0},
	{"ceil", tensor.Ceil, math.Ceil, 0},
	{"trunc", tensor.Trunc, math.Trunc, 0},
}

// softplusRef is log(1 + e^x).
func softplusRef(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// logitRef is log(x/(1-x)), by the difference from 1/2 where that is exact.
func logitRef(x float64) float64 {
	if math.Abs(x-0.5) <= 0.25 {
		return 2 * math.Atanh(2*x-1)
	}
	return logRef(x) - math.Log1p(-x)
}

func eluRef(x float64) float64 {
	if x > 0 {
		return x
	}
	return math.Expm1(x)
}

// wholeRange are numbers of all magnitudes: special ones, ends of ranges, and random bits.
func wholeRange(dt *uop.DType, n int) []float64 {
	inf, nan := math.Inf(1), math.NaN()
	xs := []float64{0, math.Copysign(0, -1), inf, -inf, nan, 1, -1, 0.5, -0.5, 1.5, 2.5, math.Pi, math.Pi / 2, 1e-45, -1e-45, 1e-39, 1.1754944e-38,
		3.4028235e38, -3.4028235e38, 88.72283, 88.722839, 88.8, -87.33655, -87.4, -103.97207, -103.97208, -104, 127.99999, 128, -149, -149.5,
		-150, 709.78, 709.79, -745.1, -745.2, 8388607.5, 8388609, 4194304.5, 16777217, 0.49999997, -0.49999997, 8191.9, 8192.1}
	r := rand.New(rand.NewPCG(1, 2))
	for len(xs) < n {
		switch len(xs) % 3 {
		case 0:
			xs = append(xs, r.NormFloat64()*math.Exp2(float64(r.IntN(12)-4)))
		case 1:
			xs = append(xs, float64(math.Float32frombits(r.Uint32())))
		case 2:
			if dt == uop.Float64 {
				xs = append(xs, math.Float64frombits(r.Uint64()))
			} else {
				xs = append(xs, 110*(r.Float64()*2-1))
			}
		}
	}
	for i, x := range xs {
		xs[i] = uop.RoundTo(dt, x)
	}
	return xs
}

// lastPlace is the distance between numbers of a type near v, subnormals included.
func lastPlace(dt *uop.DType, v float64) float64 {
	if dt == uop.Float64 {
		return max(ulp(dt, v), math.SmallestNonzeroFloat64)
	}
	return max(ulp(dt, v), math.SmallestNonzeroFloat32)
}

func TestWholeRange(t *testing.T) {
	onDevices(t, wholeRangeOn)
}

func wholeRangeOn(l *lab) {
	for _, dt := range []*uop.DType{uop.Float32, uop.Float64} {
		n := 6000
		if testing.Short() {
			n = 600
		}
		xs := wholeRange(dt, n)
		for _, c := range functions {
			got := l.values(l.tensor(dt, xs, int64(len(xs))).do(c.f))
			worst, where, bad := 0.0, 0.0, 0
			for i, x := range xs {
				want := c.ref(x)
				rounded := uop.RoundTo(dt, want)
				if rounded == 0 && got[i] == 0 && math.Signbit(got[i]) != math.Signbit(rounded) {
					l.t.Errorf("%s %s of %v is %v", dt, c.name, x, got[i])
				}
				if got[i] == rounded || got[i] != got[i] && want != want {
					continue
				}
				e := math.Abs(got[i]-want) / lastPlace(dt, want)
				if e != e || math.IsInf(want, 0) {
					e = math.Inf(1)
				}
				if e > c.limit {
					bad++
				}
				if e > worst {
					worst, where = e, x
				}
			}
			l.t.Logf("%s %s: %.2f ulp at %v", dt, c.name, worst, where)
			if bad > 0 {
				l.t.Errorf("%s %s: %d of %d are off by more than %v ulp, the worst by %.1f at %v", dt, c.name, bad, len(xs), c.limit, worst, where)
			}
		}
	}
}
