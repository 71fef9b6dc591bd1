package interp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

var dtypeOf = func() map[ir.Kind]*uop.DType {
	m := map[ir.Kind]*uop.DType{}
	for dt, k := range ir.KindOf {
		m[k] = dt
	}
	return m
}()

// machines are one that has everything and one that has nothing.
var machines = []ir.Machine{ir.AVX512, ir.SSE4}

// memory holds elements of a kind.
type memory struct {
	k    ir.Kind
	data []uint64
}

func newMemory(k ir.Kind, n int) memory { return memory{k, make([]uint64, (int64(n)*k.Size()+7)/8)} }

func (m memory) at(i int) unsafe.Pointer { return unsafe.Add(address(m.data), int64(i)*m.k.Size()) }
func (m memory) get(i int) uint64        { return ir.Decode(m.k, readBits(m.k, m.at(i))) }
func (m memory) put(i int, bits uint64)  { writeBits(m.k, m.at(i), bits) }

// samples are n values of a kind: those at the edges, and random ones, near together and anywhere.
func samples(k ir.Kind, n int, seed uint64) memory {
	rng := rand.New(rand.NewPCG(seed, uint64(k)))
	edges := []float64{0, math.Copysign(0, -1), 1, -1, 2, -2, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 7, -7, 100, -100, 127, -128, 255, 32767, -32768, 65535,
		math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-133, -0x1p-140, 0x1p-149, 448, 449, 464, 480, 57344, 61440, 65504, 65519, 65520, 1e30, -1e30}
	ints := []uint64{0, 1, 2, 3, 5, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	m := newMemory(k, n)
	for i := range n {
		switch r := rng.IntN(4); {
		case k == ir.Bool:
			m.put(i, uint64(r&1))
		case k.Float() && r == 0:
			m.put(i, ir.Encode(k, k.FloatBits(edges[rng.IntN(len(edges))])))
		case k.Float() && r == 1:
			m.put(i, ir.Encode(k, k.FloatBits(rng.NormFloat64()*4)))
		case r == 0:
			m.put(i, ints[rng.IntN(len(ints))])
		case r == 1:
			m.put(i, uint64(rng.IntN(20)-10))
		default:
			m.put(i, rng.Uint64())
		}
	}
	return m
}

// elementwise makes and runs a kernel of out[i] = f(in[i]...).
func elementwise(t *testing.T, m ir.Machine, lanes, n int, to ir.Kind, in []memory, f func(b *ir.Builder, args []*ir.Value) *ir.Value) memory {
	t.Helper()
	b := ir.NewBuilder("elementwise", lanes)
	b.Machine = m
	var ins []*ir.Buffer
	var addrs []unsafe.Pointer
	for _, x := range in {
		ins = append(ins, param(b.Kernel, dtypeOf[x.k], int64(n), false))
		addrs = append(addrs, x.at(0))
	}
	out := param(b.Kernel, dtypeOf[to], int64(n), true)
	result := newMemory(to, n)
	b.Loop("i", b.Int(ir.I64, int64(n/lanes)), func(l *ir.Loop) {
		var args []*ir.Value
		for _, buf := range ins {
			args = append(args, b.LoadAs(buf.Kind, vecPlace(b, buf, l.Iter, 0), lanes, nil))
		}
		v := f(b, args)
		if lanes > 1 {
			v = b.Splat(v)
		}
		b.StoreAs(vecPlace(b, out, l.Iter, 0), v)
	})
	checkLegal(t, b.Kernel)
	mustRun(t, b.Kernel, nil, append(addrs, result.at(0))...)
	return result
}

// checkLegal fails if a kernel has values that renderers need not know.
func checkLegal(t *testing.T, k *ir.Kernel) {
	t.Helper()
	seen := map[*ir.Value]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		if v == nil || seen[v] {
			return
		}
		seen[v] = true
		switch v.Op {
		case ir.Exp, ir.Exp2, ir.Log2, ir.Sin, ir.Cos, ir.Tanh:
			t.Errorf("%s was not written out", v.Describe())
		case ir.Load:
		case ir.Cast:
			if from := v.Args[0].Kind; from != ir.Arithmetic(from) && v.Kind != ir.Arithmetic(from) || v.Kind == ir.Bool {
				t.Errorf("cast from %s: %s", from, v.Describe())
			}
		default:
			for _, a := range v.Args {
				if a.Kind != ir.Arithmetic(a.Kind) {
					t.Errorf("argument of %s: %s", a.Kind, v.Describe())
				}
			}
		}
		if v.Op != ir.Load && v.Op != ir.Narrow && v.Kind != ir.Arithmetic(v.Kind) {
			t.Errorf("a value of %s: %s", v.Kind, v.Describe())
		}
		for _, a := range v.Args {
			visit(a)
		}
	}
	var block func(b *ir.Block)
	block = func(b *ir.Block) {
		for _, it := range b.Items {
			switch {
			case it.Store != nil:
				visit(it.Store.Val)
			case it.Load != nil:
				visit(it.Load)
			default:
				visit(it.Loop.Count)
				for _, p := range it.Loop.Phis {
					visit(p.Init)
					visit(p.Next)
				}
				block(it.Loop.Body)
			}
		}
	}
	block(k.Root)
}

// same reports whether two registers hold the same value: NaNs are all alike.
func same(k ir.Kind, a, b uint64) bool {
	if k.Register() == ir.F32 {
		return a == b || ir.F32Of(a) != ir.F32Of(a) && ir.F32Of(b) != ir.F32Of(b)
	}
	return a == b || k == ir.F64 && ir.F64Of(a) != ir.F64Of(a) && ir.F64Of(b) != ir.F64Of(b)
}

func show(k ir.Kind, r uint64) string {
	switch {
	case k == ir.F64:
		return fmt.Sprint(ir.F64Of(r))
	case k.Float():
		return fmt.Sprint(ir.F32Of(r))
	}
	return fmt.Sprint(ir.IntOf(k, r))
}

// sameEverywhere compares a kernel with the operation that it should be, on all machines, as scalars and as vectors.
func sameEverywhere(t *testing.T, n int, to ir.Kind, in []memory, want ir.LaneFunc, f func(b *ir.Builder, args []*ir.Value) *ir.Value) {
	t.Helper()
	for _, m := range machines {
		for _, lanes := range []int{1, 4} {
			got := elementwise(t, m, lanes, n, to, in, f)
			bad := 0
			for i := range n {
				var x [3]uint64
				for j, a := range in {
					x[j] = a.get(i)
				}
				w := want(x[0], x[1], x[2])
				if g := got.get(i); !same(to, g, w) {
					var args []string
					for j, a := range in {
						args = append(args, show(a.k, x[j]))
					}
					t.Errorf("%s, %d lanes: of %v: got %s, expected %s", m.Name, lanes, args, show(to, g), show(to, w))
					if bad++; bad > 3 {
						return
					}
				}
			}
		}
	}
}

var allKinds = []ir.Kind{ir.Bool, ir.I8, ir.U8, ir.I16, ir.U16, ir.I32, ir.U32, ir.I64, ir.U64, ir.E4M3, ir.E5M2, ir.F16, ir.BF16, ir.F32, ir.F64}

func TestALU(t *testing.T) {
	const n = 1600
	floats, ints := []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Neg, ir.Max, ir.MaxSS, ir.MinSS, ir.Abs, ir.Sqrt, ir.Trunc, ir.Round, ir.Floor}, []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Mod, ir.Neg, ir.Max, ir.And, ir.Or, ir.Xor, ir.AndNot}
	for _, k := range allKinds[1:] {
		ops := ints
		if k.Float() {
			ops = floats
		}
		in := []memory{samples(k, n, 1), samples(k, n, 2)}
		for _, op := range ops {
			t.Run(fmt.Sprint(op, k), func(t *testing.T) {
				args := in
				switch op {
				case ir.Neg, ir.Abs, ir.Sqrt, ir.Trunc, ir.Round, ir.Floor:
					args = in[:1]
				}
				sameEverywhere(t, n, k, args, ir.LaneOp(op, k, k), func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.ALU(op, k, a...) })
			})
		}
		for _, op := range []ir.Op{ir.Less, ir.LessEqual, ir.Equal, ir.NotEqual} {
			t.Run(fmt.Sprint(op, k), func(t *testing.T) {
				sameEverywhere(t, n, ir.Bool, in, ir.LaneOp(op, k, ir.Bool), func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.ALU(op, ir.Bool, a...) })
			})
		}
		t.Run(fmt.Sprint("where", k), func(t *testing.T) {
			in := append([]memory{samples(ir.Bool, n, 3)}, in...)
			sameEverywhere(t, n, k, in, ir.LaneOp(ir.Where, k, k), func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.ALU(ir.Where, k, a...) })
		})
	}
}

// Two shifts that are a rotation give the same with and without an instruction for it.
func TestRotations(t *testing.T) {
	for _, k := range []ir.Kind{ir.U32, ir.U64} {
		width := 8 * k.Size()
		for by := int64(1); by < width; by += 3 {
			left, right := ir.LaneOp(ir.Shl, k, k), ir.LaneOp(ir.Shr, k, k)
			sameEverywhere(t, 64, k, []memory{samples(k, 64, 4)},
				func(a, _, _ uint64) uint64 { return left(a, uint64(by), 0) | right(a, uint64(width-by), 0) },
				func(b *ir.Builder, a []*ir.Value) *ir.Value {
					return b.ALU(ir.Or, k, b.ALU(ir.Shl, k, a[0], b.Int(k, by)), b.ALU(ir.Shr, k, a[0], b.Int(k, width-by)))
				})
		}
	}
}

func TestShifts(t *testing.T) {
	const n = 4000
	for _, k := range allKinds[1:9] {
		for _, op := range []ir.Op{ir.Shl, ir.Shr} {
			width := 8 * k.Size()
			counts := newMemory(k, n)
			for i := range n {
				counts.put(i, uint64(int64(i)%width))
			}
			in := []memory{samples(k, n, 4), counts}
			sameEverywhere(t, n, k, in, ir.LaneOp(op, k, k), func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.ALU(op, k, a...) })
			for by := range width {
				sameEverywhere(t, 64, k, in[:1], func(a, _, _ uint64) uint64 { return ir.LaneOp(op, k, k)(a, uint64(by), 0) },
					func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.ALU(op, k, a[0], b.Int(ir.U32, by)) })
			}
		}
	}
}

func TestCasts(t *testing.T) {
	const n = 1600
	for _, from := range allKinds {
		for _, to := range allKinds {
			in := samples(from, n, 5)
			if from.Float() && !to.Float() && to != ir.Bool {
				// What is out of range may become anything.
				for i := range n {
					f := ir.F64Of(ir.CastLane(from, ir.F64)(in.get(i), 0, 0))
					limit := math.Ldexp(1, int(8*to.Register().Size())-1)
					if !(math.Abs(f) < limit) || f < 0 && (to == ir.U32 || to == ir.U64) {
						in.put(i, 0)
					}
				}
			}
			want := ir.CastLane(from, to)
			if from == ir.F64 && to == ir.F16 || from != ir.F32 && from.Width() == 8 && to.Register() == ir.F32 && to != ir.F32 {
				// By way of F32.
				want = func(a, _, _ uint64) uint64 { return ir.Decode(to, ir.Encode(to, ir.CastLane(from, ir.F32)(a, 0, 0))) }
			}
			t.Run(fmt.Sprint(from, to), func(t *testing.T) {
				sameEverywhere(t, n, to, []memory{in}, want, func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.ALU(ir.Cast, to, a...) })
			})
			if from.Size() == to.Size() && from != ir.Bool && to != ir.Bool {
				in := samples(from, n, 6)
				for i := range n {
					if x := in.get(i); from.Size() < 4 && from.Float() && ir.F32Of(x) != ir.F32Of(x) {
						in.put(i, 0) // NaN may have any bits
					}
				}
				t.Run(fmt.Sprint("bits", from, to), func(t *testing.T) {
					sameEverywhere(t, n, to, []memory{in}, ir.LaneOp(ir.Bitcast, from, to), func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.Bitcast(from, to, a[0]) })
				})
			}
		}
	}
}

// Numbers of the small kinds come through memory unchanged, and the neighbours of their midpoints are rounded right.
func TestSmallFloats(t *testing.T) {
	for _, k := range []ir.Kind{ir.E4M3, ir.E5M2, ir.F16, ir.BF16} {
		codes := 1 << (8 * k.Size())
		n, step := min(codes, 8<<10), max(codes/(8<<10), 1)
		all := newMemory(k, n)
		wideNumbers := newMemory(ir.F32, 5*n)
		for i := range n {
			code := uint64(i*step + i%step)
			all.put(i, code)
			x := ir.F32Of(all.get(i))
			mid := x
			if next := ir.F32Of(ir.Decode(k, code+1)); code+1 < uint64(codes) {
				mid = float32((float64(x) + float64(next)) / 2)
			}
			for j, f := range []float32{x, mid, math.Nextafter32(mid, 1e38), math.Nextafter32(mid, -1e38), x * 1.1} {
				wideNumbers.put(5*i+j, ir.OfF32(f))
			}
		}
		sameEverywhere(t, n, k, []memory{all}, func(a, _, _ uint64) uint64 { return a }, func(b *ir.Builder, a []*ir.Value) *ir.Value { return a[0] })
		sameEverywhere(t, n, ir.F32, []memory{all}, func(a, _, _ uint64) uint64 { return a }, func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.ALU(ir.Cast, ir.F32, a[0]) })
		sameEverywhere(t, 5*n, k, []memory{wideNumbers}, ir.CastLane(ir.F32, k), func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.ALU(ir.Cast, k, a[0]) })
		sameEverywhere(t, 5*n, ir.F32, []memory{wideNumbers}, ir.CastLane(ir.F32, k), func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.ALU(ir.Cast, ir.F32, b.ALU(ir.Cast, k, a[0])) })
	}
}

func TestBools(t *testing.T) {
	const n = 64
	in := []memory{samples(ir.Bool, n, 7), samples(ir.Bool, n, 8)}
	tests := map[ir.Op]func(a, b bool) bool{
		ir.Add: func(a, b bool) bool { return a || b }, ir.Or: func(a, b bool) bool { return a || b }, ir.Max: func(a, b bool) bool { return a || b },
		ir.Mul: func(a, b bool) bool { return a && b }, ir.And: func(a, b bool) bool { return a && b }, ir.Div: func(a, b bool) bool { return a && b },
		ir.Xor: func(a, b bool) bool { return a != b }, ir.Sub: func(a, b bool) bool { return a != b }, ir.NotEqual: func(a, b bool) bool { return a != b },
		ir.Equal: func(a, b bool) bool { return a == b }, ir.Less: func(a, b bool) bool { return !a && b }, ir.LessEqual: func(a, b bool) bool { return !a || b },
		ir.AndNot: func(a, b bool) bool { return a && !b }, ir.Neg: func(a, _ bool) bool { return a },
	}
	for op, f := range tests {
		want := func(a, b, _ uint64) uint64 { return ir.Truth(f(a != 0, b != 0)) }
		sameEverywhere(t, n, ir.Bool, in, want, func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.ALU(op, ir.Bool, a...) })
		for c := range uint64(2) {
			sameEverywhere(t, n, ir.Bool, in[:1], func(a, _, _ uint64) uint64 { return want(a, c, 0) },
				func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.ALU(op, ir.Bool, a[0], b.Constant(ir.Bool, c)) })
			sameEverywhere(t, n, ir.Bool, in[:1], func(a, _, _ uint64) uint64 { return want(c, a, 0) },
				func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.ALU(op, ir.Bool, b.Constant(ir.Bool, c), a[0]) })
		}
	}
}

// Operations with constants, which have shorter forms, give what the operations give.
func TestConstants(t *testing.T) {
	const n = 400
	for _, k := range allKinds[1:] {
		ops := []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div}
		if !k.Float() {
			ops = append(ops, ir.And, ir.Or, ir.Xor, ir.AndNot, ir.Mod)
		}
		in := samples(k, n, 9)
		for _, op := range ops {
			for _, f := range []float64{0, 1, -1, 2, 8, 3, 0.25, 64} {
				c := k.FloatBits(f)
				if !k.Float() {
					c = k.Wrap(int64(f))
				}
				t.Run(fmt.Sprint(op, k, f), func(t *testing.T) {
					sameEverywhere(t, n, k, []memory{in}, func(a, _, _ uint64) uint64 { return ir.LaneOp(op, k, k)(a, c, 0) },
						func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.ALU(op, k, a[0], b.Constant(k, c)) })
					sameEverywhere(t, n, k, []memory{in}, func(a, _, _ uint64) uint64 { return ir.LaneOp(op, k, k)(c, a, 0) },
						func(b *ir.Builder, a []*ir.Value) *ir.Value { return b.ALU(op, k, b.Constant(k, c), a[0]) })
				})
			}
		}
	}
}

// Choices and negated maxima become the instructions that do the same.
func TestShortForms(t *testing.T) {
	const n = 2000
	in := []memory{samples(ir.F32, n, 10), samples(ir.F32, n, 11)}
	less := ir.LaneOp(ir.Less, ir.F32, ir.Bool)
	choose := func(c bool, a, b uint64) uint64 {
		if c {
			return a
		}
		return b
	}
	tests := []struct {
		name string
		want ir.LaneFunc
		f    func(b *ir.Builder, x, y *ir.Value) *ir.Value
		gone ir.Op // is not in the kernel
	}{
		{"x < y ? y : x", func(x, y, _ uint64) uint64 { return choose(less(x, y, 0) != 0, y, x) },
			func(b *ir.Builder, x, y *ir.Value) *ir.Value {
				return b.ALU(ir.Where, ir.F32, b.ALU(ir.Less, ir.Bool, x, y), y, x)
			}, ir.Where},
		{"x < y ? x : y", func(x, y, _ uint64) uint64 { return choose(less(x, y, 0) != 0, x, y) },
			func(b *ir.Builder, x, y *ir.Value) *ir.Value {
				return b.ALU(ir.Where, ir.F32, b.ALU(ir.Less, ir.Bool, x, y), x, y)
			}, ir.Where},
		{"0 < x or x is NaN ? x : 0", func(x, _, _ uint64) uint64 { return choose(!(ir.F32Of(x) <= 0), x, 0) },
			func(b *ir.Builder, x, _ *ir.Value) *ir.Value {
				zero := b.Float(ir.F32, 0)
				return b.ALU(ir.Where, ir.F32, b.ALU(ir.Or, ir.Bool, b.ALU(ir.Less, ir.Bool, zero, x), b.ALU(ir.NotEqual, ir.Bool, x, x)), x, zero)
			}, ir.Where},
		{"-max(-x, -y)", func(x, y, _ uint64) uint64 {
			return ir.OfF32(-ir.F32Of(ir.LaneOp(ir.Max, ir.F32, ir.F32)(ir.OfF32(-ir.F32Of(x)), ir.OfF32(-ir.F32Of(y)), 0)))
		},
			func(b *ir.Builder, x, y *ir.Value) *ir.Value {
				return b.ALU(ir.Neg, ir.F32, b.ALU(ir.Max, ir.F32, b.ALU(ir.Neg, ir.F32, x), b.ALU(ir.Neg, ir.F32, y)))
			}, ir.Neg},
		{"-max(-x, 2)", func(x, y, _ uint64) uint64 {
			return ir.OfF32(-ir.F32Of(ir.LaneOp(ir.Max, ir.F32, ir.F32)(ir.OfF32(-ir.F32Of(x)), ir.OfF32(2), 0)))
		},
			func(b *ir.Builder, x, y *ir.Value) *ir.Value {
				return b.ALU(ir.Neg, ir.F32, b.ALU(ir.Max, ir.F32, b.ALU(ir.Neg, ir.F32, x), b.Float(ir.F32, 2)))
			}, ir.Neg},
		{"x + y*-1", ir.LaneOp(ir.Sub, ir.F32, ir.F32), func(b *ir.Builder, x, y *ir.Value) *ir.Value {
			return b.ALU(ir.Add, ir.F32, x, b.ALU(ir.Mul, ir.F32, y, b.Float(ir.F32, -1)))
		}, ir.Mul},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			sameEverywhere(t, n, ir.F32, in, c.want, func(b *ir.Builder, a []*ir.Value) *ir.Value {
				v := c.f(b, a[0], a[1])
				if has(v, c.gone) {
					t.Errorf("%s is still there", c.gone)
				}
				return v
			})
		})
	}
}

// has reports whether a value needs an operation.
func has(v *ir.Value, op ir.Op) bool {
	if v.Op == op {
		return true
	}
	for _, a := range v.Args {
		if has(a, op) {
			return true
		}
	}
	return false
}

// What is known to be in range is not narrowed, and what is stored is rounded once.
func TestNoNeedlessNarrowing(t *testing.T) {
	b := ir.NewBuilder("narrow", 8)
	b.Machine = ir.AVX512
	in, half := param(b.Kernel, uop.Uint8, 8, false), param(b.Kernel, uop.Float16, 8, true)
	x := b.LoadAs(ir.U8, &ir.Place{Buf: in, Stride: 1}, 8, nil)
	if v := b.ALU(ir.Cast, ir.I16, x); v != x {
		t.Errorf("u8 as i16: got %s", v.Describe())
	}
	if v := b.ALU(ir.Cast, ir.U8, b.ALU(ir.Shr, ir.U8, x, b.Int(ir.I32, 3))); has(v, ir.And) {
		t.Errorf("u8 shifted right: got %s", v.Describe())
	}
	if v := b.ALU(ir.Cast, ir.I8, x); v.Op != ir.Shr {
		t.Errorf("u8 as i8: got %s", v.Describe())
	}
	f := b.ALU(ir.Cast, ir.F32, x)
	if v := b.ALU(ir.Cast, ir.I32, b.ALU(ir.Cast, ir.F64, f)); v.Args[0] != f {
		t.Errorf("f32 by way of f64: got %s", v.Describe())
	}
	b.StoreAs(&ir.Place{Buf: half, Stride: 1}, b.ALU(ir.Add, ir.F16, f, f))
	if v := b.Root.Items[0].Store.Val; v.Op != ir.Add {
		t.Errorf("stored half: got %s", v.Describe())
	}
}
