package exec

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// arena is memory for the temporaries of a plan, outside Go's heap: page aligned, zeroed
// by the system, touched by the kernels only. It is unmapped when nothing refers to it.
type arena struct{ base unsafe.Pointer }

func newArena(bytes int64) (*arena, error) {
	mem, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("exec.Run: cannot get %d bytes for temporaries: %w", bytes, err)
	}
	a := &arena{unsafe.Pointer(&mem[0])}
	runtime.AddCleanup(a, func(m []byte) { _ = unix.Munmap(m) }, mem)
	return a, nil
}
