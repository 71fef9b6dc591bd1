// Package call enters generated machine code from Go. It is a package of its own because Go's assembler and cgo exclude each other.
package call

// Call runs generated code on the goroutine's stack, with args in RDI and frame in RSI. The code may change every register but
// the stack pointer, and uses only its return address of the stack.
//
// It costs 1.5 ns (through cgo: 30 to 40). The goroutine cannot be preempted meanwhile, and Go's collector waits: code that takes
// longer than some tens of microseconds goes through cgo instead.
//
// The caller keeps the memory behind args and frame alive and in place.
//
//go:noescape
func Call(code, args, frame uintptr)
