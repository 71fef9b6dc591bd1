//go:build linux && amd64 && cgo

package native_test

import (
	"fmt"
	"testing"

	"polygrad/core/nest/ir"
)

// Where a gate is shut nothing is read or written: buffers end at pages that are not there, and addresses may be anything.
func TestShutGates(t *testing.T) {
	kinds := []ir.Kind{ir.Bool, ir.I8, ir.U8, ir.I16, ir.U16, ir.I32, ir.U32, ir.I64, ir.U64, ir.F16, ir.F32, ir.F64}
	for _, f := range levels() {
		for _, k := range kinds {
			if k == ir.F16 && !f.AVX2 {
				continue
			}
			for _, wide := range []bool{k.Width() == 8, true} {
				for _, stride := range []int64{1, 2, 3, -1, 0} {
					lanes := f.Lanes(wide)
					b := ir.NewBuilder(fmt.Sprintf("gate of %v by %d", k, stride), lanes)
					n := int64(lanes) + 3
					span := max(1, stride, -stride)
					in, out := param(b, k, n*span, false), param(b, k, n*span, true)
					single := param(b, k, 3, true)
					b.Vars = []ir.VarParam{{Name: "far", Kind: ir.I64}}
					far := b.New(ir.Var, ir.I64, 1, 0)
					b.Loop("i", b.Int(ir.I64, 2), func(l *ir.Loop) {
						place := func(buf *ir.Buffer) *ir.Place {
							p := &ir.Place{Buf: buf, Terms: []ir.Term{{V: l.Iter, Coef: stride * int64(lanes)}}, Stride: stride}
							if stride < 0 {
								p.Off = n - 1
							}
							first := b.Do(ir.Cast, ir.I32, b.Do(ir.Mul, ir.I64, l.Iter, b.Int(ir.I64, int64(lanes))))
							p.Gate = b.Do(ir.Less, ir.Bool, b.Do(ir.Add, ir.I32, first, b.New(ir.Lane, ir.I32, lanes, 0)), b.Int(ir.I32, n))
							return p
						}
						x := b.Load(place(in), lanes, b.Splat(b.Int(k, 1)))
						to := place(out)
						if stride == 0 {
							to.Stride, to.Terms[0].Coef = 1, int64(lanes)
						}
						b.Store(to, x)
						// A scalar gate, for one element and for a vector.
						for _, w := range []int{1, lanes} {
							away := func(buf *ir.Buffer) *ir.Place {
								return &ir.Place{Buf: buf, Terms: []ir.Term{{V: far, Coef: 1}}, Stride: int64(min(w-1, 1)), Gate: b.Do(ir.Less, ir.Bool, far, b.Int(ir.I64, 3))}
							}
							alt := b.Int(k, 1)
							if w > 1 {
								alt = b.Splat(alt)
							}
							y := b.Load(away(in), w, alt)
							b.Store(away(out), y)
							b.Store(&ir.Place{Buf: single}, b.New(ir.Extract, k, 1, 0, b.Splat(b.Load(away(in), 1, b.Int(k, 0)))))
						}
					})
					size := int(n*span) * int(k.Size())
					bytes := make([]byte, size)
					for i := range bytes {
						bytes[i] = byte(i*7) & 0x3B
						if k == ir.Bool {
							bytes[i] &= 1
						}
					}
					for _, away := range []int64{0, 1 << 30, 1 << 45, 1 << 61} {
						compare(t, b.Kernel, f, []int64{away}, [][]byte{bytes, make([]byte, size), make([]byte, 3*k.Size())})
					}
				}
			}
		}
	}
}
