//go:build !wasip1

package wasm

import (
	"fmt"
	"unsafe"

	"polygrad/exec/pages"
)

// runCopied runs a kernel whose buffers no window covers: those are copied to
// memory of the library's own and what the kernel wrote is copied back.
func (k *Kernel) runCopied(ptrs []unsafe.Pointer, vars []int64) error {
	total := uintptr(0)
	copies := make([]unsafe.Pointer, len(ptrs))
	for i, p := range k.Params {
		n := p.Bytes()
		if n < 0 {
			return fmt.Errorf("wasm kernel %s: buffer %d has no known size and is too far from the others", k.Name, i)
		}
		total += (uintptr(n) + blockAlign - 1) &^ (blockAlign - 1)
	}
	block, err := Default.Alloc(int(max(total, blockAlign)))
	if err != nil {
		return fmt.Errorf("wasm kernel %s: copying buffers: %w", k.Name, err)
	}
	defer func() { _ = Default.Free(block) }()
	at := uintptr(block)
	for i, p := range k.Params {
		copies[i] = pages.Pointer(at)
		copy(bytesAt(copies[i], p.Bytes()), bytesAt(ptrs[i], p.Bytes()))
		at += (uintptr(p.Bytes()) + blockAlign - 1) &^ (blockAlign - 1)
	}
	ok, err := k.runInPlace(copies, vars)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("wasm kernel %s: no window of memory covers %d bytes of buffers", k.Name, total)
	}
	for i, p := range k.Params {
		if p.Written {
			copy(bytesAt(ptrs[i], p.Bytes()), bytesAt(copies[i], p.Bytes()))
		}
	}
	return nil
}

func bytesAt(p unsafe.Pointer, n int64) []byte { return window{uintptr(p)}.Reallocate(uint64(n)) }
