package asm

// place is where an encoding keeps an operand.
type place uint8

const (
	inReg    place = iota + 1 // ModRM.reg
	inRM                      // ModRM.rm: a register, or Mem
	inVvvv                    // the extra register of VEX and EVEX
	inImm                     // the high half of an immediate byte
	inOpcode                  // the low bits of the opcode
	isCL                      // nowhere: it is RCX
	isXMM0                    // nowhere: it is the vector register 0
)

// kind is the type and the width of an operand.
type kind uint8

const (
	kindA kind = iota // memory of no size
	kindB             // general, 1 byte
	kindW             // general, 2 bytes
	kindD             // general, 4 bytes
	kindQ             // general, 8 bytes
	kindG             // general, Inst.Size
	kindV             // vector of Inst.Size
	kindH             // half of that, 16 at least
	kindF             // a fourth
	kindX             // vector of 16 bytes
	kindK             // mask
	kindT             // tile
)

// class is the register file of a kind.
func (k kind) class() Class {
	switch {
	case k == kindA:
		return 0
	case k <= kindG:
		return GP
	case k <= kindX:
		return Vec
	case k == kindK:
		return Mask
	}
	return Tile
}

type operand struct {
	place
	kind
}

// shape is the operands of a row. The names are made of places (n nothing, r reg, v vvvv, m rm, i imm, o opcode, c CL,
// x xmm0) and then their kinds, Dst first.
type shape uint8

const (
	mB shape = iota
	mG
	mW
	mcGB
	mrBB
	mrDX
	mrFV
	mrGG
	mrHV
	mrKK
	mrQX
	mrTT
	mrVH
	mrVV
	mrWW
	mrXV
	mrXX
	mvrVVV
	nmA
	nmG
	nmrGG
	none
	nrmGG
	nrmXX
	oG
	rT
	rmDK
	rmDV
	rmGB
	rmGG
	rmGW
	rmGX
	rmHV
	rmKD
	rmKK
	rmKQ
	rmQD
	rmQK
	rmTT
	rmVD
	rmVF
	rmVH
	rmVQ
	rmVV
	rmVX
	rmXD
	rmXQ
	rmXX
	rmvGGG
	rmvTTT
	rvmGGG
	rvmKKK
	rvmKVV
	rvmKXX
	rvmVVH
	rvmVVV
	rvmVVX
	rvmXXG
	rvmXXX
	rvmiVVVV
	rvmxVVVX
	vmVV

	numShapes
)

// shapes are the operands of each shape: Dst and the three of Src.
var shapes = [numShapes][4]operand{
	mB:       {{inRM, kindB}},
	mG:       {{inRM, kindG}},
	mW:       {{inRM, kindW}},
	mcGB:     {{inRM, kindG}, {isCL, kindB}},
	mrBB:     {{inRM, kindB}, {inReg, kindB}},
	mrDX:     {{inRM, kindD}, {inReg, kindX}},
	mrFV:     {{inRM, kindF}, {inReg, kindV}},
	mrGG:     {{inRM, kindG}, {inReg, kindG}},
	mrHV:     {{inRM, kindH}, {inReg, kindV}},
	mrKK:     {{inRM, kindK}, {inReg, kindK}},
	mrQX:     {{inRM, kindQ}, {inReg, kindX}},
	mrTT:     {{inRM, kindT}, {inReg, kindT}},
	mrVH:     {{inRM, kindV}, {inReg, kindH}},
	mrVV:     {{inRM, kindV}, {inReg, kindV}},
	mrWW:     {{inRM, kindW}, {inReg, kindW}},
	mrXV:     {{inRM, kindX}, {inReg, kindV}},
	mrXX:     {{inRM, kindX}, {inReg, kindX}},
	mvrVVV:   {{inRM, kindV}, {inVvvv, kindV}, {inReg, kindV}},
	nmA:      {{}, {inRM, kindA}},
	nmG:      {{}, {inRM, kindG}},
	nmrGG:    {{}, {inRM, kindG}, {inReg, kindG}},
	none:     {},
	nrmGG:    {{}, {inReg, kindG}, {inRM, kindG}},
	nrmXX:    {{}, {inReg, kindX}, {inRM, kindX}},
	oG:       {{inOpcode, kindG}},
	rT:       {{inReg, kindT}},
	rmDK:     {{inReg, kindD}, {inRM, kindK}},
	rmDV:     {{inReg, kindD}, {inRM, kindV}},
	rmGB:     {{inReg, kindG}, {inRM, kindB}},
	rmGG:     {{inReg, kindG}, {inRM, kindG}},
	rmGW:     {{inReg, kindG}, {inRM, kindW}},
	rmGX:     {{inReg, kindG}, {inRM, kindX}},
	rmHV:     {{inReg, kindH}, {inRM, kindV}},
	rmKD:     {{inReg, kindK}, {inRM, kindD}},
	rmKK:     {{inReg, kindK}, {inRM, kindK}},
	rmKQ:     {{inReg, kindK}, {inRM, kindQ}},
	rmQD:     {{inReg, kindQ}, {inRM, kindD}},
	rmQK:     {{inReg, kindQ}, {inRM, kindK}},
	rmTT:     {{inReg, kindT}, {inRM, kindT}},
	rmVD:     {{inReg, kindV}, {inRM, kindD}},
	rmVF:     {{inReg, kindV}, {inRM, kindF}},
	rmVH:     {{inReg, kindV}, {inRM, kindH}},
	rmVQ:     {{inReg, kindV}, {inRM, kindQ}},
	rmVV:     {{inReg, kindV}, {inRM, kindV}},
	rmVX:     {{inReg, kindV}, {inRM, kindX}},
	rmXD:     {{inReg, kindX}, {inRM, kindD}},
	rmXQ:     {{inReg, kindX}, {inRM, kindQ}},
	rmXX:     {{inReg, kindX}, {inRM, kindX}},
	rmvGGG:   {{inReg, kindG}, {inRM, kindG}, {inVvvv, kindG}},
	rmvTTT:   {{inReg, kindT}, {inRM, kindT}, {inVvvv, kindT}},
	rvmGGG:   {{inReg, kindG}, {inVvvv, kindG}, {inRM, kindG}},
	rvmKKK:   {{inReg, kindK}, {inVvvv, kindK}, {inRM, kindK}},
	rvmKVV:   {{inReg, kindK}, {inVvvv, kindV}, {inRM, kindV}},
	rvmKXX:   {{inReg, kindK}, {inVvvv, kindX}, {inRM, kindX}},
	rvmVVH:   {{inReg, kindV}, {inVvvv, kindV}, {inRM, kindH}},
	rvmVVV:   {{inReg, kindV}, {inVvvv, kindV}, {inRM, kindV}},
	rvmVVX:   {{inReg, kindV}, {inVvvv, kindV}, {inRM, kindX}},
	rvmXXG:   {{inReg, kindX}, {inVvvv, kindX}, {inRM, kindG}},
	rvmXXX:   {{inReg, kindX}, {inVvvv, kindX}, {inRM, kindX}},
	rvmiVVVV: {{inReg, kindV}, {inVvvv, kindV}, {inRM, kindV}, {inImm, kindV}},
	rvmxVVVX: {{inReg, kindV}, {inVvvv, kindV}, {inRM, kindV}, {isXMM0, kindX}},
	vmVV:     {{inVvvv, kindV}, {inRM, kindV}},
}
