package asm

// Encodings says which kinds of encodings code may have.
type Encodings uint8

// The encodings of SSE4.2, of AVX2, and of AVX-512.
const (
	Legacy Encodings = 1 << iota
	VEX
	EVEX
)

// TakesMem reports whether source k of i may be a memory operand instead of a register, and of which size its element is
// if Mem may be a broadcast of one, 0 if it may not.
func (i *Inst) TakesMem(k int, e Encodings) (elem int, ok bool) {
	if !i.Mem.None() || i.Src[k] == 0 {
		return 0, false
	}
	f := i.form()&^(7<<(3*(k+1))) | hasMem
	var have traits
	if e&Legacy != 0 {
		have |= leg
	}
	if e&VEX != 0 && i.Mask == 0 {
		have |= vex
	}
	if e&EVEX != 0 {
		have |= evex
	}
	for n := starts[i.Op]; n < ends[i.Op]; n++ {
		r := &rows[n]
		if forms[n].mem != f || shapes[r.shape][k+1].place != inRM {
			continue
		}
		switch {
		case have&r.traits&evex != 0:
			return r.traits.elem(), true
		case have&r.traits&(leg|vex) != 0:
			return 0, true
		}
	}
	return 0, false
}
