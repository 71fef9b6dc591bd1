//go:build unix

package files

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"syscall"
)

// mapFile maps a regular file for reading and private writing. An empty file has no mapping.
func mapFile(path string) ([]byte, error) {
	// Without O_NONBLOCK opening a pipe would block until its other end is opened.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("is no regular file (%s)", info.Mode().Type())}
	case info.Size() == 0:
		return nil, nil
	case info.Size() > math.MaxInt:
		return nil, &fs.PathError{Op: "mmap", Path: path, Err: syscall.EFBIG}
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|noReserve)
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
