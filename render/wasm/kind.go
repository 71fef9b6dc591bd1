package wasm

import (
	"polygrad/core/kinds"
	"polygrad/render/wasm/binary"
)

// kind is the element type of a value.
type kind = kinds.Kind

const (
	kBool = kinds.Bool
	kI8   = kinds.I8
	kU8   = kinds.U8
	kI16  = kinds.I16
	kU16  = kinds.U16
	kI32  = kinds.I32
	kU32  = kinds.U32
	kI64  = kinds.I64
	kU64  = kinds.U64
	kE4M3 = kinds.E4M3
	kE5M2 = kinds.E5M2
	kF16  = kinds.F16
	kBF16 = kinds.BF16
	kF32  = kinds.F32
	kF64  = kinds.F64
)

// lanesOf is the number of values of a kind in a vector register.
func lanesOf(k kind) int {
	if k.Wide() {
		return 2
	}
	return 4
}

// typeOf is the type of a scalar of a kind in WebAssembly.
func typeOf(k kind) binary.ValType {
	switch {
	case k == kF64:
		return binary.F64
	case k.Wide():
		return binary.I64
	case k.Float():
		return binary.F32
	}
	return binary.I32
}
