package abi

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A fault in generated code names the kernel, whoever else handles faults.
func TestFaults(t *testing.T) {
	program := unlinked(t, "faults.c")
	for _, c := range []struct{ whose, want string }{
		{"nobody's", ""},
		{"before", "the host's handler"},
		{"after", "the host's handler"},
	} {
		t.Run(c.whose, func(t *testing.T) {
			cmd := exec.Command(program, c.whose)
			cmd.Env = append(os.Environ(), "LIBRARY="+library, "POLY_DEVICE=native")
			b, err := cmd.CombinedOutput()
			out := string(b)
			if strings.Contains(out, "kernels are WebAssembly") || os.Getenv("POLY_CPU") == "wasm" {
				t.Skip("no native code here")
			}
			if err == nil || strings.Contains(out, "nothing happened") {
				t.Errorf("the process survived:\n%s", out)
			}
			for _, want := range []string{"polygrad: SIGSEGV in kernel E_", "which accesses address 0x", c.want} {
				if !strings.Contains(out, want) {
					t.Errorf("expected %q:\n%s", want, out)
				}
			}
		})
	}
}

// Steps that C runs by itself behave as others do.
func TestQuickSteps(t *testing.T) {
	for _, program := range []string{compile(t, "quick.c"), compile(t, "quick.c", "-fsanitize=address", "-fno-omit-frame-pointer")} {
		within(t, []string{"POLY_DEVICE=native", addressSanitizer}, program)
	}
}
