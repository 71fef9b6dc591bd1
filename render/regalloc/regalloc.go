// Package regalloc assigns registers to straight code with nested loops, for any instruction set that a Machine describes.
//
// It is a linear scan over the code which keeps, for each register, the virtual register it holds. An operand that is in
// no register is reloaded from its spill slot (or rematerialised, or read from the slot by the instruction itself);
// where no register is free, the live range whose next use is furthest is spilled, and uses behind the end of a loop
// count as further than any inside. At the back edge of a loop its variables return to the registers that they had at
// its head. A live range that goes through a loop without a use and has no room there is taken out of the loop's entry
// state after the fact, and stored before the outermost loop where that is possible: so inner loops are free of spills
// as long as what they use themselves fits. A copy whose source ends there is coalesced: the target takes over the
// register.
package regalloc

import "fmt"

// RegClass is what the allocator may use of a register file.
type RegClass struct {
	// Regs are the registers that may be given away, in order of preference.
	Regs []Reg
	// NoSpill says that they cannot be stored to the frame.
	NoSpill bool
}

// Code is a function before allocation. It is straight but for loops, which run at least once, and conditional branches
// forward that skip code of their own loop, properly nested.
//
// Virtual registers may be written more than once. A physical register in it is an argument, which is free after the last
// instruction that reads it, or one that no class lists.
type Code[I comparable] struct {
	Insts   []I
	Machine Machine[I]
	// Classes are indexed by Class.
	Classes [classes]RegClass
	// Reserved is how many bytes at the beginning of the frame are the caller's.
	Reserved int32
	// Check has the result verified.
	Check bool
}

// Result is a function after allocation, with physical registers only.
type Result[I comparable] struct {
	Insts []I
	// Frame is how many bytes at the frame's address are used.
	Frame int32
	// Spills counts the loads, stores and moves that were added, weighted with 10 to the power of their depth in loops.
	Spills float64

	// With Code.Check: origin has for each instruction its number in Code.Insts, or -1-k for added[k].
	origin []int32
	added  []added
	folded []folded
}

// added is an instruction that the allocator added: a move, load, store or rematerialisation.
type added struct {
	to, from Reg   // none for a spill slot
	size     uint8 // in bytes
	remat    int32 // the number of the instruction in Code.Insts that is made again, or none
	offset   int32 // of the slot in the frame
}

// folded says that an instruction of Code.Insts reads an operand from the slot at offset, or as the constant that
// instruction remat makes.
type folded struct {
	inst   int32
	at     uint8
	remat  int32
	offset int32 // in the frame; the interval before emit
}

// Alloc gives every virtual register of c physical ones. It may change the order of c.Insts.
func (a *Allocator[I]) Alloc(c *Code[I]) (Result[I], error) {
	defer func() { a.c, a.m = nil, nil }()
	a.m = c.Machine
	if err := a.read(c); err != nil {
		return Result[I]{}, err
	}
	if a.relievePressure() {
		if err := a.read(c); err != nil {
			return Result[I]{}, err
		}
	}
	if err := a.scan(); err != nil {
		return Result[I]{}, err
	}
	r := a.emit()
	if c.Check {
		if err := verify(c, &r); err != nil {
			return Result[I]{}, err
		}
	}
	return r, nil
}

func errorAt[I comparable](c *Code[I], i int, format string, args ...any) error {
	return fmt.Errorf("regalloc: instruction %d, %v: %s", i, &c.Insts[i], fmt.Sprintf(format, args...))
}
