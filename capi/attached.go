package main

/*
#include <stdlib.h>
*/
import "C"

import (
	"unsafe"

	"polygrad/model"
)

// attached is the data with the lifetime of a node's handle: memory shown to C, references to other nodes, and compiled plans.
type attached struct {
	memory []unsafe.Pointer
	refs   []uintptr
	// arg is a PolyArg, nil until requested.
	arg unsafe.Pointer
	// lists are the arrays of poly_toposort in C memory.
	lists [][]uintptr
	plans map[string]*step
}

// attach is the attached data of a value's handle.
func (c *context) attach(v value) *attached {
	a := c.attachments[v.Readings]
	if a == nil {
		a = &attached{}
		if c.attachments == nil {
			c.attachments = map[model.Readings]*attached{}
		}
		c.attachments[v.Readings] = a
	}
	return a
}

// keep adds a block of C memory to the attached data.
func (a *attached) keep(p unsafe.Pointer) { a.memory = append(a.memory, p) }

// block is a new block of C memory.
func (a *attached) block(size int) unsafe.Pointer {
	p := C.malloc(C.size_t(max(size, 1)))
	a.keep(p)
	return p
}

func (a *attached) free() {
	for _, p := range a.memory {
		C.free(p)
	}
	a.memory = nil
}

// detach frees the attached data of a handle.
func (c *context) detach(r model.Readings) {
	a := c.attachments[r]
	if a == nil {
		return
	}
	delete(c.attachments, r)
	a.free()
	for _, s := range a.plans {
		c.drop(s)
	}
	for _, h := range a.refs {
		c.release(h)
	}
}
