package model

import (
	"encoding/binary"
	"fmt"
	"math"
)

// SectionType is the kind of content of a section.
type SectionType uint32

// The sections of a bundle. Readers skip unknown ones.
const (
	SectionIR       SectionType = 1 // the graph
	SectionWeights  SectionType = 2 // parameters and auxiliary data, safetensors
	SectionMetadata SectionType = 3 // JSON of the user
	SectionTraining SectionType = 4 // the optimizer and its moments, safetensors
)

// Section is one part of a bundle.
type Section struct {
	Type SectionType
	Data []byte
}

const (
	bundleMagic   = "POLYBNDL"
	bundleVersion = 1
	bundleHeader  = 20
)

// EncodeBundle writes sections one after the other, in order.
func EncodeBundle(sections []Section) ([]byte, error) {
	out := []byte(bundleMagic)
	le := binary.LittleEndian
	out = le.AppendUint32(out, bundleVersion)
	out = le.AppendUint32(out, 0)
	out = le.AppendUint32(out, uint32(len(sections)))
	for i, s := range sections {
		if len(s.Data) > math.MaxInt32 {
			return nil, fmt.Errorf("model.EncodeBundle: sections[%d]: %d bytes, expected at most %d", i, len(s.Data), math.MaxInt32)
		}
		out = le.AppendUint32(out, uint32(s.Type))
		out = le.AppendUint32(out, uint32(len(s.Data)))
		out = append(out, s.Data...)
	}
	return out, nil
}

// DecodeBundle finds the sections of a bundle, which must include an IR section. Their data points into data.
func DecodeBundle(data []byte) (sections []Section, flags uint32, err error) {
	bad := func(format string, a ...any) ([]Section, uint32, error) {
		return nil, 0, fmt.Errorf("model.DecodeBundle: data: "+format, a...)
	}
	if len(data) < bundleHeader || string(data[:8]) != bundleMagic {
		return bad("%d bytes that do not begin with %s and a header", len(data), bundleMagic)
	}
	le := binary.LittleEndian
	if v := le.Uint32(data[8:]); v != bundleVersion {
		return bad("version %d, expected %d", v, bundleVersion)
	}
	flags = le.Uint32(data[12:])
	count := le.Uint32(data[16:])
	rest := data[bundleHeader:]
	hasIR := false
	for i := range count {
		if len(rest) < 8 {
			return bad("ends before section %d of %d", i, count)
		}
		t, n := SectionType(le.Uint32(rest)), le.Uint32(rest[4:])
		rest = rest[8:]
		if uint64(n) > uint64(len(rest)) {
			return bad("section %d should have %d bytes, but %d follow", i, n, len(rest))
		}
		hasIR = hasIR || t == SectionIR
		sections = append(sections, Section{t, rest[:n:n]})
		rest = rest[n:]
	}
	if !hasIR {
		return bad("has no section with a graph")
	}
	return sections, flags, nil
}

// section is the data of the first section of a type, nil if there is none.
func section(sections []Section, t SectionType) []byte {
	for _, s := range sections {
		if s.Type == t {
			return s.Data
		}
	}
	return nil
}
