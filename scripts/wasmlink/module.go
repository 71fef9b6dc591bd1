package main

import (
	"encoding/binary"
	"errors"
)

const (
	header = "\x00asm\x01\x00\x00\x00"

	sectionCustom    = 0
	sectionTypes     = 1
	sectionImport    = 2
	sectionFunctions = 3
	sectionTables    = 4
	sectionMemory    = 5
	sectionGlobals   = 6
	sectionExport    = 7
	sectionStart     = 8
	sectionElements  = 9
	sectionCode      = 10
	sectionData      = 11
)

// section is a section of a module.
type section struct {
	id      byte
	content []byte
}

var errShort = errors.New("the module ends early")

// split splits a module into sections.
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

func appendName(out []byte, name string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(name))), name...)
}

func appendSection(out []byte, s section) []byte {
	return appendBytes(append(out, s.id), s.content)
}

// appendBytes appends bytes with a length prefix.
func appendBytes(out, content []byte) []byte {
	return append(binary.AppendUvarint(out, uint64(len(content))), content...)
}

// signed decodes a signed LEB128 integer.
func signed(in []byte) (v int64, size int) {
	for shift := uint(0); size < len(in); {
		b := in[size]
		size++
		v |= int64(b&0x7f) << shift
		shift += 7
		if b < 0x80 {
			if shift < 64 && b&0x40 != 0 {
				v |= -1 << shift
			}
			break
		}
	}
	return v, size
}

func appendSigned(out []byte, v int64) []byte {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// reader decodes the contents of a section. Its first error is kept.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) unsigned() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.rest, r.err = nil, errShort
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.rest, r.err = nil, errShort
		return make([]byte, 1)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// list decodes a count n, then calls read n times. It stops at an error.
func (r *reader) list(read func(k uint64)) {
	for k, n := uint64(0), r.unsigned(); k < n && r.err == nil; k++ {
		read(k)
	}
}
