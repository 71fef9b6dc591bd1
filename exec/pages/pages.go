// Package pages maps memory outside Go's heap, where and as the executors need it.
// Addresses are integers: as pointers, even for a moment, Go's collector would look
// at them, and stop the process if they lie where its heap has nothing.
package pages

import "unsafe"

const (
	// HugeFrom is the size in bytes from which on memory is mapped with huge pages.
	HugeFrom = 4 << 20
	hugePage = 2 << 20
)

// Pointer is the address of mapped memory as a pointer.
func Pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }
