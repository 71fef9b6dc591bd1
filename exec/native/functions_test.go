//go:build linux && amd64 && cgo

package native_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"polygrad/core/nest/ir"
	"polygrad/render/x64"
)

// TestFunctions runs functions of floats, of numbers of all sizes and special ones.
func TestFunctions(t *testing.T) {
	const n = 4096
	special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-149, 0x1p-1074, 0x1p-126, 0x1p-1022, math.MaxFloat32, math.MaxFloat64,
		88.72, 88.73, -103.9, -104.1, 709.78, 709.79, -745.1, 128, 127.99, 1e6, -1e9, 1e30, -1e300, math.Pi, 0.75, 1.5}
	r := rand.New(rand.NewPCG(8, 9))
	nums := map[ir.Kind][]byte{}
	for i := range n {
		x := r.NormFloat64() * math.Exp2(r.Float64()*20-10)
		bits32, bits64 := math.Float32bits(float32(x)), math.Float64bits(x)
		switch {
		case i%16 < 12:
		case i%16 < 14:
			bits32, bits64 = r.Uint32(), r.Uint64()
		default:
			s := special[i/16%len(special)]
			bits32, bits64 = math.Float32bits(float32(s)), math.Float64bits(s)
		}
		nums[ir.F32] = binary.LittleEndian.AppendUint32(nums[ir.F32], bits32)
		nums[ir.F64] = binary.LittleEndian.AppendUint64(nums[ir.F64], bits64)
	}
	for _, f := range levels() {
		for _, k := range []ir.Kind{ir.F32, ir.F64} {
			for _, op := range []ir.Op{ir.Exp, ir.Exp2, ir.Log2, ir.Sin, ir.Cos, ir.Tanh} {
				for _, lanes := range []int{1, f.Lanes(k == ir.F64)} {
					t.Run(fmt.Sprint(f.Level(), k, op, lanes), func(t *testing.T) {
						b := ir.NewBuilder(op.String(), f.Lanes(k == ir.F64))
						b.Machine = machineOf(f)
						in, out := param(b, k, n, false), param(b, k, n, true)
						b.Loop("i", b.Int(ir.I64, int64(n/lanes)), func(l *ir.Loop) {
							at := ir.Place{Terms: []ir.Term{{V: l.Iter, Coef: int64(lanes)}}}
							if lanes > 1 {
								at.Stride = 1
							}
							from, to := at, at
							from.Buf, to.Buf = in, out
							b.StoreAs(&to, b.ALU(op, k, b.LoadAs(k, &from, lanes, nil)))
						})
						compare(t, b.Kernel, f, nil, [][]byte{nums[k], make([]byte, len(nums[k]))})
					})
				}
			}
		}
	}
}

// machineOf is what nests may use with some features.
func machineOf(f x64.Features) ir.Machine {
	switch {
	case f.AVX512:
		return ir.AVX512
	case f.AVX2:
		return ir.AVX2
	}
	return ir.SSE4
}
