package wasm

import (
	"fmt"

	"polygrad/core/kinds"
	"polygrad/core/uop"
)

// importer turns a linear list into values, blocks and loops: vectors become
// scalars, registers become SSA values, indices become places, and innermost
// loops are unrolled, so that the packer finds neighbours to put into vectors.
type importer struct {
	*graph
	k    *Kernel
	bufs map[*uop.UOp]*buffer
	vars map[string]int
	cur  *block
	pos  int
	// copies are the iterations of a loop that are imported side by side, in
	// most places just one. env is the one at work.
	copies []*env
	env    *env
}

// env is what the operations of the list mean in one copy of a loop's body.
type env struct {
	vals  map[*uop.UOp][]*value
	ptrs  map[*uop.UOp]pointer
	regs  map[regSlot]*value
	gate  *value
	outer *env
}

func newEnv(outer *env, n int) *env {
	return &env{vals: make(map[*uop.UOp][]*value, n), ptrs: make(map[*uop.UOp]pointer, n/2), regs: map[regSlot]*value{}, outer: outer}
}

func (e *env) val(u *uop.UOp) []*value {
	for ; e != nil; e = e.outer {
		if v := e.vals[u]; v != nil {
			return v
		}
	}
	return nil
}

func (e *env) ptr(u *uop.UOp) (pointer, bool) {
	for ; e != nil; e = e.outer {
		if p, ok := e.ptrs[u]; ok {
			return p, true
		}
	}
	return pointer{}, false
}

func (e *env) reg(s regSlot) *value {
	for ; e != nil; e = e.outer {
		if v := e.regs[s]; v != nil {
			return v
		}
	}
	return nil
}

// pointer is the value of an INDEX: an element of a buffer or of a register.
type pointer struct {
	buf  *buffer
	reg  *uop.UOp
	idx  *affine
	gate *value
	// count is how many scalars one element of the buffer has.
	count int64
}

// regSlot is one scalar of a DEFINE_REG.
type regSlot struct {
	reg *uop.UOp
	i   int64
}

// badList is what importing panics with when the list is not what lowering makes.
type badList struct{ error }

func fail(format string, args ...any) { panic(badList{fmt.Errorf(format, args...)}) }

func (im *importer) run(list []*uop.UOp) error {
	root, err := regionsOf(list)
	if err != nil {
		return err
	}
	im.findBuffers(list)
	im.cur = im.root
	im.copies = []*env{newEnv(nil, len(list))}
	im.body(root)
	return nil
}

// findBuffers numbers the buffers and learns which are written before anything is read.
func (im *importer) findBuffers(list []*uop.UOp) {
	constIndex := func(u *uop.UOp) bool { return u.Src[1].Op == uop.ConstOp }
	for _, u := range list {
		switch u.Op {
		case uop.Param:
			b := &buffer{kind: kindOf(u.DType.Base()), size: u.DType.Size, param: len(im.k.Params)}
			im.addBuffer(u, b)
			im.k.Params = append(im.k.Params, Param{DType: u.DType.Base(), Slot: int(u.Arg.(uop.Num)), Size: u.DType.Size})
		case uop.DefineLocal:
			im.addScratch(u)
		case uop.DefineVar:
			im.addVar(u)
		case uop.Index:
			if d := definition(u); d.Op == uop.DefineReg && !constIndex(u) && im.bufs[d] == nil {
				im.addScratch(d)
			}
		case uop.Store:
			if b := im.bufs[definition(u.Src[0])]; b != nil {
				b.written = true
			}
		case uop.Load:
			if b := im.bufs[definition(u.Src[0])]; b != nil {
				b.read = true
			}
		}
	}
	for _, u := range list {
		if b := im.bufs[u]; b != nil && b.param >= 0 {
			im.k.Params[b.param].Read, im.k.Params[b.param].Written = b.read, b.written
		}
	}
}

// definition is the PARAM or DEFINE below a pointer.
func definition(u *uop.UOp) *uop.UOp {
	for !uop.GroupDefines.Has(u.Op) && len(u.Src) > 0 {
		u = u.Src[0]
	}
	return u
}

func (im *importer) addBuffer(u *uop.UOp, b *buffer) {
	im.nbuf++
	b.id = im.nbuf
	im.bufs[u] = b
}

func (im *importer) addScratch(u *uop.UOp) {
	dt := u.DType.Base()
	b := &buffer{kind: kindOf(dt.Scalar()), size: u.DType.Size * int64(dt.Count), param: -1, offset: int64(im.k.Scratch), written: true, read: true}
	im.k.Scratch += int((b.size*b.kind.Size() + 63) &^ 63)
	im.addBuffer(u, b)
}

const coreID = "core_id"

func (im *importer) addVar(u *uop.UOp) {
	v := u.Arg.(uop.VarArg)
	if v.Name == coreID {
		im.k.Threads = int(v.Max.I()) + 1
		return
	}
	im.vars[v.Name] = len(im.k.Vars)
	im.k.Vars = append(im.k.Vars, Var{Name: v.Name, DType: u.DType, Min: v.Min.I(), Max: v.Max.I()})
}

func kindOf(dt *uop.DType) kind {
	k, ok := kinds.Of[dt.Scalar()]
	if !ok {
		fail("dtype %s cannot be rendered", dt)
	}
	return k
}

func (im *importer) body(r *region) {
	for _, p := range r.parts {
		if p.sub != nil {
			im.loop(p.sub)
		} else {
			for _, e := range im.copies {
				im.env = e
				im.one(p.u)
			}
		}
	}
}

// loop imports a loop: as copies of its body, as a loop whose body is copied
// several times with the rest after it, or as it is.
func (im *importer) loop(r *region) {
	n := r.trip()
	if r.whole() {
		im.repeat(r, im.iterConst(r, 0), n)
		return
	}
	k := kindOf(r.rng.DType)
	if u := im.jam(r); u > 1 {
		im.loopOf(r, im.constant(k, uint64(n/u)), func(iter *value) { im.abreast(r, iter, u) })
		return
	}
	u := r.unroll(len(im.copies))
	if u == 1 {
		im.env = im.copies[0]
		count := im.scalar(r.rng.Src[0])
		im.loopOf(r, count, func(iter *value) { im.repeat(r, iter, 1) })
		return
	}
	im.loopOf(r, im.constant(k, uint64(n/u)), func(iter *value) {
		im.repeat(r, im.op(uop.Mul, k, 1, iter, im.constant(k, uint64(u))), u)
	})
	im.repeat(r, im.iterConst(r, n-n%u), n%u)
}

func (im *importer) iterConst(r *region, v int64) *value {
	return im.constant(kindOf(r.rng.DType), uint64(v))
}

// repeat imports n bodies one after the other, with the range at start, start+1, …
func (im *importer) repeat(r *region, start *value, n int64) {
	for i := range n {
		v := im.plus(start, i)
		for _, e := range im.copies {
			e.vals[r.rng] = []*value{v}
		}
		im.body(r)
	}
}

// abreast imports n bodies side by side, with the range at n*iter, n*iter+1, …:
// loops inside become one loop that does the work of all.
func (im *importer) abreast(r *region, iter *value, n int64) {
	outer := im.copies
	start := im.op(uop.Mul, iter.kind, 1, iter, im.constant(iter.kind, uint64(n)))
	im.copies = make([]*env, n)
	for i := range im.copies {
		im.copies[i] = newEnv(outer[0], 16)
		im.copies[i].vals[r.rng] = []*value{im.plus(start, int64(i))}
	}
	im.body(r)
	im.copies = outer
}

func (im *importer) plus(v *value, n int64) *value {
	switch {
	case n == 0:
		return v
	case v.op == uop.ConstOp:
		return im.constant(v.kind, v.bits[0]+uint64(n))
	}
	return im.op(uop.Add, v.kind, 1, v, im.constant(v.kind, uint64(n)))
}

// loopOf makes a loop. Registers that its body stores to become variables of it.
func (im *importer) loopOf(r *region, count *value, body func(iter *value)) {
	l := &loop{count: count}
	l.body = &block{parent: im.cur, loop: l, depth: im.cur.depth + 1}
	l.iter = im.add(&value{op: uop.Range, kind: kindOf(r.rng.DType), lanes: 1, loop: l, home: l.body})
	type carried struct {
		e *env
		s regSlot
		p *phi
	}
	var vars []carried
	for _, e := range im.copies {
		seen := map[regSlot]bool{}
		im.storedRegs(r, func(s regSlot, k kind) {
			if seen[s] {
				return
			}
			seen[s] = true
			init := e.reg(s)
			if init == nil {
				init = im.constant(k, 0)
			}
			vars = append(vars, carried{e, s, im.newPhi(l, init)})
		})
	}
	for _, c := range vars {
		c.e.regs[c.s] = c.p.v
	}
	outer := im.cur
	im.cur = l.body
	body(l.iter)
	im.cur = outer
	im.cur.items = append(im.cur.items, item{loop: l})
	for _, c := range vars {
		c.p.next = c.e.regs[c.s]
		c.e.regs[c.s] = im.final(c.p.v)
	}
}

// storedRegs calls f for every register slot that a region stores to.
func (im *importer) storedRegs(r *region, f func(regSlot, kind)) {
	for _, p := range r.parts {
		switch {
		case p.sub != nil:
			im.storedRegs(p.sub, f)
		case p.u.Op == uop.Store:
			d := definition(p.u.Src[0])
			if d.Op != uop.DefineReg || im.bufs[d] != nil {
				continue
			}
			ix := p.u.Src[0]
			for ix.Op == uop.Cast {
				ix = ix.Src[0]
			}
			n := int64(d.DType.Base().Count)
			first := ix.Src[1].ConstVal().I() * n
			for i := range int64(p.u.Src[1].DType.Count) {
				f(regSlot{d, first + i}, kindOf(d.DType.Base()))
			}
		}
	}
}

// lanes are the scalars of a value.
func (im *importer) lanes(u *uop.UOp) []*value {
	vs := im.env.val(u)
	if vs == nil {
		fail("%s %s is used before it is defined", u.Op, u.DType)
	}
	return vs
}

func (im *importer) scalar(u *uop.UOp) *value { return im.lanes(u)[0] }

func (im *importer) one(u *uop.UOp) {
	switch u.Op {
	case uop.Param, uop.DefineLocal, uop.DefineReg:
		im.env.ptrs[u] = im.define(u)
	case uop.Index:
		im.env.ptrs[u] = im.index(u)
	case uop.After, uop.Noop:
		if len(u.Src) == 0 {
			return
		}
		if p, ok := im.env.ptr(u.Src[0]); ok {
			im.env.ptrs[u] = p
		} else if v := im.env.val(u.Src[0]); v != nil {
			im.env.vals[u] = v
		}
	case uop.Sink, uop.Group, uop.Barrier:
	case uop.If:
		im.env.gate = im.scalar(u.Src[0])
	case uop.EndIf:
		im.env.gate = nil
	case uop.Store:
		im.store(u)
	default:
		if u.Op == uop.Cast && u.DType.IsPtr() {
			im.env.ptrs[u], _ = im.env.ptr(u.Src[0])
			return
		}
		im.env.vals[u] = im.eval(u)
	}
}

func (im *importer) define(u *uop.UOp) pointer {
	p := pointer{buf: im.bufs[u], idx: &affine{}, count: int64(u.DType.Base().Count)}
	if p.buf == nil {
		p.reg = u
	}
	return p
}

func (im *importer) index(u *uop.UOp) pointer {
	p, ok := im.env.ptr(u.Src[0])
	if !ok {
		fail("INDEX into %s", u.Src[0].Op)
	}
	if len(u.Src) < 2 || u.Src[1].DType.Count != 1 {
		fail("INDEX needs one scalar index")
	}
	p.idx = p.idx.plus(im.affineOf(im.scalar(u.Src[1])).times(p.count), 1)
	if len(u.Src) > 2 {
		p.gate = im.scalar(u.Src[2])
	}
	return p
}

// place is scalar i of what p points to.
func (im *importer) place(p pointer, i int64) *place {
	im.pos++
	at := &place{group: im.groupOf(p.buf, p.idx.terms), off: p.idx.off + i, gate: p.gate}
	if p.gate != nil && p.gate.op == uop.ConstOp && p.gate.bits[0] != 0 {
		at.gate = nil
	}
	if p.buf.written {
		at.pos = im.pos
	}
	return at
}

func (im *importer) loads(u *uop.UOp) []*value {
	p, ok := im.env.ptr(u.Src[0])
	if !ok {
		fail("LOAD from %s", u.Src[0].Op)
	}
	out := make([]*value, u.DType.Count)
	k := kindOf(u.DType)
	for i := range out {
		if p.reg != nil {
			out[i] = im.readReg(p, int64(i), k)
			continue
		}
		if p.buf.kind != k {
			fail("LOAD of %s from a buffer of another type", u.DType)
		}
		at := im.place(p, int64(i))
		var alt *value
		if at.gate != nil {
			alt = im.constant(k, 0)
			if len(u.Src) > 1 {
				alt = at1(im.lanes(u.Src[1]), i)
			}
			if at.gate.op == uop.ConstOp {
				out[i] = alt
				continue
			}
		}
		v := im.load(k, 1, at, alt)
		if at.pos > 0 {
			v.home = im.cur
			im.cur.items = append(im.cur.items, item{load: v})
		}
		out[i] = v
	}
	return out
}

// at1 is element i of a vector, or a scalar that stands for all of them.
func at1(vs []*value, i int) *value {
	if len(vs) == 1 {
		return vs[0]
	}
	return vs[i]
}

func (im *importer) readReg(p pointer, i int64, k kind) *value {
	s := regSlot{p.reg, p.idx.off + i}
	if v := im.env.reg(s); v != nil {
		return v
	}
	return im.constant(k, 0)
}

func (im *importer) store(u *uop.UOp) {
	p, ok := im.env.ptr(u.Src[0])
	if !ok {
		fail("STORE to %s", u.Src[0].Op)
	}
	vals := im.lanes(u.Src[1])
	if p.gate == nil {
		p.gate = im.env.gate
	}
	for i, v := range vals {
		if p.reg != nil {
			im.env.regs[regSlot{p.reg, p.idx.off + int64(i)}] = v
			continue
		}
		if p.buf.kind != v.kind {
			fail("STORE of %s to a buffer of another type", u.Src[1].DType)
		}
		at := im.place(p, int64(i))
		gate := at.gate
		if gate != nil && gate.op == uop.ConstOp {
			continue
		}
		at.gate = nil
		im.cur.items = append(im.cur.items, item{store: &store{at: at, val: v, gate: gate, pos: im.pos}})
	}
}

func (im *importer) eval(u *uop.UOp) []*value {
	switch u.Op {
	case uop.ConstOp:
		k := kindOf(u.DType)
		return repeat(im.constant(k, k.Bits(u.ConstVal())), u.DType.Count)
	case uop.VConstOp:
		k := kindOf(u.DType)
		var out []*value
		for _, c := range u.Arg.(uop.Consts) {
			out = append(out, im.constant(k, k.Bits(c)))
		}
		return out
	case uop.DefineVar:
		return []*value{im.variable(u)}
	case uop.Load:
		return im.loads(u)
	case uop.Vectorize:
		var out []*value
		for _, s := range u.Src {
			out = append(out, im.scalar(s))
		}
		return out
	case uop.Gep:
		src := im.lanes(u.Src[0])
		var out []*value
		for _, i := range u.Arg.(uop.Nums) {
			out = append(out, src[i])
		}
		return out
	}
	if !supported.Has(u.Op) {
		fail("operation %s is not for the renderer", u.Op)
	}
	k := kindOf(u.DType)
	out := make([]*value, u.DType.Count)
	for i := range out {
		args := make([]*value, len(u.Src))
		for j, s := range u.Src {
			args[j] = at1(im.lanes(s), i)
		}
		out[i] = im.alu(u.Op, k, args)
	}
	return out
}

func repeat(v *value, n int) []*value {
	out := make([]*value, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func (im *importer) variable(u *uop.UOp) *value {
	v := u.Arg.(uop.VarArg)
	n := uint64(len(im.k.Vars))
	if i, ok := im.vars[v.Name]; ok {
		n = uint64(i)
	}
	return im.intern(value{op: uop.DefineVar, kind: kindOf(u.DType), lanes: 1, bits: [2]uint64{n}})
}

func (im *importer) alu(op uop.Op, k kind, args []*value) *value {
	if op == uop.Reciprocal {
		one := im.constant(k, k.Bits(uop.Float(1)))
		return im.op(uop.Fdiv, k, 1, one, args[0])
	}
	return im.op(op, k, 1, args...)
}
