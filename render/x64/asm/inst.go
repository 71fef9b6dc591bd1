// Package asm is an assembler for x86-64: instructions as data, their encodings as a table.
//
// An Inst names an operation of the table in ops.go, its registers, and at most one memory operand. Registers may be
// virtual until a register allocator has replaced them; a Coder takes physical ones only.
package asm

// Class is a register file.
type Class uint8

const (
	GP   Class = iota + 1 // RAX … R15
	Vec                   // XMM/YMM/ZMM 0 … 31; Inst.Size says how much of it is meant
	Mask                  // k0 … k7
	Tile                  // TMM0 … TMM7
)

// Reg is a register: a class and a number. Numbers below 32 are physical, others virtual. The zero Reg is none.
type Reg uint32

const firstVirtual = 32

// Phys is a physical register.
func Phys(c Class, n int) Reg { return Reg(c)<<24 | Reg(n) }

// Virt is the n-th virtual register of a class.
func Virt(c Class, n int) Reg { return Reg(c)<<24 | Reg(n+firstVirtual) }

// Class is the register file of r, 0 for none.
func (r Reg) Class() Class { return Class(r >> 24) }

// Num is the number of a physical register, or that of a virtual one among the virtual ones.
func (r Reg) Num() int {
	n := int(r & (1<<24 - 1))
	if n >= firstVirtual {
		n -= firstVirtual
	}
	return n
}

// Virtual reports whether r has no place in the processor yet.
func (r Reg) Virtual() bool { return r&(1<<24-1) >= firstVirtual }

// The general registers.
const (
	RAX Reg = Reg(GP)<<24 + iota
	RCX
	RDX
	RBX
	RSP
	RBP
	RSI
	RDI
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
)

// Mem is the operand [Base + Index*Scale + Disp], or, if Pool is not 0, the constant number Pool of the code's pool
// (addressed relative to the instruction; Disp is added).
type Mem struct {
	Base, Index Reg
	// Scale is 1, 2, 4 or 8 where there is an index. The index of a gather is a vector register.
	Scale uint8
	Disp  int32
	Pool  int32
}

// None reports whether there is no memory operand.
func (m *Mem) None() bool { return m.Base == 0 && m.Index == 0 && m.Pool == 0 }

// Label is a place in the code, from 1; 0 is none.
type Label int32

// Inst is one instruction. Dst is its destination (which some operations read, too: Op.ReadsDst), Src its sources, in
// the order of Intel's manual after the destination. Mem, if there is one, stands for the last source, or
// for the destination of operations that write memory (Op.Stores).
type Inst struct {
	Op Op
	// Size is how many bytes of its registers an instruction works on: 4 or 8 for general registers, 16, 32 or 64 for
	// vectors. Scalar floating point has 16.
	Size uint8
	Dst  Reg
	Src  [3]Reg
	Mem  Mem
	// Mask is the mask register that chooses lanes, none for all of them. The other lanes of the destination
	// become 0 with Zero, and keep what they held without.
	Mask Reg
	Zero bool
	// Bcast: Mem is one element, broadcast to all lanes.
	Bcast bool
	Imm   int64
	// To is the target of a jump, or the place that a LABEL marks.
	To Label
}
