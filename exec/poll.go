package exec

import (
	"errors"
	"sync/atomic"
	"time"
)

// ErrInterrupted is the error of a run that the host has stopped.
var ErrInterrupted = errors.New("interrupted")

// pollEvery is the interval between polls of the host.
const pollEvery = 10 * time.Millisecond

var (
	poll   atomic.Pointer[func() bool]
	polled atomic.Int64 // last poll, in nanoseconds since start
	start  = time.Now()
)

// SetPoll sets a function that stops a run, called between kernels on the goroutine of Run; nil removes it.
func SetPoll(stop func() bool) {
	if stop == nil {
		poll.Store(nil)
		return
	}
	poll.Store(&stop)
}

// stopped polls the host if the interval has passed.
func stopped(stop *func() bool) bool {
	now, last := int64(time.Since(start)), polled.Load()
	if now-last < int64(pollEvery) || !polled.CompareAndSwap(last, now) {
		return false
	}
	return (*stop)()
}
