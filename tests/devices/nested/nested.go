// Package nested is a device that runs kernels as nests of loops, laid out for any machine, without making code of
// them: what core/nest does is tested with it apart from the code generators.
package nested

import (
	"fmt"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/schedule/fuse"
	"polygrad/exec/device"
	"polygrad/tests/interp"
)

// Device runs kernels that were laid out for a machine.
type Device struct {
	device.Host
	machine ir.Machine
	target  *lower.Target
}

// New makes the device of a machine.
func New(m ir.Machine) *Device { return &Device{machine: m, target: lower.Native()} }

// Name is "nested" and the name of the machine.
func (d *Device) Name() string { return "nested " + d.machine.Name }

// Target is the target that lists are lowered for.
func (d *Device) Target() *lower.Target { return d.target }

// Fusion bounds what is merged.
func (d *Device) Fusion() fuse.Options {
	return device.FusionFor(&d.machine, d.Target())
}

// Compile lays kernels out.
func (d *Device) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	out := make([]device.Kernel, len(progs))
	for i, p := range progs {
		k, err := nest.Compile(p.Name, p.Linear, d.machine)
		if err != nil {
			return nil, err
		}
		out[i] = kernel{k}
	}
	return out, nil
}

type kernel struct{ *ir.Kernel }

// Run runs the kernel in two calls, if it has more than one work item.
func (k kernel) Run(bufs []unsafe.Pointer, vars []int64) error {
	first := k.Items / 2
	for _, part := range [][2]int64{{0, first}, {first, k.Items - first}} {
		if part[1] == 0 {
			continue
		}
		if err := interp.Run(k.Kernel, bufs, vars, part[0], part[1]); err != nil {
			return fmt.Errorf("nested: %w", err)
		}
	}
	return nil
}
