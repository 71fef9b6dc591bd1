package device

import "unsafe"

// Buffer is a handle of memory that a device can work on. What it points to only the device knows: the memory itself where
// that is the host's, else a record of the device's own. The zero Buffer is none.
type Buffer struct{ p unsafe.Pointer }

// At is the Buffer that points to p: memory of the host, or the record of a device with memory of its own.
func At(p unsafe.Pointer) Buffer { return Buffer{p} }

// Pointer is what At was given.
func (b Buffer) Pointer() unsafe.Pointer { return b.p }

// Pointers are the pointers of buffers, in the same memory.
func Pointers(bufs []Buffer) []unsafe.Pointer {
	return unsafe.Slice((*unsafe.Pointer)(unsafe.Pointer(unsafe.SliceData(bufs))), len(bufs))
}
