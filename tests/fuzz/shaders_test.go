package fuzz

import (
	"strings"
	"testing"

	run "polygrad/exec"
	"polygrad/exec/interp"
	"polygrad/tests/devices/shaders"
)

// TestFuzzShaders checks the shaders of random graphs, and compares lists that have no types of 64 bits with others. Graphs of float64,
// which GPUs lack, are left out.
func TestFuzzShaders(t *testing.T) {
	d := shaders.New()
	devs := []*run.Executor{run.New(interp.New()), run.New(d)}
	left, all, failures := 0, 0, 0
	for seed := range ofToday(t, *seeds, 1) {
		if all++; failures >= *most {
			break
		}
		err := compare(devs, Generate, seed, seed+1)
		switch {
		case err == nil:
		case strings.Contains(err.Error(), "device shaders has no float64"):
			left++
		default:
			failures++
			t.Error(err)
		}
	}
	if left > all*3/4 {
		t.Errorf("%d of %d graphs have float64", left, all)
	}
	d.Validate(t)
}
