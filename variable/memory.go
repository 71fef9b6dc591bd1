package variable

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"polygrad/core/uop"
	"polygrad/exec/pages"
)

// A memory is the elements of a leaf, in row-major order.
type memory struct {
	data unsafe.Pointer
	size uintptr
	// owner is the object that owns shared memory; nil for the library's own.
	owner any
	// pins counts the hosts that use the memory; it is freed after the last one.
	pins  int
	freed bool
}

// hostMu guards what hosts change without the lock of a context: pins, freed and the tokens of shared memory.
var hostMu sync.Mutex

// shared reports whether a host uses the memory: then writes to the variable must go to this memory.
func (m *memory) shared() bool {
	hostMu.Lock()
	defer hostMu.Unlock()
	return m.owner != nil || m.pins > 0
}

// alignment of memory: a cache line, and the widest vector.
const alignment = 64

// small holds freed blocks by size class: without reuse, garbage collection cost as much as the kernels of a training step. Go's collector
// empties it.
var small [23]sync.Pool

// inUse is the number of bytes of all variables.
var inUse atomic.Int64

// InUse returns the bytes of memory of all variables.
func InUse() int64 { return inUse.Load() }

// allocate makes memory of undefined contents.
func allocate(size uintptr) (*memory, error) {
	inUse.Add(int64(size))
	if size >= pages.HugeFrom {
		p, err := pages.Freed.Take(size)
		if err != nil {
			inUse.Add(-int64(size))
			return nil, fmt.Errorf("memory: none for %d bytes", size)
		}
		return &memory{data: pages.Pointer(p), size: size}, nil
	}
	class := sizeClass(size)
	p, ok := small[class].Get().(unsafe.Pointer)
	if !ok {
		p = aligned(uintptr(alignment) << class)
	}
	return &memory{data: p, size: size}, nil
}

func sizeClass(size uintptr) (class int) {
	for uintptr(alignment)<<class < size {
		class++
	}
	return class
}

// aligned is memory of Go's heap that begins at a cache line.
func aligned(size uintptr) unsafe.Pointer {
	b := unsafe.Pointer(unsafe.SliceData(make([]byte, size+alignment)))
	return unsafe.Add(b, -uintptr(b)&(alignment-1))
}

// free returns memory, or ends the use of a host's memory.
func (m *memory) free() {
	hostMu.Lock()
	pinned := m.pins > 0
	m.freed = pinned
	if l, lent := m.owner.(hostToken); lent && !pinned {
		l.ctx.released = append(l.ctx.released, l.token)
	}
	hostMu.Unlock()
	if pinned {
		return
	}
	if m.owner == nil && m.data != nil {
		inUse.Add(-int64(m.size))
	}
	switch {
	case m.owner != nil || m.data == nil:
	case m.size >= pages.HugeFrom:
		pages.Freed.Give(uintptr(m.data), m.size)
	default:
		small[sizeClass(m.size)].Put(m.data)
	}
	m.data, m.owner = nil, nil
}

// A hostToken owns memory shared by a host: Context.Released returns the token when the memory is no longer in use.
type hostToken struct {
	ctx   *Context
	token uint64
}

// A Pin keeps the memory of a variable alive while a host uses it.
type Pin struct{ m *memory }

// pin counts a host that uses the memory.
func (m *memory) pin() *Pin {
	hostMu.Lock()
	defer hostMu.Unlock()
	m.pins++
	return &Pin{m}
}

// Free ends the use by the host. It needs no lock of the context, which may have been freed.
func (p *Pin) Free() {
	hostMu.Lock()
	p.m.pins--
	last := p.m.pins == 0 && p.m.freed
	hostMu.Unlock()
	if last {
		p.m.free()
	}
}

func (m *memory) bytes() []byte { return unsafe.Slice((*byte)(m.data), m.size) }

// sizeOf is the number of bytes of the elements of a type and shape.
func sizeOf(n int64, dt *uop.DType) uintptr { return uintptr(n) * uintptr(dt.Itemsize()) }
