//go:build linux && amd64 && cgo

package native_test

import (
	"fmt"
	"testing"

	"polygrad/core/nest"
)

// Where a gate is shut nothing is read or written: buffers end at pages that are not there, and addresses may be anything.
func TestShutGates(t *testing.T) {
	kinds := []nest.Kind{nest.Bool, nest.I8, nest.U8, nest.I16, nest.U16, nest.I32, nest.U32, nest.I64, nest.U64, nest.F16, nest.F32, nest.F64}
	for _, f := range levels() {
		for _, k := range kinds {
			if k == nest.F16 && !f.AVX2 {
				continue
			}
			for _, wide := range []bool{k.Width() == 8, true} {
				for _, stride := range []int64{1, 2, 3, -1, 0} {
					lanes := f.Lanes(wide)
					b := nest.NewBuilder(fmt.Sprintf("gate of %v by %d", k, stride), lanes)
					n := int64(lanes) + 3
					span := max(1, stride, -stride)
					in, out := param(b, k, n*span, false), param(b, k, n*span, true)
					single := param(b, k, 3, true)
					b.Vars = []nest.VarParam{{Name: "far", Kind: nest.I64}}
					far := b.New(nest.Var, nest.I64, 1, 0)
					b.Loop("i", b.Int(nest.I64, 2), func(l *nest.Loop) {
						place := func(buf *nest.Buffer) *nest.Place {
							p := &nest.Place{Buf: buf, Terms: []nest.Term{{V: l.Iter, Coef: stride * int64(lanes)}}, Stride: stride}
							if stride < 0 {
								p.Off = n - 1
							}
							first := b.Do(nest.Cast, nest.I32, b.Do(nest.Mul, nest.I64, l.Iter, b.Int(nest.I64, int64(lanes))))
							p.Gate = b.Do(nest.Less, nest.Bool, b.Do(nest.Add, nest.I32, first, b.New(nest.Lane, nest.I32, lanes, 0)), b.Int(nest.I32, n))
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
							away := func(buf *nest.Buffer) *nest.Place {
								return &nest.Place{Buf: buf, Terms: []nest.Term{{V: far, Coef: 1}}, Stride: int64(min(w-1, 1)), Gate: b.Do(nest.Less, nest.Bool, far, b.Int(nest.I64, 3))}
							}
							alt := b.Int(k, 1)
							if w > 1 {
								alt = b.Splat(alt)
							}
							y := b.Load(away(in), w, alt)
							b.Store(away(out), y)
							b.Store(&nest.Place{Buf: single}, b.New(nest.Extract, k, 1, 0, b.Splat(b.Load(away(in), 1, b.Int(k, 0)))))
						}
					})
					size := int(n*span) * int(k.Size())
					bytes := make([]byte, size)
					for i := range bytes {
						bytes[i] = byte(i*7) & 0x3B
						if k == nest.Bool {
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
