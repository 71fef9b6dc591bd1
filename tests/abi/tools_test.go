package abi

import (
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// report is what valgrind writes: its errors, with the code that was at work.
type report struct {
	Errors []struct {
		Kind    string `xml:"kind"`
		What    string `xml:"what"`
		Address string `xml:"auxwhat"` // what lies there
		Stack   []struct {
			Frames []struct {
				IP       string `xml:"ip"`
				Object   string `xml:"obj"`
				Function string `xml:"fn"`
			} `xml:"frame"`
		} `xml:"stack"`
	} `xml:"error"`
}

// TestKernelsUnderValgrind looks for memory that generated code must not read or write, and for results that were never
// written. Of Go's own code nothing is said: valgrind knows neither its heap nor its stacks.
func TestKernelsUnderValgrind(t *testing.T) {
	if testing.Short() {
		t.Skip("valgrind simulates every instruction")
	}
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Skip(err)
	}
	level := os.Getenv("POLY_CPU")
	switch level {
	case "wasm":
		t.Skip("no native code here")
	case "", "avx512":
		level = "avx2" // valgrind knows no wider vectors
	}
	program, file := compile(t, "kernels.c"), filepath.Join(t.TempDir(), "errors.xml")
	run := exec.Command("valgrind", "--xml=yes", "--xml-file="+file, "--error-limit=no", program)
	run.Env = append(os.Environ(), "POLY_DEVICE=native", "POLY_CPU="+level)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, firstLines(out, 60))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := xml.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, e := range r.Errors {
		if len(e.Stack) == 0 || len(e.Stack[0].Frames) == 0 {
			continue
		}
		// The stacks of Go are memory that nobody allocated. Some lie so close to each other that a change of stacks looks like
		// the end of a large frame, and what a kernel has put on its stack seems gone.
		if strings.Contains(e.Address, "anonymous segment") {
			continue
		}
		// Generated code lies in a file in memory, or in none.
		if at := e.Stack[0].Frames[0]; at.Object == "" || strings.Contains(at.Object, "memfd:polygrad") || at.Object == program {
			t.Errorf("%s at %s %s: %s. %s", e.Kind, at.IP, at.Function, e.What, e.Address)
		}
	}
	if len(r.Errors) == 0 && !strings.Contains(string(text), "<status>") {
		t.Errorf("valgrind has looked at nothing:\n%s", firstLines(text, 20))
	}
}

// With the suppressions that are installed beside the library valgrind reports nothing of a good program.
func TestSuppressionsOfValgrind(t *testing.T) {
	if testing.Short() {
		t.Skip("valgrind simulates every instruction")
	}
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Skip(err)
	}
	run := exec.Command("valgrind", "--suppressions=../../scripts/polygrad.supp", "--leak-check=full", "--error-exitcode=9", "--error-limit=no", compile(t, "alive.c"))
	run.Env = append(os.Environ(), "POLY_CPU=avx2") // valgrind knows no wider vectors
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, firstLines(out, 60))
	}
}

// TestPerfShowsKernels lets perf look at a program: it knows the names of kernels.
func TestPerfShowsKernels(t *testing.T) {
	if err := exec.Command("perf", "record", "-o", filepath.Join(t.TempDir(), "nothing"), "true").Run(); err != nil {
		t.Skipf("perf record: %v", err)
	}
	if os.Getenv("POLY_CPU") == "wasm" {
		t.Skip("no native code here")
	}
	program, data := compile(t, "kernels.c"), filepath.Join(t.TempDir(), "perf.data")
	record := exec.Command("perf", "record", "-F", "500", "-o", data, program, "1")
	record.Env = append(os.Environ(), "POLY_DEVICE=native", "POLY_PERF=1")
	if out, err := record.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("perf", "report", "--stdio", "-i", data).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := fmt.Sprintf("r_%d_%d_%d", 160, 160, 160); !strings.Contains(string(out), want) {
		t.Errorf("expected %s in the report:\n%s", want, firstLines(out, 40))
	}
}
