package abi

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Where no memory may be made executable kernels run as WebAssembly, and one line says so.
func TestNoExecutableMemory(t *testing.T) {
	program := unlinked(t, "noexec.c")
	for _, c := range []struct {
		refused, device string
		notices         int
	}{
		{"all", "native", 1},
		{"gains", "native", 0}, // there is a way that needs no memory that can be written and executed
		{"all", "wasm", 0},
	} {
		t.Run(c.refused+" "+c.device, func(t *testing.T) {
			cmd := exec.Command(program, c.refused)
			cmd.Env = append(os.Environ(), "LIBRARY="+library, "POLY_DEVICE="+c.device)
			b, err := cmd.CombinedOutput()
			out := string(b)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if strings.Contains(out, "this system cannot refuse it") {
				t.Skip(out)
			}
			if os.Getenv("POLY_CPU") == "wasm" {
				c.notices = 0
			}
			if n := strings.Count(out, "kernels are WebAssembly"); n != c.notices || strings.Count(out, "\n") != n {
				t.Errorf("expected %d notices of one line:\n%s", c.notices, out)
			}
		})
	}
}

// A wrong name of a processor is an error that shows it and says what can be.
func TestUnknownProcessor(t *testing.T) {
	within(t, []string{"POLY_DEVICE=native", "POLY_CPU=mmx"}, compile(t, "cpu.c"))
}
