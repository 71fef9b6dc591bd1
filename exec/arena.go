package exec

import (
	"fmt"
	"runtime"
	"unsafe"

	"polygrad/exec/pages"
)

// arena is memory for the temporaries of a run, outside Go's heap: page aligned, zeroed
// by the system, touched by the kernels only.
type arena struct {
	base unsafe.Pointer
	size int64
	// unmap frees an arena that was not released, when nothing refers to it any more.
	unmap runtime.Cleanup
}

// newArena maps memory anywhere.
func newArena(bytes int64) (*arena, error) { return mapArena(bytes, 0) }

// newArenaNear maps memory that lies in one range of the size reach together with near: where the system puts
// it by itself if that will do, else in the first free one of many places. It is nil if there is no such place.
func newArenaNear(bytes int64, near span, reach uintptr) (*arena, error) {
	const places = 64
	hint := uintptr(0)
	for i := range uintptr(places) {
		a, err := mapArena(bytes, hint)
		if err != nil {
			return nil, err
		}
		if a.within(bytes, near, reach) {
			return a, nil
		}
		a.release()
		hint = (near.hi + (i+1)*reach/(2*places)) &^ (1<<16 - 1)
	}
	return nil, nil
}

func mapArena(bytes int64, hint uintptr) (*arena, error) {
	at, err := pages.Reserve(hint, uintptr(bytes))
	if err != nil {
		return nil, fmt.Errorf("exec.Run: no memory for temporaries: %w", err)
	}
	a := &arena{base: pages.Pointer(at), size: bytes}
	a.unmap = runtime.AddCleanup(a, func(at uintptr) { _ = pages.Release(at, uintptr(bytes)) }, at)
	return a, nil
}

// release gives the memory back at once.
func (a *arena) release() {
	a.unmap.Stop()
	_ = pages.Release(uintptr(a.base), uintptr(a.size))
	runtime.KeepAlive(a)
}

// within reports whether the first bytes of the arena and near lie in one range of the size reach.
func (a *arena) within(bytes int64, near span, reach uintptr) bool {
	return near.hi == 0 || near.with(a.base, bytes).size() <= reach
}
