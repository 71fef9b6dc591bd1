package x64

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// placeTable computes the addresses of a kernel. An address is built from the outermost terms inwards, so each part is computed in
// the outermost block possible, and shared by all places with the same beginning.
type placeTable struct {
	parts   map[string]*part // by buffer and terms
	bases   map[*ir.Buffer]*base
	scaled  map[ir.Term]asm.Reg
	key     []byte
	planned map[*ir.Place]*part
	args    map[int]asm.Reg
}

func newPlaceTable() placeTable {
	return placeTable{
		parts: map[string]*part{}, bases: map[*ir.Buffer]*base{}, scaled: map[ir.Term]asm.Reg{},
		planned: map[*ir.Place]*part{}, args: map[int]asm.Reg{},
	}
}

// clear resets the table for the next kernel.
func (t *placeTable) clear() {
	clear(t.parts)
	clear(t.bases)
	clear(t.scaled)
	clear(t.planned)
	clear(t.args)
}

// base is the address of a buffer, with its most recently planned places: most new ones share the terms of one of them.
type base struct {
	part   *part
	recent [8]*ir.Place
	next   int
}

// part is the address of a buffer plus the terms of some blocks.
type part struct {
	buf   *ir.Buffer
	outer *part // without the terms of block, nil for the buffer itself
	block *ir.Block
	terms []ir.Term
	// mem is the address once it is computed; flat is the address without an index.
	mem, flat asm.Mem
	done      bool
	last      bool // places end here
}

// plan finds the parts of a place and counts the addresses that move with each loop.
func (t *placeTable) plan(g *gen, at *ir.Place) {
	if t.planned[at] != nil {
		return
	}
	b := t.base(g, at.Buf)
	for _, r := range b.recent {
		if r != nil && slices.Equal(r.Terms, at.Terms) {
			t.planned[at] = t.planned[r]
			return
		}
	}
	b.recent[b.next%len(b.recent)] = at
	b.next++
	p := b.part
	size := at.Buf.Kind.Size()
	terms := slices.DeleteFunc(slices.Clone(at.Terms), func(t ir.Term) bool {
		return t.V.Op == ir.Iter && g.loopOf(t.V.Loop).trip == 1 // it is 0
	})
	slices.SortStableFunc(terms, func(a, b ir.Term) int {
		return cmp.Or(cmp.Compare(a.V.Block.Depth, b.V.Block.Depth), cmp.Compare(iterFirst(a.V), iterFirst(b.V)))
	})
	for i := 0; i < len(terms); {
		n := 1
		for i+n < len(terms) && terms[i].V.Op != ir.Iter && terms[i+n].V.Block == terms[i].V.Block {
			n++
		}
		ts := make([]ir.Term, n)
		for j, u := range terms[i : i+n] {
			ts[j] = ir.Term{V: u.V, Coef: u.Coef * size}
		}
		p = t.inner(p, ts)
		i += n
	}
	t.planned[at] = p
	if p.last {
		return
	}
	p.last = true
	if l, step := g.moves(p); l != nil {
		l.steps[step]++
	}
}

func iterFirst(v *ir.Value) int {
	if v.Op == ir.Iter {
		return 0
	}
	return 1
}

func (t *placeTable) base(g *gen, buf *ir.Buffer) *base {
	b := t.bases[buf]
	if b == nil {
		b = &base{part: &part{buf: buf, block: g.k.Root}}
		t.bases[buf] = b
	}
	return b
}

// inner is the part that adds the terms of one block, coefficients in bytes, to another part.
func (t *placeTable) inner(outer *part, terms []ir.Term) *part {
	key := t.key[:0]
	for p := outer; ; p = p.outer {
		if p.outer == nil {
			key = binary.AppendVarint(key, int64(p.buf.ID))
			break
		}
		key = appendTerms(key, p.terms)
	}
	key = appendTerms(key, terms)
	t.key = key
	p := t.parts[string(key)]
	if p == nil {
		p = &part{buf: outer.buf, outer: outer, block: terms[0].V.Block, terms: terms}
		t.parts[string(key)] = p
	}
	return p
}

func appendTerms(key []byte, terms []ir.Term) []byte {
	for _, t := range terms {
		key = binary.AppendVarint(key, int64(t.V.ID))
		key = binary.AppendVarint(key, t.Coef)
	}
	return binary.AppendVarint(key, -1)
}

// moves is the loop of the iterator in a part, and the stride in bytes.
func (g *gen) moves(p *part) (*loop, int64) {
	if len(p.terms) != 1 || p.terms[0].V.Op != ir.Iter {
		return nil, 0
	}
	return g.loopOf(p.terms[0].V.Loop), p.terms[0].Coef
}

// address is the operand for the element Off of a place, at a byte offset.
func (g *gen) address(at *ir.Place, bytes int64) asm.Mem {
	return g.plus(g.part(g.places.planned[at]), at.Off*at.Buf.Kind.Size()+bytes)
}

// plus is an address plus an offset in bytes.
func (g *gen) plus(m asm.Mem, bytes int64) asm.Mem {
	d := int64(m.Disp) + bytes
	if d >= math.MinInt32 && d <= math.MaxInt32 {
		m.Disp = int32(d)
		return m
	}
	far := g.gp()
	g.imm(asm.MOV, 8, far, d)
	g.ins(asm.ADD, 8, far, m.Base)
	m.Base, m.Disp = far, 0
	return m
}

// part is the address of a part.
func (g *gen) part(p *part) asm.Mem {
	if !p.done {
		g.in(p.block, func() { p.mem = g.makePart(p) })
		p.done = true
	}
	return p.mem
}

func (g *gen) makePart(p *part) asm.Mem {
	if p.outer == nil {
		if p.buf.Param >= 0 {
			return asm.Mem{Base: g.baseOf(p.buf.Param)}
		}
		return g.plus(asm.Mem{Base: g.baseOf(len(g.k.Params) + len(g.k.Vars) + 2)}, p.buf.Offset)
	}
	m := g.flat(p.outer)
	if l, step := g.moves(p); l != nil {
		if s := l.stride(step); s != nil && p.last {
			scale := step / s.unit
			m.Index, m.Scale = s.reg, uint8(scale)
			return g.plus(m, s.back*scale)
		}
		r := g.gp()
		l.inductions = append(l.inductions, induction{reg: r, first: m, step: step})
		return asm.Mem{Base: r}
	}
	for _, t := range p.terms {
		if m.Index != 0 {
			m = g.lea(m)
		}
		m.Index, m.Scale = g.times(t)
	}
	return m
}

// flat is the address of a part without an index.
func (g *gen) flat(p *part) asm.Mem {
	m := g.part(p)
	if m.Index == 0 {
		return m
	}
	if p.flat.None() {
		g.in(p.block, func() { p.flat = g.lea(m) })
	}
	return p.flat
}

func (g *gen) lea(m asm.Mem) asm.Mem {
	r := g.gp()
	g.from(asm.LEA, 8, r, m)
	return asm.Mem{Base: r}
}

// times is a term as the index of an address.
func (g *gen) times(t ir.Term) (asm.Reg, uint8) {
	g.need(t.V)
	if c := t.Coef; c == 1 || c == 2 || c == 4 || c == 8 {
		return g.index(t.V), uint8(c)
	}
	r := g.places.scaled[t]
	if r == 0 {
		i := g.index(t.V)
		r = g.gp()
		g.places.scaled[t] = r
		g.in(t.V.Block, func() { g.multiply(8, r, i, t.Coef) })
	}
	return r, 1
}

// multiply is dst = a * c for general registers.
func (g *gen) multiply(size int, dst, a asm.Reg, c int64) {
	switch {
	case c > 0 && c&(c-1) == 0:
		g.move(dst, a)
		if c > 1 {
			g.imm(asm.SHL, size, dst, log2(c))
		}
	case c >= math.MinInt32 && c <= math.MaxInt32:
		g.imm(asm.IMULI, size, dst, c, a)
	default:
		g.imm(asm.MOV, size, dst, c)
		g.ins(asm.IMUL, size, dst, a)
	}
}

// index is an integer scalar, sign-extended to 64 bits.
func (g *gen) index(v *ir.Value) asm.Reg {
	g.need(v)
	s := &g.vals[v.ID]
	if v.Kind.Register() != ir.I32 {
		return s.reg // 32-bit writes zero-extend
	}
	if s.index == 0 {
		r := g.gp()
		g.in(v.Block, func() { g.ins(asm.MOVSXD, 8, r, g.vals[v.ID].reg) })
		g.vals[v.ID].index = r
	}
	return g.vals[v.ID].index
}

// baseOf is the address in the i-th argument. Buffers may share it: scratch memory, or views of another kind.
func (g *gen) baseOf(i int) asm.Reg {
	r := g.places.args[i]
	if r == 0 {
		r = g.argument(i)
		g.places.args[i] = r
	}
	return r
}

// argument loads the i-th word of the arguments.
func (g *gen) argument(i int) asm.Reg {
	r := g.gp()
	g.in(g.k.Root, func() { g.from(asm.MOV, 8, r, asm.Mem{Base: g.args, Disp: int32(8 * i)}) })
	return r
}
