// Package shaders is a device that writes each kernel as a shader, which tools can check, and has the interpreter run it: what all GPUs
// would be given is known where there is none.
package shaders

import (
	"hash/fnv"
	"sync"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/schedule/fuse"
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/exec/webgpu"
	"polygrad/render/wgsl"
)

// Device is the device "shaders".
type Device struct {
	device.Host
	target *lower.Target

	mu   sync.Mutex
	seen map[string]bool
	all  []*wgsl.Kernel
}

// New makes a device.
func New() *Device { return &Device{target: lower.WebGPU(), seen: map[string]bool{}} }

// Name is "shaders".
func (d *Device) Name() string { return "shaders" }

// Target is that of GPUs.
func (d *Device) Target() *lower.Target { return d.target }

// Fusion is that of GPUs.
func (d *Device) Fusion() fuse.Options { return device.FusionFor(&ir.WebGPU, d.target) }

// machines are GPUs with what all have, and with more, and a processor that stands for one.
func machines() []ir.Machine {
	more, cpu := ir.WebGPU, ir.WebGPU
	more.F16C, more.Subgroups, more.Shared, more.Workgroups = true, true, 32<<10, 1
	cpu.Shared, cpu.Iterations = 0, 1<<12
	return []ir.Machine{ir.WebGPU, more, cpu}
}

// Compile writes the shaders and prepares the lists.
func (d *Device) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	out := make([]device.Kernel, len(progs))
	for i, p := range progs {
		for _, m := range machines() {
			if m.Shared == 0 && nest.Online(p.Linear, ir.WebGPU) {
				continue // fusion makes no such kernel for it
			}
			for _, c := range choices(p, m) {
				s, err := webgpu.Shader(p, m, c)
				if err != nil {
					return nil, err
				}
				d.add(s)
			}
		}
		var err error
		if out[i], err = interp.Compile(p.Name, p.Linear); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// choices are that of the heuristics and one of those next to it.
func choices(p *lower.Program, m ir.Machine) []plan.Choice {
	_, l, err := nest.CompileAs(p.Name, p.Linear, m, "")
	if near := l.Neighbours(m); err == nil && len(near) > 0 {
		h := fnv.New32()
		_, _ = h.Write([]byte(p.Name + m.Name))
		return []plan.Choice{"", near[int(h.Sum32()>>1)%len(near)]}
	}
	return []plan.Choice{""}
}

// add keeps a shader unless there is an equal one.
func (d *Device) add(s *wgsl.Kernel) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.seen[s.Source] {
		d.seen[s.Source] = true
		d.all = append(d.all, s)
	}
}

// Shaders are the different shaders so far.
func (d *Device) Shaders() []*wgsl.Kernel {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all
}
