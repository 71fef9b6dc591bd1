// Package pages maps memory outside Go's heap. Addresses are integers: Go's collector inspects pointers and stops the process
// if one points where its heap has nothing.
package pages

import "unsafe"

const (
	// HugeFrom is the size in bytes from which memory is mapped with huge pages.
	HugeFrom = 4 << 20
	hugePage = 2 << 20
	// smallPage is a multiple of the systems' pages.
	smallPage = 1 << 16
)

// Pointer is the address of mapped memory as a pointer.
func Pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }
