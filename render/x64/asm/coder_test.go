package asm

import (
	"strings"
	"testing"
)

func v(n int) Reg { return Phys(Vec, n) }
func k(n int) Reg { return Phys(Mask, n) }

// TestRefusals emits what cannot be encoded: the error says which instruction and why, and the code stays as it was.
func TestRefusals(t *testing.T) {
	at := Mem{Base: RDI}
	for _, test := range []struct {
		inst Inst
		sse  bool
		want string
	}{
		{Inst{}, false, "operation 0"},
		{Inst{Op: numOps}, false, "there is none"},
		{Inst{Op: VADDPS, Size: 16, Dst: v(1), Src: [3]Reg{v(2)}}, false, "vaddps xmm1, xmm2: vaddps has no form"},
		{Inst{Op: VADDPS, Size: 16, Dst: v(1), Src: [3]Reg{v(2), RAX}}, false, "no form"},
		{Inst{Op: VADDPS, Size: 16, Dst: Virt(Vec, 1), Src: [3]Reg{v(2), v(3)}}, false, "%v1 is not a register"},
		{Inst{Op: VADDPS, Size: 8, Dst: v(1), Src: [3]Reg{v(2), v(3)}}, false, "Size is 16, 32 or 64"},
		{Inst{Op: MOV, Size: 16, Dst: RAX, Src: [3]Reg{RBX}}, false, "Size is 4 or 8"},
		{Inst{Op: MOV, Size: 8, Dst: Phys(GP, 16), Src: [3]Reg{RBX}}, false, "not a register"},
		{Inst{Op: KANDW, Dst: Phys(Mask, 9), Src: [3]Reg{k(1), k(2)}}, false, "not a register"},
		{Inst{Op: VADDPS, Size: 16, Dst: v(1), Src: [3]Reg{v(2), v(3)}, Mask: k(0)}, false, "k1 to k7"},
		{Inst{Op: VADDPS, Size: 16, Dst: v(1), Src: [3]Reg{v(2), v(3)}, Zero: true}, false, "Zero goes with a Mask"},
		{Inst{Op: VADDPS, Size: 16, Dst: v(1), Src: [3]Reg{v(2), v(3)}, Bcast: true}, false, "no broadcast"},
		{Inst{Op: VPADDB, Size: 16, Dst: v(1), Src: [3]Reg{v(2)}, Mem: at, Bcast: true}, false, "no broadcast"},
		{Inst{Op: VPXOR, Size: 32, Dst: v(16), Src: [3]Reg{v(2), v(3)}}, false, "needs AVX-512"},
		{Inst{Op: VPXOR, Size: 64, Dst: v(1), Src: [3]Reg{v(2), v(3)}}, false, "needs AVX-512"},
		{Inst{Op: VPERMQ, Size: 16, Dst: v(1), Src: [3]Reg{v(2)}}, false, "32 at least"},
		{Inst{Op: VEXTRACTI64X4, Size: 32, Dst: v(1), Src: [3]Reg{v(2)}}, false, "Size is 64"},
		{Inst{Op: VGATHERDPS, Size: 64, Dst: v(1), Mem: Mem{Base: RAX, Index: v(2), Scale: 4}}, false, "needs a Mask"},
		{Inst{Op: VGATHERDPS, Size: 32, Dst: v(1), Mask: k(1), Mem: Mem{Base: RAX, Index: v(1), Scale: 4}}, false, "different registers"},
		{Inst{Op: VGATHERDPS, Size: 64, Dst: v(1), Mask: k(1), Mem: at}, false, "not an address"},
		{Inst{Op: TDPBF16PS, Dst: Phys(Tile, 0), Src: [3]Reg{Phys(Tile, 1), Phys(Tile, 1)}}, false, "three tiles"},
		{Inst{Op: MOV, Size: 8, Dst: RAX, Mem: Mem{Base: RAX, Index: RSP, Scale: 1}}, false, "not an address"},
		{Inst{Op: MOV, Size: 8, Dst: RAX, Mem: Mem{Base: RAX, Index: RBX, Scale: 3}}, false, "not an address"},
		{Inst{Op: MOV, Size: 8, Dst: RAX, Mem: Mem{Base: v(1)}}, false, "not an address"},
		{Inst{Op: MOV, Size: 8, Dst: RAX, Mem: Mem{Pool: 1}}, false, "a constant"},
		{Inst{Op: SHL, Size: 8, Dst: RAX, Src: [3]Reg{RBX}}, false, "in rcx"},
		{Inst{Op: ADD, Size: 8, Dst: RAX, Imm: 1 << 31}, false, "want 32 bits"},
		{Inst{Op: MOV, Size: 4, Dst: RAX, Imm: 1 << 32}, false, "want 32 bits"},
		{Inst{Op: VPSHUFD, Size: 16, Dst: v(1), Src: [3]Reg{v(2)}, Imm: 256}, false, "want 8 bits"},
		{Inst{Op: JMP}, false, "no label"},
		{Inst{Op: LABEL, To: -1}, false, "label -1"},
		{Inst{Op: ALIGN, Imm: 3}, false, "power of two"},
		{Inst{Op: MOVE, Size: 8, Dst: Phys(Tile, 1), Src: [3]Reg{Phys(Tile, 2)}}, false, "copies"},
		{Inst{Op: VADDPS, Size: 16, Dst: v(1), Src: [3]Reg{v(2), v(3)}}, true, "one register"},
		{Inst{Op: VADDPS, Size: 32, Dst: v(1), Src: [3]Reg{v(1), v(3)}}, true, "Size is 16"},
		{Inst{Op: VPSLLD, Size: 16, Dst: v(1), Src: [3]Reg{v(2)}, Imm: 3}, true, "one register"},
		{Inst{Op: VFMADD231PS, Size: 16, Dst: v(1), Src: [3]Reg{v(1), v(3)}}, true, "without VEX"},
		{Inst{Op: VBLENDVPS, Size: 16, Dst: v(1), Src: [3]Reg{v(1), v(2), v(3)}}, true, "xmm0"},
		{Inst{Op: SHLX, Size: 8, Dst: RAX, Src: [3]Reg{RBX, RDX}}, true, "without VEX"},
		{Inst{Op: KMOVB, Dst: k(1), Src: [3]Reg{k(2)}}, true, "without VEX"},
	} {
		c := Coder{SSE: test.sse}
		if err := c.Emit(&test.inst); err == nil || !strings.Contains(err.Error(), test.want) || len(c.code) != 0 {
			t.Errorf("%v: error %v with %d bytes of code, want %q", &test.inst, err, len(c.code), test.want)
		}
	}
}

func TestConstantsHaveEnds(t *testing.T) {
	for _, disp := range []int32{-1, 4} {
		var c Coder
		n := c.Pool([]byte{1, 2, 3, 4}, 4)
		err := c.Emit(&Inst{Op: VMOVSS, Dst: v(1), Mem: Mem{Pool: n, Disp: disp}})
		if err == nil || !strings.Contains(err.Error(), "has 4 bytes") || len(c.code) != 0 {
			t.Errorf("byte %d of a constant of 4: %v with %d bytes of code", disp, err, len(c.code))
		}
	}
}

func TestLabels(t *testing.T) {
	var c Coder
	for _, i := range []Inst{{Op: JMP, To: 7}, {Op: LABEL, To: 3}} {
		if err := c.Emit(&i); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Emit(&Inst{Op: LABEL, To: 3}); err == nil || !strings.Contains(err.Error(), "second time") {
		t.Errorf("a label set twice: %v", err)
	}
	if _, err := c.Finish(); err == nil || !strings.Contains(err.Error(), "label 7") {
		t.Errorf("a jump to nowhere: %v", err)
	}
	c.Reset()
	if code, err := c.Finish(); err != nil || len(code) != 0 {
		t.Errorf("after Reset: % x, %v", code, err)
	}
}

// kernel is a list of instructions as a kernel has them.
func kernel(n int) []Inst {
	m := newMaker(9, false)
	var out []Inst
	for len(out) < n {
		out = append(out,
			Inst{Op: VBROADCASTSS, Size: 64, Dst: v(m.IntN(32)), Mem: Mem{Base: RSI, Disp: int32(4 * m.IntN(200))}},
			Inst{Op: VFMADD231PS, Size: 64, Dst: v(m.IntN(32)), Src: [3]Reg{v(m.IntN(32)), v(m.IntN(32))}},
			Inst{Op: VMULPS, Size: 64, Dst: v(m.IntN(32)), Src: [3]Reg{v(m.IntN(32))}, Mem: Mem{Base: RDI, Index: RAX, Scale: 4, Disp: 64}},
			Inst{Op: VMOVUPS, Size: 32, Src: [3]Reg{v(m.IntN(16))}, Mem: Mem{Base: R8, Disp: int32(32 * m.IntN(100))}},
			Inst{Op: ADD, Size: 8, Dst: R9, Imm: 64},
			Inst{Op: LEA, Size: 8, Dst: R10, Mem: Mem{Base: R9, Index: RBX, Scale: 8}},
			Inst{Op: LABEL, To: Label(1 + len(out)/8)},
			Inst{Op: JL, To: Label(1 + m.IntN(1+len(out)/8))})
	}
	return out
}

func BenchmarkEmit(b *testing.B) {
	insts := kernel(2000)
	var c Coder
	b.ReportAllocs()
	for b.Loop() {
		c.Reset()
		for n := range insts {
			if err := c.Emit(&insts[n]); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := c.Finish(); err != nil {
			b.Fatal(err)
		}
	}
}
