package wasm

import (
	"runtime"
	"sync"
	"unsafe"
)

// run is one call of a kernel that has several threads.
type run struct {
	k    *Kernel
	ptrs []unsafe.Pointer
	vars []int64
	wg   sync.WaitGroup
	mu   sync.Mutex
	err  error
}

type part struct {
	run    *run
	thread int
}

var (
	runs = sync.Pool{New: func() any { return new(run) }}
	// parts feeds the workers, which are started with the first parallel kernel
	// and wait for the next one after that.
	parts = sync.OnceValue(func() chan part {
		c := make(chan part)
		for range max(runtime.GOMAXPROCS(0)-1, 1) {
			go func() {
				for p := range c {
					p.run.do(p.thread)
				}
			}()
		}
		return c
	})
)

func (r *run) do(thread int) {
	if err := r.k.runThread(thread, r.ptrs, r.vars); err != nil {
		r.mu.Lock()
		r.err = err
		r.mu.Unlock()
	}
	r.wg.Done()
}

// runThreads runs all threads of a kernel: on workers where one is free, else here.
func runThreads(k *Kernel, ptrs []unsafe.Pointer, vars []int64) error {
	r := runs.Get().(*run)
	r.k, r.ptrs, r.vars, r.err = k, ptrs, vars, nil
	r.wg.Add(k.Threads)
	work := parts()
	for t := range k.Threads - 1 {
		select {
		case work <- part{r, t}:
		default:
			r.do(t)
		}
	}
	r.do(k.Threads - 1)
	r.wg.Wait()
	err := r.err
	r.k, r.ptrs, r.vars = nil, nil, nil
	runs.Put(r)
	return err
}
