package ir

import (
	"math"

	"polygrad/core/uop"
)

// Bits is the register content for a constant of kind k. Integers wrap.
func (k Kind) Bits(c uop.Const) uint64 {
	if k == Bool {
		if c.Truth() {
			return 1
		}
		return 0
	}
	if k.Float() {
		return k.FloatBits(c.F())
	}
	v, ok := c.As(uop.Int64).Int64()
	if !ok {
		v = int64(lowBits(c.As(uop.Int64)))
	}
	return k.Wrap(v)
}

// FloatBits is the register content for a number of the floating point kind k.
func (k Kind) FloatBits(f float64) uint64 {
	switch k {
	case F64:
		return math.Float64bits(f)
	case F16:
		f = float64(uop.HalfToFloat(uop.FloatToHalf(f)))
	case BF16:
		f = float64(uop.BF16ToFloat(uop.FloatToBF16(f)))
	case E4M3:
		f = uop.FP8ToFloat(uop.FP8E4M3, uop.FloatToFP8(uop.FP8E4M3, f))
	case E5M2:
		f = uop.FP8ToFloat(uop.FP8E5M2, uop.FloatToFP8(uop.FP8E5M2, f))
	}
	return uint64(math.Float32bits(float32(f)))
}

// lowBits is the low 64 bits of an integer of any size, in two's complement.
func lowBits(c uop.Const) uint64 {
	b := c.Big()
	var v uint64
	for i, w := range b.Bits() {
		if i == 0 {
			v = uint64(w)
		}
	}
	if b.Sign() < 0 {
		v = -v
	}
	return v
}

// Wrap truncates an integer to the kind and extends it to the width of its register.
func (k Kind) Wrap(v int64) uint64 {
	switch k {
	case Bool:
		return uint64(v & 1)
	case I8:
		return uint64(uint32(int8(v)))
	case U8:
		return uint64(uint8(v))
	case I16:
		return uint64(uint32(int16(v)))
	case U16:
		return uint64(uint16(v))
	case I32, U32:
		return uint64(uint32(v))
	}
	return uint64(v)
}
