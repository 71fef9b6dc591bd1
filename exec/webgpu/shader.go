// Package webgpu runs kernels on a GPU by way of WebGPU.
package webgpu

import (
	"fmt"
	"os"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/settings"
	"polygrad/render/wgsl"
)

// Shader lays a kernel out for a machine and writes it as a compute shader.
func Shader(p *lower.Program, m ir.Machine) (*wgsl.Kernel, error) {
	k, err := nest.Compile(p.Name, p.Linear, m)
	if err != nil {
		return nil, err
	}
	s, err := wgsl.Render(k, m)
	if err != nil && m.Lanes > 1 { // vectors of what lanes cannot do for themselves
		m.Lanes, m.WideLanes = 1, 1
		return Shader(p, m)
	}
	if err != nil {
		return nil, fmt.Errorf("webgpu.Shader: kernel %s: %w", p.Name, err)
	}
	if settings.Dump.Get() == "wgsl" {
		fmt.Fprintln(os.Stderr, s.Source)
	}
	return s, nil
}
