package pages

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"polygrad/core/settings"
)

// Freed is the memory of tensors that were freed.
var Freed = Cache{limit: sync.OnceValue(func() uintptr { return uintptr(settings.CacheBytes(1)) })}

// Cache keeps freed memory for the next request of the same size: fresh memory costs a fault for each page. It may be used by several
// goroutines at once.
type Cache struct {
	limit func() uintptr // of idle bytes
	mu    sync.Mutex
	idle  []idle // freed last at the end
	bytes uintptr
}

type idle struct{ at, n uintptr }

// whole rounds a size up to whole huge pages, and smaller ones to eight sizes in each doubling, so that similar sizes share.
func whole(n uintptr) uintptr {
	step := uintptr(hugePage)
	if n < HugeFrom {
		step = max(uintptr(1)<<bits.Len64(uint64(n))>>4, smallPage)
	}
	return (n + step - 1) &^ (step - 1)
}

// Take returns n bytes with undefined contents.
func (c *Cache) Take(n uintptr) (uintptr, error) {
	n = whole(n)
	c.mu.Lock()
	for i, m := range slices.Backward(c.idle) {
		if m.n == n {
			c.idle = slices.Delete(c.idle, i, i+1)
			c.bytes -= n
			c.mu.Unlock()
			return m.at, nil
		}
	}
	c.mu.Unlock()
	return Fresh(n)
}

// Fresh returns n bytes of zeroed memory, for Release, or an error where the machine has less: the system promises more than there is,
// and ends the process that uses it.
func Fresh(n uintptr) (uintptr, error) {
	if most := installed(); most > 0 && n > most {
		return 0, fmt.Errorf("pages: no memory for %d bytes: the machine has %d", n, most)
	}
	return Reserve(0, n)
}

// Give frees the n bytes at an address of Take. Beyond the limit the oldest are unmapped.
func (c *Cache) Give(at, n uintptr) {
	c.mu.Lock()
	c.idle = append(c.idle, idle{at, whole(n)})
	c.bytes += whole(n)
	c.mu.Unlock()
	c.trim(c.limit())
}

// trim unmaps the oldest idle memory until no more than so many bytes are left, and reports whether it did.
func (c *Cache) trim(bytes uintptr) bool {
	c.mu.Lock()
	old := 0
	for ; c.bytes > bytes; old++ {
		c.bytes -= c.idle[old].n
	}
	gone := slices.Clone(c.idle[:old])
	c.idle = slices.Delete(c.idle, 0, old)
	c.mu.Unlock()
	for _, m := range gone {
		// If unmapping fails the system keeps the memory: no reason to fail.
		_ = Release(m.at, m.n)
	}
	return old > 0
}
