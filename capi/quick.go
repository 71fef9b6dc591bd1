package main

/*
#include "quick.h"
*/
import "C"

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/exec"
	"polygrad/exec/native"
)

// contextLock is the lock of a context, shared by Go and by the steps that C runs directly. Those are short, so waiting for them spins.
type contextLock struct {
	mu sync.Mutex
	c  *C.poly_quick_context
}

func (l *contextLock) word() *uint32 { return (*uint32)(unsafe.Pointer(&l.c.lock)) }

// Lock waits for exclusive use of the context.
func (l *contextLock) Lock() {
	l.mu.Lock()
	for !atomic.CompareAndSwapUint32(l.word(), 0, 1) {
		runtime.Gosched()
	}
}

// Unlock ends exclusive use of the context.
func (l *contextLock) Unlock() {
	atomic.StoreUint32(l.word(), 0)
	l.mu.Unlock()
}

// newLock gives the context its lock.
func (c *context) newLock() error {
	c.mu.c = C.poly_quick_context_new()
	if c.mu.c == nil {
		return errors.New("out of memory")
	}
	// A late caller may still want the lock of a destroyed context.
	runtime.AddCleanup(c, func(q *C.poly_quick_context) { C.poly_quick_context_free(q) }, c.mu.c)
	return nil
}

// directTries is the number of runs after which a step is examined: the first runs of kernels are timed.
const directTries = 16

// directRun is a program that C runs directly.
type directRun struct {
	quick *C.poly_quick_step // nil if C does not run it
	tries int
}

// enableDirect lets C run a short program directly, on the memory of its last run, until disableDirect is called or a buffer of the
// context is unbound.
func (r *directRun) enableDirect(c *context, e *handle.Entry, bound *exec.Bound) {
	if r.quick != nil || r.tries >= directTries {
		return
	}
	r.tries++
	d := bound.Direct()
	if d == nil {
		return
	}
	calls := 0
	d.Each(0, 0, func(uintptr, []uint64) { calls++ })
	var at C.uintptr_t
	q := C.poly_quick_new(C.int(calls), C.int64_t(d.Words()), C.size_t(uintptr(d.Arena)+d.Memory), &at)
	if q == nil {
		return
	}
	memory := uintptr(at) + uintptr(d.Arena)
	i := 0
	d.Each(uintptr(at), memory, func(entry uintptr, args []uint64) {
		C.poly_quick_call(q, C.int(i), C.uintptr_t(entry), (*C.uint64_t)(unsafe.SliceData(args)), C.int64_t(len(args)))
		i++
	})
	C.poly_quick_publish(q, C.uintptr_t(e.Token()), c.mu.c, C.uintptr_t(memory), C.uintptr_t(native.Enter()))
	r.quick = q
}

// disableDirect makes C call Go for the program again.
func (r *directRun) disableDirect() {
	if r.quick != nil {
		C.poly_quick_drop(r.quick)
		r.quick = nil
	}
}
