package table

import (
	"testing"

	"polygrad/exec"
	"polygrad/exec/device"
	"polygrad/exec/webgpu"
	"polygrad/tests/part"
)

// TestGoWebGPU runs the table on the GPU, or on a processor that stands for one, if a library of WebGPU is installed; also with kernels of few
// elements laid out as those of many.
func TestGoWebGPU(t *testing.T) {
	d, err := webgpu.New()
	if err != nil {
		t.Skip(err)
	}
	cases, err := Read(Path)
	if err != nil {
		t.Fatal(err)
	}
	small, err := webgpu.New()
	if err != nil {
		t.Fatal(err)
	}
	small.(*webgpu.Device).For("small")
	for i, d := range []device.Device{d, small} {
		t.Run([]string{"as it is", "small"}[i], func(t *testing.T) {
			e := exec.New(d)
			for _, c := range part.Of(t, cases, part.Week, i) {
				c.RTol = max(c.RTol, 2.5e-7) // GPUs may fuse multiplications and additions
				t.Run(c.Name, func(t *testing.T) {
					if err := runOn(t, c, e); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}
