//go:build linux && amd64 && cgo

package code

import (
	"runtime"
	"sync"
	"unsafe"

	"polygrad/exec/pages"
)

// workspace is the memory of a run: arguments, frame and scratch memory. One goroutine uses it at a time; idle ones are kept for
// the next run, and freed when the collector has found them idle twice.
type workspace struct {
	args   []uint64
	memory uintptr // aligned to 64 bytes
	size   uintptr
	heap   []uint64        // backs memory if it is small
	unmap  runtime.Cleanup // unmaps memory if it is large
}

// mappedFrom is the size from which memory is mapped.
const mappedFrom = 64 << 10

var workspaces = sync.Pool{New: func() any { return &workspace{} }}

func takeWorkspace(args int, size uintptr) (*workspace, error) {
	w := workspaces.Get().(*workspace)
	if len(w.args) < args {
		w.args = make([]uint64, args+args/2)
	}
	if w.size < size {
		if err := w.grow(size); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *workspace) give() { workspaces.Put(w) }

func (w *workspace) grow(size uintptr) error {
	w.release()
	if size < mappedFrom {
		w.heap = make([]uint64, size/8+7)
		w.memory = (uintptr(unsafe.Pointer(&w.heap[0])) + 63) &^ 63
		w.size = size
		return nil
	}
	size = (size + size/4 + mappedFrom - 1) &^ (mappedFrom - 1)
	at, err := pages.Reserve(0, size)
	if err != nil {
		return err
	}
	w.memory, w.size = at, size
	w.unmap = runtime.AddCleanup(w, func(at uintptr) { _ = pages.Release(at, size) }, at)
	return nil
}

// release frees the memory.
func (w *workspace) release() {
	if w.size >= mappedFrom {
		w.unmap.Stop()
		_ = pages.Release(w.memory, w.size)
	}
	w.heap, w.memory, w.size = nil, 0, 0
}
