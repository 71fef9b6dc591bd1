package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"unsafe"

	"polygrad/core/settings"
	"polygrad/exec/pages"
)

// Heap growth between collections, in percent of live memory. A compilation makes much garbage on a small heap: with Go's 100 the
// collector is its largest cost (matmul 256: 6.9 ms, with 400 3.6 ms). A large heap, as of a graph of a thousand kernels, must
// not grow to five times its size: its growth is limited to roomyHeap. A tiny one grows to earlyHeap, since a first compilation makes
// less garbage: the Jacobian of a loop of 1,000 steps took 30 ms of processor time with a collection, 22 without. WebAssembly never
// gives memory back: with the limit of native code a training loop held 398 MB, with 100 percent 225, and was as fast, so only a small
// heap grows by more there, and a tiny one to earlyHeapWasm: the first training step of an MLP in a page ends before a collection then
// (160 ms of processor time instead of 190: the collector's code is fresh, too).
const (
	mostGrowth    = 400
	leastGrowth   = 100
	leastHeap     = 4 << 20 // Go's heap grows as if it were this at least
	roomyHeap     = 128 << 20
	roomyHeapWasm = 16 << 20
	earlyHeapWasm = 32 << 20
)

func growth(live uint64) int {
	live = max(live, leastHeap)
	early, roomy := uint64(earlyHeap), uint64(roomyHeap)
	if runtime.GOARCH == "wasm" {
		early, roomy = earlyHeapWasm, roomyHeapWasm
	}
	return int(max(min(max(roomy*100/live, leastGrowth), mostGrowth), early*100/live))
}

// collection is an object without references: the collector finalizes it once in each cycle. Pointer-free objects below 16 bytes
// share memory, so they would not be finalized.
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

// followHeap lets the heap grow by growth, from now on.
func followHeap() {
	debug.SetGCPercent(growth(0))
	runtime.SetFinalizer(&collection{percent: growth(0)}, (*collection).over)
}

// earlyHeap is the part of the heap that has huge pages: most compilations need no more. With small ones a first compilation takes 10,000
// page faults, a sixth of its time.
const earlyHeap = 48 << 20

// enlargePages makes the heap begin with huge pages: it allocates a block with huge pages that is garbage at once.
func enlargePages() {
	if runtime.GOOS != "linux" {
		return
	}
	percent := debug.SetGCPercent(-1) // otherwise the block would start a collection, which would find it in use
	reserveEarly()
	debug.SetGCPercent(percent)
	go runtime.GC()
}

//go:noinline
func reserveEarly() {
	block := make([]byte, earlyHeap)
	pages.Enlarge(uintptr(unsafe.Pointer(unsafe.SliceData(block))), earlyHeap)
}

func init() {
	switch {
	case settings.GOGC.Get() == "off":
		debug.SetGCPercent(-1)
	case settings.GOGC.IsSet():
		debug.SetGCPercent(settings.GOGC.Number())
	default:
		enlargePages()
		followHeap()
	}
}
