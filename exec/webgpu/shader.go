// Package webgpu runs kernels on a GPU by way of WebGPU.
package webgpu

import (
	"fmt"
	"os"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/settings"
	"polygrad/render/wgsl"
)

// Shader lays a kernel out for a machine as a choice says, and writes it as a compute shader.
func Shader(p *lower.Program, m ir.Machine, c plan.Choice) (*wgsl.Kernel, error) {
	s, _, _, err := layOut(p, m, c)
	if err == nil && settings.Dump.Get() == "wgsl" {
		fmt.Fprintln(os.Stderr, s.Source)
	}
	return s, err
}

// layOut makes such a shader, and tells how the kernel is laid out.
func layOut(p *lower.Program, m ir.Machine, c plan.Choice) (s *wgsl.Kernel, k *ir.Kernel, l plan.Layout, err error) {
	if k, l, err = nest.CompileAs(p.Name, p.Linear, m, c); err != nil {
		return nil, nil, nil, err
	}
	s, err = wgsl.Render(k, m)
	if err != nil && m.Lanes > 1 { // vectors of what lanes cannot do for themselves
		m.Lanes, m.WideLanes = 1, 1
		return layOut(p, m, c)
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("webgpu.Shader: kernel %s: %w", p.Name, err)
	}
	return s, k, l, nil
}
