package binary

// Op is an instruction. The high byte of a longer value is the prefix of its encoding, 0xFC for saturating conversions, 0xFD for SIMD; one
// byte follows, or two for numbers above 0xFF.
type Op uint32

// Control, parametric and variable instructions.
const (
	Unreachable Op = 0x00
	block       Op = 0x02
	loop        Op = 0x03
	ifOp        Op = 0x04
	elseOp      Op = 0x05
	end         Op = 0x0B
	br          Op = 0x0C
	brIf        Op = 0x0D
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
	I32Load    Op = 0x28
	I64Load    Op = 0x29
	F32Load    Op = 0x2A
	F64Load    Op = 0x2B
	I32Load8S  Op = 0x2C
	I32Load8U  Op = 0x2D
	I32Load16S Op = 0x2E
	I32Load16U Op = 0x2F
	I32Store   Op = 0x36
	I64Store   Op = 0x37
	F32Store   Op = 0x38
	F64Store   Op = 0x39
	I32Store8  Op = 0x3A
	I32Store16 Op = 0x3B
	I64Store32 Op = 0x3E
)

// Scalar comparisons.
const (
	I32Eqz Op = 0x45
	I32Eq  Op = 0x46
	I32Ne  Op = 0x47
	I32LtS Op = 0x48
	I32LtU Op = 0x49
	I32GtS Op = 0x4A
	I32GtU Op = 0x4B
	I32LeS Op = 0x4C
	I32LeU Op = 0x4D
	I32GeS Op = 0x4E
	I64Eq  Op = 0x51
	I64Ne  Op = 0x52
	I64LtS Op = 0x53
	I64LtU Op = 0x54
	I64GtS Op = 0x55
	I64LeS Op = 0x57
	I64LeU Op = 0x58
	I64GeS Op = 0x59
	F32Eq  Op = 0x5B
	F32Ne  Op = 0x5C
	F32Lt  Op = 0x5D
	F32Le  Op = 0x5F
	F64Eq  Op = 0x61
	F64Ne  Op = 0x62
	F64Lt  Op = 0x63
	F64Le  Op = 0x65
)

// Scalar arithmetic.
const (
	I32Popcnt  Op = 0x69
	I32Add     Op = 0x6A
	I32Sub     Op = 0x6B
	I32Mul     Op = 0x6C
	I32DivS    Op = 0x6D
	I32DivU    Op = 0x6E
	I32RemS    Op = 0x6F
	I32RemU    Op = 0x70
	I32And     Op = 0x71
	I32Or      Op = 0x72
	I32Xor     Op = 0x73
	I32Shl     Op = 0x74
	I32ShrS    Op = 0x75
	I32ShrU    Op = 0x76
	I64Add     Op = 0x7C
	I64Sub     Op = 0x7D
	I64Mul     Op = 0x7E
	I64DivS    Op = 0x7F
	I64DivU    Op = 0x80
	I64RemS    Op = 0x81
	I64RemU    Op = 0x82
	I64And     Op = 0x83
	I64Or      Op = 0x84
	I64Xor     Op = 0x85
	I64Shl     Op = 0x86
	I64ShrS    Op = 0x87
	I64ShrU    Op = 0x88
	F32Abs     Op = 0x8B
	F32Neg     Op = 0x8C
	F32Floor   Op = 0x8E
	F32Trunc   Op = 0x8F
	F32Nearest Op = 0x90
	F32Sqrt    Op = 0x91
	F32Add     Op = 0x92
	F32Sub     Op = 0x93
	F32Mul     Op = 0x94
	F32Div     Op = 0x95
	F64Abs     Op = 0x99
	F64Neg     Op = 0x9A
	F64Floor   Op = 0x9C
	F64Trunc   Op = 0x9D
	F64Nearest Op = 0x9E
	F64Sqrt    Op = 0x9F
	F64Add     Op = 0xA0
	F64Sub     Op = 0xA1
	F64Mul     Op = 0xA2
	F64Div     Op = 0xA3
)

// Scalar conversions.
const (
	I32WrapI64        Op = 0xA7
	I64ExtendI32S     Op = 0xAC
	I64ExtendI32U     Op = 0xAD
	F32ConvertI32S    Op = 0xB2
	F32ConvertI32U    Op = 0xB3
	F32ConvertI64S    Op = 0xB4
	F32ConvertI64U    Op = 0xB5
	F32DemoteF64      Op = 0xB6
	F64ConvertI32S    Op = 0xB7
	F64ConvertI32U    Op = 0xB8
	F64ConvertI64S    Op = 0xB9
	F64ConvertI64U    Op = 0xBA
	F64PromoteF32     Op = 0xBB
	I32ReinterpretF32 Op = 0xBC
	I64ReinterpretF64 Op = 0xBD
	F32ReinterpretI32 Op = 0xBE
	F64ReinterpretI64 Op = 0xBF
)

// Conversions that saturate instead of trapping.
const (
	I32TruncSatF32S Op = 0xFC00
	I32TruncSatF64S Op = 0xFC02
	I64TruncSatF32S Op = 0xFC04
	I64TruncSatF64S Op = 0xFC06
)

const memoryCopy Op = 0xFC0A

// SIMD memory, shuffles, splats and lanes.
const (
	V128Load          Op = 0xFD00
	V128Load16x4S     Op = 0xFD03
	V128Load16x4U     Op = 0xFD04
	V128Load16Splat   Op = 0xFD08
	V128Load32Splat   Op = 0xFD09
	V128Load64Splat   Op = 0xFD0A
	V128Store         Op = 0xFD0B
	v128Const         Op = 0xFD0C
	i8x16Shuffle      Op = 0xFD0D
	I8x16Swizzle      Op = 0xFD0E
	I32x4Splat        Op = 0xFD11
	I64x2Splat        Op = 0xFD12
	F32x4Splat        Op = 0xFD13
	F64x2Splat        Op = 0xFD14
	I8x16ExtractLaneS Op = 0xFD15
	I32x4ExtractLane  Op = 0xFD1B
	I32x4ReplaceLane  Op = 0xFD1C
	I64x2ExtractLane  Op = 0xFD1D
	I64x2ReplaceLane  Op = 0xFD1E
	F32x4ExtractLane  Op = 0xFD1F
	F32x4ReplaceLane  Op = 0xFD20
	F64x2ExtractLane  Op = 0xFD21
	F64x2ReplaceLane  Op = 0xFD22
)

// SIMD comparisons and bit operations.
const (
	I32x4Eq              Op = 0xFD37
	I32x4Ne              Op = 0xFD38
	I32x4LtS             Op = 0xFD39
	I32x4LtU             Op = 0xFD3A
	I32x4LeS             Op = 0xFD3D
	I32x4LeU             Op = 0xFD3E
	F32x4Eq              Op = 0xFD41
	F32x4Ne              Op = 0xFD42
	F32x4Lt              Op = 0xFD43
	F32x4Le              Op = 0xFD45
	F64x2Eq              Op = 0xFD47
	F64x2Ne              Op = 0xFD48
	F64x2Lt              Op = 0xFD49
	F64x2Le              Op = 0xFD4B
	V128Not              Op = 0xFD4D
	V128And              Op = 0xFD4E
	V128AndNot           Op = 0xFD4F
	V128Or               Op = 0xFD50
	V128Xor              Op = 0xFD51
	V128Bitselect        Op = 0xFD52
	V128AnyTrue          Op = 0xFD53
	V128Load8Lane        Op = 0xFD54
	V128Load32Lane       Op = 0xFD56
	V128Load64Lane       Op = 0xFD57
	V128Store16Lane      Op = 0xFD59
	V128Store32Lane      Op = 0xFD5A
	V128Store64Lane      Op = 0xFD5B
	V128Load32Zero       Op = 0xFD5C
	V128Load64Zero       Op = 0xFD5D
	F32x4DemoteF64x2Zero Op = 0xFD5E
	F64x2PromoteLowF32x4 Op = 0xFD5F
)

// SIMD integer arithmetic on bytes and halves.
const (
	I8x16NarrowI16x8S Op = 0xFD65
	I8x16NarrowI16x8U Op = 0xFD66
	F32x4Floor        Op = 0xFD68
	F32x4Trunc        Op = 0xFD69
	F32x4Nearest      Op = 0xFD6A
	F64x2Floor        Op = 0xFD75
	F64x2Trunc        Op = 0xFD7A
	I16x8NarrowI32x4S Op = 0xFD85
	I16x8NarrowI32x4U Op = 0xFD86
	I16x8ExtendLowS   Op = 0xFD87
	I16x8ExtendLowU   Op = 0xFD89
	F64x2Nearest      Op = 0xFD94
)

// SIMD arithmetic on words, doublewords and floats.
const (
	I32x4Abs             Op = 0xFDA0
	I32x4Neg             Op = 0xFDA1
	I32x4Bitmask         Op = 0xFDA4
	I32x4ExtendLowS      Op = 0xFDA7
	I32x4ExtendLowU      Op = 0xFDA9
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
	I64x2Abs             Op = 0xFDC0
	I64x2Neg             Op = 0xFDC1
	I64x2Bitmask         Op = 0xFDC4
	I64x2ExtendLowS      Op = 0xFDC7
	I64x2ExtendLowU      Op = 0xFDC9
	I64x2Shl             Op = 0xFDCB
	I64x2ShrS            Op = 0xFDCC
	I64x2ShrU            Op = 0xFDCD
	I64x2Add             Op = 0xFDCE
	I64x2Sub             Op = 0xFDD1
	I64x2Mul             Op = 0xFDD5
	I64x2Eq              Op = 0xFDD6
	I64x2Ne              Op = 0xFDD7
	I64x2LtS             Op = 0xFDD8
	I64x2LeS             Op = 0xFDDA
	F32x4Abs             Op = 0xFDE0
	F32x4Neg             Op = 0xFDE1
	F32x4Sqrt            Op = 0xFDE3
	F32x4Add             Op = 0xFDE4
	F32x4Sub             Op = 0xFDE5
	F32x4Mul             Op = 0xFDE6
	F32x4Div             Op = 0xFDE7
	F32x4PMin            Op = 0xFDEA
	F32x4PMax            Op = 0xFDEB
	F64x2Abs             Op = 0xFDEC
	F64x2Neg             Op = 0xFDED
	F64x2Sqrt            Op = 0xFDEF
	F64x2Add             Op = 0xFDF0
	F64x2Sub             Op = 0xFDF1
	F64x2Mul             Op = 0xFDF2
	F64x2Div             Op = 0xFDF3
	F64x2PMin            Op = 0xFDF6
	F64x2PMax            Op = 0xFDF7
	I32x4TruncSatF32x4S  Op = 0xFDF8
	F32x4ConvertI32x4S   Op = 0xFDFA
	F32x4ConvertI32x4U   Op = 0xFDFB
	I32x4TruncSatF64x2SZ Op = 0xFDFC
	F64x2ConvertLowI32S  Op = 0xFDFE
	F64x2ConvertLowI32U  Op = 0xFDFF
)

// Relaxed SIMD: engines may round a product before it is added, or not.
const (
	F32x4RelaxedMadd  Op = 0xFD0105
	F32x4RelaxedNmadd Op = 0xFD0106
	F64x2RelaxedMadd  Op = 0xFD0107
	F64x2RelaxedNmadd Op = 0xFD0108
)
