package emit

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/uop"
)

// prefetch prefetches what loads read, so many bytes ahead, one cache line at a time.
func (im *emitter) prefetch(loads []*uop.UOp, copies []*env, ahead int64) {
	type place struct {
		buf  *ir.Buffer
		line int64
	}
	asked := map[place]bool{}
	for _, u := range loads {
		for _, e := range copies {
			im.env = e
			t := im.target(u.Src[0])
			l := im.addressOf(t.index)
			if l.lane != 1 || l.index != nil {
				break // the remainder is scalar
			}
			size := t.buf.Kind.Size()
			if at := (place{t.buf, l.off * size / plan.Line}); !asked[at] {
				asked[at] = true
				im.Prefetch(&ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off + ahead/size})
			}
		}
	}
}

// prefetchNextRow prefetches what loads read in the next iteration around a tile. The places of rows may be loaded: behind the last iteration
// none are.
func (im *emitter) prefetchNextRow(p *openBand, copies []*env) {
	if p.NextRow == nil {
		return
	}
	rng := p.RowsOf.Region.Rng
	next := inside(copies)
	for _, e := range next {
		at, _ := e.linear(rng)
		at.off++
		im.env = e.outer
		last := im.Do(ir.Add, ir.I64, im.count(p.RowsOf.Region), im.Int(ir.I64, -1))
		v := im.valueOf(at, ir.I64)
		v = im.ALU(ir.Where, ir.I64, im.Do(ir.Less, ir.Bool, v, last), v, last)
		e.linears.set(rng, linear{terms: []ir.Term{{V: v, Coef: 1}}})
	}
	im.prefetch(p.NextRow, next, 0)
}

// prefetchWindows prefetches what an iteration of a walked axis adds to windows, some iterations ahead.
func (im *emitter) prefetchWindows(p *openBand, around *env) {
	if p.Windows == nil {
		return
	}
	outer := im.env
	im.env = newEnv(around)
	for _, a := range p.Axes {
		if !a.Plain() {
			im.env.linears.set(a.Region.Rng, linear{})
		}
	}
	im.begin(p.Leaf)
	for _, w := range p.Windows {
		t := im.target(w.U.Src[0])
		l := im.addressOf(t.index)
		if l.lane != 0 || l.index != nil {
			continue
		}
		size := t.buf.Kind.Size()
		for at := int64(0); at < w.Bytes; at += plan.Line {
			im.Prefetch(&ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off + (plan.AheadBytes+at)/size})
		}
	}
	im.env = outer
}

// prefetchNextTile prefetches what an iteration of a tile's sums reads in the next tile. What this tile and the next one share is there.
func (im *emitter) prefetchNextTile(r *analysis.Region, e *env) {
	n := im.planned.ReductionOf[r]
	if n == nil || n.NextTile == nil || im.at == nil {
		return
	}
	outer := im.env
	im.env = newEnv(e)
	im.begin(r)
	for _, u := range n.NextTile {
		t := im.target(u.Src[0])
		l := im.addressOf(t.index)
		if l.lane < 1 || l.index != nil {
			continue
		}
		tile := im.at.Vec.Tile() * l.lane
		for at := int64(0); at < tile; at += plan.Line / t.buf.Kind.Size() {
			im.Prefetch(&ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off + 2*tile + at})
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
