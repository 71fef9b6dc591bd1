package tensor_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

var devices = []string{"interp", "wasm"}

// check compares a tensor with its reference, shape and values.
func (l *lab) check(name string, got T, want array, tol float64) {
	l.t.Helper()
	if s, ok := got.Shape().Ints(); !ok || !slices.Equal(s, want.shape) && len(s)+len(want.shape) > 0 {
		l.t.Errorf("%s: shape %s, need %v", name, got.Shape(), want.shape)
		return
	}
	for i, v := range l.values(got) {
		if !same(v, want.v[i], tol) {
			l.t.Errorf("%s: element %d is %v, need %v", name, i, v, want.v[i])
			return
		}
	}
}

// onDevices runs a test on every device.
func onDevices(t *testing.T, f func(l *lab)) {
	for _, d := range devices {
		t.Run(d, func(t *testing.T) { f(newLab(t, d)) })
	}
}

func (a array) apply(f func(float64) float64) array {
	return build(func(idx []int64) float64 { return f(a.at(idx...)) }, a.shape...)
}

func tolerance(dt *uop.DType) float64 {
	return map[*uop.DType]float64{uop.Float16: 4e-3, uop.BFloat16: 3e-2, uop.Float32: 2e-6, uop.Float64: 1e-12}[dt]
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func TestElementwise(t *testing.T) {
	for _, c := range []struct {
		name   string
		lo, hi float64
		f      unaryFn
		ref    func(float64) float64
	}{
		{"exp", -3, 3, tensor.Exp, math.Exp}, {"log", 0.1, 5, tensor.Log, math.Log}, {"sqrt", 0, 5, tensor.Sqrt, math.Sqrt},
		{"exp2", -3, 3, tensor.Exp2, math.Exp2}, {"log2", 0.1, 5, tensor.Log2, math.Log2}, {"log10", 0.1, 5, tensor.Log10, math.Log10},
		{"sin", -6, 6, tensor.Sin, math.Sin}, {"cos", -6, 6, tensor.Cos, math.Cos}, {"tan", -1, 1, tensor.Tan, math.Tan},
		{"rsqrt", 0.1, 5, tensor.Rsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }},
		{"reciprocal", 0.3, 5, tensor.Reciprocal, func(x float64) float64 { return 1 / x }},
		{"abs", -3, 3, tensor.Abs, math.Abs}, {"neg", -3, 3, tensor.Neg, func(x float64) float64 { return -x }},
		{"square", -3, 3, tensor.Square, func(x float64) float64 { return x * x }},
		{"floor", -3, 3, tensor.Floor, math.Floor}, {"ceil", -3, 3, tensor.Ceil, math.Ceil}, {"trunc", -3, 3, tensor.Trunc, math.Trunc},
		{"round", -9, 9, tensor.Round, math.RoundToEven}, {"sigmoid", -4, 4, tensor.Sigmoid, sigmoid}, {"tanh", -3, 3, tensor.Tanh, math.Tanh},
		{"relu", -3, 3, tensor.Relu, func(x float64) float64 { return max(x, 0) }},
		{"relu6", -3, 9, tensor.Relu6, func(x float64) float64 { return min(max(x, 0), 6) }},
		{"silu", -3, 3, tensor.Silu, func(x float64) float64 { return x * sigmoid(x) }},
		{"quick_gelu", -3, 3, tensor.QuickGelu, func(x float64) float64 { return x * sigmoid(1.702*x) }},
		{"gelu", -3, 3, tensor.Gelu, func(x float64) float64 {
			return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		}},
		{"mish", -3, 3, tensor.Mish, func(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) }},
		{"softsign", -3, 3, tensor.Softsign, func(x float64) float64 { return x / (1 + math.Abs(x)) }},
		{"logsigmoid", -3, 3, tensor.LogSigmoid, func(x float64) float64 { return math.Log(sigmoid(x)) }},
		{"hardswish", -5, 5, tensor.HardSwish, func(x float64) float64 { return x * min(max(x+3, 0), 6) / 6 }},
		{"hardsigmoid", -5, 5, tensor.HardSigmoid, func(x float64) float64 { return min(max(x/6+0.5, 0), 1) }},
		{"elu", -3, 3, func(x *uop.UOp) (*uop.UOp, error) { return tensor.Elu(x, 0.7) }, func(x float64) float64 {
			return max(x, 0) + min(0, 0.7*math.Expm1(x))
		}},
		{"softplus", -3, 3, func(x *uop.UOp) (*uop.UOp, error) { return tensor.Softplus(x, 2) }, func(x float64) float64 {
			return math.Log1p(math.Exp(2*x)) / 2
		}},
	} {
		onDevices(t, func(l *lab) {
			for _, dt := range []*uop.DType{uop.Float16, uop.BFloat16, uop.Float32, uop.Float64} {
				x := random(dt, c.lo, c.hi, 1, 37)
				l.check(fmt.Sprint(c.name, " ", dt), x.tensor(l, dt).do(c.f), x.apply(c.ref), 2*tolerance(dt))
			}
		})
	}
}

// integers are operations on integers with exact references; results wrap.
var integers = map[string]struct {
	f   fn2
	ref func(a, b uop.Const) uop.Const
}{
	"add": {tensor.Add, uop.Const.Add}, "sub": {tensor.Sub, uop.Const.Sub}, "mul": {tensor.Mul, uop.Const.Mul},
	"floordiv": {tensor.FloorDiv, uop.Const.FloorDiv}, "mod": {tensor.Mod, uop.Const.FloorMod},
	"truncdiv": {tensor.TruncDiv, uop.Const.CDiv}, "truncmod": {tensor.TruncMod, uop.Const.CMod},
	"and": {tensor.BitAnd, uop.Const.And}, "or": {tensor.BitOr, uop.Const.Or}, "xor": {tensor.BitXor, uop.Const.Xor},
	"max": {tensor.Maximum, uop.MaxConst}, "min": {tensor.Minimum, uop.MinConst},
}

// A number to the power of a tensor is as exact as a tensor to that of a tensor, also without fused multiply-adds.
func TestPowersOfNumbers(t *testing.T) {
	onDevices(t, func(l *lab) {
		exponents := []float64{0, 1, -1, 0.5, 2, 5.5, -7.25, 19.875, -23.625, math.Inf(1), math.Inf(-1), math.NaN()}
		for i := range 100 {
			exponents = append(exponents, float64(float32(float64(i-50)*0.3717)))
		}
		y := l.tensor(uop.Float32, exponents, int64(len(exponents)))
		for _, base := range []float64{2, 3, 10, 0.5, 0.0763, -126, 1.5, math.E, 1e-3, 1, 0, math.Inf(1), 0.99, 1e-40} {
			base = float64(float32(base))
			x := must(tensor.FullLike(y.UOp, uop.Float(base)))
			for i, got := range l.values(must(tensor.Pow(x.UOp, y.UOp))) {
				want := math.Pow(base, exponents[i])
				rounded := float64(float32(want))
				unit := float64(math.Nextafter32(float32(math.Abs(want)), float32(math.Inf(1)))) - float64(float32(math.Abs(want)))
				if got != rounded && !(got != got && want != want) && !(math.Abs(got-want) <= 1.3*unit) {
					l.t.Errorf("%g to the power %g is %g, expected %g", base, exponents[i], got, want)
				}
			}
		}
	})
}

func TestIntegers(t *testing.T) {
	onDevices(t, func(l *lab) {
		for _, dt := range uop.Ints {
			lo, hi := max(dt.Min().F(), -1e6), min(dt.Max().F(), 1e6)
			a, b := random(dt, lo, hi, 2, 5, 7), random(dt, max(lo, -12), 12, 3, 7)
			for i := range b.v {
				if b.v[i] == 0 {
					b.v[i] = 3
				}
			}
			for name, op := range integers {
				want := build(func(i []int64) float64 {
					return op.ref(uop.Int(int64(a.at(i...))), uop.Int(int64(b.at(i[1])))).Truncate(dt).F()
				}, 5, 7)
				l.check(fmt.Sprint(name, " ", dt), a.tensor(l, dt).op(op.f, b.tensor(l, dt)), want, 0)
			}
			n := 3
			want := a.apply(func(v float64) float64 { return uop.Int(int64(v)).Shl(uop.Int(int64(n))).Truncate(dt).F() })
			l.check(fmt.Sprint("shl ", dt), must(tensor.ShiftLeftConst(a.tensor(l, dt).UOp, n)), want, 0)
			want = a.apply(func(v float64) float64 { return uop.Int(int64(v)).Shr(uop.Int(int64(n))).Truncate(dt).F() })
			l.check(fmt.Sprint("shr ", dt), must(tensor.ShiftRightConst(a.tensor(l, dt).UOp, n)), want, 0)
			want = a.apply(func(v float64) float64 {
				return uop.Int(int64(v)).Mul(uop.Int(int64(v))).Mul(uop.Int(int64(v))).Truncate(dt).F()
			})
			l.check(fmt.Sprint("cube ", dt), must(tensor.PowConst(a.tensor(l, dt).UOp, uop.Int(3))), want, 0)
			want = a.apply(func(v float64) float64 { return uop.Int(int64(v)).Xor(uop.Int(-1)).Truncate(dt).F() })
			l.check(fmt.Sprint("not ", dt), a.tensor(l, dt).do(tensor.BitNot), want, 0)
		}
	})
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func TestComparisons(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	vals := []float64{-2, -1, 0, 1, 2, inf, -inf, nan}
	onDevices(t, func(l *lab) {
		n := int64(len(vals))
		a := build(func(i []int64) float64 { return vals[i[0]] }, n, n)
		b := build(func(i []int64) float64 { return vals[i[1]] }, n, n)
		for name, c := range map[string]struct {
			f   fn2
			ref func(a, b float64) bool
		}{
			"lt": {tensor.Lt, func(a, b float64) bool { return a < b }}, "gt": {tensor.Gt, func(a, b float64) bool { return a > b }},
			"le": {tensor.Le, func(a, b float64) bool { return a <= b }}, "ge": {tensor.Ge, func(a, b float64) bool { return a >= b }},
			"eq": {tensor.Eq, func(a, b float64) bool { return a == b }}, "ne": {tensor.Ne, func(a, b float64) bool { return a != b }},
		} {
			want := build(func(i []int64) float64 { return truth(c.ref(a.at(i...), b.at(i...))) }, n, n)
			l.check(name, a.tensor(l, uop.Float32).op(c.f, b.tensor(l, uop.Float32)), want, 0)
		}
	})
}

func TestMaximumKeepsNaN(t *testing.T) {
	nan := math.NaN()
	onDevices(t, func(l *lab) {
		a := l.tensor(uop.Float32, []float64{nan, 1, nan, math.Inf(1), -1}, 5)
		b := l.tensor(uop.Float32, []float64{1, nan, nan, nan, 2}, 5)
		l.check("maximum", a.op(tensor.Maximum, b), array{[]int64{5}, []float64{nan, nan, nan, nan, 2}}, 0)
		l.check("minimum", a.op(tensor.Minimum, b), array{[]int64{5}, []float64{nan, nan, nan, nan, -1}}, 0)
	})
}

// TestNaNStays puts a NaN at every place of rows, of lengths with and without a rest for vectors.
func TestNaNStays(t *testing.T) {
	onDevices(t, func(l *lab) {
		for _, dt := range []*uop.DType{uop.Float32, uop.Float64, uop.Float16} {
			for _, n := range []int64{1, 3, 16, 37} {
				v := make([]float64, n*n)
				for i := range v {
					v[i] = float64(i%7) - 3
					if int64(i)/n == int64(i)%n {
						v[i] = math.NaN()
					}
				}
				x := l.tensor(dt, v, n, n)
				all := array{[]int64{n}, slices.Repeat([]float64{math.NaN()}, int(n))}
				for name, f := range map[string]func(*uop.UOp, []int, bool) (*uop.UOp, error){"max": tensor.Max, "min": tensor.Min} {
					l.check(name+" of rows", must(f(x.UOp, []int{1}, false)), all, 0)
					l.check(name+" of columns", must(f(x.UOp, []int{0}, false)), all, 0)
				}
				for name, f := range map[string]func(*uop.UOp) (*uop.UOp, error){"relu": tensor.Relu, "relu6": tensor.Relu6} {
					got := l.values(x.do(f))
					for i, g := range got {
						if want := max(0, v[i]); !same(g, want, 0) {
							l.t.Errorf("%s %s(%v) = %v", dt, name, v[i], g)
						}
					}
				}
			}
		}
	})
}

func total(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

func spreadOf(v []float64, correction float64) float64 {
	m, s := total(v)/float64(len(v)), 0.0
	for _, x := range v {
		s += (x - m) * (x - m)
	}
	return s / max(float64(len(v))-correction, 0)
}

func TestReductions(t *testing.T) {
	type ref = func(v []float64) float64
	refs := map[string]struct {
		f   func(*uop.UOp, []int, bool) (*uop.UOp, error)
		ref ref
	}{
		"sum": {tensor.Sum, total}, "max": {tensor.Max, func(v []float64) float64 { return slices.Max(v) }},
		"min":  {tensor.Min, func(v []float64) float64 { return slices.Min(v) }},
		"mean": {tensor.Mean, func(v []float64) float64 { return total(v) / float64(len(v)) }},
		"prod": {tensor.Prod, func(v []float64) float64 {
			p := 1.0
			for _, x := range v {
				p *= x
			}
			return p
		}},
		"var": {func(x *uop.UOp, a []int, k bool) (*uop.UOp, error) { return tensor.Var(x, a, k, 1) }, func(v []float64) float64 { return spreadOf(v, 1) }},
		"std": {func(x *uop.UOp, a []int, k bool) (*uop.UOp, error) { return tensor.Std(x, a, k, 0) },
			func(v []float64) float64 { return math.Sqrt(spreadOf(v, 0)) }},
		"logsumexp": {tensor.LogSumExp, func(v []float64) float64 {
			s := 0.0
			for _, x := range v {
				s += math.Exp(x)
			}
			return math.Log(s)
		}},
		"any": {tensor.Any, func(v []float64) float64 {
			return truth(slices.ContainsFunc(v, func(x float64) bool { return x != 0 }))
		}},
		"all": {tensor.All, func(v []float64) float64 { return truth(!slices.Contains(v, 0)) }},
	}
	onDevices(t, func(l *lab) {
		for _, dt := range []*uop.DType{uop.Float16, uop.Float32, uop.Float64} {
			x := random(dt, -2, 2, 4, 3, 1, 4, 5)
			for name, c := range refs {
				for _, axes := range [][]int{{0}, {2}, {3, 0}, {1}, {0, 1, 2, 3}, {}} {
					if (name == "var" || name == "std") && (len(axes) == 0 || axes[0] == 1) {
						continue // of a single element
					}
					for _, keep := range []bool{false, true} {
						l.check(fmt.Sprint(name, " ", dt, axes, keep), must(c.f(x.tensor(l, dt).UOp, axes, keep)), x.over(axes, keep, c.ref), 30*tolerance(dt))
					}
				}
			}
		}
		for _, dt := range uop.Ints {
			x := random(dt, max(dt.Min().F(), -50), 100, 5, 3, 40)
			for name, want := range map[string]array{
				"sum": x.over([]int{1}, false, total), "max": x.over([]int{1}, false, refs["max"].ref),
				"min": x.over([]int{1}, false, refs["min"].ref), "mean": x.over([]int{1}, false, refs["mean"].ref),
			} {
				l.check(fmt.Sprint(name, " ", dt), x.tensor(l, dt).drop(refs[name].f, 1), want, 1e-6)
			}
		}
		x := random(uop.Float32, -2, 2, 6, 4, 9)
		l.check("argmax", must(tensor.ArgMax(x.tensor(l, uop.Float32).UOp, 1, false)), x.over([]int{1}, false, func(v []float64) float64 {
			return float64(sorted(v, true)[0])
		}), 0)
		l.check("argmin", must(tensor.ArgMin(x.tensor(l, uop.Float32).UOp, 0, true)), x.over([]int{0}, true, func(v []float64) float64 {
			return float64(sorted(v, false)[0])
		}), 0)
	})
}

func running(f func(acc, x float64) float64) func(v []float64) []float64 {
	return func(v []float64) []float64 {
		out := slices.Clone(v)
		for i := 1; i < len(v); i++ {
			out[i] = f(out[i-1], v[i])
		}
		return out
	}
}

func TestScans(t *testing.T) {
	onDevices(t, func(l *lab) {
		for _, n := range []int64{1, 7, 600} {
			x := random(uop.Float64, 0.9, 1.1, 7, 2, n)
			u := x.tensor(l, uop.Float64).UOp
			l.check("cumsum", must(tensor.CumSum(u, 1)), x.lines(1, running(func(a, b float64) float64 { return a + b })), 1e-12)
			l.check("cumprod", must(tensor.CumProd(u, 1)), x.lines(1, running(func(a, b float64) float64 { return a * b })), 1e-12)
			values, at := must2(tensor.CumMax(u, 1))
			l.check("cummax", values, x.lines(1, running(math.Max)), 0)
			l.check("cummax indices", at, x.lines(1, func(v []float64) []float64 {
				out := make([]float64, len(v))
				for i := range v {
					out[i] = float64(slices.Index(v, slices.Max(v[:i+1])))
				}
				return out
			}), 0)
		}
	})
}

func TestSorting(t *testing.T) {
	onDevices(t, func(l *lab) {
		for _, dt := range []*uop.DType{uop.Float32, uop.Int32, uop.Uint8} {
			for _, down := range []bool{false, true} {
				x := random(dt, 0, 9, 8, 3, 11) // whole numbers have ties
				v, i := must2(tensor.Sort(x.tensor(l, dt).UOp, 1, down))
				pick := func(what func(v []float64, i int) float64) array {
					return x.lines(1, func(v []float64) []float64 {
						var out []float64
						for _, i := range sorted(v, down) {
							out = append(out, what(v, i))
						}
						return out
					})
				}
				l.check("sort", v, pick(func(v []float64, i int) float64 { return v[i] }), 0)
				l.check("argsort", i, pick(func(_ []float64, i int) float64 { return float64(i) }), 0)
			}
		}
	})
}

func TestMatrices(t *testing.T) {
	onDevices(t, func(l *lab) {
		for _, dt := range []*uop.DType{uop.Float16, uop.Float32, uop.Float64, uop.Int32, uop.Uint8} {
			a, b := random(dt, 0, 3, 9, 2, 5, 7), random(dt, 0, 3, 10, 7, 4)
			want := build(func(i []int64) float64 {
				s := 0.0
				for k := range int64(7) {
					s += a.at(i[0], i[1], k) * b.at(k, i[2])
				}
				return s
			}, 2, 5, 4)
			l.check(fmt.Sprint("matmul ", dt), a.tensor(l, dt).dot(b.tensor(l, dt)), want, tolerance(dt))
		}
		x := random(uop.Float32, -1, 1, 11, 1, 2, 6, 5)
		w := random(uop.Float32, -1, 1, 12, 3, 2, 3, 2)
		win := tensor.Window{Stride: []int64{2, 1}, Dilation: []int64{1, 2}, Padding: [][2]int64{{1, 0}, {2, 1}}}
		want := build(func(i []int64) float64 {
			s := 0.0
			for c := range int64(2) {
				for ky := range int64(3) {
					for kx := range int64(2) {
						y, x0 := i[2]*2+ky-1, i[3]+2*kx-2
						if y >= 0 && y < 6 && x0 >= 0 && x0 < 5 {
							s += x.at(0, c, y, x0) * w.at(i[1], c, ky, kx)
						}
					}
				}
			}
			return s
		}, 1, 3, 3, 6)
		l.check("conv", conv(x.tensor(l, uop.Float32), w.tensor(l, uop.Float32), 1, win), want, 1e-5)
	})
}

func TestEinsumAndRearrange(t *testing.T) {
	onDevices(t, func(l *lab) {
		a, b := random(uop.Float64, -1, 1, 13, 3, 3, 4), random(uop.Float64, -1, 1, 14, 4, 2)
		ta, tb := a.tensor(l, uop.Float64), b.tensor(l, uop.Float64)
		einsum := func(f string, xs ...T) T { return must(tensor.Einsum(f, nodes(xs...)...)) }
		l.check("iij->ij", einsum("i i j -> i j", ta), build(func(i []int64) float64 { return a.at(i[0], i[0], i[1]) }, 3, 4), 0)
		l.check("iij->ji", einsum("iij->ji", ta), build(func(i []int64) float64 { return a.at(i[1], i[1], i[0]) }, 4, 3), 0)
		l.check("...j,jk", einsum("...j,jk", ta, tb), build(func(i []int64) float64 {
			s := 0.0
			for j := range int64(4) {
				s += a.at(i[0], i[1], j) * b.at(j, i[2])
			}
			return s
		}, 3, 3, 2), 1e-12)
		l.check("ijk->", einsum("ijk->", ta), build(func([]int64) float64 { return total(a.v) }), 1e-12)
		re := func(f string, sizes map[string]int64) T { return must(tensor.Rearrange(ta.UOp, f, sizes)) }
		l.check("a b (c d) -> c a 1 (d b)", re("a b (c d) -> c a 1 (d b)", map[string]int64{"d": 2}), build(func(i []int64) float64 {
			return a.at(i[1], i[3]%3, i[0]*2+i[3]/3)
		}, 2, 3, 1, 6), 0)
		l.check("a ... -> (...) a", re("a ... -> (...) a", nil), build(func(i []int64) float64 { return a.at(i[1], i[0]/4, i[0]%4) }, 12, 3), 0)
		one := must(tensor.Rearrange(ta.reshape(3, 1, 3, 4).UOp, "a 1 b c -> a (b c)", nil))
		l.check("a 1 b c -> a (b c)", one, array{[]int64{3, 12}, a.v}, 0)
	})
}

func TestIndexing(t *testing.T) {
	onDevices(t, func(l *lab) {
		x := random(uop.Float32, -1, 1, 15, 4, 3, 5)
		u := x.tensor(l, uop.Float32)
		l.check("mixed", u.at(tensor.At(-1), tensor.NewAxis(), tensor.Ellipsis(), slice(nil, nil, -2)), build(func(i []int64) float64 {
			return x.at(3, i[1], 4-2*i[2])
		}, 1, 3, 3), 0)
		at := []int64{3, 0, -1, 9}
		l.check("take", u.at(take(indices(u, at...)), tensor.At(1)), build(func(i []int64) float64 {
			if k := at[i[0]]; k < 4 {
				return x.at((k+4)%4, 1, i[1])
			}
			return 0 // out of range
		}, 4, 5), 0)
		l.check("take two", u.at(take(indices(u, 3, 0)), tensor.Whole(), take(indices(u, 1, -1))), build(func(i []int64) float64 {
			return x.at([]int64{3, 0}[i[0]], i[1], []int64{1, 4}[i[0]])
		}, 2, 3), 0)
		// Indices of a narrow type wrap around before they become addresses.
		for _, dt := range []*uop.DType{uop.Uint8, uop.Uint16, uop.Int8} {
			k := l.tensor(dt, []float64{2, 1, 4}, 3)
			l.check("take "+dt.Name, u.at(tensor.At(0), tensor.At(0), take(k.sub(1))), build(func(i []int64) float64 {
				return x.at(0, 0, []int64{1, 0, 3}[i[0]])
			}, 3), 0)
		}
		v := random(uop.Float32, 5, 6, 16, 2, 5)
		set := must(tensor.SetItem(u.UOp, v.tensor(l, uop.Float32).UOp, slice(1, nil, 2), tensor.At(2), slice(nil, nil, -1)))
		l.check("set", set, build(func(i []int64) float64 {
			if i[0]%2 == 1 && i[1] == 2 {
				return v.at(i[0]/2, 4-i[2])
			}
			return x.at(i...)
		}, 4, 3, 5), 0)
		set = must(tensor.SetItem(u.UOp, num(u, 7.0).UOp, slice(1, 3, 1), take(indices(u, 2, 0)), tensor.At(-1)))
		l.check("set mixed", set, build(func(i []int64) float64 {
			if (i[0] == 1 || i[0] == 2) && i[1] != 1 && i[2] == 4 {
				return 7
			}
			return x.at(i...)
		}, 4, 3, 5), 0)
	})
}

func TestLosses(t *testing.T) {
	onDevices(t, func(l *lab) {
		x := random(uop.Float32, -2, 2, 17, 4, 5, 3)
		logp := x.lines(1, func(v []float64) []float64 {
			s := 0.0
			for _, e := range v {
				s += math.Exp(e)
			}
			out := slices.Clone(v)
			for i := range out {
				out[i] -= math.Log(s)
			}
			return out
		})
		l.check("log_softmax", must(tensor.LogSoftmax(x.tensor(l, uop.Float32).UOp, 1)), logp, 1e-5)
		l.check("softmax", must(tensor.Softmax(x.tensor(l, uop.Float32).UOp, 1)), logp.apply(math.Exp), 1e-5)
		y := random(uop.Int32, 0, 5, 18, 4, 3)
		each := build(func(i []int64) float64 { return -logp.at(i[0], int64(y.at(i...)), i[1]) }, 4, 3)
		for _, target := range []*uop.DType{uop.Int32, uop.Uint8, uop.Float32} {
			loss := must(tensor.CrossEntropy(x.tensor(l, uop.Float32).UOp, y.tensor(l, target).UOp, 1, tensor.ReduceMean, 0))
			l.check(fmt.Sprint("cross_entropy ", target), loss, array{nil, []float64{total(each.v) / 12}}, 1e-5)
		}
		l.check("nll", must(tensor.NLLLoss(logp.tensor(l, uop.Float32).UOp, y.tensor(l, uop.Int32).UOp, nil, nil, tensor.ReduceNone)), each, 1e-5)
	})
}

// Sizes of 0 and no dimensions at all work everywhere.
func TestEmptyAndScalar(t *testing.T) {
	onDevices(t, func(l *lab) {
		empty := must(tensor.Full(l.g, uop.ShapeOf(0, 3), uop.Float(0), uop.Float32))
		l.check("sum of nothing", empty.sum(0), array{[]int64{3}, []float64{0, 0, 0}}, 0)
		l.check("prod of nothing", empty.drop(tensor.Prod), array{nil, []float64{1}}, 0)
		l.check("mean of nothing", empty.drop(tensor.Mean, 0), array{[]int64{3}, []float64{math.NaN(), math.NaN(), math.NaN()}}, 0)
		l.check("empty + 1", empty.add(1), newArray(0, 3), 0)
		l.check("empty matmul", empty.permute(1, 0).dot(empty), newArray(3, 3), 0)
		l.check("cat with empty", cat(0, empty, must(tensor.Full(l.g, uop.ShapeOf(1, 3), uop.Float(1), uop.Float32))), array{[]int64{1, 3}, []float64{1, 1, 1}}, 0)
		l.check("cumsum of nothing", must(tensor.CumSum(empty.UOp, 0)), newArray(0, 3), 0)
		l.check("arange of nothing", must(tensor.Arange(l.g, uop.Int(3), uop.Int(3), uop.Int(1), nil)), newArray(0), 0)
		s := must(tensor.Const(l.g, uop.Float32, uop.Float(4)))
		l.check("scalar", s.do(tensor.Sqrt).add(s), array{nil, []float64{6}}, 0)
		l.check("scalar sum", s.sum(), array{nil, []float64{4}}, 0)
		l.check("scalar softmax", softmax(s), array{nil, []float64{1}}, 0)
		l.check("scalar var", must(tensor.Var(s.UOp, nil, false, 0)), array{nil, []float64{0}}, 0)
		l.check("scalar argmax", must(tensor.ArgMax(s.UOp, 0, false)), array{nil, []float64{0}}, 0)
		l.check("scalar to vector", must(tensor.Flatten(s.UOp, 0, -1)), array{[]int64{1}, []float64{4}}, 0)
		l.check("rand of nothing", must(tensor.Rand(l.g, uop.ShapeOf(2, 0), 1)), newArray(2, 0), 0)
	})
}
