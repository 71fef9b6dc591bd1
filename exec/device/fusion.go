package device

import (
	"polygrad/core/nest/ir"
	"polygrad/core/schedule/fuse"
)

// FusionFor are the limits of fusion for a machine.
func FusionFor(m *ir.Machine) fuse.Options {
	return fuse.For(fuse.Machine{Lanes: m.Lanes, Threads: m.Threads, L1: m.L1, L2: m.L2, L3: m.L3})
}
