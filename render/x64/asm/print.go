package asm

import (
	"fmt"
	"strings"
)

// String is the instruction in Intel's syntax.
func (i *Inst) String() string {
	var s strings.Builder
	s.WriteString(i.Op.String())
	sep := " "
	add := func(t string) { s.WriteString(sep + t); sep = ", " }
	if i.Dst != 0 {
		add(i.Dst.String())
	}
	for _, r := range i.Src {
		if r != 0 {
			add(r.String())
		}
	}
	if !i.Mem.None() {
		add(i.Mem.String())
	}
	if i.Mask != 0 {
		add("{" + i.Mask.String() + "}")
	}
	if i.To != 0 {
		add(fmt.Sprintf("L%d", i.To))
	}
	add(fmt.Sprint(i.Imm))
	return s.String()
}

// String is the register's name, at its full width; virtual registers are %r0, %v0, %k0, %t0.
func (r Reg) String() string {
	if r.Class() < GP || r.Class() > Tile {
		return "none"
	}
	if r.Virtual() {
		return fmt.Sprintf("%%%c%d", " rvkt"[r.Class()], r.Num())
	}
	switch r.Class() {
	case GP:
		return gp64[r.Num()&15]
	case Vec:
		return fmt.Sprintf("zmm%d", r.Num())
	case Mask:
		return fmt.Sprintf("k%d", r.Num())
	}
	return fmt.Sprintf("tmm%d", r.Num())
}

var gp64 = [16]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

// String is the operand in brackets.
func (m *Mem) String() string {
	var s strings.Builder
	s.WriteByte('[')
	sep := ""
	if m.Pool != 0 {
		fmt.Fprintf(&s, "pool%d", m.Pool)
		sep = "+"
	}
	if m.Base != 0 {
		s.WriteString(sep + m.Base.String())
		sep = "+"
	}
	if m.Index != 0 {
		fmt.Fprintf(&s, "%s%v*%d", sep, m.Index, m.Scale)
		sep = "+"
	}
	if m.Disp != 0 || sep == "" {
		if sep == "" {
			fmt.Fprintf(&s, "%d", m.Disp)
		} else {
			fmt.Fprintf(&s, "%+d", m.Disp)
		}
	}
	s.WriteByte(']')
	return s.String()
}
