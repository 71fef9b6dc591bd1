package binary

// Op is an instruction. The high byte of a two-byte value is the prefix of its
// encoding: 0xFC for saturating conversions, 0xFD for SIMD.
type Op uint16

// Control, parametric and variable instructions.
const (
	Unreachable Op = 0x00
	Nop         Op = 0x01
	block       Op = 0x02
	loop        Op = 0x03
	ifOp        Op = 0x04
	elseOp      Op = 0x05
	end         Op = 0x0B
	br          Op = 0x0C
	brIf        Op = 0x0D
	Return      Op = 0x0F
	call        Op = 0x10
	Drop        Op = 0x1A
	Select      Op = 0x1B
	localGet    Op = 0x20
	localSet    Op = 0x21
	localTee    Op = 0x22
	i32Const    Op = 0x41
	i64Const    Op = 0x42
	f32Const    Op = 0x43
	f64Const    Op = 0x44
)

// Scalar memory instructions.
const (
	I32Load Op = 0x28 + iota
	I64Load
	F32Load
	F64Load
	I32Load8S
	I32Load8U
	I32Load16S
	I32Load16U
	I64Load8S
	I64Load8U
	I64Load16S
	I64Load16U
	I64Load32S
	I64Load32U
	I32Store
	I64Store
	F32Store
	F64Store
	I32Store8
	I32Store16
	I64Store8
	I64Store16
	I64Store32
)

// Scalar comparisons.
const (
	I32Eqz Op = 0x45 + iota
	I32Eq
	I32Ne
	I32LtS
	I32LtU
	I32GtS
	I32GtU
	I32LeS
	I32LeU
	I32GeS
	I32GeU
	I64Eqz
	I64Eq
	I64Ne
	I64LtS
	I64LtU
	I64GtS
	I64GtU
	I64LeS
	I64LeU
	I64GeS
	I64GeU
	F32Eq
	F32Ne
	F32Lt
	F32Gt
	F32Le
	F32Ge
	F64Eq
	F64Ne
	F64Lt
	F64Gt
	F64Le
	F64Ge
)

// Scalar arithmetic.
const (
	I32Clz Op = 0x67 + iota
	I32Ctz
	I32Popcnt
	I32Add
	I32Sub
	I32Mul
	I32DivS
	I32DivU
	I32RemS
	I32RemU
	I32And
	I32Or
	I32Xor
	I32Shl
	I32ShrS
	I32ShrU
	I32Rotl
	I32Rotr
	I64Clz
	I64Ctz
	I64Popcnt
	I64Add
	I64Sub
	I64Mul
	I64DivS
	I64DivU
	I64RemS
	I64RemU
	I64And
	I64Or
	I64Xor
	I64Shl
	I64ShrS
	I64ShrU
	I64Rotl
	I64Rotr
	F32Abs
	F32Neg
	F32Ceil
	F32Floor
	F32Trunc
	F32Nearest
	F32Sqrt
	F32Add
	F32Sub
	F32Mul
	F32Div
	F32Min
	F32Max
	F32Copysign
	F64Abs
	F64Neg
	F64Ceil
	F64Floor
	F64Trunc
	F64Nearest
	F64Sqrt
	F64Add
	F64Sub
	F64Mul
	F64Div
	F64Min
	F64Max
	F64Copysign
)

// Scalar conversions.
const (
	I32WrapI64 Op = 0xA7 + iota
	I32TruncF32S
	I32TruncF32U
	I32TruncF64S
	I32TruncF64U
	I64ExtendI32S
	I64ExtendI32U
	I64TruncF32S
	I64TruncF32U
	I64TruncF64S
	I64TruncF64U
	F32ConvertI32S
	F32ConvertI32U
	F32ConvertI64S
	F32ConvertI64U
	F32DemoteF64
	F64ConvertI32S
	F64ConvertI32U
	F64ConvertI64S
	F64ConvertI64U
	F64PromoteF32
	I32ReinterpretF32
	I64ReinterpretF64
	F32ReinterpretI32
	F64ReinterpretI64
	I32Extend8S
	I32Extend16S
	I64Extend8S
	I64Extend16S
	I64Extend32S
)

// Conversions that saturate instead of trapping.
const (
	I32TruncSatF32S Op = 0xFC00 + iota
	I32TruncSatF32U
	I32TruncSatF64S
	I32TruncSatF64U
	I64TruncSatF32S
	I64TruncSatF32U
	I64TruncSatF64S
	I64TruncSatF64U
)

const memoryCopy Op = 0xFC0A

// SIMD memory, shuffles, splats and lanes.
const (
	V128Load Op = 0xFD00 + iota
	V128Load8x8S
	V128Load8x8U
	V128Load16x4S
	V128Load16x4U
	V128Load32x2S
	V128Load32x2U
	V128Load8Splat
	V128Load16Splat
	V128Load32Splat
	V128Load64Splat
	V128Store
	v128Const
	i8x16Shuffle
	I8x16Swizzle
	I8x16Splat
	I16x8Splat
	I32x4Splat
	I64x2Splat
	F32x4Splat
	F64x2Splat
	I8x16ExtractLaneS
	I8x16ExtractLaneU
	I8x16ReplaceLane
	I16x8ExtractLaneS
	I16x8ExtractLaneU
	I16x8ReplaceLane
	I32x4ExtractLane
	I32x4ReplaceLane
	I64x2ExtractLane
	I64x2ReplaceLane
	F32x4ExtractLane
	F32x4ReplaceLane
	F64x2ExtractLane
	F64x2ReplaceLane
)

// SIMD comparisons and bit operations.
const (
	I8x16Eq Op = 0xFD23 + iota
	I8x16Ne
	I8x16LtS
	I8x16LtU
	I8x16GtS
	I8x16GtU
	I8x16LeS
	I8x16LeU
	I8x16GeS
	I8x16GeU
	I16x8Eq
	I16x8Ne
	I16x8LtS
	I16x8LtU
	I16x8GtS
	I16x8GtU
	I16x8LeS
	I16x8LeU
	I16x8GeS
	I16x8GeU
	I32x4Eq
	I32x4Ne
	I32x4LtS
	I32x4LtU
	I32x4GtS
	I32x4GtU
	I32x4LeS
	I32x4LeU
	I32x4GeS
	I32x4GeU
	F32x4Eq
	F32x4Ne
	F32x4Lt
	F32x4Gt
	F32x4Le
	F32x4Ge
	F64x2Eq
	F64x2Ne
	F64x2Lt
	F64x2Gt
	F64x2Le
	F64x2Ge
	V128Not
	V128And
	V128AndNot
	V128Or
	V128Xor
	V128Bitselect
	V128AnyTrue
	V128Load8Lane
	V128Load16Lane
	V128Load32Lane
	V128Load64Lane
	V128Store8Lane
	V128Store16Lane
	V128Store32Lane
	V128Store64Lane
	V128Load32Zero
	V128Load64Zero
	F32x4DemoteF64x2Zero
	F64x2PromoteLowF32x4
)

// SIMD integer arithmetic on bytes and halves.
const (
	I8x16Abs          Op = 0xFD60
	I8x16Neg          Op = 0xFD61
	I8x16Popcnt       Op = 0xFD62
	I8x16AllTrue      Op = 0xFD63
	I8x16Bitmask      Op = 0xFD64
	I8x16NarrowI16x8S Op = 0xFD65
	I8x16NarrowI16x8U Op = 0xFD66
	F32x4Ceil         Op = 0xFD67
	F32x4Floor        Op = 0xFD68
	F32x4Trunc        Op = 0xFD69
	F32x4Nearest      Op = 0xFD6A
	I8x16Shl          Op = 0xFD6B
	I8x16ShrS         Op = 0xFD6C
	I8x16ShrU         Op = 0xFD6D
	I8x16Add          Op = 0xFD6E
	I8x16Sub          Op = 0xFD71
	F64x2Ceil         Op = 0xFD74
	F64x2Floor        Op = 0xFD75
	I8x16MinS         Op = 0xFD76
	I8x16MinU         Op = 0xFD77
	I8x16MaxS         Op = 0xFD78
	I8x16MaxU         Op = 0xFD79
	F64x2Trunc        Op = 0xFD7A
	I16x8Abs          Op = 0xFD80
	I16x8Neg          Op = 0xFD81
	I16x8AllTrue      Op = 0xFD83
	I16x8Bitmask      Op = 0xFD84
	I16x8NarrowI32x4S Op = 0xFD85
	I16x8NarrowI32x4U Op = 0xFD86
	I16x8ExtendLowS   Op = 0xFD87
	I16x8ExtendHighS  Op = 0xFD88
	I16x8ExtendLowU   Op = 0xFD89
	I16x8ExtendHighU  Op = 0xFD8A
	I16x8Shl          Op = 0xFD8B
	I16x8ShrS         Op = 0xFD8C
	I16x8ShrU         Op = 0xFD8D
	I16x8Add          Op = 0xFD8E
	I16x8Sub          Op = 0xFD91
	F64x2Nearest      Op = 0xFD94
	I16x8Mul          Op = 0xFD95
	I16x8MinS         Op = 0xFD96
	I16x8MinU         Op = 0xFD97
	I16x8MaxS         Op = 0xFD98
	I16x8MaxU         Op = 0xFD99
)

// SIMD arithmetic on words, doublewords and floats.
const (
	I32x4Abs             Op = 0xFDA0
	I32x4Neg             Op = 0xFDA1
	I32x4AllTrue         Op = 0xFDA3
	I32x4Bitmask         Op = 0xFDA4
	I32x4ExtendLowS      Op = 0xFDA7
	I32x4ExtendHighS     Op = 0xFDA8
	I32x4ExtendLowU      Op = 0xFDA9
	I32x4ExtendHighU     Op = 0xFDAA
	I32x4Shl             Op = 0xFDAB
	I32x4ShrS            Op = 0xFDAC
	I32x4ShrU            Op = 0xFDAD
	I32x4Add             Op = 0xFDAE
	I32x4Sub             Op = 0xFDB1
	I32x4Mul             Op = 0xFDB5
	I32x4MinS            Op = 0xFDB6
	I32x4MinU            Op = 0xFDB7
	I32x4MaxS            Op = 0xFDB8
	I32x4MaxU            Op = 0xFDB9
	I32x4DotI16x8S       Op = 0xFDBA
	I64x2Abs             Op = 0xFDC0
	I64x2Neg             Op = 0xFDC1
	I64x2AllTrue         Op = 0xFDC3
	I64x2Bitmask         Op = 0xFDC4
	I64x2ExtendLowS      Op = 0xFDC7
	I64x2ExtendHighS     Op = 0xFDC8
	I64x2ExtendLowU      Op = 0xFDC9
	I64x2ExtendHighU     Op = 0xFDCA
	I64x2Shl             Op = 0xFDCB
	I64x2ShrS            Op = 0xFDCC
	I64x2ShrU            Op = 0xFDCD
	I64x2Add             Op = 0xFDCE
	I64x2Sub             Op = 0xFDD1
	I64x2Mul             Op = 0xFDD5
	I64x2Eq              Op = 0xFDD6
	I64x2Ne              Op = 0xFDD7
	I64x2LtS             Op = 0xFDD8
	I64x2GtS             Op = 0xFDD9
	I64x2LeS             Op = 0xFDDA
	I64x2GeS             Op = 0xFDDB
	F32x4Abs             Op = 0xFDE0
	F32x4Neg             Op = 0xFDE1
	F32x4Sqrt            Op = 0xFDE3
	F32x4Add             Op = 0xFDE4
	F32x4Sub             Op = 0xFDE5
	F32x4Mul             Op = 0xFDE6
	F32x4Div             Op = 0xFDE7
	F32x4Min             Op = 0xFDE8
	F32x4Max             Op = 0xFDE9
	F32x4PMin            Op = 0xFDEA
	F32x4PMax            Op = 0xFDEB
	F64x2Abs             Op = 0xFDEC
	F64x2Neg             Op = 0xFDED
	F64x2Sqrt            Op = 0xFDEF
	F64x2Add             Op = 0xFDF0
	F64x2Sub             Op = 0xFDF1
	F64x2Mul             Op = 0xFDF2
	F64x2Div             Op = 0xFDF3
	F64x2Min             Op = 0xFDF4
	F64x2Max             Op = 0xFDF5
	F64x2PMin            Op = 0xFDF6
	F64x2PMax            Op = 0xFDF7
	I32x4TruncSatF32x4S  Op = 0xFDF8
	I32x4TruncSatF32x4U  Op = 0xFDF9
	F32x4ConvertI32x4S   Op = 0xFDFA
	F32x4ConvertI32x4U   Op = 0xFDFB
	I32x4TruncSatF64x2SZ Op = 0xFDFC
	I32x4TruncSatF64x2UZ Op = 0xFDFD
	F64x2ConvertLowI32S  Op = 0xFDFE
	F64x2ConvertLowI32U  Op = 0xFDFF
)
