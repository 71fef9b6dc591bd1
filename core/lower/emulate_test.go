package lower_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/exec/interp"
	"polygrad/tests/element"
)

// elementwise is the kernel out[i] = f(in0[i], in1[i] …) over n elements.
func elementwise(n int64, out *uop.DType, ins []*uop.DType, f func(x ...*uop.UOp) *uop.UOp) *uop.UOp {
	g := symbolic.NewGraph()
	r := g.Range(uop.N(n), uop.AxisLoop, 0)
	param := func(i int, dt *uop.DType) *uop.UOp {
		return g.New(uop.Param, dt.Ptr(n, uop.Global), nil, uop.Num(i), nil)
	}
	xs := make([]*uop.UOp, len(ins))
	for i, dt := range ins {
		xs[i] = param(i+1, dt).IndexBy(r)
	}
	return g.Sink(uop.KernelInfo{Name: "test"}, param(0, out).IndexPtr(r).Store(f(xs...)).EndRanges(r))
}

// interpret lowers a kernel and runs it on the inputs; it returns the memory of slot 0.
func interpret(t *testing.T, ast *uop.UOp, target *lower.Target, outBytes int64, ins ...[]byte) []byte {
	t.Helper()
	p, err := lower.Lower(ast, target)
	if err != nil {
		t.Fatal(err)
	}
	k, err := interp.Compile(p.Name, p.Linear)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, outBytes)
	ptrs := []unsafe.Pointer{unsafe.Pointer(&out[0])}
	for _, b := range ins {
		ptrs = append(ptrs, unsafe.Pointer(&b[0]))
	}
	if err := k.Run(ptrs, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

// at is element i of some bytes.
func at(b []byte, i int64, dt *uop.DType) uop.Const { return element.Get(unsafe.Pointer(&b[0]), i, dt) }

// longValues are 64-bit patterns: the borders, and random ones of all lengths.
func longValues(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	special := []uint64{0, 1, 2, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1<<63 - 1, 1 << 63, 1<<64 - 1, 1<<64 - 2, 1 << 31, 7}
	var b []byte
	for i := range n {
		v := r.Uint64() >> r.IntN(64)
		if r.IntN(2) == 0 {
			v = -v
		}
		if i%5 == 0 {
			v = special[r.IntN(len(special))]
		}
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func withoutLongs() *lower.Target {
	t := lower.Clang()
	t.Missing = []*uop.DType{uop.Int64, uop.Uint64}
	return t
}

func TestLongsInWordsAreLongs(t *testing.T) {
	const n = 100
	a, b := longValues(n, 1), longValues(n, 2)
	for i := range n { // no division by zero
		if binary.LittleEndian.Uint64(b[8*i:]) == 0 {
			b[8*i] = 3
		}
	}
	shift := func(op uop.Op) func(x ...*uop.UOp) *uop.UOp {
		return func(x ...*uop.UOp) *uop.UOp { return x[0].Alu(op, x[1].And(x[1].IntLike(63))) }
	}
	binaryOp := func(op uop.Op) func(x ...*uop.UOp) *uop.UOp {
		return func(x ...*uop.UOp) *uop.UOp { return x[0].Alu(op, x[1]) }
	}
	castTo := func(dt *uop.DType) func(x ...*uop.UOp) *uop.UOp {
		return func(x ...*uop.UOp) *uop.UOp { return x[0].Cast(dt) }
	}
	for _, dt := range []*uop.DType{uop.Int64, uop.Uint64} {
		cases := map[string]struct {
			out *uop.DType
			f   func(x ...*uop.UOp) *uop.UOp
		}{
			"neg":   {dt, func(x ...*uop.UOp) *uop.UOp { return x[0].Neg() }},
			"const": {dt, func(x ...*uop.UOp) *uop.UOp { return x[0].Add(x[0].IntLike(-(1 << 40))) }},
			"where": {dt, func(x ...*uop.UOp) *uop.UOp { return x[0].Lt(x[1]).Where(x[0], x[1]) }},
			"div7":  {dt, func(x ...*uop.UOp) *uop.UOp { return x[0].IdivInt(7) }},
			"shl":   {dt, shift(uop.Shl)}, "shr": {dt, shift(uop.Shr)}, "int": {uop.Int32, castTo(uop.Int32)}, "uint8": {uop.Uint8, castTo(uop.Uint8)},
			"bool": {uop.Bool, castTo(uop.Bool)}, "double": {uop.Float64, castTo(uop.Float64)},
		}
		for _, op := range []uop.Op{uop.Add, uop.Mul, uop.Idiv, uop.Mod, uop.And, uop.Or, uop.Xor, uop.Max} {
			cases[op.String()] = struct {
				out *uop.DType
				f   func(x ...*uop.UOp) *uop.UOp
			}{dt, binaryOp(op)}
		}
		for _, op := range []uop.Op{uop.CmpLt, uop.CmpNe} {
			cases[op.String()] = struct {
				out *uop.DType
				f   func(x ...*uop.UOp) *uop.UOp
			}{uop.Bool, binaryOp(op)}
		}
		for name, c := range cases {
			ast := elementwise(n, c.out, []*uop.DType{dt, dt}, c.f)
			size := int64(c.out.Itemsize())
			want := interpret(t, ast, lower.Clang(), n*size, a, b)
			got := interpret(t, ast, withoutLongs(), n*size, a, b)
			for i := range int64(n) {
				if w, g := at(want, i, c.out), at(got, i, c.out); !w.Same(g) && !nearDouble(c.out, w.F(), g.F()) {
					t.Errorf("%s %s of %#x and %#x is %v, expected %v", dt, name, binary.LittleEndian.Uint64(a[8*i:]), binary.LittleEndian.Uint64(b[8*i:]), g, w)
					break
				}
			}
		}
	}
}

// nearDouble allows the second rounding of a double made from two words.
func nearDouble(dt *uop.DType, a, b float64) bool {
	return dt == uop.Float64 && math.Abs(a-b) <= math.Abs(a)*1e-15
}

func TestFloatsBecomeLongsInWords(t *testing.T) {
	values := []float64{0, 1, -1, 1.5, -2.75, 4294967295, 4294967296, -4294967297, 1 << 40, -(1 << 62), 123456789012}
	var in []byte
	for _, v := range values {
		in = binary.LittleEndian.AppendUint64(in, math.Float64bits(v))
	}
	n := int64(len(values))
	ast := elementwise(n, uop.Int64, []*uop.DType{uop.Float64}, func(x ...*uop.UOp) *uop.UOp { return x[0].Cast(uop.Int64) })
	got := interpret(t, ast, withoutLongs(), 8*n, in)
	for i, v := range values {
		if g := int64(binary.LittleEndian.Uint64(got[8*i:])); g != int64(v) {
			t.Errorf("%v as a long is %d, expected %d", v, g, int64(v))
		}
	}
}

// smallTypes are the emulated floats with the functions that define them.
var smallTypes = []struct {
	dt    *uop.DType
	wide  func(bits uint16) float64
	bits  func(f float64) uint16
	count int
}{
	{uop.Float16, func(b uint16) float64 { return float64(uop.HalfToFloat(b)) }, uop.FloatToHalf, 1 << 16},
	{uop.BFloat16, func(b uint16) float64 { return float64(uop.BF16ToFloat(b)) }, uop.FloatToBF16, 1 << 16},
	{uop.FP8E4M3, func(b uint16) float64 { return uop.FP8ToFloat(uop.FP8E4M3, uint8(b)) },
		func(f float64) uint16 { return uint16(uop.FloatToFP8(uop.FP8E4M3, f)) }, 1 << 8},
	{uop.FP8E5M2, func(b uint16) float64 { return uop.FP8ToFloat(uop.FP8E5M2, uint8(b)) },
		func(f float64) uint16 { return uint16(uop.FloatToFP8(uop.FP8E5M2, f)) }, 1 << 8},
}

func withoutSmallFloats() *lower.Target {
	t := lower.Clang()
	t.Ops = t.Ops.Union(uop.Ops(uop.Max)) // which keeps NaN
	t.Missing = []*uop.DType{uop.FP8E4M3, uop.FP8E5M2, uop.Float16, uop.BFloat16}
	return t
}

func TestSmallFloatsWidenExactly(t *testing.T) {
	for _, s := range smallTypes {
		size := s.dt.Itemsize()
		in := make([]byte, s.count*size)
		for i := range s.count {
			if size == 1 {
				in[i] = byte(i)
			} else {
				binary.LittleEndian.PutUint16(in[2*i:], uint16(i))
			}
		}
		n := int64(s.count)
		ast := elementwise(n, uop.Float32, []*uop.DType{s.dt}, func(x ...*uop.UOp) *uop.UOp { return x[0].Cast(uop.Float32) })
		got := interpret(t, ast, withoutSmallFloats(), 4*n, in)
		for i := range n {
			if g, w := at(got, i, uop.Float32).F(), s.wide(uint16(i)); g != w && (g == g || w == w) {
				t.Fatalf("%s %#x is %v, expected %v", s.dt, i, g, w)
			}
		}
	}
}

func TestSmallFloatsRoundToNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	values := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 65504, 65519, 65520, 448, 449, 464, 465, 57344, 61440, 1e30, float32(math.Inf(1)),
		float32(math.Inf(-1)), float32(math.NaN()), 6e-8, 3e-8, 2.9e-8, 5.96e-8, 1e-45, 0.0009765625, 0.001953125, 0.0068359375}
	for range 20000 {
		values = append(values, float32((r.Float64()*4-2)*math.Pow(2, float64(r.IntN(60)-40))))
	}
	var in []byte
	for _, v := range values {
		in = binary.LittleEndian.AppendUint32(in, math.Float32bits(v))
	}
	n := int64(len(values))
	for _, s := range smallTypes {
		size := int64(s.dt.Itemsize())
		ast := elementwise(n, s.dt, []*uop.DType{uop.Float32}, func(x ...*uop.UOp) *uop.UOp { return x[0].Cast(s.dt) })
		got := interpret(t, ast, withoutSmallFloats(), size*n, in)
		for i, v := range values {
			g := uint16(got[int64(i)*size])
			if size == 2 {
				g = binary.LittleEndian.Uint16(got[2*i:])
			}
			if w := s.bits(float64(v)); g != w && s.wide(g) == s.wide(g) {
				t.Fatalf("%v as %s is %#x, expected %#x", v, s.dt, g, w)
			}
		}
	}
}

func TestSmallFloatArithmeticRoundsEachStep(t *testing.T) {
	const n = 2000
	r := rand.New(rand.NewPCG(5, 6))
	for _, s := range smallTypes {
		size := s.dt.Itemsize()
		a, b := make([]byte, n*size), make([]byte, n*size)
		for i := range a {
			a[i], b[i] = byte(r.IntN(256)), byte(r.IntN(256))
		}
		for name, f := range map[string]func(x ...*uop.UOp) *uop.UOp{
			"x*y+x": func(x ...*uop.UOp) *uop.UOp { return x[0].Mul(x[1]).Add(x[0]) },
			"where": func(x ...*uop.UOp) *uop.UOp { return x[0].Lt(x[1]).Where(x[0], x[1].Neg()) },
			"sqrt":  func(x ...*uop.UOp) *uop.UOp { return x[0].Sqrt().Maximum(x[1]) },
		} {
			ast := elementwise(n, s.dt, []*uop.DType{s.dt, s.dt}, f)
			want := interpret(t, ast, lower.Native(), int64(n*size), a, b)
			got := interpret(t, ast, withoutSmallFloats(), int64(n*size), a, b)
			for i := range n {
				g, w := uint16(got[i*size]), uint16(want[i*size])
				if size == 2 {
					g, w = binary.LittleEndian.Uint16(got[2*i:]), binary.LittleEndian.Uint16(want[2*i:])
				}
				if x, y := s.wide(g), s.wide(w); x != y && (x == x || y == y) {
					t.Errorf("%s %s of element %d is %v, expected %v", s.dt, name, i, x, y)
					break
				}
			}
		}
	}
}
