//go:build unix

package files

import (
	"fmt"
	"io/fs"
	"syscall"
)

// doNotWait opens a pipe at once, not when its other end is opened.
const doNotWait = syscall.O_NONBLOCK

// mapFile maps a regular file for reading and private writing. An empty file has no mapping.
func mapFile(path string) ([]byte, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if size == 0 {
		return nil, nil
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|noReserve)
	if err != nil {
		return nil, &fs.PathError{Op: "mmap", Path: path, Err: err}
	}
	return mem, nil
}

// newMemory is zeroed memory outside of Go's heap.
func newMemory(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	mem, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("cannot get %d bytes of memory: %w", n, err)
	}
	return mem, nil
}

func unmap(mem []byte) {
	if len(mem) > 0 {
		_ = syscall.Munmap(mem)
	}
}
