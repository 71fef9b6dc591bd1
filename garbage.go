package polygrad

import (
	"runtime"
	"sync/atomic"
	"time"

	"polygrad/variable"
)

// afterGC is the memory of tensors, in bytes, after the last garbage collection.
var afterGC atomic.Int64

// minGarbage is the least growth of this memory, in bytes, at which collectGarbage runs the collector.
const minGarbage = 256 << 20

// collectGarbage runs the garbage collector if the memory of tensors has doubled since it last ran. The collector does not see that memory, so a
// small program could make any amount of garbage before the collector runs by itself. It reports whether it has run.
func collectGarbage() bool {
	if n := variable.InUse(); n < 2*afterGC.Load() || n-afterGC.Load() < minGarbage {
		return false
	}
	// The cleanups of tensors run after the collection. That of an object made just before it runs at about the same time, so wait for it.
	done := make(chan struct{})
	runtime.AddCleanup(new([16]int), func(done chan struct{}) { close(done) }, done)
	runtime.GC()
	select {
	case <-done:
	case <-time.After(10 * time.Millisecond):
	}
	return true
}
