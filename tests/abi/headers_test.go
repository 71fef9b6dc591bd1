package abi

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	flags := append(slices.Clone(strict), sanitizer...)
	for _, source := range oldHeaders {
		t.Run(source, func(t *testing.T) {
			within(t, []string{addressSanitizer + ":detect_leaks=0"}, compile(t, source, flags...))
		})
	}
}

// A program in C++ may use everything that C passes by value.
func TestOldHeadersInCPlusPlus(t *testing.T) {
	program := filepath.Join(t.TempDir(), "headers")
	run(t, "g++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"+include, "testdata/headers.cpp", "-o", program,
		library, "-Wl,-rpath,"+filepath.Dir(library))
	run(t, program)
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
		prints(t, code, m[1]+"\n")
	}
}

// prints compiles a program of the manual and compares what it prints.
func prints(t *testing.T, code, want string) {
	t.Helper()
	source, program := filepath.Join(t.TempDir(), "example.c"), filepath.Join(t.TempDir(), "example")
	if err := os.WriteFile(source, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I"+include, source, "-o", program, library, "-Wl,-rpath,"+filepath.Dir(library))
	if got := run(t, program); got != want {
		t.Errorf("printed %q, expected %q:\n%s", got, want, code)
	}
}

// fragments are the examples of the manual that are parts of programs: a text that each contains, what stands before and behind it,
// what is replaced in it, and what the program prints.
var fragments = []struct{ has, before, behind, old, new, want string }{
	{has: `poly_op("sum"), args, 3`, before: rowSums, want: "3 7\n",
		behind: "poly_copy_to_host(ctx, sum, out, sizeof out); printf(\"%g %g\\n\", out[0], out[1]);"},
	{has: "poly_bind_var(", want: "5\n",
		before: `float data[8] = {0, 1, 2, 3}, out; PolyUOp *x = poly_from_host(ctx, POLY_DTYPE_FLOAT32, (int64_t[]){8}, 1, data, sizeof data);`,
		behind: `PolyUOp *sum = poly_reduce(ctx, POLY_REDUCE_SUM, y, NULL, -1, 0, 0); poly_copy_to_host(ctx, sum, &out, sizeof out); printf("%g\n", out);`},
	{has: "poly_generator_next(", want: "5\n",
		before: `GPT2Config config = {8000, 4, 2, 1, 16, 1e-5f}; int count = 0; PolyInstance *inst = poly_gpt2_build(&config, 1);`,
		old:    "...", new: "if (++count == 5) break;", behind: `printf("%d\n", count); poly_instance_free(inst);`},
	{has: "poly_sgd_step(", want: "1 2\n",
		before: `float xs[8] = {1, 0, 0, 1, 1, 1, 2, 1}, ys[4] = {1, 2, 3, 4};`,
		old:    "poly_nn_linear_free(layer);", new: `printf("%.0f %.0f\n", layer->weight->data[0], layer->weight->data[1]); poly_nn_linear_free(layer);`},
}

const rowSums = `float data[4] = {1, 2, 3, 4}, out[2]; PolyUOp *x = poly_from_host(ctx, POLY_DTYPE_FLOAT32, (int64_t[]){2, 2}, 2, data, sizeof data);`

// The other examples of the header, and that of the reference, run too.
func TestFragmentsOfTheManual(t *testing.T) {
	text, err := os.ReadFile(include + "/polygrad.h")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range regexp.MustCompile(`(?m)(?:^ \*     .*\n(?: \*\n)?)+`).FindAllString(string(headerExample.ReplaceAll(text, nil)), -1) {
		code := strings.ReplaceAll(strings.ReplaceAll(e, " *     ", ""), " *\n", "\n")
		if !strings.Contains(code, "poly_") || !strings.Contains(code, ";\n") {
			continue // an indented comment
		}
		found++
		known := false
		for _, f := range fragments {
			if strings.Contains(code, f.has) {
				known = true
				prints(t, "#include <polygrad.h>\n#include <stdio.h>\nint main(void) {\nPolyCtx *ctx = poly_ctx_new();\n"+f.before+"\n{\n"+
					strings.Replace(code, f.old, f.new, 1)+f.behind+"\n}\npoly_ctx_destroy(ctx);\n}\n", f.want)
			}
		}
		if !known {
			t.Errorf("no program has this example:\n%s", code)
		}
	}
	if found != len(fragments) {
		t.Errorf("%d examples, expected %d", found, len(fragments))
	}
	reference, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```c\n(.*?)```").FindSubmatch(reference)
	if m == nil {
		t.Fatal("docs/api.md has no example in C")
	}
	prints(t, "#include <polygrad.h>\n#include <stdio.h>\nint main(void) {\nPolyCtx *ctx = poly_ctx_new();\n"+rowSums+"\nPolyUOp *result;\n"+string(m[1])+
		"poly_copy_to_host(ctx, result, out, sizeof out); printf(\"%g %g\\n\", out[0], out[1]);\npoly_ctx_destroy(ctx);\n}\n", "3 7\n")
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
