package pages

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Reserve maps n bytes of zeroed memory, near hint if the system permits. Pages are allocated on first touch. Memory of HugeFrom
// bytes and more has huge pages where the system supports them: one page fault for 2 MiB instead of 512, and fewer TLB
// misses.
func Reserve(hint, n uintptr) (uintptr, error) {
	huge := n >= HugeFrom
	more := uintptr(0)
	if huge && hint == 0 {
		more = hugePage // for alignment
	}
	p, err := mmap(hint, n+more, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_NORESERVE)
	if err != nil {
		return 0, fmt.Errorf("pages: cannot map %d bytes: %w", n, err)
	}
	if more > 0 {
		p = trimmed(p, n)
	}
	if huge {
		Enlarge(p, n)
	}
	return p, nil
}

// Enlarge gives memory, Go's included, huge pages where it is touched from now on.
func Enlarge(addr, n uintptr) {
	// Advice only.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, addr, n, unix.MADV_HUGEPAGE)
}

// trimmed keeps n bytes, aligned to hugePage, of a mapping that is larger by hugePage.
func trimmed(p, n uintptr) uintptr {
	page := uintptr(os.Getpagesize())
	end := p + (n+hugePage+page-1)&^(page-1)
	at := (p + hugePage - 1) &^ (hugePage - 1)
	if at > p {
		_ = Release(p, at-p)
	}
	if used := at + (n+page-1)&^(page-1); used < end {
		_ = Release(used, end-used)
	}
	return at
}

// Claim maps memory at exactly addr, if those addresses are free; nothing may use them.
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

// Discard returns the pages to the system and keeps the addresses.
func Discard(addr, n uintptr) {
	// Advice only: if it fails the pages stay, which is correct too.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, addr, n, unix.MADV_DONTNEED)
}

// installed is the size of the machine's memory and swap in bytes, 0 if the system does not say.
var installed = sync.OnceValue(func() uintptr {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return uintptr(info.Totalram+info.Totalswap) * uintptr(info.Unit)
})
