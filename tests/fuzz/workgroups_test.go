package fuzz

import (
	"testing"

	run "polygrad/exec"
	"polygrad/exec/clang"
	"polygrad/exec/interp"
	"polygrad/tests/devices/workgroups"
)

// TestWorkgroupsAgree compares programs that run in workgroups with the interpreter on kernels as they are.
func TestWorkgroupsAgree(t *testing.T) {
	all := []*workgroups.Device{workgroups.New(interp.New(), workgroups.GPU), workgroups.New(interp.New(), workgroups.Tight)}
	if d, err := clang.New(); err == nil {
		all = append(all, workgroups.New(d, workgroups.GPU))
	}
	devs := []*run.Executor{run.New(interp.New())}
	for _, d := range all {
		devs = append(devs, run.New(d))
	}
	checkAll(t, devs, Generate, *seeds/2)
	for _, d := range all {
		// Barriers and more than one dimension are rare: the few programs of -short may have none.
		if d.Grouped == 0 || (d.Barriers == 0 || d.Wide == 0) && !testing.Short() {
			t.Errorf("%s: %d kernels have workgroups, %d more than one dimension, with %d barriers in all", d.Name(), d.Grouped, d.Wide, d.Barriers)
		}
	}
}
