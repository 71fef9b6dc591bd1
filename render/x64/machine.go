package x64

import (
	"sync"

	"polygrad/render/regalloc"
	"polygrad/render/x64/asm"
)

// machine describes x86-64 to the register allocator.
//
// Physical registers in selected code are RDI or RSI (arguments, until they are copied), RBP (the frame), or one of the temporaries
// within one operation: RAX, RCX, RDX and k0.
type machine struct {
	encodings asm.Encodings
	// coder has the constants, nil if there are to be no more.
	coder *asm.Coder
}

var allocators = sync.Pool{New: func() any { return new(regalloc.Allocator[asm.Inst]) }}

// allocate gives the instructions physical registers.
func allocate(c *regalloc.Code[asm.Inst]) (regalloc.Result[asm.Inst], error) {
	a := allocators.Get().(*regalloc.Allocator[asm.Inst])
	defer allocators.Put(a)
	r, err := a.Alloc(c)
	if err == nil && c.Machine.(machine).legacy() {
		twoAddress(&r)
	}
	return r, err
}

func (m machine) legacy() bool { return m.encodings&(asm.VEX|asm.EVEX) == 0 }

// classes are the allocatable registers.
func (f Features) classes() (c [5]regalloc.RegClass) {
	for _, r := range [...]asm.Reg{asm.RBX, asm.RSI, asm.RDI, asm.R8, asm.R9, asm.R10, asm.R11, asm.R12, asm.R13, asm.R14, asm.R15} {
		c[asm.GP].Regs = append(c[asm.GP].Regs, regalloc.Reg(r))
	}
	for n := range f.vectors() {
		c[asm.Vec].Regs = append(c[asm.Vec].Regs, regalloc.Phys(regalloc.Class(asm.Vec), n))
	}
	if f.AVX512 {
		for n := 1; n < 8; n++ {
			c[asm.Mask].Regs = append(c[asm.Mask].Regs, regalloc.Phys(regalloc.Class(asm.Mask), n))
		}
	}
	c[asm.Tile].NoSpill = true
	return c
}

// The numbers of operands.
const (
	atSrc  = iota
	atBase = iota + 2
	atIndex
	atMask
	atDst
)

func (m machine) Operands(inst *asm.Inst, ops []regalloc.Operand) []regalloc.Operand {
	add := func(r asm.Reg, at int, reads, writes, early bool) {
		if r == 0 {
			return
		}
		size := min(inst.Size, 8)
		if r.Class() == asm.Vec {
			size = max(inst.Size, 16)
		}
		ops = append(ops, regalloc.Operand{Reg: regalloc.Reg(r), At: uint8(at), Size: size, Reads: reads, Writes: writes, Early: early})
	}
	zero := zeroIdiom(inst)
	clears := inst.Op.WritesMask() // a gather's mask
	if !zero {
		for k, r := range inst.Src {
			add(r, atSrc+k, true, false, false)
		}
	}
	add(inst.Mem.Base, atBase, true, false, false)
	add(inst.Mem.Index, atIndex, true, false, false)
	add(inst.Mask, atMask, true, clears, clears)
	add(inst.Dst, atDst, inst.ReadsDst() && !zero, true, clears)
	return ops
}

func (m machine) Assign(inst *asm.Inst, at uint8, r regalloc.Reg) {
	reg := asm.Reg(r)
	switch at {
	case atBase:
		inst.Mem.Base = reg
	case atIndex:
		inst.Mem.Index = reg
	case atMask:
		inst.Mask = reg
	case atDst:
		if zeroIdiom(inst) {
			for k := range inst.Src {
				if inst.Src[k] != 0 {
					inst.Src[k] = reg
				}
			}
		}
		inst.Dst = reg
	default:
		inst.Src[at-atSrc] = reg
	}
}

func (m machine) Effects(inst *asm.Inst) regalloc.Effects {
	var e regalloc.Effects
	switch op := inst.Op; {
	case op == asm.LOOP:
		return regalloc.LoopBegin
	case op == asm.ENDLOOP:
		return regalloc.LoopEnd
	case op == asm.LABEL:
		return regalloc.Label
	case op == asm.MOVE:
		return regalloc.Copy
	case op.Branch():
		e = regalloc.Branch
		if op == asm.JMP {
			e |= regalloc.Jump
		}
	case op == asm.ALIGN || op == asm.RET || inst.Dst == 0 && inst.Mem.None():
		e = regalloc.Pinned
	}
	if inst.Op.SetsFlags() {
		e |= regalloc.SetsFlags
	}
	if inst.Op.UsesFlags() {
		e |= regalloc.ReadsFlags
	}
	if !inst.Mem.None() && inst.Mem.Pool == 0 && inst.Op != asm.LEA {
		if inst.Stores() {
			e |= regalloc.Stores
		} else {
			e |= regalloc.Loads
		}
	}
	return e
}

func (m machine) Label(inst *asm.Inst) int32 { return int32(inst.To) }

// moves are the operations that copy, load and store a register.
var moves = [...]asm.Op{asm.GP: asm.MOV, asm.Vec: asm.VMOVAPS, asm.Mask: asm.KMOVQ, asm.Tile: 0}

func (m machine) Move(to, from regalloc.Reg, size uint8) asm.Inst {
	inst := asm.Inst{Op: moves[max(to, from).Class()], Size: size, Dst: asm.Reg(to), Src: [3]asm.Reg{asm.Reg(from)}}
	if to == 0 || from == 0 {
		inst.Mem.Base = asm.RBP
	}
	return inst
}

func (m machine) Displace(inst *asm.Inst, offset int32) { inst.Mem.Disp = offset }

// zeroIdiom reports whether inst writes 0 or all ones without a dependence on its source registers.
func zeroIdiom(inst *asm.Inst) bool {
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

// Remat repeats instructions without source registers, with at most a constant, that leave the flags alone.
func (m machine) Remat(def *asm.Inst, r regalloc.Reg) (asm.Inst, bool) {
	inst := *def
	switch {
	case zeroIdiom(def):
		if def.Op == asm.XOR { // the idiom sets the flags
			return asm.Inst{Op: asm.MOV, Size: 4, Dst: asm.Reg(r)}, true
		}
		m.Assign(&inst, atDst, r)
		return inst, true
	case def.Src == [3]asm.Reg{} && def.Mask == 0 && (def.Mem.None() || def.Mem.Base == 0 && def.Mem.Index == 0) &&
		!def.ReadsDst() && !def.Op.SetsFlags() && !def.Op.UsesFlags():
		inst.Dst = asm.Reg(r)
		return inst, true
	}
	return inst, false
}

func (m machine) Fold(inst *asm.Inst, at uint8, def *asm.Inst) bool {
	if at >= atBase || inst.Src[at].Class() == asm.Mask {
		return false
	}
	if m.foldSource(inst, int(at), def) {
		return true
	}
	if other, ok := exchanged(inst); ok && at <= 1 && m.foldSource(&other, 1-int(at), def) {
		*inst = other
		return true
	}
	return false
}

// foldSource replaces a source by memory.
func (m machine) foldSource(inst *asm.Inst, k int, def *asm.Inst) bool {
	elem, ok := inst.TakesMem(k, m.encodings)
	if !ok {
		return false
	}
	mem, bcast := asm.Mem{Base: asm.RBP}, inst.Bcast
	if def != nil {
		if mem, bcast, ok = constantOperand(def, inst.Size, elem); !ok {
			if mem, ok = m.wholeConstant(def, inst.Size); !ok {
				return false
			}
			bcast = false
		}
	}
	inst.Src[k], inst.Mem, inst.Bcast = 0, mem, bcast
	return true
}

// constantOperand is the memory operand through which an instruction of that size can read def's constant from the pool.
func constantOperand(def *asm.Inst, size uint8, elem int) (mem asm.Mem, bcast, ok bool) {
	if def.Mem.Pool == 0 || def.Bcast {
		return asm.Mem{}, false, false
	}
	switch def.Op {
	case asm.VMOVAPS, asm.VMOVAPD, asm.VMOVDQA, asm.VMOVDQA32, asm.VMOVDQA64:
		return def.Mem, false, def.Size >= size
	case asm.VBROADCASTSS, asm.VPBROADCASTD:
		return def.Mem, true, elem == 4 && def.Size >= size
	case asm.VBROADCASTSD, asm.VPBROADCASTQ:
		return def.Mem, true, elem == 8 && def.Size >= size
	}
	return asm.Mem{}, false, false
}

// wholeConstant is a memory operand with the constant that def broadcasts in all lanes, for encodings without embedded broadcast.
func (m machine) wholeConstant(def *asm.Inst, size uint8) (asm.Mem, bool) {
	if m.coder == nil || m.encodings&asm.EVEX != 0 || def.Size < size || size < 16 {
		return asm.Mem{}, false
	}
	switch def.Op {
	case asm.VBROADCASTSS, asm.VPBROADCASTD, asm.VBROADCASTSD, asm.VPBROADCASTQ, asm.VMOVDDUP:
		if def.Mem.Pool != 0 {
			return asm.Mem{Pool: m.coder.Repeated(def.Mem.Pool, int(size))}, true
		}
	}
	return asm.Mem{}, false
}

// exchanged is inst with its two sources swapped, if there is such an instruction.
func exchanged(inst *asm.Inst) (asm.Inst, bool) {
	x := *inst
	x.Src[0], x.Src[1] = inst.Src[1], inst.Src[0]
	if x.Src[0] == 0 || x.Src[1] == 0 || x.Src[2] != 0 || x.Dst.Class() != asm.Vec || !x.Mem.None() {
		return x, false
	}
	if op := inst.Op; op >= asm.VFMADD132PS && op <= asm.VFNMADD231SD {
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
