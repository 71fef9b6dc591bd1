//go:build linux && amd64 && cgo

package native_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"polygrad/core/nest"
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
	type builder = *nest.Builder
	half := func(b builder, op nest.Op, args ...*nest.Value) *nest.Value { return b.ALU(op, nest.F16, args...) }
	number := func(b builder, f float64) *nest.Value {
		return b.New(nest.Const, nest.F16, 1, nest.F16.FloatBits(f))
	}
	chains := map[string]func(b builder, x, y *nest.Value) (half, full *nest.Value){
		"line": func(b builder, x, y *nest.Value) (*nest.Value, *nest.Value) {
			v := half(b, nest.Mul, x, number(b, 1.25))
			v = half(b, nest.Add, half(b, nest.Sub, v, y), number(b, -3))
			return half(b, nest.Div, number(b, 1), half(b, nest.Mul, v, x)), v
		},
		"roots": func(b builder, x, y *nest.Value) (*nest.Value, *nest.Value) {
			v := half(b, nest.Sqrt, half(b, nest.Add, x, number(b, 2)))
			return half(b, nest.Div, half(b, nest.Mul, v, v), y), half(b, nest.Sub, v, number(b, 0.5))
		},
		"choices": func(b builder, x, y *nest.Value) (*nest.Value, *nest.Value) {
			v := half(b, nest.Mul, half(b, nest.Pick, half(b, nest.Add, x, number(b, 1)), number(b, 0.25)), x)
			w := half(b, nest.Least, number(b, 9), half(b, nest.Mul, v, number(b, 3)))
			c := b.ALU(nest.Less, nest.F16, x, y)
			return half(b, nest.Add, half(b, nest.Where, c, v, w), half(b, nest.Max, w, number(b, 2))), w
		},
		"small": func(b builder, x, y *nest.Value) (*nest.Value, *nest.Value) {
			v := half(b, nest.Mul, half(b, nest.Mul, x, number(b, 0x1p-12)), number(b, 0x1p-8))
			return half(b, nest.Add, v, half(b, nest.Mul, y, number(b, 0x1p-14))), v
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
				b := nest.NewBuilder("half", lanes)
				b.Machine = machineOf(f)
				in, other := param(b, nest.F16, n, false), param(b, nest.F16, n, false)
				out, full := param(b, nest.F16, n, true), param(b, nest.F32, n, true)
				scale := b.LoadAs(nest.F16, &nest.Place{Buf: other}, 1, nil)
				b.Loop("i", b.Int(nest.I64, int64(n/lanes)), func(l *nest.Loop) {
					at := func(buf *nest.Buffer) *nest.Place {
						return &nest.Place{Buf: buf, Terms: []nest.Term{{V: l.Iter, Coef: int64(lanes)}}, Stride: 1}
					}
					x, y := b.LoadAs(nest.F16, at(in), lanes, nil), b.LoadAs(nest.F16, at(other), lanes, nil)
					v, w := chain(b, x, half(b, nest.Add, y, b.Splat(scale)))
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
