package table

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"polygrad/capi/header"
)

const (
	include = "../../include"
	pieces  = 4 // the program is compiled in so many parts at once
)

// program writes the C program of all cases, in parts of which each has a function of its own.
func program(t *testing.T) []string {
	t.Helper()
	cases, err := Read(Path)
	if err != nil {
		t.Fatal(err)
	}
	header, err := os.ReadFile(include + "/polygrad.h")
	if err != nil {
		t.Fatal(err)
	}
	// Newer operations have no function on nodes of their own: C calls them by their name, as the bindings do.
	cases = slices.DeleteFunc(cases, func(c *Case) bool {
		return cOps[c.Op] == nil && !strings.Contains(string(header), " poly_"+c.Op+"(") && !strings.Contains(string(header), "*poly_"+c.Op+"(")
	})
	parts := make([]string, pieces)
	for k := range parts {
		var b, calls strings.Builder
		b.WriteString("#include \"table.h\"\n\n")
		for i := k; i < len(cases); i += pieces {
			text, err := (&cCase{Case: cases[i]}).emit(i)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(text)
			fmt.Fprintf(&calls, "  case%d();\n", i)
		}
		fmt.Fprintf(&b, "void part%d(int *failed, int *done);\nvoid part%d(int *failed, int *done) {\n%s", k, k, calls.String())
		b.WriteString("  *failed += failures;\n  *done += checks;\n}\n")
		parts[k] = b.String()
	}
	return parts
}

const mainOfC = `#include <stdio.h>
%s
int main(void) {
  int failed = 0, done = 0;
%s  printf("%%d checks, %%d failed\n", done, failed);
  return failed > 0;
}
`

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestC compiles the table to a program in C that uses the shared library, and runs it.
func TestC(t *testing.T) {
	dir := t.TempDir()
	run(t, "flock", "../..", "make", "-C", "../..", "build/libpolygrad.so")
	library, err := filepath.Abs("../../build/libpolygrad.so")
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"-std=gnu11", "-O0", "-Wall", "-Wno-unused-function", "-Wno-unused-variable", "-I" + include, "-Itestdata"}
	var objects []string
	var prototypes, calls strings.Builder
	done := make(chan string)
	compile := func(name, text string) {
		source, object := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".o")
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
		go func() {
			out, err := exec.Command("gcc", append(slices.Clone(flags), "-c", source, "-o", object)...).CombinedOutput()
			if err != nil {
				done <- fmt.Sprintf("gcc %s: %v\n%s", name, err, out)
				return
			}
			done <- ""
		}()
	}
	for k, text := range program(t) {
		compile(fmt.Sprintf("part%d", k), text)
		fmt.Fprintf(&prototypes, "void part%d(int *failed, int *done);\n", k)
		fmt.Fprintf(&calls, "  part%d(&failed, &done);\n", k)
	}
	compile("main", fmt.Sprintf(mainOfC, prototypes.String(), calls.String()))
	for range objects {
		if message := <-done; message != "" {
			t.Fatal(message)
		}
	}
	binary := filepath.Join(dir, "table")
	run(t, "gcc", append(slices.Clone(objects), library, "-lm", "-o", binary)...)
	out, err := exec.Command(binary).CombinedOutput()
	for _, line := range strings.Split(string(out), "\n") {
		if strings.HasPrefix(line, "FAIL ") {
			t.Error(line)
		}
	}
	if err != nil && !t.Failed() {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(strings.TrimSpace(string(out[strings.LastIndex(strings.TrimSpace(string(out)), "\n")+1:])))
}

// operations are the sections of the header whose functions are operations of tensors.
var operations = []string{
	"Creation", "Random numbers", "Elementwise: one operand", "Elementwise: two and three operands", "Movement",
	"Indexing and joining", "Reductions", "Convolution and pooling", "Linear algebra", "Losses", "Gradients",
}

// unreached says why a function of the other sections is in no case.
var unreached = map[string]string{
	"poly_const_int":    "int32, of which the table has no scalar; tests/abi",
	"poly_from_host":    "a tensor of memory, no operation; tests/abi",
	"poly_buffer_f32":   "has no memory; tests/abi",
	"poly_buffer_f64":   "has no memory; tests/abi",
	"poly_buffer_by_id": "has no memory; tests/abi",
	"poly_define_var":   "a size, not a tensor; tests/abi",
	"poly_bind_var":     "a size, not a tensor; tests/abi",
	"poly_is_view":      "a question; tests/abi",
	"poly_view_layout":  "a question; tests/abi",
	"poly_set_view":     "writes, as setitem of the bindings does: test_assign.py; tests/abi",
	"poly_move_view":    "a view of other memory, which assignment needs: test_assign.py; tests/abi",
	"poly_random_seed":  "the stream of a process, no operation: random.test.js, test_tensor.py; tests/abi",
	"poly_random_take":  "the stream of a process, no operation: random.test.js, test_tensor.py; tests/abi",
	"poly_causal_mask":  "a constant of the original interface, no operation of any binding; tests/abi",
}

var (
	section = regexp.MustCompile(`/\* =+ \*/\n/\* (.*?) +\*/\n/\* =+ \*/`)
	called  = regexp.MustCompile(`poly_\w+\(`)
)

// TestCReachesEveryOperation fails for an operation of the header that no case uses.
func TestCReachesEveryOperation(t *testing.T) {
	text, err := os.ReadFile(include + "/polygrad.h")
	if err != nil {
		t.Fatal(err)
	}
	helpers, err := os.ReadFile("testdata/table.h")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, part := range append(program(t), string(helpers)) {
		for _, name := range called.FindAllString(part, -1) {
			used[strings.TrimSuffix(name, "(")] = true
		}
	}
	found, sections, at := 0, 0, section.FindAllStringSubmatchIndex(string(text), -1)
	for i, m := range at {
		if !slices.Contains(operations, string(text[m[2]:m[3]])) {
			continue
		}
		sections++
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		protos, err := header.Parse(string(text[m[1]:end]))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range protos {
			found++
			switch reason := unreached[p.Name]; {
			case !used[p.Name] && reason == "":
				t.Errorf("%s: no case of the table reaches it", p.Name)
			case used[p.Name] && reason != "":
				t.Errorf("%s: a case reaches it, so it needs no reason", p.Name)
			}
		}
	}
	if sections != len(operations) {
		t.Errorf("found %d sections of operations in the header, expected %d", sections, len(operations))
	}
	if found < 150 {
		t.Errorf("found %d operations in the header: the test looks at nothing", found)
	}
}
