package main

/*
#include <stdlib.h>
*/
import "C"

import (
	"unsafe"

	"polygrad/model"
)

// attached is what belongs to the handle of a node and ends with it: memory that C was given a look at, references to
// other nodes, and compiled plans.
type attached struct {
	memory []unsafe.Pointer
	refs   []uintptr
	// arg is a PolyArg, nil before anyone asked.
	arg unsafe.Pointer
	// lists are the arrays of poly_toposort, as C has them.
	lists [][]uintptr
	plans map[string]*step
}

// attach is what belongs to the handle of a value.
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

// keep makes a block of C's memory part of what is attached.
func (a *attached) keep(p unsafe.Pointer) { a.memory = append(a.memory, p) }

// block is a new block of C's memory.
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

// detach ends what belongs to a handle.
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
