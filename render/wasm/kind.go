package wasm

import (
	"math"

	"polygrad/core/uop"
	"polygrad/render/wasm/binary"
)

// kind is the element type of a value. Integers narrower than 32 bits live
// extended in 32, floats narrower than 32 bits as the float32 of equal value.
type kind uint8

const (
	kBool kind = iota
	kI8
	kU8
	kI16
	kU16
	kI32
	kU32
	kI64
	kU64
	kE4M3
	kE5M2
	kF16
	kBF16
	kF32
	kF64
)

var kinds = map[*uop.DType]kind{
	uop.Bool: kBool, uop.Int8: kI8, uop.Uint8: kU8, uop.Int16: kI16, uop.Uint16: kU16, uop.Int32: kI32, uop.Uint32: kU32,
	uop.Int64: kI64, uop.Uint64: kU64, uop.FP8E4M3: kE4M3, uop.FP8E5M2: kE5M2, uop.Float16: kF16, uop.BFloat16: kBF16,
	uop.Float32: kF32, uop.Float64: kF64,
}

func (k kind) float() bool { return k >= kE4M3 }

// wide reports whether a value fills 64 bits.
func (k kind) wide() bool { return k == kI64 || k == kU64 || k == kF64 }

func (k kind) signed() bool { return k == kI8 || k == kI16 || k == kI32 || k == kI64 }

// size is the number of bytes in memory.
func (k kind) size() int64 {
	return [...]int64{1, 1, 1, 2, 2, 4, 4, 8, 8, 1, 1, 2, 2, 4, 8}[k]
}

// lanes is the number of values in a vector register.
func (k kind) lanes() int {
	if k.wide() {
		return 2
	}
	return 4
}

// typ is the type of a scalar of this kind in WebAssembly.
func (k kind) typ() binary.ValType {
	switch {
	case k == kF64:
		return binary.F64
	case k.wide():
		return binary.I64
	case k.float():
		return binary.F32
	}
	return binary.I32
}

// bitsOf is a constant as the register of its kind holds it. Integers wrap.
func bitsOf(k kind, c uop.Const) uint64 {
	if k == kBool {
		if c.Truth() {
			return 1
		}
		return 0
	}
	if k.float() {
		f := c.F()
		switch k {
		case kF64:
			return math.Float64bits(f)
		case kF16:
			f = float64(uop.HalfToFloat(uop.FloatToHalf(f)))
		case kBF16:
			f = float64(uop.BF16ToFloat(uop.FloatToBF16(f)))
		case kE4M3:
			f = uop.FP8ToFloat(uop.FP8E4M3, uop.FloatToFP8(uop.FP8E4M3, f))
		case kE5M2:
			f = uop.FP8ToFloat(uop.FP8E5M2, uop.FloatToFP8(uop.FP8E5M2, f))
		}
		return uint64(math.Float32bits(float32(f)))
	}
	v, ok := c.As(uop.Int64).Int64()
	if !ok {
		v = int64(lowBits(c.As(uop.Int64)))
	}
	return wrapInt(k, v)
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

// wrapInt truncates an integer to its kind and extends it again.
func wrapInt(k kind, v int64) uint64 {
	switch k {
	case kI8:
		return uint64(uint32(int8(v)))
	case kU8:
		return uint64(uint8(v))
	case kI16:
		return uint64(uint32(int16(v)))
	case kU16:
		return uint64(uint16(v))
	case kI32, kU32:
		return uint64(uint32(v))
	}
	return uint64(v)
}
