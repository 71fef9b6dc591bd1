package asm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// state is what a program of effects sets before an instruction and saves after it: the flags, the general registers,
// the mask registers and the vectors, at these offsets.
const (
	stateGP   = 64
	stateMask = stateGP + 16*64
	stateVec  = stateMask + 8*64
	stateSize = stateVec + 32*64
)

// offset is where the state has a register.
func (r Reg) offset() int {
	switch r.Class() {
	case GP:
		return stateGP + 64*r.Num()
	case Mask:
		return stateMask + 64*r.Num()
	}
	return stateVec + 64*r.Num()
}

// harness is the program around the instructions. load makes the state of the image, with the 64 bytes at rdi inverted
// if there is an offset, and with the flags of rsi; save keeps it, and emit writes the register at offset rdi and the flags.
func harness() string {
	var s strings.Builder
	s.WriteString(".globl main\nload:\nlea rax, [rip+image]\nlea rbx, [rip+now]\n")
	fmt.Fprintf(&s, "mov ecx, %d\n1: mov rdx, [rax+rcx*8-8]\nmov [rbx+rcx*8-8], rdx\ndec ecx\njnz 1b\n", stateSize/8)
	s.WriteString("test edi, edi\njz 2f\nadd rbx, rdi\nmov ecx, 8\nmov rdx, -1\n1: xor [rbx+rcx*8-8], rdx\ndec ecx\njnz 1b\n2: mov [rip+now], rsi\n")
	for n := range 32 {
		fmt.Fprintf(&s, "vmovups zmm%d, [rip+now+%d]\n", n, v(n).offset())
	}
	for n := 1; n < 8; n++ {
		fmt.Fprintf(&s, "kmovq k%d, [rip+now+%d]\n", n, k(n).offset())
	}
	s.WriteString("push qword ptr [rip+now]\npopfq\n")
	for n := range 16 {
		if r := Phys(GP, n); r != RSP {
			fmt.Fprintf(&s, "mov %v, [rip+now+%d]\n", r, r.offset())
		}
	}
	s.WriteString("ret\nsave:\n")
	for n := range 16 {
		if r := Phys(GP, n); r != RSP {
			fmt.Fprintf(&s, "mov [rip+now+%d], %v\n", r.offset(), r)
		}
	}
	s.WriteString("pushfq\npop qword ptr [rip+now]\n")
	for n := 1; n < 8; n++ {
		fmt.Fprintf(&s, "kmovq [rip+now+%d], k%d\n", k(n).offset(), n)
	}
	for n := range 32 {
		fmt.Fprintf(&s, "vmovups [rip+now+%d], zmm%d\n", v(n).offset(), n)
	}
	s.WriteString("ret\nemit:\nlea rax, [rip+now]\nmov rbx, [rip+end]\nmov rcx, [rax]\nmov [rbx], rcx\nvmovups zmm0, [rax+rdi]\nvmovups [rbx+8], zmm0\nadd qword ptr [rip+end], 72\nret\n")
	return s.String()
}

// run is one execution: what Dst and the flags are after it.
type run struct{ flags, dst []byte }

// otherFlags are two sets of flags, between which and none every condition changes: all (carry, parity, adjust, zero,
// sign, overflow), and all but overflow and adjust.
var otherFlags = [2]int{allFlags, 0x0C5}

const allFlags = 0x8D5

// execute runs instructions four times: as the image says, with another Dst, with other flags, and with both.
func execute(t *testing.T, insts []Inst) [][4]run {
	t.Helper()
	var s strings.Builder
	s.WriteString(harness() + "main:\npush rbx\npush rbp\npush r12\npush r13\npush r14\npush r15\nlea rax, [rip+out]\nmov [rip+end], rax\n")
	for n := range insts {
		i := &insts[n]
		for _, way := range [4][2]int{{0, 0x202}, {i.Dst.offset(), 0x202}, {0, 0x202 | otherFlags[n%2]}, {i.Dst.offset(), 0x202 | otherFlags[n%2]}} {
			fmt.Fprintf(&s, "mov edi, %d\nmov esi, %d\ncall load\n%v\ncall save\nmov edi, %d\ncall emit\n", way[0], way[1], i, i.Dst.offset())
		}
	}
	fmt.Fprintf(&s, "mov eax, 1\nmov edi, 1\nlea rsi, [rip+out]\nmov rdx, %d\n3: syscall\nadd rsi, rax\nsub rdx, rax\nmov eax, 1\njg 3b\n", 4*72*len(insts))
	s.WriteString("xor eax, eax\npop r15\npop r14\npop r13\npop r12\npop rbp\npop rbx\nret\n.data\n.balign 64\nimage:\n")
	random := rand.New(rand.NewPCG(15, 16))
	for n := range stateSize / 4 {
		word := random.Uint32()
		if n*4 >= stateVec && n%3 > 0 { // numbers of common size, so that arithmetic has results
			word = 0x3F000000 + word>>8
		}
		if n*4 >= stateMask && n*4 < stateVec { // half of the masks have a lane 0
			word = word&^1 | uint32(n/16)&1
		}
		fmt.Fprintf(&s, ".long %d\n", word)
	}
	fmt.Fprintf(&s, ".bss\n.balign 64\nnow: .zero %d\nend: .zero 8\nout: .zero %d\n.section .note.GNU-stack\n", stateSize+64, 4*72*len(insts))
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "a.s"), filepath.Join(dir, "a")
	if err := os.WriteFile(src, []byte(s.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "gcc", "-Wa,-msyntax=intel,-mnaked-reg", "-o", exe, src)
	out := command(t, exe)
	if len(out) != 4*72*len(insts) {
		t.Fatalf("the program wrote %d bytes, want %d", len(out), 4*72*len(insts))
	}
	runs := make([][4]run, len(insts))
	for n := range runs {
		for j := range runs[n] {
			runs[n][j] = run{out[:8], out[8:72]}
			out = out[72:]
		}
	}
	return runs
}

// width is how many bytes of the saved Dst belong to it.
func (i *Inst) width() int {
	switch {
	case i.Op >= SETO && i.Op <= SETG:
		return 1
	case i.Dst.Class() == Vec:
		return 64
	}
	return 8
}

// reads reports whether r is a source of i.
func (i *Inst) reads(r Reg) bool {
	return r == i.Src[0] || r == i.Src[1] || r == i.Src[2] || r == i.Mask
}

// TestEffects runs instructions on this processor and compares what they do to the flags, and what their result
// depends on, with what the table says.
func TestEffects(t *testing.T) {
	needBinutils(t)
	info, err := os.ReadFile("/proc/cpuinfo")
	if _, missing := exec.LookPath("gcc"); err != nil || missing != nil || !bytes.Contains(info, []byte("avx512dq")) || !bytes.Contains(info, []byte("avx512vl")) {
		t.Skip("it takes Linux, gcc and a processor with AVX-512 to see what instructions do")
	}
	m := newMaker(17, false)
	var insts []Inst
	for range 12 {
		for _, i := range m.all(1) {
			switch i.Op {
			case DIV, IDIV, RET:
				continue
			}
			if i.Op.Needs() != 0 || !i.Mem.None() || i.Dst == RSP || i.Src[0] == RSP || i.Src[1] == RSP || i.Dst == k(0) {
				continue
			}
			insts = append(insts, i)
		}
	}
	type key struct {
		op     Op
		merges bool
	}
	type effects struct {
		setsFlags, usesFlags, readsDst bool
		sample                         string
	}
	seen, said := map[key]effects{}, map[key]effects{}
	for n, runs := range execute(t, insts) {
		i := &insts[n]
		at := key{i.Op, i.Mask != 0 && !i.Zero && i.Dst.Class() == Vec}
		e := seen[at]
		before := [4]uint64{2: uint64(otherFlags[n%2]), 3: uint64(otherFlags[n%2])}
		for j, r := range runs {
			e.setsFlags = e.setsFlags || binary.LittleEndian.Uint64(r.flags)&allFlags != before[j]
		}
		if i.Dst != 0 {
			w := i.width()
			e.readsDst = e.readsDst || !i.reads(i.Dst) && (!bytes.Equal(runs[0].dst[:w], runs[1].dst[:w]) || !bytes.Equal(runs[2].dst[:w], runs[3].dst[:w]))
			e.usesFlags = e.usesFlags || !bytes.Equal(runs[0].dst[:w], runs[2].dst[:w])
		}
		e.sample = i.String()
		seen[at] = e
		said[at] = effects{i.Op.SetsFlags(), i.Op.UsesFlags(), i.ReadsDst(), e.sample}
	}
	for at, e := range seen {
		if want := said[at]; e != want {
			t.Errorf("%v: it does %+v, the table says %+v", at.op, e, want)
		}
	}
	t.Logf("%d instructions of %d kinds", len(insts), len(seen))
}
