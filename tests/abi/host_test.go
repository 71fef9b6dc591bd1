package abi

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// unlinked compiles a program that loads the library itself; its functions are found when they are first called.
func unlinked(t *testing.T, source string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(source, ".c"))
	run(t, "gcc", "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Wno-unused-function", "-I"+include, "testdata/"+source, "-o", program,
		"-Wl,-z,lazy", "-Wl,--unresolved-symbols=ignore-all", "-rdynamic", "-ldl", "-lm", "-lpthread")
	return program
}

// within runs a program that must end: it takes seconds, and minutes on a machine that has much else to do.
func within(t *testing.T, environment []string, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(append(os.Environ(), "LIBRARY="+library), environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, firstLines(out, 60))
	}
}

// Signals belong to the host: its handlers stay, run, and may strike in the middle of a call.
func TestSignals(t *testing.T) { within(t, nil, unlinked(t, "signals.c")) }

// The host rounds upwards and lets exceptions trap, from before the library is loaded.
func TestFloatingPointModes(t *testing.T) { within(t, nil, unlinked(t, "modes.c")) }

// Copies of the library in one process: what each keeps for a thread is small, since glibc has little memory for that.
func TestCopies(t *testing.T) {
	content, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	var copies []string
	for k := range 4 {
		copies = append(copies, filepath.Join(folder, fmt.Sprintf("copy%d.so", k)))
		if err := os.WriteFile(copies[k], content, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	within(t, nil, unlinked(t, "copies.c"), copies...)
}

// Another Go library in the process, loaded before or after ours; dlclose and dlopen.
func TestBesideAnotherGoLibrary(t *testing.T) {
	other := filepath.Join(t.TempDir(), "libother.so")
	run(t, "go", "build", "-buildmode=c-shared", "-o", other, "./testdata/other")
	program := unlinked(t, "host.c")
	for _, order := range []string{"ours first", "theirs first"} {
		t.Run(order, func(t *testing.T) { within(t, []string{"OTHER=" + other}, program, order) })
	}
}
