// Package workgroups is a device for tests: it runs kernels as work items in workgroups, on a device whose compiler knows
// them.
package workgroups

import (
	"fmt"

	"polygrad/core/lower"
	"polygrad/core/lower/opt"
	"polygrad/core/uop"
	"polygrad/exec/device"
)

// GPU are limits that GPUs have, Tight such that most kernels meet them.
var (
	GPU   = &opt.Groups{Shared: 32 << 10, Items: 256, Counts: [3]int64{65535, 65535, 65535}, Sizes: [3]int64{256, 256, 64}}
	Tight = &opt.Groups{Shared: 1 << 10, Items: 24, Counts: [3]int64{7, 5, 1 << 24}, Sizes: [3]int64{6, 4, 2}}
)

// Device is a device whose kernels are laid out as for a GPU. It counts what they use.
type Device struct {
	device.Device
	target *lower.Target
	// Grouped counts kernels with workgroups, Wide those with more than one dimension, Barriers the barriers of all.
	Grouped, Wide, Barriers int
}

// Target is clang's with the limits of the groups.
func (d *Device) Target() *lower.Target { return d.target }

// Compile refuses kernels that exceed the limits.
func (d *Device) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	for _, p := range progs {
		items, shared, dims := int64(1), int64(0), 0
		for _, u := range p.Linear {
			switch u.Op {
			case uop.Special:
				item, dim := u.LaunchIndex()
				n, limit := u.Vmax().I()+1, d.target.Groups.Counts[dim]
				if item {
					limit = d.target.Groups.Sizes[dim]
					items *= n
				}
				if n > limit {
					return nil, fmt.Errorf("kernel %s: %s has size %d, the limit is %d", p.Name, u, n, limit)
				}
				dims = max(dims, dim+1)
			case uop.DefineLocal:
				shared += u.DType.Size * int64(u.DType.Base().Itemsize())
			case uop.Barrier:
				d.Barriers++
			}
		}
		if items > d.target.Groups.Items || shared > d.target.Groups.Shared {
			return nil, fmt.Errorf("kernel %s: a workgroup of %d work items and %d bytes, the limits are %d and %d",
				p.Name, items, shared, d.target.Groups.Items, d.target.Groups.Shared)
		}
		if items > 1 {
			d.Grouped++
		}
		if dims > 1 {
			d.Wide++
		}
	}
	return d.Device.Compile(progs)
}

// New lays kernels out for d within the limits.
func New(d device.Device, groups *opt.Groups) *Device {
	target := lower.Clang()
	target.Ops, target.Groups = target.Ops.Union(uop.Ops(uop.Max, uop.Exp, uop.Exp2, uop.Log2, uop.Sin, uop.Cos, uop.Tanh)), groups
	return &Device{Device: d, target: target}
}
