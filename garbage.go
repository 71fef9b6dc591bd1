package polygrad

import (
	"runtime"
	"sync/atomic"
	"time"

	"polygrad/variable"
)

// afterGC are the bytes of tensors when the collector had run last.
var afterGC atomic.Int64

// minGarbage is how many bytes of tensors may wait for the collector at least.
const minGarbage = 256 << 20

// collectGarbage runs the collector if the memory of tensors has doubled since it last did: it does not see that memory, and a small
// program could make garbage of any size before it runs by itself. It reports whether it has run.
func collectGarbage() bool {
	if n := variable.InUse(); n < 2*afterGC.Load() || n-afterGC.Load() < minGarbage {
		return false
	}
	// The cleanups of tensors run after the collector. One that is as young as this runs about when they have.
	done := make(chan struct{})
	runtime.AddCleanup(new([16]int), func(done chan struct{}) { close(done) }, done)
	runtime.GC()
	select {
	case <-done:
	case <-time.After(10 * time.Millisecond):
	}
	return true
}
