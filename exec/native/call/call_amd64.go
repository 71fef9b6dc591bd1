// Package call enters generated machine code from Go. It is a package of its own because Go's assembler and cgo
// cannot share one.
package call

// Call runs generated code on the stack of the goroutine, on args (RDI) and frame (RSI). The code may change every
// register but the stack pointer, and uses no more of the stack than its return address.
//
// It costs 1.5 ns (through cgo: 30 to 40). Nothing can stop the goroutine meanwhile, Go's collector waits for the
// end of the code: what takes longer than some tens of microseconds goes through cgo instead.
//
// What args and frame point to has to be kept alive, and where it is, by the caller.
//
//go:noescape
func Call(code, args, frame uintptr)
