package table

import (
	"testing"

	"polygrad/core/nest/ir"
	"polygrad/exec"
	"polygrad/tests/devices/nested"
)

// TestGoNested runs the table on kernels as nests of loops, laid out for each kind of processor.
func TestGoNested(t *testing.T) {
	for _, m := range []ir.Machine{ir.AVX512, ir.AVX2, ir.SSE4} {
		t.Run(m.Name, func(t *testing.T) { testGoOn(t, exec.New(nested.New(m))) })
	}
}

// TestGoNative runs it on machine code.
func TestGoNative(t *testing.T) { testGo(t, "native") }
