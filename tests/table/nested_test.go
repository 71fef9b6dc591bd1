package table

import (
	"testing"

	"polygrad/core/nest"
	"polygrad/exec"
	"polygrad/exec/nested"
)

// TestGoNested runs the table on kernels as nests of loops, laid out for each kind of processor.
func TestGoNested(t *testing.T) {
	for _, m := range []nest.Machine{nest.AVX512, nest.AVX2, nest.SSE4} {
		t.Run(m.Name, func(t *testing.T) { testGoOn(t, exec.New(nested.New(m))) })
	}
}

// TestGoNative runs it on machine code.
func TestGoNative(t *testing.T) { testGo(t, "native") }
