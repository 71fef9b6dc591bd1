package device

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls f for 0 … n-1 on all processors and waits. The caller takes part, so a single call needs no other goroutine and its
// stack growth. A panic in f becomes a panic of Each.
func Each(n int, f func(i int)) {
	var next atomic.Int64
	var panicked atomic.Pointer[any]
	work := func() {
		defer func() {
			if r := recover(); r != nil {
				panicked.CompareAndSwap(nil, &r)
			}
		}()
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			f(int(i))
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if r := panicked.Load(); r != nil {
		panic(*r)
	}
}
