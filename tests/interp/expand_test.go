package interp

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// All results were compared with Go's once.
var stepFlag = flag.Uint("step", 10007, "every how many F32 the functions are tried on")

// functionsOf are the functions as exact as Go has them, and the errors in units of the last place that are allowed:
// with FMA, and without. Those of F64 contain Go's.
var functionsOf = []struct {
	name           string
	make           func(b *ir.Builder, k ir.Kind, x *ir.Value) *ir.Value
	want32, want64 func(float64) float64
	limit          float64 // of results, 0 for none
	slow           bool    // the interpreter takes long for great arguments
	ulps32, ulps64 [2]float64
}{
	{"exp", call(ir.Exp), uop.Functions[uop.Exp], uop.Functions[uop.Exp], 0, false, [2]float64{0.9, 0.9}, [2]float64{2, 2}},
	{"exp2", call(ir.Exp2), math.Exp2, math.Exp2, 0, false, [2]float64{0.9, 1}, [2]float64{2, 2}},
	{"log2", call(ir.Log2), uop.Functions[uop.Log2], uop.Functions[uop.Log2], 0, false, [2]float64{1.9, 1.3}, [2]float64{2, 3}},
	{"log", func(b *ir.Builder, k ir.Kind, x *ir.Value) *ir.Value {
		return b.ALU(ir.Mul, k, b.ALU(ir.Log2, k, x), b.Float(k, math.Ln2))
	}, math.Log, naturalLog, 0, false,
		[2]float64{1.7, 1.4}, [2]float64{2, 3}},
	{"sin", call(ir.Sin), exactly(ir.Sin, math.Sin), ir.FloatUnary[ir.Sin], 1, true, [2]float64{1.8, 2}, [2]float64{2, 2}},
	{"cos", call(ir.Cos), exactly(ir.Cos, math.Cos), ir.FloatUnary[ir.Cos], 1, true, [2]float64{1.9, 2}, [2]float64{2, 2}},
	{"tanh", call(ir.Tanh), math.Tanh, math.Tanh, 1, false, [2]float64{1.55, 1.45}, [2]float64{3, 3}},
}

// naturalLog is right for subnormal numbers too, which Go's is not.
func naturalLog(x float64) float64 {
	if m, e := math.Frexp(x); x > 0 && e < -1000 {
		return math.Log(m) + float64(e)*math.Ln2
	}
	return math.Log(x)
}

// exactly is the function of Go where that is good enough for F32, and exact arithmetic near its zeros.
func exactly(op ir.Op, f func(float64) float64) func(float64) float64 {
	return func(x float64) float64 {
		if y := f(x); math.Abs(y) > 1e-4 || y != y {
			return y
		}
		return ir.FloatUnary[op](x)
	}
}

func call(op ir.Op) func(b *ir.Builder, k ir.Kind, x *ir.Value) *ir.Value {
	return func(b *ir.Builder, k ir.Kind, x *ir.Value) *ir.Value { return b.ALU(op, k, x) }
}

// everything and nothing of what functions use of a machine.
var mathMachines = []ir.Machine{ir.AVX512, ir.AVX2, ir.SSE4}

// ulps is the error of a register in units of the last place of what should be there.
func ulps(k ir.Kind, got uint64, want float64) float64 {
	g, fraction, least := ir.WidenF32(got), 23, -149
	if k == ir.F64 {
		g, fraction, least = ir.F64Of(got), 52, -1074
	} else if math.Abs(want) >= 0x1.ffffffp127 {
		want = math.Copysign(math.Inf(1), want)
	}
	switch {
	case want != want && g != g, want == g && math.Signbit(want) == math.Signbit(g):
		return 0
	case want-g != want-g || math.Signbit(want) != math.Signbit(g):
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	return math.Ldexp(math.Abs(g-want), -max(e-1-fraction, least))
}

// TestFunctions32 tries all functions on numbers all over the range.
func TestFunctions32(t *testing.T) {
	const lanes = 1024
	for _, f := range functionsOf {
		for _, m := range mathMachines {
			t.Run(f.name+" "+m.Name, func(t *testing.T) {
				worst, at := 0.0, 0.0
				in := newMemory(ir.F32, 64*lanes)
				step := uint64(*stepFlag)
				if f.slow {
					step *= 7
				}
				if testing.Short() {
					step *= 10
				}
				for next := uint64(0); next < 1<<32; {
					for i := range 64 * lanes {
						in.put(i, next)
						next += step
					}
					got := elementwise(t, m, lanes, 64*lanes, ir.F32, []memory{in}, func(b *ir.Builder, a []*ir.Value) *ir.Value { return f.make(b, ir.F32, a[0]) })
					for i := range 64 * lanes {
						x := ir.WidenF32(in.get(i))
						if y := ir.F32Of(got.get(i)); f.limit > 0 && math.Abs(float64(y)) > f.limit {
							t.Fatalf("at %v: got %v", x, y)
						}
						if e := ulps(ir.F32, got.get(i), f.want32(x)); e > worst {
							worst, at = e, x
						}
					}
				}
				report(t, worst, at, f.ulps32, m)
			})
		}
	}
}

func report(t *testing.T, worst, at float64, limits [2]float64, m ir.Machine) {
	t.Logf("%.3f units at %v", worst, at)
	limit := limits[0]
	if !m.FMA {
		limit = limits[1]
	}
	if worst > limit {
		t.Errorf("got an error of %.3f units in the last place at %v (%x), expected at most %v", worst, at, at, limit)
	}
}

// numbers64 are numbers of all sizes, many of them where functions change quickly, and special ones.
func numbers64(n int) memory {
	rng := rand.New(rand.NewPCG(5, 6))
	special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), math.Pi, math.Pi / 2, -3 * math.Pi, 0x1p-1074, -0x1p-1074,
		0x1p-1022, math.MaxFloat64, -math.MaxFloat64, 1 << 30, 1<<30 - 0.5, 1 << 17, 709.78, 709.79, -745.13, -745.14, -1074.9, -1075.1, 1023.9, 1024,
		0.75, math.Nextafter(0.75, 0), 1.5, math.Nextafter(1.5, 0), math.Nextafter(1, 0), math.Nextafter(1, 2)}
	m := newMemory(ir.F64, n)
	for i := range n {
		switch {
		case i < len(special):
			m.put(i, ir.OfF64(special[i]))
		case i%4 == 0:
			m.put(i, rng.Uint64())
		case i%4 == 1:
			m.put(i, ir.OfF64(rng.NormFloat64()))
		case i%4 == 2:
			m.put(i, ir.OfF64(math.Exp2(rng.Float64()*30-10)))
		default:
			m.put(i, ir.OfF64((rng.Float64()*2-1)*750))
		}
	}
	return m
}

func TestFunctions64(t *testing.T) {
	const lanes, n = 1024, 16 << 10
	in := numbers64(n)
	for _, f := range functionsOf {
		want := make([]float64, n)
		for i := range n {
			want[i] = f.want64(ir.F64Of(in.get(i)))
		}
		for _, m := range mathMachines {
			t.Run(f.name+" "+m.Name, func(t *testing.T) {
				worst, at := 0.0, 0.0
				got := elementwise(t, m, lanes, n, ir.F64, []memory{in}, func(b *ir.Builder, a []*ir.Value) *ir.Value { return f.make(b, ir.F64, a[0]) })
				for i := range n {
					x := ir.F64Of(in.get(i))
					if y := ir.F64Of(got.get(i)); f.limit > 0 && math.Abs(y) > f.limit {
						t.Fatalf("at %v: got %v", x, y)
					}
					if e := ulps(ir.F64, got.get(i), want[i]); e > worst {
						worst, at = e, x
					}
				}
				report(t, worst, at, f.ulps64, m)
			})
		}
	}
}

// Great arguments are reduced where their values are, not in every loop that uses them, and once.
func TestGreatArgumentsOnce(t *testing.T) {
	const n = 8
	for _, m := range mathMachines {
		b := ir.NewBuilder("sines", 4)
		b.Machine = m
		in, out := param(b.Kernel, uop.Float64, n, false), param(b.Kernel, uop.Float64, 3*n, true)
		b.Loop("i", b.Int(ir.I64, n), func(i *ir.Loop) {
			x := b.Load(&ir.Place{Buf: in, Terms: []ir.Term{{V: i.Iter, Coef: 1}}}, 1, nil)
			b.Loop("j", b.Int(ir.I64, 3), func(j *ir.Loop) {
				sum := b.ALU(ir.Add, ir.F64, b.ALU(ir.Sin, ir.F64, x), b.ALU(ir.Sin, ir.F64, x))
				b.Store(&ir.Place{Buf: out, Terms: []ir.Term{{V: i.Iter, Coef: 3}, {V: j.Iter, Coef: 1}}}, b.ALU(ir.Add, ir.F64, sum, b.ALU(ir.Cast, ir.F64, j.Iter)))
			})
			if items := b.Cur.Items; len(items) != 2 || items[0].Loop.Label != "great arguments" || len(items[1].Loop.Body.Items) != 1 {
				t.Fatalf("%s: got %d items in the outer loop, expected one reduction and the inner loop", m.Name, len(items))
			}
		})
		x, got := []float64{1e22, -1e300, 0, 1, 1 << 40, -3e9, 12345, 1e5}, make([]float64, 3*n)
		mustRun(t, b.Kernel, nil, address(x), address(got))
		for i, x := range x {
			for j := range 3 {
				if want := 2*ir.FloatUnary[ir.Sin](x) + float64(j); math.Abs(got[3*i+j]-want) > 1e-15 {
					t.Errorf("%s: sin %v: got %v, expected %v", m.Name, x, got[3*i+j], want)
				}
			}
		}
	}
}
