package polygrad

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
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
	// shared: others see the memory, so a tensor that is written is written there.
	shared bool
}

// alignment of memory: a cache line, and the widest vector.
const alignment = 64

var (
	large pages.Cache
	// small holds freed memory by the logarithm of its size: a step of training would else cost the collector as much as the kernels.
	small [23]sync.Pool
)

// inUse are the bytes of tensors; afterGC were those when the collector had run last.
var inUse, afterGC atomic.Int64

// littleGarbage is how many bytes of tensors may wait for the collector at least.
const littleGarbage = 256 << 20

// collectGarbage runs the collector if the memory of tensors has doubled since it last did: it does not see that memory, and a small program
// could make garbage of any size before it runs by itself. It reports whether it has run.
func collectGarbage() bool {
	if n := inUse.Load(); n < 2*afterGC.Load() || n-afterGC.Load() < littleGarbage {
		return false
	}
	// The cleanups of tensors run after the collector. One that is as young as this runs about when they have.
	done := make(chan struct{})
	runtime.AddCleanup(new([16]int), func(done chan struct{}) { close(done) }, done)
	runtime.GC()
	select {
	case <-done:
	case <-time.After(10 * time.Millisecond):
	}
	return true
}

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

// free gives memory back.
func (m *memory) free() {
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

func (m *memory) bytes() []byte { return unsafe.Slice((*byte)(m.data), m.size) }

// sizeOf is the number of bytes of the elements of a type and shape.
func sizeOf(n int64, dt *uop.DType) uintptr { return uintptr(n) * uintptr(dt.Itemsize()) }
