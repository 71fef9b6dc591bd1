package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"polygrad/core/settings"
)

// How far the heap may grow between collections, in percent of what is alive. A compilation makes much garbage on a small
// heap: with Go's 100 the collector is its largest cost (matmul 256: 6.9 ms, with 400 3.6 ms). A large heap, which a
// graph of a thousand kernels makes, must not be left behind five times its size: it may grow by roomyHeap.
const (
	mostGrowth  = 400
	leastGrowth = 100
	roomyHeap   = 128 << 20
)

func growth(live uint64) int {
	return int(min(max(roomyHeap*100/max(live, 1), leastGrowth), mostGrowth))
}

// collection is an object without references: the collector finalizes it once in each cycle. Objects below 16 bytes
// without pointers share their memory and would not be.
type collection struct{ percent, _ int }

func (c *collection) over() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if percent := growth(live[0].Value.Uint64()); percent != c.percent {
		c.percent = percent
		debug.SetGCPercent(percent)
	}
	runtime.SetFinalizer(c, (*collection).over)
}

func init() {
	if !settings.GOGC.IsSet() {
		debug.SetGCPercent(mostGrowth)
		runtime.SetFinalizer(&collection{percent: mostGrowth}, (*collection).over)
	}
}
