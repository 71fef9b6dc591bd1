package wasm

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A goroutine that waits for a channel is found by Go's scheduler after 70 us, one that the system wakes goes on after 3.
const futexWait, futexWake = 128, 129 // both within the process

// sleepWhile sleeps until the word is not value any more and somebody wakes who sleeps on it; it may return earlier.
func sleepWhile(word *atomic.Uint32, value uint32) {
	_, _, _ = syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value), 0, 0, 0)
}

// wake wakes as many as n of those that sleep on a word.
func wake(word *atomic.Uint32, n int) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, uintptr(n), 0, 0, 0)
}
