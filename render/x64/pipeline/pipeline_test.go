package pipeline

import (
	"strings"
	"testing"

	"polygrad/render/x64/asm"
)

func v(n int) asm.Reg { return asm.Phys(asm.Vec, n) }

func src(rs ...asm.Reg) (a [3]asm.Reg) {
	copy(a[:], rs)
	return a
}

// loop is a loop over the body with a counter.
func loop(body ...asm.Inst) []asm.Inst {
	x := append([]asm.Inst{{Op: asm.LABEL, To: 1}}, body...)
	return append(x, asm.Inst{Op: asm.SUB, Size: 8, Dst: asm.RBX, Imm: 1}, asm.Inst{Op: asm.JNE, To: 1})
}

// tile is the inner loop of a matrix product with rows*cols accumulators.
func tile(rows, cols int, size uint8) []asm.Inst {
	var x []asm.Inst
	for c := range cols {
		x = append(x, asm.Inst{Op: asm.VMOVUPS, Size: size, Dst: v(c), Mem: asm.Mem{Base: asm.RSI, Disp: int32(c) * int32(size)}})
	}
	for r := range rows {
		x = append(x, asm.Inst{Op: asm.VBROADCASTSS, Size: size, Dst: v(2), Mem: asm.Mem{Base: asm.RDI, Disp: int32(4 * r)}})
		for c := range cols {
			x = append(x, asm.Inst{Op: asm.VFMADD231PS, Size: size, Dst: v(3 + r*cols + c), Src: src(v(2), v(c))})
		}
	}
	return loop(x...)
}

func TestBlocks(t *testing.T) {
	at := asm.Mem{Base: asm.RSI}
	for _, c := range []struct {
		name   string
		insts  []asm.Inst
		cycles float64
		bound  string
		chain  float64
	}{
		{"14x32 tile", tile(14, 2, 64), 14, "ports 0 5", 4},
		{"6x16 tile of 256 bits", tile(6, 2, 32), 6, "ports 0 1", 4},
		{"one accumulator", loop(asm.Inst{Op: asm.VADDPS, Size: 32, Dst: v(0), Src: src(v(0)), Mem: at}), 2.0 / 3, "ports 0 1 6", 4},
		{"copies", loop(
			asm.Inst{Op: asm.VMOVUPS, Size: 64, Dst: v(0), Mem: at},
			asm.Inst{Op: asm.VMOVUPS, Size: 64, Dst: v(1), Mem: at},
			asm.Inst{Op: asm.VMOVUPS, Size: 64, Src: src(v(0)), Mem: at},
			asm.Inst{Op: asm.VMOVUPS, Size: 64, Src: src(v(1)), Mem: at}), 2, "stores", 1},
		{"division", loop(asm.Inst{Op: asm.VDIVPS, Size: 64, Dst: v(0), Src: src(v(1), v(2))}), 10, "divider", 1},
		{"shuffles", loop(
			asm.Inst{Op: asm.VPERMPS, Size: 64, Dst: v(0), Src: src(v(1), v(2))},
			asm.Inst{Op: asm.VSHUFPS, Size: 64, Dst: v(3), Src: src(v(1), v(2))}), 2, "ports 5", 1},
		{"wide shifts", loop(
			asm.Inst{Op: asm.VPSLLVD, Size: 64, Dst: v(0), Src: src(v(1), v(2))},
			asm.Inst{Op: asm.VPMAXSD, Size: 64, Dst: v(3), Src: src(v(1), v(2))}), 2, "ports 0", 1},
		{"comparisons", loop(
			asm.Inst{Op: asm.VCMPPS, Size: 32, Dst: asm.Phys(asm.Mask, 1), Src: src(v(1), v(2))},
			asm.Inst{Op: asm.VCMPPS, Size: 32, Dst: v(3), Src: src(v(1), v(2))}), 1, "ports 5", 1},
		{"through the frame", loop(
			asm.Inst{Op: asm.VADDPS, Size: 32, Dst: v(0), Src: src(v(1)), Mem: asm.Mem{Base: asm.RBP}},
			asm.Inst{Op: asm.VMOVAPS, Size: 32, Src: src(v(0)), Mem: asm.Mem{Base: asm.RBP}}), 1, "stores", 9},
		{"zero", loop(
			asm.Inst{Op: asm.VXORPS, Size: 32, Dst: v(0), Src: src(v(0), v(0))},
			asm.Inst{Op: asm.VADDPS, Size: 32, Dst: v(0), Src: src(v(0), v(1))}), 4.0 / 6, "issue", 1},
	} {
		b := Blocks(c.insts)
		if len(b) != 1 || b[0].Depth != 1 || b[0].To != len(c.insts) {
			t.Errorf("%s: blocks %+v", c.name, b)
			continue
		}
		if d := b[0].Cycles - c.cycles; d > 0.01 || d < -0.01 || b[0].Bound != c.bound || b[0].Chain != c.chain {
			t.Errorf("%s: %.2f cycles for %s, a chain of %.2f; want %.2f, %s, %.2f", c.name, b[0].Cycles, b[0].Bound, b[0].Chain, c.cycles, c.bound, c.chain)
		}
	}
}

func TestDump(t *testing.T) {
	x := append([]asm.Inst{{Op: asm.MOV, Size: 8, Dst: asm.RBX, Imm: 9}}, tile(1, 1, 64)...)
	x = append(x, asm.Inst{Op: asm.RET})
	var s strings.Builder
	Dump(&s, "f", x)
	for _, want := range []string{"; f: 8 instructions\n; 0.2 cycles (ports ", "\n  ; 1.0 cycles (", ", 4.0 an iteration for a chain\n  L1:\n", "\n      vfmadd231ps zmm3, zmm2, zmm0\n", "\n    ret\n"} {
		if !strings.Contains(s.String(), want) {
			t.Errorf("no %q in\n%s", want, s.String())
		}
	}
}

// Every operation has a line in the table.
func TestTable(t *testing.T) {
	seen := make([]bool, len(units))
	for _, c := range table {
		for op := c.from; op <= c.to; op++ {
			seen[op] = true
		}
	}
	for op := asm.LABEL; int(op) < len(units); op++ {
		if !seen[op] {
			t.Errorf("%s is missing", op)
		}
	}
	if next := asm.TDPBUUD + 1; !strings.HasPrefix(next.String(), "op") {
		t.Errorf("%s is behind the last operation of the table", next)
	}
}
