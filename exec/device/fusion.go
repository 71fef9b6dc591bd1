package device

import (
	"polygrad/core/nest/ir"
	"polygrad/core/schedule/fuse"
)

// FusionFor are the limits of fusion for a machine.
func FusionFor(m *ir.Machine) fuse.Options {
	o := fuse.Machine{Lanes: m.Lanes, Threads: m.Threads, L1: m.L1, L2: m.L2, L3: m.L3}
	if !m.Invocations {
		return fuse.For(o)
	}
	o.Launch = launchOnGPU
	return fuse.ForInvocations(o)
}

// launchOnGPU is how many cycles a launch takes on a GPU: some microseconds.
const launchOnGPU = 4000
