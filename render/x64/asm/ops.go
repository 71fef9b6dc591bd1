package asm

// Op is an operation: a row of the table of instructions. Its name is Intel's mnemonic, but for those whose operands
// the mnemonic leaves open:
//
//   - MOV8 and MOV16 store the low bits of Src[0], or Imm, at Mem; MOVZX8, MOVZX16, MOVSX8 and MOVSX16 read 8 or 16 bits.
//   - IMUL is the form of two operands, IMULI = Src[0] (or Mem) times Imm, IMUL1 (like MUL, DIV and IDIV) the one on
//     RAX and RDX, whose only operand is Src[0].
//   - MULX writes the high half to Dst (RDX times Src[0]), nothing elsewhere.
//   - SETcc writes the low byte of Dst and leaves the others as they were; it does not count as reading Dst.
//
// An operand that a memory operand replaces is left out of Src: VADDPS of memory has Src[0] and Mem, VBLENDVPS
// has Src[0], Mem and Src[2], SHLX has Mem and Src[1]. CMP, TEST, VUCOMISS, VPTEST and others without a result have
// no Dst and their operands in Src. An instruction of general registers that has neither the last source nor Mem takes
// Imm. Stores have no Dst: the value is Src[0] (masked VEX stores: Src[0] the mask, Src[1] the value).
// Gathers in VEX form have their vector mask in Src[0], in EVEX form their mask register in Mask; both are cleared.
//
// Size is that of the widest vector operand (VPMOVDB, VCVTPD2PS, VEXTRACTF32X4: the source's, VPMOVZXBD: Dst's); with
// conversions between scalars and general registers it is that of the general register.
type Op uint16

const (
	// Pseudo-operations: LABEL marks the place Inst.To, ALIGN fills with no-operations up to a multiple of Imm. LOOP and
	// ENDLOOP are brackets around the loop number Imm, and MOVE copies the first Size bytes of a register of any class to
	// another of the same: the register allocator takes the three away.
	LABEL Op = iota + 1
	ALIGN
	LOOP
	ENDLOOP
	MOVE

	// General registers.
	MOV
	MOV8
	MOV16
	MOVZX8
	MOVZX16
	MOVSX8
	MOVSX16
	MOVSXD
	LEA
	ADD
	SUB
	AND
	OR
	XOR
	ADC
	SBB
	CMP
	TEST
	NOT
	NEG
	IMUL
	IMULI
	IMUL1
	MUL
	IDIV
	DIV
	CDQ
	CQO
	SHL
	SHR
	SAR
	ROL
	ROR
	SHLX
	SHRX
	SARX
	RORX
	MULX
	ANDN
	LZCNT
	TZCNT
	POPCNT
	BSWAP
	BT
	PUSH
	POP

	// Conditions, in the order of Cond.
	SETO
	SETNO
	SETB
	SETAE
	SETE
	SETNE
	SETBE
	SETA
	SETS
	SETNS
	SETP
	SETNP
	SETL
	SETGE
	SETLE
	SETG
	CMOVO
	CMOVNO
	CMOVB
	CMOVAE
	CMOVE
	CMOVNE
	CMOVBE
	CMOVA
	CMOVS
	CMOVNS
	CMOVP
	CMOVNP
	CMOVL
	CMOVGE
	CMOVLE
	CMOVG
	JO
	JNO
	JB
	JAE
	JE
	JNE
	JBE
	JA
	JS
	JNS
	JP
	JNP
	JL
	JGE
	JLE
	JG

	// Control.
	JMP
	CALL
	RET
	PREFETCHT0
	PREFETCHT1
	PREFETCHW
	SFENCE
	NOP
	PAUSE
	UD2

	// Floating point arithmetic.
	VADDPS
	VADDPD
	VADDSS
	VADDSD
	VSUBPS
	VSUBPD
	VSUBSS
	VSUBSD
	VMULPS
	VMULPD
	VMULSS
	VMULSD
	VDIVPS
	VDIVPD
	VDIVSS
	VDIVSD
	VMINPS
	VMINPD
	VMINSS
	VMINSD
	VMAXPS
	VMAXPD
	VMAXSS
	VMAXSD
	VSQRTPS
	VSQRTPD
	VSQRTSS
	VSQRTSD
	VFMADD132PS
	VFMADD132PD
	VFMADD132SS
	VFMADD132SD
	VFMADD213PS
	VFMADD213PD
	VFMADD213SS
	VFMADD213SD
	VFMADD231PS
	VFMADD231PD
	VFMADD231SS
	VFMADD231SD
	VFMSUB132PS
	VFMSUB132PD
	VFMSUB132SS
	VFMSUB132SD
	VFMSUB213PS
	VFMSUB213PD
	VFMSUB213SS
	VFMSUB213SD
	VFMSUB231PS
	VFMSUB231PD
	VFMSUB231SS
	VFMSUB231SD
	VFNMADD132PS
	VFNMADD132PD
	VFNMADD132SS
	VFNMADD132SD
	VFNMADD213PS
	VFNMADD213PD
	VFNMADD213SS
	VFNMADD213SD
	VFNMADD231PS
	VFNMADD231PD
	VFNMADD231SS
	VFNMADD231SD
	VFNMSUB132PS
	VFNMSUB132PD
	VFNMSUB132SS
	VFNMSUB132SD
	VFNMSUB213PS
	VFNMSUB213PD
	VFNMSUB213SS
	VFNMSUB213SD
	VFNMSUB231PS
	VFNMSUB231PD
	VFNMSUB231SS
	VFNMSUB231SD
	VANDPS
	VANDPD
	VANDNPS
	VANDNPD
	VORPS
	VORPD
	VXORPS
	VXORPD
	VCMPPS
	VCMPPD
	VCMPSS
	VCMPSD
	VUCOMISS
	VUCOMISD
	VROUNDPS
	VROUNDPD
	VROUNDSS
	VROUNDSD
	VRNDSCALEPS
	VRNDSCALEPD
	VRNDSCALESS
	VRNDSCALESD
	VSCALEFPS
	VSCALEFPD
	VSCALEFSS
	VSCALEFSD
	VGETEXPPS
	VGETEXPPD
	VGETMANTPS
	VGETMANTPD
	VRCP14PS
	VRCP14PD
	VRSQRT14PS
	VRSQRT14PD
	VRCPPS
	VRSQRTPS
	VREDUCEPS
	VREDUCEPD
	VRANGEPS
	VRANGEPD
	VHADDPS
	VHADDPD
	VADDPH
	VSUBPH
	VMULPH
	VDIVPH
	VMINPH
	VMAXPH
	VSQRTPH
	VFMADD132PH
	VFMADD213PH
	VFMADD231PH
	VFNMADD132PH
	VFNMADD213PH
	VFNMADD231PH

	// Moves of vectors.
	VMOVAPS
	VMOVUPS
	VMOVAPD
	VMOVUPD
	VMOVSS
	VMOVSD
	VMOVNTPS
	VMOVNTPD
	VMOVNTDQ
	VMOVDQA
	VMOVDQU
	VMOVDQA32
	VMOVDQA64
	VMOVDQU8
	VMOVDQU16
	VMOVDQU32
	VMOVDQU64
	VMOVD
	VMOVQ
	VMOVLPS
	VMOVHPS
	VMOVHLPS
	VMOVLHPS
	VMOVSHDUP
	VMOVSLDUP
	VMOVDDUP
	VMASKMOVPS
	VMASKMOVPD
	VPMASKMOVD
	VPMASKMOVQ
	VMOVMSKPS
	VMOVMSKPD
	VPMOVMSKB
	VLDDQU

	// Broadcasts, shuffles, permutations, blends.
	VBROADCASTSS
	VBROADCASTSD
	VBROADCASTF128
	VBROADCASTI128
	VBROADCASTF32X2
	VBROADCASTF32X4
	VBROADCASTF64X2
	VBROADCASTF32X8
	VBROADCASTF64X4
	VBROADCASTI32X2
	VBROADCASTI32X4
	VBROADCASTI64X2
	VBROADCASTI32X8
	VBROADCASTI64X4
	VPBROADCASTB
	VPBROADCASTW
	VPBROADCASTD
	VPBROADCASTQ
	VUNPCKLPS
	VUNPCKLPD
	VUNPCKHPS
	VUNPCKHPD
	VSHUFPS
	VSHUFPD
	VSHUFF32X4
	VSHUFF64X2
	VSHUFI32X4
	VSHUFI64X2
	VPERMPS
	VPERMPD
	VPERMD
	VPERMQ
	VPERMW
	VPERMB
	VPERMILPS
	VPERMILPD
	VPERMT2PS
	VPERMT2PD
	VPERMT2D
	VPERMT2Q
	VPERMT2W
	VPERMT2B
	VPERMI2PS
	VPERMI2PD
	VPERMI2D
	VPERMI2Q
	VPERMI2W
	VPERMI2B
	VPERM2F128
	VPERM2I128
	VINSERTF128
	VINSERTF32X4
	VINSERTF64X2
	VINSERTF32X8
	VINSERTF64X4
	VINSERTI128
	VINSERTI32X4
	VINSERTI64X2
	VINSERTI32X8
	VINSERTI64X4
	VEXTRACTF128
	VEXTRACTF32X4
	VEXTRACTF64X2
	VEXTRACTF32X8
	VEXTRACTF64X4
	VEXTRACTI128
	VEXTRACTI32X4
	VEXTRACTI64X2
	VEXTRACTI32X8
	VEXTRACTI64X4
	VINSERTPS
	VEXTRACTPS
	VPINSRB
	VPINSRW
	VPINSRD
	VPINSRQ
	VPEXTRB
	VPEXTRW
	VPEXTRD
	VPEXTRQ
	VBLENDPS
	VBLENDPD
	VPBLENDW
	VPBLENDD
	VBLENDVPS
	VBLENDVPD
	VPBLENDVB
	VBLENDMPS
	VBLENDMPD
	VPBLENDMB
	VPBLENDMW
	VPBLENDMD
	VPBLENDMQ
	VPCOMPRESSD
	VPCOMPRESSQ
	VPEXPANDD
	VPEXPANDQ
	VCOMPRESSPS
	VCOMPRESSPD
	VEXPANDPS
	VEXPANDPD

	// Gathers and scatters.
	VGATHERDPS
	VGATHERDPD
	VGATHERQPS
	VGATHERQPD
	VPGATHERDD
	VPGATHERDQ
	VPGATHERQD
	VPGATHERQQ
	VSCATTERDPS
	VSCATTERDPD
	VSCATTERQPS
	VSCATTERQPD
	VPSCATTERDD
	VPSCATTERDQ
	VPSCATTERQD
	VPSCATTERQQ

	// Conversions.
	VCVTDQ2PS
	VCVTDQ2PD
	VCVTUDQ2PS
	VCVTUDQ2PD
	VCVTQQ2PS
	VCVTQQ2PD
	VCVTUQQ2PS
	VCVTUQQ2PD
	VCVTPS2DQ
	VCVTPS2UDQ
	VCVTPS2QQ
	VCVTPS2UQQ
	VCVTTPS2DQ
	VCVTTPS2UDQ
	VCVTTPS2QQ
	VCVTTPS2UQQ
	VCVTPD2DQ
	VCVTPD2UDQ
	VCVTPD2QQ
	VCVTPD2UQQ
	VCVTTPD2DQ
	VCVTTPD2UDQ
	VCVTTPD2QQ
	VCVTTPD2UQQ
	VCVTPS2PD
	VCVTPD2PS
	VCVTSI2SS
	VCVTSI2SD
	VCVTUSI2SS
	VCVTUSI2SD
	VCVTTSS2SI
	VCVTTSS2USI
	VCVTTSD2SI
	VCVTTSD2USI
	VCVTSS2SI
	VCVTSS2USI
	VCVTSD2SI
	VCVTSD2USI
	VCVTSS2SD
	VCVTSD2SS
	VCVTPH2PS
	VCVTPS2PH
	VCVTNEPS2BF16
	VCVTNE2PS2BF16
	VDPBF16PS

	// Integer vectors.
	VPADDB
	VPADDW
	VPADDD
	VPADDQ
	VPSUBB
	VPSUBW
	VPSUBD
	VPSUBQ
	VPADDUSB
	VPADDUSW
	VPMULLW
	VPMULLD
	VPMULLQ
	VPMULHW
	VPMULHUW
	VPMULUDQ
	VPMULDQ
	VPAVGB
	VPAVGW
	VPSADBW
	VPAND
	VPANDN
	VPOR
	VPXOR
	VPANDD
	VPANDQ
	VPANDND
	VPANDNQ
	VPORD
	VPORQ
	VPXORD
	VPXORQ
	VPTERNLOGD
	VPTERNLOGQ
	VPSLLW
	VPSLLD
	VPSLLQ
	VPSRLW
	VPSRLD
	VPSRLQ
	VPSRAW
	VPSRAD
	VPSRAQ
	VPSLLDQ
	VPSRLDQ
	VPSLLVW
	VPSLLVD
	VPSLLVQ
	VPSRLVW
	VPSRLVD
	VPSRLVQ
	VPSRAVW
	VPSRAVD
	VPSRAVQ
	VPROLD
	VPROLQ
	VPRORD
	VPRORQ
	VPROLVD
	VPROLVQ
	VPRORVD
	VPRORVQ
	VPMINSB
	VPMINSW
	VPMINSD
	VPMINSQ
	VPMINUB
	VPMINUW
	VPMINUD
	VPMINUQ
	VPMAXSB
	VPMAXSW
	VPMAXSD
	VPMAXSQ
	VPMAXUB
	VPMAXUW
	VPMAXUD
	VPMAXUQ
	VPABSB
	VPABSW
	VPABSD
	VPABSQ
	VPCMPEQB
	VPCMPEQW
	VPCMPEQD
	VPCMPEQQ
	VPCMPGTB
	VPCMPGTW
	VPCMPGTD
	VPCMPGTQ
	VPCMPB
	VPCMPW
	VPCMPD
	VPCMPQ
	VPCMPUB
	VPCMPUW
	VPCMPUD
	VPCMPUQ
	VPTESTMB
	VPTESTMW
	VPTESTMD
	VPTESTMQ
	VPTESTNMMB
	VPTESTNMMW
	VPTESTNMMD
	VPTESTNMMQ
	VPTEST
	VPMOVZXBW
	VPMOVZXBD
	VPMOVZXBQ
	VPMOVZXWD
	VPMOVZXWQ
	VPMOVZXDQ
	VPMOVSXBW
	VPMOVSXBD
	VPMOVSXBQ
	VPMOVSXWD
	VPMOVSXWQ
	VPMOVSXDQ
	VPMOVWB
	VPMOVDB
	VPMOVDW
	VPMOVQB
	VPMOVQW
	VPMOVQD
	VPSHUFD
	VPSHUFB
	VPSHUFLW
	VPSHUFHW
	VPUNPCKLBW
	VPUNPCKLWD
	VPUNPCKLDQ
	VPUNPCKLQDQ
	VPUNPCKHBW
	VPUNPCKHWD
	VPUNPCKHDQ
	VPUNPCKHQDQ
	VPACKSSWB
	VPACKSSDW
	VPACKUSWB
	VPACKUSDW
	VPALIGNR
	VALIGND
	VALIGNQ
	VPMADDWD
	VPMADDUBSW
	VPDPBUSD
	VPDPWSSD
	VPLZCNTD
	VPLZCNTQ
	VPOPCNTD
	VPOPCNTQ
	VPMOVM2B
	VPMOVM2W
	VPMOVM2D
	VPMOVM2Q
	VPMOVB2M
	VPMOVW2M
	VPMOVD2M
	VPMOVQ2M
	VZEROUPPER
	VZEROALL

	// Masks.
	KMOVB
	KMOVW
	KMOVD
	KMOVQ
	KANDB
	KANDW
	KANDD
	KANDQ
	KANDNB
	KANDNW
	KANDND
	KANDNQ
	KORB
	KORW
	KORD
	KORQ
	KXORB
	KXORW
	KXORD
	KXORQ
	KXNORB
	KXNORW
	KXNORD
	KXNORQ
	KADDB
	KADDW
	KADDD
	KADDQ
	KNOTB
	KNOTW
	KNOTD
	KNOTQ
	KORTESTB
	KORTESTW
	KORTESTD
	KORTESTQ
	KTESTB
	KTESTW
	KTESTD
	KTESTQ
	KSHIFTLB
	KSHIFTLW
	KSHIFTLD
	KSHIFTLQ
	KSHIFTRB
	KSHIFTRW
	KSHIFTRD
	KSHIFTRQ
	KUNPCKBW
	KUNPCKWD
	KUNPCKDQ

	// Tiles.
	LDTILECFG
	STTILECFG
	TILERELEASE
	TILEZERO
	TILELOADD
	TILELOADDT1
	TILESTORED
	TDPBF16PS
	TDPFP16PS
	TDPBSSD
	TDPBSUD
	TDPBUSD
	TDPBUUD

	numOps
)

var names = [numOps]string{
	LABEL:           "label",
	ALIGN:           "align",
	LOOP:            "loop",
	ENDLOOP:         "endloop",
	MOVE:            "move",
	MOV:             "mov",
	MOV8:            "mov8",
	MOV16:           "mov16",
	MOVZX8:          "movzx8",
	MOVZX16:         "movzx16",
	MOVSX8:          "movsx8",
	MOVSX16:         "movsx16",
	MOVSXD:          "movsxd",
	LEA:             "lea",
	ADD:             "add",
	SUB:             "sub",
	AND:             "and",
	OR:              "or",
	XOR:             "xor",
	ADC:             "adc",
	SBB:             "sbb",
	CMP:             "cmp",
	TEST:            "test",
	NOT:             "not",
	NEG:             "neg",
	IMUL:            "imul",
	IMULI:           "imuli",
	IMUL1:           "imul1",
	MUL:             "mul",
	IDIV:            "idiv",
	DIV:             "div",
	CDQ:             "cdq",
	CQO:             "cqo",
	SHL:             "shl",
	SHR:             "shr",
	SAR:             "sar",
	ROL:             "rol",
	ROR:             "ror",
	SHLX:            "shlx",
	SHRX:            "shrx",
	SARX:            "sarx",
	RORX:            "rorx",
	MULX:            "mulx",
	ANDN:            "andn",
	LZCNT:           "lzcnt",
	TZCNT:           "tzcnt",
	POPCNT:          "popcnt",
	BSWAP:           "bswap",
	BT:              "bt",
	PUSH:            "push",
	POP:             "pop",
	SETO:            "seto",
	SETNO:           "setno",
	SETB:            "setb",
	SETAE:           "setae",
	SETE:            "sete",
	SETNE:           "setne",
	SETBE:           "setbe",
	SETA:            "seta",
	SETS:            "sets",
	SETNS:           "setns",
	SETP:            "setp",
	SETNP:           "setnp",
	SETL:            "setl",
	SETGE:           "setge",
	SETLE:           "setle",
	SETG:            "setg",
	CMOVO:           "cmovo",
	CMOVNO:          "cmovno",
	CMOVB:           "cmovb",
	CMOVAE:          "cmovae",
	CMOVE:           "cmove",
	CMOVNE:          "cmovne",
	CMOVBE:          "cmovbe",
	CMOVA:           "cmova",
	CMOVS:           "cmovs",
	CMOVNS:          "cmovns",
	CMOVP:           "cmovp",
	CMOVNP:          "cmovnp",
	CMOVL:           "cmovl",
	CMOVGE:          "cmovge",
	CMOVLE:          "cmovle",
	CMOVG:           "cmovg",
	JO:              "jo",
	JNO:             "jno",
	JB:              "jb",
	JAE:             "jae",
	JE:              "je",
	JNE:             "jne",
	JBE:             "jbe",
	JA:              "ja",
	JS:              "js",
	JNS:             "jns",
	JP:              "jp",
	JNP:             "jnp",
	JL:              "jl",
	JGE:             "jge",
	JLE:             "jle",
	JG:              "jg",
	JMP:             "jmp",
	CALL:            "call",
	RET:             "ret",
	PREFETCHT0:      "prefetcht0",
	PREFETCHT1:      "prefetcht1",
	PREFETCHW:       "prefetchw",
	SFENCE:          "sfence",
	NOP:             "nop",
	PAUSE:           "pause",
	UD2:             "ud2",
	VADDPS:          "vaddps",
	VADDPD:          "vaddpd",
	VADDSS:          "vaddss",
	VADDSD:          "vaddsd",
	VSUBPS:          "vsubps",
	VSUBPD:          "vsubpd",
	VSUBSS:          "vsubss",
	VSUBSD:          "vsubsd",
	VMULPS:          "vmulps",
	VMULPD:          "vmulpd",
	VMULSS:          "vmulss",
	VMULSD:          "vmulsd",
	VDIVPS:          "vdivps",
	VDIVPD:          "vdivpd",
	VDIVSS:          "vdivss",
	VDIVSD:          "vdivsd",
	VMINPS:          "vminps",
	VMINPD:          "vminpd",
	VMINSS:          "vminss",
	VMINSD:          "vminsd",
	VMAXPS:          "vmaxps",
	VMAXPD:          "vmaxpd",
	VMAXSS:          "vmaxss",
	VMAXSD:          "vmaxsd",
	VSQRTPS:         "vsqrtps",
	VSQRTPD:         "vsqrtpd",
	VSQRTSS:         "vsqrtss",
	VSQRTSD:         "vsqrtsd",
	VFMADD132PS:     "vfmadd132ps",
	VFMADD132PD:     "vfmadd132pd",
	VFMADD132SS:     "vfmadd132ss",
	VFMADD132SD:     "vfmadd132sd",
	VFMADD213PS:     "vfmadd213ps",
	VFMADD213PD:     "vfmadd213pd",
	VFMADD213SS:     "vfmadd213ss",
	VFMADD213SD:     "vfmadd213sd",
	VFMADD231PS:     "vfmadd231ps",
	VFMADD231PD:     "vfmadd231pd",
	VFMADD231SS:     "vfmadd231ss",
	VFMADD231SD:     "vfmadd231sd",
	VFMSUB132PS:     "vfmsub132ps",
	VFMSUB132PD:     "vfmsub132pd",
	VFMSUB132SS:     "vfmsub132ss",
	VFMSUB132SD:     "vfmsub132sd",
	VFMSUB213PS:     "vfmsub213ps",
	VFMSUB213PD:     "vfmsub213pd",
	VFMSUB213SS:     "vfmsub213ss",
	VFMSUB213SD:     "vfmsub213sd",
	VFMSUB231PS:     "vfmsub231ps",
	VFMSUB231PD:     "vfmsub231pd",
	VFMSUB231SS:     "vfmsub231ss",
	VFMSUB231SD:     "vfmsub231sd",
	VFNMADD132PS:    "vfnmadd132ps",
	VFNMADD132PD:    "vfnmadd132pd",
	VFNMADD132SS:    "vfnmadd132ss",
	VFNMADD132SD:    "vfnmadd132sd",
	VFNMADD213PS:    "vfnmadd213ps",
	VFNMADD213PD:    "vfnmadd213pd",
	VFNMADD213SS:    "vfnmadd213ss",
	VFNMADD213SD:    "vfnmadd213sd",
	VFNMADD231PS:    "vfnmadd231ps",
	VFNMADD231PD:    "vfnmadd231pd",
	VFNMADD231SS:    "vfnmadd231ss",
	VFNMADD231SD:    "vfnmadd231sd",
	VFNMSUB132PS:    "vfnmsub132ps",
	VFNMSUB132PD:    "vfnmsub132pd",
	VFNMSUB132SS:    "vfnmsub132ss",
	VFNMSUB132SD:    "vfnmsub132sd",
	VFNMSUB213PS:    "vfnmsub213ps",
	VFNMSUB213PD:    "vfnmsub213pd",
	VFNMSUB213SS:    "vfnmsub213ss",
	VFNMSUB213SD:    "vfnmsub213sd",
	VFNMSUB231PS:    "vfnmsub231ps",
	VFNMSUB231PD:    "vfnmsub231pd",
	VFNMSUB231SS:    "vfnmsub231ss",
	VFNMSUB231SD:    "vfnmsub231sd",
	VANDPS:          "vandps",
	VANDPD:          "vandpd",
	VANDNPS:         "vandnps",
	VANDNPD:         "vandnpd",
	VORPS:           "vorps",
	VORPD:           "vorpd",
	VXORPS:          "vxorps",
	VXORPD:          "vxorpd",
	VCMPPS:          "vcmpps",
	VCMPPD:          "vcmppd",
	VCMPSS:          "vcmpss",
	VCMPSD:          "vcmpsd",
	VUCOMISS:        "vucomiss",
	VUCOMISD:        "vucomisd",
	VROUNDPS:        "vroundps",
	VROUNDPD:        "vroundpd",
	VROUNDSS:        "vroundss",
	VROUNDSD:        "vroundsd",
	VRNDSCALEPS:     "vrndscaleps",
	VRNDSCALEPD:     "vrndscalepd",
	VRNDSCALESS:     "vrndscaless",
	VRNDSCALESD:     "vrndscalesd",
	VSCALEFPS:       "vscalefps",
	VSCALEFPD:       "vscalefpd",
	VSCALEFSS:       "vscalefss",
	VSCALEFSD:       "vscalefsd",
	VGETEXPPS:       "vgetexpps",
	VGETEXPPD:       "vgetexppd",
	VGETMANTPS:      "vgetmantps",
	VGETMANTPD:      "vgetmantpd",
	VRCP14PS:        "vrcp14ps",
	VRCP14PD:        "vrcp14pd",
	VRSQRT14PS:      "vrsqrt14ps",
	VRSQRT14PD:      "vrsqrt14pd",
	VRCPPS:          "vrcpps",
	VRSQRTPS:        "vrsqrtps",
	VREDUCEPS:       "vreduceps",
	VREDUCEPD:       "vreducepd",
	VRANGEPS:        "vrangeps",
	VRANGEPD:        "vrangepd",
	VHADDPS:         "vhaddps",
	VHADDPD:         "vhaddpd",
	VADDPH:          "vaddph",
	VSUBPH:          "vsubph",
	VMULPH:          "vmulph",
	VDIVPH:          "vdivph",
	VMINPH:          "vminph",
	VMAXPH:          "vmaxph",
	VSQRTPH:         "vsqrtph",
	VFMADD132PH:     "vfmadd132ph",
	VFMADD213PH:     "vfmadd213ph",
	VFMADD231PH:     "vfmadd231ph",
	VFNMADD132PH:    "vfnmadd132ph",
	VFNMADD213PH:    "vfnmadd213ph",
	VFNMADD231PH:    "vfnmadd231ph",
	VMOVAPS:         "vmovaps",
	VMOVUPS:         "vmovups",
	VMOVAPD:         "vmovapd",
	VMOVUPD:         "vmovupd",
	VMOVSS:          "vmovss",
	VMOVSD:          "vmovsd",
	VMOVNTPS:        "vmovntps",
	VMOVNTPD:        "vmovntpd",
	VMOVNTDQ:        "vmovntdq",
	VMOVDQA:         "vmovdqa",
	VMOVDQU:         "vmovdqu",
	VMOVDQA32:       "vmovdqa32",
	VMOVDQA64:       "vmovdqa64",
	VMOVDQU8:        "vmovdqu8",
	VMOVDQU16:       "vmovdqu16",
	VMOVDQU32:       "vmovdqu32",
	VMOVDQU64:       "vmovdqu64",
	VMOVD:           "vmovd",
	VMOVQ:           "vmovq",
	VMOVLPS:         "vmovlps",
	VMOVHPS:         "vmovhps",
	VMOVHLPS:        "vmovhlps",
	VMOVLHPS:        "vmovlhps",
	VMOVSHDUP:       "vmovshdup",
	VMOVSLDUP:       "vmovsldup",
	VMOVDDUP:        "vmovddup",
	VMASKMOVPS:      "vmaskmovps",
	VMASKMOVPD:      "vmaskmovpd",
	VPMASKMOVD:      "vpmaskmovd",
	VPMASKMOVQ:      "vpmaskmovq",
	VMOVMSKPS:       "vmovmskps",
	VMOVMSKPD:       "vmovmskpd",
	VPMOVMSKB:       "vpmovmskb",
	VLDDQU:          "vlddqu",
	VBROADCASTSS:    "vbroadcastss",
	VBROADCASTSD:    "vbroadcastsd",
	VBROADCASTF128:  "vbroadcastf128",
	VBROADCASTI128:  "vbroadcasti128",
	VBROADCASTF32X2: "vbroadcastf32x2",
	VBROADCASTF32X4: "vbroadcastf32x4",
	VBROADCASTF64X2: "vbroadcastf64x2",
	VBROADCASTF32X8: "vbroadcastf32x8",
	VBROADCASTF64X4: "vbroadcastf64x4",
	VBROADCASTI32X2: "vbroadcasti32x2",
	VBROADCASTI32X4: "vbroadcasti32x4",
	VBROADCASTI64X2: "vbroadcasti64x2",
	VBROADCASTI32X8: "vbroadcasti32x8",
	VBROADCASTI64X4: "vbroadcasti64x4",
	VPBROADCASTB:    "vpbroadcastb",
	VPBROADCASTW:    "vpbroadcastw",
	VPBROADCASTD:    "vpbroadcastd",
	VPBROADCASTQ:    "vpbroadcastq",
	VUNPCKLPS:       "vunpcklps",
	VUNPCKLPD:       "vunpcklpd",
	VUNPCKHPS:       "vunpckhps",
	VUNPCKHPD:       "vunpckhpd",
	VSHUFPS:         "vshufps",
	VSHUFPD:         "vshufpd",
	VSHUFF32X4:      "vshuff32x4",
	VSHUFF64X2:      "vshuff64x2",
	VSHUFI32X4:      "vshufi32x4",
	VSHUFI64X2:      "vshufi64x2",
	VPERMPS:         "vpermps",
	VPERMPD:         "vpermpd",
	VPERMD:          "vpermd",
	VPERMQ:          "vpermq",
	VPERMW:          "vpermw",
	VPERMB:          "vpermb",
	VPERMILPS:       "vpermilps",
	VPERMILPD:       "vpermilpd",
	VPERMT2PS:       "vpermt2ps",
	VPERMT2PD:       "vpermt2pd",
	VPERMT2D:        "vpermt2d",
	VPERMT2Q:        "vpermt2q",
	VPERMT2W:        "vpermt2w",
	VPERMT2B:        "vpermt2b",
	VPERMI2PS:       "vpermi2ps",
	VPERMI2PD:       "vpermi2pd",
	VPERMI2D:        "vpermi2d",
	VPERMI2Q:        "vpermi2q",
	VPERMI2W:        "vpermi2w",
	VPERMI2B:        "vpermi2b",
	VPERM2F128:      "vperm2f128",
	VPERM2I128:      "vperm2i128",
	VINSERTF128:     "vinsertf128",
	VINSERTF32X4:    "vinsertf32x4",
	VINSERTF64X2:    "vinsertf64x2",
	VINSERTF32X8:    "vinsertf32x8",
	VINSERTF64X4:    "vinsertf64x4",
	VINSERTI128:     "vinserti128",
	VINSERTI32X4:    "vinserti32x4",
	VINSERTI64X2:    "vinserti64x2",
	VINSERTI32X8:    "vinserti32x8",
	VINSERTI64X4:    "vinserti64x4",
	VEXTRACTF128:    "vextractf128",
	VEXTRACTF32X4:   "vextractf32x4",
	VEXTRACTF64X2:   "vextractf64x2",
	VEXTRACTF32X8:   "vextractf32x8",
	VEXTRACTF64X4:   "vextractf64x4",
	VEXTRACTI128:    "vextracti128",
	VEXTRACTI32X4:   "vextracti32x4",
	VEXTRACTI64X2:   "vextracti64x2",
	VEXTRACTI32X8:   "vextracti32x8",
	VEXTRACTI64X4:   "vextracti64x4",
	VINSERTPS:       "vinsertps",
	VEXTRACTPS:      "vextractps",
	VPINSRB:         "vpinsrb",
	VPINSRW:         "vpinsrw",
	VPINSRD:         "vpinsrd",
	VPINSRQ:         "vpinsrq",
	VPEXTRB:         "vpextrb",
	VPEXTRW:         "vpextrw",
	VPEXTRD:         "vpextrd",
	VPEXTRQ:         "vpextrq",
	VBLENDPS:        "vblendps",
	VBLENDPD:        "vblendpd",
	VPBLENDW:        "vpblendw",
	VPBLENDD:        "vpblendd",
	VBLENDVPS:       "vblendvps",
	VBLENDVPD:       "vblendvpd",
	VPBLENDVB:       "vpblendvb",
	VBLENDMPS:       "vblendmps",
	VBLENDMPD:       "vblendmpd",
	VPBLENDMB:       "vpblendmb",
	VPBLENDMW:       "vpblendmw",
	VPBLENDMD:       "vpblendmd",
	VPBLENDMQ:       "vpblendmq",
	VPCOMPRESSD:     "vpcompressd",
	VPCOMPRESSQ:     "vpcompressq",
	VPEXPANDD:       "vpexpandd",
	VPEXPANDQ:       "vpexpandq",
	VCOMPRESSPS:     "vcompressps",
	VCOMPRESSPD:     "vcompresspd",
	VEXPANDPS:       "vexpandps",
	VEXPANDPD:       "vexpandpd",
	VGATHERDPS:      "vgatherdps",
	VGATHERDPD:      "vgatherdpd",
	VGATHERQPS:      "vgatherqps",
	VGATHERQPD:      "vgatherqpd",
	VPGATHERDD:      "vpgatherdd",
	VPGATHERDQ:      "vpgatherdq",
	VPGATHERQD:      "vpgatherqd",
	VPGATHERQQ:      "vpgatherqq",
	VSCATTERDPS:     "vscatterdps",
	VSCATTERDPD:     "vscatterdpd",
	VSCATTERQPS:     "vscatterqps",
	VSCATTERQPD:     "vscatterqpd",
	VPSCATTERDD:     "vpscatterdd",
	VPSCATTERDQ:     "vpscatterdq",
	VPSCATTERQD:     "vpscatterqd",
	VPSCATTERQQ:     "vpscatterqq",
	VCVTDQ2PS:       "vcvtdq2ps",
	VCVTDQ2PD:       "vcvtdq2pd",
	VCVTUDQ2PS:      "vcvtudq2ps",
	VCVTUDQ2PD:      "vcvtudq2pd",
	VCVTQQ2PS:       "vcvtqq2ps",
	VCVTQQ2PD:       "vcvtqq2pd",
	VCVTUQQ2PS:      "vcvtuqq2ps",
	VCVTUQQ2PD:      "vcvtuqq2pd",
	VCVTPS2DQ:       "vcvtps2dq",
	VCVTPS2UDQ:      "vcvtps2udq",
	VCVTPS2QQ:       "vcvtps2qq",
	VCVTPS2UQQ:      "vcvtps2uqq",
	VCVTTPS2DQ:      "vcvttps2dq",
	VCVTTPS2UDQ:     "vcvttps2udq",
	VCVTTPS2QQ:      "vcvttps2qq",
	VCVTTPS2UQQ:     "vcvttps2uqq",
	VCVTPD2DQ:       "vcvtpd2dq",
	VCVTPD2UDQ:      "vcvtpd2udq",
	VCVTPD2QQ:       "vcvtpd2qq",
	VCVTPD2UQQ:      "vcvtpd2uqq",
	VCVTTPD2DQ:      "vcvttpd2dq",
	VCVTTPD2UDQ:     "vcvttpd2udq",
	VCVTTPD2QQ:      "vcvttpd2qq",
	VCVTTPD2UQQ:     "vcvttpd2uqq",
	VCVTPS2PD:       "vcvtps2pd",
	VCVTPD2PS:       "vcvtpd2ps",
	VCVTSI2SS:       "vcvtsi2ss",
	VCVTSI2SD:       "vcvtsi2sd",
	VCVTUSI2SS:      "vcvtusi2ss",
	VCVTUSI2SD:      "vcvtusi2sd",
	VCVTTSS2SI:      "vcvttss2si",
	VCVTTSS2USI:     "vcvttss2usi",
	VCVTTSD2SI:      "vcvttsd2si",
	VCVTTSD2USI:     "vcvttsd2usi",
	VCVTSS2SI:       "vcvtss2si",
	VCVTSS2USI:      "vcvtss2usi",
	VCVTSD2SI:       "vcvtsd2si",
	VCVTSD2USI:      "vcvtsd2usi",
	VCVTSS2SD:       "vcvtss2sd",
	VCVTSD2SS:       "vcvtsd2ss",
	VCVTPH2PS:       "vcvtph2ps",
	VCVTPS2PH:       "vcvtps2ph",
	VCVTNEPS2BF16:   "vcvtneps2bf16",
	VCVTNE2PS2BF16:  "vcvtne2ps2bf16",
	VDPBF16PS:       "vdpbf16ps",
	VPADDB:          "vpaddb",
	VPADDW:          "vpaddw",
	VPADDD:          "vpaddd",
	VPADDQ:          "vpaddq",
	VPSUBB:          "vpsubb",
	VPSUBW:          "vpsubw",
	VPSUBD:          "vpsubd",
	VPSUBQ:          "vpsubq",
	VPADDUSB:        "vpaddusb",
	VPADDUSW:        "vpaddusw",
	VPMULLW:         "vpmullw",
	VPMULLD:         "vpmulld",
	VPMULLQ:         "vpmullq",
	VPMULHW:         "vpmulhw",
	VPMULHUW:        "vpmulhuw",
	VPMULUDQ:        "vpmuludq",
	VPMULDQ:         "vpmuldq",
	VPAVGB:          "vpavgb",
	VPAVGW:          "vpavgw",
	VPSADBW:         "vpsadbw",
	VPAND:           "vpand",
	VPANDN:          "vpandn",
	VPOR:            "vpor",
	VPXOR:           "vpxor",
	VPANDD:          "vpandd",
	VPANDQ:          "vpandq",
	VPANDND:         "vpandnd",
	VPANDNQ:         "vpandnq",
	VPORD:           "vpord",
	VPORQ:           "vporq",
	VPXORD:          "vpxord",
	VPXORQ:          "vpxorq",
	VPTERNLOGD:      "vpternlogd",
	VPTERNLOGQ:      "vpternlogq",
	VPSLLW:          "vpsllw",
	VPSLLD:          "vpslld",
	VPSLLQ:          "vpsllq",
	VPSRLW:          "vpsrlw",
	VPSRLD:          "vpsrld",
	VPSRLQ:          "vpsrlq",
	VPSRAW:          "vpsraw",
	VPSRAD:          "vpsrad",
	VPSRAQ:          "vpsraq",
	VPSLLDQ:         "vpslldq",
	VPSRLDQ:         "vpsrldq",
	VPSLLVW:         "vpsllvw",
	VPSLLVD:         "vpsllvd",
	VPSLLVQ:         "vpsllvq",
	VPSRLVW:         "vpsrlvw",
	VPSRLVD:         "vpsrlvd",
	VPSRLVQ:         "vpsrlvq",
	VPSRAVW:         "vpsravw",
	VPSRAVD:         "vpsravd",
	VPSRAVQ:         "vpsravq",
	VPROLD:          "vprold",
	VPROLQ:          "vprolq",
	VPRORD:          "vprord",
	VPRORQ:          "vprorq",
	VPROLVD:         "vprolvd",
	VPROLVQ:         "vprolvq",
	VPRORVD:         "vprorvd",
	VPRORVQ:         "vprorvq",
	VPMINSB:         "vpminsb",
	VPMINSW:         "vpminsw",
	VPMINSD:         "vpminsd",
	VPMINSQ:         "vpminsq",
	VPMINUB:         "vpminub",
	VPMINUW:         "vpminuw",
	VPMINUD:         "vpminud",
	VPMINUQ:         "vpminuq",
	VPMAXSB:         "vpmaxsb",
	VPMAXSW:         "vpmaxsw",
	VPMAXSD:         "vpmaxsd",
	VPMAXSQ:         "vpmaxsq",
	VPMAXUB:         "vpmaxub",
	VPMAXUW:         "vpmaxuw",
	VPMAXUD:         "vpmaxud",
	VPMAXUQ:         "vpmaxuq",
	VPABSB:          "vpabsb",
	VPABSW:          "vpabsw",
	VPABSD:          "vpabsd",
	VPABSQ:          "vpabsq",
	VPCMPEQB:        "vpcmpeqb",
	VPCMPEQW:        "vpcmpeqw",
	VPCMPEQD:        "vpcmpeqd",
	VPCMPEQQ:        "vpcmpeqq",
	VPCMPGTB:        "vpcmpgtb",
	VPCMPGTW:        "vpcmpgtw",
	VPCMPGTD:        "vpcmpgtd",
	VPCMPGTQ:        "vpcmpgtq",
	VPCMPB:          "vpcmpb",
	VPCMPW:          "vpcmpw",
	VPCMPD:          "vpcmpd",
	VPCMPQ:          "vpcmpq",
	VPCMPUB:         "vpcmpub",
	VPCMPUW:         "vpcmpuw",
	VPCMPUD:         "vpcmpud",
	VPCMPUQ:         "vpcmpuq",
	VPTESTMB:        "vptestmb",
	VPTESTMW:        "vptestmw",
	VPTESTMD:        "vptestmd",
	VPTESTMQ:        "vptestmq",
	VPTESTNMMB:      "vptestnmmb",
	VPTESTNMMW:      "vptestnmmw",
	VPTESTNMMD:      "vptestnmmd",
	VPTESTNMMQ:      "vptestnmmq",
	VPTEST:          "vptest",
	VPMOVZXBW:       "vpmovzxbw",
	VPMOVZXBD:       "vpmovzxbd",
	VPMOVZXBQ:       "vpmovzxbq",
	VPMOVZXWD:       "vpmovzxwd",
	VPMOVZXWQ:       "vpmovzxwq",
	VPMOVZXDQ:       "vpmovzxdq",
	VPMOVSXBW:       "vpmovsxbw",
	VPMOVSXBD:       "vpmovsxbd",
	VPMOVSXBQ:       "vpmovsxbq",
	VPMOVSXWD:       "vpmovsxwd",
	VPMOVSXWQ:       "vpmovsxwq",
	VPMOVSXDQ:       "vpmovsxdq",
	VPMOVWB:         "vpmovwb",
	VPMOVDB:         "vpmovdb",
	VPMOVDW:         "vpmovdw",
	VPMOVQB:         "vpmovqb",
	VPMOVQW:         "vpmovqw",
	VPMOVQD:         "vpmovqd",
	VPSHUFD:         "vpshufd",
	VPSHUFB:         "vpshufb",
	VPSHUFLW:        "vpshuflw",
	VPSHUFHW:        "vpshufhw",
	VPUNPCKLBW:      "vpunpcklbw",
	VPUNPCKLWD:      "vpunpcklwd",
	VPUNPCKLDQ:      "vpunpckldq",
	VPUNPCKLQDQ:     "vpunpcklqdq",
	VPUNPCKHBW:      "vpunpckhbw",
	VPUNPCKHWD:      "vpunpckhwd",
	VPUNPCKHDQ:      "vpunpckhdq",
	VPUNPCKHQDQ:     "vpunpckhqdq",
	VPACKSSWB:       "vpacksswb",
	VPACKSSDW:       "vpackssdw",
	VPACKUSWB:       "vpackuswb",
	VPACKUSDW:       "vpackusdw",
	VPALIGNR:        "vpalignr",
	VALIGND:         "valignd",
	VALIGNQ:         "valignq",
	VPMADDWD:        "vpmaddwd",
	VPMADDUBSW:      "vpmaddubsw",
	VPDPBUSD:        "vpdpbusd",
	VPDPWSSD:        "vpdpwssd",
	VPLZCNTD:        "vplzcntd",
	VPLZCNTQ:        "vplzcntq",
	VPOPCNTD:        "vpopcntd",
	VPOPCNTQ:        "vpopcntq",
	VPMOVM2B:        "vpmovm2b",
	VPMOVM2W:        "vpmovm2w",
	VPMOVM2D:        "vpmovm2d",
	VPMOVM2Q:        "vpmovm2q",
	VPMOVB2M:        "vpmovb2m",
	VPMOVW2M:        "vpmovw2m",
	VPMOVD2M:        "vpmovd2m",
	VPMOVQ2M:        "vpmovq2m",
	VZEROUPPER:      "vzeroupper",
	VZEROALL:        "vzeroall",
	KMOVB:           "kmovb",
	KMOVW:           "kmovw",
	KMOVD:           "kmovd",
	KMOVQ:           "kmovq",
	KANDB:           "kandb",
	KANDW:           "kandw",
	KANDD:           "kandd",
	KANDQ:           "kandq",
	KANDNB:          "kandnb",
	KANDNW:          "kandnw",
	KANDND:          "kandnd",
	KANDNQ:          "kandnq",
	KORB:            "korb",
	KORW:            "korw",
	KORD:            "kord",
	KORQ:            "korq",
	KXORB:           "kxorb",
	KXORW:           "kxorw",
	KXORD:           "kxord",
	KXORQ:           "kxorq",
	KXNORB:          "kxnorb",
	KXNORW:          "kxnorw",
	KXNORD:          "kxnord",
	KXNORQ:          "kxnorq",
	KADDB:           "kaddb",
	KADDW:           "kaddw",
	KADDD:           "kaddd",
	KADDQ:           "kaddq",
	KNOTB:           "knotb",
	KNOTW:           "knotw",
	KNOTD:           "knotd",
	KNOTQ:           "knotq",
	KORTESTB:        "kortestb",
	KORTESTW:        "kortestw",
	KORTESTD:        "kortestd",
	KORTESTQ:        "kortestq",
	KTESTB:          "ktestb",
	KTESTW:          "ktestw",
	KTESTD:          "ktestd",
	KTESTQ:          "ktestq",
	KSHIFTLB:        "kshiftlb",
	KSHIFTLW:        "kshiftlw",
	KSHIFTLD:        "kshiftld",
	KSHIFTLQ:        "kshiftlq",
	KSHIFTRB:        "kshiftrb",
	KSHIFTRW:        "kshiftrw",
	KSHIFTRD:        "kshiftrd",
	KSHIFTRQ:        "kshiftrq",
	KUNPCKBW:        "kunpckbw",
	KUNPCKWD:        "kunpckwd",
	KUNPCKDQ:        "kunpckdq",
	LDTILECFG:       "ldtilecfg",
	STTILECFG:       "sttilecfg",
	TILERELEASE:     "tilerelease",
	TILEZERO:        "tilezero",
	TILELOADD:       "tileloadd",
	TILELOADDT1:     "tileloaddt1",
	TILESTORED:      "tilestored",
	TDPBF16PS:       "tdpbf16ps",
	TDPFP16PS:       "tdpfp16ps",
	TDPBSSD:         "tdpbssd",
	TDPBSUD:         "tdpbsud",
	TDPBUSD:         "tdpbusd",
	TDPBUUD:         "tdpbuud",
}
