package main

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// Opcodes of WebAssembly that the rewriting uses by name.
const (
	opUnreachable = 0x00
	opNop         = 0x01
	opBlock       = 0x02
	opLoop        = 0x03
	opIf          = 0x04
	opElse        = 0x05
	opEnd         = 0x0b
	opBr          = 0x0c
	opBrIf        = 0x0d
	opBrTable     = 0x0e
	opReturn      = 0x0f
	opCall        = 0x10
	opCallThrough = 0x11
	opDrop        = 0x1a
	opSelect      = 0x1b
	opLocalGet    = 0x20
	opLocalSet    = 0x21
	opLocalTee    = 0x22
	opGlobalGet   = 0x23
	opGlobalSet   = 0x24
	opTableGet    = 0x25
	opLoads       = 0x28 // to opStores-1
	opLoadByte    = 0x2d
	opStores      = 0x36
	opStoreByte   = 0x3a
	opMemorySize  = 0x3f
	opMemoryGrow  = 0x40
	opI32Const    = 0x41
	opI64Const    = 0x42
	opF32Const    = 0x43
	opF64Const    = 0x44
	opI32Eqz      = 0x45
	opI32GeU      = 0x4f
	opI64Eqz      = 0x50
	opI32Add      = 0x6a
	opI32Or       = 0x72
	opI64Add      = 0x7c
	opI64Or       = 0x84
	opWrap        = 0xa7
	opExtend      = 0xad
	opRefIsNull   = 0xd1
	opPrefix      = 0xfc

	opDeleted = 0xff // an instruction to be removed

	noResult = 0x40 // of a block

	typeI32 = 0x7f
	typeI64 = 0x7e
)

// Go's code keeps the number of the next basic block (PC_B) in local 0 and a copy of the stack pointer, global 0, in local 1.
const (
	blockLocal   = 0
	stackLocal   = 1
	stackPointer = 0
)

// instruction is a decoded instruction. value is its constant, index or memory offset, rest its remaining immediate bytes
// if value does not determine them.
type instruction struct {
	op    byte
	value int64
	rest  []byte
	label int      // of a branch: the label of its target; of a block or loop: its own label
	table []uint32 // of a br_table
}

// function describes one of Go's functions for the rewriting.
type function struct {
	number      int64 // its PC_F in Go: the high bits of its program counters
	deferReturn int64 // the block at which execution resumes after a recovered panic; 0 if there is none
}

// smaller rewrites the body of a function that Go compiled to an equivalent one with fewer instructions:
//   - A forward jump branches directly out of the blocks between. Go sets the block's number in a local and loops back to a br_table of
//     all blocks.
//   - The br_table holds only resume points of goroutines and targets of backward jumps.
//   - The address of a stack variable is folded into the offset of the load or store that uses it.
//   - A function returns with one addition to the stack pointer.
//   - A move of a local to itself is removed, and a local.set followed by local.get becomes local.tee.
//   - A return address is the function's number, kept in a local, plus a small constant; a call that unwinds the stack returns in
//     place instead of branching to the end. Both make the bytes of all calls alike, so that the module compresses better.
//
// It returns the body unchanged if it does not match Go's pattern; else also the new numbers of the blocks, nil if they keep theirs.
func smaller(body []byte, f function) ([]byte, numbering, error) {
	groups, locals, size, err := localsOf(body)
	if err != nil || groups == 0 {
		return body, nil, err
	}
	code, err := decode(body[size:])
	if err != nil || code == nil {
		return body, nil, err
	}
	exit := exitOf(code)
	if code = directJumps(code, f); code == nil {
		return body, nil, nil
	}
	code = compact(returns(code))
	foldOffsets(code)
	invertComparisons(code)
	code = moves(compact(code))
	code = unwinding(code, exit)
	var n numbering
	if l, ok := layoutOf(code); ok {
		n = renumber(code, f, l.table, l.loop)
	}
	if addressed := returnAddresses(code, f, int64(locals)+1); addressed != nil {
		_, counted := binary.Uvarint(body)
		out := append(binary.AppendUvarint(nil, groups+1), body[counted:size]...)
		return encode(append(out, 1, typeI64), addressed), n, nil
	}
	return encode(append([]byte(nil), body[:size]...), code), n, nil
}

// localsOf returns the numbers of groups of locals, of locals, and of the bytes of their declaration; no group unless the first local is an i32.
func localsOf(body []byte) (groups, locals uint64, size int, err error) {
	groups, size = binary.Uvarint(body)
	for i := range groups {
		count, n := binary.Uvarint(body[size:])
		if n <= 0 || size+n >= len(body) {
			return 0, 0, 0, errShort
		}
		locals += count
		size += n + 1
		if i == 0 && body[size-1] != typeI32 {
			return 0, 0, 0, nil
		}
	}
	return groups, locals, size, nil
}

// decode decodes the instructions of a body and resolves the targets of branches. It returns nil for a body with an else, or a block that
// has a result.
func decode(code []byte) ([]instruction, error) {
	var out []instruction
	var open []int // labels of the enclosing blocks
	for at := 0; at < len(code); {
		i, n, err := decodeOne(code[at:])
		if err != nil {
			return nil, err
		}
		at += n
		switch i.op {
		case opElse:
			return nil, nil
		case opBlock, opLoop, opIf:
			if i.rest[0] != noResult {
				return nil, nil
			}
			i.label = len(out)
			open = append(open, i.label)
		case opEnd:
			if len(open) > 0 {
				i.label = open[len(open)-1]
				open = open[:len(open)-1]
			} else {
				i.label = -1
			}
		case opBr, opBrIf:
			if i.value >= int64(len(open)) {
				return nil, nil
			}
			i.label = open[len(open)-1-int(i.value)]
		}
		out = append(out, i)
	}
	return out, nil
}

func decodeOne(code []byte) (i instruction, size int, err error) {
	i.op = code[0]
	at := 1
	unsigned := func() uint64 {
		v, n := binary.Uvarint(code[at:])
		if n <= 0 {
			err = errShort
			return 0
		}
		at += n
		return v
	}
	switch op := i.op; {
	case op == opBlock || op == opLoop || op == opIf:
		i.rest = code[at : at+1] // the type of its result
		at++
	case op == opBr || op == opBrIf || op == opCall || op >= opLocalGet && op <= opGlobalSet:
		i.value = int64(unsigned())
	case op == opBrTable:
		for range unsigned() + 1 {
			i.table = append(i.table, uint32(unsigned()))
		}
	case op == opCallThrough:
		unsigned()
		unsigned()
		i.rest = code[1:at]
	case op >= opLoads && op < opMemorySize:
		i.rest = code[at : at+1] // the alignment
		at++
		i.value = int64(unsigned())
	case op == opMemorySize || op == opMemoryGrow:
		at++
		i.rest = code[1:at]
	case op == opI32Const || op == opI64Const:
		var n int
		i.value, n = signed(code[at:])
		at += n
	case op == opF32Const:
		at += 4
		i.rest = code[1:at]
	case op == opF64Const:
		at += 8
		i.rest = code[1:at]
	case op == opPrefix:
		switch sub := unsigned(); {
		case sub == 10: // memory.copy
			at += 2
		case sub == 11: // memory.fill
			at++
		case sub > 7:
			return i, 0, fmt.Errorf("unknown operation fc %x", sub)
		}
		i.rest = code[1:at]
	case op == opUnreachable, op == opNop, op == opElse, op == opEnd, op == opReturn, op == opDrop, op == opSelect, op >= opI32Eqz && op <= 0xc4:
	default:
		return i, 0, fmt.Errorf("unknown operation %x", op)
	}
	return i, at, err
}

// encode appends instructions to out, with branch targets as relative depths.
func encode(out []byte, code []instruction) []byte {
	var open []int
	depth := func(label int) uint64 {
		for d := range open {
			if open[len(open)-1-d] == label {
				return uint64(d)
			}
		}
		panic("a branch leaves a block that is not open")
	}
	for _, i := range code {
		if i.op == opDeleted {
			continue
		}
		out = append(out, i.op)
		switch op := i.op; {
		case op == opBlock || op == opLoop || op == opIf:
			open = append(open, i.label)
			out = append(out, noResult)
		case op == opEnd:
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		case op == opBr || op == opBrIf:
			out = binary.AppendUvarint(out, depth(i.label))
		case op == opBrTable:
			out = binary.AppendUvarint(out, uint64(len(i.table)-1))
			for _, t := range i.table {
				out = binary.AppendUvarint(out, uint64(t))
			}
		case op == opI32Const || op == opI64Const:
			out = appendSigned(out, i.value)
		case op >= opLoads && op < opMemorySize:
			out = binary.AppendUvarint(append(out, i.rest...), uint64(i.value))
		case op == opCall || op >= opLocalGet && op <= opGlobalSet:
			out = binary.AppendUvarint(out, uint64(i.value))
		default:
			out = append(out, i.rest...)
		}
	}
	return out
}

// layout is the nesting of Go's functions: a block that unwinding calls branch out of, a loop around the br_table, and the blocks, each of which ends
// where the next region of code begins.
type layout struct {
	loop   int   // label of the loop, -1 if there is none
	table  int   // where the br_table stands
	labels []int // of the blocks, by the regions that their ends begin
}

func layoutOf(code []instruction) (l layout, ok bool) {
	l.loop = -1
	at := 0
	for at < len(code) && (code[at].op == opGlobalGet || code[at].op == opLocalSet) {
		at++ // the copy of the stack pointer
	}
	var open []int
	for ; at < len(code) && (code[at].op == opBlock || code[at].op == opLoop); at++ {
		if code[at].op == opLoop {
			if l.loop >= 0 {
				return l, false
			}
			l.loop = code[at].label
		}
		open = append(open, code[at].label)
	}
	if at+2 >= len(code) || code[at].op != opLocalGet || code[at].value != blockLocal || code[at+1].op != opBrTable || code[at+2].op != opEnd {
		return l, false
	}
	l.table = at + 1
	table := code[l.table].table
	n := int(table[len(table)-1]) + 1
	if n > len(open) || l.loop >= open[len(open)-n] {
		return l, false
	}
	for k := range n {
		l.labels = append(l.labels, open[len(open)-1-k])
	}
	return l, true
}

// directJumps turns forward jumps into direct branches and removes the blocks that are no target.
func directJumps(code []instruction, f function) []instruction {
	l, ok := layoutOf(code)
	if !ok {
		return code
	}
	table := code[l.table].table
	regionAt := func(pc int64) int { return int(table[min(pc, int64(len(table)-1))]) }
	n := len(l.labels)
	resumed, left := make([]bool, n), make([]bool, n)
	resumed[0] = true
	if f.deferReturn != 0 {
		resumed[regionAt(f.deferReturn)] = true
	}
	regionOf := make(map[int]int, n)
	for r, label := range l.labels {
		regionOf[label] = r
	}
	region := 0
	for k := l.table + 3; k < len(code); k++ {
		switch i := &code[k]; i.op {
		case opEnd:
			if r, is := regionOf[i.label]; is {
				region = r
			}
		case opI64Const: // the return address of a call
			if i.value>>16 == f.number && code[k+1].op == opStores+1 {
				resumed[regionAt(i.value&0xffff)] = true
			}
		case opNop:
			i.op = opDeleted
		case opBr:
			if i.label != l.loop {
				break
			}
			if code[k-1].op != opLocalSet || code[k-1].value != blockLocal || code[k-2].op != opI32Const {
				return nil
			}
			target := regionAt(code[k-2].value)
			if target <= region {
				resumed[target] = true
				conditional(code, k)
				break
			}
			i.label = l.labels[target]
			code[k-2].op, code[k-1].op = opDeleted, opDeleted
			left[target] = true
			conditional(code, k)
		}
	}
	return prune(code, l, resumed, left)
}

// conditional turns the jump at index k into a br_if if it is the whole body of an if. The two instructions before it set its target.
func conditional(code []instruction, k int) {
	open, end := &code[k-3], &code[k+1]
	if open.op == opIf && end.op == opEnd && end.label == open.label {
		open.op, end.op, code[k].op = opDeleted, opDeleted, opBrIf
	}
}

// prune removes the blocks that are neither branch targets nor resume points of goroutines, and unreachable code.
func prune(code []instruction, l layout, resumed, left []bool) []instruction {
	place := make([]uint32, len(l.labels)) // depth of a region's block at the table
	kept := make(map[int]bool, len(l.labels))
	regions := make(map[int]bool, len(l.labels))
	depth := uint32(0)
	for r, label := range l.labels {
		regions[label] = true
		place[r] = depth
		if resumed[r] || left[r] {
			kept[label] = true
			depth++
		}
	}
	table := code[l.table].table
	for k, t := range table {
		for t > 0 && !resumed[t] {
			t--
		}
		table[k] = place[t]
	}
	code[l.table].table = trimmed(table)
	for _, label := range l.labels {
		if !kept[label] {
			code[label].op = opDeleted
		}
	}
	nested, dead := 0, false
	for k := l.table + 1; k < len(code); k++ {
		i := &code[k]
		region := i.op == opEnd && regions[i.label]
		switch {
		case region && !kept[i.label]:
			i.op = opDeleted
		case nested == 0 && (region || i.op == opEnd):
			dead = false
		case dead && i.op != opDeleted:
			if i.op == opBlock || i.op == opLoop || i.op == opIf {
				nested++
			} else if i.op == opEnd {
				nested--
			}
			i.op = opDeleted
		case i.op == opBlock || i.op == opLoop || i.op == opIf:
			nested++
		case i.op == opEnd:
			nested--
		case nested == 0 && (i.op == opBr || i.op == opReturn || i.op == opUnreachable):
			dead = true
		}
	}
	return compact(code)
}

// trimmed removes the last entries of a br_table that equal its default.
func trimmed(table []uint32) []uint32 {
	for len(table) > 1 && table[len(table)-2] == table[len(table)-1] {
		table = table[:len(table)-1]
	}
	return table
}

func compact(code []instruction) []instruction {
	out := code[:0]
	for _, i := range code {
		if i.op != opDeleted {
			out = append(out, i)
		}
	}
	return out
}

// returns merges the additions of the frame size and of the return address' size to the stack pointer.
func returns(code []instruction) []instruction {
	for k := 0; k+6 < len(code); k++ {
		first := pops(code[k:])
		if first < 0 {
			continue
		}
		if second := popsAt(code, k+5); second == 8 && leaves(code, k+10) {
			code[k+1].value += 8
			for d := k + 3; d < k+9; d++ {
				code[d].op = opDeleted
			}
		} else if leaves(code, k+5) {
			code[k+3].op = opDeleted
		}
	}
	return code
}

// pops returns the amount that the first instructions of code add to the stack pointer, -1 if they do something else.
func pops(code []instruction) int64 {
	if len(code) < 5 || !code[0].is(opLocalGet, stackLocal) || code[1].op != opI32Const || code[2].op != opI32Add ||
		!code[3].is(opLocalTee, stackLocal) || !code[4].is(opGlobalSet, stackPointer) {
		return -1
	}
	return code[1].value
}

func popsAt(code []instruction, k int) int64 { return pops(code[min(k, len(code)):]) }

// leaves reports whether the instructions at index k return a constant.
func leaves(code []instruction, k int) bool {
	return k+1 < len(code) && code[k].op == opI32Const && code[k+1].op == opReturn
}

func (i instruction) is(op byte, value int64) bool { return i.op == op && i.value == value }

// foldOffsets folds the addition of a stack address into the offset of the load or store that uses it. Go computes such an address in 64 bits.
func foldOffsets(code []instruction) {
	const room = 1 << 30 // offsets stay far from 32 bits
	var operands []int   // for each value on the stack of operands: place of the addition that made it, -1 if something else did
	push := func(from int) { operands = append(operands, from) }
	pop := func(n int) int {
		if n > len(operands) { // values from before the last call or block
			operands = operands[:0]
			return -1
		}
		from := operands[len(operands)-n]
		operands = operands[:len(operands)-n]
		return from
	}
	use := func(k, from int) {
		if from >= 0 && code[k].value+code[from].value < room {
			code[k].value += code[from].value
			code[from].op, code[from+1].op = opDeleted, opDeleted
		}
	}
	for k := 0; k < len(code); k++ {
		if n, offset := stackAddress(code[k:]); n > 0 {
			for d := k + 1; d < k+n; d++ {
				code[d].op = opDeleted
			}
			if offset == 0 {
				push(-1)
			} else {
				code[k+1] = instruction{op: opI32Const, value: offset}
				code[k+2] = instruction{op: opI32Add}
				push(k + 1)
			}
			k += n - 1
			continue
		}
		switch op := code[k].op; {
		case op == opDeleted || op == opNop:
		case op >= opLoads && op < opStores:
			use(k, pop(1))
			push(-1)
		case op >= opStores && op < opMemorySize:
			use(k, pop(2))
		case op == opLocalGet || op == opGlobalGet || op == opMemorySize || op >= opI32Const && op <= opF64Const:
			push(-1)
		case op == opLocalSet || op == opGlobalSet || op == opDrop:
			pop(1)
		case op == opSelect:
			pop(3)
			push(-1)
		case op == opLocalTee || unary(op):
			pop(1)
			push(-1)
		case op >= opI32Eqz && op < opPrefix:
			pop(2)
			push(-1)
		default: // calls, blocks and branches
			operands = operands[:0]
		}
	}
}

// stackAddress matches the 32-bit address of a stack variable; it returns the number of its instructions, and its offset from the stack pointer.
func stackAddress(code []instruction) (n int, offset int64) {
	if len(code) < 3 || !code[0].is(opLocalGet, stackLocal) || code[1].op != opExtend {
		return 0, 0
	}
	if code[2].op == opWrap {
		return 3, 0
	}
	if len(code) >= 5 && code[2].op == opI64Const && code[2].value > 0 && code[2].value < 1<<29 && code[3].op == opI64Add && code[4].op == opWrap {
		return 5, code[2].value
	}
	return 0, 0
}

// unary reports whether a numeric operation takes one operand.
func unary(op byte) bool {
	switch {
	case op == opI32Eqz || op == opI64Eqz || op == opMemoryGrow:
		return true
	case op >= 0x67 && op <= 0x69 || op >= 0x79 && op <= 0x7b: // clz, ctz, popcnt
		return true
	case op >= 0x8b && op <= 0x91 || op >= 0x99 && op <= 0x9f: // abs, neg, ceil, floor, trunc, nearest, sqrt
		return true
	}
	return op >= 0xa7 && op <= 0xc4 // conversions
}

// inverse holds pairs of complementary comparisons. For floats NaN leaves only eq and ne.
var inverse = func() (of [256]byte) {
	for _, pair := range [][2]byte{
		{0x46, 0x47}, {0x48, 0x4e}, {0x49, 0x4f}, {0x4a, 0x4c}, {0x4b, 0x4d}, // i32: eq ne, lt ge, gt le
		{0x51, 0x52}, {0x53, 0x59}, {0x54, 0x5a}, {0x55, 0x57}, {0x56, 0x58}, // i64
		{0x5b, 0x5c}, {0x61, 0x62}, // f32, f64: eq ne
	} {
		of[pair[0]], of[pair[1]] = pair[1], pair[0]
	}
	return of
}()

// invertComparisons merges a comparison and a following i32.eqz into the inverse comparison.
func invertComparisons(code []instruction) {
	for k := 0; k+1 < len(code); k++ {
		if other := inverse[code[k].op]; other != 0 && code[k+1].op == opI32Eqz {
			code[k].op, code[k+1].op = other, opDeleted
		}
	}
}

// moves removes moves of a local to itself, and merges local.set and local.get of a local into local.tee.
func moves(code []instruction) []instruction {
	for k := 0; k+1 < len(code); k++ {
		next := &code[k+1]
		switch {
		case code[k].op == opLocalGet && next.is(opLocalSet, code[k].value):
			code[k].op, next.op = opDeleted, opDeleted
		case code[k].op == opLocalSet && next.is(opLocalGet, code[k].value):
			code[k].op, next.op = opLocalTee, opDeleted
		}
	}
	return compact(code)
}

// exitOf returns the label of the outermost block, which calls branch out of to unwind the stack.
func exitOf(code []instruction) int {
	for _, i := range code {
		if i.op == opBlock {
			return i.label
		}
		if i.op != opGlobalGet && i.op != opLocalSet {
			break
		}
	}
	return noLabel
}

const noLabel = -2 // of a block that nothing leaves

// unwinding lets calls that unwind the stack return 1 in place, as the code after the block that they branch out of does.
func unwinding(code []instruction, exit int) []instruction {
	var out []instruction
	for k, i := range code {
		if i.op == opBrIf && i.label == exit && k >= 2 && code[k-2].is(opGlobalGet, stackPointer) && code[k-1].is(opLocalSet, stackLocal) {
			out = append(out, instruction{op: opIf, label: noLabel}, instruction{op: opI32Const, value: 1}, instruction{op: opReturn},
				instruction{op: opEnd, label: noLabel})
		} else {
			out = append(out, i)
		}
	}
	return out
}

// returnAddresses makes return addresses of the function's number in a local, if there is more than one.
func returnAddresses(code []instruction, f function, local int64) []instruction {
	out := []instruction{{op: opI64Const, value: f.number << 16}, {op: opLocalSet, value: local}}
	count := 0
	for k, i := range code {
		if f.returns(code, k) {
			out = append(out, instruction{op: opLocalGet, value: local}, instruction{op: opI64Const, value: i.value & 0xffff},
				instruction{op: opI64Or})
			count++
		} else {
			out = append(out, i)
		}
	}
	if count < 2 {
		return nil
	}
	return out
}

// returns reports whether the instruction at index k is the return address of a call.
func (f function) returns(code []instruction, k int) bool {
	return code[k].op == opI64Const && code[k].value>>16 == f.number && k+1 < len(code) && code[k+1].op == opStores+1
}

// renumber gives small numbers to the blocks that a goroutine resumes at and that jumps go back to. A table of values holds for the addresses
// of a block what it held for those of its old number: number and number-1, and number+1 after deferReturn.
func renumber(code []instruction, f function, table, loop int) numbering {
	var places []int // of the instructions that hold numbers
	used := map[int64]bool{0: true, f.deferReturn: true}
	for k := range code {
		back := (code[k].op == opBr || code[k].op == opBrIf) && code[k].label == loop
		switch {
		case f.returns(code, k):
			places = append(places, k)
		case back && code[k-1].is(opLocalSet, blockLocal) && code[k-2].op == opI32Const:
			places = append(places, k-2)
		default:
			continue
		}
		used[code[places[len(places)-1]].value&0xffff] = true
	}
	n := numbering{}
	for _, old := range slices.Sorted(maps.Keys(used)) {
		if old != 0 {
			n = append(n, old)
		}
	}
	renamed := map[int64]int64{}
	blocks := code[table].table
	var numbered []uint32
	n.each(f, func(number, old int64) {
		renamed[old] = number
		for int64(len(numbered)) <= number {
			numbered = append(numbered, blocks[min(old, int64(len(blocks)-1))])
		}
	})
	code[table].table = trimmed(numbered)
	for _, k := range places {
		code[k].value += renamed[code[k].value&0xffff] - code[k].value&0xffff
	}
	return n
}

// numbering holds the old numbers, above 0, of the blocks that have numbers now, by the order of both.
type numbering []int64

// each calls f with all new and old numbers, from 0 on.
func (n numbering) each(f function, visit func(number, old int64)) {
	visit(0, 0)
	number := int64(1)
	for _, old := range n {
		number++
		visit(number, old)
		if old == f.deferReturn {
			number++
		}
	}
}
