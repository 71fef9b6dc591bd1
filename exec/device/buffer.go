package device

import "unsafe"

// Buffer is a handle of device memory: the address of host memory, or of a record of the device's own. The zero Buffer is none.
type Buffer struct{ p unsafe.Pointer }

// At is the Buffer for p: the address of host memory, or of a record of a device with memory of its own.
func At(p unsafe.Pointer) Buffer { return Buffer{p} }

// Pointer is the argument of At.
func (b Buffer) Pointer() unsafe.Pointer { return b.p }

// Pointers are the pointers of buffers; the slice shares their memory.
func Pointers(bufs []Buffer) []unsafe.Pointer {
	return unsafe.Slice((*unsafe.Pointer)(unsafe.Pointer(unsafe.SliceData(bufs))), len(bufs))
}
