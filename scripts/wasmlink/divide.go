package main

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A module can be divided: pages load the functions that training calls first, the deferred ones later. Which these are says a profile of
// the whole module: a bit for each function, set when the function was called. In the first part a deferred function is a stub that calls
// through a table, "deferred". The deferred parts fill that table. Before that a stub calls the import "deferred" of "polygrad" with the
// number of a part, which it has to load. Go's own table and the number of each function stay, so that Go's runtime notices nothing.

// deferredParts are what the names of the packages begin with whose functions a deferred part has. The last part that fits has a function.
var deferredParts = [][]string{
	{""},
	{"archive/", "compress/", "encoding/json", "polygrad/model"}, // models, their files, and tokenizers
}

const (
	typeFunction = 0x60
	typeFuncRef  = 0x70
	kindTable    = 0x01
	kindGlobal   = 0x03

	partNote    = "polygrad.part" // a custom section of both parts, equal in parts of one module
	partSize    = 8
	goTable     = 0
	library     = "polygrad" // the module of the function that loads
	firstModule = "first"    // the module of what the deferred part imports of the first one
)

// program is a module in pieces that dividing needs.
type program struct {
	sections      []section
	common, plain uint64 // types: (i32) -> i32 and () -> ()
	types         uint64 // number of types
	imported      uint64 // number of imported functions
	exported      map[uint64]bool
	kinds         []uint64 // types of the functions that are not imported
	bodies        [][]byte
	globals       uint64
	slot          map[uint64]uint64 // where in Go's table a function is
}

func programOf(sections []section) (*program, error) {
	p := &program{sections: sections, slot: map[uint64]uint64{}}
	var err error
	if p.common, p.plain, err = signatures(p.content(sectionTypes)); err != nil {
		return nil, err
	}
	if p.imported, err = importedFunctions(p.content(sectionImport)); err != nil {
		return nil, err
	}
	if p.exported, err = exportedFunctions(p.content(sectionExport)); err != nil {
		return nil, err
	}
	types, globals, tables := reader{rest: p.content(sectionTypes)}, reader{rest: p.content(sectionGlobals)}, reader{rest: p.content(sectionTables)}
	p.types, p.globals = types.unsigned(), globals.unsigned()
	if tables.unsigned() != 1 || tables.bytes(1)[0] != typeFuncRef {
		return nil, errors.New("expected one table, of functions")
	}
	kinds, code := reader{rest: p.content(sectionFunctions)}, reader{rest: p.content(sectionCode)}
	kinds.list(func(uint64) { p.kinds = append(p.kinds, kinds.unsigned()) })
	code.list(func(uint64) { p.bodies = append(p.bodies, code.bytes(code.unsigned())) })
	if len(p.kinds) != len(p.bodies) {
		return nil, fmt.Errorf("there are %d functions and %d bodies", len(p.kinds), len(p.bodies))
	}
	return p, errors.Join(kinds.err, code.err, p.readSlots())
}

func (p *program) content(id byte) []byte {
	if at := find(p.sections, id); at >= 0 {
		return p.sections[at].content
	}
	return []byte{0}
}

// readSlots reads which function each slot of Go's table has.
func (p *program) readSlots() error {
	r := reader{rest: p.content(sectionElements)}
	r.list(func(uint64) {
		if r.unsigned() != 0 || len(r.rest) == 0 || r.rest[0] != opI32Const {
			r.err = errors.New("expected elements at constant places of a table")
			return
		}
		first, n := signed(r.rest[1:])
		r.rest = r.rest[1+n+1:]
		r.list(func(k uint64) { p.slot[r.unsigned()] = uint64(first) + k })
	})
	return r.err
}

// numberOf is the function index of the k-th function that is not imported.
func (p *program) numberOf(k int) uint64 { return p.imported + uint64(k) }

// profiled returns the module, instrumented: a function sets its bit in the first bytes of the memory, which Go does not use.
func profiled(sections []section) ([]section, error) {
	p, err := programOf(sections)
	if err != nil {
		return nil, err
	}
	mem, err := imageOf(p.content(sectionData))
	if err != nil {
		return nil, err
	}
	size := (len(p.bodies) + 7) / 8
	if slices.ContainsFunc(mem[:size], func(b byte) bool { return b != 0 }) {
		return nil, fmt.Errorf("the first %d bytes of the memory are not free", size)
	}
	code := binary.AppendUvarint(nil, uint64(len(p.bodies)))
	for k, body := range p.bodies {
		locals, err := localsEnd(body)
		if err != nil {
			return nil, err
		}
		at := appendSigned([]byte{opI32Const}, int64(k/8))
		mark := slices.Concat(body[:locals], at, at, []byte{opLoadByte, 0, 0}, appendSigned([]byte{opI32Const}, 1<<(k%8)),
			[]byte{opI32Or, opStoreByte, 0, 0}, body[locals:])
		code = appendBytes(code, mark)
	}
	return p.with(map[byte][]byte{sectionCode: code}), nil
}

// with returns the sections with other contents.
func (p *program) with(contents map[byte][]byte) []section {
	out := slices.Clone(p.sections)
	for i := range out {
		if content, ok := contents[out[i].id]; ok {
			out[i].content = content
		}
	}
	return out
}

// partsOf says which deferred part has each function of a module whose functions have their names.
func partsOf(sections []section) ([]int, error) {
	p, err := programOf(sections)
	if err != nil {
		return nil, err
	}
	mem, err := imageOf(p.content(sectionData))
	if err != nil {
		return nil, err
	}
	t, err := tablesOf(mem)
	if err != nil {
		return nil, err
	}
	parts := make([]int, len(p.bodies))
	for k := range t.count {
		name := string(t.name(k))
		for i, packages := range deferredParts {
			if slices.ContainsFunc(packages, func(start string) bool { return strings.HasPrefix(name, start) }) {
				parts[k] = i
			}
		}
	}
	return parts, nil
}

// divide returns the parts of a module, the first one and the deferred ones; partOf says which one of these may have a function.
func divide(sections []section, profile []byte, partOf []int) (parts [][]section, err error) {
	p, err := programOf(sections)
	if err != nil {
		return nil, err
	}
	if size := (len(p.bodies) + 7) / 8; len(profile) < size {
		return nil, fmt.Errorf("the profile has %d bytes, expected at least %d, a bit for each function", len(profile), size)
	}
	if partOf == nil {
		return nil, fmt.Errorf("only a module of %s can be divided", known)
	}
	later := make([][]int, len(deferredParts))
	part := make([]int, len(p.bodies)) // 0 is the first one
	for k, body := range p.bodies {
		if profile[k/8]>>(k%8)&1 == 1 || p.kinds[k] != p.common || p.exported[p.numberOf(k)] {
			continue
		}
		foreign := false // calls an import
		if _, err := recalled(body, func(out []byte, f uint64) []byte {
			foreign = foreign || f < p.imported || p.slot[f] == 0
			return out
		}); err != nil {
			return nil, err
		}
		if !foreign {
			part[k] = partOf[k] + 1
			later[partOf[k]] = append(later[partOf[k]], k)
		}
	}
	place := map[uint64]uint64{} // of deferred functions, in their table
	starts := make([]uint64, len(later))
	for i, functions := range later {
		starts[i] = uint64(len(place))
		for _, k := range functions {
			place[p.numberOf(k)] = uint64(len(place))
		}
	}
	hash := sha256.New()
	hash.Write(p.content(sectionCode))
	codes := make([][]byte, len(later))
	for i, functions := range later {
		if codes[i], err = p.deferredCode(functions); err != nil {
			return nil, err
		}
		hash.Write(codes[i])
	}
	note := section{sectionCustom, append(appendName(nil, partNote), hash.Sum(nil)[:partSize]...)}
	data, err := p.dividedData(part)
	if err != nil {
		return nil, err
	}
	first, err := p.firstPart(place, starts, data[0])
	if err != nil {
		return nil, err
	}
	parts = [][]section{append(first, note)}
	for i, functions := range later {
		parts = append(parts, append(p.deferredPart(starts[i], uint64(len(functions)), codes[i], data[i+1]), note))
	}
	return parts, nil
}

// dividedData divides the data: tables of functions are in their parts.
func (p *program) dividedData(part []int) ([][]byte, error) {
	mem, err := imageOf(p.content(sectionData))
	if err != nil {
		return nil, err
	}
	t, err := tablesOf(mem)
	if err != nil {
		return nil, err
	}
	return t.divide(part, len(deferredParts)+1), nil
}

// firstPart is the module with stubs in the place of deferred functions. An import comes to the others, so that numbers of functions grow.
func (p *program) firstPart(place map[uint64]uint64, starts []uint64, data []byte) ([]section, error) {
	moved := func(f uint64) uint64 {
		if f >= p.imported {
			f++
		}
		return f
	}
	enter := moved(p.numberOf(len(p.bodies)))
	code := binary.AppendUvarint(nil, uint64(len(p.bodies))+1)
	for k, body := range p.bodies {
		if at, ok := place[p.numberOf(k)]; ok {
			stub := appendSigned([]byte{0, opLocalGet, 0, opI32Const}, int64(at))
			code = appendBytes(code, append(binary.AppendUvarint(append(stub, opCall), enter), opEnd))
			continue
		}
		body, err := recalled(body, func(out []byte, f uint64) []byte { return binary.AppendUvarint(append(out, opCall), moved(f)) })
		if err != nil {
			return nil, err
		}
		code = appendBytes(code, body)
	}
	load := []byte{opI32Const, 0} // the number of the last part that begins before the place
	for _, start := range starts[1:] {
		load = append(appendSigned(append(load, opLocalGet, 1, opI32Const), int64(start)), opI32GeU, opI32Add)
	}
	load = binary.AppendUvarint(append(load, opCall), p.imported)
	through := append(binary.AppendUvarint([]byte{opCallThrough}, p.common), goTable+1)
	code = appendBytes(code, slices.Concat([]byte{0, opLocalGet, 1, opTableGet, goTable + 1, opRefIsNull, opIf, noResult}, load,
		[]byte{opEnd, opLocalGet, 0, opLocalGet, 1}, through, []byte{opEnd}))

	exports := more(p.content(sectionExport), p.globals+2, func(r *reader, out []byte) []byte {
		name, kind := r.bytes(r.unsigned()), r.bytes(1)[0]
		f := r.unsigned()
		if kind == kindFunction {
			f = moved(f)
		}
		return binary.AppendUvarint(append(appendBytes(out, name), kind), f)
	})
	exports = append(appendName(exports, "table"), kindTable, goTable)
	exports = append(appendName(exports, "deferred"), kindTable, goTable+1)
	for g := range p.globals {
		exports = binary.AppendUvarint(append(appendName(exports, globalName(g)), kindGlobal), g)
	}
	elements := more(p.content(sectionElements), 0, func(r *reader, out []byte) []byte {
		flags := r.unsigned()
		_, n := signed(r.rest[1:])
		out = append(binary.AppendUvarint(out, flags), r.bytes(uint64(1+n+1))...)
		count := r.unsigned()
		out = binary.AppendUvarint(out, count)
		for range count {
			out = binary.AppendUvarint(out, moved(r.unsigned()))
		}
		return out
	})
	start := reader{rest: p.content(sectionStart)}
	imports := append(grown(p.content(sectionImport), 1), appendName(appendName(nil, library), "deferred")...)
	tables := append(grown(p.content(sectionTables), 1), typeFuncRef, 0)
	return p.with(map[byte][]byte{
		sectionTypes:     append(grown(p.content(sectionTypes), 2), typeFunction, 2, typeI32, typeI32, 1, typeI32, typeFunction, 1, typeI32, 0),
		sectionImport:    binary.AppendUvarint(append(imports, kindFunction), p.types+1),
		sectionFunctions: binary.AppendUvarint(grown(p.content(sectionFunctions), 1), p.types),
		sectionTables:    binary.AppendUvarint(tables, uint64(len(place))),
		sectionExport:    exports,
		sectionStart:     binary.AppendUvarint(nil, moved(start.unsigned())),
		sectionElements:  elements,
		sectionCode:      code,
		sectionData:      data,
	}), nil
}

// deferredCode has the bodies of functions of a deferred part. They call functions of other parts through Go's table.
func (p *program) deferredCode(functions []int) ([]byte, error) {
	place := map[uint64]uint64{}
	for i, k := range functions {
		place[p.numberOf(k)] = uint64(i)
	}
	code := binary.AppendUvarint(nil, uint64(len(functions)))
	for _, k := range functions {
		body, err := recalled(p.bodies[k], func(out []byte, f uint64) []byte {
			if at, ok := place[f]; ok {
				return binary.AppendUvarint(append(out, opCall), at)
			}
			out = appendSigned(append(out, opI32Const), int64(p.slot[f]))
			out = binary.AppendUvarint(append(out, opCallThrough), p.kinds[f-p.imported])
			return append(out, goTable)
		})
		if err != nil {
			return nil, err
		}
		code = appendBytes(code, body)
	}
	return code, nil
}

// deferredPart imports the tables and globals of the first part, and fills its table from a place on.
func (p *program) deferredPart(start, count uint64, code, data []byte) []section {
	global := reader{rest: p.content(sectionGlobals)}
	imports := binary.AppendUvarint(nil, p.globals+2)
	for _, name := range []string{"table", "deferred"} {
		imports = append(appendName(appendName(imports, firstModule), name), kindTable, typeFuncRef, 0, 0)
	}
	k := uint64(0)
	global.list(func(uint64) {
		kind := global.bytes(2) // its type, and whether it changes
		imports = append(append(appendName(appendName(imports, firstModule), globalName(k)), kindGlobal), kind...)
		for global.bytes(1)[0] != opEnd { // constants of Go are zeros
		}
		k++
	})
	functions, numbers := binary.AppendUvarint(nil, count), binary.AppendUvarint(nil, count)
	for k := range count {
		functions, numbers = binary.AppendUvarint(functions, p.common), binary.AppendUvarint(numbers, k)
	}
	// One segment of elements with the number of its table.
	elements := slices.Concat(appendSigned([]byte{1, 2, goTable + 1, opI32Const}, int64(start)), []byte{opEnd, 0}, numbers)
	return []section{
		{sectionTypes, p.content(sectionTypes)}, {sectionImport, imports}, {sectionFunctions, functions},
		{sectionMemory, p.content(sectionMemory)}, {sectionElements, elements}, {sectionCode, code},
		{sectionData, data},
	}
}

func globalName(k uint64) string { return fmt.Sprintf("global%d", k) }

// grown is a list's content with the number of its items raised; these come after it.
func grown(content []byte, by uint64) []byte {
	count, n := binary.Uvarint(content)
	return append(binary.AppendUvarint(nil, count+by), content[n:]...)
}

// more writes the items of a list anew, with their number raised.
func more(content []byte, by uint64, item func(r *reader, out []byte) []byte) []byte {
	r := reader{rest: content}
	count := r.unsigned()
	out := binary.AppendUvarint(nil, count+by)
	for range count {
		out = item(&r, out)
	}
	return out
}

// localsEnd is the number of bytes that declare a body's locals.
func localsEnd(body []byte) (int, error) {
	r := reader{rest: body}
	r.list(func(uint64) {
		r.unsigned()
		r.bytes(1)
	})
	return len(body) - len(r.rest), r.err
}

// recalled rewrites a body with other instructions for its calls.
func recalled(body []byte, call func(out []byte, f uint64) []byte) ([]byte, error) {
	at, err := localsEnd(body)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(body[:at])
	for at < len(body) {
		i, n, err := decodeOne(body[at:])
		switch {
		case err != nil:
			return nil, err
		case i.op == opCall:
			out = call(out, uint64(i.value))
		default:
			out = append(out, body[at:at+n]...)
		}
		at += n
	}
	return out, nil
}
