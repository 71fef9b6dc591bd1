//go:build !wasip1

package device

import (
	"github.com/klauspost/cpuid/v2"

	"polygrad/core/nest/ir"
)

// Caches adds the known cache sizes of this processor to a machine.
func Caches(m *ir.Machine) {
	c := cpuid.CPU
	if c.Cache.L1D > 0 {
		m.L1 = int64(c.Cache.L1D)
	}
	if c.Cache.L2 > 0 {
		m.L2 = int64(c.Cache.L2)
	}
	if c.Cache.L3 > 0 {
		// Virtual machines report the cache of the whole processor but only a few of its cores.
		const mostPerCore = 4 << 20
		m.L3 = min(int64(c.Cache.L3)/int64(max(c.PhysicalCores, 1)), mostPerCore)
	}
	m.L3 = max(m.L3, m.L2)
}
