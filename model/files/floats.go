package files

import (
	"encoding/binary"
	"math"

	"polygrad/core/uop"
)

var le = binary.LittleEndian

// each lifts the conversion of one element to all elements.
func each(size int, f func(b []byte) float32) func(b []byte, out []float32) {
	return func(b []byte, out []float32) {
		for i := range out {
			out[i] = f(b[i*size : (i+1)*size])
		}
	}
}

// floats convert elements of each data type to float32.
var floats = map[*uop.DType]func(b []byte, out []float32){
	uop.Bool: each(1, func(b []byte) float32 {
		if b[0] != 0 {
			return 1
		}
		return 0
	}),
	uop.Int8:     each(1, func(b []byte) float32 { return float32(int8(b[0])) }),
	uop.Uint8:    each(1, func(b []byte) float32 { return float32(b[0]) }),
	uop.Int16:    each(2, func(b []byte) float32 { return float32(int16(le.Uint16(b))) }),
	uop.Uint16:   each(2, func(b []byte) float32 { return float32(le.Uint16(b)) }),
	uop.Int32:    each(4, func(b []byte) float32 { return float32(int32(le.Uint32(b))) }),
	uop.Uint32:   each(4, func(b []byte) float32 { return float32(le.Uint32(b)) }),
	uop.Int64:    each(8, func(b []byte) float32 { return float32(int64(le.Uint64(b))) }),
	uop.Uint64:   each(8, func(b []byte) float32 { return float32(le.Uint64(b)) }),
	uop.FP8E4M3:  each(1, func(b []byte) float32 { return float32(uop.FP8ToFloat(uop.FP8E4M3, b[0])) }),
	uop.FP8E5M2:  each(1, func(b []byte) float32 { return float32(uop.FP8ToFloat(uop.FP8E5M2, b[0])) }),
	uop.Float16:  each(2, func(b []byte) float32 { return uop.HalfToFloat(le.Uint16(b)) }),
	uop.BFloat16: each(2, func(b []byte) float32 { return uop.BF16ToFloat(le.Uint16(b)) }),
	uop.Float32:  each(4, func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) }),
	uop.Float64:  each(8, func(b []byte) float32 { return float32(math.Float64frombits(le.Uint64(b))) }),
}
