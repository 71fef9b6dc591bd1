package asm

import (
	"fmt"
	"strconv"
	"strings"
)

// String is the instruction in Intel's syntax, as an assembler reads it. What has no encoding is written, too, as well
// as it can be.
func (i *Inst) String() string { return i.text(false) }

// text is the instruction, as it is without VEX if legacy is set.
func (i *Inst) text(legacy bool) string {
	switch {
	case i.Op == LABEL:
		return fmt.Sprintf("L%d:", i.To)
	case i.Op == ALIGN:
		return fmt.Sprintf(".p2align %d", len(strconv.FormatInt(i.Imm, 2))-1)
	case i.Op == LOOP || i.Op == ENDLOOP:
		return fmt.Sprintf("# %v %d", i.Op, i.Imm)
	case i.Op == MOVE:
		return fmt.Sprintf("move %v, %v", i.Dst.name(i.wholeKind(i.Dst), i.Size), i.Src[0].name(i.wholeKind(i.Src[0]), i.Size))
	case i.Op.Branch():
		return fmt.Sprintf("%v L%d", i.Op, i.To)
	}
	f := i.form()
	if i.Op < numOps {
		for n := starts[i.Op]; n < ends[i.Op]; n++ {
			if r := &rows[n]; forms[n].reg == f || forms[n].mem == f {
				old := legacy && r.mnemonic[0] == 'v'
				if !old || r.traits&leg != 0 {
					return i.formatted(r, old)
				}
			}
		}
	}
	return i.unformatted()
}

// wholeKind is the kind of a register in an instruction that has no row.
func (i *Inst) wholeKind(r Reg) kind {
	switch r.Class() {
	case GP:
		if i.Size == 4 {
			return kindD
		}
		return kindQ
	case Vec:
		if i.Size != 16 && i.Size != 32 && i.Size != 64 {
			return kindX
		}
		return kindV
	case Mask:
		return kindK
	}
	return kindT
}

// unformatted is an instruction that has no row.
func (i *Inst) unformatted() string {
	var s []string
	for _, r := range [...]Reg{i.Dst, i.Src[0], i.Src[1], i.Src[2]} {
		if r != 0 {
			s = append(s, r.name(i.wholeKind(r), i.Size))
		}
	}
	if !i.Mem.None() {
		s = append(s, i.Mem.String())
	}
	if i.Imm != 0 {
		s = append(s, strconv.FormatInt(i.Imm, 10))
	}
	return strings.TrimSpace(i.Op.String() + " " + strings.Join(s, ", ") + i.masks())
}

func (i *Inst) masks() string {
	s := ""
	if i.Mask != 0 {
		s = "{" + i.Mask.String() + "}"
	}
	if i.Zero {
		s += "{z}"
	}
	return s
}

func (i *Inst) formatted(r *row, legacy bool) string {
	var s []string
	add := func(o string) {
		if len(s) == 0 {
			o += i.masks()
		}
		s = append(s, o)
	}
	shape := shapes[r.shape]
	for j, o := range shape {
		reg := i.Dst
		if j > 0 {
			reg = i.Src[j-1]
		}
		switch {
		case o.place == 0:
		case o.place == inRM && !i.Mem.None():
			add(i.memory(r))
		case o.place == inVvvv && legacy:
			if j == 0 {
				add(reg.name(o.kind, i.Size))
			}
		case o.place == inRM && legacy && shape[0].place == inVvvv:
		case r.traits&immBits == imm64 && i.Imm == int64(uint32(i.Imm)):
			add(reg.name(kindD, i.Size))
		default:
			add(reg.name(o.kind, i.Size))
		}
	}
	if r.traits&immBits != 0 {
		s = append(s, strconv.FormatInt(i.Imm, 10))
	}
	m := r.mnemonic
	if legacy {
		m = m[1:]
	}
	return strings.TrimSpace(m + " " + strings.Join(s, ", "))
}

var pointers = map[int]string{1: "byte ptr ", 2: "word ptr ", 4: "dword ptr ", 8: "qword ptr ", 16: "xmmword ptr ", 32: "ymmword ptr ", 64: "zmmword ptr "}

// memory is the memory operand with its size.
func (i *Inst) memory(r *row) string {
	n := r.traits.memBytes(int(i.Size))
	s := i.Mem.text(r.traits&vsib != 0, i.vsibKind(r), i.Size)
	if e := r.traits.elem(); i.Bcast && e > 0 {
		return fmt.Sprintf("%s%s{1to%d}", pointers[e], s, n/e)
	}
	return pointers[n] + s
}

// vsibKind is what the index of a gather or scatter is.
func (i *Inst) vsibKind(r *row) kind {
	for _, o := range shapes[r.shape] {
		if o.place == inRM {
			return o.kind
		}
	}
	return kindQ
}

// String is the operand in brackets.
func (m *Mem) String() string { return m.text(m.Index.Class() == Vec, kindX, 16) }

func (m *Mem) text(vector bool, k kind, size uint8) string {
	if !vector {
		k = kindQ
	}
	var s strings.Builder
	s.WriteByte('[')
	sep := ""
	if m.Pool != 0 {
		fmt.Fprintf(&s, "rip+C%d", m.Pool)
		sep = "+"
	}
	if m.Base != 0 {
		s.WriteString(sep + m.Base.name(kindQ, 8))
		sep = "+"
	}
	if m.Index != 0 {
		fmt.Fprintf(&s, "%s%s*%d", sep, m.Index.name(k, size), m.Scale)
		sep = "+"
	}
	switch {
	case sep == "":
		fmt.Fprintf(&s, "%d", m.Disp)
	case m.Disp != 0:
		fmt.Fprintf(&s, "%+d", m.Disp)
	}
	s.WriteByte(']')
	return s.String()
}

// String is the register's name, at its full width; virtual registers are %r0, %v0, %k0, %t0.
func (r Reg) String() string { return (&Inst{Size: 64}).fullName(r) }

func (i *Inst) fullName(r Reg) string {
	if r.Class() < GP || r.Class() > Tile {
		return "none"
	}
	return r.name(i.wholeKind(r), i.Size)
}

var (
	names32 = [16]string{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"}
	names8  = [16]string{"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil"}
)

// name is the register as an operand of kind k in an instruction of that Size.
func (r Reg) name(k kind, size uint8) string {
	n := r.Num()
	if r.Virtual() {
		letter := "?rvkt"[min(int(r.Class()), 4)]
		return fmt.Sprintf("%%%c%d", letter, n)
	}
	if k == kindG {
		k = kindQ
		if size == 4 {
			k = kindD
		}
	}
	number := strconv.Itoa(n)
	switch k {
	case kindB, kindW, kindD, kindQ:
		return general(n&15, k)
	case kindK:
		return "k" + number
	case kindT:
		return "tmm" + number
	}
	bytes := int(size)
	switch k {
	case kindH:
		bytes /= 2
	case kindF:
		bytes /= 4
	case kindX:
		bytes = 16
	}
	switch {
	case bytes >= 64:
		return "zmm" + number
	case bytes == 32:
		return "ymm" + number
	}
	return "xmm" + number
}

func general(n int, k kind) string {
	if n >= 8 {
		return "r" + strconv.Itoa(n) + map[kind]string{kindB: "b", kindW: "w", kindD: "d", kindQ: ""}[k]
	}
	switch k {
	case kindB:
		return names8[n]
	case kindW:
		return names32[n][1:]
	case kindD:
		return names32[n]
	}
	return "r" + names32[n][1:]
}
