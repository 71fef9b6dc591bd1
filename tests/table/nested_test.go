package table

import (
	"testing"

	"polygrad/core/nest/ir"
	"polygrad/exec"
	"polygrad/exec/interp"
	"polygrad/tests/devices/nested"
	"polygrad/tests/devices/workgroups"
	"polygrad/tests/levels"
)

// TestGoNested runs parts of the table on kernels as nests of loops, laid out for each kind of processor.
func TestGoNested(t *testing.T) {
	for i, m := range []ir.Machine{ir.AVX512, ir.AVX2, ir.SSE4} {
		t.Run(m.Name, func(t *testing.T) { testGoOn(t, exec.New(nested.New(m)), 8, i) })
	}
}

// TestGoNative runs it on machine code for each kind of processor.
func TestGoNative(t *testing.T) {
	for _, d := range levels.Native(t) {
		t.Run(d.Name(), func(t *testing.T) { testGoOn(t, exec.New(d), 1, 0) })
	}
}

// TestGoWorkgroups runs a part of it on work items in workgroups.
func TestGoWorkgroups(t *testing.T) {
	testGoOn(t, exec.New(workgroups.New(interp.New(), workgroups.Tight)), 4, 3)
}
