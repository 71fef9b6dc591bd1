//go:build linux && amd64 && cgo

package native_test

import (
	"slices"
	"testing"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// A prefetch becomes an instruction; its address may lie behind the end of the buffer.
func TestFetch(t *testing.T) {
	for _, f := range levels() {
		lanes := f.Lanes(false)
		n := int64(lanes * 5)
		b := ir.NewBuilder("fetch", lanes)
		x, out := param(b, ir.F32, n, false), param(b, ir.F32, n, true)
		b.Loop("i", b.Int(ir.I64, 5), func(l *ir.Loop) {
			at := func(buf *ir.Buffer, off int64) *ir.Place {
				return &ir.Place{Buf: buf, Terms: []ir.Term{{V: l.Iter, Coef: int64(lanes)}}, Off: off, Stride: 1}
			}
			b.Prefetch(at(x, 3*n))
			b.Store(at(out, 0), b.Load(at(x, 0), lanes, nil))
		})
		c := compare(t, b.Kernel, f, nil, [][]byte{floatBytes(int(n)), make([]byte, 4*n)})
		if !slices.ContainsFunc(c.Insts, func(i asm.Inst) bool { return i.Op == asm.PREFETCHT0 }) {
			t.Errorf("%v: no instruction fetches", f)
			show(t, c)
		}
	}
}
