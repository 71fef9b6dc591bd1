package fuzz

import (
	"testing"

	"polygrad/core/schedule/fuse"
	run "polygrad/exec"
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/exec/wasm"
)

// merging is a device for which kernels are merged, as freely as they can be.
type merging struct{ device.Device }

func (merging) Fusion() fuse.Options {
	return fuse.Options{RowBytes: 1 << 20, MinRows: 1, SmallWork: 1 << 20, MaxWork: 4, MaxBuffers: 32}
}

// TestMergedKernelsAgree compares programs whose kernels are merged with the interpreter on kernels as they are.
func TestMergedKernelsAgree(t *testing.T) {
	devs := []*run.Executor{run.New(interp.New()), run.New(merging{interp.New()}), run.New(merging{wasm.New()})}
	failed := 0
	for from := uint64(0); from < uint64(*seeds); from += batch {
		if err := check(devs, from, min(from+batch, uint64(*seeds))); err != nil {
			t.Error(err)
			if failed++; failed == 20 {
				t.Fatal("too many failures")
			}
		}
	}
}
