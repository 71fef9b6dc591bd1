//go:build linux && amd64 && cgo

package native_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"polygrad/core/nest/ir"
)

// dividends are numbers around the multiples of a divisor, at the ends of the range too.
func dividends(d int64, n int) []int64 {
	out := []int64{0, 1, -1, math.MaxInt32, math.MinInt32, math.MaxInt32 - 1, math.MaxUint32, math.MaxInt64, math.MinInt64, -2}
	for q := int64(1); len(out) < n; q = -q*5 + 1 {
		out = append(out, q*d, q*d-1, q*d+1)
	}
	return out[:n]
}

// Integers divided by constants and by variables, as scalars and as vectors.
func TestDivision(t *testing.T) {
	const n = 64
	for _, f := range levels() {
		for _, k := range []ir.Kind{ir.I32, ir.U32, ir.I64, ir.U64} {
			lanes := f.Lanes(k.Width() == 8)
			for _, d := range []int64{0, 1, -1, 2, -2, 3, -3, 5, 7, 10, 16, 641, 1000, -1000, 1 << 20, 65537, math.MaxInt32, math.MinInt32, 6700417} {
				b := ir.NewBuilder(fmt.Sprintf("divide%v by %d", k, d), lanes)
				x, y := param(b, k, n, false), param(b, k, 1, false)
				by := []*ir.Value{b.Int(k, d), b.Load(&ir.Place{Buf: y}, 1, nil)}
				for _, op := range []ir.Op{ir.Div, ir.Mod} {
					for _, w := range []int{1, lanes} {
						for _, c := range by {
							out := param(b, k, n, true)
							b.Loop("i", b.Int(ir.I64, int64(n/w)), func(l *ir.Loop) {
								at := func(buf *ir.Buffer) *ir.Place {
									return &ir.Place{Buf: buf, Terms: []ir.Term{{V: l.Iter, Coef: int64(w)}}, Stride: int64(min(1, w-1))}
								}
								b.Store(at(out), b.Do(op, k, b.Load(at(x), w, nil), c))
							})
						}
					}
				}
				encode := func(vs ...int64) []byte {
					var out []byte
					for _, v := range vs {
						out = binary.LittleEndian.AppendUint64(out, uint64(v))[:len(out)+int(k.Size())]
					}
					return out
				}
				in := [][]byte{encode(dividends(d, n)...), encode(d)}
				for range b.Params[2:] {
					in = append(in, make([]byte, n*k.Size()))
				}
				compare(t, b.Kernel, f, nil, in)
			}
		}
	}
}
