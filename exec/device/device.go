// Package device is what a device has to offer: a compiler from linear lists to kernels, memory, and queues that copy and
// launch. Its buffers and kernels are handles, which nobody but the device looks into.
package device

import (
	"polygrad/core/lower"
	"polygrad/core/schedule/fuse"
)

// Device compiles kernels and runs them on its memory. Its methods may be called from any goroutine.
type Device interface {
	// Name is the name by which POLY_DEVICE asks for the device.
	Name() string
	// Target tells core/lower what the device's code generator supports.
	Target() *lower.Target
	// Limits tells what else the device can do.
	Limits() Limits
	// Compile turns linear lists into kernels, all of them or none.
	Compile(progs []*lower.Program) ([]Kernel, error)
	// Allocate makes a buffer, aligned to 64 bytes. What it contains is undefined.
	Allocate(bytes int64) (Buffer, error)
	// Free gives back what Allocate made, with the same number of bytes. No queue may be using it.
	Free(b Buffer, bytes int64) error
	// Part is the rest of a buffer from an offset in bytes on, which is a multiple of 64. It is not freed.
	Part(b Buffer, offset int64) Buffer
	// NewQueue makes a queue. One that is garbage needs no closing.
	NewQueue() Queue
}

// Limits are what a device can do, as far as others have to know it.
type Limits struct {
	// HostMemory tells that kernels work on the host's memory where it lies (see At). Other devices get it copied.
	HostMemory bool
	// Reach is the size in bytes of the range of the host's addresses that the buffers of a launch should lie in, 0 if they
	// may lie anywhere. Buffers that are further apart work too, but slowly.
	Reach uintptr
	// Buffers is how many buffers a kernel may take, 0 for any number.
	Buffers int
}

// Fuser is a Device that wants the kernels of a schedule merged.
type Fuser interface {
	// Fusion bounds what is merged.
	Fusion() fuse.Options
}

// Kernel is what Compile made of a linear list. It may be in several queues at once. On devices that embed Host it is a HostKernel.
type Kernel any

// Queue does what it is told in that order, at once or later. One goroutine at a time uses it. Buffers have to stay until
// Wait has returned, and so has the host's memory that is copied; slices of buffers and variables are the caller's again
// when the call returns.
//
// Each method may return an error of its own call. One that shows later is returned by Wait and names the kernel; until
// then the queue does nothing more.
type Queue interface {
	// Launch runs a kernel on one buffer for each PARAM of its list, in slot order, and one value for each variable, in list
	// order. A kernel that is spread over threads gets no value for lower.ThreadVar: its launch does the work of all
	// threads. A buffer must hold the elements of its PARAM.
	Launch(k Kernel, bufs []Buffer, vars []int64) error
	// Copy copies from one buffer to another; they do not overlap.
	Copy(to, from Buffer, bytes int64) error
	// CopyIn copies from the host's memory.
	CopyIn(to Buffer, from []byte) error
	// CopyOut copies to the host's memory.
	CopyOut(to []byte, from Buffer) error
	// Wait returns when all is done.
	Wait() error
}
