package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// TestDivided runs a program of Go whole, noting calls, and in three parts: all functions that can be deferred are, every other one, or those
// that its own profile has not.
func TestDivided(t *testing.T) {
	before := deferredParts
	defer func() { deferredParts = before }()
	deferredParts = [][]string{{""}, {"fmt", "strconv", "internal/strconv"}}
	if !strings.HasPrefix(runtime.Version(), known) {
		t.Skip("modules of this version of Go stay as they are")
	}
	folder := t.TempDir()
	file := func(name string) string { return filepath.Join(folder, name) }
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", file("linked"), "./testdata/program")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	linking := func(args ...string) {
		t.Helper()
		if err := run(args); err != nil {
			t.Fatal(err)
		}
	}
	linking(file("linked"), file("whole"))
	linking("-profile", file("linked"), file("profiled"))
	want, _, _ := ranParts(t, file("whole"))
	if !strings.Contains(want, "iterated") {
		t.Fatalf("the program wrote\n%s", want)
	}
	got, mem, _ := ranParts(t, file("profiled"))
	if got != want {
		t.Errorf("profiled: got\n%s\nexpected\n%s", got, want)
	}
	const most = 4096
	for name, test := range map[string]struct {
		profile []byte
		loads   []int // by part
	}{
		"all deferred":    {make([]byte, most), []int{1, 1}},
		"every other one": {bytes.Repeat([]byte{0x55}, most), []int{1, 1}},
		"its own profile": {mem[:most], []int{0, 0}},
	} {
		if err := os.WriteFile(file("profile"), test.profile, 0o600); err != nil {
			t.Fatal(err)
		}
		linking("-divide", file("profile"), file("linked"), file("first"), file("later"), file("printing"))
		got, _, loads := ranParts(t, file("first"), file("later"), file("printing"))
		if got != want || !slices.Equal(loads, test.loads) {
			t.Errorf("%s: %d loads, expected %d, and\n%s\nexpected\n%s", name, loads, test.loads, got, want)
		}
	}
	if err := os.WriteFile(file("profile"), make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-divide", file("profile"), file("linked"), file("first"), file("later"), file("printing")}); err == nil ||
		!strings.Contains(err.Error(), "the profile has 8 bytes, expected at least") {
		t.Errorf("a short profile: %v", err)
	}
}

// ranParts runs a module, whose deferred parts are in other files, and returns what it wrote, its memory, and how often each part was loaded.
func ranParts(t *testing.T, first string, deferred ...string) (said string, mem []byte, loads []int) {
	t.Helper()
	unshared := func(file string) (code []byte, pages uint32) {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head := code[len(header)+2+1+len(note):]
		code[binary.LittleEndian.Uint32(head)] = 1
		return code, binary.LittleEndian.Uint32(head[4:])
	}
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	defer func() { _ = rt.Close(ctx) }()
	wasi_snapshot_preview1.MustInstantiate(ctx, rt)
	code, pages := unshared(first)
	limits := append(binary.AppendUvarint([]byte{1, 1}, uint64(pages)), 0x80, 0x80, 4)
	own, err := rt.InstantiateWithConfig(ctx, appendSection(appendSection([]byte(header), section{sectionMemory, limits}),
		section{sectionExport, []byte("\x01\x06memory\x02\x00")}), wazero.NewModuleConfig().WithName("env"))
	if err != nil {
		t.Fatal(err)
	}
	loads = make([]int, len(deferred))
	load := func(k uint32) {
		loads[k]++
		part, _ := unshared(deferred[k])
		if _, err := rt.InstantiateWithConfig(ctx, part, wazero.NewModuleConfig().WithName("")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := rt.NewHostModuleBuilder(library).NewFunctionBuilder().WithFunc(load).Export("deferred").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, err = rt.InstantiateWithConfig(ctx, code, wazero.NewModuleConfig().WithName(firstModule).WithStdout(&out).WithStderr(&out))
	if exit := new(sys.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the module ended with %v after\n%s", err, out.String())
	}
	mem, _ = own.Memory().Read(0, own.Memory().Size())
	return out.String(), mem, loads
}
