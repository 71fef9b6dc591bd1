package webgpu

import (
	"sync/atomic"

	"polygrad/exec/device"
)

// counts are the device.Counts of all adapters of a device.
type counts struct {
	submits, launches, copies, groups, bindings, pipelines, buffers, waits, in, out atomic.Int64
}

// Counts are the launches, copies and allocations of the device since it was opened.
func (d *Device) Counts() device.Counts {
	c := &d.counts
	return device.Counts{
		Submits: c.submits.Load(), Launches: c.launches.Load(), Copies: c.copies.Load(), Groups: c.groups.Load(), Bindings: c.bindings.Load(),
		Pipelines: c.pipelines.Load(), Buffers: c.buffers.Load(), Waits: c.waits.Load(), In: c.in.Load(), Out: c.out.Load(),
	}
}
