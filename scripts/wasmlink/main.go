// Command wasmlink post-processes a WebAssembly module that Go linked:
//
//	wasmlink IN OUT
//	wasmlink -profile IN OUT
//	wasmlink -divide PROFILE IN OUT DEFERRED...
//
// The module imports its memory as "memory" from "env" instead of defining it, so that the embedder can share it with other modules and
// threads. The import declares a shared memory of at most 4 GiB. For an unshared memory the byte of the limits' flags in the
// import, 0x03, must be patched to 0x01. The first section, a custom one named "polygrad.memory", holds two little-endian u32: that byte's offset in
// the file, and the minimum size of the memory in pages. It ends at byte 34 of the file, so that a loader knows both from the first bytes it
// reads.
//
// The module gets smaller: its tables lose entries that only stack traces use (tables.go), its data the documentation of operations
// (documentation.go), and its code redundant instructions (code.go). These passes know the output of Go 1.26. Anything that they do not
// recognise is left unchanged.
//
// With -profile the module is instrumented: each function records that it was called. With -divide it is split into files, the first with the
// functions of a profile (divide.go).
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
)

const known = "go1.26"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "wasmlink:", err)
		os.Exit(1)
	}
}

const usage = "expected the arguments [-profile] IN OUT, or -divide PROFILE IN OUT and a file for each deferred part"

func run(args []string) error {
	mode := ""
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		mode, args = args[0], args[1:]
	}
	profile := ""
	if mode == "-divide" && len(args) == 3+len(deferredParts) {
		profile, args = args[0], args[1:]
	} else if mode != "" && mode != "-profile" || len(args) != 2 {
		return errors.New(usage)
	}
	in, outs := args[0], args[1:]
	sections, partOf, err := linked(in)
	if err != nil {
		return err
	}
	parts := [][]section{sections}
	switch mode {
	case "-profile":
		parts[0], err = profiled(sections)
	case "-divide":
		var called []byte
		if called, err = os.ReadFile(profile); err == nil {
			parts, err = divide(sections, called, partOf)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	for i, part := range parts {
		module, err := importMemory(part)
		if err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
		if err := os.WriteFile(outs[i], module, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// linked reads a module that Go linked and shrinks it; it also returns which deferred part each of its functions may be in.
func linked(file string) (sections []section, partOf []int, err error) {
	module, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	if sections, err = split(module); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	if !strings.HasPrefix(runtime.Version(), known) {
		fmt.Fprintf(os.Stderr, "wasmlink: the module stays large: it was made by %s, and %s is known here\n", runtime.Version(), known)
		return sections, nil, nil
	}
	if partOf, err = partsOf(sections); err == nil {
		sections, err = shrink(sections)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	return sections, partOf, nil
}

const (
	note         = "polygrad.memory" // name of the custom section
	limitsShared = 0x03
	maxPages     = 1 << 16
	kindFunction = 0x00
	kindMemory   = 0x02
)

// importMemory encodes the sections as a module that imports its memory.
func importMemory(sections []section) ([]byte, error) {
	memory, imports := find(sections, sectionMemory), find(sections, sectionImport)
	if memory < 0 || imports < 0 {
		return nil, errors.New("expected a module with imports and a memory of its own")
	}
	least, err := leastPages(sections[memory].content)
	if err != nil {
		return nil, err
	}
	content, flags, err := withMemory(sections[imports].content, least)
	if err != nil {
		return nil, err
	}
	sections[imports].content = content
	payload := binary.LittleEndian.AppendUint32(make([]byte, 4), uint32(least))
	out := appendSection([]byte(header), section{sectionCustom, append(appendName(nil, note), payload...)})
	place := len(out) - len(payload)
	for i, s := range sections {
		if i == memory {
			continue
		}
		out = appendSection(out, s)
		if i == imports {
			binary.LittleEndian.PutUint32(out[place:], uint32(len(out)-len(content)+flags))
		}
	}
	return out, nil
}

func find(sections []section, id byte) int {
	for i, s := range sections {
		if s.id == id {
			return i
		}
	}
	return -1
}

// leastPages is the minimum size in a memory section, in pages.
func leastPages(content []byte) (uint64, error) {
	if len(content) < 3 || content[0] != 1 {
		return 0, errors.New("expected one memory")
	}
	least, n := binary.Uvarint(content[2:])
	if n <= 0 {
		return 0, errShort
	}
	return least, nil
}

// withMemory adds the import of a memory to an import section. flags is the offset of its limits' flags in the section.
func withMemory(content []byte, least uint64) (out []byte, flags int, err error) {
	count, n := binary.Uvarint(content)
	if n <= 0 {
		return nil, 0, errShort
	}
	out = append(binary.AppendUvarint(nil, count+1), content[n:]...)
	out = append(appendName(appendName(out, "env"), "memory"), kindMemory)
	flags = len(out)
	out = binary.AppendUvarint(append(out, limitsShared), least)
	return binary.AppendUvarint(out, maxPages), flags, nil
}

// shrink shrinks the data and the code of a module.
func shrink(sections []section) ([]section, error) {
	contents := func(id byte) []byte {
		if at := find(sections, id); at >= 0 {
			return sections[at].content
		}
		return []byte{0}
	}
	mem, err := imageOf(contents(sectionData))
	if err != nil {
		return nil, err
	}
	t, err := tablesOf(mem)
	if err != nil {
		return nil, err
	}
	if err := t.numbers(); err != nil {
		return nil, err
	}
	common, plain, err := signatures(contents(sectionTypes))
	if err != nil {
		return nil, err
	}
	imported, err := importedFunctions(contents(sectionImport))
	if err != nil {
		return nil, err
	}
	exported, err := exportedFunctions(contents(sectionExport))
	if err != nil {
		return nil, err
	}
	types, code := reader{rest: contents(sectionFunctions)}, reader{rest: contents(sectionCode)}
	count := types.unsigned()
	if n := code.unsigned(); n != count || count != uint64(t.count) {
		return nil, fmt.Errorf("there are %d functions, %d bodies and %d descriptions", count, n, t.count)
	}
	newTypes, newCode := binary.AppendUvarint(nil, count+1), binary.AppendUvarint(nil, count+1)
	for k := range count {
		kind, body := types.unsigned(), code.bytes(code.unsigned())
		if types.err != nil || code.err != nil {
			return nil, errShort
		}
		if f, ok := t.of(int(k)); ok && kind == common && !exported[imported+k] {
			var n numbering
			if body, n, err = smaller(body, f); err != nil {
				return nil, fmt.Errorf("function %d: %w", k, err)
			}
			if n != nil {
				t.numbered[int(k)] = n
			}
		}
		newTypes, newCode = binary.AppendUvarint(newTypes, kind), appendBytes(newCode, body)
	}
	t.strip()
	mem.clearTexts(documentation())
	t.unnumber()
	newTypes, newCode = binary.AppendUvarint(newTypes, plain), appendBytes(newCode, t.numbering())
	start := section{sectionStart, binary.AppendUvarint(nil, imported+count)}
	var out []section
	for _, s := range sections {
		switch s.id {
		case sectionFunctions:
			s.content = newTypes
		case sectionElements:
			out = append(out, start)
		case sectionCode:
			s.content = newCode
		case sectionData:
			s.content = mem.segments(nil, nil, longRun)
		}
		out = append(out, s)
	}
	return out, nil
}

// signatures returns the type indices of (i32) -> i32, the signature of most of Go's functions, and () -> ().
func signatures(content []byte) (common, plain uint64, err error) {
	common, plain = ^uint64(0), ^uint64(0)
	r := reader{rest: content}
	r.list(func(k uint64) {
		r.bytes(1)
		takes := string(r.bytes(r.unsigned()))
		switch returns := string(r.bytes(r.unsigned())); {
		case takes == "\x7f" && returns == "\x7f":
			common = k
		case takes == "" && returns == "":
			plain = k
		}
	})
	if common == ^uint64(0) || plain == ^uint64(0) {
		return 0, 0, errors.New("the module lacks a type of functions that Go uses")
	}
	return common, plain, r.err
}

// importedFunctions counts the imports, all of which are functions.
func importedFunctions(content []byte) (count uint64, err error) {
	r := reader{rest: content}
	r.list(func(uint64) {
		r.bytes(r.unsigned())
		r.bytes(r.unsigned())
		if r.bytes(1)[0] != kindFunction {
			r.err = errors.New("expected imports of functions only")
		}
		r.unsigned()
		count++
	})
	return count, r.err
}

func exportedFunctions(content []byte) (map[uint64]bool, error) {
	exported := map[uint64]bool{}
	r := reader{rest: content}
	r.list(func(uint64) {
		r.bytes(r.unsigned())
		kind := r.bytes(1)[0]
		if index := r.unsigned(); kind == kindFunction {
			exported[index] = true
		}
	})
	return exported, r.err
}
