//go:build linux && amd64 && cgo

package native_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// TestHalfArithmetic rounds operations on F16 in chains, in which some results are used as F32 too, or chosen from, and
// compares with the interpreter: on numbers of all kinds, bit for bit.
func TestHalfArithmetic(t *testing.T) {
	const n = 1 << 12
	r := rand.New(rand.NewPCG(7, 8))
	bits := func() []byte {
		out := make([]byte, 2*n)
		for i := range out {
			out[i] = byte(r.Uint32())
		}
		return out
	}
	type builder = *ir.Builder
	half := func(b builder, op ir.Op, args ...*ir.Value) *ir.Value { return b.ALU(op, ir.F16, args...) }
	number := func(b builder, f float64) *ir.Value {
		return b.New(ir.Const, ir.F16, 1, ir.F16.FloatBits(f))
	}
	chains := map[string]func(b builder, x, y *ir.Value) (half, full *ir.Value){
		"line": func(b builder, x, y *ir.Value) (*ir.Value, *ir.Value) {
			v := half(b, ir.Mul, x, number(b, 1.25))
			v = half(b, ir.Add, half(b, ir.Sub, v, y), number(b, -3))
			return half(b, ir.Div, number(b, 1), half(b, ir.Mul, v, x)), v
		},
		"roots": func(b builder, x, y *ir.Value) (*ir.Value, *ir.Value) {
			v := half(b, ir.Sqrt, half(b, ir.Add, x, number(b, 2)))
			return half(b, ir.Div, half(b, ir.Mul, v, v), y), half(b, ir.Sub, v, number(b, 0.5))
		},
		"choices": func(b builder, x, y *ir.Value) (*ir.Value, *ir.Value) {
			v := half(b, ir.Mul, half(b, ir.MaxSS, half(b, ir.Add, x, number(b, 1)), number(b, 0.25)), x)
			w := half(b, ir.MinSS, number(b, 9), half(b, ir.Mul, v, number(b, 3)))
			c := b.ALU(ir.Less, ir.F16, x, y)
			return half(b, ir.Add, half(b, ir.Where, c, v, w), half(b, ir.Max, w, number(b, 2))), w
		},
		"small": func(b builder, x, y *ir.Value) (*ir.Value, *ir.Value) {
			v := half(b, ir.Mul, half(b, ir.Mul, x, number(b, 0x1p-12)), number(b, 0x1p-8))
			return half(b, ir.Add, v, half(b, ir.Mul, y, number(b, 0x1p-14))), v
		},
	}
	for _, f := range levels() {
		if !f.AVX2 {
			continue // F16 is computed with integers there
		}
		for name, chain := range chains {
			wide := name == "small"
			t.Run(fmt.Sprintf("%s/%s", f.Level(), name), func(t *testing.T) {
				lanes := f.Lanes(wide)
				b := ir.NewBuilder("half", lanes)
				b.Machine = machineOf(f)
				in, other := param(b, ir.F16, n, false), param(b, ir.F16, n, false)
				out, full := param(b, ir.F16, n, true), param(b, ir.F32, n, true)
				scale := b.LoadAs(ir.F16, &ir.Place{Buf: other}, 1, nil)
				b.Loop("i", b.Int(ir.I64, int64(n/lanes)), func(l *ir.Loop) {
					at := func(buf *ir.Buffer) *ir.Place {
						return &ir.Place{Buf: buf, Terms: []ir.Term{{V: l.Iter, Coef: int64(lanes)}}, Stride: 1}
					}
					x, y := b.LoadAs(ir.F16, at(in), lanes, nil), b.LoadAs(ir.F16, at(other), lanes, nil)
					v, w := chain(b, x, half(b, ir.Add, y, b.Splat(scale)))
					b.StoreAs(at(out), v)
					b.StoreAs(at(full), w)
				})
				c := compare(t, b.Kernel, f, nil, [][]byte{bits(), bits(), make([]byte, 2*n), make([]byte, 4*n)})
				used := slices.ContainsFunc(c.Insts, func(i asm.Inst) bool { return i.Op >= asm.VADDPH && i.Op <= asm.VSQRTPH })
				if used != f.FP16 {
					t.Errorf("there are instructions for F16: %v, expected %v", used, f.FP16)
				}
			})
		}
	}
}
