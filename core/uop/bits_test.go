package uop

import (
	"math"
	"testing"
)

func TestBits(t *testing.T) {
	for _, c := range []struct {
		d    *DType
		v    Const
		bits uint64
	}{
		{Float64, Float(-2), 0xC000000000000000},
		{Float32, Float(1), 0x3F800000},
		{Float16, Float(1), 0x3C00},
		{BFloat16, Float(1), 0x3F80},
		{FP8E5M2, Float(1), 0x3C},
		{FP8E4M3, Float(1), 0x38},
		{Bool, BoolConst(true), 1},
		{Int8, Int(-1), 0xFF},
		{Uint8, Int(200), 200},
		{Int32, Int(math.MinInt32), 0x80000000},
		{Int64, Int(-1), math.MaxUint64},
		{Uint64, Uint(math.MaxUint64), math.MaxUint64},
	} {
		if got := c.v.Bits(c.d); got != c.bits {
			t.Errorf("%s %s is %#x, expected %#x", c.d, c.v, got, c.bits)
		}
		if got := FromBits(c.d, c.bits); !got.Same(c.v) {
			t.Errorf("%#x as %s is %s, expected %s", c.bits, c.d, got, c.v)
		}
	}
	for _, c := range []struct {
		d    *DType
		v    Const
		bits uint64
	}{{Uint8, Int(-1), 255}, {Int16, Int(1 << 20), 0}, {Uint32, Uint(math.MaxUint64), math.MaxUint32}, {Bool, Int(7), 1}, {Int32, Float(-3.7), 0xFFFFFFFD}} {
		if got := c.v.Bits(c.d); got != c.bits {
			t.Errorf("%s as %s is %#x, expected %#x", c.v, c.d, got, c.bits)
		}
	}
}

// Conversions to float32 and back keep every code; a signaling NaN becomes the quiet one with the same payload.
func TestSmallFloatsKeepTheirBits(t *testing.T) {
	for code := range uint32(1 << 16) {
		want := uint16(code)
		if want&0x7fff > 0x7c00 {
			want |= 0x200
		}
		if got := FloatToHalf(float64(HalfToFloat(uint16(code)))); got != want {
			t.Fatalf("half %#x becomes %#x", code, got)
		}
		want = uint16(code)
		if want&0x7fff > 0x7f80 {
			want |= 0x40
		}
		if got := FloatToBF16(float64(BF16ToFloat(uint16(code)))); got != want {
			t.Fatalf("bfloat16 %#x becomes %#x", code, got)
		}
	}
	for code := range uint32(1 << 8) {
		want := uint8(code)
		if want&0x7f > 0x7c {
			want |= 2
		}
		if got := FloatToFP8(FP8E5M2, FP8ToFloat(FP8E5M2, uint8(code))); got != want {
			t.Fatalf("fp8 E5M2 %#x becomes %#x", code, got)
		}
	}
}
