package nest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"polygrad/core/kinds"
	"polygrad/core/uop"
)

var dtypeOf = func() map[Kind]*uop.DType {
	m := map[Kind]*uop.DType{}
	for dt, k := range kinds.Of {
		m[k] = dt
	}
	return m
}()

// machines are one that has everything and one that has nothing.
var machines = []Machine{AVX512, SSE4}

// memory holds elements of a kind.
type memory struct {
	k    Kind
	data []uint64
}

func newMemory(k Kind, n int) memory { return memory{k, make([]uint64, (int64(n)*k.Size()+7)/8)} }

func (m memory) at(i int) unsafe.Pointer { return unsafe.Add(address(m.data), int64(i)*m.k.Size()) }
func (m memory) get(i int) uint64        { return decode(m.k, readBits(m.k, m.at(i))) }
func (m memory) put(i int, bits uint64)  { writeBits(m.k, m.at(i), bits) }

// samples are n values of a kind: those at the edges, and random ones, near together and anywhere.
func samples(k Kind, n int, seed uint64) memory {
	rng := rand.New(rand.NewPCG(seed, uint64(k)))
	edges := []float64{0, math.Copysign(0, -1), 1, -1, 2, -2, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 7, -7, 100, -100, 127, -128, 255, 32767, -32768, 65535,
		math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-133, -0x1p-140, 0x1p-149, 448, 449, 464, 480, 57344, 61440, 65504, 65519, 65520, 1e30, -1e30}
	ints := []uint64{0, 1, 2, 3, 5, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	m := newMemory(k, n)
	for i := range n {
		switch r := rng.IntN(4); {
		case k == Bool:
			m.put(i, uint64(r&1))
		case k.Float() && r == 0:
			m.put(i, encode(k, k.FloatBits(edges[rng.IntN(len(edges))])))
		case k.Float() && r == 1:
			m.put(i, encode(k, k.FloatBits(rng.NormFloat64()*4)))
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
func elementwise(t *testing.T, m Machine, lanes, n int, to Kind, in []memory, f func(b *Builder, args []*Value) *Value) memory {
	t.Helper()
	b := NewBuilder("elementwise", lanes)
	b.Machine = m
	var ins []*Buffer
	var addrs []unsafe.Pointer
	for _, x := range in {
		ins = append(ins, param(b.Kernel, dtypeOf[x.k], int64(n), false))
		addrs = append(addrs, x.at(0))
	}
	out := param(b.Kernel, dtypeOf[to], int64(n), true)
	result := newMemory(to, n)
	b.Loop("i", b.Int(I64, int64(n/lanes)), func(l *Loop) {
		var args []*Value
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
func checkLegal(t *testing.T, k *Kernel) {
	t.Helper()
	seen := map[*Value]bool{}
	var visit func(v *Value)
	visit = func(v *Value) {
		if v == nil || seen[v] {
			return
		}
		seen[v] = true
		switch v.Op {
		case Exp, Exp2, Log2, Sin, Cos, Tanh:
			t.Errorf("%s was not written out", v.line())
		case Load:
		case Cast:
			if from := v.Args[0].Kind; from != arithmetic(from) && v.Kind != arithmetic(from) || v.Kind == Bool {
				t.Errorf("cast from %s: %s", from, v.line())
			}
		default:
			for _, a := range v.Args {
				if a.Kind != arithmetic(a.Kind) {
					t.Errorf("argument of %s: %s", a.Kind, v.line())
				}
			}
		}
		if v.Op != Load && v.Op != Narrow && v.Kind != arithmetic(v.Kind) {
			t.Errorf("a value of %s: %s", v.Kind, v.line())
		}
		for _, a := range v.Args {
			visit(a)
		}
	}
	var block func(b *Block)
	block = func(b *Block) {
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
func same(k Kind, a, b uint64) bool {
	if k.Register() == F32 {
		return a == b || f32Of(a) != f32Of(a) && f32Of(b) != f32Of(b)
	}
	return a == b || k == F64 && f64Of(a) != f64Of(a) && f64Of(b) != f64Of(b)
}

func show(k Kind, r uint64) string {
	switch {
	case k == F64:
		return fmt.Sprint(f64Of(r))
	case k.Float():
		return fmt.Sprint(f32Of(r))
	}
	return fmt.Sprint(intOf(k, r))
}

// sameEverywhere compares a kernel with the operation that it should be, on all machines, as scalars and as vectors.
func sameEverywhere(t *testing.T, n int, to Kind, in []memory, want laneFunc, f func(b *Builder, args []*Value) *Value) {
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

var allKinds = []Kind{Bool, I8, U8, I16, U16, I32, U32, I64, U64, E4M3, E5M2, F16, BF16, F32, F64}

func TestALU(t *testing.T) {
	const n = 1600
	floats, ints := []Op{Add, Sub, Mul, Div, Neg, Max, Pick, Least, Abs, Sqrt, Trunc, Round, Floor}, []Op{Add, Sub, Mul, Div, Mod, Neg, Max, And, Or, Xor, AndNot}
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
				case Neg, Abs, Sqrt, Trunc, Round, Floor:
					args = in[:1]
				}
				sameEverywhere(t, n, k, args, laneOp(op, k, k), func(b *Builder, a []*Value) *Value { return b.ALU(op, k, a...) })
			})
		}
		for _, op := range []Op{Less, LessEqual, Equal, NotEqual} {
			t.Run(fmt.Sprint(op, k), func(t *testing.T) {
				sameEverywhere(t, n, Bool, in, laneOp(op, k, Bool), func(b *Builder, a []*Value) *Value { return b.ALU(op, Bool, a...) })
			})
		}
		t.Run(fmt.Sprint("where", k), func(t *testing.T) {
			in := append([]memory{samples(Bool, n, 3)}, in...)
			sameEverywhere(t, n, k, in, laneOp(Where, k, k), func(b *Builder, a []*Value) *Value { return b.ALU(Where, k, a...) })
		})
	}
}

func TestShifts(t *testing.T) {
	const n = 4000
	for _, k := range allKinds[1:9] {
		for _, op := range []Op{Shl, Shr} {
			width := 8 * k.Size()
			counts := newMemory(k, n)
			for i := range n {
				counts.put(i, uint64(int64(i)%width))
			}
			in := []memory{samples(k, n, 4), counts}
			sameEverywhere(t, n, k, in, laneOp(op, k, k), func(b *Builder, a []*Value) *Value { return b.ALU(op, k, a...) })
			for by := range width {
				sameEverywhere(t, 64, k, in[:1], func(a, _, _ uint64) uint64 { return laneOp(op, k, k)(a, uint64(by), 0) },
					func(b *Builder, a []*Value) *Value { return b.ALU(op, k, a[0], b.Int(U32, by)) })
			}
		}
	}
}

func TestCasts(t *testing.T) {
	const n = 1600
	for _, from := range allKinds {
		for _, to := range allKinds {
			in := samples(from, n, 5)
			if from.Float() && !to.Float() && to != Bool {
				// What is out of range may become anything.
				for i := range n {
					f := f64Of(castLane(from, F64)(in.get(i), 0, 0))
					limit := math.Ldexp(1, int(8*to.Register().Size())-1)
					if !(math.Abs(f) < limit) || f < 0 && (to == U32 || to == U64) {
						in.put(i, 0)
					}
				}
			}
			want := castLane(from, to)
			if from == F64 && to == F16 || from != F32 && from.Width() == 8 && to.Register() == F32 && to != F32 {
				// By way of F32.
				want = func(a, _, _ uint64) uint64 { return decode(to, encode(to, castLane(from, F32)(a, 0, 0))) }
			}
			t.Run(fmt.Sprint(from, to), func(t *testing.T) {
				sameEverywhere(t, n, to, []memory{in}, want, func(b *Builder, a []*Value) *Value { return b.ALU(Cast, to, a...) })
			})
			if from.Size() == to.Size() && from != Bool && to != Bool {
				in := samples(from, n, 6)
				for i := range n {
					if x := in.get(i); from.Size() < 4 && from.Float() && f32Of(x) != f32Of(x) {
						in.put(i, 0) // NaN may have any bits
					}
				}
				t.Run(fmt.Sprint("bits", from, to), func(t *testing.T) {
					sameEverywhere(t, n, to, []memory{in}, laneOp(Bitcast, from, to), func(b *Builder, a []*Value) *Value { return b.Bitcast(from, to, a[0]) })
				})
			}
		}
	}
}

// Numbers of the small kinds come through memory unchanged, and the neighbours of their midpoints are rounded right.
func TestSmallFloats(t *testing.T) {
	for _, k := range []Kind{E4M3, E5M2, F16, BF16} {
		codes := 1 << (8 * k.Size())
		n, step := min(codes, 8<<10), max(codes/(8<<10), 1)
		all := newMemory(k, n)
		wideNumbers := newMemory(F32, 5*n)
		for i := range n {
			code := uint64(i*step + i%step)
			all.put(i, code)
			x := f32Of(all.get(i))
			mid := x
			if next := f32Of(decode(k, code+1)); code+1 < uint64(codes) {
				mid = float32((float64(x) + float64(next)) / 2)
			}
			for j, f := range []float32{x, mid, math.Nextafter32(mid, 1e38), math.Nextafter32(mid, -1e38), x * 1.1} {
				wideNumbers.put(5*i+j, ofF32(f))
			}
		}
		sameEverywhere(t, n, k, []memory{all}, func(a, _, _ uint64) uint64 { return a }, func(b *Builder, a []*Value) *Value { return a[0] })
		sameEverywhere(t, n, F32, []memory{all}, func(a, _, _ uint64) uint64 { return a }, func(b *Builder, a []*Value) *Value { return b.ALU(Cast, F32, a[0]) })
		sameEverywhere(t, 5*n, k, []memory{wideNumbers}, castLane(F32, k), func(b *Builder, a []*Value) *Value { return b.ALU(Cast, k, a[0]) })
		sameEverywhere(t, 5*n, F32, []memory{wideNumbers}, castLane(F32, k), func(b *Builder, a []*Value) *Value { return b.ALU(Cast, F32, b.ALU(Cast, k, a[0])) })
	}
}

func TestBools(t *testing.T) {
	const n = 64
	in := []memory{samples(Bool, n, 7), samples(Bool, n, 8)}
	tests := map[Op]func(a, b bool) bool{
		Add: func(a, b bool) bool { return a || b }, Or: func(a, b bool) bool { return a || b }, Max: func(a, b bool) bool { return a || b },
		Mul: func(a, b bool) bool { return a && b }, And: func(a, b bool) bool { return a && b }, Div: func(a, b bool) bool { return a && b },
		Xor: func(a, b bool) bool { return a != b }, Sub: func(a, b bool) bool { return a != b }, NotEqual: func(a, b bool) bool { return a != b },
		Equal: func(a, b bool) bool { return a == b }, Less: func(a, b bool) bool { return !a && b }, LessEqual: func(a, b bool) bool { return !a || b },
		AndNot: func(a, b bool) bool { return a && !b }, Neg: func(a, _ bool) bool { return a },
	}
	for op, f := range tests {
		want := func(a, b, _ uint64) uint64 { return truth(f(a != 0, b != 0)) }
		sameEverywhere(t, n, Bool, in, want, func(b *Builder, a []*Value) *Value { return b.ALU(op, Bool, a...) })
		for c := range uint64(2) {
			sameEverywhere(t, n, Bool, in[:1], func(a, _, _ uint64) uint64 { return want(a, c, 0) },
				func(b *Builder, a []*Value) *Value { return b.ALU(op, Bool, a[0], b.Constant(Bool, c)) })
			sameEverywhere(t, n, Bool, in[:1], func(a, _, _ uint64) uint64 { return want(c, a, 0) },
				func(b *Builder, a []*Value) *Value { return b.ALU(op, Bool, b.Constant(Bool, c), a[0]) })
		}
	}
}

// Operations with constants, which have shorter forms, give what the operations give.
func TestConstants(t *testing.T) {
	const n = 400
	for _, k := range allKinds[1:] {
		ops := []Op{Add, Sub, Mul, Div}
		if !k.Float() {
			ops = append(ops, And, Or, Xor, AndNot, Mod)
		}
		in := samples(k, n, 9)
		for _, op := range ops {
			for _, f := range []float64{0, 1, -1, 2, 8, 3, 0.25, 64} {
				c := k.FloatBits(f)
				if !k.Float() {
					c = k.Wrap(int64(f))
				}
				t.Run(fmt.Sprint(op, k, f), func(t *testing.T) {
					sameEverywhere(t, n, k, []memory{in}, func(a, _, _ uint64) uint64 { return laneOp(op, k, k)(a, c, 0) },
						func(b *Builder, a []*Value) *Value { return b.ALU(op, k, a[0], b.Constant(k, c)) })
					sameEverywhere(t, n, k, []memory{in}, func(a, _, _ uint64) uint64 { return laneOp(op, k, k)(c, a, 0) },
						func(b *Builder, a []*Value) *Value { return b.ALU(op, k, b.Constant(k, c), a[0]) })
				})
			}
		}
	}
}

// Choices and negated maxima become the instructions that do the same.
func TestShortForms(t *testing.T) {
	const n = 2000
	in := []memory{samples(F32, n, 10), samples(F32, n, 11)}
	less := laneOp(Less, F32, Bool)
	choose := func(c bool, a, b uint64) uint64 {
		if c {
			return a
		}
		return b
	}
	tests := []struct {
		name string
		want laneFunc
		f    func(b *Builder, x, y *Value) *Value
		gone Op // is not in the kernel
	}{
		{"x < y ? y : x", func(x, y, _ uint64) uint64 { return choose(less(x, y, 0) != 0, y, x) },
			func(b *Builder, x, y *Value) *Value { return b.ALU(Where, F32, b.ALU(Less, Bool, x, y), y, x) }, Where},
		{"x < y ? x : y", func(x, y, _ uint64) uint64 { return choose(less(x, y, 0) != 0, x, y) },
			func(b *Builder, x, y *Value) *Value { return b.ALU(Where, F32, b.ALU(Less, Bool, x, y), x, y) }, Where},
		{"0 < x or x is NaN ? x : 0", func(x, _, _ uint64) uint64 { return choose(!(f32Of(x) <= 0), x, 0) },
			func(b *Builder, x, _ *Value) *Value {
				zero := b.Float(F32, 0)
				return b.ALU(Where, F32, b.ALU(Or, Bool, b.ALU(Less, Bool, zero, x), b.ALU(NotEqual, Bool, x, x)), x, zero)
			}, Where},
		{"-max(-x, -y)", func(x, y, _ uint64) uint64 {
			return ofF32(-f32Of(laneOp(Max, F32, F32)(ofF32(-f32Of(x)), ofF32(-f32Of(y)), 0)))
		},
			func(b *Builder, x, y *Value) *Value {
				return b.ALU(Neg, F32, b.ALU(Max, F32, b.ALU(Neg, F32, x), b.ALU(Neg, F32, y)))
			}, Neg},
		{"-max(-x, 2)", func(x, y, _ uint64) uint64 {
			return ofF32(-f32Of(laneOp(Max, F32, F32)(ofF32(-f32Of(x)), ofF32(2), 0)))
		},
			func(b *Builder, x, y *Value) *Value {
				return b.ALU(Neg, F32, b.ALU(Max, F32, b.ALU(Neg, F32, x), b.Float(F32, 2)))
			}, Neg},
		{"x + y*-1", laneOp(Sub, F32, F32), func(b *Builder, x, y *Value) *Value { return b.ALU(Add, F32, x, b.ALU(Mul, F32, y, b.Float(F32, -1))) }, Mul},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			sameEverywhere(t, n, F32, in, c.want, func(b *Builder, a []*Value) *Value {
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
func has(v *Value, op Op) bool {
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
	b := NewBuilder("narrow", 8)
	b.Machine = AVX512
	in, half := param(b.Kernel, uop.Uint8, 8, false), param(b.Kernel, uop.Float16, 8, true)
	x := b.LoadAs(U8, &Place{Buf: in, Stride: 1}, 8, nil)
	if v := b.ALU(Cast, I16, x); v != x {
		t.Errorf("u8 as i16: got %s", v.line())
	}
	if v := b.ALU(Cast, U8, b.ALU(Shr, U8, x, b.Int(I32, 3))); has(v, And) {
		t.Errorf("u8 shifted right: got %s", v.line())
	}
	if v := b.ALU(Cast, I8, x); v.Op != Shr {
		t.Errorf("u8 as i8: got %s", v.line())
	}
	f := b.ALU(Cast, F32, x)
	if v := b.ALU(Cast, I32, b.ALU(Cast, F64, f)); v.Args[0] != f {
		t.Errorf("f32 by way of f64: got %s", v.line())
	}
	b.StoreAs(&Place{Buf: half, Stride: 1}, b.ALU(Add, F16, f, f))
	if v := b.Root.Items[0].Store.Val; v.Op != Add {
		t.Errorf("stored half: got %s", v.line())
	}
}
