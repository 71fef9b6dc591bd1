package ir

import (
	"math"
	"math/big"
	"testing"

	"polygrad/core/uop"
)

func TestKinds(t *testing.T) {
	for dt, k := range KindOf {
		if k.Size() != int64(dt.Itemsize()) || k.Float() != dt.IsFloat() || k.Wide() != (dt.Itemsize() == 8) {
			t.Errorf("%s: size %d, float %v, wide %v", k, k.Size(), k.Float(), k.Wide())
		}
		if want := !dt.IsFloat() && !dt.IsUnsigned() && !dt.IsBool(); k.Signed() != want {
			t.Errorf("%s: signed %v, expected %v", k, k.Signed(), want)
		}
		if r := k.Register(); r.Register() != r || r.Float() != k.Float() || k.Width() != 0 && r.Size() != k.Width() {
			t.Errorf("%s has registers of %s, and a width of %d", k, r, k.Width())
		}
	}
}

func TestBits(t *testing.T) {
	large := uop.BigInt(new(big.Int).Lsh(big.NewInt(-3), 62))
	for _, c := range []struct {
		k    Kind
		v    uop.Const
		bits uint64
	}{
		{Bool, uop.Int(7), 1}, {Bool, uop.Float(0), 0},
		{I8, uop.Int(200), 0xFFFFFFC8}, {U8, uop.Int(-1), 0xFF}, {I16, uop.Int(-1), 0xFFFFFFFF}, {U16, uop.Int(1 << 16), 0},
		{I32, uop.Int(-1), 0xFFFFFFFF}, {U32, uop.Int(-1), 0xFFFFFFFF}, {I64, uop.Int(-1), math.MaxUint64}, {I64, large, 1 << 62},
		{I32, uop.Float(-3.7), 0xFFFFFFFD}, {F32, uop.Int(1), 0x3F800000}, {F64, uop.Int(1), 0x3FF0000000000000},
		{F16, uop.Float(1.0001), 0x3F800000}, {BF16, uop.Float(1.001), 0x3F800000}, {E4M3, uop.Float(1.01), 0x3F800000},
		{E5M2, uop.Float(1.01), 0x3F800000},
	} {
		if got := c.k.Bits(c.v); got != c.bits {
			t.Errorf("%s as %s is %#x, expected %#x", c.v, c.k, got, c.bits)
		}
	}
}
