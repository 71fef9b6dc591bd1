package asm

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// slot is how far apart instructions are placed to be compared: none is longer.
const slot = 16

// needBinutils skips a test where there is no assembler to compare with.
func needBinutils(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"as", "objdump", "objcopy"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (scripts/require.sh gcc installs it): nothing to compare encodings with", tool)
		}
	}
}

func command(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		text := errs.String()
		if len(text) > 4000 {
			text = text[:4000] + " …"
		}
		t.Fatalf("%s %v: %v\n%s", name, args, err, text)
	}
	return out.Bytes()
}

// assemble is the machine code that the assembler of gcc makes of a text.
func assemble(t *testing.T, text string) []byte {
	t.Helper()
	dir := t.TempDir()
	src, obj, bin := filepath.Join(dir, "a.s"), filepath.Join(dir, "a.o"), filepath.Join(dir, "a.bin")
	if err := os.WriteFile(src, []byte(".text\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "as", "--64", "-msyntax=intel", "-mnaked-reg", "-o", obj, src)
	command(t, "objcopy", "-O", "binary", "-j", ".text", obj, bin)
	code, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// tryAssemble is what the assembler has to say against a text.
func tryAssemble(t *testing.T, text string, options ...string) string {
	t.Helper()
	dir := t.TempDir()
	src := filepath.Join(dir, "a.s")
	if err := os.WriteFile(src, []byte(".text\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--64", "-msyntax=intel", "-mnaked-reg", "-o", filepath.Join(dir, "a.o")}, options...)
	out, err := exec.Command("as", append(args, src)...).CombinedOutput()
	if err == nil {
		return ""
	}
	return string(out)
}

// line is one instruction as the disassembler shows it.
type line struct {
	at    int
	bytes []byte
	text  string
}

// disassemble is what objdump reads in code.
func disassemble(t *testing.T, code []byte) []line {
	t.Helper()
	file := filepath.Join(t.TempDir(), "code.bin")
	if err := os.WriteFile(file, code, 0o600); err != nil {
		t.Fatal(err)
	}
	var lines []line
	for _, s := range strings.Split(string(command(t, "objdump", "-D", "-z", "-w", "-b", "binary", "-m", "i386:x86-64", "-M", "intel", file)), "\n") {
		parts := strings.SplitN(s, "\t", 3)
		if len(parts) < 3 {
			continue
		}
		at, err := strconv.ParseInt(strings.Trim(parts[0], " :"), 16, 64)
		if err != nil {
			continue
		}
		raw, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(parts[1]), " ", ""))
		if err != nil {
			t.Fatalf("objdump: %q: %v", s, err)
		}
		text, _, _ := strings.Cut(parts[2], "#")
		lines = append(lines, line{int(at), raw, strings.Join(strings.Fields(text), " ")})
	}
	return lines
}

// bySlot is the instruction at the start of each slot.
func bySlot(lines []line) map[int]line {
	m := make(map[int]line, len(lines))
	for _, l := range lines {
		if l.at%slot == 0 {
			m[l.at/slot] = l
		}
	}
	return m
}

// compare encodes instructions by themselves and has the assembler encode their text. The bytes must be the same, or
// mean the same to the disassembler.
func compare(t *testing.T, insts []Inst, sse bool) {
	t.Helper()
	needBinutils(t)
	var text strings.Builder
	var ours []byte
	lengths := make([]int, len(insts))
	for n := range insts {
		c := Coder{SSE: sse}
		if err := c.Emit(&insts[n]); err != nil {
			t.Fatalf("%v %+v: %v", insts[n].text(sse), insts[n], err)
		}
		code, err := c.Finish()
		if err != nil {
			t.Fatal(err)
		}
		lengths[n] = len(code)
		ours = append(ours, code...)
		for len(ours)%slot != 0 {
			ours = append(ours, 0xCC)
		}
		fmt.Fprintf(&text, "%s\n.balign %d, 0xCC\n", insts[n].text(sse), slot)
	}
	theirs := assemble(t, text.String())
	if len(theirs) != len(ours) {
		t.Fatalf("%d instructions, the assembler made %d", len(insts), len(theirs)/slot)
	}
	var which []int
	var differ [2][]byte
	for n := range insts {
		a, b := ours[n*slot:(n+1)*slot], theirs[n*slot:(n+1)*slot]
		if !bytes.Equal(a, b) {
			which = append(which, n)
			differ[0], differ[1] = append(differ[0], a...), append(differ[1], b...)
		}
	}
	if len(which) == 0 {
		t.Logf("%d instructions, all of the same bytes", len(insts))
		return
	}
	a, b := bySlot(disassemble(t, differ[0])), bySlot(disassemble(t, differ[1]))
	bad := 0
	for at, n := range which {
		x, y := a[at], b[at]
		if x.text == y.text && len(x.bytes) == lengths[n] && !strings.Contains(x.text, "bad") {
			continue
		}
		if bad++; bad <= 40 {
			t.Errorf("%s (Size %d):\n\tours   % x  %s\n\ttheirs % x  %s", insts[n].text(sse), insts[n].Size, x.bytes, x.text, y.bytes, y.text)
		}
	}
	t.Logf("%d instructions, %d wrong, %d in other bytes of the same meaning", len(insts), bad, len(which)-bad)
}
