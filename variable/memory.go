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
	// keep is what the memory belongs to, for memory that others share; nil for the library's own.
	keep any
	// pins counts those who see the memory from outside. It is freed when the last of them has gone.
	pins  int
	freed bool
}

// hosts guards what hosts change without the lock of a context: pins, freed and the tokens of lent memory.
var hosts sync.Mutex

// shared reports whether others see the memory: a variable that is written is written there.
func (m *memory) shared() bool {
	hosts.Lock()
	defer hosts.Unlock()
	return m.keep != nil || m.pins > 0
}

// alignment of memory: a cache line, and the widest vector.
const alignment = 64

var (
	large pages.Cache
	// small holds freed memory by the logarithm of its size: a step of training would else cost the collector as much as the kernels.
	small [23]sync.Pool
)

// inUse are the bytes of variables.
var inUse atomic.Int64

// InUse is how many bytes of memory all variables have.
func InUse() int64 { return inUse.Load() }

// allocate makes memory of undefined contents.
func allocate(size uintptr) (*memory, error) {
	inUse.Add(int64(size))
	if size >= pages.HugeFrom {
		p, err := large.Take(size)
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

// free gives memory back, or ends the use of memory that belongs to others.
func (m *memory) free() {
	hosts.Lock()
	pinned := m.pins > 0
	m.freed = pinned
	if l, lent := m.keep.(loan); lent && !pinned {
		l.ctx.released = append(l.ctx.released, l.token)
	}
	hosts.Unlock()
	if pinned {
		return
	}
	if m.keep == nil && m.data != nil {
		inUse.Add(-int64(m.size))
	}
	switch {
	case m.keep != nil || m.data == nil:
	case m.size >= pages.HugeFrom:
		large.Give(uintptr(m.data), m.size)
	default:
		small[sizeClass(m.size)].Put(m.data)
	}
	m.data, m.keep = nil, nil
}

// A loan is memory that a host shares, with the token by which it is told that the memory is not used any more.
type loan struct {
	ctx   *Context
	token uint64
}

// A Pin keeps the memory of a variable while a host sees it.
type Pin struct{ m *memory }

// pin makes memory seen from outside.
func (m *memory) pin() *Pin {
	hosts.Lock()
	defer hosts.Unlock()
	m.pins++
	return &Pin{m}
}

// Free ends that a host sees the memory. It needs no lock of a context, which may have ended.
func (p *Pin) Free() {
	hosts.Lock()
	p.m.pins--
	last := p.m.pins == 0 && p.m.freed
	hosts.Unlock()
	if last {
		p.m.free()
	}
}

func (m *memory) bytes() []byte { return unsafe.Slice((*byte)(m.data), m.size) }

// sizeOf is the number of bytes of the elements of a type and shape.
func sizeOf(n int64, dt *uop.DType) uintptr { return uintptr(n) * uintptr(dt.Itemsize()) }
