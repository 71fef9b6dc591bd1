package fuzz

import (
	"testing"

	run "polygrad/exec"
	"polygrad/exec/webgpu"
)

// TestFuzzWebGPU compares the GPU, or a processor that stands for one, with native code on random graphs: the interpreter, with which native
// code is compared, takes longer than all shaders.
func TestFuzzWebGPU(t *testing.T) {
	d, err := webgpu.New()
	if err != nil {
		t.Skip(err)
	}
	host, err := run.Open("native")
	if err != nil {
		t.Fatal(err)
	}
	devs := []*run.Executor{host, run.New(d)}
	for _, kind := range []string{"discrete", "small"} { // also where a processor stands for one
		gpu, err := webgpu.New()
		if err != nil {
			t.Fatal(err)
		}
		gpu.(*webgpu.Device).For(kind)
		devs = append(devs, run.New(gpu))
	}
	given := *seeds
	defer func() { *seeds = given }()
	*seeds /= 4 // a processor takes long to compile shaders
	checkAll(t, devs, Generate, *seeds)
	checkRows(t, devs, rows)
}
