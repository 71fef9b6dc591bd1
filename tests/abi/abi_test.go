// Package abi tests the shared library as C sees it: its header, its symbols, and
// programs in C that use it well and badly.
package abi

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const include = "../../include"

// library is the path of the library under test.
var library string

// TestMain has make build the library if a source is newer, once for all packages that want it.
func TestMain(m *testing.M) {
	if out, err := exec.Command("flock", "../..", "make", "-C", "../..", "build/libpolygrad.so").CombinedOutput(); err != nil {
		panic("building the library: " + err.Error() + "\n" + string(out))
	}
	var err error
	if library, err = filepath.Abs("../../build/libpolygrad.so"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestHeaderCompilesWithoutWarnings(t *testing.T) {
	source := filepath.Join(t.TempDir(), "include.c")
	if err := os.WriteFile(source, []byte("#include \"polygrad.h\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	strict := []string{"-Wall", "-Wextra", "-Wpedantic", "-Wstrict-prototypes", "-Werror", "-fsyntax-only", "-I" + include}
	run(t, "gcc", append(slices.Clone(strict), "-std=c11", source)...)
	cpp := slices.DeleteFunc(strict, func(s string) bool { return s == "-Wstrict-prototypes" })
	for _, std := range []string{"-std=c++11", "-std=c++20"} {
		run(t, "g++", append(slices.Clone(cpp), std, "-x", "c++", source)...)
	}
}

// declared are the functions of the header.
func declared(t *testing.T) []string {
	text, err := os.ReadFile(include + "/polygrad.h")
	if err != nil {
		t.Fatal(err)
	}
	plain := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(string(text), "")
	var names []string
	for _, m := range regexp.MustCompile(`(?s)POLY_API [^;(]*?(poly_\w+)\(`).FindAllStringSubmatch(plain, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return names
}

// exported are the names that the library shows to C.
func exported(t *testing.T) []string {
	var names []string
	for _, line := range strings.Split(run(t, "nm", "-D", "--defined-only", library), "\n") {
		f := strings.Fields(line)
		if len(f) == 3 {
			if name, _, versioned := strings.Cut(f[2], "@@POLYGRAD_2"); versioned {
				names = append(names, name)
			} else if f[2] != "POLYGRAD_2" { // the version itself
				t.Errorf("%s has no version", f[2])
			}
		}
	}
	slices.Sort(names)
	return names
}

func TestSymbols(t *testing.T) {
	header, library := declared(t), exported(t)
	if !slices.Equal(header, library) {
		for _, n := range header {
			if !slices.Contains(library, n) {
				t.Errorf("%s is in the header, but not in the library", n)
			}
		}
		for _, n := range library {
			if !slices.Contains(header, n) {
				t.Errorf("%s is in the library, but not in the header", n)
			}
		}
	}
	text, err := os.ReadFile("testdata/frontend_names.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range strings.Fields(string(text)) {
		if !slices.Contains(library, n) {
			t.Errorf("%s, which a frontend of the original interface needs, is missing", n)
		}
	}
}

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	files := []string{"../../capi/shim_gen.c", "../../capi/names_gen.go", "../../bindings/python/polygrad/_prototypes.py"}
	before := make([]string, len(files))
	for i, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		before[i] = string(text)
	}
	gen := exec.Command("go", "run", "./gen")
	gen.Dir = "../../capi"
	if out, err := gen.CombinedOutput(); err != nil {
		t.Fatalf("go run ./gen: %v\n%s", err, out)
	}
	for i, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != before[i] {
			t.Errorf("%s is not what capi/gen makes of the header: run go generate ./capi", f)
		}
	}
}

func compile(t *testing.T, source string, more ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(source, ".c"))
	args := append([]string{"-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Wno-unused-function", "-I" + include, "testdata/" + source, "-o", program,
		library, "-Wl,-rpath," + filepath.Dir(library), "-lm", "-lpthread"}, more...)
	run(t, "gcc", args...)
	return program
}

// sanitizer are the flags with which memory errors of the library in the caller's memory show, and leaks.
var sanitizer = []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"}

func TestPrograms(t *testing.T) {
	for _, source := range []string{"process.c", "models.c"} {
		t.Run(source, func(t *testing.T) { run(t, compile(t, source)) })
	}
}

func TestProgramsWithAddressSanitizer(t *testing.T) {
	for _, source := range []string{"contract.c", "badinput.c", "files.c", "records.c", "stress.c", "alive.c"} {
		t.Run(source, func(t *testing.T) {
			within(t, []string{addressSanitizer, "POLY_DEVICE=native"}, compile(t, source, sanitizer...))
		})
	}
}
