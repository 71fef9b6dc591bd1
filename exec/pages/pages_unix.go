//go:build unix && !linux

package pages

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Reserve maps n bytes of zeroed memory, near hint if the system permits. Pages are allocated on first touch.
func Reserve(hint uintptr, n uintptr) (uintptr, error) {
	p, err := unix.MmapPtr(-1, 0, Pointer(hint), n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return 0, fmt.Errorf("pages: cannot map %d bytes: %w", n, err)
	}
	return uintptr(p), nil
}

// Claim maps memory at exactly addr, if those addresses are free; nothing may use them.
func Claim(addr, n uintptr) bool {
	p, err := unix.MmapPtr(-1, 0, Pointer(addr), n, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return false
	}
	if uintptr(p) != addr {
		_ = Release(uintptr(p), n)
	}
	return uintptr(p) == addr
}

// Release unmaps what Reserve mapped.
func Release(addr, n uintptr) error { return unix.MunmapPtr(Pointer(addr), n) }

// Discard returns the pages to the system and keeps the addresses.
func Discard(addr, n uintptr) {
	b := unsafe.Slice((*byte)(Pointer(addr)), n)
	// Advice only: if it fails the pages stay, which is correct too.
	_ = unix.Madvise(b, unix.MADV_DONTNEED)
}

// Enlarge does nothing: the size of pages is the system's.
func Enlarge(_, _ uintptr) {}

// installed is unknown: the system refuses what it does not have.
func installed() uintptr { return 0 }
