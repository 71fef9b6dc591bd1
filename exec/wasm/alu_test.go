package wasm

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"polygrad/core/uop"
)

// number is an element as the tests model it: integers (bool too) exactly, floats as float64.
type number struct {
	i *big.Int
	f float64
}

func fromInt(v int64) number { return number{i: big.NewInt(v)} }

func (n number) String() string {
	if n.i != nil {
		return n.i.String()
	}
	return fmt.Sprint(n.f)
}

func (n number) same(o number) bool {
	if n.i != nil {
		return n.i.Cmp(o.i) == 0
	}
	return n.f == o.f && math.Signbit(n.f) == math.Signbit(o.f) || n.f != n.f && o.f != o.f
}

// wrapTo is v modulo the range of an integer type.
func wrapTo(dt *uop.DType, v *big.Int) number {
	if dt == uop.Bool {
		return fromInt(int64(min(v.CmpAbs(new(big.Int)), 1)))
	}
	size := new(big.Int).Lsh(big.NewInt(1), uint(dt.Bits))
	r := new(big.Int).Mod(v, size)
	if !dt.IsUnsigned() && r.Bit(dt.Bits-1) == 1 {
		r.Sub(r, size)
	}
	return number{i: r}
}

// roundTo is f as a value of a float type.
func roundTo(dt *uop.DType, f float64) number {
	if dt != uop.Float64 {
		f = float64(float32(f))
	}
	switch dt {
	case uop.Float16:
		f = float64(uop.HalfToFloat(uop.FloatToHalf(f)))
	case uop.BFloat16:
		f = float64(uop.BF16ToFloat(uop.FloatToBF16(f)))
	case uop.FP8E4M3, uop.FP8E5M2:
		f = uop.FP8ToFloat(dt, uop.FloatToFP8(dt, f))
	}
	return number{f: f}
}

// array is memory of n elements of a type.
type array struct {
	dt *uop.DType
	b  []byte
}

func newArray(dt *uop.DType, n int) array { return array{dt, make([]byte, n*dt.Itemsize()+8)} }

func (a array) bits(i int) uint64 {
	n := a.dt.Itemsize()
	var b [8]byte
	copy(b[:], a.b[i*n:i*n+n])
	return binary.LittleEndian.Uint64(b[:])
}

func (a array) setBits(i int, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	copy(a.b[i*a.dt.Itemsize():(i+1)*a.dt.Itemsize()], b[:])
}

func (a array) get(i int) number {
	v := a.bits(i)
	switch a.dt {
	case uop.Float64:
		return number{f: math.Float64frombits(v)}
	case uop.Float32:
		return number{f: float64(math.Float32frombits(uint32(v)))}
	case uop.Float16:
		return number{f: float64(uop.HalfToFloat(uint16(v)))}
	case uop.BFloat16:
		return number{f: float64(uop.BF16ToFloat(uint16(v)))}
	case uop.FP8E4M3, uop.FP8E5M2:
		return number{f: uop.FP8ToFloat(a.dt, uint8(v))}
	}
	return wrapTo(a.dt, new(big.Int).SetUint64(v))
}

func (a array) set(i int, v number) {
	switch a.dt {
	case uop.Float64:
		a.setBits(i, math.Float64bits(v.f))
	case uop.Float32:
		a.setBits(i, uint64(math.Float32bits(float32(v.f))))
	case uop.Float16:
		a.setBits(i, uint64(uop.FloatToHalf(v.f)))
	case uop.BFloat16:
		a.setBits(i, uint64(uop.FloatToBF16(v.f)))
	case uop.FP8E4M3, uop.FP8E5M2:
		a.setBits(i, uint64(uop.FloatToFP8(a.dt, v.f)))
	default:
		a.setBits(i, new(big.Int).And(v.i, new(big.Int).SetUint64(math.MaxUint64)).Uint64())
	}
}

// samples are values of a type: the edges of its range and some between.
func samples(dt *uop.DType, r *rand.Rand, n int) []number {
	var out []number
	if dt.IsFloat() {
		fs := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -2.5, 3.75, 100, -127.5, 1e-3, -7e-6, 65504, -1e5, math.Inf(1), math.Inf(-1), math.NaN(),
			2147483647, 2147483648, -2147483648, 4294967295, 4294967296, 9.3e18, -9.3e18, 1.9e19, 300.7, -129}
		for len(fs) < n {
			fs = append(fs, math.Ldexp(r.Float64()-0.5, r.IntN(40)-12))
		}
		for _, f := range fs[:n] {
			out = append(out, roundTo(dt, f))
		}
		return out
	}
	vs := []*big.Int{big.NewInt(0), big.NewInt(1), big.NewInt(-1), big.NewInt(2), big.NewInt(3), big.NewInt(-7), dt.Min().Big(), dt.Max().Big()}
	for len(vs) < n {
		v := new(big.Int).SetUint64(r.Uint64())
		vs = append(vs, v.Rsh(v, uint(r.IntN(64))))
	}
	for _, v := range vs[:n] {
		out = append(out, wrapTo(dt, v))
	}
	return out
}

// intModel is what an operation on integers gives.
func intModel(op uop.Op, dt *uop.DType, a, b *big.Int) number {
	z := new(big.Int)
	switch op {
	case uop.Add:
		z.Add(a, b)
	case uop.Sub:
		z.Sub(a, b)
	case uop.Mul:
		z.Mul(a, b)
	case uop.Idiv:
		if b.Sign() != 0 {
			z.Quo(a, b)
		}
	case uop.Mod:
		if b.Sign() != 0 {
			z.Rem(a, b)
		}
	case uop.And:
		z.And(a, b)
	case uop.Or:
		z.Or(a, b)
	case uop.Xor:
		z.Xor(a, b)
	case uop.Max:
		z.Set(a)
		if a.Cmp(b) < 0 {
			z.Set(b)
		}
	case uop.Shl:
		z.Lsh(a, uint(b.Uint64()))
	case uop.Shr:
		z.Rsh(a, uint(b.Uint64()))
	case uop.CmpLt:
		return boolNumber(a.Cmp(b) < 0)
	case uop.CmpNe:
		return boolNumber(a.Cmp(b) != 0)
	case uop.CmpEq:
		return boolNumber(a.Cmp(b) == 0)
	}
	return wrapTo(dt, z)
}

func boolNumber(b bool) number {
	if b {
		return fromInt(1)
	}
	return fromInt(0)
}

// floatModel is what an operation on floats gives.
func floatModel(op uop.Op, dt *uop.DType, a, b float64) number {
	switch op {
	case uop.Add:
		return roundTo(dt, a+b)
	case uop.Sub:
		return roundTo(dt, a-b)
	case uop.Mul:
		return roundTo(dt, a*b)
	case uop.Fdiv:
		return roundTo(dt, a/b)
	case uop.CmpLt:
		return boolNumber(a < b)
	case uop.CmpNe:
		return boolNumber(a != b)
	case uop.CmpEq:
		return boolNumber(a == b)
	}
	if a < b || b != b {
		return number{f: b}
	}
	return number{f: a}
}

var binaryOps = []uop.Op{uop.Add, uop.Sub, uop.Mul, uop.Idiv, uop.Mod, uop.Fdiv, uop.And, uop.Or, uop.Xor, uop.Max, uop.Shl, uop.Shr, uop.CmpLt, uop.CmpNe, uop.CmpEq}

func hasOp(op uop.Op, dt *uop.DType) bool {
	switch op {
	case uop.Idiv, uop.Mod, uop.Shl, uop.Shr:
		return dt.IsInt()
	case uop.And, uop.Or, uop.Xor:
		return !dt.IsFloat()
	case uop.Fdiv:
		return dt.IsFloat()
	case uop.Sub:
		return dt != uop.Bool
	}
	return true
}

// TestBinaryOps compares every operation on every type with exact arithmetic,
// in kernels long enough for vectors and in kernels of one element.
func TestBinaryOps(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, dt := range uop.Scalars {
		const n = 24
		vals := samples(dt, r, n)
		a, b := newArray(dt, n*n), newArray(dt, n*n)
		for i := range n * n {
			a.set(i, vals[i/n])
			b.set(i, vals[i%n])
		}
		for _, op := range binaryOps {
			if !hasOp(op, dt) {
				continue
			}
			if op == uop.Shl || op == uop.Shr {
				continue
			}
			out := binaryKernel(t, op, dt, n*n, a, b)
			one := binaryKernel(t, op, dt, 1, a, b)
			for i := range n * n {
				x, y := a.get(i), b.get(i)
				var want number
				if dt.IsFloat() {
					want = floatModel(op, dt, x.f, y.f)
				} else {
					want = intModel(op, dt, x.i, y.i)
				}
				if got := out.get(i); !got.same(want) {
					t.Errorf("%s %s: %v, %v gives %v, expected %v", dt, op, x, y, got, want)
				}
			}
			if x, y := out.get(0), one.get(0); !x.same(y) {
				t.Errorf("%s %s: scalar code gives %v, vector code %v", dt, op, y, x)
			}
		}
	}
}

func binaryKernel(t *testing.T, op uop.Op, dt *uop.DType, n int64, a, b array) array {
	t.Helper()
	m := newMaker()
	res := dt
	if uop.GroupComparison.Has(op) {
		res = uop.Bool
	}
	o, pa, pb := m.param(0, res, n), m.param(1, dt, n), m.param(2, dt, n)
	i := m.loop(0, n, uop.AxisLoop)
	v := m.alu(op, m.load(m.index(pa, i)), m.load(m.index(pb, i)))
	m.end(m.store(m.index(o, i), v), i)
	out := newArray(res, int(n))
	mustRun(t, m.compile(t, op.String()), ptr(out.b), ptr(a.b), ptr(b.b))
	return out
}

// TestShifts shifts by constants and by values from memory.
func TestShifts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, dt := range uop.Ints {
		for _, op := range []uop.Op{uop.Shl, uop.Shr} {
			n := 40
			a, by := newArray(dt, n), newArray(dt, n)
			for i, v := range samples(dt, r, n) {
				a.set(i, v)
				by.set(i, fromInt(int64(i%dt.Bits)))
			}
			variable := binaryKernel(t, op, dt, int64(n), a, by)
			fixed := newArray(dt, n)
			const bits = 5
			k := mapKernel(t, op.String(), int64(n), dt, dt, func(m *maker, x *uop.UOp) *uop.UOp {
				return m.alu(op, x, m.add(uop.ConstOp, dt, uop.Int(bits)))
			})
			mustRun(t, k, ptr(fixed.b), ptr(a.b))
			for i := range n {
				x := a.get(i)
				if got, want := variable.get(i), intModel(op, dt, x.i, by.get(i).i); !got.same(want) {
					t.Errorf("%s: %v %s %v gives %v, expected %v", dt, x, op, by.get(i), got, want)
				}
				if got, want := fixed.get(i), intModel(op, dt, x.i, big.NewInt(bits)); !got.same(want) {
					t.Errorf("%s: %v %s %d gives %v, expected %v", dt, x, op, bits, got, want)
				}
			}
		}
	}
}

// castModel is what a cast gives.
func castModel(from, to *uop.DType, v number) number {
	switch {
	case to == uop.Bool && from.IsFloat():
		return boolNumber(v.f != 0)
	case to.IsFloat() && from.IsFloat():
		return roundTo(to, v.f)
	case to.IsFloat():
		f := new(big.Float).SetInt(v.i)
		if to == uop.Float64 {
			x, _ := f.Float64()
			return number{f: x}
		}
		x, _ := f.Float32()
		return roundTo(to, float64(x))
	case from.IsFloat():
		return floatToIntModel(to, v.f)
	}
	return wrapTo(to, v.i)
}

// floatToIntModel truncates, saturates at the width of the register and wraps.
func floatToIntModel(to *uop.DType, f float64) number {
	lo, hi := uop.Int32.Min().Big(), uop.Int32.Max().Big()
	switch to {
	case uop.Uint32:
		hi = uop.Uint32.Max().Big()
	case uop.Int64:
		lo, hi = uop.Int64.Min().Big(), uop.Int64.Max().Big()
	case uop.Uint64:
		lo, hi = uop.Int64.Min().Big(), uop.Uint64.Max().Big()
	}
	switch {
	case f != f:
		return fromInt(0)
	case math.IsInf(f, 1):
		return wrapTo(to, hi)
	case math.IsInf(f, -1):
		return wrapTo(to, lo)
	}
	v, _ := new(big.Float).SetFloat64(f).Int(nil)
	if v.Cmp(lo) < 0 {
		v = lo
	}
	if v.Cmp(hi) > 0 {
		v = hi
	}
	return wrapTo(to, v)
}

// TestCasts converts between all pairs of types.
func TestCasts(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, from := range uop.Scalars {
		for _, to := range uop.Scalars {
			n := 64
			a, out, one := newArray(from, n), newArray(to, n), newArray(to, 1)
			for i, v := range samples(from, r, n) {
				a.set(i, v)
			}
			f := func(m *maker, x *uop.UOp) *uop.UOp { return m.add(uop.Cast, to, nil, x) }
			mustRun(t, mapKernel(t, "cast", int64(n), from, to, f), ptr(out.b), ptr(a.b))
			mustRun(t, mapKernel(t, "cast one", 1, from, to, f), ptr(one.b), ptr(a.b))
			for i := range n {
				if got, want := out.get(i), castModel(from, to, a.get(i)); !got.same(want) {
					t.Errorf("%s to %s: %v gives %v, expected %v", from, to, a.get(i), got, want)
				}
			}
			if x, y := out.get(0), one.get(0); !x.same(y) {
				t.Errorf("%s to %s: scalar code gives %v, vector code %v", from, to, y, x)
			}
		}
	}
}

// TestSmallFloats converts every small float to float32 and many float32 to it.
func TestSmallFloats(t *testing.T) {
	for _, dt := range []*uop.DType{uop.Float16, uop.BFloat16, uop.FP8E4M3, uop.FP8E5M2} {
		n := 1 << dt.Bits
		small, wide := newArray(dt, n), newArray(uop.Float32, n)
		for i := range n {
			small.setBits(i, uint64(i))
		}
		mustRun(t, mapKernel(t, "widen", int64(n), dt, uop.Float32, func(m *maker, x *uop.UOp) *uop.UOp { return m.add(uop.Cast, uop.Float32, nil, x) }),
			ptr(wide.b), ptr(small.b))
		for i := range n {
			if got, want := wide.get(i), small.get(i); !got.same(want) {
				t.Fatalf("%s %#x widens to %v, expected %v", dt, i, got, want)
			}
		}
		const many = 1 << 20
		from, to := newArray(uop.Float32, many), newArray(dt, many)
		for i := range many {
			from.setBits(i, uint64(i)<<12|uint64(i)*2654435761>>20&0xFFF)
		}
		mustRun(t, mapKernel(t, "narrow", many, uop.Float32, dt, func(m *maker, x *uop.UOp) *uop.UOp { return m.add(uop.Cast, dt, nil, x) }),
			ptr(to.b), ptr(from.b))
		for i := range many {
			if got, want := to.get(i), roundTo(dt, from.get(i).f); !got.same(want) {
				t.Fatalf("%v becomes %s %v, expected %v", from.get(i), dt, got, want)
			}
		}
	}
}

// TestUnaryAndSelection covers the operations that take one or three values.
func TestUnaryAndSelection(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, dt := range uop.Scalars {
		n := 40
		a, out := newArray(dt, n), newArray(dt, n)
		for i, v := range samples(dt, r, n) {
			a.set(i, v)
		}
		if dt != uop.Bool {
			mustRun(t, mapKernel(t, "neg", int64(n), dt, dt, func(m *maker, x *uop.UOp) *uop.UOp { return m.alu(uop.Neg, x) }), ptr(out.b), ptr(a.b))
			for i := range n {
				want := number{f: -a.get(i).f}
				if !dt.IsFloat() {
					want = wrapTo(dt, new(big.Int).Neg(a.get(i).i))
				}
				if !out.get(i).same(want) {
					t.Errorf("%s: -%v gives %v", dt, a.get(i), out.get(i))
				}
			}
		}
		if dt.IsFloat() {
			for _, op := range []uop.Op{uop.Trunc, uop.Floor, uop.Round} {
				mustRun(t, mapKernel(t, op.String(), int64(n), dt, dt, func(m *maker, x *uop.UOp) *uop.UOp { return m.alu(op, x) }), ptr(out.b), ptr(a.b))
				for i := range n {
					if want := (number{f: uop.Rounding[op](a.get(i).f)}); !out.get(i).same(want) {
						t.Errorf("%s: %s %v gives %v", dt, op, a.get(i), out.get(i))
					}
				}
			}
		}
		k := mapKernel(t, "where", int64(n), dt, dt, func(m *maker, x *uop.UOp) *uop.UOp {
			c := m.add(uop.ConstOp, dt, uop.Int(1).As(dt))
			return m.alu(uop.Where, m.alu(uop.CmpLt, x, c), c, x)
		})
		mustRun(t, k, ptr(out.b), ptr(a.b))
		for i := range n {
			x := a.get(i)
			less := x.i != nil && x.i.Cmp(big.NewInt(1)) < 0 || x.i == nil && x.f < 1
			want := x
			if less {
				want = castModel(uop.Bool, dt, fromInt(1))
			}
			if !out.get(i).same(want) {
				t.Errorf("%s: max(%v, 1) gives %v", dt, x, out.get(i))
			}
		}
	}
}

// TestBitcasts reinterprets between types of equal size.
func TestBitcasts(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, from := range uop.Scalars {
		for _, to := range uop.Scalars {
			if from.Itemsize() != to.Itemsize() || from == uop.Bool || to == uop.Bool {
				continue
			}
			n := 40
			a, out := newArray(from, n), newArray(to, n)
			for i := range n {
				for a.setBits(i, r.Uint64()); from.IsFloat() && a.get(i).f != a.get(i).f; {
					a.setBits(i, r.Uint64()) // small NaNs do not keep their bits
				}
			}
			f := func(m *maker, x *uop.UOp) *uop.UOp { return m.add(uop.Bitcast, to, nil, x) }
			mustRun(t, mapKernel(t, "bitcast", int64(n), from, to, f), ptr(out.b), ptr(a.b))
			for i := range n {
				if g := out.get(i); a.bits(i) != out.bits(i) && (g.i != nil || g.f == g.f) {
					t.Errorf("%s to %s: bits %#x become %#x", from, to, a.bits(i), out.bits(i))
				}
			}
		}
	}
}
