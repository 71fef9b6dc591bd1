package regalloc

// Class is a register file, numbered from 1.
type Class uint8

const (
	classes = 5  // register files, with 0 for none
	nreg    = 32 // physical registers in each
)

// Reg is a register: its class in the high 8 bits, its number below. Numbers below 32 are physical, others virtual. The zero Reg
// is none.
type Reg uint32

// Phys is a physical register.
func Phys(c Class, n int) Reg { return Reg(c)<<24 | Reg(n) }

// Virt is the n-th virtual register of a class.
func Virt(c Class, n int) Reg { return Reg(c)<<24 | Reg(n+nreg) }

// Class is the register file of r, 0 for none.
func (r Reg) Class() Class { return Class(r >> 24) }

// Num is the number of a physical register, or the index of a virtual one.
func (r Reg) Num() int {
	if r.Virtual() {
		return int(r&(1<<24-1)) - nreg
	}
	return int(r & (1<<24 - 1))
}

// Virtual reports whether r is a virtual register.
func (r Reg) Virtual() bool { return r&(1<<24-1) >= nreg }

// Operand is a register of an instruction.
type Operand struct {
	Reg Reg
	// At identifies the operand, in the machine's numbering.
	At uint8
	// Size is the number of bytes in use.
	Size uint8
	// Reads and Writes are its accesses. An operand that is both read and written keeps its register.
	Reads, Writes bool
	// Early: it is written before all operands are read, so it must not share a register with a source.
	Early bool
}

// Effects are the effects of an instruction besides its registers.
type Effects uint16

// A loop is LoopBegin, Label, its body, a Branch to the label, LoopEnd.
const (
	LoopBegin Effects = 1 << iota
	LoopEnd
	Label
	Branch // may continue at a label depending on the flags; it has no registers
	Jump   // always jumps; with Branch
	Copy   // copies its first operand to its second, and nothing else
	ReadsFlags
	SetsFlags
	Loads // reads memory that other instructions may write
	Stores
	Pinned // must not be reordered
)

// Machine describes an instruction set, with instructions of type I, to the allocator. Physical registers outside of all classes
// are fixed operands: the allocator leaves them alone.
type Machine[I comparable] interface {
	// Operands appends the registers of an instruction to ops, the write-only ones last.
	Operands(inst *I, ops []Operand) []Operand
	// Assign sets the register of operand number at.
	Assign(inst *I, at uint8, r Reg)
	// Effects are the other effects of inst.
	Effects(inst *I) Effects
	// Label is the number of the label that inst is or branches to, from 1; 0 for none.
	Label(inst *I) int32
	// Move copies the first size bytes of a register. If to or from is none, it is a slot of the frame.
	Move(to, from Reg, size uint8) I
	// Displace sets the frame offset of an instruction of Move or Fold.
	Displace(inst *I, offset int32)
	// Remat repeats def with the result in r, if that is possible anywhere, without other registers or the flags.
	Remat(def *I, r Reg) (I, bool)
	// Fold makes an instruction read operand number at from a slot of the frame or, if def is not nil, as the constant of def, and
	// reports whether it could.
	Fold(inst *I, at uint8, def *I) bool
	// TwoAddress is for an instruction whose result should be in the register of its first source, first: elsewhere it costs a copy,
	// and in the register second, where the operands do not commute, more. Both are none where the result may be anywhere.
	TwoAddress(inst *I) (first, second Reg, commutes bool)
}
