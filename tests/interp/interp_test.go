package interp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// param adds a buffer argument to a kernel.
func param(k *ir.Kernel, dt *uop.DType, size int64, written bool) *ir.Buffer {
	b := &ir.Buffer{ID: int32(len(k.Params) + 1), Kind: ir.KindOf[dt], Size: size, Param: len(k.Params), Read: !written, Written: written}
	k.Params = append(k.Params, ir.Param{DType: dt, Slot: b.Param, Size: size, Read: !written, Written: written})
	return b
}

func address[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

func mustRun(t *testing.T, k *ir.Kernel, vars []int64, bufs ...unsafe.Pointer) {
	t.Helper()
	if err := Run(k, bufs, vars, 0, k.Items); err != nil {
		t.Fatal(err)
	}
}

// vecPlace is element lanes*i + off and its neighbours.
func vecPlace(b *ir.Builder, buf *ir.Buffer, i *ir.Value, off int64) *ir.Place {
	return &ir.Place{Buf: buf, Terms: []ir.Term{{V: i, Coef: int64(b.Lanes)}}, Off: off, Stride: 1}
}

// A loop over vectors with a gate for the rest, a sum in a variable and one in memory.
func TestRunLoops(t *testing.T) {
	const n, lanes = 21, 4
	b := ir.NewBuilder("sum", lanes)
	in, out := param(b.Kernel, uop.Float32, n, false), param(b.Kernel, uop.Float32, 2, true)
	b.Vars = []ir.VarParam{{Name: "n", Kind: ir.I32, Max: n}}
	size := b.New(ir.Var, ir.I32, 1, 0)
	scalar := &ir.Place{Buf: out, Off: 1}
	b.Store(scalar, b.Float(ir.F32, 0))
	count := b.Do(ir.Div, ir.I64, b.Do(ir.Cast, ir.I64, b.Do(ir.Add, ir.I32, size, b.Int(ir.I32, lanes-1))), b.Int(ir.I64, lanes))
	var p *ir.PhiVar
	b.Loop("i", count, func(l *ir.Loop) {
		p = b.Phi(l, b.Splat(b.Float(ir.F32, 0)))
		at := vecPlace(b, in, l.Iter, 0)
		first := b.Do(ir.Cast, ir.I32, b.Do(ir.Mul, ir.I64, l.Iter, b.Int(ir.I64, lanes)))
		at.Gate = b.Do(ir.Less, ir.Bool, b.Do(ir.Add, ir.I32, first, b.New(ir.Lane, ir.I32, lanes, 0)), size)
		x := b.Load(at, lanes, b.Splat(b.Float(ir.F32, 0)))
		p.Next = b.Do(ir.Add, ir.F32, p.V, x)
		old := b.Load(scalar, 1, nil)
		b.Store(scalar, b.Do(ir.Add, ir.F32, old, b.New(ir.Sum, ir.F32, 1, 0, x)))
	})
	b.Store(&ir.Place{Buf: out}, b.New(ir.Sum, ir.F32, 1, 0, b.Final(p)))
	x, got := make([]float32, n), make([]float32, 2)
	for size := range n + 1 {
		want := float32(0)
		for i := range x {
			x[i] = float32(i * i)
			if i < size {
				want += x[i]
			}
		}
		mustRun(t, b.Kernel, []int64{int64(size)}, address(x), address(got))
		if got[0] != want || got[1] != want {
			t.Errorf("sum of %d: got %v, expected %v twice", size, got, want)
		}
	}
}

func TestRunFindsMistakes(t *testing.T) {
	tests := []struct {
		name, want string
		build      func(b *ir.Builder, in, out *ir.Buffer)
	}{
		{"outside", "element 8 of buffer 1", func(b *ir.Builder, in, out *ir.Buffer) {
			b.Store(&ir.Place{Buf: out}, b.Load(&ir.Place{Buf: in, Off: 8}, 1, nil))
		}},
		{"before 0", "element -1 of buffer 2", func(b *ir.Builder, in, out *ir.Buffer) {
			b.Store(&ir.Place{Buf: out, Off: -1}, b.Float(ir.F32, 1))
		}},
		{"iterator outside of its loop", "outside of its block", func(b *ir.Builder, in, out *ir.Buffer) {
			l := b.Loop("i", b.Int(ir.I64, 2), func(l *ir.Loop) {})
			b.Store(&ir.Place{Buf: out}, b.Do(ir.Cast, ir.F32, l.Iter))
		}},
		{"final before the loop", "before its loop", func(b *ir.Builder, in, out *ir.Buffer) {
			var p *ir.PhiVar
			b.Loop("i", b.Int(ir.I64, 2), func(l *ir.Loop) {
				p = b.Phi(l, b.Float(ir.F32, 0))
				p.Next = p.V
			})
			loop := b.Cur.Items
			b.Cur.Items = nil
			b.Store(&ir.Place{Buf: out}, b.Final(p))
			b.Cur.Items = append(b.Cur.Items, loop...)
		}},
		{"load after its place", "before its place", func(b *ir.Builder, in, out *ir.Buffer) {
			v := b.Load(&ir.Place{Buf: out}, 1, nil)
			b.Cur.Items = nil
			b.Store(&ir.Place{Buf: out}, v)
		}},
		{"kind", "no operation fma", func(b *ir.Builder, in, out *ir.Buffer) {
			one := b.Int(ir.I32, 1)
			b.Store(&ir.Place{Buf: out}, b.Do(ir.Cast, ir.F32, b.Do(ir.FMA, ir.I32, one, one, one)))
		}},
	}
	for _, c := range tests {
		b := ir.NewBuilder(c.name, 4)
		in, out := param(b.Kernel, uop.Float32, 8, false), param(b.Kernel, uop.Float32, 8, true)
		c.build(b, in, out)
		x := make([]float32, 8)
		err := Run(b.Kernel, []unsafe.Pointer{address(x), address(x)}, nil, 0, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, expected one with %q", c.name, err, c.want)
		}
	}
}

// Lanes go where the operations between scalars and vectors say, through scratch memory.
func TestRunLanes(t *testing.T) {
	const lanes = 4
	b := ir.NewBuilder("lanes", lanes)
	in, out := param(b.Kernel, uop.Int32, 16, false), param(b.Kernel, uop.Int32, 64, true)
	scratch := &ir.Buffer{ID: 3, Kind: ir.I32, Size: 16, Param: -1, Offset: 64, Read: true, Written: true}
	b.Scratch = 128
	var rows []*ir.Value
	for i := range int64(lanes) {
		rows = append(rows, b.Load(&ir.Place{Buf: in, Off: lanes * i, Stride: 1}, lanes, nil))
	}
	for i := range int64(lanes) {
		col := b.Unique(ir.Value{Op: ir.Transpose, Kind: ir.I32, Lanes: lanes, Bits: uint64(i), Args: rows})
		b.Store(&ir.Place{Buf: scratch, Off: lanes * i, Stride: 1}, col)
	}
	for i := range int64(lanes) {
		b.Store(&ir.Place{Buf: out, Off: i, Stride: lanes}, b.Load(&ir.Place{Buf: scratch, Off: lanes * i, Stride: 1}, lanes, nil))
	}
	r := rows[1]
	scalars := []*ir.Value{
		b.New(ir.Extract, ir.I32, 1, 2, r), b.New(ir.Sum, ir.I32, 1, 0, r), b.New(ir.Product, ir.I32, 1, 0, r), b.New(ir.MaxLanes, ir.I32, 1, 0, r),
		b.New(ir.AndAll, ir.I32, 1, 0, r), b.New(ir.OrAll, ir.I32, 1, 0, r), b.New(ir.XorAll, ir.I32, 1, 0, r),
		b.Do(ir.Cast, ir.I32, b.New(ir.AnyLane, ir.Bool, 1, 0, b.Do(ir.Less, ir.Bool, r, b.Int(ir.I32, 5)))),
		b.Do(ir.Cast, ir.I32, b.New(ir.AnyLane, ir.Bool, 1, 0, b.Do(ir.Less, ir.Bool, r, b.Int(ir.I32, 4)))),
	}
	for i, v := range scalars {
		b.Store(&ir.Place{Buf: out, Off: int64(16 + i)}, v)
	}
	b.Store(&ir.Place{Buf: out, Off: 32, Stride: 1}, b.New(ir.Insert, ir.I32, lanes, 3, r, b.Int(ir.I32, 99)))
	index := b.Do(ir.Sub, ir.I32, b.Int(ir.I32, 3), b.New(ir.Lane, ir.I32, lanes, 0))
	b.Store(&ir.Place{Buf: out, Off: 40, Index: index}, b.Load(&ir.Place{Buf: in, Index: index, Off: 8}, lanes, nil))
	x, got := make([]int32, 16), make([]int32, 64)
	for i := range x {
		x[i] = int32(i)
	}
	mustRun(t, b.Kernel, nil, address(x), address(got))
	want := map[int]int32{16: 6, 17: 22, 18: 840, 19: 7, 20: 4, 21: 7, 22: 0, 23: 1, 24: 0, 32: 4, 33: 5, 34: 6, 35: 99, 40: 8, 43: 11}
	for i := range 16 {
		want[i] = int32(i)
	}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("element %d: got %d, expected %d", i, got[i], w)
		}
	}
}

func TestRunItems(t *testing.T) {
	b := ir.NewBuilder("items", 1)
	out := param(b.Kernel, uop.Int64, 10, true)
	b.Kernel.Items = 10
	first := b.New(ir.First, ir.I64, 1, 0)
	b.Loop("item", b.New(ir.Items, ir.I64, 1, 0), func(l *ir.Loop) {
		i := b.Do(ir.Add, ir.I64, first, l.Iter)
		b.Store(&ir.Place{Buf: out, Terms: []ir.Term{{V: i, Coef: 1}}}, i)
	})
	got := make([]int64, 10)
	if err := Run(b.Kernel, []unsafe.Pointer{address(got)}, nil, 3, 4); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if want := int64(i); (i >= 3 && i < 7) && v != want || (i < 3 || i >= 7) && v != 0 {
			t.Errorf("item %d: got %d", i, v)
		}
	}
}

func TestFMA32(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	number := func() float32 {
		return math.Float32frombits(rng.Uint32()&0x807F_FFFF | (100+rng.Uint32N(50))<<23)
	}
	for range 200000 {
		x, y, z := number(), number(), number()
		switch rng.IntN(4) {
		case 0: // nearly cancels
			z = -float32(float64(x) * float64(y))
		case 1: // c is far below half a unit of a product with few bits
			x, y = float32(int(rng.Uint32N(1<<13)))+0.5, float32(1+rng.Uint32N(1<<12))
			z = math.Float32frombits(rng.Uint32()&0x807F_FFFF | (20+rng.Uint32N(80))<<23)
		}
		p := new(big.Float).SetPrec(2000).SetFloat64(float64(x) * float64(y))
		want, _ := p.Add(p, new(big.Float).SetFloat64(float64(z))).Float32()
		if got := ir.FMA32(x, y, z); got != want {
			t.Fatalf("fma32(%g, %g, %g): got %g, expected %g", x, y, z, got, want)
		}
	}
}
