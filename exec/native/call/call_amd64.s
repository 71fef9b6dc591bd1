#include "textflag.h"

// func Call(code, args, frame uintptr)
//
// Go's older calling convention, which assembly has, lets a function change all registers: the wrapper that Go code
// calls loads R14 (the goroutine) and X15 (zero) again, and the frame that the assembler makes here saves RBP. A signal
// that finds other values in them does no harm: Go's handlers take the goroutine from the thread.
TEXT ·Call(SB), NOSPLIT, $8-24
	MOVQ code+0(FP), AX
	MOVQ args+8(FP), DI
	MOVQ frame+16(FP), SI
	CALL AX
	RET
