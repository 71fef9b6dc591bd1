//go:build linux && amd64 && cgo

package code

import (
	"sync/atomic"
	"time"
)

// The time of a run decides where it happens. Operations and bytes give a first estimate, which may be wrong by several times;
// where that matters the first runs are timed.
type cost struct {
	ns     atomic.Int64 // of a run on one thread
	trials atomic.Int32 // runs left to be timed
}

const (
	// shareFrom is the time from which a run is shared by threads. Sharing costs 0.3 us if they are awake: a run of 17 us takes 9.1.
	// If they sleep it takes 14 to 18, since they start late and the caller does most of it.
	shareFrom = 12 * time.Microsecond
	// Estimates from shareFrom/spread to shareFrom*spread are checked by timing.
	spread = 8
	trials = 3
	// pieceTime is the intended time of a thread's piece of work: the most that a run loses if one of its threads is preempted. A run begins
	// with the pieces that the run before has ended with; what these read and write is to fit into a cache.
	pieceTime = 25 * time.Microsecond
	maxPieces = 16
	// Operations and bytes of a core in a nanosecond, roughly.
	flopsPerNs, bytesPerNs = 40, 20
)

// where is the place of a run.
type where int

const (
	here     where = iota // on the goroutine
	measured              // on the goroutine, and timed
	pooled                // in C, by several threads
)

// Estimate is the estimated time of a run on one thread.
func Estimate(flops, bytes float64) time.Duration {
	return time.Duration(max(flops/flopsPerNs, bytes/bytesPerNs)) * time.Nanosecond
}

func (c *cost) estimate(flops, bytes float64) {
	ns := int64(Estimate(flops, bytes))
	c.ns.Store(ns)
	if ns > int64(shareFrom)/spread && ns < int64(shareFrom)*spread {
		c.trials.Store(trials)
	}
}

func (c *cost) how() where {
	if c.trials.Load() > 0 {
		return measured
	}
	if c.ns.Load() < int64(shareFrom) {
		return here
	}
	return pooled
}

// took records the time of a run: the shortest of the trials counts.
func (c *cost) took(t time.Duration) {
	left := c.trials.Add(-1)
	if old := c.ns.Load(); left >= trials-1 || int64(t) < old {
		c.ns.Store(int64(t))
	}
}

// pieces is the number of pieces of each thread's work.
func (c *cost) pieces() int {
	return int(min(max(c.ns.Load()/int64(threads)/int64(pieceTime), 1), maxPieces))
}
