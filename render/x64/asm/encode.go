package asm

import (
	"fmt"
	"math/bits"
)

// coding is one of the three ways to write an instruction.
type coding uint8

const (
	legacy coding = iota
	vexed
	evexed
)

// parts are the fields of an encoding that operands fill.
type parts struct {
	reg, rm, vvvv int // numbers of registers
	rmIsMem       bool
	low           int // of inOpcode, -1 for none
	imm           int // of inImm, -1 for none
	size          int // of vectors
	wide          bool

	text [16]byte // what is written so far
	n    int
}

func (p *parts) put(b byte) {
	p.text[p.n&15] = b
	p.n++
}

// instruction appends the encoding of i by the first row that fits.
func (c *Coder) instruction(i *Inst) error {
	if err := i.check(); err != nil {
		return err
	}
	f := i.form()
	high := i.needsEVEX()
	fits := false
	for n := starts[i.Op]; n < ends[i.Op]; n++ {
		if forms[n].reg != f && forms[n].mem != f {
			continue
		}
		fits = true
		r := &rows[n]
		how, ok := c.coding(r, high || i.Size == 64 && forms[n].sizes&sizeV != 0)
		if !ok || c.VEX && forms[n].sizes&masks != 0 {
			continue
		}
		return c.encode(r, forms[n].sizes, how, i)
	}
	if !fits {
		return fmt.Errorf("asm.Emit: %v: %v has no form with these operands", i, i.Op)
	}
	if c.SSE {
		return fmt.Errorf("asm.Emit: %v: not among the instructions without VEX (vectors 0 to 15, no masks)", i)
	}
	return fmt.Errorf("asm.Emit: %v: it needs AVX-512 (vectors above 15 or of 64 bytes, masks, broadcasts), which the operation or the Coder has not", i)
}

// coding chooses how to write r.
func (c *Coder) coding(r *row, high bool) (coding, bool) {
	switch {
	case r.traits&leg != 0 && (c.SSE || r.traits&ve == 0):
		return legacy, !high
	case c.SSE:
		return 0, false
	case r.traits&vex != 0 && !high:
		return vexed, true
	}
	return evexed, r.traits&evex != 0 && !c.VEX
}

// needsEVEX reports whether only EVEX can encode i, for other reasons than its Size.
func (i *Inst) needsEVEX() bool {
	return i.Mask != 0 || i.Bcast || i.Zero || i.Dst.high() || i.Src[0].high() || i.Src[1].high() || i.Src[2].high() || i.Mem.Index.high()
}

// high reports whether r is one of the vector registers 16 to 31.
func (r Reg) high() bool { return r>>4 == Reg(Vec)<<20|1 }

// limits are the numbers of registers of the classes; class 0 has only the zero Reg.
var limits = [256]uint8{0: 1, GP: 16, Vec: 32, Mask: 8, Tile: 8}

func (r Reg) exists() bool { return r&(1<<24-1) < Reg(limits[uint8(r>>24)]) }

// check finds registers that the processor does not have.
func (i *Inst) check() error {
	if i.Dst.exists() && i.Src[0].exists() && i.Src[1].exists() && i.Src[2].exists() && i.Mem.Base.exists() && i.Mem.Index.exists() && i.Mask.exists() {
		return nil
	}
	for _, r := range [...]Reg{i.Dst, i.Src[0], i.Src[1], i.Src[2], i.Mem.Base, i.Mem.Index, i.Mask} {
		if !r.exists() {
			return fmt.Errorf("asm.Emit: %v: %v is not a register of the processor", i, r)
		}
	}
	return nil
}

func (c *Coder) encode(r *row, sizes uint8, how coding, i *Inst) error {
	p := parts{low: -1, imm: -1}
	if err := c.checkUse(r, sizes, how, i); err != nil {
		return err
	}
	if sizes&sizeV != 0 {
		p.size = int(i.Size)
	}
	p.wide = sizes&sizeG != 0 && i.Size == 8
	if err := p.place(r, how, i); err != nil {
		return err
	}
	immLen, immVal, code, err := p.immediate(r, i)
	if err != nil {
		return err
	}
	switch how {
	case legacy:
		p.legacy(r, code, i)
	case vexed:
		p.vex(r, code, i)
	default:
		p.evex(r, code, i)
	}
	scale := 1
	if how == evexed {
		size := p.size
		if sizes&sizeG != 0 {
			size = int(i.Size)
		}
		scale = r.traits.scale(size, i.Bcast)
	}
	switch {
	case p.rmIsMem:
		if err := c.memory(r, &p, i, scale, immLen); err != nil {
			return err
		}
	case r.shape != none && p.low < 0 || r.traits&fixed != 0:
		p.put(0xC0 | byte(p.reg&7)<<3 | byte(p.rm&7))
	}
	for n := 0; n < immLen; n++ {
		p.put(byte(immVal >> (8 * n)))
	}
	c.code = append(c.code, p.text[:p.n]...)
	return nil
}

// checkUse finds sizes, masks and broadcasts that r does not have.
func (c *Coder) checkUse(r *row, sizes uint8, how coding, i *Inst) error {
	wrong := ""
	switch {
	case sizes&sizeG != 0 && i.Size != 4 && i.Size != 8:
		wrong = "Size is 4 or 8"
	case sizes&sizeV != 0 && i.Size != 16 && i.Size != 32 && i.Size != 64:
		wrong = "Size is 16, 32 or 64"
	case how == legacy && sizes&sizeV != 0 && i.Size != 16:
		wrong = "Size is 16 without VEX"
	case r.traits&min32 != 0 && i.Size < 32:
		wrong = "Size is 32 at least"
	case r.traits&min64 != 0 && i.Size < 64:
		wrong = "Size is 64"
	case i.Mask != 0 && (i.Mask.Class() != Mask || i.Mask.Num() == 0 || r.traits&noMask != 0):
		wrong = "Mask is one of k1 to k7, where there can be one"
	case i.Zero && (i.Mask == 0 || i.Dst.Class() != Vec):
		wrong = "Zero goes with a Mask and a vector as Dst"
	case i.Bcast && (i.Mem.None() || r.traits.elem() == 0):
		wrong = "there is no broadcast"
	case r.traits&vsib != 0 && (i.Mask == 0 || i.Zero):
		wrong = "it needs a Mask, and not Zero"
	case r.traits&vsib != 0 && i.Dst == i.Mem.Index:
		wrong = "destination and index are different registers"
	case r.shape == rmvTTT && (i.Dst == i.Src[0] || i.Dst == i.Src[1] || i.Src[0] == i.Src[1]):
		wrong = "the three tiles are different"
	default:
		return nil
	}
	return fmt.Errorf("asm.Emit: %v (Size %d): %s", i, i.Size, wrong)
}

// place puts the operands where r has them.
func (p *parts) place(r *row, how coding, i *Inst) error {
	shape := &shapes[r.shape]
	p.reg = int(r.traits.ext())
	mem := !i.Mem.None()
	for j := range shape {
		reg := i.Dst
		if j > 0 {
			reg = i.Src[j-1]
		}
		switch shape[j].place {
		case inReg:
			p.reg = reg.Num()
		case inRM:
			if p.rmIsMem = mem; !mem {
				p.rm = reg.Num()
			}
		case inVvvv:
			p.vvvv = reg.Num()
			if how == legacy {
				if err := p.twoOperands(j, i); err != nil {
					return err
				}
			}
		case inImm:
			p.imm = reg.Num()
		case inOpcode:
			p.low = reg.Num()
		case isCL:
			if reg != RCX {
				return fmt.Errorf("asm.Emit: %v: the count is an immediate or in rcx", i)
			}
		case isXMM0:
			if reg.Num() != 0 {
				return fmt.Errorf("asm.Emit: %v: without VEX the selector is in xmm0", i)
			}
		}
	}
	return nil
}

// twoOperands checks that an instruction without VEX has one register as its Dst and first source.
func (p *parts) twoOperands(j int, i *Inst) error {
	switch {
	case j == 0 && i.Mem.None() && i.Src[0] == i.Dst: // shifts, whose register is in rm
		return nil
	case j == 1 && i.Src[0] == i.Dst:
		return nil
	}
	return fmt.Errorf("asm.Emit: %v: without VEX Dst and Src[0] are one register", i)
}

// immediate is how many bytes of immediate the instruction has, their value, and the opcode that goes with them.
func (p *parts) immediate(r *row, i *Inst) (n int, v int64, code byte, err error) {
	v, code = i.Imm, r.code
	width := 0
	switch r.traits & immBits {
	case imm8:
		n, width = 1, 8
	case imm16:
		n, width = 2, 16
	case imm32:
		n = 4
	case imm8or32:
		n = 4
		if v == int64(int8(v)) {
			n, code = 1, code|2
		}
	case immShift:
		n, width = 1, 8
		if v == 1 {
			n, code = 0, code|0x10
		}
	case imm64:
		return p.move(i)
	}
	if p.imm >= 0 {
		n, v = 1, int64(p.imm)<<4
	}
	switch {
	case width > 0 && (v < -1<<(width-1) || v >= 1<<width):
		err = fmt.Errorf("asm.Emit: %v: Imm is %d, want %d bits", i, v, width)
	case n == 4 && v != int64(int32(v)) && (i.Size == 8 || v != int64(uint32(v))):
		err = fmt.Errorf("asm.Emit: %v: Imm is %d, want 32 bits", i, v)
	}
	return n, v, code, err
}

// move is MOV of a constant to a register, in the shortest way: the 32 low bits with or without sign, or all 64.
func (p *parts) move(i *Inst) (n int, v int64, code byte, err error) {
	v, code = i.Imm, 0xB8
	switch {
	case i.Size == 4 && v != int64(int32(v)) && v != int64(uint32(v)):
		return 0, 0, 0, fmt.Errorf("asm.Emit: %v: Imm is %d, want 32 bits", i, v)
	case v == int64(uint32(v)) || i.Size == 4:
		p.wide = false
		return 4, v, code, nil
	case v == int64(int32(v)):
		p.rm, p.reg, p.low = p.low, 0, -1
		return 4, v, 0xC7, nil
	}
	return 8, v, code, nil
}

// x is the number whose bit 3 the prefix's X holds.
func (p *parts) x(m *Mem) int {
	if p.rmIsMem {
		return m.Index.Num()
	}
	return 0
}

// b is the number whose bit 3 the prefix's B holds.
func (p *parts) b(m *Mem) int {
	switch {
	case p.rmIsMem:
		return m.Base.Num()
	case p.low >= 0:
		return p.low
	}
	return p.rm
}

func (p *parts) legacy(r *row, code byte, i *Inst) {
	switch r.prefix.mandatory() {
	case 1:
		p.put(0x66)
	case 2:
		p.put(0xF3)
	case 3:
		p.put(0xF2)
	}
	rex := byte(p.reg>>3)<<2 | byte(p.x(&i.Mem)>>3)<<1 | byte(p.b(&i.Mem)>>3)
	if p.wide || r.traits&vw != 0 {
		rex |= 8
	}
	if rex != 0 || p.low4(r) {
		p.put(0x40 | rex)
	}
	switch r.prefix.opmap() {
	case 1:
		p.put(0x0F)
	case 2:
		p.put(0x0F)
		p.put(0x38)
	case 3:
		p.put(0x0F)
		p.put(0x3A)
	}
	if p.low >= 0 {
		code |= byte(p.low & 7)
	}
	p.put(code)
}

// low4 reports whether a register is one whose low byte can be named only with a REX prefix.
func (p *parts) low4(r *row) bool {
	for _, o := range shapes[r.shape] {
		if o.kind != kindB {
			continue
		}
		if o.place == inReg && p.reg >= 4 || o.place == inRM && !p.rmIsMem && p.rm >= 4 {
			return true
		}
	}
	return false
}

func (p *parts) vex(r *row, code byte, i *Inst) {
	last := byte(^p.vvvv&15)<<3 | r.prefix.mandatory()
	if p.size == 32 || r.traits&l1 != 0 {
		last |= 4
	}
	wide := p.wide || r.traits&vw != 0
	x, b := p.x(&i.Mem), p.b(&i.Mem)
	if !wide && x < 8 && b < 8 && r.prefix.opmap() == 1 {
		p.put(0xC5)
		p.put(byte(^p.reg>>3&1)<<7 | last)
		p.put(code)
		return
	}
	if wide {
		last |= 0x80
	}
	p.put(0xC4)
	p.put(byte(^p.reg>>3&1)<<7 | byte(^x>>3&1)<<6 | byte(^b>>3&1)<<5 | r.prefix.opmap())
	p.put(last)
	p.put(code)
}

func (p *parts) evex(r *row, code byte, i *Inst) {
	x, b := p.rm>>1, p.rm // bit 4 of rm is in X
	v := p.vvvv
	if p.rmIsMem {
		x, b = p.x(&i.Mem), p.b(&i.Mem)
		if r.traits&vsib != 0 {
			v = x &^ 15 // the index's bit 4 is where vvvv's would be
		}
	}
	p0 := byte(^p.reg>>3&1)<<7 | byte(^x>>3&1)<<6 | byte(^b>>3&1)<<5 | byte(^p.reg>>4&1)<<4 | r.prefix.opmap()
	p1 := byte(^v&15)<<3 | 4 | r.prefix.mandatory()
	if p.wide || r.traits&w != 0 {
		p1 |= 0x80
	}
	p2 := byte(^v>>4&1)<<3 | byte(i.Mask.Num())
	switch p.size {
	case 32:
		p2 |= 0x20
	case 64:
		p2 |= 0x40
	}
	if i.Zero {
		p2 |= 0x80
	}
	if i.Bcast {
		p2 |= 0x10
	}
	p.put(0x62)
	p.put(p0)
	p.put(p1)
	p.put(p2)
	p.put(code)
}

// memory appends ModRM, SIB and displacement.
func (c *Coder) memory(r *row, p *parts, i *Inst, scale, immLen int) error {
	m := &i.Mem
	reg := byte(p.reg&7) << 3
	if m.Pool != 0 {
		return c.constant(r, p, reg, i, immLen)
	}
	indexClass := GP
	if r.traits&vsib != 0 {
		indexClass = Vec
	}
	shift := -1
	switch m.Scale {
	case 1, 2, 4, 8:
		shift = [...]int{1: 0, 2: 1, 4: 2, 8: 3}[m.Scale]
	}
	switch {
	case m.Base != 0 && m.Base.Class() != GP, m.Index != 0 && m.Index.Class() != indexClass, indexClass == Vec && m.Index == 0,
		m.Index == RSP, m.Index != 0 && shift < 0:
		return fmt.Errorf("asm.Emit: %v: not an address", i)
	}
	var mod byte
	disp, units := m.Disp, bits.TrailingZeros(uint(scale))
	n := 0
	switch {
	case m.Base == 0:
		n = 4
	case disp == 0 && m.Base.Num()&7 != 5:
	case disp&int32(scale-1) == 0 && disp>>units == int32(int8(disp>>units)):
		mod, n = 1<<6, 1
		disp >>= units
	default:
		mod, n = 2<<6, 4
	}
	base := byte(5) // none
	if m.Base != 0 {
		base = byte(m.Base.Num() & 7)
	}
	switch {
	case m.Index != 0:
		p.put(mod | reg | 4)
		p.put(byte(shift)<<6 | byte(m.Index.Num()&7)<<3 | base)
	case m.Base == 0 || base == 4 || r.traits&sib != 0:
		p.put(mod | reg | 4)
		p.put(4<<3 | base)
	default:
		p.put(mod | reg | base)
	}
	for k := 0; k < n; k++ {
		p.put(byte(disp >> (8 * k)))
	}
	return nil
}

// constant appends ModRM and the place of a displacement from the instruction's end.
func (c *Coder) constant(r *row, p *parts, reg byte, i *Inst, immLen int) error {
	m := &i.Mem
	if m.Base != 0 || m.Index != 0 || m.Pool < 0 || int(m.Pool) > len(c.consts) || r.traits&(vsib|sib) != 0 {
		return fmt.Errorf("asm.Emit: %v: a constant (of %d) is an address by itself", i, len(c.consts))
	}
	if size := c.consts[m.Pool-1].size; m.Disp < 0 || int(m.Disp) >= size {
		return fmt.Errorf("asm.Emit: %v: constant %d has %d bytes", i, m.Pool, size)
	}
	p.put(reg | 5)
	at := len(c.code) + p.n
	p.n += 4
	c.refs = append(c.refs, ref{at, at + 4 + immLen, len(c.gaps), m.Pool, m.Disp})
	return nil
}
