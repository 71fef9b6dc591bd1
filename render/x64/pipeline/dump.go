package pipeline

import (
	"fmt"
	"io"
	"strings"

	"polygrad/render/x64/asm"
)

// Dump writes a listing of the code: each block after a line with its time, indented by its loop depth.
func Dump(w io.Writer, name string, insts []asm.Inst) {
	var s strings.Builder
	blocks := Blocks(insts)
	fmt.Fprintf(&s, "; %s: %d instructions\n", name, len(insts))
	for _, b := range blocks {
		in := strings.Repeat("  ", b.Depth)
		fmt.Fprintf(&s, "%s; %.1f cycles (%s)", in, b.Cycles, b.Bound)
		if b.Chain > 0 {
			fmt.Fprintf(&s, ", %.1f an iteration", max(b.Cycles, b.Chain))
			if b.Chain > b.Cycles {
				fmt.Fprintf(&s, " for a chain")
			}
		}
		s.WriteByte('\n')
		for k := b.From; k < b.To; k++ {
			inst := &insts[k]
			margin := "    "
			if inst.Op == asm.LABEL {
				margin = ""
			}
			s.WriteString(in + margin + inst.String() + "\n")
		}
	}
	io.WriteString(w, s.String())
}
