package binary

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// Text writes a module that Bytes encoded in the text format (WAT), instructions one a line. It is an error if the
// module has anything that this package does not write.
func Text(module []byte) (text string, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case unreadable:
			text, err = "", fmt.Errorf("binary.Text: %s", string(r))
		default:
			panic(r)
		}
	}()
	r := &reader{data: module}
	r.skip(8)
	p := &printer{}
	for len(r.data) > 0 {
		id := r.byte()
		p.section(id, r.sub(int(r.unsigned())))
	}
	return p.module(), nil
}

// unreadable is panicked with by a reader; Text makes an error of it.
type unreadable string

// reader parses a module.
type reader struct{ data []byte }

func (r *reader) skip(n int) []byte {
	if n < 0 || n > len(r.data) {
		panic(unreadable("the module ends early"))
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) byte() byte { return r.skip(1)[0] }

func (r *reader) sub(n int) *reader { return &reader{r.skip(n)} }

func (r *reader) unsigned() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		panic(unreadable("a number does not end"))
	}
	r.skip(n)
	return v
}

func (r *reader) name() string { return string(r.skip(int(r.unsigned()))) }

func (r *reader) signed() int64 {
	var v int64
	for shift := 0; ; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7F) << shift
		if b < 0x80 {
			if shift+7 < 64 && b&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
		if shift >= 63 {
			panic(unreadable("a number does not end"))
		}
	}
}

var typeNames = map[ValType]string{I32: "i32", I64: "i64", F32: "f32", F64: "f64", V128: "v128"}

// types reads n value types.
func (r *reader) types(n uint64) string {
	var s strings.Builder
	for _, t := range r.skip(int(n)) {
		s.WriteString(" " + typeNames[ValType(t)])
	}
	return s.String()
}

// printer writes a module as text.
type printer struct {
	types   []string
	funcs   []uint64
	memory  string
	exports map[uint64]string
	bodies  []string
}

func (p *printer) section(id byte, r *reader) {
	n := r.unsigned()
	switch id {
	case sectionType:
		for range n {
			r.byte()
			t := ""
			if params := r.types(r.unsigned()); params != "" {
				t += " (param" + params + ")"
			}
			if results := r.types(r.unsigned()); results != "" {
				t += " (result" + results + ")"
			}
			p.types = append(p.types, t)
		}
	case sectionImport:
		from, name := r.name(), r.name()
		r.byte()
		limits := map[byte]string{limitsLeast: "", limitsShared: " 65536 shared"}[r.byte()]
		p.memory = fmt.Sprintf("(import %q %q) %d%s", from, name, r.unsigned(), limits)
		if limits != "" {
			r.unsigned()
		}
	case sectionFunction:
		for range n {
			p.funcs = append(p.funcs, r.unsigned())
		}
	case sectionMemory:
		r.byte()
		p.memory = fmt.Sprintf("%d %d", r.unsigned(), r.unsigned())
	case sectionExport:
		p.exports = map[uint64]string{}
		for range n {
			name := r.name()
			if kind, index := r.byte(), r.unsigned(); kind == kindFunc {
				p.exports[index] = name
			} else {
				p.memory = fmt.Sprintf("(export %q) %s", name, p.memory)
			}
		}
	case sectionCode:
		for range n {
			p.bodies = append(p.bodies, body(r.sub(int(r.unsigned()))))
		}
	default:
		panic(unreadable(fmt.Sprintf("section %d", id)))
	}
}

func (p *printer) module() string {
	var b strings.Builder
	b.WriteString("(module\n")
	if p.memory != "" {
		b.WriteString("  (memory " + p.memory + ")\n")
	}
	for i, code := range p.bodies {
		fmt.Fprintf(&b, "  (func $%d", i)
		if name, ok := p.exports[uint64(i)]; ok {
			fmt.Fprintf(&b, " (export %q)", name)
		}
		b.WriteString(p.types[p.funcs[i]] + "\n" + code + "  )\n")
	}
	b.WriteString(")\n")
	return b.String()
}

// body writes a function: its locals, and its instructions, indented by the depth of their blocks.
func body(r *reader) string {
	var b strings.Builder
	for range r.unsigned() {
		n := r.unsigned()
		t := ValType(r.byte())
		fmt.Fprintf(&b, "    (local%s)\n", strings.Repeat(" "+typeNames[t], int(n)))
	}
	depth := 2
	for len(r.data) > 0 {
		op := r.op()
		if op == end || op == elseOp {
			depth--
		}
		if op == end && len(r.data) == 0 {
			break // the end of the function
		}
		b.WriteString(strings.Repeat("  ", depth) + names[op] + r.immediates(op) + "\n")
		switch op {
		case block, loop, ifOp, elseOp:
			depth++
		}
	}
	return b.String()
}

func (r *reader) op() Op {
	op := Op(r.byte())
	if op == 0xFC || op == 0xFD {
		number := Op(r.unsigned())
		if op <<= 8; number > 0xFF {
			op <<= 8
		}
		op |= number
	}
	if names[op] == "" {
		panic(unreadable(fmt.Sprintf("instruction %#x", uint32(op))))
	}
	return op
}

// immediates writes the immediates of an instruction.
func (r *reader) immediates(op Op) string {
	switch {
	case op == block || op == loop || op == ifOp:
		if t := ValType(r.byte()); t != Empty {
			return " (result " + typeNames[t] + ")"
		}
	case op == br || op == brIf || op == call || op == localGet || op == localSet || op == localTee:
		return fmt.Sprintf(" %d", r.unsigned())
	case op == i32Const || op == i64Const:
		return fmt.Sprintf(" %d", r.signed())
	case op == f32Const:
		return fmt.Sprintf(" %v", math.Float32frombits(binary.LittleEndian.Uint32(r.skip(4))))
	case op == f64Const:
		return fmt.Sprintf(" %v", math.Float64frombits(binary.LittleEndian.Uint64(r.skip(8))))
	case op == v128Const:
		b := r.skip(16)
		return fmt.Sprintf(" i64x2 %#x %#x", binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]))
	case op == i8x16Shuffle:
		var s strings.Builder
		for _, lane := range r.skip(16) {
			fmt.Fprintf(&s, " %d", lane)
		}
		return s.String()
	case op == memoryCopy:
		r.skip(2)
	case op >= V128Load8Lane && op <= V128Store64Lane:
		return r.place() + fmt.Sprintf(" %d", r.byte())
	case op >= I8x16ExtractLaneS && op <= F64x2ReplaceLane:
		return fmt.Sprintf(" %d", r.byte())
	case op >= I32Load && op <= I64Store32, op >= V128Load && op <= V128Store, op == V128Load32Zero, op == V128Load64Zero:
		return r.place()
	}
	return ""
}

// place is the offset of a load or store.
func (r *reader) place() string {
	r.unsigned()
	if at := r.unsigned(); at != 0 {
		return fmt.Sprintf(" offset=%d", at)
	}
	return ""
}
