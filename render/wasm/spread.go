package wasm

import (
	"slices"

	"polygrad/core/uop"
)

// Spreading one element over a register takes four instructions, and a product
// of matrices does that for every element of its first factor again for every
// few columns of the second. Where the elements that an inner loop spreads do
// not depend on the loop around it, they are spread once, before that loop, and
// kept in scratch memory as whole registers.

const (
	// spreadBytes is up to how much scratch memory is used: what stays in the nearest caches.
	spreadBytes = 128 << 10
	// spreadTurns is how often a spread element must be used to be worth storing.
	spreadTurns = 4
)

// spread finds such loops.
func (g *graph) spread(k *Kernel) {
	splats := g.splats()
	for _, b := range g.blocks() {
		inner := b.loop
		if inner == nil || b.parent.loop == nil || slices.ContainsFunc(b.items, func(it item) bool { return it.loop != nil }) {
			continue
		}
		outer := b.parent.loop
		if inner.count.op != uop.ConstOp || outer.count.op != uop.ConstOp || outer.count.bits[0] < spreadTurns {
			continue
		}
		var vs []*value
		for _, v := range splats[b] {
			if !slices.ContainsFunc(v.args[0].at.terms, func(t term) bool {
				return t.v != inner.iter && t.v.home.depth >= outer.body.depth
			}) {
				vs = append(vs, v)
			}
		}
		bytes := int64(inner.count.bits[0]) * int64(len(vs)) * 16
		if len(vs) == 0 || bytes > spreadBytes {
			continue
		}
		g.spreadBefore(outer, inner, vs, k)
	}
}

// splats lists the vectors of one loaded float that the kernel needs, by the block they are made in.
func (g *graph) splats() map[*block][]*value {
	out := map[*block][]*value{}
	g.visit(func(v *value) {
		if v.op != opSplat || v.kind != kF32 {
			return
		}
		if l := v.args[0]; l.op == uop.Load && l.at.gate == nil && l.at.pos == 0 {
			out[v.home] = append(out[v.home], v)
		}
	}, nil)
	return out
}

// spreadBefore makes a loop before outer that stores the vectors, and turns
// them into loads of what it stored.
func (g *graph) spreadBefore(outer, inner *loop, vs []*value, k *Kernel) {
	n := int64(len(vs))
	g.nbuf++
	buf := &buffer{id: g.nbuf, kind: kF32, size: int64(inner.count.bits[0]) * n * 4, param: -1, offset: int64(k.Scratch), read: true, written: true}
	k.Scratch += int(buf.size * 4)
	l := &loop{count: inner.count}
	parent := outer.body.parent
	l.body = &block{parent: parent, loop: l, depth: parent.depth + 1}
	l.iter = g.add(&value{op: uop.Range, kind: inner.iter.kind, lanes: 1, loop: l, home: l.body})
	for j, v := range vs {
		at := v.args[0].at
		terms := slices.Clone(at.terms)
		for i := range terms {
			if terms[i].v == inner.iter {
				terms[i].v = l.iter
			}
		}
		slices.SortFunc(terms, func(a, b term) int { return int(a.v.id - b.v.id) })
		load := g.load(kF32, 1, &place{group: g.groupOf(at.buf, terms), off: at.off}, nil)
		to := &place{group: g.groupOf(buf, []term{{l.iter, 4 * n}}), off: 4 * int64(j)}
		l.body.items = append(l.body.items, item{store: &store{at: to, val: g.splat(load), pos: j + 1}})
		v.op, v.args = uop.Load, nil
		v.at = &place{group: g.groupOf(buf, []term{{inner.iter, 4 * n}}), off: 4 * int64(j)}
	}
	i := slices.IndexFunc(parent.items, func(it item) bool { return it.loop == outer })
	parent.items = slices.Insert(parent.items, i, item{loop: l})
}
