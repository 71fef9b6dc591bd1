package asm

// tableFloat are the rows of floating point arithmetic and comparisons.
var tableFloat = []row{
	{VADDPS, "vaddps", rvmVVV, p0F, 0x58, lve | memV | bcast4},
	{VADDPD, "vaddpd", rvmVVV, p660F, 0x58, lve | w | memV | bcast8},
	{VADDSS, "vaddss", rvmXXX, pF30F, 0x58, lve | mem4},
	{VADDSD, "vaddsd", rvmXXX, pF20F, 0x58, lve | w | mem8},
	{VSUBPS, "vsubps", rvmVVV, p0F, 0x5C, lve | memV | bcast4},
	{VSUBPD, "vsubpd", rvmVVV, p660F, 0x5C, lve | w | memV | bcast8},
	{VSUBSS, "vsubss", rvmXXX, pF30F, 0x5C, lve | mem4},
	{VSUBSD, "vsubsd", rvmXXX, pF20F, 0x5C, lve | w | mem8},
	{VMULPS, "vmulps", rvmVVV, p0F, 0x59, lve | memV | bcast4},
	{VMULPD, "vmulpd", rvmVVV, p660F, 0x59, lve | w | memV | bcast8},
	{VMULSS, "vmulss", rvmXXX, pF30F, 0x59, lve | mem4},
	{VMULSD, "vmulsd", rvmXXX, pF20F, 0x59, lve | w | mem8},
	{VDIVPS, "vdivps", rvmVVV, p0F, 0x5E, lve | memV | bcast4},
	{VDIVPD, "vdivpd", rvmVVV, p660F, 0x5E, lve | w | memV | bcast8},
	{VDIVSS, "vdivss", rvmXXX, pF30F, 0x5E, lve | mem4},
	{VDIVSD, "vdivsd", rvmXXX, pF20F, 0x5E, lve | w | mem8},
	{VMINPS, "vminps", rvmVVV, p0F, 0x5D, lve | memV | bcast4},
	{VMINPD, "vminpd", rvmVVV, p660F, 0x5D, lve | w | memV | bcast8},
	{VMINSS, "vminss", rvmXXX, pF30F, 0x5D, lve | mem4},
	{VMINSD, "vminsd", rvmXXX, pF20F, 0x5D, lve | w | mem8},
	{VMAXPS, "vmaxps", rvmVVV, p0F, 0x5F, lve | memV | bcast4},
	{VMAXPD, "vmaxpd", rvmVVV, p660F, 0x5F, lve | w | memV | bcast8},
	{VMAXSS, "vmaxss", rvmXXX, pF30F, 0x5F, lve | mem4},
	{VMAXSD, "vmaxsd", rvmXXX, pF20F, 0x5F, lve | w | mem8},
	{VSQRTPS, "vsqrtps", rmVV, p0F, 0x51, lve | memV | bcast4},
	{VSQRTPD, "vsqrtpd", rmVV, p660F, 0x51, lve | w | memV | bcast8},
	{VSQRTSS, "vsqrtss", rvmXXX, pF30F, 0x51, lve | mem4},
	{VSQRTSD, "vsqrtsd", rvmXXX, pF20F, 0x51, lve | w | mem8},
	{VANDPS, "vandps", rvmVVV, p0F, 0x54, lve | memV | bcast4},
	{VANDPD, "vandpd", rvmVVV, p660F, 0x54, lve | w | memV | bcast8},
	{VANDNPS, "vandnps", rvmVVV, p0F, 0x55, lve | memV | bcast4},
	{VORPS, "vorps", rvmVVV, p0F, 0x56, lve | memV | bcast4},
	{VORPD, "vorpd", rvmVVV, p660F, 0x56, lve | w | memV | bcast8},
	{VXORPS, "vxorps", rvmVVV, p0F, 0x57, lve | memV | bcast4},
	{VXORPD, "vxorpd", rvmVVV, p660F, 0x57, lve | w | memV | bcast8},
	{VCMPPS, "vcmpps", rvmVVV, p0F, 0xC2, lv | memV | imm8},
	{VCMPPS, "vcmpps", rvmKVV, p0F, 0xC2, evex | memV | bcast4 | imm8},
	{VCMPPD, "vcmppd", rvmVVV, p660F, 0xC2, lv | memV | imm8},
	{VCMPPD, "vcmppd", rvmKVV, p660F, 0xC2, evex | w | memV | bcast8 | imm8},
	{VCMPSS, "vcmpss", rvmXXX, pF30F, 0xC2, lv | mem4 | imm8},
	{VCMPSS, "vcmpss", rvmKXX, pF30F, 0xC2, evex | mem4 | imm8},
	{VCMPSD, "vcmpsd", rvmXXX, pF20F, 0xC2, lv | mem8 | imm8},
	{VCMPSD, "vcmpsd", rvmKXX, pF20F, 0xC2, evex | w | mem8 | imm8},
	{VUCOMISS, "vucomiss", nrmXX, p0F, 0x2E, lve | mem4 | setsFlags | noMask},
	{VUCOMISD, "vucomisd", nrmXX, p660F, 0x2E, lve | w | mem8 | setsFlags | noMask},
	{VROUNDPS, "vroundps", rmVV, p660F3A, 0x08, lv | memV | imm8},
	{VROUNDPD, "vroundpd", rmVV, p660F3A, 0x09, lv | memV | imm8},
	{VROUNDSS, "vroundss", rvmXXX, p660F3A, 0x0A, lv | mem4 | imm8},
	{VROUNDSD, "vroundsd", rvmXXX, p660F3A, 0x0B, lv | mem8 | imm8},
	{VRNDSCALEPS, "vrndscaleps", rmVV, p660F3A, 0x08, evex | memV | bcast4 | imm8},
	{VRNDSCALEPD, "vrndscalepd", rmVV, p660F3A, 0x09, evex | w | memV | bcast8 | imm8},
	{VRNDSCALESS, "vrndscaless", rvmXXX, p660F3A, 0x0A, evex | mem4 | imm8},
	{VRNDSCALESD, "vrndscalesd", rvmXXX, p660F3A, 0x0B, evex | w | mem8 | imm8},
	{VSCALEFPS, "vscalefps", rvmVVV, p660F38, 0x2C, evex | memV | bcast4},
	{VSCALEFPD, "vscalefpd", rvmVVV, p660F38, 0x2C, evex | w | memV | bcast8},
	{VSCALEFSS, "vscalefss", rvmXXX, p660F38, 0x2D, evex | mem4},
	{VSCALEFSD, "vscalefsd", rvmXXX, p660F38, 0x2D, evex | w | mem8},
	{VGETEXPPS, "vgetexpps", rmVV, p660F38, 0x42, evex | memV | bcast4},
	{VGETEXPPD, "vgetexppd", rmVV, p660F38, 0x42, evex | w | memV | bcast8},
	{VGETMANTPS, "vgetmantps", rmVV, p660F3A, 0x26, evex | memV | bcast4 | imm8},
	{VGETMANTPD, "vgetmantpd", rmVV, p660F3A, 0x26, evex | w | memV | bcast8 | imm8},
	{VADDPH, "vaddph", rvmVVV, pMap5, 0x58, evex | memV | bcast2 | fp16},
	{VSUBPH, "vsubph", rvmVVV, pMap5, 0x5C, evex | memV | bcast2 | fp16},
	{VMULPH, "vmulph", rvmVVV, pMap5, 0x59, evex | memV | bcast2 | fp16},
	{VDIVPH, "vdivph", rvmVVV, pMap5, 0x5E, evex | memV | bcast2 | fp16},
	{VMINPH, "vminph", rvmVVV, pMap5, 0x5D, evex | memV | bcast2 | fp16},
	{VMAXPH, "vmaxph", rvmVVV, pMap5, 0x5F, evex | memV | bcast2 | fp16},
	{VSQRTPH, "vsqrtph", rmVV, pMap5, 0x51, evex | memV | bcast2 | fp16},
}

// fused are the rows of fused multiply-additions: each operation in three forms, each form for four types.
func fused() []row {
	var rows []row
	for n, name := range [...]string{"vfmadd", "vfnmadd"} {
		for m, form := range [...]string{"132", "213", "231"} {
			op, code := VFMADD132PS+Op(12*n+4*m), uint8(0x98+4*n+0x10*m)
			rows = append(rows,
				row{op, name + form + "ps", rvmVVV, p660F38, code, ve | memV | bcast4 | readsDst},
				row{op + 1, name + form + "pd", rvmVVV, p660F38, code, ve | w | vw | memV | bcast8 | readsDst},
				row{op + 2, name + form + "ss", rvmXXX, p660F38, code + 1, ve | mem4 | readsDst},
				row{op + 3, name + form + "sd", rvmXXX, p660F38, code + 1, ve | w | vw | mem8 | readsDst})
		}
	}
	return rows
}
