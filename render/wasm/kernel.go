// Package wasm turns a linear list of UOps into a WebAssembly function with
// SIMD code. Many kernels share one module; see Module.
package wasm

import (
	"polygrad/core/uop"
	"polygrad/render/wasm/binary"
)

// Param is one buffer of a kernel, in the order of its arguments.
type Param struct {
	DType *uop.DType
	Slot  int
	// Size is the number of elements, -1 if it is not known.
	Size          int64
	Read, Written bool
}

// Bytes is the size of the buffer, -1 if it is not known.
func (p Param) Bytes() int64 {
	if p.Size < 0 {
		return -1
	}
	return p.Size * int64(p.DType.Itemsize())
}

// Var is an integer argument of a kernel.
type Var struct {
	Name     string
	DType    *uop.DType
	Min, Max int64
}

// Kernel is a rendered kernel, not yet part of a module. Its function takes the
// 32-bit addresses of the buffers, the variables, the thread number if Threads
// is more than 1, and the address of the scratch memory if it needs some.
type Kernel struct {
	Name   string
	Params []Param
	Vars   []Var
	// Threads is how many calls, with thread numbers from 0, make up one run.
	Threads int
	// Scratch is how many bytes of scratch memory each thread needs, 64-byte aligned.
	Scratch int

	build func(m *binary.Module, h *helpers)
}

// Module encodes the kernels as one module with a function k0, k1, … for each.
func Module(memoryPages uint32, kernels ...*Kernel) []byte {
	m := &binary.Module{}
	m.Memory("memory", memoryPages, memoryPages)
	h := &helpers{}
	for _, k := range kernels {
		k.build(m, h)
	}
	return m.Bytes()
}
