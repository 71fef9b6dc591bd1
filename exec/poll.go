package exec

import (
	"errors"
	"sync/atomic"
	"time"
)

// ErrInterrupted is how a run ends that the host has stopped.
var ErrInterrupted = errors.New("interrupted")

// pollEvery is the time that has to pass before the host is asked again.
const pollEvery = 10 * time.Millisecond

var (
	poll   atomic.Pointer[func() bool]
	polled atomic.Int64 // when, as nanoseconds since start
	start  = time.Now()
)

// SetPoll lets stop decide, between kernels and on the goroutine that called Run, whether a run goes on; nil ends that.
func SetPoll(stop func() bool) {
	if stop == nil {
		poll.Store(nil)
		return
	}
	poll.Store(&stop)
}

// stopped asks the host, if it is time to.
func stopped(stop *func() bool) bool {
	now, last := int64(time.Since(start)), polled.Load()
	if now-last < int64(pollEvery) || !polled.CompareAndSwap(last, now) {
		return false
	}
	return (*stop)()
}
