// Package wasm renders kernels as WebAssembly functions with SIMD code: it selects instructions for the values of a
// nest of loops, puts them in order and encodes them. Many kernels share one module; see Module.
package wasm

import (
	"strconv"

	"polygrad/core/nest/ir"
	"polygrad/render/wasm/binary"
)

// Kernel is a rendered kernel, not yet part of a module. Its function takes the 32-bit addresses of the buffers, the
// variables, the first work item and the number of work items (64 bits each; unless it is whole), and the address of
// the scratch memory if it needs some.
type Kernel struct {
	Name   string
	Params []ir.Param
	Vars   []ir.VarParam
	// Items is how many independent work items a run has. Calls for different items may run at the same time, each with
	// scratch memory of its own.
	Items int64
	// Setup is the share of the work of a run that each call does, for however many items.
	Setup float64
	// Scratch is how many bytes of scratch memory a call needs, 64-byte aligned.
	Scratch int64
	// Flops and Bytes estimate the work of a whole run.
	Flops, Bytes float64

	// whole: a call runs all work items.
	whole bool
	build func(c *binary.Code)
}

// spareSize is the size of the scratch memory that loads with a closed gate read.
const spareSize = 64

// Module encodes the kernels as one module with a function k0, k1, … for each.
func Module(memoryPages uint32, kernels ...*Kernel) []byte {
	m := &binary.Module{}
	m.Memory("memory", memoryPages, memoryPages)
	for i, k := range kernels {
		c := binary.NewCode(k.paramTypes()...)
		k.build(c)
		m.Func("k"+strconv.Itoa(i), c)
	}
	return m.Bytes()
}

// HostModule encodes the kernels as a module that works in its host's memory, imported as "memory" from "env". The functions
// k0, k1, … take one 32-bit address, that of their arguments as 64-bit words: a host that is written in JavaScript need not know what
// they are.
func HostModule(sharedMemory bool, kernels ...*Kernel) []byte {
	m := &binary.Module{}
	m.ImportMemory("env", "memory", sharedMemory)
	for i, k := range kernels {
		c := binary.NewCode(k.paramTypes()...)
		k.build(c)
		body := m.Func("", c)
		c = binary.NewCode(binary.I32)
		for j, t := range k.paramTypes() {
			const word = 8
			c.Get(0)
			c.Mem(loadOf[t], uint32(j*word))
		}
		c.Call(body)
		m.Func("k"+strconv.Itoa(i), c)
	}
	return m.Bytes()
}

var loadOf = map[binary.ValType]binary.Op{
	binary.I32: binary.I32Load, binary.I64: binary.I64Load, binary.F32: binary.F32Load, binary.F64: binary.F64Load,
}

func (k *Kernel) paramTypes() []binary.ValType {
	var out []binary.ValType
	for range k.Params {
		out = append(out, binary.I32)
	}
	for _, v := range k.Vars {
		out = append(out, shapeOf(v.Kind, 1).typ())
	}
	if !k.whole {
		out = append(out, binary.I64, binary.I64)
	}
	if k.Scratch > 0 {
		out = append(out, binary.I32)
	}
	return out
}

// firstParam is the number of the parameter for the first work item, scratchParam that for scratch memory.
func (k *Kernel) firstParam() int { return len(k.Params) + len(k.Vars) }

func (k *Kernel) scratchParam() int {
	n := k.firstParam()
	if !k.whole {
		n += 2
	}
	return n
}
