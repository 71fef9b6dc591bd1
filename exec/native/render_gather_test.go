//go:build linux && amd64 && cgo

package native_test

import (
	"fmt"
	"testing"

	"polygrad/core/nest/ir"
	"polygrad/render/x64"
	"polygrad/render/x64/asm"
)

// An instruction that sets a gather's mask in the loop depends on the old value of its register: then each gather waits for the one before it.
func TestGathersDoNotWaitForEachOther(t *testing.T) {
	for _, f := range levels() {
		if !f.AVX512 {
			continue
		}
		lanes := f.Lanes(false)
		b := ir.NewBuilder("gathers", lanes)
		in, out := param(b, ir.F32, 3*8*int64(lanes), false), param(b, ir.F32, 8*int64(lanes), true)
		b.Loop("i", b.Int(ir.I64, 8), func(l *ir.Loop) {
			place := func(buf *ir.Buffer, off, stride int64) *ir.Place {
				return &ir.Place{Buf: buf, Off: off, Terms: []ir.Term{{V: l.Iter, Coef: stride * int64(lanes)}}, Stride: stride}
			}
			load := func(off int64) *ir.Value { return b.Load(place(in, off, 3), lanes, nil) }
			b.Store(place(out, 0, 1), b.Do(ir.Add, ir.F32, b.Do(ir.Add, ir.F32, load(0), load(1)), load(2)))
		})
		c, err := x64.Render(b.Kernel, f)
		if err != nil {
			t.Fatal(err)
		}
		count := map[asm.Op]int{}
		for _, i := range c.Insts {
			count[i.Op]++
		}
		if count[asm.VGATHERDPS] != 3 || count[asm.KXNORW] != 1 {
			t.Errorf("%s: %d gathers and %d masks of ones, expected 3 and 1", f.Level(), count[asm.VGATHERDPS], count[asm.KXNORW])
		}
	}
}

// Every second element is loaded by two vectors, and elements in reverse order by one, without a gather.
func TestEverySecondElement(t *testing.T) {
	for _, f := range levels() {
		for _, kind := range []ir.Kind{ir.I8, ir.U8, ir.I16, ir.U16, ir.F16, ir.I32, ir.F32, ir.F64} {
			lanes := f.Lanes(kind.Width() == 8)
			if kind == ir.F16 && !f.AVX2 {
				continue
			}
			for _, in := range []ir.Place{{Stride: 2}, {Stride: -2, Off: 2*int64(lanes) - 2}, {Stride: -1, Off: int64(lanes) - 1}} {
				b := ir.NewBuilder(fmt.Sprintf("%v by %d", kind, in.Stride), lanes)
				span, size := max(in.Stride, -in.Stride)*int64(lanes-1)+1, kind.Size()
				in.Buf = param(b, kind, span, false)
				out := param(b, kind, int64(lanes), true)
				b.Store(&ir.Place{Buf: out, Stride: 1}, b.Load(&in, lanes, nil))
				numbers := make([]byte, size*span)
				for i := range numbers {
					numbers[i] = byte(i*37) & 0x3B // no NaN
				}
				c := compare(t, b.Kernel, f, nil, [][]byte{numbers, make([]byte, size*int64(lanes))})
				for _, i := range c.Insts {
					if i.Op == asm.VGATHERDPS || i.Op == asm.VGATHERDPD {
						t.Errorf("%s: %v by %d: %s", f.Level(), kind, in.Stride, i.Op)
					}
				}
				if n := len(c.Insts); n > 17 {
					t.Errorf("%s: %v by %d: %d instructions", f.Level(), kind, in.Stride, n)
				}
			}
		}
	}
}
