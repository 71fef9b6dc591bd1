package exec

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
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
	mem, err := unix.MmapPtr(-1, 0, pointerAt(hint), uintptr(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("exec.Run: cannot get %d bytes for temporaries: %w", bytes, err)
	}
	a := &arena{base: mem, size: bytes}
	a.unmap = runtime.AddCleanup(a, func(m []byte) { unmap(unsafe.Pointer(&m[0]), int64(len(m))) }, unsafe.Slice((*byte)(mem), bytes))
	return a, nil
}

// release gives the memory back at once.
func (a *arena) release() {
	a.unmap.Stop()
	unmap(a.base, a.size)
	runtime.KeepAlive(a)
}

func unmap(base unsafe.Pointer, bytes int64) { _ = unix.MunmapPtr(base, uintptr(bytes)) }

// within reports whether the first bytes of the arena and near lie in one range of the size reach.
func (a *arena) within(bytes int64, near span, reach uintptr) bool {
	return near.hi == 0 || near.with(a.base, bytes).size() <= reach
}

// pointerAt is an address as a pointer; it is only a hint to the system and never followed.
func pointerAt(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }
