package fuzz

import (
	"strings"
	"testing"

	run "polygrad/exec"
	"polygrad/exec/interp"
	"polygrad/exec/webgpu"
)

// TestFuzzWebGPU compares the GPU, or a processor that stands for one, with the interpreter on random graphs without float64.
func TestFuzzWebGPU(t *testing.T) {
	d, err := webgpu.New()
	if err != nil {
		t.Skip(err)
	}
	devs := []*run.Executor{run.New(interp.New()), run.New(d)}
	for seed, failures := *first, 0; seed < *first+*seeds && failures < *most; seed++ {
		err := compare(devs, Generate, seed, seed+1)
		if err != nil && !strings.Contains(err.Error(), "device webgpu has no float64") {
			failures++
			t.Error(err)
		}
	}
}
