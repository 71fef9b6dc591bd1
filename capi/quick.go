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

	"polygrad/exec/native"
)

// contextLock is the lock of a context, which holds off Go and the steps that C runs by itself. Those are short, so that
// it is not worth sleeping until they end.
type contextLock struct {
	mu sync.Mutex
	c  *C.poly_quick_context
}

func (l *contextLock) word() *uint32 { return (*uint32)(unsafe.Pointer(&l.c.lock)) }

// Lock waits until nobody works in the context.
func (l *contextLock) Lock() {
	l.mu.Lock()
	for !atomic.CompareAndSwapUint32(l.word(), 0, 1) {
		runtime.Gosched()
	}
}

// Unlock lets others work in the context.
func (l *contextLock) Unlock() {
	atomic.StoreUint32(l.word(), 0)
	l.mu.Unlock()
}

// newQuick gives the context its lock.
func (c *context) newQuick() error {
	c.mu.c = C.poly_quick_context_new()
	if c.mu.c == nil {
		return errors.New("out of memory")
	}
	// A late caller may still want the lock of a context that has ended.
	runtime.AddCleanup(c, func(q *C.poly_quick_context) { C.poly_quick_context_free(q) }, c.mu.c)
	return nil
}

// quickTries is how many runs of a step are looked at: the kernels' first runs, in which they are timed, and some more.
const quickTries = 16

// quicken leaves a step to C if it is short. It ran on s.bound.
func (s *step) quicken() {
	if s.quick != nil || s.tries >= quickTries {
		return
	}
	s.tries++
	d := s.bound.Direct()
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
	C.poly_quick_publish(q, C.uintptr_t(s.entry.Token()), s.ctx.mu.c, C.uintptr_t(memory), C.uintptr_t(native.Enter()))
	s.quick = q
}

// slow ends that C runs the step by itself.
func (s *step) slow() {
	if s.quick != nil {
		C.poly_quick_drop(s.quick)
		s.quick = nil
	}
}
