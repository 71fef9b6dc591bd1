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
	inBoth                    // ModRM.reg and vvvv
)

// kind is what an operand is, and how wide.
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
	kindE             // an eighth
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
// x xmm0, b both) and then their kinds, Dst first.
type shape uint8

const (
	bmGG shape = iota
	mA
	mB
	mG
	mW
	mcGB
	mrBB
	mrDX
	mrEV
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
	nmQ
	nmrGG
	noQ
	none
	nrmGG
	nrmKK
	nrmVV
	nrmXX
	oG
	oQ
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
	rmKV
	rmQD
	rmQK
	rmTT
	rmVD
	rmVE
	rmVF
	rmVH
	rmVK
	rmVQ
	rmVV
	rmVX
	rmXD
	rmXQ
	rmXX
	rmvGGG
	rmvTTT
	rvmGGG
	rvmHHV
	rvmKKK
	rvmKVV
	rvmKXX
	rvmVVH
	rvmVVV
	rvmVVX
	rvmXXD
	rvmXXG
	rvmXXQ
	rvmXXX
	rvmiVVVV
	rvmxVVVX
	vmVV

	numShapes
)

// shapes are the operands of each shape: Dst and the three of Src.
var shapes = [numShapes][4]operand{
	bmGG:     {{inBoth, kindG}, {inRM, kindG}},
	mA:       {{inRM, kindA}},
	mB:       {{inRM, kindB}},
	mG:       {{inRM, kindG}},
	mW:       {{inRM, kindW}},
	mcGB:     {{inRM, kindG}, {isCL, kindB}},
	mrBB:     {{inRM, kindB}, {inReg, kindB}},
	mrDX:     {{inRM, kindD}, {inReg, kindX}},
	mrEV:     {{inRM, kindE}, {inReg, kindV}},
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
	nmQ:      {{}, {inRM, kindQ}},
	nmrGG:    {{}, {inRM, kindG}, {inReg, kindG}},
	noQ:      {{}, {inOpcode, kindQ}},
	none:     {},
	nrmGG:    {{}, {inReg, kindG}, {inRM, kindG}},
	nrmKK:    {{}, {inReg, kindK}, {inRM, kindK}},
	nrmVV:    {{}, {inReg, kindV}, {inRM, kindV}},
	nrmXX:    {{}, {inReg, kindX}, {inRM, kindX}},
	oG:       {{inOpcode, kindG}},
	oQ:       {{inOpcode, kindQ}},
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
	rmKV:     {{inReg, kindK}, {inRM, kindV}},
	rmQD:     {{inReg, kindQ}, {inRM, kindD}},
	rmQK:     {{inReg, kindQ}, {inRM, kindK}},
	rmTT:     {{inReg, kindT}, {inRM, kindT}},
	rmVD:     {{inReg, kindV}, {inRM, kindD}},
	rmVE:     {{inReg, kindV}, {inRM, kindE}},
	rmVF:     {{inReg, kindV}, {inRM, kindF}},
	rmVH:     {{inReg, kindV}, {inRM, kindH}},
	rmVK:     {{inReg, kindV}, {inRM, kindK}},
	rmVQ:     {{inReg, kindV}, {inRM, kindQ}},
	rmVV:     {{inReg, kindV}, {inRM, kindV}},
	rmVX:     {{inReg, kindV}, {inRM, kindX}},
	rmXD:     {{inReg, kindX}, {inRM, kindD}},
	rmXQ:     {{inReg, kindX}, {inRM, kindQ}},
	rmXX:     {{inReg, kindX}, {inRM, kindX}},
	rmvGGG:   {{inReg, kindG}, {inRM, kindG}, {inVvvv, kindG}},
	rmvTTT:   {{inReg, kindT}, {inRM, kindT}, {inVvvv, kindT}},
	rvmGGG:   {{inReg, kindG}, {inVvvv, kindG}, {inRM, kindG}},
	rvmHHV:   {{inReg, kindH}, {inVvvv, kindH}, {inRM, kindV}},
	rvmKKK:   {{inReg, kindK}, {inVvvv, kindK}, {inRM, kindK}},
	rvmKVV:   {{inReg, kindK}, {inVvvv, kindV}, {inRM, kindV}},
	rvmKXX:   {{inReg, kindK}, {inVvvv, kindX}, {inRM, kindX}},
	rvmVVH:   {{inReg, kindV}, {inVvvv, kindV}, {inRM, kindH}},
	rvmVVV:   {{inReg, kindV}, {inVvvv, kindV}, {inRM, kindV}},
	rvmVVX:   {{inReg, kindV}, {inVvvv, kindV}, {inRM, kindX}},
	rvmXXD:   {{inReg, kindX}, {inVvvv, kindX}, {inRM, kindD}},
	rvmXXG:   {{inReg, kindX}, {inVvvv, kindX}, {inRM, kindG}},
	rvmXXQ:   {{inReg, kindX}, {inVvvv, kindX}, {inRM, kindQ}},
	rvmXXX:   {{inReg, kindX}, {inVvvv, kindX}, {inRM, kindX}},
	rvmiVVVV: {{inReg, kindV}, {inVvvv, kindV}, {inRM, kindV}, {inImm, kindV}},
	rvmxVVVX: {{inReg, kindV}, {inVvvv, kindV}, {inRM, kindV}, {isXMM0, kindX}},
	vmVV:     {{inVvvv, kindV}, {inRM, kindV}},
}
