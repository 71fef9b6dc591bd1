package wasm

import (
	"unsafe"

	"github.com/tetratelabs/wazero/experimental"
)

// A kernel's linear memory is not memory of its own: it is a window of 4 GiB
// over the host's address space, so kernels work on the caller's buffers where
// they lie. Nothing inside the window is off limits to the machine code, which
// is safe because a kernel computes no address it was not given: every access
// is a parameter plus an index, the compiler has shown each index to lie inside
// its buffer, and loads behind a condition are not made where it is false. With
// POLY_CHECK=1 the renderer adds a comparison to each access, and a kernel that
// leaves a buffer stops with an error instead.
const (
	pageSize = 1 << 16
	// windowPages is one less than 4 GiB holds: with all of them wazero's 32-bit
	// memory size would be 0.
	windowPages = 1<<16 - 1
	windowSize  = windowPages * pageSize
	// slack is left below the lowest buffer. Pointers that lead the first access
	// of an unrolled loop may lie below their buffer by less than that.
	slack = pageSize
	// coarse is the alignment of windows where the buffers allow it, so that
	// most kernels share a few windows.
	coarse = 1 << 30
)

// goHeap is where Go's heap begins: the start of the arena (64 MiB) that an early
// allocation comes from. The runtime grows the heap upwards from there.
var goHeap = uintptr(unsafe.Pointer(new([64]byte))) &^ (64<<20 - 1)

// goHeapSpan is how far above goHeap an address is taken for Go's own.
const goHeapSpan = 1 << 40

func inGoHeap(a uintptr) bool { return a-goHeap < goHeapSpan }

// windowFor chooses the base of a window that covers [lo, hi); ok is false if
// none does. The base is never inside Go's heap: Go's collector looks at the
// slice that wazero keeps over the window and rejects pointers to unused spans.
func windowFor(lo, hi uintptr) (base uintptr, ok bool) {
	if inGoHeap(lo) {
		base = goHeap - slack
		return base, hi-base <= windowSize
	}
	for _, align := range []uintptr{coarse, pageSize} {
		base = max((lo-slack)&^(align-1), pageSize)
		if lo >= base+slack && hi > lo && hi-base <= windowSize && !inGoHeap(base) {
			return base, true
		}
	}
	return 0, false
}

// window is the linear memory of one instance.
type window struct{ base uintptr }

// Allocate is called by wazero when the instance is made.
func (w window) Allocate(_, _ uint64) experimental.LinearMemory { return w }

// Reallocate fabricates the slice. The header is written as integers: the
// memory is not Go's, and no checker of pointer arithmetic should follow it.
func (w window) Reallocate(size uint64) []byte {
	var b []byte
	h := (*struct{ base, len, cap uintptr })(unsafe.Pointer(&b))
	h.base, h.len, h.cap = w.base, uintptr(size), uintptr(size)
	return b
}

// Free does nothing: the memory belongs to others.
func (w window) Free() {}
