package asm

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// spoil changes one thing of an instruction, most often to what it cannot be.
func (m maker) spoil(i *Inst) {
	any := func() Reg {
		return []Reg{0, Phys(Class(1+m.IntN(4)), m.IntN(34)), Phys(Class(1+m.IntN(4)), m.IntN(8))}[m.IntN(3)]
	}
	switch m.IntN(12) {
	case 0:
		i.Dst = any()
	case 1, 2:
		i.Src[m.IntN(3)] = any()
	case 3:
		i.Size = uint8(m.pick(0, 1, 2, 4, 8, 16, 32, 64))
	case 4:
		i.Mask = []Reg{0, any(), Phys(Mask, m.IntN(9))}[m.IntN(3)]
	case 5:
		i.Zero = !i.Zero
	case 6:
		i.Bcast = !i.Bcast
	case 7:
		i.Mem = Mem{Base: any(), Index: any(), Scale: uint8(m.pick(0, 1, 2, 3, 4, 8)), Disp: int32(m.pick(displacements...))}
	case 8:
		i.Mem = Mem{}
	case 9:
		i.Imm = []int64{m.Int64(), int64(int32(m.Uint32())), int64(m.IntN(600)) - 300}[m.IntN(3)]
	case 10:
		i.Op = Op(m.IntN(int(numOps) + 2))
	case 11:
		i.Mem.Pool = int32(m.pick(0, 0, -1, 1))
	}
}

// TestRandom encodes valid instructions with some random changes. The Coder may accept only what the assembler accepts, too, with the same encoding;
// nothing may panic.
func TestRandom(t *testing.T) {
	for _, sse := range []bool{false, true} {
		m := newMaker(11, sse)
		good := m.all(1)
		var accepted []Inst
		for range 60000 {
			i := good[m.IntN(len(good))]
			for range 1 + m.IntN(3) {
				m.spoil(&i)
			}
			c := Coder{SSE: sse}
			if err := c.Emit(&i); err == nil && len(c.code) > 0 && i.Op != MOVE {
				accepted = append(accepted, i)
			}
		}
		t.Logf("%d of 60000 accepted", len(accepted))
		compare(t, accepted, sse)
	}
}

// FuzzEmit makes an instruction of whatever bytes: no panic, and code exactly when there is no error.
func FuzzEmit(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		m := maker{Rand: rand.New(rand.NewPCG(a, b))}
		for range 20 {
			var i Inst
			i.Op = Op(m.IntN(int(numOps) + 2))
			i.Size = uint8(m.pick(0, 4, 8, 16, 32, 64))
			for range 12 {
				op := i.Op
				m.spoil(&i)
				i.Op = op
			}
			for _, sse := range []bool{false, true} {
				c := Coder{SSE: sse}
				c.Pool([]byte{1, 2, 3, 4}, 4)
				err := c.Emit(&i)
				if i.String() == "" || err != nil && len(c.code) > 0 {
					t.Fatalf("%q %+v: %v with %d bytes", i.String(), i, err, len(c.code))
				}
				if err == nil && i.To == 0 {
					if code, err := c.Finish(); err != nil || !bytes.HasPrefix(code, c.code[:min(4, len(c.code))]) && len(c.gaps) == 0 && len(c.refs) == 0 {
						t.Fatalf("%v: %v", &i, err)
					}
				}
			}
		}
	})
}
