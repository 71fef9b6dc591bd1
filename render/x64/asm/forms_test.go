package asm

import (
	"math"
	"math/rand/v2"
)

// maker makes valid instructions of rows, choosing by rand.
type maker struct {
	*rand.Rand
	sse bool
}

func newMaker(seed uint64, sse bool) maker { return maker{rand.New(rand.NewPCG(seed, 0)), sse} }

func (m maker) pick(n ...int) int { return n[m.IntN(len(n))] }

// sizes are those that an instruction of row n can have.
func (m maker) sizes(n int) []uint8 {
	r := &rows[n]
	switch {
	case forms[n].sizes&sizeG != 0:
		return []uint8{4, 8}
	case forms[n].sizes&sizeV == 0:
		return []uint8{16}
	}
	var s []uint8
	for _, size := range []uint8{16, 32, 64} {
		if r.traits&min32 != 0 && size < 32 || r.traits&min64 != 0 && size < 64 ||
			r.traits&evex == 0 && size > 32 || m.sse && size > 16 {
			continue
		}
		s = append(s, size)
	}
	return s
}

// registers fills the operands of row n, all different; high says whether vectors above 15 may be among them.
func (m maker) registers(n int, i *Inst, mem, high bool) {
	r := &rows[n]
	seed := m.IntN(32)
	for j, o := range shapes[r.shape] {
		if o.place == 0 || o.place == inRM && mem {
			continue
		}
		limit := int(limits[o.class()])
		if o.class() == Vec && !high {
			limit = 16
		}
		reg := Phys(o.class(), (seed+5*j)%limit)
		switch o.place {
		case isCL:
			reg = RCX
		case isXMM0:
			reg = Phys(Vec, 0)
		case inImm:
			reg = Phys(Vec, reg.Num()%16)
		}
		if j == 0 {
			i.Dst = reg
		} else {
			i.Src[j-1] = reg
		}
	}
	if m.legacy(n) && i.Dst != 0 && shapes[r.shape][1].place == inVvvv {
		i.Src[0] = i.Dst
	}
	if m.legacy(n) && shapes[r.shape][0].place == inVvvv {
		i.Src[0] = i.Dst
	}
	if mem {
		i.Mem = m.memory(r.traits&vsib != 0, int(limits[Vec]), (seed+15)%32)
		if r.traits&vsib != 0 && !high {
			i.Mem.Index = Phys(Vec, (seed+15)%16)
		}
	}
}

func (m maker) legacy(n int) bool { return m.sse && rows[n].traits&leg != 0 }

// displacements are those where encodings change, for every scale of a short displacement.
var displacements = []int{0, 1, 2, 4, 8, 16, 32, 64, -1, -4, -64, 127, 128, -128, -129, 254, 256, 508, 512, 1016, 1024, 2032, 2048, 4064, 4096, 8128, 8192,
	-8192, -8256, 1 << 20, math.MaxInt32, math.MinInt32}

// memory is an address in one of the ways there are.
func (m maker) memory(vector bool, vectors, index int) Mem {
	a := Mem{Disp: int32(m.pick(displacements...))}
	if m.IntN(8) > 0 {
		a.Base = Phys(GP, m.IntN(16))
	}
	if vector {
		a.Index, a.Scale = Phys(Vec, index%vectors), uint8(m.pick(1, 2, 4, 8))
	} else if m.IntN(2) == 0 || a.Base == 0 {
		for a.Index == 0 || a.Index == RSP {
			a.Index = Phys(GP, m.IntN(16))
		}
		a.Scale = uint8(m.pick(1, 2, 4, 8))
	}
	return a
}

// immediates are those of a row.
func (m maker) immediate(r *row, size uint8) int64 {
	v := int64(0)
	switch r.traits & immBits {
	case imm8:
		return int64(m.IntN(128))
	case immShift:
		return int64(m.IntN(31))
	case imm16:
		return int64(m.pick(0, 1, 255, 32767))
	case imm32, imm8or32:
		return int64(m.pick(0, 1, -1, 127, 128, -128, -129, 1000, math.MaxInt32, math.MinInt32))
	case imm64:
		v = int64(m.pick(0, 1, -1, 1<<31-1, -1<<31))
		if size == 8 {
			v = int64(m.pick(0, 1, -1, 1<<31, 1<<32-1, 1<<32, -1<<31, -1<<31-1, math.MaxInt64, math.MinInt64))
		}
	}
	return v
}

// inst is an instruction of row n; false if there is none of those properties.
func (m maker) inst(n int, size uint8, mem, high, masked bool) (Inst, bool) {
	r := &rows[n]
	if mem && forms[n].mem == 0 || !mem && forms[n].reg == 0 || m.sse && r.traits&leg == 0 {
		return Inst{}, false
	}
	if (high || masked) && (m.sse || r.traits&evex == 0) || !m.sse && r.mnemonic[0] == 'v' && r.traits&ve == 0 {
		return Inst{}, false
	}
	i := Inst{Op: r.op, Size: size}
	m.registers(n, &i, mem, high)
	i.Imm = m.immediate(r, size)
	mustMask := r.traits&vsib != 0
	if mustMask && m.sse || masked && r.traits&noMask != 0 {
		return Inst{}, false
	}
	if masked || mustMask {
		i.Mask = Phys(Mask, 1+m.IntN(7))
		i.Zero = i.Dst.Class() == Vec && r.traits&vsib == 0 && m.IntN(2) == 0
	}
	if mem && r.traits.elem() > 0 && r.traits&evex != 0 && !m.sse {
		i.Bcast = m.IntN(2) == 0
	}
	return i, true
}

// all are instructions of every row, in every size and form, several of each.
func (m maker) all(times int) []Inst {
	var out []Inst
	for n := range rows {
		if rows[n].traits&(branch|pseudo) != 0 {
			continue
		}
		for _, size := range m.sizes(n) {
			for form := range 8 {
				k := 1
				if form&1 != 0 {
					k = times
				}
				for range k {
					if i, ok := m.inst(n, size, form&1 != 0, form&2 != 0, form&4 != 0); ok {
						out = append(out, i)
					}
				}
			}
		}
	}
	return out
}
