package wasm

import (
	"math"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"

	"polygrad/core/uop"
)

type unary struct {
	op   uop.Op
	name string
	f    func(float64) float64
	// ulp32 and rel64 bound the error for float32 and float64.
	ulp32, rel64 float64
}

var unaries = []unary{
	{uop.Exp2, "exp2", math.Exp2, 2, 4e-16},
	{uop.Log2, "log2", log2, 2, 6e-16},
	{uop.Sin, "sin", sin, 3, 6e-16},
	{uop.Exp, "exp", exp, 2, 5e-16},
	{uop.Cos, "cos", cos, 3, 6e-16},
	{uop.Tanh, "tanh", math.Tanh, 3, 6e-16},
	{uop.Sqrt, "sqrt", math.Sqrt, 0.5000001, 1.2e-16},
}

// exp is math.Exp where that does not overflow too early.
func exp(x float64) float64 {
	if x > 600 {
		return math.Expm1(x)
	}
	return math.Exp(x)
}

// log2 is exact to float64 near 1 too, where math.Log2 is not.
func log2(x float64) float64 {
	if math.Abs(x-1) < 0.3 {
		return math.Log1p(x-1) / math.Ln2
	}
	return math.Log2(x)
}

// ulps is the distance of got from want in units of the last place of a float32 like want.
func ulps(got float32, want float64) float64 {
	if math.IsNaN(want) || math.IsNaN(float64(got)) {
		if math.IsNaN(want) && math.IsNaN(float64(got)) {
			return 0
		}
		return math.Inf(1)
	}
	w := float32(want)
	if got == w {
		return 0
	}
	if math.IsInf(float64(w), 0) || math.IsInf(float64(got), 0) {
		// The last number before infinity is one unit away from it.
		return math.Abs(float64(int64(math.Float32bits(got))) - float64(math.Float32bits(w)))
	}
	_, e := math.Frexp(math.Max(math.Abs(want), 0x1p-126))
	return math.Abs(float64(got)-want) / math.Ldexp(1, e-24)
}

// TestFloat32Functions samples the bit patterns of float32 evenly, all exponents and both signs.
func TestFloat32Functions(t *testing.T) {
	const n = 1 << 16
	step := uint32(4001)
	if testing.Short() {
		step = 40009
	}
	for _, u := range unaries {
		vector := mapKernel(t, u.name, n, uop.Float32, uop.Float32, func(m *maker, x *uop.UOp) *uop.UOp { return m.alu(u.op, x) })
		scalar := mapKernel(t, u.name+" of one", 1, uop.Float32, uop.Float32, func(m *maker, x *uop.UOp) *uop.UOp { return m.alu(u.op, x) })
		in, out, one := make([]float32, n), make([]float32, n), make([]float32, 1)
		worst, at := 0.0, float32(0)
		count := uint64(0)
		for bits := uint64(0); bits < 1<<32; {
			for i := range in {
				in[i] = math.Float32frombits(uint32(bits))
				bits += uint64(step)
			}
			mustRun(t, vector, ptr(out), ptr(in))
			for i, x := range in {
				if e := ulps(out[i], u.f(float64(x))); e > worst {
					worst, at = e, x
				}
			}
			// A kernel of one element is scalar code, which must give the same bits.
			mustRun(t, scalar, ptr(one), ptr(in))
			if a, b := math.Float32bits(one[0]), math.Float32bits(out[0]); a != b && one[0] == one[0] {
				t.Errorf("%s(%g): scalar code gives %x, vector code %x", u.name, in[0], a, b)
			}
			count += n
		}
		t.Logf("%s: %d arguments, worst error %.3f ulp at %g", u.name, count, worst, at)
		if worst > u.ulp32 {
			t.Errorf("%s(%g) is off by %.2f ulp, expected at most %g", u.name, at, worst, u.ulp32)
		}
	}
}

// special are arguments where functions have special values or change their method.
var special = []float64{
	0, math.Copysign(0, -1), 1, -1, 2, 0.5, 3, math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-149, -0x1p-149, 0x1p-126, 0x1p-1074, 0x1p-1022,
	math.MaxFloat32, -math.MaxFloat32, math.MaxFloat64, -math.MaxFloat64, 127, 128, 127.99999, -126, -149, -149.5, -150, -151, 1023, 1024, 1023.9999999,
	-1022, -1074, -1075, -1076, 8191.9, 8192, 131071.9, 131072, math.Pi, 2 * math.Pi, 100 * math.Pi, 1e5 * math.Pi, 1e10 * math.Pi, 1e22, 1e300,
}

// TestFunctionsSpecial compares special arguments, in all four shapes of code.
func TestFunctionsSpecial(t *testing.T) {
	for _, u := range unaries {
		f := func(m *maker, x *uop.UOp) *uop.UOp { return m.alu(u.op, x) }
		n := int64(len(special))
		in32, out32, in64, out64 := make([]float32, n), make([]float32, n), make([]float64, n), make([]float64, n)
		for i, x := range special {
			in32[i], in64[i] = float32(x), x
		}
		mustRun(t, mapKernel(t, u.name, n, uop.Float32, uop.Float32, f), ptr(out32), ptr(in32))
		mustRun(t, mapKernel(t, u.name, n, uop.Float64, uop.Float64, f), ptr(out64), ptr(in64))
		for i := range special {
			want := u.f(float64(in32[i]))
			if e := ulps(out32[i], want); e > u.ulp32 || out32[i] == 0 && math.Signbit(float64(out32[i])) != math.Signbit(want) {
				t.Errorf("%s(float32 %g) = %g, expected %g", u.name, in32[i], out32[i], want)
			}
			if want := u.f(in64[i]); relative(out64[i], want) > u.rel64 || out64[i] == 0 && math.Signbit(out64[i]) != math.Signbit(want) {
				t.Errorf("%s(float64 %g) = %g, expected %g", u.name, in64[i], out64[i], want)
			}
		}
	}
}

func relative(got, want float64) float64 {
	switch {
	case got == want || math.IsNaN(got) && math.IsNaN(want):
		return 0
	case math.IsNaN(got) || math.IsNaN(want) || math.IsInf(got, 0) || math.IsInf(want, 0):
		return math.Inf(1)
	case math.Abs(want) < 0x1p-1022:
		return math.Abs(got-want) / 0x1p-1022
	}
	return math.Abs(got-want) / math.Abs(want)
}

// TestFloat64Functions compares float64 results with Go's, which err by about 1e-16 themselves.
func TestFloat64Functions(t *testing.T) {
	const n = 1 << 16
	r := rand.New(rand.NewPCG(1, 2))
	ranges := map[string]func() float64{
		"exp2": func() float64 { return (r.Float64() - 0.5) * 2100 },
		"log2": func() float64 { return math.Ldexp(0.5+r.Float64(), r.IntN(2000)-1000) },
		"sin":  func() float64 { return math.Ldexp(r.Float64()-0.5, r.IntN(60)-20) },
		"exp":  func() float64 { return (r.Float64() - 0.5) * 1500 },
		"cos":  func() float64 { return math.Ldexp(r.Float64()-0.5, r.IntN(60)-20) },
		"tanh": func() float64 { return math.Ldexp(r.Float64()-0.5, r.IntN(40)-30) },
		"sqrt": func() float64 { return math.Ldexp(0.5+r.Float64(), r.IntN(2000)-1000) },
	}
	for _, u := range unaries {
		k := mapKernel(t, u.name, n, uop.Float64, uop.Float64, func(m *maker, x *uop.UOp) *uop.UOp { return m.alu(u.op, x) })
		in, out := make([]float64, n), make([]float64, n)
		for i := range in {
			in[i] = ranges[u.name]()
			if i%4 == 0 && u.name == "log2" {
				in[i] = 1 + (r.Float64()-0.5)/float64(1+i)
			}
		}
		mustRun(t, k, ptr(out), ptr(in))
		worst, at := 0.0, 0.0
		for i, x := range in {
			if e := relative(out[i], u.f(x)); e > worst {
				worst, at = e, x
			}
		}
		t.Logf("%s: worst relative error %.2g at %g", u.name, worst, at)
		if worst > u.rel64+2e-16 {
			t.Errorf("%s(%g) is off by %.3g, expected at most %g", u.name, at, worst, u.rel64)
		}
	}
}

// TestSinOfHugeArguments compares with arithmetic of 1300 bits, up to the
// arguments that are closest to a multiple of pi.
func TestSinOfHugeArguments(t *testing.T) {
	xs := []float64{6381956970095103 * 0x1p797, 0x1.6ac5b262ca1ffp+849, 1e308, 0x1p1023, 0x1.921fb54442d18p+500, 5e15, 131072.5}
	r := rand.New(rand.NewPCG(3, 4))
	for len(xs) < 500 {
		xs = append(xs, math.Ldexp(r.Float64()-0.5, 18+r.IntN(1000)))
	}
	for op, f := range map[uop.Op]func(float64) float64{uop.Sin: sin, uop.Cos: cos} {
		out := make([]float64, len(xs))
		k := mapKernel(t, op.String(), int64(len(xs)), uop.Float64, uop.Float64, func(m *maker, x *uop.UOp) *uop.UOp { return m.alu(op, x) })
		mustRun(t, k, ptr(out), ptr(xs))
		for i, x := range xs {
			if want := f(x); relative(out[i], want) > 6e-16 {
				t.Errorf("%s(%g) = %g, expected %g", op, x, out[i], want)
			}
		}
	}
}

const bigPrec = 1300

var longPi = sync.OnceValue(func() *big.Float { return bigPi(bigPrec) })

// sin is math.Sin where that is exact enough, and otherwise reduces its argument with a long pi.
func sin(x float64) float64 {
	if math.Abs(x) < 1.5 || math.IsNaN(x) || math.IsInf(x, 0) {
		return math.Sin(x)
	}
	return sinOfTurns(x, 0)
}

// cos is sin(x + pi/2).
func cos(x float64) float64 {
	if math.Abs(x) < 0.7 || math.IsNaN(x) || math.IsInf(x, 0) {
		return math.Cos(x)
	}
	return sinOfTurns(x, 0.5)
}

// sinOfTurns is the sine of x and some more half turns.
func sinOfTurns(x, turns float64) float64 {
	prec := uint(max(math.Ilogb(x), 0) + 250)
	pi := new(big.Float).SetPrec(prec).Set(longPi())
	q := new(big.Float).SetPrec(prec).Quo(new(big.Float).SetFloat64(x), pi)
	q.Add(q, big.NewFloat(turns))
	n, _ := new(big.Float).SetPrec(prec).Add(q, big.NewFloat(math.Copysign(0.5, x))).Int(nil)
	r := q.Sub(q, new(big.Float).SetPrec(prec).SetInt(n))
	f, _ := r.Mul(r, pi).Float64()
	if n.Bit(0) == 1 {
		return -math.Sin(f)
	}
	return math.Sin(f)
}

// bigPi is Machin's formula: 16 atan(1/5) - 4 atan(1/239).
func bigPi(prec uint) *big.Float {
	atan := func(inv int64) *big.Float {
		sum, power := new(big.Float).SetPrec(prec), new(big.Float).SetPrec(prec).Quo(big.NewFloat(1), new(big.Float).SetInt64(inv))
		for k := int64(0); k < int64(prec); k++ {
			term := new(big.Float).SetPrec(prec).Quo(power, new(big.Float).SetInt64(2*k+1))
			if k%2 == 1 {
				term.Neg(term)
			}
			sum.Add(sum, term)
			power.Quo(power, new(big.Float).SetInt64(inv*inv))
		}
		return sum
	}
	a := new(big.Float).SetPrec(prec).Mul(big.NewFloat(16), atan(5))
	return a.Sub(a, new(big.Float).SetPrec(prec).Mul(big.NewFloat(4), atan(239)))
}
