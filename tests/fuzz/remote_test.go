package fuzz

import (
	"testing"

	run "polygrad/exec"
	"polygrad/exec/interp"
	"polygrad/tests/devices/remote"
)

// TestFuzzRemote compares a device with memory of its own and few buffers a kernel, where kernels stay as they are and where
// they are merged, with the interpreter on the host's memory.
func TestFuzzRemote(t *testing.T) {
	devs := []*run.Executor{run.New(interp.New()), run.New(remote.NewDouble()), run.New(merging{remote.NewDouble()})}
	checkAll(t, devs, Generate, *seeds)
	checkRows(t, devs, rows)
}
