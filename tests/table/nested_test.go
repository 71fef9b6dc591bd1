package table

import (
	"testing"

	"polygrad/core/nest/ir"
	"polygrad/exec"
	"polygrad/exec/interp"
	"polygrad/tests/devices/nested"
	"polygrad/tests/devices/workgroups"
	"polygrad/tests/levels"
	"polygrad/tests/part"
)

// TestGoNested runs parts of the table on kernels as nests of loops, laid out for each kind of processor.
func TestGoNested(t *testing.T) {
	for i, m := range []ir.Machine{ir.AVX512, ir.AVX2, ir.SSE4} {
		t.Run(m.Name, func(t *testing.T) { testGoOn(t, exec.New(nested.New(m)), part.Week, i) })
	}
}

// TestGoNative runs it on machine code for this processor, and parts on that for each other kind.
func TestGoNative(t *testing.T) {
	parts := 1
	for i, d := range levels.Native(t) {
		t.Run(d.Name(), func(t *testing.T) { testGoOn(t, exec.New(d), parts, i) })
		parts = part.Week
	}
}

// TestGoWorkgroups runs a part of it on work items in workgroups.
func TestGoWorkgroups(t *testing.T) {
	testGoOn(t, exec.New(workgroups.New(interp.New(), workgroups.Tight)), part.Week, 3)
}
