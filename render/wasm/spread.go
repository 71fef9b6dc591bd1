package wasm

import (
	"slices"

	"polygrad/core/uop"
)

// Some vectors are dear to get from memory: an element spread over a register
// takes four instructions, four elements that are not neighbours take seven, and
// a walk down the columns of a large matrix misses the caches at every step.
// Inner loops of products of matrices need such vectors again and again: those
// of the first factor do not depend on the loop over columns, those of the
// second not on the loop over rows. Where a loop around does not matter to a
// vector, it is made once before that loop, with all others of its kind, and
// kept in scratch memory in the order of use.

const (
	// spreadBytes is how much scratch memory spread elements may take: they
	// should stay in the nearest caches, since each is four times as long as its source.
	spreadBytes = 128 << 10
	// packBytes is the same for other vectors, which take no more room than before.
	packBytes = 32 << 20
	// spreadTurns is how often a vector must be used to be worth storing.
	spreadTurns = 4
	// farStep and farTurns make a walk: so many bytes from one vector to the next, so many times.
	farStep  = 1 << 10
	farTurns = 64
)

// early says where a vector can be made before its turn.
type early struct {
	before *loop   // the loop that does not matter to it
	inside []*loop // the loops inside of that which do, from the outermost
}

// trips is how many such vectors there are.
func (e early) trips() int64 {
	n := int64(1)
	for _, l := range e.inside {
		n *= int64(l.count.bits[0])
	}
	return n
}

// earlier finds the outermost loop before which a vector can be made.
func (g *graph) earlier(v *value) (e early, ok bool) {
	if v.kind != kF32 || v.lanes != 4 || v.home.loop == nil || !v.dear() {
		return e, false
	}
	for _, at := range v.sources() {
		if at.gate != nil || at.pos > 0 {
			return e, false
		}
	}
	var chain []*loop
	for b := v.home; b.loop != nil; b = b.parent {
		if b.loop.count.op != uop.ConstOp {
			return e, false
		}
		chain = append(chain, b.loop)
	}
	slices.Reverse(chain)
	for i, l := range chain[:len(chain)-1] {
		if v.mattersTo(l) || l.count.bits[0] < spreadTurns {
			continue
		}
		e = early{before: l}
		for _, in := range chain[i+1:] {
			if v.mattersTo(in) {
				e.inside = append(e.inside, in)
			}
		}
		if 16*e.trips() <= v.room() && v.onlyIterators(e) {
			return e, true
		}
	}
	return e, false
}

// dear reports whether a vector is one of those that are worth making early.
func (v *value) dear() bool {
	switch v.op {
	case opSplat, opGather:
		return !slices.ContainsFunc(v.args, func(a *value) bool { return a.op != uop.Load })
	case uop.Load:
		l := v.home.loop
		return l.count.op == uop.ConstOp && l.count.bits[0] >= farTurns && slices.ContainsFunc(v.at.terms, func(t term) bool {
			return t.v == l.iter && max(t.coef, -t.coef)*v.kind.Size() >= farStep
		})
	}
	return false
}

// sources are the places that a vector is made from.
func (v *value) sources() []*place {
	if v.op == uop.Load {
		return []*place{v.at}
	}
	out := make([]*place, len(v.args))
	for i, a := range v.args {
		out[i] = a.at
	}
	return out
}

// room is how much scratch memory vectors of this kind may take.
func (v *value) room() int64 {
	if v.op == opSplat {
		return spreadBytes
	}
	return packBytes
}

// mattersTo reports whether the places that a vector is made from move with a loop.
func (v *value) mattersTo(l *loop) bool {
	for _, at := range v.sources() {
		for _, t := range at.terms {
			if t.v == l.iter {
				return true
			}
		}
	}
	return false
}

// onlyIterators reports whether what the places depend on is known before a loop,
// but for the iterators of loops inside.
func (v *value) onlyIterators(e early) bool {
	for _, at := range v.sources() {
		for _, t := range at.terms {
			if t.v.home.depth >= e.before.body.depth && !slices.ContainsFunc(e.inside, func(l *loop) bool { return l.iter == t.v }) {
				return false
			}
		}
	}
	return true
}

// batch is vectors that are made before the same loop by the same loops.
type batch struct {
	early
	vs []*value
}

// spread makes vectors of innermost loops before their turn.
func (g *graph) spread(k *Kernel) {
	var batches []*batch
	g.visit(func(v *value) {
		e, ok := g.earlier(v)
		if !ok || slices.ContainsFunc(v.home.items, func(it item) bool { return it.loop != nil }) {
			return
		}
		same := func(b *batch) bool {
			return b.before == e.before && slices.Equal(b.inside, e.inside) && b.vs[0].op == v.op
		}
		i := slices.IndexFunc(batches, same)
		if i < 0 {
			i = len(batches)
			batches = append(batches, &batch{early: e})
		}
		batches[i].vs = append(batches[i].vs, v)
	}, nil)
	for _, b := range batches {
		if 16*b.trips()*int64(len(b.vs)) <= b.vs[0].room() {
			g.makeEarly(b, k)
		}
	}
}

// makeEarly makes loops before the one that does not matter, which store the
// vectors, and turns the vectors into loads of what those stored.
func (g *graph) makeEarly(b *batch, k *Kernel) {
	n := int64(len(b.vs))
	g.nbuf++
	buf := &buffer{id: g.nbuf, kind: kF32, size: b.trips() * n * 4, param: -1, offset: int64(k.Scratch), read: true, written: true}
	k.Scratch += int(buf.size * 4)
	parent := b.before.body.parent
	inner := parent
	copies := make([]*loop, len(b.inside))
	for i, in := range b.inside {
		l := &loop{count: in.count}
		l.body = &block{parent: inner, loop: l, depth: inner.depth + 1}
		l.iter = g.add(&value{op: uop.Range, kind: in.iter.kind, lanes: 1, loop: l, home: l.body})
		copies[i], inner = l, l.body
	}
	// index is the place of the first vector in the turn that the loops are at.
	index := func(loops []*loop) *group {
		var terms []term
		step := 4 * n
		for i := len(loops) - 1; i >= 0; i-- {
			terms = append(terms, term{loops[i].iter, step})
			step *= int64(loops[i].count.bits[0])
		}
		sortTerms(terms)
		return g.groupOf(buf, terms)
	}
	to, from := index(copies), index(b.inside)
	for j, v := range b.vs {
		moved := func(at *place) *place {
			terms := slices.Clone(at.terms)
			for t := range terms {
				for c, in := range b.inside {
					if terms[t].v == in.iter {
						terms[t].v = copies[c].iter
					}
				}
			}
			sortTerms(terms)
			return &place{group: g.groupOf(at.buf, terms), off: at.off}
		}
		var vec *value
		if v.op == uop.Load {
			vec = g.load(kF32, 4, moved(v.at), nil)
		} else {
			args := make([]*value, len(v.args))
			for i, a := range v.args {
				args[i] = g.load(kF32, 1, moved(a.at), nil)
			}
			vec = g.intern(value{op: v.op, kind: v.kind, lanes: 4}, args...)
		}
		inner.items = append(inner.items, item{store: &store{at: &place{group: to, off: 4 * int64(j)}, val: vec, pos: j + 1}})
		v.op, v.args = uop.Load, nil
		v.at = &place{group: from, off: 4 * int64(j)}
	}
	for i := len(copies) - 1; i > 0; i-- {
		copies[i-1].body.items = append(copies[i-1].body.items, item{loop: copies[i]})
	}
	at := slices.IndexFunc(parent.items, func(it item) bool { return it.loop == b.before })
	parent.items = slices.Insert(parent.items, at, item{loop: copies[0]})
}

func sortTerms(ts []term) { slices.SortFunc(ts, func(a, b term) int { return int(a.v.id - b.v.id) }) }
