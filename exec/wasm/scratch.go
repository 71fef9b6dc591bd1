//go:build !wasip1

package wasm

import (
	"fmt"
	"sync"

	"polygrad/exec/pages"
)

// scratches are the heaps for the kernels' own memory, one for each window: that
// memory has to be reachable together with the buffers.
var scratches struct {
	sync.Mutex
	at map[uintptr]*Heap
}

// scratchIn is the heap of the window at base.
func scratchIn(base uintptr) *Heap {
	scratches.Lock()
	defer scratches.Unlock()
	h := scratches.at[base]
	if h == nil {
		if scratches.at == nil {
			scratches.at = map[uintptr]*Heap{}
		}
		h = &Heap{window: base}
		scratches.at[base] = h
	}
	return h
}

// reserveIn maps memory inside the window at base: where the system puts it by
// itself, or at the first free place from the top of the window.
func reserveIn(base, size uintptr) (uintptr, error) {
	const places = 64
	hint := uintptr(0)
	for i := range uintptr(places) {
		p, err := pages.Reserve(hint, size)
		if err != nil {
			return 0, err
		}
		if p >= base && p-base+size <= windowSize {
			return p, nil
		}
		_ = pages.Release(p, size)
		hint = base + (windowSize/places*(places-i)-size)&^(pageSize-1)
	}
	return 0, fmt.Errorf("wasm: no room for %d bytes in the window at %#x", size, base)
}
