package x64

import (
	"strings"
	"testing"

	"polygrad/render/regalloc"
	"polygrad/render/x64/asm"
)

func vec(n int) asm.Reg { return asm.Virt(asm.Vec, n) }
func gp(n int) asm.Reg  { return asm.Virt(asm.GP, n) }
func kreg(n int) asm.Reg {
	return asm.Virt(asm.Mask, n)
}

func src(rs ...asm.Reg) (a [3]asm.Reg) {
	copy(a[:], rs)
	return a
}

func at(base asm.Reg, disp int) asm.Mem { return asm.Mem{Base: base, Disp: int32(disp)} }

// body is what stands between the label and the jump back of the innermost loop that has label l.
func body(insts []asm.Inst, l asm.Label) []asm.Inst {
	from := -1
	for k := range insts {
		if insts[k].Op == asm.LABEL && insts[k].To == l {
			from = k
		}
		if from >= 0 && insts[k].Op == asm.JNE && insts[k].To == l {
			return insts[from+1 : k]
		}
	}
	return nil
}

// open and shut are the ends of a loop with the counter c.
func open(c asm.Reg, n int, l asm.Label) []asm.Inst {
	return []asm.Inst{{Op: asm.MOV, Size: 8, Dst: c, Imm: int64(n)}, {Op: asm.LOOP, Imm: int64(l)}, {Op: asm.LABEL, To: l}}
}

func shut(c asm.Reg, l asm.Label) []asm.Inst {
	return []asm.Inst{{Op: asm.SUB, Size: 8, Dst: c, Imm: 1}, {Op: asm.JNE, To: l}, {Op: asm.ENDLOOP, Imm: int64(l)}}
}

// matmul is a register tile: rows*cols accumulators over nested loops. With phis, each accumulator is a variable of the
// inner loop that a fresh register replaces.
func matmul(rows, cols int, phis bool) []asm.Inst {
	n := 0
	fresh := func() asm.Reg { n++; return vec(n - 1) }
	x := []asm.Inst{{Op: asm.MOVE, Size: 8, Dst: gp(0), Src: src(asm.RDI)}}
	for k := 1; k <= 3; k++ {
		x = append(x, asm.Inst{Op: asm.MOV, Size: 8, Dst: gp(k), Mem: at(gp(0), 8*k)})
	}
	x = append(x, open(gp(10), 2, 1)...)
	x = append(x, open(gp(11), 2, 2)...)
	acc := make([]asm.Reg, rows*cols)
	for k := range acc {
		zero := fresh()
		x = append(x, asm.Inst{Op: asm.VXORPS, Size: 64, Dst: zero, Src: src(zero, zero)})
		acc[k] = zero
		if phis {
			acc[k] = fresh()
			x = append(x, asm.Inst{Op: asm.MOVE, Size: 64, Dst: acc[k], Src: src(zero)})
		}
	}
	x = append(x, open(gp(12), 3, 3)...)
	b := make([]asm.Reg, cols)
	for k := range b {
		b[k] = fresh()
		x = append(x, asm.Inst{Op: asm.VMOVAPS, Size: 64, Dst: b[k], Mem: at(gp(2), 64*k)})
	}
	next := append([]asm.Reg(nil), acc...)
	for r := range rows {
		a := fresh()
		x = append(x, asm.Inst{Op: asm.VBROADCASTSS, Size: 64, Dst: a, Mem: at(gp(1), 4*r)})
		for c := range cols {
			k := r*cols + c
			if phis {
				next[k] = fresh()
				x = append(x, asm.Inst{Op: asm.MOVE, Size: 64, Dst: next[k], Src: src(acc[k])})
			}
			x = append(x, asm.Inst{Op: asm.VFMADD231PS, Size: 64, Dst: next[k], Src: src(a, b[c])})
		}
	}
	if phis {
		for k := range acc {
			x = append(x, asm.Inst{Op: asm.MOVE, Size: 64, Dst: acc[k], Src: src(next[k])})
		}
	}
	x = append(x, asm.Inst{Op: asm.ADD, Size: 8, Dst: gp(1), Imm: 56}, asm.Inst{Op: asm.ADD, Size: 8, Dst: gp(2), Imm: 128})
	x = append(x, shut(gp(12), 3)...)
	for k := range acc {
		x = append(x, asm.Inst{Op: asm.VMOVAPS, Size: 64, Src: src(acc[k]), Mem: at(gp(3), 64*k)})
	}
	x = append(x, asm.Inst{Op: asm.ADD, Size: 8, Dst: gp(3), Imm: 4096})
	x = append(x, shut(gp(11), 2)...)
	return append(x, shut(gp(10), 1)...)
}

func TestAllocAccumulators(t *testing.T) {
	for _, c := range []struct {
		name       string
		rows, cols int
		vec        int
	}{{"14x32", 14, 2, 31}, {"6x16 AVX2", 6, 2, 15}, {"full", 29, 1, 31}} {
		for _, phis := range []bool{false, true} {
			r := mustAllocate(t, &testCode{Insts: matmul(c.rows, c.cols, phis), Regs: limits(11, c.vec, 7)})
			if r.Frame != 0 {
				t.Errorf("%s, variables %v: the frame has %d bytes", c.name, phis, r.Frame)
			}
			for _, i := range body(r.Insts, 3) {
				if i.Op == asm.VMOVAPS && i.Mem.Base == 0 {
					t.Errorf("%s, variables %v: %s in the loop", c.name, phis, &i)
				}
			}
		}
	}
}

// Values that an inner loop does not use are spilled before the loop, not in it.
func TestAllocThroughInnerLoop(t *testing.T) {
	x := []asm.Inst{{Op: asm.MOVE, Size: 8, Dst: gp(0), Src: src(asm.RDI)}}
	for k := range 6 {
		x = append(x, asm.Inst{Op: asm.VMOVAPS, Size: 64, Dst: vec(k), Mem: at(gp(0), 64*k)})
	}
	x = append(x, open(gp(1), 2, 1)...)
	for k := range 6 {
		x = append(x, asm.Inst{Op: asm.VFMADD231PS, Size: 64, Dst: vec(k), Src: src(vec(k), vec(k))})
	}
	x = append(x, open(gp(2), 3, 2)...)
	for k := range 4 {
		x = append(x, asm.Inst{Op: asm.VMOVAPS, Size: 64, Dst: vec(10 + k), Mem: at(gp(0), 64*k)})
	}
	for k := range 4 {
		x = append(x, asm.Inst{Op: asm.VFMADD231PS, Size: 64, Dst: vec(0), Src: src(vec(10+k), vec(1))})
	}
	x = append(x, shut(gp(2), 2)...)
	x = append(x, shut(gp(1), 1)...)
	for k := range 6 {
		x = append(x, asm.Inst{Op: asm.VMOVAPS, Size: 64, Src: src(vec(k)), Mem: at(gp(0), 64*k)})
	}
	r := mustAllocate(t, &testCode{Insts: x, Regs: limits(11, 6, 7)})
	if r.Frame == 0 {
		t.Errorf("nothing went to the frame")
	}
	for _, i := range body(r.Insts, 2) {
		if i.Mem.Base == asm.RBP {
			t.Errorf("%s in the inner loop of%s", &i, listing(r.Insts))
		}
	}
}

// More values of each class than registers, all needed at the end.
func TestAllocPressure(t *testing.T) {
	x := []asm.Inst{{Op: asm.MOVE, Size: 8, Dst: gp(0), Src: src(asm.RDI)}}
	const n = 60
	for k := 1; k < n; k++ {
		x = append(x,
			asm.Inst{Op: asm.MOV, Size: 8, Dst: gp(k), Mem: at(gp(0), 64*k)},
			asm.Inst{Op: asm.VMOVAPS, Size: 64, Dst: vec(k), Mem: at(gp(0), 64*k)},
			asm.Inst{Op: asm.VCMPPS, Size: 64, Dst: kreg(k), Src: src(vec(k), vec(max(1, k-30)))})
	}
	x = append(x, open(gp(100), 2, 1)...)
	for k := 1; k < n; k++ {
		x = append(x,
			asm.Inst{Op: asm.ADD, Size: 8, Dst: gp(k), Src: src(gp(n - k))},
			asm.Inst{Op: asm.VADDPS, Size: 64, Dst: vec(k), Src: src(vec(k), vec(n-k)), Mask: kreg(n - k)},
			asm.Inst{Op: asm.KANDW, Size: 8, Dst: kreg(k), Src: src(kreg(k), kreg(max(1, k-1)))},
			asm.Inst{Op: asm.VMOVAPS, Size: 64, Src: src(vec(k)), Mem: asm.Mem{Base: gp(0), Index: gp(k), Scale: 1}, Mask: kreg(k)})
	}
	x = append(x, shut(gp(100), 1)...)
	for _, l := range [][5]regalloc.RegClass{limits(11, 31, 7), limits(3, 3, 2)} {
		c := &testCode{Insts: x, Regs: l, Reserved: 100}
		r := mustAllocate(t, c)
		for k := range r.Insts {
			if i := &r.Insts[k]; i.Mem.Base == asm.RBP && i.Mem.Disp < 128 {
				t.Errorf("%s uses the caller's part of the frame", i)
			}
		}
	}
}

// Several operands of one instruction are spilled, and its result, too.
func TestAllocOperandsInFrame(t *testing.T) {
	x := []asm.Inst{{Op: asm.MOVE, Size: 8, Dst: gp(0), Src: src(asm.RDI)}}
	for k := 1; k < 9; k++ {
		x = append(x, asm.Inst{Op: asm.MOV, Size: 8, Dst: gp(k), Mem: at(gp(0), 64*k)})
	}
	for k := range 9 {
		x = append(x, asm.Inst{Op: asm.VMOVAPS, Size: 64, Dst: vec(k), Mem: at(gp(0), 64*k)})
	}
	for k := range 9 {
		a, b := (k+3)%9, (k+6)%9
		x = append(x,
			asm.Inst{Op: asm.VFMADD231PS, Size: 64, Dst: vec(k), Src: src(vec(a), vec(b))},
			asm.Inst{Op: asm.MOV, Size: 8, Src: src(gp(k)), Mem: asm.Mem{Base: gp(a), Index: gp(b), Scale: 8}})
	}
	for k := range 9 {
		x = append(x, asm.Inst{Op: asm.VMOVAPS, Size: 64, Src: src(vec(k)), Mem: asm.Mem{Base: gp(0), Index: gp(k), Scale: 1}})
	}
	r := mustAllocate(t, &testCode{Insts: x, Regs: limits(3, 3, 2)})
	folded := 0
	for k := range r.Insts {
		if i := &r.Insts[k]; i.Op == asm.VFMADD231PS && i.Mem.Base == asm.RBP {
			folded++
		}
	}
	if folded == 0 {
		t.Errorf("no instruction reads the frame itself:%s", listing(r.Insts))
	}
}

// Constants are rematerialised, or read as memory operands, and never spilled.
func TestAllocConstants(t *testing.T) {
	x := []asm.Inst{{Op: asm.MOVE, Size: 8, Dst: gp(0), Src: src(asm.RDI)}, {Op: asm.VMOVAPS, Size: 64, Dst: vec(0), Mem: at(gp(0), 0)}}
	for k := 1; k < 9; k++ {
		x = append(x,
			asm.Inst{Op: asm.VBROADCASTSS, Size: 64, Dst: vec(k), Mem: asm.Mem{Pool: int32(k)}},
			asm.Inst{Op: asm.MOV, Size: 8, Dst: gp(k), Imm: int64(k)},
			asm.Inst{Op: asm.KXNORW, Size: 8, Dst: kreg(k), Src: src(kreg(k), kreg(k))})
	}
	x = append(x, open(gp(20), 2, 1)...)
	for k := 1; k < 9; k++ {
		x = append(x,
			asm.Inst{Op: asm.VADDPS, Size: 64, Dst: vec(0), Src: src(vec(0), vec(k))},
			asm.Inst{Op: asm.MOV, Size: 8, Src: src(gp(k)), Mem: at(gp(0), 64*k)},
			asm.Inst{Op: asm.VMOVAPS, Size: 64, Src: src(vec(0)), Mem: at(gp(0), 64*k), Mask: kreg(k)})
	}
	x = append(x, shut(gp(20), 1)...)
	r := mustAllocate(t, &testCode{Insts: x, Regs: limits(6, 4, 3)})
	direct := 0
	for k := range r.Insts {
		i := &r.Insts[k]
		if i.Mem.Base == asm.RBP {
			t.Errorf("%s", i)
		}
		if i.Op == asm.VADDPS && i.Bcast {
			direct++
		}
	}
	if direct == 0 {
		t.Errorf("no instruction reads a constant itself:%s", listing(r.Insts))
	}
}

// The loop's variables change places in each iteration, which takes a cycle of moves, with and without a register to spare.
func TestAllocExchange(t *testing.T) {
	for _, spare := range []bool{true, false} {
		x := []asm.Inst{{Op: asm.MOVE, Size: 8, Dst: gp(0), Src: src(asm.RDI)}}
		for k := range 3 {
			x = append(x, asm.Inst{Op: asm.VMOVAPS, Size: 64, Dst: vec(k), Mem: at(gp(0), 64*k)},
				asm.Inst{Op: asm.MOV, Size: 8, Dst: gp(2 + k), Imm: int64(5 + k)},
				asm.Inst{Op: asm.VCMPPS, Size: 64, Dst: kreg(k), Src: src(vec(k), vec(k))})
		}
		x = append(x, open(gp(1), 4, 1)...)
		for k := range 3 {
			x = append(x, asm.Inst{Op: asm.VMOVAPS, Size: 64, Src: src(vec(k)), Mem: at(gp(0), 640+64*k), Mask: kreg(k)},
				asm.Inst{Op: asm.MOV, Size: 8, Src: src(gp(2 + k)), Mem: at(gp(0), 1640+64*k)})
		}
		turn := func(f func(int) asm.Reg, size uint8) {
			x = append(x, asm.Inst{Op: asm.MOVE, Size: size, Dst: f(9), Src: src(f(0))}, asm.Inst{Op: asm.MOVE, Size: size, Dst: f(0), Src: src(f(1))},
				asm.Inst{Op: asm.MOVE, Size: size, Dst: f(1), Src: src(f(2))}, asm.Inst{Op: asm.MOVE, Size: size, Dst: f(2), Src: src(f(9))})
		}
		turn(vec, 64)
		turn(kreg, 8)
		turn(func(k int) asm.Reg { return gp(2 + k) }, 8)
		x = append(x, shut(gp(1), 1)...)
		l := limits(5, 3, 3)
		if spare {
			l = limits(6, 4, 4)
		}
		r := mustAllocate(t, &testCode{Insts: x, Regs: l})
		if spare != (r.Frame == 0) {
			t.Errorf("with a register to spare %v the frame has %d bytes", spare, r.Frame)
		}
	}
}

// Without VEX the destination is the first source.
func TestAllocLegacy(t *testing.T) {
	x := []asm.Inst{{Op: asm.MOVE, Size: 8, Dst: gp(0), Src: src(asm.RDI)}}
	for k := range 4 {
		x = append(x, asm.Inst{Op: asm.VMOVAPS, Size: 16, Dst: vec(k), Mem: at(gp(0), 16*k)})
	}
	x = append(x,
		asm.Inst{Op: asm.VSUBPS, Size: 16, Dst: vec(4), Src: src(vec(0), vec(1))}, // both live on
		asm.Inst{Op: asm.VSUBPS, Size: 16, Dst: vec(1), Src: src(vec(0), vec(1))}, // the second is the destination
		asm.Inst{Op: asm.VADDPS, Size: 16, Dst: vec(2), Src: src(vec(3), vec(2))}, // the same, but they commute
		asm.Inst{Op: asm.VPSLLD, Size: 16, Dst: vec(5), Src: src(vec(2)), Imm: 3},
		asm.Inst{Op: asm.VADDPS, Size: 16, Dst: vec(6), Src: src(vec(3)), Mem: at(gp(0), 32)})
	for k := range 7 {
		x = append(x, asm.Inst{Op: asm.VMOVAPS, Size: 16, Src: src(vec(k)), Mem: at(gp(0), 1024+16*k)})
	}
	x = append(x,
		asm.Inst{Op: asm.VMOVSS, Size: 16, Dst: vec(3), Src: src(vec(4), vec(3))}, // which has no form with memory
		asm.Inst{Op: asm.VMOVAPS, Size: 16, Src: src(vec(3)), Mem: at(gp(0), 2048)},
		asm.Inst{Op: asm.VMOVAPS, Size: 16, Src: src(vec(4)), Mem: at(gp(0), 2064)})
	for _, n := range []int{2, 3, 16} {
		mustAllocate(t, &testCode{Insts: x, Regs: limits(5, n, 0), Encodings: asm.Legacy})
	}
}

func TestAllocErrors(t *testing.T) {
	jump := func(is ...asm.Inst) []asm.Inst { return is }
	for _, c := range []struct {
		insts []asm.Inst
		want  string
	}{
		{jump(asm.Inst{Op: asm.VFMADD231PS, Size: 64, Dst: vec(0), Src: src(vec(1), vec(2))}), "more registers than the 2"},
		{jump(asm.Inst{Op: asm.TILEZERO, Dst: asm.Virt(asm.Tile, 0)}), "more registers than the 0"},
		{jump(asm.Inst{Op: asm.JNE, To: 1}), "label 1 is nowhere"},
		{jump(asm.Inst{Op: asm.LABEL, To: 1}, asm.Inst{Op: asm.JNE, To: 1}), "jump back"},
		{jump(asm.Inst{Op: asm.LOOP}, asm.Inst{Op: asm.LABEL, To: 1}), "the loop has no end"},
		{jump(asm.Inst{Op: asm.ENDLOOP}), "no loop is open"},
		{jump(asm.Inst{Op: asm.JB, To: 1}, asm.Inst{Op: asm.JB, To: 2}, asm.Inst{Op: asm.LABEL, To: 1}, asm.Inst{Op: asm.LABEL, To: 2}), "nested"},
		{jump(asm.Inst{Op: asm.JB, To: 1}, asm.Inst{Op: asm.LOOP}, asm.Inst{Op: asm.LABEL, To: 2}, asm.Inst{Op: asm.LABEL, To: 1}, asm.Inst{Op: asm.JNE, To: 2}, asm.Inst{Op: asm.ENDLOOP}), "stay in its loop"},
	} {
		if _, err := allocate((&testCode{Insts: c.insts, Regs: limits(11, 2, 7)}).code()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, not an error with %q, for%s", err, c.want, listing(c.insts))
		}
	}
}

func BenchmarkAlloc(b *testing.B) {
	for _, c := range []struct {
		name  string
		insts []asm.Inst
		l     [5]regalloc.RegClass
	}{
		{"matmul", matmul(14, 2, true), limits(11, 31, 7)},
		{"random2000", randomProgram(3, 2000, false), limits(11, 31, 7)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			code := (&testCode{Insts: c.insts, Regs: c.l}).code()
			code.Check = false
			for b.Loop() {
				if _, err := allocate(code); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(c.insts)), "insts")
		})
	}
}

// Loads that alternate with their uses need few registers, all loads before all uses need many.
func TestAllocOrder(t *testing.T) {
	x := []asm.Inst{{Op: asm.MOVE, Size: 8, Dst: gp(0), Src: src(asm.RDI)}}
	for k := range 6 {
		x = append(x, asm.Inst{Op: asm.VXORPS, Size: 32, Dst: vec(k), Src: src(vec(k), vec(k))})
	}
	x = append(x, open(gp(1), 2, 1)...)
	for k := range 6 {
		x = append(x, asm.Inst{Op: asm.VMOVUPS, Size: 32, Dst: vec(10 + k), Mem: at(gp(0), 32*k)},
			asm.Inst{Op: asm.VMAXPS, Size: 32, Dst: vec(20 + k), Src: src(vec(10+k), vec(k))})
	}
	for k := range 6 {
		x = append(x, asm.Inst{Op: asm.VCMPPS, Size: 32, Dst: vec(30 + k), Src: src(vec(10+k), vec(10+k)), Imm: 4},
			asm.Inst{Op: asm.VBLENDVPS, Size: 32, Dst: vec(k), Src: src(vec(20+k), vec(10+k), vec(30+k))})
	}
	x = append(x, shut(gp(1), 1)...)
	for k := range 6 {
		x = append(x, asm.Inst{Op: asm.VMOVUPS, Size: 32, Src: src(vec(k)), Mem: at(gp(0), 32*k)})
	}
	r := mustAllocate(t, &testCode{Insts: x, Regs: limits(4, 9, 0), Encodings: asm.VEX})
	if r.Frame != 0 {
		t.Errorf("the frame has %d bytes:%s", r.Frame, listing(r.Insts))
	}
}
