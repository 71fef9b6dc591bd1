package x64

import (
	"testing"

	"polygrad/render/regalloc"
	"polygrad/render/x64/asm"
)

// TestFoldOfConstants: instructions read constants for all lanes from memory, with AVX-512 as one number, otherwise as a vector of them.
func TestFoldOfConstants(t *testing.T) {
	physical := func(n int) asm.Reg { return asm.Reg(regalloc.Phys(regalloc.Class(asm.Vec), n)) }
	for _, c := range []struct {
		encodings asm.Encodings
		size      uint8
		bcast     bool
	}{
		{asm.Legacy | asm.VEX, 32, false},
		{asm.Legacy | asm.VEX, 16, false},
		{asm.Legacy | asm.VEX | asm.EVEX, 64, true},
	} {
		coder := &asm.Coder{VEX: c.encodings&asm.EVEX == 0}
		number := pool{coder}.word(8, 1<<62)
		def := asm.Inst{Op: asm.VBROADCASTSD, Size: max(c.size, 32), Dst: physical(3), Mem: number}
		inst := asm.Inst{Op: asm.VADDPD, Size: c.size, Dst: physical(1), Src: [3]asm.Reg{physical(2), physical(3)}}
		if !(machine{c.encodings, coder}).Fold(&inst, 1, &def) || inst.Bcast != c.bcast || (inst.Mem.Pool == number.Pool) != c.bcast {
			t.Errorf("%d bytes: %v reads constant %d, expected a broadcast: %v", c.size, &inst, inst.Mem.Pool, c.bcast)
		}
		if err := coder.Emit(&inst); err != nil {
			t.Error(err)
		}
	}
}
