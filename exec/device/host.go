package device

import (
	"unsafe"

	"polygrad/exec/pages"
)

// Host is the common part of devices on host memory with synchronous launches, for embedding.
type Host struct{}

// HostKernel is a kernel of a device that embeds Host. It may be run from several goroutines at once.
type HostKernel interface {
	// Run runs the kernel (see Queue.Launch) on pointers; their memory has to stay in place until it returns.
	Run(bufs []unsafe.Pointer, vars []int64) error
}

// Limits are none, on host memory.
func (Host) Limits() Limits { return Limits{HostMemory: true} }

// margin is the number of mapped bytes before and behind an allocation, the size of a vector: masked loads that begin or end outside of
// a buffer are slow on unmapped pages.
const margin = 64

// Allocate maps memory outside Go's heap: aligned to a cache line, zeroed by the system, touched only by kernels.
func (Host) Allocate(bytes int64) (Buffer, error) { return AllocateNear(0, bytes) }

// AllocateNear maps host memory near an address, if the system permits.
func AllocateNear(hint uintptr, bytes int64) (Buffer, error) {
	at, err := pages.Reserve(hint, uintptr(bytes)+2*margin)
	if err != nil {
		return Buffer{}, err
	}
	p := unsafe.Add(pages.Pointer(at), margin)
	*(*byte)(unsafe.Add(p, bytes)) = 0 // the system maps the page behind the buffer only when it is written to
	return At(p), nil
}

// Free unmaps the memory.
func (Host) Free(b Buffer, bytes int64) error {
	return pages.Release(uintptr(b.p)-margin, uintptr(bytes)+2*margin)
}

// Part adds to the address.
func (Host) Part(b Buffer, offset int64) Buffer { return Buffer{unsafe.Add(b.p, offset)} }

// NewQueue makes a synchronous queue.
func (Host) NewQueue() Queue { return hostQueue{} }

type hostQueue struct{}

func (hostQueue) Launch(k Kernel, bufs []Buffer, vars []int64) error {
	return k.(HostKernel).Run(Pointers(bufs), vars)
}

func (hostQueue) Copy(to, from Buffer, bytes int64) error {
	copyBytes(to.p, from.p, bytes)
	return nil
}

func (hostQueue) CopyIn(to Buffer, from []byte) error {
	copyBytes(to.p, unsafe.Pointer(unsafe.SliceData(from)), int64(len(from)))
	return nil
}

func (hostQueue) CopyOut(to []byte, from Buffer) error {
	copyBytes(unsafe.Pointer(unsafe.SliceData(to)), from.p, int64(len(to)))
	return nil
}

func (hostQueue) Wait() error { return nil }
