// Package device is the interface of devices: a compiler from linear lists to kernels, memory, and queues of copies and launches.
// Buffers and kernels are opaque handles.
package device

import (
	"polygrad/core/lower"
	"polygrad/core/schedule/fuse"
)

// Device compiles kernels and runs them on its memory. Its methods may be called from any goroutine.
type Device interface {
	// Name is the device's value of POLY_DEVICE.
	Name() string
	// Target is the capabilities of the device's code generator, for core/lower.
	Target() *lower.Target
	// Limits are the other capabilities of the device.
	Limits() Limits
	// Compile turns linear lists into kernels, all of them or none.
	Compile(progs []*lower.Program) ([]Kernel, error)
	// Allocate makes a buffer, aligned to 64 bytes, with undefined contents.
	Allocate(bytes int64) (Buffer, error)
	// Free frees a buffer of Allocate, with the same number of bytes. No queue may be using it.
	Free(b Buffer, bytes int64) error
	// Part is the rest of a buffer from a byte offset, a multiple of 256. It is not freed by itself.
	Part(b Buffer, offset int64) Buffer
	// NewQueue makes a queue. It needs no closing.
	NewQueue() Queue
}

// Limits are the capabilities of a device, for its callers.
type Limits struct {
	// HostMemory: kernels work on host memory in place (see At). Other devices get copies.
	HostMemory bool
	// Reach is the size in bytes of an address range that should contain all buffers of a launch, 0 if they may lie anywhere. Buffers
	// further apart work, but slowly.
	Reach uintptr
	// Buffers is the limit of buffers of a kernel, 0 for none.
	Buffers int
	// HostFallback: kernels that need a type that the device lacks run on the host.
	HostFallback bool
}

// Fuser is a Device with fused kernels.
type Fuser interface {
	// Fusion are the limits of fusion.
	Fusion() fuse.Options
}

// Kernel is a compiled linear list. It may be in several queues at once. On devices that embed Host it is a HostKernel.
type Kernel any

// Queue runs its operations in order, at once or later. One goroutine at a time uses it. Buffers, and host memory that is copied,
// have to stay valid until Wait returns; the slices of buffers and variables only until the call returns.
//
// Each method may return an error of its own call. A later error is returned by Wait and names the kernel; after it the queue
// does nothing until Wait.
type Queue interface {
	// Launch runs a kernel on one buffer for each PARAM of its list, in slot order, and one value for each variable, in list order. A
	// kernel that is spread over threads gets no value for lower.ThreadVar: its launch does the work of all threads. A buffer
	// must hold the elements of its PARAM.
	Launch(k Kernel, bufs []Buffer, vars []int64) error
	// Copy copies from one buffer to another; they do not overlap.
	Copy(to, from Buffer, bytes int64) error
	// CopyIn copies from host memory.
	CopyIn(to Buffer, from []byte) error
	// CopyOut copies to host memory.
	CopyOut(to []byte, from Buffer) error
	// Wait waits until the queue is empty.
	Wait() error
}

// Submitter is a Queue that needs no Wait: its device runs what all its queues submit in the order of submission. So its memory may be
// freed, or be used by others, at once. Errors are returned by a later Wait of any queue.
type Submitter interface {
	// Submit starts all operations. It waits if some of them copy to host memory.
	Submit() error
}

// Fetcher is a Queue that can copy to host memory while its caller goes on.
type Fetcher interface {
	// Fetch submits what was recorded and starts to copy to host memory, which has to stay valid. The host is told the number when that is
	// done; it is 0 if nothing was started, as the device can be waited for.
	Fetch(to []byte, from Buffer) (number int32, err error)
}

// Exchanger is a Device whose buffers programs can use directly, too.
type Exchanger interface {
	// Lend is the buffer of all of b, which is not used for anything else from now on.
	Lend(b Buffer) (buffer uintptr, err error)
	// Adopt is so many bytes of a program's buffer from an offset on. It is freed as others are; the program may go on using it.
	Adopt(buffer uintptr, offset, bytes int64) (Buffer, error)
}

// Loser is a Device that may lose the contents of its memory, and goes on with empty memory then.
type Loser interface {
	// Generation counts the losses.
	Generation() int64
}
