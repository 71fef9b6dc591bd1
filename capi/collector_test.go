package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 1200}, {4 << 20, 1200}, {8 << 20, 600}, {12 << 20, 400}, {32 << 20, 400}, {64 << 20, 200}, {128 << 20, 100}, {4 << 30, 100}} {
		if got := growth(c.live); got != c.want {
			t.Errorf("growth(%d) is %d, expected %d", c.live, got, c.want)
		}
	}
}

// A heap that grows is collected more often, and one that shrinks less often again.
func TestGrowthFollowsTheHeap(t *testing.T) {
	becomes := func(want int) {
		t.Helper()
		percent := 0
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			runtime.GC()
			percent = debug.SetGCPercent(-1)
			debug.SetGCPercent(percent)
			if percent == want {
				return
			}
		}
		t.Fatalf("the heap may grow by %d percent, expected %d", percent, want)
	}
	followHeap() // also where GOGC is set
	large := make([]byte, 200<<20)
	becomes(leastGrowth)
	runtime.KeepAlive(large)
	large = nil
	becomes(growth(0))
}
