package table

import (
	"testing"

	"polygrad/exec"
	"polygrad/exec/webgpu"
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
	for kind, e := range map[string]*exec.Executor{"as it is": exec.New(d), "small": exec.New(small)} {
		t.Run(kind, func(t *testing.T) {
			for i, c := range cases {
				if testing.Short() && i%10 > 0 {
					continue
				}
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
