package asm

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// compareProgram has the assembler make code of the text of instructions and constants and expects the same bytes from
// a Coder, or the same disassembly.
func compareProgram(t *testing.T, insts []Inst, constants [][]byte, sse bool) {
	t.Helper()
	needBinutils(t)
	c := Coder{SSE: sse}
	var text strings.Builder
	for n, b := range constants {
		if got := c.Pool(b, len(b)); got != int32(n+1) {
			t.Fatalf("constant %d has the number %d", n+1, got)
		}
	}
	for n := range insts {
		if err := c.Emit(&insts[n]); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&text, insts[n].text(sse))
	}
	if len(constants) > 0 {
		fmt.Fprintf(&text, ".balign %d, 0xCC\n", codeAlign)
	}
	for n, b := range constants {
		fmt.Fprintf(&text, ".balign %d, 0\nC%d:\n", len(b), n+1)
		for _, x := range b {
			fmt.Fprintf(&text, ".byte %d\n", x)
		}
	}
	ours, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	theirs := assemble(t, text.String())
	if bytes.Equal(ours, theirs) {
		return
	}
	a, b := disassemble(t, ours), disassemble(t, theirs)
	for n := range a {
		if n >= len(b) || a[n].at != b[n].at || a[n].text != b[n].text {
			t.Fatalf("instruction %d:\n\tours   %x: % x  %s\n\ttheirs %x: % x  %s", n, a[n].at, a[n].bytes, a[n].text, b[n].at, b[n].bytes, b[n].text)
		}
	}
	if len(ours) != len(theirs) {
		t.Fatalf("%d bytes, the assembler has %d", len(ours), len(theirs))
	}
}

// poolInsts are all instructions that can have a constant for their memory operand.
func poolInsts(constants int, sse bool) []Inst {
	m := newMaker(5, sse)
	var out []Inst
	for _, i := range m.all(1) {
		if i.Mem.None() || i.Op.has(vsib) || i.Dst.Class() == Tile || i.Op == TILESTORED {
			continue
		}
		i.Mem = Mem{Pool: int32(1 + m.IntN(constants)), Disp: int32(m.pick(0, 3))}
		out = append(out, i)
	}
	return out
}

func TestConstants(t *testing.T) {
	var constants [][]byte
	for n := range 40 {
		b := make([]byte, 4<<(n%5))
		for j := range b {
			b[j] = byte(n*j + n)
		}
		constants = append(constants, b)
	}
	for _, sse := range []bool{false, true} {
		compareProgram(t, poolInsts(len(constants), sse), constants, sse)
	}
}

func TestEqualConstantsAreOne(t *testing.T) {
	var c Coder
	a, b := c.Pool([]byte{1, 2, 3, 4}, 4), c.Pool([]byte{5, 6, 7, 8}, 4)
	if again := c.Pool([]byte{1, 2, 3, 4}, 4); again != a || a == b {
		t.Errorf("constants %d, %d and the first again %d", a, b, again)
	}
	if wider := c.Pool([]byte{5, 6, 7, 8}, 64); wider == b || c.consts[wider-1].at%64 != 0 {
		t.Errorf("a constant at a multiple of 64 is number %d at %d", wider, c.consts[wider-1].at)
	}
}

// jumps are programs whose jumps reach near and far, forward and back, over padding and over each other.
func TestJumps(t *testing.T) {
	m := newMaker(7, false)
	for program := range 20 {
		labels := 30
		var insts []Inst
		for l := 1; l <= labels; l++ {
			for range m.IntN(60) {
				if i := m.IntN(100); i < 35 {
					op := JO + Op(m.IntN(17))
					insts = append(insts, Inst{Op: op, To: Label(1 + m.IntN(labels))})
				} else {
					insts = append(insts, Inst{Op: ADD, Size: 8, Dst: RBX, Imm: int64(m.pick(1, 1000))})
				}
			}
			if program%2 == 1 && m.IntN(4) == 0 {
				insts = append(insts, Inst{Op: ALIGN, Imm: 1 << m.IntN(7)})
			}
			insts = append(insts, Inst{Op: LABEL, To: Label(l)})
		}
		compareJumps(t, insts)
	}
}

// compareJumps compares programs with jumps. If there is padding, only the targets of jumps are compared: the assembler pads with other
// no-operations, and it may have a short jump over padding where the Coder has a long one.
func compareJumps(t *testing.T, insts []Inst) {
	t.Helper()
	padded := false
	for _, i := range insts {
		padded = padded || i.Op == ALIGN
	}
	if !padded {
		compareProgram(t, insts, nil, false)
		return
	}
	needBinutils(t)
	var c Coder
	for n := range insts {
		if err := c.Emit(&insts[n]); err != nil {
			t.Fatal(err)
		}
	}
	code, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	at := map[Label]string{}
	var lines []line
	for _, l := range disassemble(t, code) {
		if !strings.Contains(l.text, "nop") && !strings.HasPrefix(l.text, "xchg") {
			lines = append(lines, l)
		}
	}
	n := 0
	for _, i := range insts {
		switch i.Op {
		case LABEL, ALIGN:
		default:
			n++
		}
	}
	if len(lines) != n {
		t.Fatalf("%d instructions, objdump finds %d", n, len(lines))
	}
	// A label's place is that of the next instruction, less the padding between.
	for l := 1; l < len(c.labels); l++ {
		at[Label(l)] = fmt.Sprintf("%#x", c.labels[l].at+c.shift(c.labels[l].gaps))
	}
	n = 0
	for _, i := range insts {
		switch {
		case i.Op == LABEL, i.Op == ALIGN:
			continue
		case i.Op.Branch():
			if want := i.Op.String() + " " + at[i.To]; lines[n].text != want {
				t.Fatalf("%s: want %s", lines[n].text, want)
			}
		}
		n++
	}
	for g := range c.gaps {
		if a := c.gaps[g].align; a > 0 && (c.gaps[g].start+c.gaps[g].size)%a != 0 {
			t.Errorf("padding to %d ends at %#x", a, c.gaps[g].start+c.gaps[g].size)
		}
	}
}

func TestCopies(t *testing.T) {
	for _, test := range []struct {
		copy Inst
		want string
	}{
		{Inst{Op: MOVE, Size: 8, Dst: RBX, Src: [3]Reg{R9}}, "\x49\x8B\xD9"},
		{Inst{Op: MOVE, Size: 32, Dst: Phys(Vec, 1), Src: [3]Reg{Phys(Vec, 2)}}, "\xC5\xFC\x28\xCA"},
		{Inst{Op: MOVE, Size: 8, Dst: Phys(Mask, 1), Src: [3]Reg{Phys(Mask, 2)}}, "\xC4\xE1\xF8\x90\xCA"},
	} {
		var c Coder
		if err := c.Emit(&test.copy); err != nil {
			t.Fatal(err)
		}
		if code, err := c.Finish(); err != nil || string(code) != test.want {
			t.Errorf("%v: % x, %v; want % x", &test.copy, code, err, test.want)
		}
	}
}
