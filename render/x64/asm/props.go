package asm

import "fmt"

// Cond is a condition on the flags, as the processor numbers it.
type Cond uint8

// The conditions: signed L LE G GE, unsigned B BE A AE, equality, sign and parity (set by unordered comparisons).
const (
	O Cond = iota
	NO
	B
	AE
	E
	NE
	BE
	A
	S
	NS
	P
	NP
	L
	GE
	LE
	G
)

// Not is the opposite condition.
func (c Cond) Not() Cond { return c ^ 1 }

// Set, Cmov and J are the operations SETcc, CMOVcc and Jcc of a condition.
func (c Cond) Set() Op  { return SETO + Op(c) }
func (c Cond) Cmov() Op { return CMOVO + Op(c) }
func (c Cond) J() Op    { return JO + Op(c) }

// String is the mnemonic.
func (o Op) String() string {
	if o < numOps && names[o] != "" {
		return names[o]
	}
	return fmt.Sprintf("op%d", uint16(o))
}

// Branch reports whether o may continue elsewhere than at the next instruction, at Inst.To.
func (o Op) Branch() bool { return o >= JO && o <= JMP }

// ReadsDst reports whether o reads Dst before it writes it. Inst.ReadsDst knows of masks, too.
func (o Op) ReadsDst() bool {
	switch {
	case o >= ADD && o <= SBB, o == NOT, o == NEG, o == IMUL, o >= SHL && o <= ROR, o == BSWAP,
		o >= CMOVO && o <= CMOVG, o >= VFMADD132PS && o <= VFNMSUB231SD, o >= VFMADD132PH && o <= VFNMADD231PH,
		o >= VPERMT2PS && o <= VPERMI2B, o >= VGATHERDPS && o <= VPGATHERQQ, o == VDPBF16PS,
		o == VPTERNLOGD, o == VPTERNLOGQ, o == VPDPBUSD, o == VPDPWSSD, o >= TDPBF16PS && o <= TDPBUUD:
		return true
	}
	return false
}

// Stores reports whether o can write memory: it does if it has Mem and no Dst.
func (o Op) Stores() bool {
	switch {
	case o >= MOV && o <= MOV16, o == STTILECFG, o == TILESTORED, o >= VMOVAPS && o <= VMOVHPS,
		o >= VMASKMOVPS && o <= VPMASKMOVQ, o >= VEXTRACTF128 && o <= VEXTRACTI64X4, o == VEXTRACTPS,
		o >= VPEXTRB && o <= VPEXTRQ, o >= VPCOMPRESSD && o <= VPCOMPRESSQ, o >= VCOMPRESSPS && o <= VCOMPRESSPD,
		o >= VSCATTERDPS && o <= VPSCATTERQQ, o == VCVTPS2PH, o >= VPMOVWB && o <= VPMOVQD, o >= KMOVB && o <= KMOVQ,
		o >= SETO && o <= SETG:
		return true
	}
	return false
}

// SetsFlags reports whether o changes the flags.
func (o Op) SetsFlags() bool {
	switch {
	case o >= ADD && o <= TEST, o >= NEG && o <= IDIV, o == DIV, o >= SHL && o <= ROR, o >= ANDN && o <= POPCNT, o == BT,
		o >= VUCOMISS && o <= VUCOMISD, o == VPTEST, o >= KORTESTB && o <= KTESTQ:
		return true
	}
	return false
}

// UsesFlags reports whether o depends on the flags.
func (o Op) UsesFlags() bool { return o >= SETO && o <= JG || o == ADC || o == SBB }

// WritesMask reports whether o clears its mask (Mask, or Src[0] where that is a vector) as it goes.
func (o Op) WritesMask() bool { return o >= VGATHERDPS && o <= VPSCATTERQQ }

// Stores reports whether i writes its memory operand.
func (i *Inst) Stores() bool { return i.Dst == 0 && !i.Mem.None() && i.Op.Stores() }

// ReadsDst reports whether what Dst held before matters to i.
func (i *Inst) ReadsDst() bool {
	return i.Dst != 0 && (i.Op.ReadsDst() || i.Mask != 0 && !i.Zero && i.Dst.Class() == Vec && !i.Op.selects())
}

// selects reports whether the mask of o chooses between two sources.
func (o Op) selects() bool { return o >= VBLENDMPS && o <= VPBLENDMQ }
