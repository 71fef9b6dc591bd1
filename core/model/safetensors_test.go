package model

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// Numbers of every type that files have become the float32 nearest to them.
func TestEveryTypeBecomesFloat32(t *testing.T) {
	le := binary.LittleEndian
	words16 := func(v ...uint16) (b []byte) {
		for _, w := range v {
			b = le.AppendUint16(b, w)
		}
		return b
	}
	words32 := func(v ...uint32) (b []byte) {
		for _, w := range v {
			b = le.AppendUint32(b, w)
		}
		return b
	}
	words64 := func(v ...uint64) (b []byte) {
		for _, w := range v {
			b = le.AppendUint64(b, w)
		}
		return b
	}
	minus := func(v int64) uint64 { return uint64(-v) }
	for _, c := range []struct {
		dtype SafeDType
		data  []byte
		want  []float32
	}{
		{SafeF32, words32(math.Float32bits(-1.5), 1), []float32{-1.5, math.SmallestNonzeroFloat32}},
		{SafeF16, words16(0xC200, 0x0001, 0x7BFF), []float32{-3, 0x1p-24, 65504}},
		{SafeBF16, words16(0xC040, 0x3F80), []float32{-3, 1}},
		{SafeF64, words64(math.Float64bits(-0.1), math.Float64bits(1e300)), []float32{-0.1, float32(math.Inf(1))}},
		{SafeI64, words64(minus(1<<40), 1<<24+1), []float32{-1 << 40, 1 << 24}},
		{SafeI32, words32(0xFFFFFFFE, 7), []float32{-2, 7}},
		{SafeI16, words16(0x8000, 7), []float32{-32768, 7}},
		{SafeI8, []byte{0x80, 7}, []float32{-128, 7}},
		{SafeU8, []byte{0x80, 7}, []float32{128, 7}},
		{SafeBool, []byte{0, 1}, []float32{0, 1}},
	} {
		file, err := EncodeSafetensors([]SafeTensor{{"t", c.dtype, []int64{int64(len(c.want))}, c.data}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := decodeSafetensors(file)
		if err != nil || len(list) != 1 {
			t.Fatal(c.dtype, err)
		}
		got := make([]float32, len(c.want))
		if err := list[0].Floats(got); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v (%v), expected %v", c.dtype, got, err, c.want)
		}
	}
}
