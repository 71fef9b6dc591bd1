//go:build !wasip1

package wasm

import (
	"sync"
	"unsafe"

	"github.com/tetratelabs/wazero/experimental"

	"polygrad/exec/pages"
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
)

// windows are the bases of the windows that were opened so far. The page at a
// base is mapped by us and stays so: wazero keeps a slice over the window, Go's
// collector looks at where that starts, and rejects an address that was Go's
// memory once. A page of our own never was and cannot become that.
var windows struct {
	sync.Mutex
	bases []uintptr
}

// windowFor finds a window that covers [lo, hi), opening one if there is none;
// ok is false if that cannot be.
func windowFor(lo, hi uintptr) (base uintptr, ok bool) {
	windows.Lock()
	defer windows.Unlock()
	for _, b := range windows.bases {
		if covers(b, lo, hi) {
			return b, true
		}
	}
	lowest := uintptr(pageSize)
	if hi > windowSize {
		lowest = max(lowest, (hi-windowSize+pageSize-1)&^(pageSize-1))
	}
	if lo < lowest+slack {
		return 0, false
	}
	// Windows are shared most if the buffers lie in the middle; other places
	// follow, more and more of them.
	room := lo - slack - lowest
	for parts := uintptr(2); parts <= 64; parts *= 2 {
		for i := uintptr(1); i < parts; i += 2 {
			b := (lowest + room/parts*(parts-i)) &^ (pageSize - 1)
			if covers(b, lo, hi) && pages.Claim(b, pageSize) {
				windows.bases = append(windows.bases, b)
				return b, true
			}
		}
	}
	return 0, false
}

func covers(base, lo, hi uintptr) bool { return lo >= base+slack && hi > lo && hi-base <= windowSize }

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
