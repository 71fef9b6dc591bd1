//go:build !wasip1

package wasm

import (
	"fmt"
	"math/bits"
	"sync"
	"unsafe"

	"polygrad/exec/pages"
)

// Heap hands out buffers that lie close together, so that the buffers of a
// kernel fit one window and nothing has to be copied. Blocks are aligned to 64
// bytes and kept for reuse when freed: memory that was touched once is worth
// more than fresh memory. It is safe for concurrent use.
type Heap struct {
	// window is the base of the window that the blocks have to lie in, 0 if they may lie anywhere.
	window uintptr

	mu     sync.Mutex
	free   [maxClass][]uintptr
	class  map[uintptr]uint8 // of blocks in use
	next   uintptr
	end    uintptr
	grown  uintptr // size of the last reservation
	inUse  int64
	cached int64
}

const (
	blockAlign = 64
	// Reservations double from the first to the greatest size. They are modest,
	// because memory that is mapped later (the caller's arrays) has to lie near, too.
	firstRegion = 16 << 20
	greatRegion = 512 << 20
	// maxBlock is the greatest block: with the slack below it fits a window.
	maxBlock = windowSize - 2*slack
	// discardAt is the size from which freed blocks give their pages back.
	discardAt = 64 << 20
	maxClass  = 160
)

// Default is the heap that the library's own buffers come from.
var Default = &Heap{}

// classOf is the size class that n falls into: there are four in every doubling.
func classOf(n uintptr) uint8 {
	n = max(n, blockAlign)
	shift := uint(bits.Len64(uint64(n-1)) - 3)
	return uint8(shift*4 + uint((n-1)>>shift) - 4)
}

// classSize is the number of bytes that a block of a class has.
func classSize(class uint8) uintptr {
	size := uintptr(class&3+5) << (class / 4)
	return (size + blockAlign - 1) &^ (blockAlign - 1)
}

// Alloc returns a block of at least n bytes. What it contains is undefined.
func (h *Heap) Alloc(n int) (unsafe.Pointer, error) {
	if n < 0 || uint64(n) > maxBlock {
		return nil, fmt.Errorf("wasm.Heap.Alloc: n = %d bytes, expected 0 to %d", n, uint64(maxBlock))
	}
	class := classOf(uintptr(n))
	size := classSize(class)
	h.mu.Lock()
	defer h.mu.Unlock()
	var p uintptr
	if l := h.free[class]; len(l) > 0 {
		p, h.free[class] = l[len(l)-1], l[:len(l)-1]
		h.cached -= int64(size)
	} else {
		if h.end-h.next < size {
			n := max(size, min(max(2*h.grown, firstRegion), greatRegion))
			base, err := h.reserve(n)
			if err != nil {
				return nil, err
			}
			h.next, h.end, h.grown = base, base+n, n
		}
		p = h.next
		h.next += size
	}
	if h.class == nil {
		h.class = map[uintptr]uint8{}
	}
	h.class[p] = class
	h.inUse += int64(size)
	return pages.Pointer(p), nil
}

// reserve maps a region for blocks.
func (h *Heap) reserve(n uintptr) (uintptr, error) {
	if h.window == 0 {
		return pages.Reserve(0, n)
	}
	return reserveIn(h.window, n)
}

// Free gives a block back. It is an error for a pointer that is not a block in use.
func (h *Heap) Free(ptr unsafe.Pointer) error {
	p := uintptr(ptr)
	h.mu.Lock()
	defer h.mu.Unlock()
	class, ok := h.class[p]
	if !ok {
		return fmt.Errorf("wasm.Heap.Free: %#x is not a block in use", p)
	}
	delete(h.class, p)
	size := classSize(class)
	if size >= discardAt {
		pages.Discard(p, size)
	}
	h.free[class] = append(h.free[class], p)
	h.inUse -= int64(size)
	h.cached += int64(size)
	return nil
}

// Stats is the number of bytes in use and of those kept for reuse.
func (h *Heap) Stats() (inUse, cached int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.inUse, h.cached
}
