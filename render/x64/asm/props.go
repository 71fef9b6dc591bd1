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
	if o < numOps && ends[o] != 0 {
		return rows[starts[o]].mnemonic
	}
	return fmt.Sprintf("op%d", uint16(o))
}

func (o Op) has(t traits) bool { return o < numOps && props[o]&t != 0 }

// Branch reports whether o may continue elsewhere than at the next instruction, at Inst.To.
func (o Op) Branch() bool { return o.has(branch) }

// ReadsDst reports whether o reads Dst before it writes it. Inst.ReadsDst knows of masks, too.
func (o Op) ReadsDst() bool { return o.has(readsDst) }

// Stores reports whether o can write memory: it does if it has Mem and no Dst.
func (o Op) Stores() bool { return o.has(stores) }

// SetsFlags reports whether o changes the flags.
func (o Op) SetsFlags() bool { return o.has(setsFlags) }

// UsesFlags reports whether o depends on the flags.
func (o Op) UsesFlags() bool { return o.has(usesFlags) }

// Needs is the extension of the processor that o belongs to, 0 if it comes with its level.
func (o Op) Needs() Extension {
	if o >= numOps || ends[o] == 0 {
		return 0
	}
	return Extension(rows[starts[o]].traits >> extShift & 15)
}

// WritesMask reports whether o, a gather or scatter, clears its Mask as it goes.
func (o Op) WritesMask() bool { return o.has(vsib) }

// Stores reports whether i writes its memory operand.
func (i *Inst) Stores() bool { return i.Dst == 0 && !i.Mem.None() && i.Op.Stores() }

// ReadsDst reports whether i depends on the old contents of Dst.
func (i *Inst) ReadsDst() bool {
	return i.Dst != 0 && (i.Op.ReadsDst() || i.Mask != 0 && !i.Zero && i.Dst.Class() == Vec && !i.Op.has(selects))
}
