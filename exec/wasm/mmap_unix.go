//go:build unix && !linux

package wasm

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// reserve maps n bytes of zeroed memory, near hint if the system likes. Pages
// take room only once they are touched.
func reserve(hint uintptr, n uintptr) (uintptr, error) {
	p, err := unix.MmapPtr(-1, 0, pointer(hint), n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return 0, fmt.Errorf("wasm: cannot map %d bytes: %w", n, err)
	}
	return uintptr(p), nil
}

// claim takes the addresses from addr on, which nothing may use, if they are free.
func claim(addr, n uintptr) bool {
	p, err := unix.MmapPtr(-1, 0, pointer(addr), n, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return false
	}
	if uintptr(p) != addr {
		_ = release(uintptr(p), n)
	}
	return uintptr(p) == addr
}

// release unmaps what reserve mapped.
func release(addr, n uintptr) error { return unix.MunmapPtr(pointer(addr), n) }

// discard gives the pages back to the system and keeps the addresses.
func discard(addr, n uintptr) {
	b := window{addr}.Reallocate(uint64(n))
	// Advice only: if it fails the pages stay, which is correct too.
	_ = unix.Madvise(b, unix.MADV_DONTNEED)
}
