package emit

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
)

// prefetch prefetches what copies of an iteration read, by a rule, one cache line at a time.
func (im *emitter) prefetch(r *analysis.Region, rule plan.PrefetchRule, copies []*env) {
	type place struct {
		buf  *ir.Buffer
		line int64
	}
	asked := map[place]bool{}
	for _, q := range im.planned.PrefetchesBy(rule, r) {
		for _, e := range copies {
			im.env = e
			t := im.target(q.Access.Src[0])
			l := im.addressOf(t.index)
			if l.lane != 1 || l.index != nil {
				break // the remainder is scalar
			}
			size := t.buf.Kind.Size()
			if at := (place{t.buf, l.off * size / plan.Line}); !asked[at] {
				asked[at] = true
				im.Prefetch(&ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off + q.Ahead/size})
			}
		}
	}
}

// prefetchNextRow prefetches what loads read in the next iteration of the loop around a tile. That iteration is clamped to the last one, because the
// address of a row may be loaded from memory.
func (im *emitter) prefetchNextRow(p *openBand, copies []*env) {
	if im.planned.PrefetchesBy(plan.NextRow, p.Leaf) == nil {
		return
	}
	rows := p.Levels[len(p.Levels)-2].Axis.Region
	next := inside(copies)
	for _, e := range next {
		at, _ := e.linear(rows.Rng)
		at.off++
		im.env = e.outer
		last := im.Do(ir.Add, ir.I64, im.count(rows), im.Int(ir.I64, -1))
		v := im.valueOf(at, ir.I64)
		v = im.ALU(ir.Where, ir.I64, im.Do(ir.Less, ir.Bool, v, last), v, last)
		e.linears.set(rows.Rng, linear{terms: []ir.Term{{V: v, Coef: 1}}})
	}
	im.prefetch(p.Leaf, plan.NextRow, next)
}

// prefetchWindows prefetches what an iteration of a walked axis adds to windows, some iterations ahead.
func (im *emitter) prefetchWindows(p *openBand, around *env) {
	first := newEnv(around)
	for _, a := range p.Axes {
		if !a.Plain() {
			first.linears.set(a.Region.Rng, linear{})
		}
	}
	im.prefetchBytes(p.Leaf, plan.Window, first, func(lane int64) bool { return lane == 0 })
}

// prefetchNextTile prefetches what an iteration of a tile's sums reads in the next tile. What all lanes share is not prefetched: this tile has loaded
// it.
func (im *emitter) prefetchNextTile(r *analysis.Region, e *env) {
	im.prefetchBytes(r, plan.NextTile, newEnv(e), func(lane int64) bool { return lane > 0 })
}

// prefetchBuckets prefetches where the next elements of buckets go.
func (im *emitter) prefetchBuckets(r *analysis.Region, copies []*env) {
	if im.planned.PrefetchesBy(plan.Counted, r) == nil {
		return
	}
	for _, e := range copies {
		im.prefetchBytes(r, plan.Counted, newEnv(e), func(lane int64) bool { return lane == 0 })
	}
}

// prefetchBytes prefetches a block of bytes for each access of a rule whose stride along the lanes satisfies apart; the loops in the region are at
// their first iteration.
func (im *emitter) prefetchBytes(r *analysis.Region, rule plan.PrefetchRule, e *env, apart func(lane int64) bool) {
	found := im.planned.PrefetchesBy(rule, r)
	if found == nil {
		return
	}
	outer := im.env
	im.env = e
	im.begin(r)
	for _, q := range found {
		t := im.target(q.Access.Src[0])
		l := im.addressOf(t.index)
		if !apart(l.lane) || l.index != nil {
			continue
		}
		size := t.buf.Kind.Size()
		for at := int64(0); at < q.Bytes; at += plan.Line {
			im.Prefetch(&ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off + (q.Ahead+at)/size})
		}
	}
	im.env = outer
}

// begin sets the loops of a region to their first iteration.
func (im *emitter) begin(r *analysis.Region) {
	for _, in := range r.Loops() {
		im.env.linears.set(in.Rng, linear{})
		im.begin(in)
	}
}
