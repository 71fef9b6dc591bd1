//go:build !wasip1

package wasm

import (
	"sync"
	"testing"
	"unsafe"

	"polygrad/core/uop"
)

// TestScratchLiesInWindow asks for the memory of many kernels in windows that the system
// does not map into by itself.
func TestScratchLiesInWindow(t *testing.T) {
	const kernels, size = 200, 1 << 20
	for _, base := range []uintptr{goHeapWindow(t), 0x1000000000} {
		h := scratchIn(base)
		seen := map[unsafe.Pointer]bool{}
		for i := range kernels {
			p, err := h.Alloc(size)
			if err != nil {
				t.Fatalf("window %#x, kernel %d: %v", base, i, err)
			}
			if a := uintptr(p); a < base || a+size-base > windowSize {
				t.Fatalf("%#x is outside the window at %#x", a, base)
			}
			if seen[p] {
				t.Fatalf("%p was given out twice", p)
			}
			seen[p] = true
		}
		for p := range seen {
			if err := h.Free(p); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestLargeScratchIsShared keeps 20 kernels that need 1 MB each, and runs them from several goroutines.
func TestLargeScratchIsShared(t *testing.T) {
	const n = 1 << 18
	inUse := func() (total int64) {
		scratches.Lock()
		defer scratches.Unlock()
		for _, h := range scratches.at {
			used, _ := h.Stats()
			total += used
		}
		return total
	}
	before := inUse()
	var kernels []*Kernel
	for range 20 {
		k := reverser(t, uop.Local, n)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { runReverser(t, k, n) })
		}
		wg.Wait()
		kernels = append(kernels, k)
	}
	if grown := inUse() - before; grown > 0 {
		t.Errorf("%d kernels that do not run hold %d bytes of scratch memory", len(kernels), grown)
	}
}

// goHeapWindow is a window over Go's heap.
func goHeapWindow(t *testing.T) uintptr {
	a := uintptr(unsafe.Pointer(new([64]byte)))
	base, ok := windowFor(a, a+64)
	if !ok {
		t.Fatalf("no window covers %#x", a)
	}
	return base
}
