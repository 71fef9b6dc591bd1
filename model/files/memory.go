package files

import (
	"errors"
	"fmt"
	"unsafe"
)

// ErrClosed is the error of a file that is used after Close.
var ErrClosed = errors.New("the file was closed")

// Memory are the bytes of tensor i in row-major order at an aligned address: its Data, or else a copy that is made once and
// lives as long as the file. Of a quantised tensor they are its blocks.
func (f *File) Memory(i int) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refs.Load() <= 0 {
		return nil, fmt.Errorf("files.File.Memory: %w", ErrClosed)
	}
	if i < 0 || i >= len(f.Tensors) {
		return nil, fmt.Errorf("files.File.Memory: i: %d is out of range, the file has %d tensors", i, len(f.Tensors))
	}
	t := f.Tensors[i]
	if t.Quant != nil || t.Strides == nil && aligned(t) {
		return t.Data, nil
	}
	if mem, ok := f.copies[t]; ok {
		return mem, nil
	}
	mem, err := f.room(int(t.Numel()) * t.DType.Itemsize())
	if err != nil {
		return nil, fmt.Errorf("files.File.Memory: tensor %s: %w", quote(t.Name), err)
	}
	t.gather(mem[:0])
	if f.copies == nil {
		f.copies = map[*Tensor][]byte{}
	}
	f.copies[t] = mem
	return mem, nil
}

// room allocates a copy. Small copies share a mapping: the system maps whole pages, and limits their number.
func (f *File) room(n int) ([]byte, error) {
	const block, align = 1 << 20, 64
	if n > len(f.spare) {
		mem, err := newMemory(max(n, block))
		if err != nil {
			return nil, err
		}
		f.memory = append(f.memory, mem)
		if n > block/2 {
			return mem[:n:n], nil
		}
		f.spare = mem
	}
	mem := f.spare[:n:n]
	f.spare = f.spare[min((n+align-1)/align*align, len(f.spare)):]
	return mem, nil
}

// aligned reports whether the elements of a tensor begin at multiples of their size.
func aligned(t *Tensor) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(t.Data)))%uintptr(t.DType.Itemsize()) == 0
}
