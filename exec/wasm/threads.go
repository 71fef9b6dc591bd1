package wasm

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// run is one call of a kernel that several threads share: each takes the next piece of the work items until none is left.
type run struct {
	k     *Kernel
	ptrs  []unsafe.Pointer
	vars  []int64
	piece int64
	next  atomic.Int64
	wg    sync.WaitGroup
	mu    sync.Mutex
	err   error
}

var (
	runs = sync.Pool{New: func() any { return new(run) }}
	// work feeds the workers, which are started with the first parallel kernel
	// and wait for the next one after that.
	work = sync.OnceValue(func() chan *run {
		c := make(chan *run)
		for range max(runtime.GOMAXPROCS(0)-1, 1) {
			go func() {
				for r := range c {
					r.do()
					r.wg.Done()
				}
			}()
		}
		return c
	})
)

const (
	// shareFrom is the time from which on a run is shared by threads, and pieceTime how long a piece should be.
	shareFrom = 20 * time.Microsecond
	pieceTime = 100 * time.Microsecond
	maxPieces = 16 // for each thread
	// A core does about so many operations and moves so many bytes in a nanosecond.
	flopsPerNs, bytesPerNs = 10, 10
)

// share is how many threads share a run, and how many work items are a piece of it.
func share(items int64, threads int, flops, bytes float64) (int, int64) {
	took := time.Duration(max(flops/flopsPerNs, bytes/bytesPerNs)) * time.Nanosecond
	n := min(int64(threads), items)
	if n <= 1 || took < shareFrom {
		return 1, items
	}
	pieces := n * min(max(int64(took)/n/int64(pieceTime), 1), maxPieces)
	return int(n), max((items+pieces-1)/pieces, 1)
}

// do does pieces of a run until none is left.
func (r *run) do() {
	for {
		first := r.next.Add(r.piece) - r.piece
		n := min(r.piece, r.k.Items-first)
		if n <= 0 {
			return
		}
		if err := r.k.runItems(first, n, r.ptrs, r.vars); err != nil {
			r.mu.Lock()
			r.err = err
			r.mu.Unlock()
			return
		}
	}
}

// runShared runs a kernel on several threads: workers where they are free, and the calling one.
func runShared(k *Kernel, ptrs []unsafe.Pointer, vars []int64) error {
	r := runs.Get().(*run)
	r.k, r.ptrs, r.vars, r.err, r.piece = k, ptrs, vars, nil, k.piece
	r.next.Store(0)
	workers := work()
	for range k.Threads - 1 {
		r.wg.Add(1)
		select {
		case workers <- r:
		default:
			r.wg.Done()
		}
	}
	r.do()
	r.wg.Wait()
	err := r.err
	r.k, r.ptrs, r.vars = nil, nil, nil
	runs.Put(r)
	return err
}
