package main

import (
	"bytes"
	"context"
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

// TestProgramStaysTheSame runs a program of Go before and after it is made smaller.
func TestProgramStaysTheSame(t *testing.T) {
	if !strings.HasPrefix(runtime.Version(), known) {
		t.Skip("modules of this version of Go stay as they are")
	}
	file := filepath.Join(t.TempDir(), "program.wasm")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", file, "./testdata/program")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sections, err := split(before)
	if err != nil {
		t.Fatal(err)
	}
	if sections, err = shrink(sections); err != nil {
		t.Fatal(err)
	}
	after := []byte(header)
	for _, s := range sections {
		after = appendSection(after, s)
	}
	if most := len(before) * 3 / 4; len(after) > most {
		t.Errorf("%d bytes became %d, expected at most %d", len(before), len(after), most)
	}
	want, got := ran(t, before), ran(t, after)
	if got != want || !strings.Contains(want, "iterated") {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
}

// ran returns what a module writes and how it exits.
func ran(t *testing.T, module []byte) string {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	defer func() { _ = rt.Close(ctx) }()
	wasi_snapshot_preview1.MustInstantiate(ctx, rt)
	var out bytes.Buffer
	_, err := rt.InstantiateWithConfig(ctx, module, wazero.NewModuleConfig().WithStdout(&out).WithStderr(&out))
	if exit := new(sys.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the module ended with %v after\n%s", err, out.String())
	}
	return out.String()
}

// TestSmallerLeavesOtherCode gives bodies that are not of Go's shape.
func TestSmallerLeavesOtherCode(t *testing.T) {
	for name, body := range map[string]string{
		"no locals":         "\x00\x41\x00\x0b",
		"a first local f32": "\x01\x01\x7d\x41\x00\x0b",
		"an else":           "\x01\x01\x7f\x41\x00\x04\x40\x05\x0b\x41\x01\x0b",
		"no table":          "\x01\x01\x7f\x41\x00\x0b",
	} {
		if got, _, err := smaller([]byte(body), function{}); err != nil || string(got) != body {
			t.Errorf("%s: % x became % x, %v", name, body, got, err)
		}
	}
	if _, _, err := smaller([]byte("\x01\x01\x7f\xd0\x0b"), function{}); err == nil {
		t.Error("an unknown operation is no error")
	}
}

// TestSmaller rewrites what Go writes for a stack's addresses, returns and comparisons.
func TestSmaller(t *testing.T) {
	const locals, end = "\x01\x02\x7f", "\x0b"
	const address = "\x20\x01\xad\x42\x18\x7c\xa7" // the 32-bit address 24 bytes from the stack pointer
	for name, test := range map[string]struct{ before, after string }{
		"load":                        {address + "\x29\x03\x08\x1a", "\x20\x01\x29\x03\x20\x1a"},
		"store":                       {address + "\x42\x05\x50\x36\x02\x00", "\x20\x01\x42\x05\x50\x36\x02\x18"},
		"store of a load":             {address + address + "\x29\x03\x00\x37\x03\x00", "\x20\x01\x20\x01\x29\x03\x18\x37\x03\x18"},
		"an address that a call gets": {address + "\x10\x00", "\x20\x01\x41\x18\x6a\x10\x00"},
		"a load after a call":         {address + "\x10\x00\x29\x03\x00\x1a", "\x20\x01\x41\x18\x6a\x10\x00\x29\x03\x00\x1a"},
		"return": {
			"\x20\x01\x41\x20\x6a\x22\x01\x24\x00\x20\x01\x41\x08\x6a\x22\x01\x24\x00\x41\x00\x0f",
			"\x20\x01\x41\x28\x6a\x24\x00\x41\x00\x0f",
		},
		"return without a frame": {"\x20\x01\x41\x08\x6a\x22\x01\x24\x00\x41\x00\x0f", "\x20\x01\x41\x08\x6a\x24\x00\x41\x00\x0f"},
		"not equal":              {"\x42\x01\x42\x02\x51\x45\x1a", "\x42\x01\x42\x02\x52\x1a"},
		"not less of floats":     {"\x43\x00\x00\x00\x00\x43\x00\x00\x00\x00\x5d\x45\x1a", "\x43\x00\x00\x00\x00\x43\x00\x00\x00\x00\x5d\x45\x1a"},
	} {
		got, _, err := smaller([]byte(locals+test.before+end), function{})
		if want := locals + test.after + end; err != nil || string(got) != want {
			t.Errorf("%s: got % x, %v, expected % x", name, got, err, want)
		}
	}
}

// TestNumbering gives blocks small numbers; tables of values follow.
func TestNumbering(t *testing.T) {
	f := function{number: firstNumber, deferReturn: 9}
	ret := func(block int64) []instruction {
		return []instruction{{op: opLocalGet, value: stackLocal}, {op: opI64Const, value: f.number<<16 | block}, {op: opStores + 1}}
	}
	const loop = 7
	code := slices.Concat(ret(4), ret(20), []instruction{
		{op: opI32Const, value: 13}, {op: opLocalSet, value: blockLocal}, {op: opBr, label: loop},
		{op: opBrTable, table: []uint32{0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4}},
	})
	table := len(code) - 1
	n := renumber(code, f, table, loop)
	if want := (numbering{4, 9, 13, 20}); !slices.Equal(n, want) {
		t.Errorf("the blocks %v have numbers, expected %v", n, want)
	}
	if got := []int64{code[1].value & 0xffff, code[4].value & 0xffff, code[6].value}; !slices.Equal(got, []int64{2, 6, 5}) {
		t.Errorf("the numbers are %v, expected 2, 6 and 5", got)
	}
	if got, want := code[table].table, []uint32{0, 1, 1, 2, 3, 3, 4}; len(got) != len(want) || got[2] != 1 || got[3] != 2 || got[5] != 3 || got[6] != 4 {
		t.Errorf("the table is %v, expected one like %v", got, want)
	}
	for _, values := range [][]int32{{-1}, {0, 0, 5, 5, -3, 1 << 30, -1 << 31, 7}} {
		var got []int32
		pairs(valuesTable(values), func(v int32, until int64) {
			for int64(len(got)) < until {
				got = append(got, v)
			}
		})
		if !slices.Equal(got, values) {
			t.Errorf("the table of %v holds %v", values, got)
		}
	}
}

// TestDeferredTables takes out what the mark begins, if its size can be right.
func TestDeferredTables(t *testing.T) {
	const marked = "ab" + deferredMark + "\x03\x00\x00\x00xyzcd" + deferredMark + "\xff\xff\xff\xff" + deferredMark
	mem := image(marked)
	mem.clearDeferred()
	n := len(deferredMark) + 4 + 3
	if want := "ab" + strings.Repeat("\x00", n) + marked[2+n:]; string(mem) != want {
		t.Errorf("%q, expected %q", mem, want)
	}
}
