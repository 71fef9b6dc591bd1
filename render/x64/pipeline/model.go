// Package pipeline estimates the time of machine code: a model of the execution ports and latencies of the Intel cores with AVX-512
// since about 2019, with throughputs measured on Sapphire Rapids. It ignores caches and branch mispredictions.
package pipeline

import "polygrad/render/x64/asm"

// ports is a set of execution ports.
type ports uint8

// The vector ports (p1 is closed to vectors while 512-bit instructions run), and the other ports of general registers.
const (
	p0 ports = 1 << iota
	p1
	p5
	p6
	pA // the port 10 of later cores
)

// unit is the resources of an instruction besides its loads and stores.
type unit struct {
	ports   ports   // with vectors of 256 bits at most
	wide    ports   // with 512 bits; 0 if that follows from ports
	uops    float64 // on those ports
	latency float64 // from register to register
	divider float64 // cycles for which the divider is busy, up to 256 bits
}

// A class of instructions: each line covers the operations from the first to the last.
type class struct {
	from, to asm.Op
	unit
}

const (
	general = p0 | p1 | p5 | p6 | pA
	vector  = p0 | p1 | p5
	float   = p0 | p1 // with 512 bits, p0 and p5
)

// table is searched from the end: later lines are exceptions from earlier ones.
var table = []class{
	{asm.LABEL, asm.MOVE, unit{}},
	{asm.MOV, asm.BT, unit{general, 0, 1, 1, 0}},
	{asm.LEA, asm.LEA, unit{p0 | p1 | p5 | p6, 0, 1, 1, 0}},
	{asm.IMUL, asm.MUL, unit{p1, 0, 1, 3, 0}},
	{asm.IDIV, asm.DIV, unit{p1, 0, 4, 14, 6}},
	{asm.SHL, asm.SARX, unit{p0 | p6, 0, 1, 1, 0}},
	{asm.POPCNT, asm.POPCNT, unit{p1, 0, 1, 3, 0}},
	{asm.SETO, asm.CMOVG, unit{p0 | p6, 0, 1, 1, 0}},
	{asm.JO, asm.JMP, unit{p6 | p0, 0, 1, 1, 0}},
	{asm.RET, asm.SFENCE, unit{p6, 0, 1, 1, 0}},
	{asm.PREFETCHT0, asm.PREFETCHT0, unit{}},

	{asm.VADDPS, asm.VSQRTPH, unit{float, 0, 1, 4, 0}},
	{asm.VDIVPS, asm.VDIVSD, unit{p0, 0, 1, 11, 5}},
	{asm.VDIVPD, asm.VDIVPD, unit{p0, 0, 1, 13, 8}},
	{asm.VDIVPH, asm.VDIVPH, unit{p0, 0, 1, 15, 8}},
	{asm.VSQRTPH, asm.VSQRTPH, unit{p0, 0, 1, 16, 9}},
	{asm.VSQRTPS, asm.VSQRTSD, unit{p0, 0, 1, 12, 6}},
	{asm.VSQRTPD, asm.VSQRTPD, unit{p0, 0, 1, 18, 9}},
	{asm.VANDPS, asm.VXORPD, unit{vector, 0, 1, 1, 0}},
	{asm.VCMPPS, asm.VCMPSD, unit{float, 0, 1, 3, 0}},
	{asm.VROUNDPS, asm.VRNDSCALESD, unit{float, 0, 2, 8, 0}},
	{asm.VUCOMISS, asm.VUCOMISD, unit{p0, 0, 1, 3, 0}},

	{asm.VMOVAPS, asm.VMOVMSKPD, unit{vector, 0, 1, 1, 0}},
	{asm.VMOVD, asm.VMOVQ, unit{p0 | p5, 0, 1, 3, 0}},
	{asm.VMOVDDUP, asm.VMOVDDUP, unit{p1 | p5, 0, 1, 1, 0}},
	{asm.VMASKMOVPS, asm.VMASKMOVPD, unit{vector, 0, 1, 3, 0}},
	{asm.VMOVMSKPS, asm.VMOVMSKPD, unit{p0, 0, 1, 4, 0}},

	{asm.VBROADCASTSS, asm.VPBROADCASTQ, unit{p5, 0, 1, 3, 0}},
	{asm.VUNPCKLPS, asm.VUNPCKHPD, unit{p5, 0, 1, 1, 0}},
	{asm.VSHUFPS, asm.VSHUFPS, unit{p1 | p5, 0, 1, 1, 0}},
	{asm.VSHUFF32X4, asm.VPERMQ, unit{p5, 0, 1, 3, 0}},
	{asm.VPERMT2PS, asm.VEXTRACTI64X4, unit{p5, 0, 1, 3, 0}},
	{asm.VBLENDPS, asm.VBLENDMPD, unit{vector, 0, 1, 1, 0}},
	{asm.VBLENDVPS, asm.VBLENDVPD, unit{vector, 0, 3, 3, 0}},
	{asm.VGATHERDPS, asm.VSCATTERQPD, unit{vector, 0, 5, 20, 0}},

	{asm.VCVTDQ2PS, asm.VDPBF16PS, unit{float, 0, 1, 4, 0}},
	{asm.VCVTDQ2PD, asm.VCVTDQ2PD, unit{float, 0, 2, 7, 0}},
	{asm.VCVTPS2PD, asm.VCVTPS2PH, unit{float, 0, 2, 7, 0}},

	{asm.VPADDB, asm.VPTERNLOGQ, unit{vector, 0, 1, 1, 0}},
	{asm.VPMULLW, asm.VPMULDQ, unit{float, 0, 1, 5, 0}},
	{asm.VPMULLD, asm.VPMULLD, unit{float, 0, 2, 10, 0}},
	{asm.VPMULLQ, asm.VPMULLQ, unit{float, 0, 3, 15, 0}},
	{asm.VPSADBW, asm.VPSADBW, unit{p5, 0, 1, 3, 0}},
	{asm.VPSLLW, asm.VPSRAVQ, unit{float, p0, 1, 1, 0}},
	{asm.VPSLLDQ, asm.VPSRLDQ, unit{p1 | p5, 0, 1, 1, 0}},
	{asm.VPMINSB, asm.VPABSQ, unit{float, p0, 1, 1, 0}},
	{asm.VPMINSQ, asm.VPMINSQ, unit{float, 0, 2, 3, 0}},
	{asm.VPCMPEQB, asm.VPTESTMQ, unit{float, 0, 1, 2, 0}},
	{asm.VPMOVZXBD, asm.VPMOVSXDQ, unit{p5, 0, 1, 3, 0}},
	{asm.VPMOVDB, asm.VPMOVQD, unit{p1 | p5, 0, 2, 4, 0}},
	{asm.VPSHUFD, asm.VPUNPCKLQDQ, unit{p1 | p5, 0, 1, 1, 0}},
	{asm.VPDPBUSD, asm.VPDPBUSD, unit{float, 0, 1, 5, 0}},
	{asm.VZEROUPPER, asm.VZEROUPPER, unit{general, 0, 4, 1, 0}},

	{asm.KMOVB, asm.KNOTW, unit{p0, 0, 1, 1, 0}},
	{asm.LDTILECFG, asm.LDTILECFG, unit{general, 0, 20, 20, 0}},
	{asm.TILERELEASE, asm.TILESTORED, unit{general, 0, 8, 20, 0}},
	{asm.TDPBF16PS, asm.TDPBUUD, unit{p5, 0, 16, 52, 0}},
}

// units has the line of the table for each operation.
var units = func() []unit {
	u := make([]unit, asm.TDPBUUD+1)
	for _, c := range table {
		for op := c.from; op <= c.to; op++ {
			u[op] = c.unit
		}
	}
	return u
}()

// Latencies of loads and stores.
const (
	loadLatency    = 5 // to general registers
	vectorLatency  = 7 // to vectors
	forwardLatency = 5 // from a store to a load of the same place
)

// copies reports whether inst is a register copy or zeroing that needs no execution port.
func copies(inst *asm.Inst) (copied, zero bool) {
	if !inst.Mem.None() || inst.Mask != 0 || inst.Dst == 0 {
		return false, false
	}
	s := inst.Src[0]
	switch op := inst.Op; {
	case op == asm.MOV || op >= asm.VMOVAPS && op <= asm.VMOVUPD || op >= asm.VMOVDQA && op <= asm.VMOVDQU8 || op == asm.MOVE:
		return s.Class() == inst.Dst.Class(), false
	case op == asm.XOR || op == asm.SUB:
		return false, s == inst.Dst && inst.Src[1] == 0
	case op == asm.VXORPS || op == asm.VXORPD || op >= asm.VPXOR && op <= asm.VPXORQ:
		return false, s == inst.Src[1] && s != 0
	}
	return false, false
}

// memory is the number of loads and stores of inst.
func memory(inst *asm.Inst) (loads, stores float64) {
	if inst.Mem.None() || inst.Op == asm.LEA {
		return 0, 0
	}
	n := 1.0
	if inst.Op.WritesMask() { // one for each lane
		n = float64(inst.Size) / 4
	}
	if inst.Stores() {
		return 0, n
	}
	return n, 0
}

// moves reports whether inst only loads or stores.
func moves(inst *asm.Inst) bool {
	if inst.Mem.None() {
		return false
	}
	switch op := inst.Op; {
	case op >= asm.MOV && op <= asm.MOVSXD, op >= asm.VMOVAPS && op <= asm.VMOVQ,
		op >= asm.VBROADCASTSS && op <= asm.VPBROADCASTQ, op >= asm.KMOVB && op <= asm.KMOVQ,
		op == asm.PREFETCHT0:
		return inst.Mask == 0 || inst.Stores() || inst.Zero
	}
	return false
}

// unitOf is the resources of inst.
func unitOf(inst *asm.Inst) unit {
	u := units[inst.Op]
	if inst.Dst.Class() == asm.Mask && inst.Src[0].Class() == asm.Vec {
		// Comparisons into masks are done by one port.
		return unit{p5, p5, 1, 3, 0}
	}
	if inst.Size == 64 && (inst.Dst.Class() == asm.Vec || inst.Src[0].Class() == asm.Vec) {
		switch {
		case u.wide != 0:
			u.ports = u.wide
		case u.ports&float == float:
			u.ports = p0 | p5
		default:
			u.ports &^= p1
		}
		u.divider *= 2
	}
	return u
}
