package pages

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"unsafe"
)

// The memory of a WebAssembly module is one range of addresses, which grows and never shrinks. Go's runtime takes all that follows its own end for
// its heap, even if someone else has grown the memory; therefore ranges are allocated by the runtime. Released ranges are kept here for later
// requests.

// sbrk adds n bytes, rounded up to pages of 64 KiB, at the end of what the runtime has; nil if the memory cannot grow. The linker permits this
// with -checklinkname=0.
//
//go:linkname sbrk runtime.sbrk
func sbrk(n uintptr) unsafe.Pointer

const (
	pageSize = 1 << 16
	line     = 64 // sizes are multiples of a cache line, and all ranges begin at one
	// spare is what the memory keeps for Go's heap: without room there the runtime stops, while a tensor that finds none is an error.
	spare = 128 << 20
)

// free are the ranges that nobody uses, in order of address; no two of them touch.
var free struct {
	sync.Mutex
	ranges []idle
}

// Reserve returns n bytes of zeroed memory; the hint is ignored.
func Reserve(_, n uintptr) (uintptr, error) {
	n = ranged(n)
	for {
		if at, ok := takeFree(n); ok {
			return at, nil
		}
		if at, ok := more(n); ok {
			return at, nil
		}
		if !Freed.trim(0) {
			return 0, fmt.Errorf("pages: no memory for %d bytes", n)
		}
	}
}

// ranged rounds a size up to that of a range.
func ranged(n uintptr) uintptr { return max((n+line-1)&^(line-1), line) }

// takeFree takes memory from the first free range that is large enough.
func takeFree(n uintptr) (uintptr, bool) {
	free.Lock()
	defer free.Unlock()
	i := slices.IndexFunc(free.ranges, func(r idle) bool { return r.n >= n })
	if i < 0 {
		return 0, false
	}
	r := &free.ranges[i]
	at := r.at
	if r.n == n {
		free.ranges = slices.Delete(free.ranges, i, i+1)
	} else {
		r.at, r.n = r.at+n, r.n-n
	}
	clear(unsafe.Slice((*byte)(Pointer(at)), n))
	return at, true
}

// more takes memory that is new, and so zero, behind the free range that the memory ends with, if there is one.
func more(n uintptr) (uintptr, bool) {
	if n > memorySize {
		return 0, false
	}
	free.Lock()
	end := uintptr(sbrk(0))
	at, old := end, uintptr(0)
	last := len(free.ranges) - 1
	if last >= 0 && free.ranges[last].at+free.ranges[last].n == at && free.ranges[last].n < n {
		at, old = free.ranges[last].at, free.ranges[last].n
	}
	whole := (n - old + pageSize - 1) &^ (pageSize - 1)
	if end+whole > memorySize-spare || sbrk(whole) == nil {
		free.Unlock()
		return 0, false
	}
	if old > 0 {
		free.ranges = free.ranges[:last]
	}
	free.Unlock()
	clear(unsafe.Slice((*byte)(Pointer(at)), old))
	if got := old + whole; got > n {
		_ = Release(at+n, got-n)
	}
	return at, true
}

// Release keeps what Reserve returned for others.
func Release(at, n uintptr) error {
	n = ranged(n)
	free.Lock()
	defer free.Unlock()
	i, _ := slices.BinarySearchFunc(free.ranges, at, func(r idle, at uintptr) int { return cmp.Compare(r.at, at) })
	if i < len(free.ranges) && at+n == free.ranges[i].at {
		n += free.ranges[i].n
		free.ranges = slices.Delete(free.ranges, i, i+1)
	}
	if i > 0 && free.ranges[i-1].at+free.ranges[i-1].n == at {
		free.ranges[i-1].n += n
	} else {
		free.ranges = slices.Insert(free.ranges, i, idle{at, n})
	}
	return nil
}

// memorySize is the greatest number of bytes of the memory.
const memorySize = 1 << 32

func installed() uintptr { return memorySize }

// Enlarge does nothing: the memory of a module has no pages of another size.
func Enlarge(_, _ uintptr) {}
