package device

import (
	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/schedule/fuse"
	"polygrad/core/uop"
)

// FusionFor are the limits of fusion for a machine, whose kernels are lowered for a target.
func FusionFor(m *ir.Machine, target *lower.Target) fuse.Options {
	o := fuse.Machine{Lanes: m.Lanes, Vectors: m.Vectors, Threads: m.Threads, L1: m.L1, L2: m.L2, L3: m.L3}
	if !m.Invocations {
		limits := fuse.For(o)
		limits.Cycles = func(kernel *uop.UOp) (all, lanes float64, ok bool) {
			p, err := lower.Lower(kernel, target)
			if err != nil {
				return 0, 0, false
			}
			return nest.Cycles(p.Linear, *m)
		}
		return limits
	}
	o.Launch = launchOnGPU
	limits := fuse.ForInvocations(o)
	limits.Rows = min(limits.Rows, max(m.Workgroups, 2))
	limits.OnlineRows = nest.OnlineRows
	limits.Online = func(kernel *uop.UOp) bool {
		if m.Shared == 0 {
			return false
		}
		p, err := lower.Lower(kernel, target)
		return err == nil && nest.Online(p.Linear, *m)
	}
	return limits
}

// launchOnGPU is the number of cycles of a launch on a GPU: some microseconds.
const launchOnGPU = 4000
