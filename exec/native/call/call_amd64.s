#include "textflag.h"

// func Call(code, args, frame uintptr)
//
// Go's older calling convention, which assembly has, lets a function change all registers: the wrapper that Go code
// calls loads R14 (the goroutine) and X15 (zero) again, and the frame that the assembler makes here saves RBP. A signal
// that finds other values in them does no harm: Go's handlers take the goroutine from the thread.
//
// Whatever the host has set for floats (rounding, subnormal numbers as zero, traps), the code runs as everywhere, and
// the host finds it as it was. Setting is slower than looking, so that comes first.
TEXT ·Call(SB), NOSPLIT, $24-24
	MOVQ code+0(FP), AX
	MOVQ args+8(FP), DI
	MOVQ frame+16(FP), SI
	STMXCSR host-8(SP)
	MOVL host-8(SP), CX
	ANDL $0xffc0, CX
	CMPL CX, $0x1f80
	JNE  other
	CALL AX
	RET

other:
	MOVL $0x1f80, usual-16(SP)
	LDMXCSR usual-16(SP)
	CALL AX
	LDMXCSR host-8(SP)
	RET
