//go:build !wasip1

package webgpu

import (
	"time"

	"polygrad/core/lower"
	"polygrad/core/nest/plan"
	"polygrad/exec/beam"
	"polygrad/exec/device"
)

const (
	// rate and bandwidth are those of a slow GPU, in operations and bytes a second. Kernels whose time is short by this estimate are not tuned.
	rate, bandwidth = 1e12, 5e10
	// patience is the time limit of a search: shaders take long to compile.
	patience = 5 * time.Second
)

// tune makes the tuner of POLY_BEAM for the adapter, as kernels are laid out for it now.
func (a *adapter) tune(d *Device) {
	a.tuner = beam.NewTuner(beam.Device{
		Device: d, Machine: beam.MachineKey(a.limits.name, a.limits.driver, a.machine), Patience: patience,
		Estimate: func(c *beam.Candidate) time.Duration {
			return time.Duration(1e9 * max(c.Kernel.Flops/rate, c.Kernel.Bytes/bandwidth))
		},
		Lay: func(p *lower.Program, c plan.Choice) (*beam.Candidate, error) {
			m := a.machineFor(p)
			s, k, l, err := layOut(p, m, c)
			if err != nil {
				return nil, err
			}
			return &beam.Candidate{Kernel: k, Code: s.Source, Near: l.Neighbours(m), Load: func() (device.Kernel, func(), error) {
				k := &kernel{Kernel: s, machine: m}
				_, err := k.on(a)
				return k, func() {}, err
			}}, nil
		},
	})
}
