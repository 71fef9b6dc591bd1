//go:build linux && amd64 && cgo

// Tests of render/x64: kernels as machine code against the interpreter of nests.
package native_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/klauspost/cpuid/v2"
	"golang.org/x/sys/unix"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
	"polygrad/exec/native/code"
	"polygrad/render/x64"
	"polygrad/render/x64/asm"
	"polygrad/tests/interp"
)

// levels are the features that the tests can have on this machine.
func levels() []x64.Features {
	out := []x64.Features{{}}
	if cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.F16C, cpuid.BMI1, cpuid.BMI2) {
		out = append(out, x64.Features{AVX2: true})
	}
	if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL) {
		out = append(out, x64.Features{AVX512: true, AVX2: true})
	}
	return out
}

// memory is a buffer between pages that must not be touched: it ends where the second begins.
type memory struct {
	pages []byte
	data  []byte
}

func newMemory(t testing.TB, size int) memory {
	const page = 4096
	n := (size+page-1)/page*page + 2*page
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]byte{b[:page], b[n-page:]} {
		if err := unix.Mprotect(p, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { unix.Munmap(b) })
	return memory{b, b[n-page-size : n-page]}
}

var dtypes = map[ir.Kind]*uop.DType{
	ir.Bool: uop.Bool, ir.I8: uop.Int8, ir.U8: uop.Uint8, ir.I16: uop.Int16, ir.U16: uop.Uint16, ir.I32: uop.Int32, ir.U32: uop.Uint32,
	ir.I64: uop.Int64, ir.U64: uop.Uint64, ir.F16: uop.Float16, ir.F32: uop.Float32, ir.F64: uop.Float64,
}

// param adds a buffer to a kernel.
func param(b *ir.Builder, k ir.Kind, size int64, written bool) *ir.Buffer {
	buf := &ir.Buffer{ID: int32(len(b.Params) + 1), Kind: k, Size: size, Param: len(b.Params), Read: !written, Written: written}
	b.Params = append(b.Params, ir.Param{DType: dtypes[k], Slot: buf.Param, Size: size, Read: !written, Written: written})
	return buf
}

// compare runs a kernel as machine code and by the interpreter, on equal buffers, and compares what they hold then.
func compare(t *testing.T, k *ir.Kernel, f x64.Features, vars []int64, inputs [][]byte) *x64.Code {
	t.Helper()
	c, err := x64.Render(k, f)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := code.Load([]code.Spec{{
		Name: c.Name, Text: c.Text, Buffers: c.Buffers, Vars: c.Vars, Items: c.Items, Frame: c.Frame, Scratch: c.Scratch,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer loaded[0].Close()
	var want, got [][]byte
	var wp, gp []unsafe.Pointer
	for _, in := range inputs {
		w, g := newMemory(t, len(in)).data, newMemory(t, len(in)).data
		copy(w, in)
		copy(g, in)
		want, got = append(want, w), append(got, g)
		wp, gp = append(wp, unsafe.Pointer(&w[0])), append(gp, unsafe.Pointer(&g[0]))
	}
	if err := interp.Run(k, wp, vars, 0, k.Items); err != nil {
		t.Fatal(err)
	}
	if err := loaded[0].Run(gp, vars); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		kind := ir.F32
		for n, d := range dtypes {
			if d == k.Params[i].DType {
				kind = n
			}
		}
		if msg := differ(kind, want[i], got[i]); msg != "" {
			t.Errorf("%s, %s: buffer %d: %s", k.Name, f.Level(), i, msg)
			if testing.Verbose() {
				var dump strings.Builder
				k.Dump(&dump)
				t.Logf("%d instructions\n%s", len(c.Insts), dump.String())
				show(t, c)
			}
			return c
		}
	}
	return c
}

// differ tells the first difference between two buffers: floats may differ by the last bit.
func differ(k ir.Kind, want, got []byte) string {
	size := int(k.Size())
	for i := 0; i < len(want); i += size {
		w, g := want[i:i+size], got[i:i+size]
		if bytes.Equal(w, g) {
			continue
		}
		var x, y, ulp float64
		switch k {
		case ir.F32:
			a, b := math.Float32frombits(binary.LittleEndian.Uint32(w)), math.Float32frombits(binary.LittleEndian.Uint32(g))
			x, y, ulp = float64(a), float64(b), float64(math.Nextafter32(float32(math.Abs(float64(a))), math.MaxFloat32)-float32(math.Abs(float64(a))))
		case ir.F64:
			x, y = math.Float64frombits(binary.LittleEndian.Uint64(w)), math.Float64frombits(binary.LittleEndian.Uint64(g))
			ulp = math.Nextafter(math.Abs(x), math.MaxFloat64) - math.Abs(x)
		case ir.F16:
			x, y = float64(uop.HalfToFloat(binary.LittleEndian.Uint16(w))), float64(uop.HalfToFloat(binary.LittleEndian.Uint16(g)))
		default:
			return fmt.Sprintf("element %d is %x, expected %x", i/size, g, w)
		}
		if x != x && y != y || math.Abs(x-y) <= ulp*1.5 {
			continue
		}
		return fmt.Sprintf("element %d is %v, expected %v", i/size, y, x)
	}
	return ""
}

// floatBytes are n small numbers as F32.
func floatBytes(n int) []byte {
	var b []byte
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(i%17)-8.25))
	}
	return b
}

func TestAdd(t *testing.T) {
	for _, f := range levels() {
		lanes := f.Lanes(false)
		n := int64(lanes * 5)
		b := ir.NewBuilder("add", lanes)
		x, y, out := param(b, ir.F32, n, false), param(b, ir.F32, n, false), param(b, ir.F32, n, true)
		b.Loop("i", b.Int(ir.I64, 5), func(l *ir.Loop) {
			at := func(buf *ir.Buffer) *ir.Place {
				return &ir.Place{Buf: buf, Terms: []ir.Term{{V: l.Iter, Coef: int64(lanes)}}, Stride: 1}
			}
			b.Store(at(out), b.Do(ir.Add, ir.F32, b.Load(at(x), lanes, nil), b.Load(at(y), lanes, nil)))
		})
		compare(t, b.Kernel, f, nil, [][]byte{floatBytes(int(n)), floatBytes(int(n)), make([]byte, 4*n)})
	}
}

func show(t *testing.T, c *x64.Code) {
	for i := range c.Insts {
		t.Log(c.Insts[i].String())
	}
}

// tile makes the kernel of a matrix product out of panels: an inner loop over k with m*n vectors of sums.
func tile(f x64.Features, m, n int, depth int64) *ir.Kernel {
	lanes := f.Lanes(false)
	b := ir.NewBuilder("tile", lanes)
	x, y := param(b, ir.F32, int64(m)*depth, false), param(b, ir.F32, int64(n*lanes)*depth, false)
	out := param(b, ir.F32, int64(m*n*lanes), true)
	var phis []*ir.PhiVar
	b.Loop("k", b.Int(ir.I64, depth), func(l *ir.Loop) {
		for range m * n {
			phis = append(phis, b.Phi(l, b.Splat(b.Float(ir.F32, 0))))
		}
		for i := range m {
			a := b.Load(&ir.Place{Buf: x, Terms: []ir.Term{{V: l.Iter, Coef: int64(m)}}, Off: int64(i)}, 1, nil)
			for j := range n {
				r := b.Load(&ir.Place{Buf: y, Terms: []ir.Term{{V: l.Iter, Coef: int64(n * lanes)}}, Off: int64(j * lanes), Stride: 1}, lanes, nil)
				p := phis[i*n+j]
				if f.AVX2 {
					p.Next = b.Do(ir.FMA, ir.F32, a, r, p.V)
				} else {
					p.Next = b.Do(ir.Add, ir.F32, p.V, b.Do(ir.Mul, ir.F32, a, r))
				}
			}
		}
	})
	for i, p := range phis {
		b.Store(&ir.Place{Buf: out, Off: int64(i * lanes), Stride: 1}, b.Final(p))
	}
	return b.Kernel
}

// The inner loop of a matrix product holds its sums in registers: nothing is copied, and nothing goes to memory.
func TestTile(t *testing.T) {
	for _, f := range levels() {
		m, n := 14, 2
		switch {
		case !f.AVX2:
			m = 5
		case !f.AVX512:
			m = 6
		}
		k := tile(f, m, n, 9)
		var in [][]byte
		for _, p := range k.Params {
			in = append(in, floatBytes(int(p.Size)))
		}
		c := compare(t, k, f, nil, in)
		copies, fused, inside := 0, 0, false
		for i := range c.Insts {
			inst := &c.Insts[i]
			switch {
			case inst.Op == asm.LABEL:
				inside = true
			case inst.Op.Branch():
				inside = false
			case !inside:
			case inst.Op == asm.VFMADD231PS:
				fused++
			case inst.Mem.Base == asm.RBP || inst.Op == asm.VMOVAPS && f.AVX2 || inst.Op == asm.MOV:
				copies++
				t.Logf("%s: %v", f.Level(), inst)
			}
		}
		if copies > 0 {
			t.Errorf("%s: %d copies in the loop, expected none", f.Level(), copies)
		}
		if f.AVX2 && fused != m*n {
			t.Errorf("%s: %d multiplications in the loop, expected %d", f.Level(), fused, m*n)
		}
	}
}

// Work items are those that a call is asked for, and scratch memory is written and read again in the order of the nest.
func TestItemsAndScratch(t *testing.T) {
	for _, f := range levels() {
		lanes := f.Lanes(false)
		n := int64(lanes)
		b := ir.NewBuilder("items", lanes)
		x, out := param(b, ir.F32, 8*n, false), param(b, ir.F32, 8*n, true)
		tmp := &ir.Buffer{ID: 3, Kind: ir.F32, Size: 2 * n, Param: -1, Offset: 64, Read: true, Written: true}
		b.Kernel.Items, b.Kernel.Scratch = 8, 64+8*n
		first := b.New(ir.First, ir.I64, 1, 0)
		b.Loop("item", b.New(ir.Items, ir.I64, 1, 0), func(l *ir.Loop) {
			item := b.Do(ir.Add, ir.I64, first, l.Iter)
			at := []ir.Term{{V: item, Coef: n}}
			b.Store(&ir.Place{Buf: tmp, Stride: 1}, b.Load(&ir.Place{Buf: x, Terms: at, Stride: 1}, lanes, nil))
			b.Loop("turn", b.Int(ir.I64, 3), func(l *ir.Loop) {
				old := b.Load(&ir.Place{Buf: tmp, Stride: 1}, lanes, nil)
				b.Store(&ir.Place{Buf: tmp, Stride: 1}, b.Do(ir.Add, ir.F32, old, old))
				b.Store(&ir.Place{Buf: tmp, Off: 1}, b.Float(ir.F32, 0.5))
			})
			b.Store(&ir.Place{Buf: out, Terms: at, Stride: 1}, b.Load(&ir.Place{Buf: tmp, Stride: 1}, lanes, nil))
		})
		compare(t, b.Kernel, f, nil, [][]byte{floatBytes(int(8 * n)), make([]byte, 32*n)})
	}
}

// Offsets that do not fit into instructions.
func TestFarOffsets(t *testing.T) {
	for _, f := range levels() {
		b := ir.NewBuilder("far", f.Lanes(true))
		x, out := param(b, ir.I64, 40, false), param(b, ir.I64, 40, true)
		b.Vars = []ir.VarParam{{Name: "one", Kind: ir.I64}}
		one := b.New(ir.Var, ir.I64, 1, 0)
		for n, c := range []int64{1 << 30, 3 << 40, -5 << 35} {
			b.Loop("i", b.Int(ir.I64, 3), func(l *ir.Loop) {
				at := func(buf *ir.Buffer) *ir.Place {
					return &ir.Place{Buf: buf, Terms: []ir.Term{{V: one, Coef: c}, {V: l.Iter, Coef: 2}}, Off: int64(n) - c}
				}
				to := at(out)
				to.Off += int64(10 * n)
				b.Store(to, b.Load(at(x), 1, nil))
			})
		}
		b.Loop("nothing", one, func(*ir.Loop) {})
		in := make([]byte, 320)
		for i := range in {
			in[i] = byte(i)
		}
		compare(t, b.Kernel, f, []int64{1}, [][]byte{in, make([]byte, 320)})
	}
}

// What is stored of a narrow integer is its low bits, whatever brings it into its range before.
func TestNarrowStores(t *testing.T) {
	for _, f := range levels() {
		for _, k := range []ir.Kind{ir.I8, ir.U8, ir.I16, ir.U16} {
			lanes := f.Lanes(false)
			b := ir.NewBuilder("narrow "+k.String(), lanes)
			x := param(b, ir.I32, 64, false)
			for _, w := range []int{1, lanes} {
				v := b.Load(&ir.Place{Buf: x, Stride: int64(min(w-1, 1))}, w, nil)
				shifted := func(by int64) *ir.Value {
					return b.Do(ir.Shr, ir.I32, b.Do(ir.Shl, ir.I32, v, b.Int(ir.I32, by)), b.Int(ir.I32, by))
				}
				masked := func(m int64) *ir.Value { return b.Do(ir.And, ir.I32, v, b.Int(ir.I32, m)) }
				for _, y := range []*ir.Value{shifted(24), shifted(16), shifted(28), shifted(17), masked(0xFF), masked(0xFFFF), masked(0x7F), masked(0x1FF)} {
					out := param(b, k, 64, true)
					b.Store(&ir.Place{Buf: out, Stride: int64(min(w-1, 1))}, y)
				}
			}
			in := make([]byte, 256)
			for i := range in {
				in[i] = byte(i * 73)
			}
			bufs := [][]byte{in}
			for range b.Params[1:] {
				bufs = append(bufs, make([]byte, 64*k.Size()))
			}
			compare(t, b.Kernel, f, nil, bufs)
		}
	}
}

// A scalar in memory that is spread over the lanes of each operation that can read it there itself.
func TestSpreadOperands(t *testing.T) {
	for _, f := range levels() {
		for _, k := range []ir.Kind{ir.I32, ir.U32, ir.I64, ir.U64, ir.F32, ir.F64} {
			lanes := f.Lanes(k.Width() == 8)
			b := ir.NewBuilder("spread "+k.String(), lanes)
			x, y := param(b, k, int64(lanes), false), param(b, k, 64, false)
			ops := []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Max}
			if !k.Float() {
				ops = append(ops, ir.And, ir.Or, ir.Xor, ir.AndNot)
			}
			bufs := [][]byte{make([]byte, int64(lanes)*k.Size()), make([]byte, 64*k.Size())}
			for i, op := range ops {
				for j := range int64(2) {
					args := []*ir.Value{b.Load(&ir.Place{Buf: x, Stride: 1}, lanes, nil), b.Load(&ir.Place{Buf: y, Off: int64(2*i) + j}, 1, nil)}
					out := param(b, k, int64(lanes), true)
					b.Store(&ir.Place{Buf: out, Stride: 1}, b.Do(op, k, args[j], args[1-j]))
					bufs = append(bufs, make([]byte, int64(lanes)*k.Size()))
				}
			}
			for n := range bufs[:2] {
				for i := range bufs[n] {
					bufs[n][i] = byte(i*37+n) & 0x3F
				}
			}
			compare(t, b.Kernel, f, nil, bufs)
		}
	}
}

// Loads that keep their place, of which nothing needs any, in a kernel of many values.
func TestUnusedLoads(t *testing.T) {
	for _, f := range levels() {
		b := ir.NewBuilder("unused", f.Lanes(false))
		x := param(b, ir.I32, 4, true)
		for range 600 {
			b.Load(&ir.Place{Buf: x}, 1, nil)
		}
		b.Store(&ir.Place{Buf: x, Off: 1}, b.Int(ir.I32, 7))
		compare(t, b.Kernel, f, nil, [][]byte{make([]byte, 16)})
	}
}
