package main

import (
	"unsafe"

	"polygrad/model"
)

// nodeData is the data with the lifetime of a node's handle: memory shown to C, references to other nodes, and compiled plans.
type nodeData struct {
	memory []unsafe.Pointer
	refs   []uintptr
	// arg is a PolyArg, nil until requested.
	arg unsafe.Pointer
	// lists are the arrays of poly_toposort in C memory.
	lists [][]uintptr
	plans map[string]*step
}

// dataOf is the attached data of a value's handle.
func (c *context) dataOf(v value) *nodeData {
	a := c.nodeData[v.Readings]
	if a == nil {
		a = &nodeData{}
		if c.nodeData == nil {
			c.nodeData = map[model.Readings]*nodeData{}
		}
		c.nodeData[v.Readings] = a
	}
	return a
}

// keep adds a block of C memory to the attached data.
func (a *nodeData) keep(p unsafe.Pointer) { a.memory = append(a.memory, p) }

// block is a new block of C memory.
func (a *nodeData) block(size int) unsafe.Pointer {
	p := cMalloc(uintptr(max(size, 1)))
	a.keep(p)
	return p
}

func (a *nodeData) free() {
	for _, p := range a.memory {
		cFree(p)
	}
	a.memory = nil
}

// freeData frees the attached data of a handle.
func (c *context) freeData(r model.Readings) {
	a := c.nodeData[r]
	if a == nil {
		return
	}
	delete(c.nodeData, r)
	a.free()
	for _, s := range a.plans {
		c.drop(s)
	}
	for _, h := range a.refs {
		c.release(h)
	}
}
