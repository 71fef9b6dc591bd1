package regalloc

import "polygrad/render/x64/asm"

// idiom reports whether inst is a way to write 0 or all ones that names registers as sources without reading them.
func idiom(inst *asm.Inst) bool {
	d, s := inst.Dst, inst.Src[0]
	if d == 0 || s == 0 || inst.Mask != 0 || !inst.Mem.None() || s != d && !d.Virtual() {
		return false
	}
	switch inst.Op {
	case asm.XOR:
		return s == d && inst.Src[1] == 0
	case asm.VXORPS, asm.VXORPD, asm.VPXOR, asm.VPXORD, asm.VPXORQ, asm.VPCMPEQB, asm.VPCMPEQW, asm.VPCMPEQD, asm.VPCMPEQQ:
		return s == inst.Src[1] && d.Class() == asm.Vec
	case asm.VPTERNLOGD, asm.VPTERNLOGQ:
		return s == d && s == inst.Src[1] && (inst.Imm&0xff == 0xff || inst.Imm&0xff == 0)
	case asm.KXORB, asm.KXORW, asm.KXORD, asm.KXORQ, asm.KXNORB, asm.KXNORW, asm.KXNORD, asm.KXNORQ:
		return s == inst.Src[1]
	}
	return false
}

// fromNothing reports whether inst can be repeated anywhere: it has no registers as sources, reads at most a constant,
// and leaves the flags alone (which an idiom of a general register does once remade has made it a MOV).
func fromNothing(inst *asm.Inst) bool {
	if idiom(inst) {
		return true
	}
	return inst.Src == [3]asm.Reg{} && inst.Mask == 0 && (inst.Mem.None() || inst.Mem.Base == 0 && inst.Mem.Index == 0) &&
		!inst.ReadsDst() && !inst.Op.SetsFlags() && !inst.Op.UsesFlags()
}

// remade is the instruction def with the destination r.
func remade(def *asm.Inst, r asm.Reg) asm.Inst {
	if def.Op == asm.XOR {
		return asm.Inst{Op: asm.MOV, Size: 4, Dst: r}
	}
	inst := *def
	inst.Dst = r
	if idiom(def) {
		for k := range inst.Src {
			if inst.Src[k] != 0 {
				inst.Src[k] = r
			}
		}
	}
	return inst
}

// moves are the operations that copy, load and store a register.
var moves = [classes]asm.Op{asm.GP: asm.MOV, asm.Vec: asm.VMOVAPS, asm.Mask: asm.KMOVQ}

// moveInst copies the first size bytes of a register.
func moveInst(to, from asm.Reg, size uint8) asm.Inst {
	return asm.Inst{Op: moves[to.Class()], Size: size, Dst: to, Src: [3]asm.Reg{from}}
}

// loadInst reads a register from the frame; write fills in where.
func loadInst(r asm.Reg, size uint8) asm.Inst {
	return asm.Inst{Op: moves[r.Class()], Size: size, Dst: r, Mem: asm.Mem{Base: asm.RBP}}
}

// storeInst writes a register to the frame.
func storeInst(r asm.Reg, size uint8) asm.Inst {
	return asm.Inst{Op: moves[r.Class()], Size: size, Src: [3]asm.Reg{r}, Mem: asm.Mem{Base: asm.RBP}}
}

// constant is the memory operand by which inst can read what def loads from the pool of constants.
func constant(def *asm.Inst, size uint8, elem int) (mem asm.Mem, bcast, ok bool) {
	if def.Mem.Pool == 0 || def.Bcast {
		return asm.Mem{}, false, false
	}
	switch def.Op {
	case asm.VMOVAPS, asm.VMOVAPD, asm.VMOVDQA, asm.VMOVDQA32, asm.VMOVDQA64:
		return def.Mem, false, def.Size >= size
	case asm.VMOVSS, asm.VMOVSD, asm.MOV, asm.VMOVD, asm.VMOVQ:
		return def.Mem, false, false
	case asm.VBROADCASTSS, asm.VPBROADCASTD:
		return def.Mem, true, elem == 4 && def.Size >= size
	case asm.VBROADCASTSD, asm.VPBROADCASTQ:
		return def.Mem, true, elem == 8 && def.Size >= size
	}
	return asm.Mem{}, false, false
}

// exchanged is inst with its two sources in each other's place, if there is such an instruction.
func exchanged(inst *asm.Inst) (asm.Inst, bool) {
	x := *inst
	x.Src[0], x.Src[1] = inst.Src[1], inst.Src[0]
	if x.Src[0] == 0 || x.Src[1] == 0 || x.Src[2] != 0 || x.Dst.Class() != asm.Vec || !x.Mem.None() {
		return x, false
	}
	if op := inst.Op; op >= asm.VFMADD132PS && op <= asm.VFNMSUB231SD {
		// Four types each of 132 (Dst*Src[1] + Src[0]), 213 (Src[0]*Dst + Src[1]) and 231 (Src[0]*Src[1] + Dst).
		switch (op - asm.VFMADD132PS) % 12 / 4 {
		case 0:
			x.Op += 4
		case 1:
			x.Op -= 4
		}
		return x, true
	}
	return x, commutes(inst.Op)
}
