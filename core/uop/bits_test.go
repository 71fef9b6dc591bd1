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
