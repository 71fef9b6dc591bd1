package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// module imports a function and has a memory of 2 pages, which it exports; its function "f" calls the imported one with 7 and returns the
// word at 100, where a segment of data puts 42.
var module = []byte(header +
	"\x01\x09\x02\x60\x01\x7f\x00\x60\x00\x01\x7f" + // types: (i32), () -> i32
	"\x02\x08\x01\x02zz\x01g\x00\x00" + // import zz.g of the first type
	"\x03\x02\x01\x01" + // a function of the second type
	"\x05\x03\x01\x00\x02" + // a memory of 2 pages
	"\x07\x0e\x02\x06memory\x02\x00\x01f\x00\x01" +
	"\x0a\x0e\x01\x0c\x00\x41\x07\x10\x00\x41\xe4\x00\x28\x00\x00\x0b" +
	"\x0b\x0b\x01\x00\x41\xe4\x00\x0b\x04\x2a\x00\x00\x00")

// memory is a module that exports a memory of 3 to 65536 pages.
var memory = []byte(header + "\x05\x06\x01\x01\x03\x80\x80\x04" + "\x07\x0a\x01\x06memory\x02\x00")

// importing returns a module that imports its memory.
func importing(module []byte) ([]byte, error) {
	sections, err := split(module)
	if err != nil {
		return nil, err
	}
	return importMemory(sections)
}

func rewritten(t *testing.T) []byte {
	t.Helper()
	out, err := importing(module)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestUnshared finds the flags as a loader does, asks for an unshared memory, and runs the module on the memory of another one.
func TestUnshared(t *testing.T) {
	code := rewritten(t)
	sections, err := split(code)
	if err != nil {
		t.Fatal(err)
	}
	first := sections[0]
	name, payload := string(first.content[1:len(first.content)-8]), first.content[len(first.content)-8:]
	if first.id != sectionCustom || name != "polygrad.memory" {
		t.Fatalf("the first section is %d %q", first.id, name)
	}
	if pages := binary.LittleEndian.Uint32(payload[4:]); pages != 2 {
		t.Errorf("the section says %d pages", pages)
	}
	flags := binary.LittleEndian.Uint32(payload)
	if limits := code[flags:][:5]; !bytes.Equal(limits, []byte{3, 2, 0x80, 0x80, 4}) {
		t.Fatalf("the limits are % x", limits)
	}
	code[flags] = 1

	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	defer func() { _ = rt.Close(ctx) }()
	var given uint32
	if _, err := rt.NewHostModuleBuilder("zz").NewFunctionBuilder().WithFunc(func(x uint32) { given = x }).Export("g").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	own, err := rt.InstantiateWithConfig(ctx, memory, wazero.NewModuleConfig().WithName("env"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := rt.Instantiate(ctx, code)
	if err != nil {
		t.Fatal(err)
	}
	result, err := m.ExportedFunction("f").Call(ctx)
	if err != nil || given != 7 || result[0] != 42 {
		t.Errorf("the module gave %v %v to its host, and returned %v", err, given, result)
	}
	if word, _ := own.Memory().ReadUint32Le(100); word != 42 {
		t.Errorf("the memory has %d at 100", word)
	}
	if m.ExportedMemory("memory") == nil {
		t.Error("the module does not export its memory")
	}
}

func TestShared(t *testing.T) {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2|experimental.CoreFeaturesThreads))
	defer func() { _ = rt.Close(ctx) }()
	compiled, err := rt.CompileModule(ctx, rewritten(t))
	if err != nil {
		t.Fatal(err)
	}
	imported := compiled.ImportedMemories()
	if len(imported) != 1 {
		t.Fatalf("%d memories are imported", len(imported))
	}
	from, name, _ := imported[0].Import()
	if most, has := imported[0].Max(); from != "env" || name != "memory" || imported[0].Min() != 2 || most != 1<<16 || !has {
		t.Errorf("the module imports %s.%s of %d to %d pages", from, name, imported[0].Min(), most)
	}
}

func TestErrors(t *testing.T) {
	for want, bad := range map[string][]byte{
		"no module":               []byte("\x7fELF"),
		"ends early":              module[:20],
		"a memory of its own":     memory,
		"expected a module with ": rewritten(t),
	} {
		if _, err := importing(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
	if err := run(nil); err == nil || !strings.Contains(err.Error(), "expected the arguments") {
		t.Errorf("without files: %v", err)
	}
	if err := run([]string{"missing", "out"}); err == nil {
		t.Error("a missing file is no error")
	}
}
