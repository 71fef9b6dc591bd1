package asm

import (
	"fmt"
	"strings"
	"testing"
)

// The processors that the assembler is told of.
const (
	archSSE    = "generic64+sse4.2+popcnt+prfchw"
	archAVX2   = archSSE + "+avx2+fma+f16c+bmi+bmi2+lzcnt"
	archAVX512 = archAVX2 + "+avx512f+avx512bw+avx512dq+avx512vl"
)

var extensions = map[Extension]string{
	VNNI: "avx512_vnni", BF16: "avx512_bf16", FP16: "avx512_fp16",
	AMX: "amx_tile", AMXBF16: "amx_bf16", AMXINT8: "amx_int8",
}

// accepted assembles what c accepts of instructions that keep chooses, for a processor.
func accepted(t *testing.T, c Coder, arch string, keep func(Op) bool) (lines int, fails string) {
	t.Helper()
	m := newMaker(13, c.SSE)
	var text strings.Builder
	for _, i := range m.all(1) {
		if !keep(i.Op) || c.VEX && i.Op.Needs() != 0 || c.Emit(&i) != nil {
			continue
		}
		lines++
		fmt.Fprintln(&text, i.text(c.SSE))
	}
	return lines, tryAssemble(t, text.String(), "-march="+arch)
}

// TestLevels checks that code for a level has no instruction that its processors lack, by an assembler that is told of
// the level, and that each extension is what makes its instructions known.
func TestLevels(t *testing.T) {
	needBinutils(t)
	plain := func(o Op) bool { return o.Needs() == 0 }
	for _, level := range []struct {
		coder Coder
		arch  string
	}{{Coder{SSE: true}, archSSE}, {Coder{VEX: true}, archAVX2}, {Coder{}, archAVX512}} {
		if lines, fails := accepted(t, level.coder, level.arch, plain); lines == 0 || fails != "" {
			t.Errorf("%s, %d instructions: %s", level.arch, lines, fails)
		}
	}
	for x, name := range extensions {
		keep := func(o Op) bool { return o.Needs() == x }
		if lines, fails := accepted(t, Coder{}, archAVX512+"+"+name, keep); lines == 0 || fails != "" {
			t.Errorf("%s, %d instructions: %s", name, lines, fails)
		}
		if lines, fails := accepted(t, Coder{}, archAVX512, keep); strings.Count(fails, "Error:") != lines {
			t.Errorf("%d instructions of %s, without it the assembler refuses %d", lines, name, strings.Count(fails, "Error:"))
		}
	}
}
