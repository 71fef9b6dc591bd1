//go:build linux && amd64 && cgo

package code

import (
	"sync/atomic"
	"time"
)

// What a run costs decides where it happens. Operations and bytes give a first estimate, which may be wrong by several
// times; where that could matter the first runs are timed.
type cost struct {
	ns     atomic.Int64 // of a run on one thread
	trials atomic.Int32 // how many runs are still to be timed
}

const (
	// shareFrom is the time from which on a run is shared by threads. To share it costs 0.3 us if they are awake: a run
	// of 17 us takes 9.1. If they sleep it takes 14 to 18, since they are late and the caller does most of it.
	shareFrom = 12 * time.Microsecond
	// doubtful are the estimates that are checked by runs: from shareFrom/spread to shareFrom*spread.
	spread = 8
	trials = 3
	// pieceTime is how long a piece of the work of a thread should be. It is what a run loses at most if a thread of
	// it is stopped.
	pieceTime = 100 * time.Microsecond
	maxPieces = 16
	// A core does about so many operations and moves so many bytes in a nanosecond.
	flopsPerNs, bytesPerNs = 40, 20
)

// where a run happens.
type where int

const (
	here     where = iota // on the goroutine
	measured              // there, and is timed
	pooled                // in C, by several threads
)

// Estimate is about how long a run takes on one thread.
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

// took is told how long a run took: the shortest of the trials counts.
func (c *cost) took(t time.Duration) {
	left := c.trials.Add(-1)
	if old := c.ns.Load(); left >= trials-1 || int64(t) < old {
		c.ns.Store(int64(t))
	}
}

// pieces is how many pieces the work of each thread is cut into.
func (c *cost) pieces() int {
	return int(min(max(c.ns.Load()/int64(threads)/int64(pieceTime), 1), maxPieces))
}
