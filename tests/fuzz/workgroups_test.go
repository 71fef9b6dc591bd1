package fuzz

import (
	"fmt"
	"testing"

	"polygrad/core/lower"
	"polygrad/core/lower/opt"
	"polygrad/core/uop"
	run "polygrad/exec"
	"polygrad/exec/clang"
	"polygrad/exec/device"
	"polygrad/exec/interp"
)

// workgroups is a device whose kernels are laid out as for a GPU. It counts what they use.
type workgroups struct {
	device.Device
	target                  *lower.Target
	grouped, barriers, wide int
}

func (d *workgroups) Target() *lower.Target { return d.target }

func (d *workgroups) Compile(progs []*lower.Program) ([]device.Kernel, error) {
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
				d.barriers++
			}
		}
		if items > d.target.Groups.Items || shared > d.target.Groups.Shared {
			return nil, fmt.Errorf("kernel %s: a workgroup of %d work items and %d bytes, the limits are %d and %d",
				p.Name, items, shared, d.target.Groups.Items, d.target.Groups.Shared)
		}
		if items > 1 {
			d.grouped++
		}
		if dims > 1 {
			d.wide++
		}
	}
	return d.Device.Compile(progs)
}

// TestWorkgroupsAgree compares programs that run in workgroups with the interpreter on kernels as they are.
func TestWorkgroupsAgree(t *testing.T) {
	gpu := &opt.Groups{Shared: 32 << 10, Items: 256, Counts: [3]int64{65535, 65535, 65535}, Sizes: [3]int64{256, 256, 64}}
	tight := &opt.Groups{Shared: 1 << 10, Items: 24, Counts: [3]int64{7, 5, 1 << 24}, Sizes: [3]int64{6, 4, 2}}
	layout := func(d device.Device, groups *opt.Groups) *workgroups {
		target := lower.Clang()
		target.Ops, target.Groups = target.Ops.Union(uop.Ops(uop.Max, uop.Exp, uop.Exp2, uop.Log2, uop.Sin, uop.Cos, uop.Tanh)), groups
		return &workgroups{Device: d, target: target}
	}
	all := []*workgroups{layout(interp.New(), gpu), layout(interp.New(), tight)}
	if d, err := clang.New(); err == nil {
		all = append(all, layout(d, gpu))
	}
	devs := []*run.Executor{run.New(interp.New())}
	for _, d := range all {
		devs = append(devs, run.New(d))
	}
	checkAll(t, devs, *seeds/5)
	for _, d := range all {
		if d.grouped == 0 || d.barriers == 0 || d.wide == 0 {
			t.Errorf("%s: %d kernels have workgroups, %d more than one dimension, with %d barriers in all", d.Name(), d.grouped, d.wide, d.barriers)
		}
	}
}
