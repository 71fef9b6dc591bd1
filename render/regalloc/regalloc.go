// Package regalloc assigns registers to straight-line code with nested loops, for any instruction set with a Machine.
//
// It is a linear scan over the code with the current virtual register of each physical one. An operand that is not in a register
// is reloaded from its spill slot (or rematerialised, or read from the slot by the instruction itself). Where no register is
// free, the live range with the furthest next use is spilled; uses behind the end of a loop count as further than any inside.
// At the back edge of a loop its variables return to their registers at its head. A live range that passes through a loop
// without a use, and without room there, is removed from the loop's entry state after the fact, and stored before the outermost
// loop possible: so inner loops have no spills as long as their own values fit. A copy whose source ends there is coalesced:
// the target takes over the register.
package regalloc

import "fmt"

// RegClass is the allocatable part of a register file.
type RegClass struct {
	// Regs are the allocatable registers, in order of preference.
	Regs []Reg
	// NoSpill: they cannot be stored to the frame.
	NoSpill bool
}

// Code is a function before allocation. It is straight-line code with loops, which run at least once, and conditional forward
// branches over code of their own loop, properly nested.
//
// Virtual registers may be written more than once. A physical register is an argument, free after the last instruction that reads
// it, or one outside of all classes.
type Code[I comparable] struct {
	Insts   []I
	Machine Machine[I]
	// Classes are indexed by Class.
	Classes [classes]RegClass
	// Reserved is the size of the caller's area at the beginning of the frame, in bytes.
	Reserved int32
	// Interleaved: the order of the instructions overlaps long chains, and is worth more than constants in registers.
	Interleaved bool
	// Check verifies the result.
	Check bool
}

// Result is a function after allocation, with physical registers only.
type Result[I comparable] struct {
	Insts []I
	// Frame is the size of the frame in bytes.
	Frame int32
	// Spills counts the added loads, stores and moves, weighted with 10 to the power of their loop depth.
	Spills float64

	// With Code.Check: origin is for each instruction its number in Code.Insts, or -1-k for added[k].
	origin []int32
	added  []added
	folded []folded
}

// added is an instruction of the allocator: a move, load, store or rematerialisation.
type added struct {
	to, from Reg   // none for a spill slot
	size     uint8 // in bytes
	remat    int32 // the number of the instruction in Code.Insts to repeat, or none
	offset   int32 // of the slot in the frame
}

// folded: an instruction of Code.Insts reads an operand from the slot at offset, or as the constant of instruction remat.
type folded struct {
	inst   int32
	at     uint8
	remat  int32
	offset int32 // in the frame; the interval before emit
}

// Alloc replaces the virtual registers of c by physical ones. It may reorder c.Insts.
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
