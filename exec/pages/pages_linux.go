package pages

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Reserve maps n bytes of zeroed memory, near hint if the system likes. Pages
// take room only once they are touched.
func Reserve(hint, n uintptr) (uintptr, error) {
	p, err := mmap(hint, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_NORESERVE)
	if err != nil {
		return 0, fmt.Errorf("pages: cannot map %d bytes: %w", n, err)
	}
	return p, nil
}

// Claim takes the addresses from addr on, which nothing may use, if they are free.
func Claim(addr, n uintptr) bool {
	p, err := mmap(addr, n, unix.PROT_NONE, unix.MAP_NORESERVE|unix.MAP_FIXED_NOREPLACE)
	if err != nil {
		return false
	}
	if p != addr {
		// Kernels before 4.17 take the address as a hint.
		_ = Release(p, n)
	}
	return p == addr
}

func mmap(addr, n uintptr, prot, flags int) (uintptr, error) {
	const noFile = ^uintptr(0)
	p, _, errno := unix.Syscall6(unix.SYS_MMAP, addr, n, uintptr(prot), uintptr(flags|unix.MAP_PRIVATE|unix.MAP_ANON), noFile, 0)
	if errno != 0 {
		return 0, errno
	}
	return p, nil
}

// File maps the first n bytes of a file, shared with its other mappings.
func File(fd int, n uintptr, prot int) (uintptr, error) {
	p, _, errno := unix.Syscall6(unix.SYS_MMAP, 0, n, uintptr(prot), unix.MAP_SHARED, uintptr(fd), 0)
	if errno != 0 {
		return 0, fmt.Errorf("pages: cannot map %d bytes of a file: %w", n, errno)
	}
	return p, nil
}

// Release unmaps what Reserve mapped.
func Release(addr, n uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_MUNMAP, addr, n, 0); errno != 0 {
		return errno
	}
	return nil
}

// Discard gives the pages back to the system and keeps the addresses.
func Discard(addr, n uintptr) {
	// Advice only: if it fails the pages stay, which is correct too.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, addr, n, unix.MADV_DONTNEED)
}
