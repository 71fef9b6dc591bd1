package files

import (
	"io"
	"io/fs"
	"unsafe"

	"polygrad/exec/pages"
)

const doNotWait = 0

// mapFile reads a regular file: files cannot be mapped here.
func mapFile(path string) ([]byte, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	mem, err := newMemory(size)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	if _, err := io.ReadFull(f, mem); err != nil {
		unmap(mem)
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return mem, nil
}

// newMemory is zeroed memory outside of Go's heap.
func newMemory(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	at, err := pages.Reserve(0, uintptr(n))
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(pages.Pointer(at)), n), nil
}

func unmap(mem []byte) {
	if len(mem) > 0 {
		_ = pages.Release(uintptr(unsafe.Pointer(&mem[0])), uintptr(len(mem)))
	}
}
