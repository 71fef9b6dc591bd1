package fuzz

import (
	"testing"

	run "polygrad/exec"
	"polygrad/exec/interp"
	"polygrad/exec/webgpu"
)

// TestFuzzWebGPU compares the GPU, or a processor that stands for one, with the interpreter on random graphs.
func TestFuzzWebGPU(t *testing.T) {
	d, err := webgpu.New()
	if err != nil {
		t.Skip(err)
	}
	devs := []*run.Executor{run.New(interp.New()), run.New(d)}
	checkAll(t, devs, Generate, *seeds/5) // a processor takes long to compile shaders
	checkRows(t, devs, rows)
}
