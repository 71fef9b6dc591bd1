package regalloc

// Class is a register file, numbered from 1.
type Class uint8

const (
	classes = 5  // register files, with 0 for none
	nreg    = 32 // physical registers in each
)

// Reg is a register: its class in the high 8 bits, below them its number. Numbers below 32 are physical, others
// virtual. The zero Reg is none.
type Reg uint32

// Phys is a physical register.
func Phys(c Class, n int) Reg { return Reg(c)<<24 | Reg(n) }

// Virt is the n-th virtual register of a class.
func Virt(c Class, n int) Reg { return Reg(c)<<24 | Reg(n+nreg) }

// Class is the register file of r, 0 for none.
func (r Reg) Class() Class { return Class(r >> 24) }

// Num is the number of a physical register, or that of a virtual one among the virtual ones.
func (r Reg) Num() int {
	if r.Virtual() {
		return int(r&(1<<24-1)) - nreg
	}
	return int(r & (1<<24 - 1))
}

// Virtual reports whether r has no place in the processor yet.
func (r Reg) Virtual() bool { return r&(1<<24-1) >= nreg }

// Operand is a register of an instruction.
type Operand struct {
	Reg Reg
	// At says which operand it is, in a numbering of the machine.
	At uint8
	// Size is how many bytes of the register matter.
	Size uint8
	// Reads and Writes say what becomes of it. One that is both read and written keeps its register.
	Reads, Writes bool
	// Early says that it is written before everything is read: it must not share a register with a source.
	Early bool
}

// Effects are what an instruction does besides reading and writing registers.
type Effects uint16

// A loop is LoopBegin, Label, its body, a Branch to the label, LoopEnd.
const (
	LoopBegin Effects = 1 << iota
	LoopEnd
	Label
	Branch // may continue at a label; the flags decide, it has no registers
	Jump   // always does; with Branch
	Copy   // copies its first operand to its second, and nothing else
	ReadsFlags
	SetsFlags
	Loads // reads memory that something may write
	Stores
	Pinned // keeps its place among the other instructions
)

// Machine is what the allocator has to know of an instruction set whose instructions have type I. Physical registers
// that no Class lists are fixed operands: the allocator leaves them alone.
type Machine[I comparable] interface {
	// Operands appends the registers of an instruction to ops, those that are only written last.
	Operands(inst *I, ops []Operand) []Operand
	// Assign replaces the register of operand number at.
	Assign(inst *I, at uint8, r Reg)
	// Effects are the other things that inst does.
	Effects(inst *I) Effects
	// Label is the number of the label that inst is or branches to, from 1; 0 for none.
	Label(inst *I) int32
	// Move makes a copy of the first size bytes of a register. Where to or from is none, it is a slot of the frame.
	Move(to, from Reg, size uint8) I
	// Displace sets where in the frame the slot is that an instruction of Move or Fold has.
	Displace(inst *I, offset int32)
	// Remat makes what def makes in r instead, if that is possible anywhere, without other registers or the flags.
	Remat(def *I, r Reg) (I, bool)
	// Fold makes an instruction read operand number at from a slot of the frame or, if def is not nil, as the constant
	// that def makes, and reports whether it could.
	Fold(inst *I, at uint8, def *I) bool
	// TwoAddress is for an instruction whose result ought to be in the register of its first source, first: a result
	// elsewhere costs a copy, in the register second, where the two do not commute, more. Both are none where the
	// result may be anywhere.
	TwoAddress(inst *I) (first, second Reg, commutes bool)
}
