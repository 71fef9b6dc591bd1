package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Go's runtime unwinds stacks by tables that the linker writes into the module's data: the pclntab, from runtime.pcHeader on.
// Names of functions, files, lines and inlined calls serve stack traces only; they are a third of a module without symbols.

// image is the contents of the memory that the data segments initialise.
type image []byte

func imageOf(content []byte) (image, error) {
	var mem image
	r := reader{rest: content}
	r.list(func(uint64) {
		flags := r.unsigned()
		if flags != 0 || len(r.rest) == 0 || r.rest[0] != opI32Const {
			r.err = errors.New("expected segments of data with constant addresses")
			return
		}
		at, n := signed(r.rest[1:])
		r.rest = r.rest[1+n+1:]
		segment := r.bytes(r.unsigned())
		if end := int(at) + len(segment); end > len(mem) {
			mem = append(mem, make([]byte, end-len(mem))...)
		}
		copy(mem[at:], segment)
	})
	return mem, r.err
}

// segments writes the memory as segments of data. They leave out runs of what is there before: zeros, or the image of another part. Longer runs
// have fewer bytes when they are compressed, shorter ones before. Where another part's data may be, which the whole module's image has, no segment writes.
func (mem image) segments(before, whole image, run int) []byte {
	var out []byte
	count := uint64(0)
	there := func(k int) bool { return before == nil && mem[k] == 0 || before != nil && mem[k] == before[k] }
	for at := 0; at < len(mem); {
		if there(at) {
			at++
			continue
		}
		end, same := at, 0
		for k := at; k < len(mem) && same < run && (whole == nil || mem[k] == whole[k]); k++ {
			if there(k) {
				same++
			} else {
				same, end = 0, k+1
			}
		}
		out = append(appendSigned(append(out, 0, opI32Const), int64(at)), opEnd)
		out = appendBytes(out, mem[at:end])
		at, count = end, count+1
	}
	return append(binary.AppendUvarint(nil, count), out...)
}

const shortRun, longRun = 12, 64

func (mem image) u32(at int) uint32       { return binary.LittleEndian.Uint32(mem[at:]) }
func (mem image) setU32(at int, v uint32) { binary.LittleEndian.PutUint32(mem[at:], v) }
func (mem image) u64(at int) int          { return int(binary.LittleEndian.Uint64(mem[at:])) }

// Of runtime._func, abi.FuncID and abi.FUNCDATA_… in Go 1.26.
const (
	funcName, funcArguments, funcDeferReturn, funcStack, funcFile, funcLine, funcTables, funcUnit, funcStart = 4, 8, 12, 16, 20, 24, 28, 32, 36
	funcID, funcFlags, funcDatas, funcSize                                                                   = 40, 41, 43, 44

	flagAssembly = 1 << 2
	idWrapper    = 23

	tableStackMap, tableInlined = 1, 2

	dataInlined, dataArguments, dataLiveArguments = 3, 5, 6
	noData                                        = ^uint32(0)
	inlinedSize                                   = 16 // of runtime.inlinedCall
	argumentsEnd                                  = 0xff

	firstNumber = 0x1000 // of the functions
	noFrame     = 1      // where the table of values is that is 0 everywhere: frames of this size have nothing
	bucketSize  = 20     // of runtime.findfuncbucket
	buckets     = 16     // of a function: it has 1<<16 program counters, a bucket 4096
)

// tables says where the runtime's tables are.
type tables struct {
	mem                                   image
	count                                 int // of functions
	names, values, functions, data, finds int
	findsEnd                              int
	numbered                              map[int]numbering // by function, of those whose blocks have new numbers
}

// tablesOf finds the tables by their header and by runtime.firstmoduledata, which begins with the header's address.
func tablesOf(mem image) (*tables, error) {
	header := bytes.Index(mem, []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8})
	if header < 0 {
		return nil, errors.New("the module has no tables of functions that Go 1.20 and later write")
	}
	word := func(k int) int { return mem.u64(header + 8 + 8*k) }
	t := &tables{mem: mem, numbered: map[int]numbering{}, count: word(0), names: header + word(3), values: header + word(6), functions: header + word(7)}
	start := binary.LittleEndian.AppendUint64(nil, uint64(header))
	start = binary.LittleEndian.AppendUint64(start, uint64(t.names))
	module := bytes.Index(mem, start)
	if module < 0 {
		return nil, errors.New("the module has no description of its tables")
	}
	field := func(k int) int { return mem.u64(module + 8*k) }
	t.finds, t.data, t.findsEnd = field(19), field(40), field(41)
	if field(10) != t.values || field(13) != t.functions || field(20) != firstNumber<<16 ||
		t.findsEnd-t.finds < bucketSize*buckets*(t.count-1) || t.data < t.functions || t.data > t.finds {
		return nil, errors.New("the tables of functions are not those of Go 1.26")
	}
	return t, nil
}

// numbers says whether the functions have the numbers that Go's linker gives.
func (t *tables) numbers() error {
	for k := range t.count {
		if number := int(t.mem.u32(t.entry(k))); number != firstNumber+k || number != int(t.mem.u32(t.function(k))) {
			return fmt.Errorf("function %d has the number %d", k, number)
		}
	}
	return nil
}

// entry is where the k-th entry of runtime.functab is: a function's number, and where its description is.
func (t *tables) entry(k int) int { return t.functions + 8*k }

// function is where the description of the k-th function is.
func (t *tables) function(k int) int { return t.functions + int(t.mem.u32(t.entry(k)+4)) }

// name is the name of the k-th function, if it was not taken out.
func (t *tables) name(k int) []byte {
	return cString(t.mem[t.names+int(t.mem.u32(t.function(k)+funcName)):])
}

// of returns what the rewriting of code needs to know of the k-th function, ok false if it was written in assembly.
func (t *tables) of(k int) (f function, ok bool) {
	at := t.function(k)
	return function{int64(firstNumber + k), int64(t.mem.u32(at + funcDeferReturn))}, t.mem[at+funcFlags]&flagAssembly == 0
}

// strip removes what only stack traces use. The remaining tables of values are compacted; gaps are zero.
//
// The runtime reads the names of two kinds of functions: of methods that the compiler writes for pointers, to say which method was called with
// nil, and of stubs of reflect.
func (t *tables) strip() {
	mem := t.mem
	old := append(image(nil), mem...)
	clear(mem[t.names:t.values])
	clear(mem[t.values:t.functions])
	names, values := t.names+1, t.values+1
	moved := map[uint32]uint32{0: 0}
	same := map[string]uint32{}
	place := func(table []byte) uint32 {
		to, ok := same[string(table)]
		if !ok {
			to = uint32(values - t.values)
			same[string(table)] = to
			values += copy(mem[values:t.functions], table)
		}
		return to
	}
	place(valuesTable(make([]int32, 1<<16))) // at noFrame
	keep := func(from uint32) uint32 {
		to, ok := moved[from]
		if !ok {
			to = place(pairs(old[t.values+int(from):], nil))
			moved[from] = to
		}
		return to
	}
	// keepOf keeps a table of the k-th function for the numbers that its blocks have now. The runtime looks in tables of stack maps with the
	// number before that of the block.
	keepOf := func(k int, from uint32, before int64) uint32 {
		n, ok := t.numbered[k]
		if !ok || from == 0 {
			return keep(from)
		}
		f, _ := t.of(k)
		var was []int32 // by old number
		pairs(old[t.values+int(from):], func(v int32, until int64) {
			for int64(len(was)) < until {
				was = append(was, v)
			}
		})
		at := func(number int64) int32 { return was[min(number, int64(len(was)-1))] }
		var now []int32
		set := func(number int64, v int32) {
			for int64(len(now)) < number {
				now = append(now, now[len(now)-1])
			}
			now = append(now[:number], v)
		}
		n.each(f, func(number, old int64) {
			if number == 0 {
				set(0, at(0))
				return
			}
			set(number-before, at(old-before))
			if old == f.deferReturn {
				set(number, at(old))
			}
		})
		return place(valuesTable(append(now, now[len(now)-1], now[len(now)-1])))
	}
	kept := map[uint32]bool{}   // offsets of data that stay
	dropped := map[uint32]int{} // and sizes of those that go
	for k := range t.count {
		at := t.function(k)
		name := cString(old[t.names+int(old.u32(at+funcName)):])
		mem.setU32(at+funcName, 0)
		if mem[at+funcID] == idWrapper || bytes.HasPrefix(name, []byte("reflect.")) {
			mem.setU32(at+funcName, uint32(names-t.names))
			names += copy(mem[names:], name) + 1
		}
		for _, field := range []int{funcFile, funcLine, funcUnit, funcStart} {
			mem.setU32(at+field, 0)
		}
		mem.setU32(at+funcStack, keepOf(k, old.u32(at+funcStack), 0))
		tableCount, dataCount := int(old.u32(at+funcTables)), int(old[at+funcDatas])
		for j := range tableCount {
			place := at + funcSize + 4*j
			if j == tableStackMap {
				mem.setU32(place, keepOf(k, old.u32(place), 1))
			} else {
				mem.setU32(place, 0)
			}
		}
		for j := range dataCount {
			place := at + funcSize + 4*tableCount + 4*j
			offset := old.u32(place)
			if offset == noData {
				continue
			}
			switch j {
			case dataInlined:
				last := int32(0)
				if tableCount > tableInlined {
					if from := old.u32(at + funcSize + 4*tableInlined); from != 0 {
						pairs(old[t.values+int(from):], func(v int32, _ int64) { last = max(last, v) })
					}
				}
				dropped[offset] = inlinedSize * int(last+1)
			case dataArguments:
				dropped[offset] = bytes.IndexByte(old[t.data+int(offset):], argumentsEnd) + 1
			case dataLiveArguments:
				dropped[offset] = 0 // its size is not known
			default:
				kept[offset] = true
				continue
			}
			mem.setU32(place, noData)
		}
	}
	for k, n := range t.numbered {
		f, _ := t.of(k)
		n.each(f, func(number, old int64) {
			if old == f.deferReturn {
				mem.setU32(t.function(k)+funcDeferReturn, uint32(number))
			}
		})
	}
	for offset, size := range dropped {
		if !kept[offset] {
			clear(mem[t.data+int(offset):][:size])
		}
	}
}

// pairs returns the bytes of a pc-value table: deltas of the value and of the program counter, until a delta of zero.
//
// It calls each with the values and the program counters that they end before.
func pairs(table []byte, each func(v int32, until int64)) []byte {
	value, pc := int32(-1), int64(0)
	for at := 0; ; {
		d, n := binary.Uvarint(table[at:])
		at += n
		if d == 0 && at > n {
			return table[:at]
		}
		value += int32(uint32(d)>>1) ^ -int32(d&1)
		d, n = binary.Uvarint(table[at:])
		at += n
		if pc += int64(d); each != nil {
			each(value, pc)
		}
	}
}

// valuesTable encodes a pc-value table from the value at each program counter.
func valuesTable(values []int32) []byte {
	var table []byte
	last := int32(-1)
	for k := 0; k < len(values); {
		end := k
		for end < len(values) && values[end] == values[k] {
			end++
		}
		d := values[k] - last
		table = binary.AppendUvarint(table, uint64(uint32(d)<<1^uint32(d>>31)))
		table = binary.AppendUvarint(table, uint64(end-k))
		last, k = values[k], end
	}
	return append(table, 0)
}

func cString(b []byte) []byte { return b[:bytes.IndexByte(b, 0)] }

// unnumber takes out of the tables what follows from the functions' order: their numbers, one after the other, and where their descriptions
// are, of which the distances stay. The runtime looks at the first bucket of a function only.
func (t *tables) unnumber() {
	clear(t.mem[t.finds:t.findsEnd])
	before := uint32(0)
	for k := range t.count {
		t.mem.setU32(t.function(k), 0)
		t.mem.setU32(t.entry(k), 0)
		offset := t.mem.u32(t.entry(k) + 4)
		t.mem.setU32(t.entry(k)+4, offset-before)
		before = offset
	}
}

// numbering is the body of a function that does what number does.
func (t *tables) numbering() []byte {
	const k, offset = 0, 1 // locals: what counts, and where a description is
	var b []byte
	op := func(op byte, values ...int) {
		b = append(b, op)
		for _, v := range values {
			b = appendSigned(b, int64(v))
		}
	}
	store := func(base int) { b = binary.AppendUvarint(append(b, opStores, 2), uint64(base)) }
	number := func() {
		op(opLocalGet, k)
		op(opI32Const, firstNumber)
		op(opI32Add)
	}
	entry := func() {
		op(opLocalGet, k)
		op(opI32Const, 3)
		op(0x74) // i32.shl
	}
	b = append(b, 1, 2, 0x7f, opLoop, 0x40)
	op(opLocalGet, k)
	op(opI32Const, bucketSize*buckets)
	op(0x6c) // i32.mul
	op(opLocalGet, k)
	store(t.finds)
	entry()
	number()
	store(t.functions)
	entry()
	entry()
	b = binary.AppendUvarint(append(b, opLoads, 2), uint64(t.functions+4))
	op(opLocalGet, offset)
	op(opI32Add)
	op(opLocalTee, offset)
	store(t.functions + 4)
	op(opLocalGet, offset)
	number()
	store(t.functions)
	op(opLocalGet, k)
	op(opI32Const, 1)
	op(opI32Add)
	op(opLocalTee, k)
	op(opI32Const, t.count)
	op(0x49) // i32.lt_u
	return append(b, opBrIf, 0, opEnd, opEnd)
}

// number puts into the tables what unnumber took out, but for the buckets.
func (t *tables) number() {
	offset := uint32(0)
	for k := range t.count {
		t.mem.setU32(t.entry(k), uint32(firstNumber+k))
		offset += t.mem.u32(t.entry(k) + 4)
		t.mem.setU32(t.entry(k)+4, offset)
		t.mem.setU32(t.function(k), uint32(firstNumber+k))
	}
}

// divide divides the tables of numbered functions, and returns the data of the first part, 0, and of those behind it: there is what only
// their functions have. Before a part is there none of its functions runs, but a goroutine may be about to begin with one: its frame is empty.
func (t *tables) divide(part []int, parts int) [][]byte {
	t.number()
	first := t.those(part, 0)
	first.mem.clearDeferred()
	var later [][]byte
	for i := 1; i < parts; i++ {
		mem := t.those(part, i).mem
		if i < parts-1 {
			mem.clearDeferred()
		}
		later = append(later, mem.segments(first.mem, t.mem, shortRun))
	}
	first.unnumber()
	return append([][]byte{first.mem.segments(nil, nil, longRun)}, later...)
}

// those are the tables with what functions of the first part and of a deferred one have.
func (t *tables) those(part []int, deferred int) *tables {
	only := *t
	t = &only
	t.mem = slices.Clone(t.mem)
	values, data := map[uint32]bool{noFrame: true}, map[uint32]bool{} // by place of what functions have: whether it stays
	for k := range t.count {
		at := t.function(k)
		stays := part[k] == 0 || part[k] == deferred
		tableCount, dataCount := int(t.mem.u32(at+funcTables)), int(t.mem[at+funcDatas])
		for _, place := range []int{at + funcStack, at + funcSize + 4*tableStackMap} {
			if place == at+funcStack || tableCount > tableStackMap {
				values[t.mem.u32(place)] = values[t.mem.u32(place)] || stays
			}
		}
		for j := range dataCount {
			if offset := t.mem.u32(at + funcSize + 4*tableCount + 4*j); offset != noData {
				data[offset] = data[offset] || stays
			}
		}
		if stays {
			continue
		}
		t.mem.setU32(at+funcArguments, 0)
		t.mem.setU32(at+funcDeferReturn, 0)
		t.mem.setU32(at+funcStack, noFrame)
		clear(t.mem[at+funcSize:][:4*tableCount])
		for j := range dataCount {
			t.mem.setU32(at+funcSize+4*tableCount+4*j, noData)
		}
	}
	t.clear(t.values, values)
	t.clear(t.data, data)
	return t
}

// deferredMark begins a table that only functions of the last part read (model/tokens/ucd); its size, a u32, and the table follow.
const deferredMark = "polygrad.unicode"

// clearDeferred removes such tables.
func (mem image) clearDeferred() {
	for at := 0; ; {
		found := bytes.Index(mem[at:], []byte(deferredMark))
		if found < 0 {
			return
		}
		head := at + found + len(deferredMark) // of the size
		at = head
		if head+4 <= len(mem) && uint64(head)+4+uint64(mem.u32(head)) <= uint64(len(mem)) {
			at = head + 4 + int(mem.u32(head))
			clear(mem[head-len(deferredMark) : at])
		}
	}
}

// clear takes out what does not stay, by place from a base. What is last stays: its size is not known.
func (t *tables) clear(base int, stays map[uint32]bool) {
	places := slices.Sorted(maps.Keys(stays))
	for i, place := range places[:len(places)-1] {
		if place != 0 && !stays[place] {
			clear(t.mem[base+int(place) : base+int(places[i+1])])
		}
	}
}
