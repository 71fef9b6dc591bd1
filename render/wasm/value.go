package wasm

import (
	"polygrad/core/intern"
	"polygrad/core/uop"
)

// The renderer works on values in SSA form: a value is one scalar of the
// kernel, or, once packed, a vector of 4 (2 for 64-bit kinds) of them. Pure
// values are interned and float freely; where they are computed is decided at
// the end, as far out of the loops as their arguments allow.
type value struct {
	op    uop.Op
	kind  kind
	lanes uint8
	loop  *loop // of a phi or an iterator
	id    int32
	args  []*value
	bits  [2]uint64 // constant, or number of a variable, or lanes of a shuffle
	at    *place    // of a load
	home  *block

	mark int32 // the last walk over the graph that came by
	uses int32 // how often reachable values use it, as last counted
	inst *inst // what computes it
}

// Operations of values beyond those of UOps. Load, ConstOp and DefineVar keep
// their meaning; Range is the iterator of a loop.
const (
	opPhi     = uop.NumAllOps + iota // a variable of a loop
	opFinal                          // args[0] is a phi: its value after the loop
	opSplat                          // a scalar in every lane
	opGather                         // a vector of scalars
	opExtract                        // lane bits[0] of a vector
	opShuffle                        // lanes bits[0] (a byte each) of two vectors
	opPick                           // args[0] < args[1] ? args[1] : args[0] of floats
)

// block is a sequence of effects: the body of the kernel or of a loop.
type block struct {
	parent *block
	loop   *loop
	depth  int
	items  []item
}

// item is one effect: a store, a loop, or a load that must not pass stores.
type item struct {
	store *store
	loop  *loop
	load  *value
}

// loop runs its body count times with an iterator from 0.
type loop struct {
	body  *block
	iter  *value
	count *value
	phis  []*phi
}

// phi is a variable of a loop: its value at first, and for the next iteration.
type phi struct {
	v          *value
	init, next *value
}

type store struct {
	at   *place
	val  *value
	gate *value
	pos  int
}

// buffer is memory that a kernel reads or writes.
type buffer struct {
	id      int32
	kind    kind
	size    int64 // elements, -1 if unknown
	param   int   // argument number, -1 for scratch memory
	offset  int64 // in scratch memory
	written bool
	read    bool
}

// term is one variable of an index.
type term struct {
	v    *value
	coef int64
}

// group is the variable part of an index into a buffer. Accesses of a group
// differ by constants only.
type group struct {
	id    int32
	buf   *buffer
	terms []term
}

// place is where a load or store goes: element off of a group.
type place struct {
	*group
	off  int64
	gate *value
	pos  int // of a load that is pinned: its place in the order of its block, from 1
}

type valueKey struct {
	op    uop.Op
	kind  kind
	lanes uint8
	args  [4]int32
	bits  [2]uint64
	group int32
	off   int64
}

func (k valueKey) Hash() uint64 {
	h := intern.Mix(uint64(k.op)<<16|uint64(k.kind)<<8|uint64(k.lanes), uint64(k.args[0])<<32|uint64(k.args[1]))
	h = intern.Mix(h, uint64(k.args[2])<<32|uint64(k.args[3]))
	h = intern.Mix(intern.Mix(h, k.bits[0]), k.bits[1])
	return intern.Mix(intern.Mix(h, uint64(k.group)), uint64(k.off))
}

// graph makes values.
type graph struct {
	root   *block
	table  intern.Table[valueKey, value]
	args   []*value // where the arguments of the next values stay
	groups map[string]*group
	nextID int32
	nbuf   int32
	walks  int32
	affine map[*value]*affine
}

// newGraph makes a graph for about n values.
func newGraph(n int) *graph {
	return &graph{root: &block{}, table: intern.NewTable[valueKey, value](n), groups: map[string]*group{}, affine: make(map[*value]*affine, n/4)}
}

// walk starts a walk over the graph; first then tells whether it comes to a value for the first time.
func (g *graph) walk() walk {
	g.walks++
	return walk(g.walks)
}

type walk int32

func (w walk) first(v *value) bool {
	if v.mark == int32(w) {
		return false
	}
	v.mark = int32(w)
	return true
}

func (g *graph) add(v *value) *value {
	g.nextID++
	v.id = g.nextID
	if v.home == nil {
		v.home = g.root
		for _, a := range v.args {
			if a.home.depth > v.home.depth {
				v.home = a.home
			}
		}
	}
	return v
}

// intern returns the value equal to v with these arguments, adding it if there is none.
func (g *graph) intern(v value, args ...*value) *value {
	k := valueKey{op: v.op, kind: v.kind, lanes: v.lanes, bits: v.bits}
	for i, a := range args {
		k.args[i] = a.id
	}
	if v.at != nil {
		k.group, k.off = v.at.id, v.at.off
	}
	o, found := g.table.Find(k, v)
	if found {
		return o
	}
	o.args = g.keepArgs(args)
	return g.add(o)
}

// argsRoom is how many arguments get room at a time; a value has fewer.
const argsRoom = 128

func (g *graph) keepArgs(args []*value) []*value {
	n := len(args)
	if n == 0 {
		return nil
	}
	if len(g.args) < n {
		g.args = make([]*value, argsRoom)
	}
	kept := g.args[:n:n]
	g.args = g.args[n:]
	copy(kept, args)
	return kept
}

func (g *graph) op(op uop.Op, k kind, lanes uint8, args ...*value) *value {
	if op == uop.Where {
		if v := g.choice(k, lanes, args[0], args[1], args[2]); v != nil {
			return v
		}
	}
	return g.intern(value{op: op, kind: k, lanes: lanes}, args...)
}

// choice is the value of a choice that has a shorter form: the greater of two values, and where 0 < x or x is NaN
// x, else 0. Nil for others.
func (g *graph) choice(k kind, lanes uint8, cond, a, b *value) *value {
	greater := uop.Max
	if k.Float() {
		greater = opPick
	}
	if cond.op == uop.CmpLt && cond.args[0] == b && cond.args[1] == a {
		return g.op(greater, k, lanes, b, a)
	}
	if cond.op != uop.Or || !k.Float() || b.op != uop.ConstOp || b.bits != [2]uint64{} {
		return nil
	}
	for i, c := range cond.args {
		isNaN := cond.args[1-i]
		if c.op == uop.CmpLt && c.args[0] == b && c.args[1] == a && isNaN.op == uop.CmpNe && isNaN.args[0] == a && isNaN.args[1] == a {
			// The sum makes 0 of -0.
			return g.op(uop.Add, k, lanes, g.op(opPick, k, lanes, a, b), b)
		}
	}
	return nil
}

func (g *graph) constant(k kind, bits uint64) *value {
	return g.intern(value{op: uop.ConstOp, kind: k, lanes: 1, bits: [2]uint64{bits}})
}

func (g *graph) int32(v int64) *value { return g.constant(kI32, kI32.Wrap(v)) }

// splatN is a scalar in every lane of a vector.
func (g *graph) splatN(v *value, n uint8) *value {
	if v.op == uop.ConstOp {
		return g.constVector(v.kind, n, v, v, v, v)
	}
	return g.intern(value{op: opSplat, kind: v.kind, lanes: n}, v)
}

// constVector is a vector of constants. Lanes of bools are masks.
func (g *graph) constVector(k kind, n uint8, lanes ...*value) *value {
	var bits [2]uint64
	for i := range int(n) {
		b := lanes[i].bits[0]
		if k == kBool {
			b = -b
		}
		if n == 2 {
			bits[i] = b
		} else {
			bits[i/2] |= uint64(uint32(b)) << (32 * (i & 1))
		}
	}
	return g.intern(value{op: uop.ConstOp, kind: k, lanes: n, bits: bits})
}

func (g *graph) extract(v *value, lane int) *value {
	switch v.op {
	case opSplat:
		return v.args[0]
	case opGather:
		return v.args[lane]
	}
	return g.intern(value{op: opExtract, kind: v.kind, lanes: 1, bits: [2]uint64{uint64(lane)}}, v)
}

// newPhi makes a variable of a loop.
func (g *graph) newPhi(l *loop, init *value) *phi {
	p := &phi{init: init}
	p.v = g.add(&value{op: opPhi, kind: init.kind, lanes: init.lanes, loop: l, home: l.body})
	l.phis = append(l.phis, p)
	return p
}

func (g *graph) final(p *value) *value {
	return g.intern(value{op: opFinal, kind: p.kind, lanes: p.lanes, home: p.home.parent}, p)
}

// load makes a load. Loads of buffers that the kernel writes are pinned.
func (g *graph) load(k kind, lanes uint8, at *place, alt *value) *value {
	var args []*value
	if at.gate != nil {
		args = []*value{at.gate, alt}
	}
	home := g.root
	deepen := func(o *value) {
		if o.home.depth > home.depth {
			home = o.home
		}
	}
	for _, t := range at.terms {
		deepen(t.v)
	}
	for _, a := range args {
		deepen(a)
	}
	v := value{op: uop.Load, kind: k, lanes: lanes, at: at, home: home}
	if at.pos > 0 {
		v.args = args
		return g.add(g.table.Unique(v))
	}
	return g.intern(v, args...)
}
