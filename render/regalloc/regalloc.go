// Package regalloc gives straight code with nested loops its registers.
//
// One walk goes forward over the code and keeps, for each register, the value it holds. An operand that is in no
// register is brought back from the frame (or made again, or read there by the instruction itself); where no register
// is free, the value whose next use is furthest goes to the frame, and uses behind the end of a loop count as further
// than any inside. At the end of a loop its variables return to the registers that they had at its head. What a loop
// does not touch and has no room for is taken out of its head after the fact, and stored before the outermost loop
// where that is possible: so inner loops are free of spills as long as what they use themselves fits. A copy whose
// source ends there costs nothing: the target takes over the register.
package regalloc

import (
	"fmt"
	"sync"

	"polygrad/render/x64/asm"
)

// Limits are the registers that may be given away, by class and in order of preference.
type Limits struct {
	GP, Vec, Mask, Tile []asm.Reg
}

// Code is a function before allocation. It is straight but for loops, `LOOP n; LABEL top; …; Jcc top; ENDLOOP n`,
// which run at least once, and conditional jumps forward that skip code of their own loop, properly nested.
//
// Virtual registers may be written more than once. A physical register in it is RDI or RSI (arguments, until they are
// copied), RBP (the frame), or one that Regs has not; of the last only short sequences around one operation are made.
type Code struct {
	Insts []asm.Inst
	Regs  Limits
	// Reserved is how many bytes at the beginning of the frame are the caller's.
	Reserved int32
	// Encodings says how instructions may be encoded. With legacy encodings only, vector instructions of two sources
	// overwrite the first: the result has Dst equal to Src[0].
	Encodings asm.Encodings
}

// Result is a function after allocation, with physical registers only.
type Result struct {
	Insts []asm.Inst
	// Origin tells for each instruction the number of the one in Code.Insts that it comes from, or what it is for.
	Origin []int32
	// Frame is how many bytes at the frame's address are used.
	Frame int32
	// Spills counts the instructions that were added, weighted with 10 to the power of their depth in loops.
	Spills float64
}

// What Result.Origin has for instructions that were added.
const (
	// Moved is a copy between registers, or between a register and the frame.
	Moved int32 = -1
	// Remade - i makes again what instruction i of Code.Insts makes.
	Remade int32 = -2
)

var pool = sync.Pool{New: func() any { return new(alloc) }}

// Alloc gives every virtual register of c physical ones. It may change the order of c.Insts.
func Alloc(c *Code) (Result, error) {
	a := pool.Get().(*alloc)
	defer func() {
		a.c = nil
		pool.Put(a)
	}()
	if err := a.read(c); err != nil {
		return Result{}, err
	}
	if a.arrangeAll() {
		if err := a.read(c); err != nil {
			return Result{}, err
		}
	}
	if err := a.walk(); err != nil {
		return Result{}, err
	}
	r := a.write()
	if check {
		if err := Verify(c, &r); err != nil {
			return Result{}, err
		}
	}
	if c.legacy() {
		r.destructive()
	}
	return r, nil
}

func (c *Code) legacy() bool { return c.Encodings&(asm.VEX|asm.EVEX) == 0 }

func errorAt(c *Code, i int, format string, args ...any) error {
	return fmt.Errorf("regalloc: instruction %d, %s: %s", i, c.Insts[i].String(), fmt.Sprintf(format, args...))
}
