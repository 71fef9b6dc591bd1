//go:build !wasip1

package wasm

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

const (
	// spinTime is how long a worker looks for the next run before it sleeps, and waitTime how long a caller looks for the
	// end of one: to wake a thread takes longer than a short run.
	spinTime = 50 * time.Microsecond
	waitTime = 100 * time.Microsecond
	// clockEvery is how many times they look between two readings of the clock.
	clockEvery = 16
)

// maxThreads is the limit of threads that share a run.
const maxThreads = 256

// pool shares runs among workers and the goroutine that asks for one, as that of the device native does: a run is cut into
// parts, one for each thread, and parts into pieces. A thread takes the pieces of its own part first, so that it meets
// the same memory in one run after the other, and then the remaining pieces of the others. Pieces are taken with one
// compare-and-swap on a word that also holds the number of the run: who is late fails there and touches nothing.
var pool struct {
	run   padded[atomic.Uint32] // the number of the last run: what workers wait for
	done  padded[atomic.Uint32] // pieces of the run that are finished
	busy  atomic.Bool           // somebody's run has the pool
	parts atomic.Uint32
	// waiting says that the caller sleeps until all pieces are done; sleepers is the number of workers that sleep until a run comes.
	waiting  atomic.Bool
	sleepers padded[atomic.Int32]
	// left are the pieces of each part that nobody has taken; see wordOf.
	left [maxThreads]padded[atomic.Uint64]
	// What a run is: written while busy is set and no piece is left, read after a piece was taken.
	k       *Kernel
	ptrs    []unsafe.Pointer
	vars    []int64
	pieces  uint32
	mu      sync.Mutex
	err     error
	workers int // that were started; their numbers count from 1, the caller is 0
}

// padded is a word with a cache line of its own.
type padded[T any] struct {
	v T
	_ [64]byte
}

// wordOf packs the pieces of a part that are left: the number of the run, the end, and the next one.
func wordOf(run, end, next uint32) uint64 { return uint64(run)<<32 | uint64(end)<<16 | uint64(next) }

// take takes a piece of a part of a run; ok is false if there is none.
func take(part, run uint32) (piece uint32, ok bool) {
	word := &pool.left[part].v
	for {
		v := word.Load()
		next, end := uint32(v&0xffff), uint32(v>>16&0xffff)
		if uint32(v>>32) != run || next >= end {
			return 0, false
		}
		if word.CompareAndSwap(v, v+1) {
			return next, true
		}
	}
}

// begin is the first item of part i when count items from first on are divided into n parts, as equal as possible.
func begin(first, count, n, i int64) int64 {
	return first + count/n*i + min(i, count%n)
}

// piece does a piece of a part.
func piece(part, number uint32) {
	k, parts, pieces := pool.k, int64(pool.parts.Load()), int64(pool.pieces)
	total := uint32(parts * pieces) // once the last piece is done all this belongs to the next run
	lo, hi := begin(0, k.Items, parts, int64(part)), begin(0, k.Items, parts, int64(part)+1)
	first, end := begin(lo, hi-lo, pieces, int64(number)), begin(lo, hi-lo, pieces, int64(number)+1)
	if first < end {
		if err := k.runItems(first, end-first, pool.ptrs, pool.vars); err != nil {
			pool.mu.Lock()
			pool.err = err
			pool.mu.Unlock()
		}
	}
	if pool.done.v.Add(1) == total && pool.waiting.Load() {
		wake(&pool.done.v, 1)
	}
}

// work is a thread's share of a run: its own part, then the remaining pieces of the others.
func work(number, run uint32) {
	parts := pool.parts.Load() // of a later run already, if nothing can be taken
	for i := range parts {
		part := (number + i) % parts
		for n, ok := take(part, run); ok; n, ok = take(part, run) {
			piece(part, n)
		}
	}
}

// worker is a goroutine that looks for runs, and sleeps where none comes. Any of them may take pieces of any part.
func worker(number uint32) {
	seen, since := uint32(0), time.Now()
	for spins := uint(1); ; spins++ {
		run := pool.run.v.Load()
		switch {
		case run != seen:
			seen = run
			work(number, run)
		case spins%clockEvery != 0 || time.Since(since) < spinTime:
			continue
		default:
			pool.sleepers.v.Add(1)
			sleepWhile(&pool.run.v, seen)
			pool.sleepers.v.Add(-1)
		}
		since = time.Now()
	}
}

// rouse starts the workers that a run of so many threads needs, and wakes as many if any sleeps.
func rouse(threads int) {
	for ; pool.workers < threads-1; pool.workers++ {
		go worker(uint32(pool.workers + 1))
	}
	if pool.sleepers.v.Load() > 0 {
		wake(&pool.run.v, threads-1)
	}
}

// runShared runs a kernel on several threads, the calling one among them. Whoever finds the pool busy does the work
// alone: the cores are busy, too.
func runShared(k *Kernel, ptrs []unsafe.Pointer, vars []int64) error {
	if !pool.busy.CompareAndSwap(false, true) {
		return k.runItems(0, k.Items, ptrs, vars)
	}
	pool.k, pool.ptrs, pool.vars, pool.err = k, ptrs, vars, nil
	pool.pieces = uint32(k.pieces)
	pool.parts.Store(uint32(k.Threads))
	pool.done.v.Store(0)
	run := pool.run.v.Load() + 1
	for part := range k.Threads {
		pool.left[part].v.Store(wordOf(run, pool.pieces, 0))
	}
	pool.run.v.Store(run)
	rouse(k.Threads)
	work(0, run)
	wait(uint32(k.Threads * k.pieces))
	err := pool.err
	pool.k, pool.ptrs, pool.vars = nil, nil, nil
	pool.busy.Store(false)
	return err
}

// wait waits until so many pieces are done.
func wait(total uint32) {
	since := time.Now()
	for spins := uint(1); pool.done.v.Load() != total; spins++ {
		if spins%clockEvery != 0 || time.Since(since) < waitTime {
			continue
		}
		pool.waiting.Store(true)
		if done := pool.done.v.Load(); done != total {
			sleepWhile(&pool.done.v, done)
		}
		pool.waiting.Store(false)
	}
}
