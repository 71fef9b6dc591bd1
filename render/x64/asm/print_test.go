package asm

import "testing"

func TestText(t *testing.T) {
	vr, gr, kr := Virt(Vec, 12), Virt(GP, 3), Virt(Mask, 1)
	for _, test := range []struct {
		inst Inst
		want string
	}{
		{Inst{Op: VADDPS, Size: 32, Dst: v(1), Src: [3]Reg{v(2), v(3)}}, "vaddps ymm1, ymm2, ymm3"},
		{Inst{Op: VADDPS, Size: 32, Dst: vr, Src: [3]Reg{v(2)}, Mem: Mem{Base: gr, Index: RAX, Scale: 4, Disp: -8}, Mask: kr, Zero: true},
			"vaddps %v12{%k1}{z}, ymm2, ymmword ptr [%r3+rax*4-8]"},
		{Inst{Op: VADDPD, Size: 64, Dst: v(1), Src: [3]Reg{v(2)}, Mem: Mem{Pool: 3}, Bcast: true}, "vaddpd zmm1, zmm2, qword ptr [rip+C3]{1to8}"},
		{Inst{Op: VGATHERDPD, Size: 32, Dst: v(1), Mask: k(1), Mem: Mem{Base: RAX, Index: v(3), Scale: 8}}, "vgatherdpd ymm1{k1}, qword ptr [rax+xmm3*8]"},
		{Inst{Op: VSCATTERDPS, Size: 64, Src: [3]Reg{v(2)}, Mask: k(1), Mem: Mem{Base: RAX, Index: v(3), Scale: 4}}, "vscatterdps dword ptr [rax+zmm3*4]{k1}, zmm2"},
		{Inst{Op: MOVZX8, Size: 4, Dst: R9, Src: [3]Reg{RSI}}, "movzx r9d, sil"},
		{Inst{Op: SHL, Size: 8, Dst: RBX, Src: [3]Reg{RCX}}, "shl rbx, cl"},
		{Inst{Op: MOV, Size: 8, Dst: RBX, Imm: 5}, "mov ebx, 5"},
		{Inst{Op: MOV16, Mem: Mem{Base: RBX}, Imm: 5}, "mov word ptr [rbx], 5"},
		{Inst{Op: JNP, To: 4}, "jnp L4"},
		{Inst{Op: LABEL, To: 4}, "L4:"},
		{Inst{Op: ALIGN, Imm: 32}, ".p2align 5"},
		{Inst{Op: LOOP, Imm: 2}, "# loop 2"},
		{Inst{Op: MOVE, Size: 64, Dst: vr, Src: [3]Reg{v(7)}}, "move %v12, zmm7"},
		{Inst{Op: VADDPS, Size: 32, Dst: v(1), Imm: 3}, "vaddps ymm1, 3"},
		{Inst{Op: numOps + 1, Dst: RAX}, "op"},
	} {
		if got := test.inst.String(); got != test.want && (test.want != "op" || got[:2] != "op") {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	if got := Reg(0).String(); got != "none" {
		t.Errorf("no register is %q", got)
	}
}

func TestConditions(t *testing.T) {
	names := []string{"o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"}
	opposite := map[Cond]Cond{O: NO, B: AE, E: NE, BE: A, S: NS, P: NP, L: GE, LE: G}
	for c := O; c <= G; c++ {
		if c.J().String() != "j"+names[c] || c.Set().String() != "set"+names[c] || c.Cmov().String() != "cmov"+names[c] {
			t.Errorf("condition %s: %v, %v, %v", names[c], c.J(), c.Set(), c.Cmov())
		}
		if n, ok := opposite[c]; ok && (c.Not() != n || n.Not() != c) {
			t.Errorf("%s is the opposite of %s, want %s", names[c.Not()], names[c], names[n])
		}
	}
}

// TestTakesMem finds for instructions of registers which source may be in memory, by what the encoder accepts.
func TestTakesMem(t *testing.T) {
	for _, level := range []struct {
		coder Coder
		e     Encodings
	}{{Coder{SSE: true}, Legacy}, {Coder{VEX: true}, Legacy | VEX}, {Coder{}, Legacy | VEX | EVEX}} {
		m := newMaker(19, level.coder.SSE)
		for _, i := range m.all(1) {
			c := level.coder
			if !i.Mem.None() || c.Emit(&i) != nil {
				continue
			}
			for j := range i.Src {
				if i.Src[j] == 0 {
					continue
				}
				elem, ok := i.TakesMem(j, level.e)
				folded := i
				folded.Src[j], folded.Mem = 0, Mem{Base: RDI}
				if err := c.Emit(&folded); (err == nil) != ok && i.Src[j].Class() != Tile {
					t.Errorf("%v with source %d in memory: %v, but TakesMem says %v", &i, j, err, ok)
				}
				folded.Bcast = true
				if err := c.Emit(&folded); ok && (err == nil) != (elem > 0) {
					t.Errorf("%v with source %d broadcast: %v, but TakesMem says %d bytes", &i, j, err, elem)
				}
			}
		}
	}
}
