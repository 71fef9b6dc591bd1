package ir

import "polygrad/core/uop"

// Kind is the type of a value or of elements in memory. Registers hold integers narrower than 32 bits extended to 32, and floats
// narrower than 32 bits as the F32 of equal value.
type Kind uint8

// The kinds, integers before floats.
const (
	Bool Kind = iota
	I8
	U8
	I16
	U16
	I32
	U32
	I64
	U64
	E4M3
	E5M2
	F16
	BF16
	F32
	F64
)

var kindNames = [...]string{"bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "e4m3", "e5m2", "f16", "bf16", "f32", "f64"}

// String is a short name: i32, bf16.
func (k Kind) String() string { return kindNames[k] }

// KindOf is the kind of each scalar data type.
var KindOf = map[*uop.DType]Kind{
	uop.Bool: Bool, uop.Int8: I8, uop.Uint8: U8, uop.Int16: I16, uop.Uint16: U16, uop.Int32: I32, uop.Uint32: U32, uop.Int64: I64,
	uop.Uint64: U64, uop.FP8E4M3: E4M3, uop.FP8E5M2: E5M2, uop.Float16: F16, uop.BFloat16: BF16, uop.Float32: F32, uop.Float64: F64,
}

// Float reports whether k is a floating point type.
func (k Kind) Float() bool { return k >= E4M3 }

// Signed reports whether k is a signed integer type.
func (k Kind) Signed() bool { return k == I8 || k == I16 || k == I32 || k == I64 }

// Wide reports whether a value fills 64 bits.
func (k Kind) Wide() bool { return k == I64 || k == U64 || k == F64 }

// Size is the number of bytes in memory.
func (k Kind) Size() int64 { return [...]int64{1, 1, 1, 2, 2, 4, 4, 8, 8, 1, 1, 2, 2, 4, 8}[k] }

// Width is the number of bytes of an element in a register, 0 for Bool: its representation is the renderer's.
func (k Kind) Width() int64 {
	if k == Bool {
		return 0
	}
	return max(k.Size(), 4)
}

// Register is the kind of the register for values of k: I32, U32, F32 for narrower kinds, k itself for the others.
func (k Kind) Register() Kind {
	switch k {
	case I8, I16:
		return I32
	case U8, U16:
		return U32
	case E4M3, E5M2, F16, BF16:
		return F32
	}
	return k
}

// ConstInt is the value of an integer constant.
func ConstInt(v *Value) int64 {
	if v.Kind == I64 || v.Kind == U64 || v.Kind == U32 {
		return int64(v.Bits)
	}
	return int64(int32(v.Bits))
}
