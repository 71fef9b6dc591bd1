// Command importmemory rewrites a WebAssembly module that Go built, so that it imports its memory as "memory" from "env" instead of having
// one: who makes the memory can share it with other modules and threads.
//
//	importmemory IN OUT
//
// The import asks for a memory that threads share, of at most 4 GiB. An unshared memory needs the byte 0x01 where the flags of the import's
// limits are, 0x03. The first section, a custom one named "polygrad.memory", holds two little-endian u32: the offset of that byte in the
// file, and the least size of the memory in pages. So it ends at byte 34 of the file, and a loader knows both from the first bytes it reads.
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "importmemory:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("got %d arguments, expected the names of two files", len(args))
	}
	module, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	if module, err = rewrite(module); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return os.WriteFile(args[1], module, 0o644)
}

const (
	header       = "\x00asm\x01\x00\x00\x00"
	note         = "polygrad.memory" // name of the custom section
	limitsShared = 0x03
	maxPages     = 1 << 16
	kindMemory   = 0x02

	sectionCustom = 0
	sectionImport = 2
	sectionMemory = 5
)

// section is a section of a module.
type section struct {
	id      byte
	content []byte
}

var errShort = errors.New("the module ends early")

// rewrite makes the memory of a module an import.
func rewrite(module []byte) ([]byte, error) {
	sections, err := split(module)
	if err != nil {
		return nil, err
	}
	memory, imports := -1, -1
	for i, s := range sections {
		switch s.id {
		case sectionMemory:
			memory = i
		case sectionImport:
			imports = i
		}
	}
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

// split cuts a module into sections.
func split(module []byte) ([]section, error) {
	if len(module) < len(header) || string(module[:len(header)]) != header {
		return nil, errors.New("this is no module of WebAssembly 1")
	}
	var sections []section
	for rest := module[len(header):]; len(rest) > 0; {
		id := rest[0]
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil, errShort
		}
		sections = append(sections, section{id, rest[1+n : 1+n+int(size)]})
		rest = rest[1+n+int(size):]
	}
	return sections, nil
}

// leastPages is the least size in a memory section.
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

// withMemory adds the import of a memory to an import section. flags is where in the section the flags of its limits are.
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

func appendName(out []byte, name string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(name))), name...)
}

func appendSection(out []byte, s section) []byte {
	out = binary.AppendUvarint(append(out, s.id), uint64(len(s.content)))
	return append(out, s.content...)
}
