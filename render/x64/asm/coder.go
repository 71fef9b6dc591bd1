package asm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// Coder makes machine code of instructions, one after the other. The zero Coder is ready for use.
type Coder struct {
	// SSE makes vector instructions without VEX: of 16 bytes, and those of three operands need Dst and Src[0] to be
	// the same register.
	SSE bool
	// VEX makes no instruction that only processors with AVX-512 have.
	VEX bool

	code   []byte // without the jumps and the padding, which are in gaps
	gaps   []gap
	labels []spot
	refs   []ref
	pool   []byte
	consts []constant
	byText map[string]int32
}

// gap is a place in the code whose length is not known before the end: a jump, or padding.
type gap struct {
	at    int // in Coder.code
	to    Label
	op    Op
	align int // of padding
	long  bool
	size  int
	start int // in the finished code
}

// spot is a position in the code: behind the first at bytes of Coder.code, and that number of gaps.
type spot struct {
	at, gaps int
	set      bool
}

// ref is a displacement that must be made relative to the instruction's end.
type ref struct {
	at, end, gaps int
	pool          int32
	disp          int32
}

type constant struct{ at, size int }

// codeAlign is the alignment of the code and of its constants.
const codeAlign = 64

// Reset empties the Coder, keeping its memory.
func (c *Coder) Reset() {
	c.code, c.gaps, c.labels, c.refs = c.code[:0], c.gaps[:0], c.labels[:0], c.refs[:0]
	c.pool, c.consts = c.pool[:0], c.consts[:0]
	clear(c.byText)
}

// Pool makes data a constant behind the code, at a multiple of align (a power of two, 64 at most), and returns its
// number for Mem.Pool. Equal bytes are stored once.
func (c *Coder) Pool(data []byte, align int) int32 {
	align = max(1, min(align, codeAlign))
	if n, ok := c.byText[string(data)]; ok && c.consts[n-1].at%align == 0 {
		return n
	}
	for len(c.pool)%align != 0 {
		c.pool = append(c.pool, 0)
	}
	c.consts = append(c.consts, constant{len(c.pool), len(data)})
	c.pool = append(c.pool, data...)
	if c.byText == nil {
		c.byText = map[string]int32{}
	}
	n := int32(len(c.consts))
	c.byText[string(data)] = n
	return n
}

// Repeated is the constant of size bytes that repeats another one.
func (c *Coder) Repeated(n int32, size int) int32 {
	one := c.consts[n-1]
	return c.Pool(bytes.Repeat(c.pool[one.at:one.at+one.size], size/one.size), size)
}

// Emit appends an instruction. What cannot be encoded is an error, and leaves the code as it was.
func (c *Coder) Emit(i *Inst) error {
	switch {
	case i.Op == LABEL:
		return c.label(i)
	case i.Op == ALIGN:
		if i.Imm < 1 || i.Imm > codeAlign || i.Imm&(i.Imm-1) != 0 {
			return fmt.Errorf("asm.Emit: align %d: want a power of two up to %d", i.Imm, codeAlign)
		}
		c.gaps = append(c.gaps, gap{at: len(c.code), align: int(i.Imm)})
		return nil
	case i.Op == LOOP || i.Op == ENDLOOP:
		return nil
	case i.Op == MOVE:
		return c.move(i)
	case i.Op.Branch():
		if i.To <= 0 {
			return fmt.Errorf("asm.Emit: %v: no label to jump to", i)
		}
		c.gaps = append(c.gaps, gap{at: len(c.code), to: i.To, op: i.Op})
		return nil
	case i.Op == 0 || i.Op >= numOps:
		return fmt.Errorf("asm.Emit: operation %d: there is none of that number", i.Op)
	}
	return c.instruction(i)
}

func (c *Coder) label(i *Inst) error {
	if i.To <= 0 || i.To > maxLabels {
		return fmt.Errorf("asm.Emit: label %d: want 1 to %d", i.To, maxLabels)
	}
	for int(i.To) >= len(c.labels) {
		c.labels = append(c.labels, spot{})
	}
	if c.labels[i.To].set {
		return fmt.Errorf("asm.Emit: label %d is set a second time", i.To)
	}
	c.labels[i.To] = spot{len(c.code), len(c.gaps), true}
	return nil
}

// maxLabels bounds the table of labels against numbers that are a mistake.
const maxLabels = 1 << 20

// move emits the copy of a whole register, or as much of it as Size says.
func (c *Coder) move(i *Inst) error {
	m := *i
	switch i.Dst.Class() {
	case GP:
		m.Op = MOV
	case Vec:
		m.Op = VMOVAPS
	case Mask:
		m.Op = KMOVQ
	default:
		return fmt.Errorf("asm.Emit: %v: there are copies of general, vector and mask registers", i)
	}
	return c.instruction(&m)
}

// Finish returns the code with its jumps as short as they can be, and its constants behind it. It is to be placed at a
// multiple of 64.
func (c *Coder) Finish() ([]byte, error) {
	for g := range c.gaps {
		if to := c.gaps[g].to; to != 0 && (int(to) >= len(c.labels) || !c.labels[to].set) {
			return nil, fmt.Errorf("asm.Finish: %v to label %d, which is nowhere", c.gaps[g].op, to)
		}
	}
	size := c.arrange()
	base := (size + codeAlign - 1) &^ (codeAlign - 1)
	if len(c.pool) == 0 {
		base = size
	}
	if base+len(c.pool) > math.MaxInt32 {
		return nil, fmt.Errorf("asm.Finish: %d bytes of code and constants: want less than 2 GiB", base+len(c.pool))
	}
	out := make([]byte, base+len(c.pool))
	from, to := 0, 0
	for g := range c.gaps {
		gap := &c.gaps[g]
		to += copy(out[to:], c.code[from:gap.at])
		from = gap.at
		if gap.to == 0 {
			nops(out[to : to+gap.size])
		} else {
			c.jump(out[to:to+gap.size], gap)
		}
		to += gap.size
	}
	copy(out[to:], c.code[from:])
	for n := size; n < base; n++ {
		out[n] = 0xCC
	}
	copy(out[base:], c.pool)
	for _, r := range c.refs {
		shift := c.shift(r.gaps)
		at := int64(base) + int64(c.consts[r.pool-1].at) - int64(r.end+shift) + int64(r.disp)
		if at != int64(int32(at)) {
			return nil, fmt.Errorf("asm.Finish: constant %d%+d is out of reach", r.pool, r.disp)
		}
		binary.LittleEndian.PutUint32(out[r.at+shift:], uint32(at))
	}
	return out, nil
}

// arrange gives every gap its place and size, and returns the size of the code. All jumps are short at first; those
// that do not reach become long, until all do.
func (c *Coder) arrange() int {
	for {
		shift := 0
		for g := range c.gaps {
			gap := &c.gaps[g]
			gap.start = gap.at + shift
			gap.size = gap.length()
			shift += gap.size
		}
		grown := false
		for g := range c.gaps {
			gap := &c.gaps[g]
			if d := c.distance(gap); gap.to != 0 && !gap.long && d != int(int8(d)) {
				gap.long, grown = true, true
			}
		}
		if !grown {
			return len(c.code) + shift
		}
	}
}

func (g *gap) length() int {
	switch {
	case g.to == 0:
		return -g.start & (g.align - 1)
	case !g.long:
		return 2
	case g.op == JMP:
		return 5
	}
	return 6
}

// shift is the number of bytes by which the given number of gaps moves the code behind them.
func (c *Coder) shift(gaps int) int {
	if gaps == 0 {
		return 0
	}
	g := &c.gaps[gaps-1]
	return g.start + g.size - g.at
}

// distance is how far g jumps.
func (c *Coder) distance(g *gap) int {
	if g.to == 0 {
		return 0
	}
	l := c.labels[g.to]
	return l.at + c.shift(l.gaps) - (g.start + g.size)
}

func (c *Coder) jump(out []byte, g *gap) {
	r := &rows[starts[g.op]]
	d := c.distance(g)
	switch {
	case !g.long && g.op == JMP:
		out[0], out[1] = 0xEB, byte(d)
	case !g.long:
		out[0], out[1] = r.code-0x10, byte(d)
	case g.op == JMP:
		out[0] = r.code
		binary.LittleEndian.PutUint32(out[1:], uint32(d))
	default:
		out[0], out[1] = 0x0F, r.code
		binary.LittleEndian.PutUint32(out[2:], uint32(d))
	}
}

// nopText are the no-operations of 1 to 9 bytes that the manuals recommend.
var nopText = [10]string{
	"", "\x90", "\x66\x90", "\x0F\x1F\x00", "\x0F\x1F\x40\x00", "\x0F\x1F\x44\x00\x00", "\x66\x0F\x1F\x44\x00\x00",
	"\x0F\x1F\x80\x00\x00\x00\x00", "\x0F\x1F\x84\x00\x00\x00\x00\x00", "\x66\x0F\x1F\x84\x00\x00\x00\x00\x00",
}

// nops fills out with no-operations.
func nops(out []byte) {
	for len(out) > 0 {
		out = out[copy(out, nopText[min(len(out), 9)]):]
	}
}
