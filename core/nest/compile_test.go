package nest_test

import (
	"strings"
	"testing"

	"polygrad/core/nest"
	"polygrad/core/nest/ir"
)

func TestErrorsNameTheKernel(t *testing.T) {
	if _, _, err := nest.CompileAs("k", nil, ir.SSE4, "z3"); err == nil || !strings.Contains(err.Error(), "kernel k") {
		t.Errorf("CompileAs: error %v, expected one that names the kernel", err)
	}
}
