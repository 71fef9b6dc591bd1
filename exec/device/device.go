// Package device is what a device has to offer to run kernels: the target that
// core/lower compiles for, and a compiler from linear lists to kernels.
package device

import (
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/schedule/fuse"
)

// Device compiles kernels. Its methods may be called from any goroutine.
type Device interface {
	// Name is the name by which POLY_DEVICE asks for the device.
	Name() string
	// Target tells core/lower what the device's code generator supports.
	Target() *lower.Target
	// Reach is the size in bytes of the range of addresses that the buffers of a launch should lie
	// in, 0 if they may lie anywhere. Buffers that are further apart work too, but slowly.
	Reach() uintptr
	// Compile turns linear lists into kernels, all of them or none.
	Compile(progs []*lower.Program) ([]Kernel, error)
}

// Fuser is a Device that wants the kernels of a schedule merged.
type Fuser interface {
	// Fusion bounds what is merged.
	Fusion() fuse.Options
}

// Kernel is compiled code. It may be run from several goroutines at once.
type Kernel interface {
	// Run runs the kernel on one pointer per PARAM of the list, in slot order, and one value per
	// variable, in list order. A kernel that is spread over threads gets no value for
	// lower.ThreadVar: Run does the work of all threads. The memory behind a pointer
	// must hold the elements of its PARAM and stay in place until Run returns.
	Run(bufs []unsafe.Pointer, vars []int64) error
}
