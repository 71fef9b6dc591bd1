package x64

import (
	"fmt"
	"slices"
	"testing"

	"polygrad/render/regalloc"
	"polygrad/render/x64/asm"
)

// simulator runs code, with virtual or physical registers, on symbolic values: the result of any instruction is a hash of the instruction and its
// operands, except for copies, counting and jumps, which do what they should. A value has the number of its valid bytes.
type simulator struct {
	regs  map[asm.Reg]datum
	frame map[int32]datum
	mem   map[uint64]datum
	flags uint64
	trace []string // stores to memory
	steps int
}

type datum struct {
	v     uint64
	bytes uint8
}

func mix(xs ...uint64) uint64 {
	h := uint64(14695981039346656037)
	for _, x := range xs {
		h = (h ^ x) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	return h
}

const (
	bufferAt = 1 << 32
	frameAt  = 1 << 40
)

func newSimulator() *simulator {
	return &simulator{
		regs:  map[asm.Reg]datum{asm.RDI: {bufferAt, 8}, asm.RSI: {frameAt, 8}, asm.RBP: {frameAt, 8}},
		frame: map[int32]datum{}, mem: map[uint64]datum{},
	}
}

func (m *simulator) load(i *asm.Inst) (datum, error) {
	if i.Mem.Pool != 0 {
		b := uint64(0)
		if i.Bcast || i.Op == asm.VBROADCASTSS {
			b = 1
		}
		return datum{mix(7, uint64(i.Mem.Pool), b), i.Size}, nil
	}
	if i.Mem.Base == asm.RBP {
		d, ok := m.frame[i.Mem.Disp]
		if !ok {
			return datum{}, nil // undefined
		}
		return datum{d.v, min(d.bytes, i.Size)}, nil
	}
	a := m.address(&i.Mem)
	if d, ok := m.mem[a]; ok {
		return datum{d.v, min(d.bytes, i.Size)}, nil
	}
	return datum{mix(a), i.Size}, nil
}

func (m *simulator) address(x *asm.Mem) uint64 {
	a := uint64(int64(x.Disp))
	if x.Base != 0 {
		a += m.regs[x.Base].v
	}
	if x.Index != 0 {
		a += m.regs[x.Index].v * uint64(x.Scale)
	}
	return a
}

// run executes the code; loops end when their counter is 0.
func (m *simulator) run(insts []asm.Inst) error {
	labels := map[asm.Label]int{}
	for k := range insts {
		if insts[k].Op == asm.LABEL {
			labels[insts[k].To] = k
		}
	}
	for k := 0; k < len(insts); k++ {
		if m.steps++; m.steps > 1e6 {
			return fmt.Errorf("it does not end")
		}
		i := &insts[k]
		switch i.Op {
		case asm.LABEL, asm.LOOP, asm.ENDLOOP:
			continue
		case asm.JNE:
			if m.flags != 0 {
				k = labels[i.To]
			}
			continue
		case asm.JB:
			if m.flags&1 != 0 {
				k = labels[i.To]
			}
			continue
		}
		if err := m.step(i); err != nil {
			return fmt.Errorf("%d: %s: %w", k, i.String(), err)
		}
	}
	return nil
}

func (m *simulator) step(i *asm.Inst) error {
	var in []datum
	if !zeroIdiom(i) {
		used := i.Mem.None()
		for k, r := range i.Src {
			rest := false
			for _, q := range i.Src[k:] {
				rest = rest || q != 0
			}
			switch {
			case r != 0:
				d := m.regs[r]
				d.bytes = min(d.bytes, i.Size)
				in = append(in, d)
			case !used && !i.Stores() && i.Op != asm.LEA && (rest || k == len(i.Src)-1 || i.Src[k] == 0):
				d, err := m.load(i)
				if err != nil {
					return err
				}
				in, used = append(in, d), true
			}
		}
	}
	if i.Stores() {
		if i.Mem.Base == asm.RBP {
			d := in[0]
			if old, ok := m.frame[i.Mem.Disp]; ok && old.bytes > 64 {
				return fmt.Errorf("the frame is broken")
			}
			m.frame[i.Mem.Disp] = d
			return nil
		}
		xs := []uint64{}
		for _, d := range in {
			xs = append(xs, d.v, uint64(d.bytes))
		}
		if i.Mask != 0 {
			xs = append(xs, m.regs[i.Mask].v)
		}
		a := m.address(&i.Mem)
		m.mem[a] = datum{mix(xs...), i.Size}
		m.trace = append(m.trace, fmt.Sprintf("%x=%x", a, mix(xs...)))
		return nil
	}
	var d datum
	switch {
	case i.Op == asm.MOVE, i.Op == asm.VMOVAPS && i.Mask == 0, i.Op == asm.KMOVQ, i.Op == asm.VBROADCASTSS && i.Mem.Pool != 0,
		i.Op == asm.MOV && len(in) > 0:
		d = in[0]
		d.bytes = min(d.bytes, i.Size)
	case i.Op == asm.MOV:
		d = datum{uint64(i.Imm), 8}
	case i.Op == asm.XOR && zeroIdiom(i):
		d = datum{0, 8}
	case i.Op == asm.ADD && len(in) == 0:
		d = datum{m.regs[i.Dst].v + uint64(i.Imm), 8}
	case i.Op == asm.SUB && len(in) == 0:
		d = datum{m.regs[i.Dst].v - uint64(i.Imm), 8}
		m.flags = d.v
	case i.Op == asm.CMP:
		m.flags = mix(in[0].v, in[1].v)
	default:
		if len(in) == 2 && commutes(i.Op) && i.Dst.Class() == asm.Vec && in[0].v > in[1].v {
			in[0], in[1] = in[1], in[0]
		}
		op, tied := i.Op, i.ReadsDst() && !zeroIdiom(i)
		if op >= asm.VFMADD132PS && op <= asm.VFNMADD231SD && i.Mask == 0 {
			// a*b + c, where a and b commute.
			form := (op - asm.VFMADD132PS) % 12 / 4
			op -= form * 4
			d := m.regs[i.Dst]
			d.bytes = min(d.bytes, i.Size)
			f := [][]datum{{d, in[1], in[0]}, {in[0], d, in[1]}, {in[0], in[1], d}}[form]
			if f[0].v > f[1].v {
				f[0], f[1] = f[1], f[0]
			}
			in, tied = f, false
		}
		xs := []uint64{uint64(op), uint64(i.Imm), uint64(i.Size)}
		for _, x := range in {
			xs = append(xs, x.v, uint64(x.bytes))
		}
		if i.Op == asm.LEA {
			xs = append(xs, m.address(&i.Mem))
		}
		if tied {
			x := m.regs[i.Dst]
			xs = append(xs, x.v, uint64(min(x.bytes, i.Size)))
		}
		if i.Mask != 0 {
			xs = append(xs, m.regs[i.Mask].v)
		}
		if i.Op.UsesFlags() {
			xs = append(xs, m.flags)
		}
		if i.Op.WritesMask() {
			xs = append(xs, m.regs[i.Mem.Index].v)
			m.regs[i.Mask] = datum{0, 8}
		}
		if i.Op.SetsFlags() {
			m.flags = mix(xs...)
		}
		d = datum{mix(xs...), i.Size}
	}
	m.regs[i.Dst] = d
	return nil
}

// testCode is code for the allocator; without encodings it has all.
type testCode struct {
	Insts     []asm.Inst
	Regs      [5]regalloc.RegClass
	Reserved  int32
	Encodings asm.Encodings
}

// code is c as the allocator takes it. Every allocation of the tests is verified.
func (c *testCode) code() *regalloc.Code[asm.Inst] {
	if c.Encodings == 0 {
		c.Encodings = asm.VEX | asm.EVEX
	}
	return &regalloc.Code[asm.Inst]{Insts: c.Insts, Machine: machine{encodings: c.Encodings}, Classes: c.Regs, Reserved: c.Reserved, Check: true}
}

// limits are the first n registers of each class.
func limits(gp, vec, mask int) [5]regalloc.RegClass {
	l := Features{AVX512: true}.classes()
	l[asm.GP].Regs, l[asm.Vec].Regs, l[asm.Mask].Regs = l[asm.GP].Regs[:gp], l[asm.Vec].Regs[:vec], l[asm.Mask].Regs[:mask]
	return l
}

// mustAllocate allocates, verifies, and compares what the code does before and after.
func mustAllocate(t *testing.T, c *testCode) regalloc.Result[asm.Inst] {
	t.Helper()
	fail := func(r *regalloc.Result[asm.Inst], format string, args ...any) {
		t.Helper()
		t.Errorf(format, args...)
		t.Log("before:" + listing(c.Insts))
		if r != nil {
			t.Log("after:" + listing(r.Insts))
		}
		t.FailNow()
	}
	insts := slices.Clone(c.Insts)
	r, err := allocate(c.code())
	if err != nil {
		fail(nil, "%v", err)
	}
	before, after := newSimulator(), newSimulator()
	if err := before.run(insts); err != nil {
		fail(&r, "before: %v", err)
	}
	if err := after.run(r.Insts); err != nil {
		fail(&r, "after: %v", err)
	}
	for k, s := range before.trace {
		if k >= len(after.trace) || after.trace[k] != s {
			fail(&r, "store number %d is not %s; %d and %d stores", k, s, len(before.trace), len(after.trace))
		}
	}
	if len(before.trace) != len(after.trace) {
		fail(&r, "%d stores, not %d", len(after.trace), len(before.trace))
	}
	for k := range r.Insts {
		i := &r.Insts[k]
		if c.Encodings == asm.Legacy && overwrites(i) && i.Dst != i.Src[0] {
			fail(&r, "instruction %d, %s, has another destination than its first source", k, i)
		}
	}
	return r
}

func listing(insts []asm.Inst) string {
	s := ""
	for k := range insts {
		s += fmt.Sprintf("\n%4d %s", k, &insts[k])
	}
	return s
}
