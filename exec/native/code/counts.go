//go:build linux && amd64 && cgo

package code

/*
#include "pool.h"
*/
import "C"

// Counts is how often the pool of threads did not work as it does best.
type Counts struct {
	// Woken counts runs that found workers asleep, Slept callers that fell asleep before the workers were done, and
	// Alone callers that found the pool busy and worked alone.
	Woken, Slept, Alone uint64
}

// PoolCounts is what happened since the process began.
func PoolCounts() Counts {
	var c C.poly_native_counts_t
	C.poly_native_counts(&c)
	return Counts{uint64(c.woken), uint64(c.slept), uint64(c.alone)}
}

// settle waits until all workers sleep.
func settle() { C.poly_native_settle() }
