//go:build linux && amd64 && cgo

package code

/*
#include "pool.h"
*/
import "C"

// poolCounts counts the runs in which the pool of threads was not at its best; tests read it.
type poolCounts struct {
	// woken counts runs that found workers asleep, slept callers that fell asleep before the workers were done, and alone callers
	// that found the pool busy and worked alone.
	woken, slept, alone uint64
}

// countPool is the counts since the process began.
func countPool() poolCounts {
	var c C.poly_native_counts_t
	C.poly_native_counts(&c)
	return poolCounts{uint64(c.woken), uint64(c.slept), uint64(c.alone)}
}

// settle waits until all workers sleep.
func settle() { C.poly_native_settle() }
