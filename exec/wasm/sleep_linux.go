package wasm

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A goroutine that waits for a channel is run by Go's scheduler after 70 us; a thread that waits for a futex goes on after 3 us.
const futexWait, futexWake = 128, 129 // both within the process

// sleepWhile sleeps, if the word is value, until wake is called for the word; it may return earlier.
func sleepWhile(word *atomic.Uint32, value uint32) {
	_, _, _ = syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value), 0, 0, 0)
}

// wake wakes at most n of the threads that sleep on a word.
func wake(word *atomic.Uint32, n int) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, uintptr(n), 0, 0, 0)
}
