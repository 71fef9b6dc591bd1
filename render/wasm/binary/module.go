// Package binary writes WebAssembly modules in their binary format: types,
// functions with structured control flow, one memory, exports. It covers the
// scalar instructions and fixed-width SIMD of WebAssembly 2.0.
package binary

import "slices"

// Module is a module under construction. Functions are numbered in the order in
// which they are added.
type Module struct {
	types   [][]byte
	funcs   []uint32
	bodies  [][]byte
	exports []export
	memory  []byte
	// imported is the import of the memory, nil if the module has its own.
	imported []byte
}

type export struct {
	name  string
	kind  byte
	index uint32
}

const (
	kindFunc   = 0x00
	kindMemory = 0x02
)

// Memory declares the memory with its least and greatest size in pages of 64 KiB and exports it.
func (m *Module) Memory(name string, minPages, maxPages uint32) {
	m.memory = appendUnsigned([]byte{limitsBoth}, uint64(minPages))
	m.memory = appendUnsigned(m.memory, uint64(maxPages))
	m.exports = append(m.exports, export{name, kindMemory, 0})
}

// ImportMemory imports the memory, of whatever size. One that is shared by threads has another type.
func (m *Module) ImportMemory(from, name string, shared bool) {
	for _, s := range []string{from, name} {
		m.imported = appendUnsigned(m.imported, uint64(len(s)))
		m.imported = append(m.imported, s...)
	}
	m.imported = append(m.imported, kindMemory)
	if shared {
		const maxPages = 1 << 16 // a shared memory has a greatest size
		m.imported = appendUnsigned(append(m.imported, limitsShared, 0), maxPages)
	} else {
		m.imported = append(m.imported, limitsLeast, 0)
	}
}

// What a memory's limits begin with.
const (
	limitsLeast  = 0x00 // the least size follows
	limitsBoth   = 0x01 // the least and the greatest
	limitsShared = 0x03 // both, of a memory shared by threads
)

// Func adds a function and returns its index. An empty name keeps it internal.
func (m *Module) Func(name string, c *Code, results ...ValType) uint32 {
	t := appendUnsigned([]byte{0x60}, uint64(len(c.params)))
	for _, p := range c.params {
		t = append(t, byte(p))
	}
	t = appendUnsigned(t, uint64(len(results)))
	for _, r := range results {
		t = append(t, byte(r))
	}
	ti := slices.IndexFunc(m.types, func(o []byte) bool { return slices.Equal(o, t) })
	if ti < 0 {
		ti = len(m.types)
		m.types = append(m.types, t)
	}
	m.funcs = append(m.funcs, uint32(ti))
	m.bodies = append(m.bodies, c.body())
	fn := uint32(len(m.funcs) - 1)
	if name != "" {
		m.exports = append(m.exports, export{name, kindFunc, fn})
	}
	return fn
}

// Sections of a module, in their order.
const (
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionMemory   = 5
	sectionExport   = 7
	sectionCode     = 10
)

// Bytes is the encoded module.
func (m *Module) Bytes() []byte {
	out := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	section := func(id byte, n int, content []byte) {
		if n == 0 {
			return
		}
		count := appendUnsigned(nil, uint64(n))
		out = append(out, id)
		out = appendUnsigned(out, uint64(len(count)+len(content)))
		out = append(append(out, count...), content...)
	}
	section(sectionType, len(m.types), slices.Concat(m.types...))
	if m.imported != nil {
		section(sectionImport, 1, m.imported)
	}
	var b []byte
	for _, t := range m.funcs {
		b = appendUnsigned(b, uint64(t))
	}
	section(sectionFunction, len(m.funcs), b)
	if m.memory != nil {
		section(sectionMemory, 1, m.memory)
	}
	b = nil
	for _, e := range m.exports {
		b = appendUnsigned(b, uint64(len(e.name)))
		b = append(b, e.name...)
		b = append(b, e.kind)
		b = appendUnsigned(b, uint64(e.index))
	}
	section(sectionExport, len(m.exports), b)
	b = nil
	for _, f := range m.bodies {
		b = appendUnsigned(b, uint64(len(f)))
		b = append(b, f...)
	}
	section(sectionCode, len(m.bodies), b)
	return out
}
