package model

import (
	"fmt"
	"unsafe"

	"polygrad/exec/pages"
)

// block is zeroed memory outside Go's heap, cut into arrays. It must not move because C callers keep pointers into it; the
// arrays are adjacent so that one window covers them for kernels.
type block struct {
	mem    []byte
	arrays [][]float32
}

// lineFloats is the number of floats in a cache line; arrays begin at one.
const lineFloats = 16

func newBlock(sizes ...int64) (*block, error) {
	total := int64(0)
	for _, n := range sizes {
		total += paddedFloats(n)
	}
	size := uintptr(max(total, lineFloats) * 4)
	at, err := pages.Fresh(size)
	if err != nil {
		return nil, fmt.Errorf("cannot get %d bytes of memory: %w", total*4, err)
	}
	mem := unsafe.Slice((*byte)(pages.Pointer(at)), size)
	b := &block{mem: mem}
	floats := unsafe.Slice((*float32)(unsafe.Pointer(&mem[0])), len(mem)/4)
	for _, n := range sizes {
		b.arrays = append(b.arrays, floats[:n:n])
		floats = floats[paddedFloats(n):]
	}
	return b, nil
}

func paddedFloats(n int64) int64 { return (n + lineFloats - 1) / lineFloats * lineFloats }

// free releases the memory; the arrays must not be used any more.
func (b *block) free() {
	if b != nil && b.mem != nil {
		_ = pages.Release(uintptr(unsafe.Pointer(&b.mem[0])), uintptr(len(b.mem)))
		b.mem, b.arrays = nil, nil
	}
}
