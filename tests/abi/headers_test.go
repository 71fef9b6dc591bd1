package abi

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"polygrad/capi/header"
	"polygrad/core/uop"
)

// oldHeaders are programs in strict C that use what the headers of the original library declared beyond what its
// frontends called.
var oldHeaders = []string{"nodes.c", "tensor_api.c", "plans.c", "zoo.c", "irspec.c"}

// strict are the flags under which the header and a program of it give no warning.
var strict = []string{"-std=c11", "-Wpedantic", "-Wstrict-prototypes", "-Werror"}

func TestOldHeaderPrograms(t *testing.T) {
	for _, source := range oldHeaders {
		t.Run(source, func(t *testing.T) { run(t, compile(t, source, strict...)) })
	}
}

// A program in C++ may use everything that C passes by value.
func TestOldHeadersInCPlusPlus(t *testing.T) {
	program := filepath.Join(t.TempDir(), "headers")
	run(t, "g++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"+include, "testdata/headers.cpp", "-o", program,
		library, "-Wl,-rpath,"+filepath.Dir(library))
	run(t, program)
}

func TestOldHeaderProgramsWithAddressSanitizer(t *testing.T) {
	for _, source := range oldHeaders {
		t.Run(source, func(t *testing.T) {
			cmd := exec.Command(compile(t, source, "-fsanitize=address", "-fno-omit-frame-pointer"))
			cmd.Env = append(os.Environ(), addressSanitizer+":detect_leaks=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// The manual at the head of the header lists its sections.
func TestContentsOfTheHeader(t *testing.T) {
	text, err := os.ReadFile(include + "/polygrad.h")
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, m := range regexp.MustCompile(`/\* =+ \*/\n/\* (.*?) +\*/\n/\* =+ \*/`).FindAllSubmatch(text, -1) {
		titles = append(titles, string(m[1]))
	}
	m := regexp.MustCompile(`(?s) \* CONTENTS\n(.*?)\n \*\n`).FindSubmatch(text)
	if m == nil {
		t.Fatal("no CONTENTS")
	}
	listed := strings.Join(strings.Fields(strings.ReplaceAll(string(m[1]), " * ", " ")), " ")
	if want := strings.Join(titles, "; ") + "."; len(titles) < 20 || listed != want {
		t.Errorf("CONTENTS is %q, the sections are %q", listed, want)
	}
}

var (
	headerExample = regexp.MustCompile(`(?s) \*     #include <polygrad\.h>\n.*?\n \*     \}\n`)
	printed       = regexp.MustCompile(`printf\(.*\);  // (.*)\n`)
)

// The complete programs in the overview of the header print what their comments say.
func TestExamplesOfTheHeader(t *testing.T) {
	text, err := os.ReadFile(include + "/polygrad.h")
	if err != nil {
		t.Fatal(err)
	}
	examples := headerExample.FindAll(text, -1)
	if len(examples) < 3 {
		t.Fatalf("%d examples, expected one of nodes, one of arrays and one of a traced function", len(examples))
	}
	for _, e := range examples {
		code := strings.ReplaceAll(strings.ReplaceAll(string(e), " *     ", ""), " *\n", "\n")
		m := printed.FindStringSubmatch(code)
		if m == nil {
			t.Fatalf("an example prints nothing:\n%s", code)
		}
		source, program := filepath.Join(t.TempDir(), "example.c"), filepath.Join(t.TempDir(), "example")
		if err := os.WriteFile(source, []byte(code), 0o644); err != nil {
			t.Fatal(err)
		}
		run(t, "gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I"+include, source, "-o", program, library, "-Wl,-rpath,"+filepath.Dir(library))
		if got, want := run(t, program), m[1]+"\n"; got != want {
			t.Errorf("printed %q, expected %q:\n%s", got, want, code)
		}
	}
}

// The header has a name for every operation, with the number and the name that the library tells.
func TestOperationsOfTheHeader(t *testing.T) {
	text, err := os.ReadFile(include + "/polygrad.h")
	if err != nil {
		t.Fatal(err)
	}
	constants, err := header.Constants(string(text))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range constants {
		if name, ok := strings.CutPrefix(c.Name, "POLY_OP_"); ok {
			if op := uop.Op(c.Value); op.String() != name || c.Value != n {
				t.Errorf("%s is %d, which is %s", c.Name, c.Value, op)
			}
			n++
		}
	}
	if n != int(uop.NumOps) {
		t.Errorf("%d operations, expected %d", n, uop.NumOps)
	}
}
