package exec

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// arena is memory for the temporaries of a plan, outside Go's heap: page aligned, zeroed
// by the system, touched by the kernels only. It is unmapped when nothing refers to it.
type arena struct {
	base unsafe.Pointer
	size int64
}

// newArena maps memory. If near is not empty it should lie within reach of that range: the system
// places it by itself if that will do, else one free place after another is tried.
func newArena(bytes int64, near span, reach uintptr) (*arena, error) {
	const tries = 64
	var mem unsafe.Pointer
	for i := range uintptr(tries) {
		hint := uintptr(0)
		if i > 0 {
			hint = (near.hi + i*reach/(2*tries)) &^ (1<<16 - 1)
		}
		var err error
		mem, err = unix.MmapPtr(-1, 0, pointerAt(hint), uintptr(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return nil, fmt.Errorf("exec.Run: cannot get %d bytes for temporaries: %w", bytes, err)
		}
		if near.hi == 0 || near.with(mem, bytes).size() <= reach || i == tries-1 {
			break
		}
		_ = unix.MunmapPtr(mem, uintptr(bytes))
	}
	a := &arena{mem, bytes}
	runtime.AddCleanup(a, func(m []byte) { _ = unix.MunmapPtr(unsafe.Pointer(&m[0]), uintptr(len(m))) }, unsafe.Slice((*byte)(mem), bytes))
	return a, nil
}

// pointerAt is an address as a pointer; it is only a hint to the system and never followed.
func pointerAt(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }
