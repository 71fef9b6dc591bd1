//go:build linux && amd64 && cgo

package code

/*
#include "pool.h"
*/
import "C"

import "polygrad/exec/device"

// Call is the kernel for callers other than Go: its runs are short enough for one thread.
func (k *Kernel) Call() (c device.Call, ok bool) {
	if k.vars > 0 || k.cost.how() != here {
		return c, false
	}
	return device.Call{
		Entry: uintptr(k.c.entry), Memory: k.memory,
		Own: []uint64{0, uint64(k.c.items), uint64(k.c.frame)}, Inside: 2,
	}, true
}

// Enter is the address of a C function that calls code: void enter(uintptr_t entry, uint64_t *args, uintptr_t memory).
func Enter() uintptr { return uintptr(C.poly_native_enter_address()) }
