package main

/*
#include <stdlib.h>

#include "records.h"

int poly_ask(void *poll, void *data);
*/
import "C"

import (
	"unsafe"
)

// What the C library does for the interface. The functions of memory are C's: callers free what they get with free.

func cMalloc(n uintptr) unsafe.Pointer { return C.malloc(C.size_t(n)) }

func cCalloc(n, size uintptr) unsafe.Pointer { return C.calloc(C.size_t(n), C.size_t(size)) }

func cAligned(n uintptr) unsafe.Pointer { return C.aligned_alloc(alignment, C.size_t(n)) }

func cFree(p unsafe.Pointer) { C.free(p) }

// permanent is memory that is never freed, as checkers of leaks can see.
func permanent(n uintptr) unsafe.Pointer { return C.poly_permanent(C.size_t(n)) }

// setError sets the last error of the calling thread; keep keeps the error that the call before left.
func setError(text string, keep bool) {
	p, n := (*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text))
	if keep {
		C.poly_fail_keep(p, n)
	} else {
		C.poly_fail(p, n)
	}
}

// environment is the value of a variable as the C library has it: Go saw the environment that the process began with, and a host
// may have set a variable since (os.environ in Python, Sys.setenv in R) before it loaded the library.
func environment(name string) string {
	s := cString(name)
	defer cFree(unsafe.Pointer(s))
	return goString((*byte)(unsafe.Pointer(C.getenv((*C.char)(unsafe.Pointer(s))))))
}

func askPoll(poll, data unsafe.Pointer) bool { return C.poly_ask(poll, data) != 0 }

// Functions that a caller gave.

func callGate(gate unsafe.Pointer, x uintptr) bool {
	return bool(C.poly_call_gate(gate, C.uintptr_t(x)))
}

func callCreate(create unsafe.Pointer, ctx, config uintptr) uintptr {
	return uintptr(C.poly_call_create(create, C.uintptr_t(ctx), C.uintptr_t(config)))
}

func callForward(forward unsafe.Pointer, model uintptr, user, inputs unsafe.Pointer, n int32, count *int32) unsafe.Pointer {
	return C.poly_call_forward(forward, C.uintptr_t(model), user, inputs, C.int(n), (*C.int)(count))
}

func callRelease(release, user unsafe.Pointer) { C.poly_call_release(release, user) }
