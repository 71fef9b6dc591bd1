//go:build linux && amd64 && cgo

package native_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"polygrad/core/nest/ir"
)

// radicands are special numbers, numbers next to squares, and random bits.
func radicands(n int) []float64 {
	inf := math.Inf(1)
	out := []float64{0, math.Copysign(0, -1), inf, -inf, math.NaN(), -1, -5e-324, 5e-324, 0x1p-1022, math.MaxFloat64, 1, 2, 0.5}
	r := rand.New(rand.NewPCG(3, 4))
	for len(out) < n {
		root := float64(r.Uint64() >> 37)
		x := root * root * math.Ldexp(1, 2*(r.IntN(1000)-500))
		out = append(out, x, math.Nextafter(x, 0), math.Nextafter(x, inf), math.Float64frombits(r.Uint64()))
	}
	return out[:n]
}

// Square roots are rounded to nearest, whether an instruction computes them or not.
func TestSquareRoots(t *testing.T) {
	const n = 1 << 14
	var in, positive []byte
	for _, x := range radicands(n) {
		in = binary.LittleEndian.AppendUint64(in, math.Float64bits(x))
		if x != x {
			x = 3
		}
		positive = binary.LittleEndian.AppendUint64(positive, math.Float64bits(math.Abs(x)))
	}
	for _, f := range levels() {
		for _, w := range []int{1, f.Lanes(true)} {
			b := ir.NewBuilder(fmt.Sprint("roots", w), w)
			x, out := param(b, ir.F64, n, false), param(b, ir.F64, n, true)
			y, bits := param(b, ir.F64, n, false), param(b, ir.I64, n, true) // every bit is compared
			b.Loop("i", b.Int(ir.I64, int64(n/w)), func(l *ir.Loop) {
				at := func(buf *ir.Buffer) *ir.Place {
					return &ir.Place{Buf: buf, Terms: []ir.Term{{V: l.Iter, Coef: int64(w)}}, Stride: int64(min(1, w-1))}
				}
				b.Store(at(out), b.Do(ir.Sqrt, ir.F64, b.Load(at(x), w, nil)))
				b.Store(at(bits), b.Bitcast(ir.F64, ir.I64, b.Do(ir.Sqrt, ir.F64, b.Load(at(y), w, nil))))
			})
			compare(t, b.Kernel, f, nil, [][]byte{in, make([]byte, 8*n), positive, make([]byte, 8*n)})
		}
	}
}
