package emit

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
)

// splitK emits a split-K reduction: a pass that initialises the accumulators, one for each part, and one for the epilogue.
func (im *emitter) splitK(p *openBand, e *env) {
	q := p.MultiPass
	pass := func(adding bool, work func(copies []*env)) {
		p.work, p.adding = work, adding
		im.levels(p, q.At, []*env{e})
		p.work, p.adding = nil, false
	}
	pass(false, func(copies []*env) {
		im.bodyBefore(p.Leaf, q.Loop, copies)
		im.saveSums(p, copies)
	})
	n, whole := q.SplitK.Count, q.Loop.Trip()
	part := func(from, parts, count int64) {
		if parts == 0 {
			return
		}
		im.Builder.Loop(q.Loop.Label()+" parts", im.Int(ir.I64, parts), func(l *ir.Loop) {
			p.part = span{linear{terms: []ir.Term{{V: l.Iter, Coef: n}}, off: from}, count}
			pass(true, func(copies []*env) {
				im.reloadSums(p, copies)
				im.reduce(q.Loop, copies)
				im.saveSums(p, copies)
			})
		})
	}
	part(0, whole/n, n)
	part(whole/n*n, min(whole%n, 1), whole%n)
	p.part = span{}
	pass(false, func(copies []*env) { im.endSums(p, copies) })
}

// packs reports whether the current pass uses packed operands: with split-K only passes that accumulate do.
func (p *openBand) packs() bool { return p.MultiPass == nil || p.MultiPass.SplitK == nil || p.adding }

// span is the range of iterations to run: all, or the current part of the outermost loop with split-K.
func (im *emitter) span(r *analysis.Region) span {
	if p := im.at; p != nil && p.MultiPass != nil && p.MultiPass.SplitK != nil && p.MultiPass.Loop == r {
		return p.part
	}
	return span{n: r.Trip()}
}

// multiPass emits the passes over the window of columns.
func (im *emitter) multiPass(p *openBand, e *env) {
	q := p.MultiPass
	pass := func(work func(copies []*env)) {
		p.work = work
		im.levels(p, q.At, []*env{e})
		p.work = nil
	}
	pass(func(copies []*env) {
		im.bodyBefore(p.Leaf, q.Loop, copies)
		im.saveSums(p, copies)
	})
	rows := func(from linear, count *ir.Value, n int64) {
		if count.Op == ir.Const && ir.ConstInt(count) == 0 {
			return
		}
		im.Builder.Loop(q.Loop.Label(), count, func(l *ir.Loop) {
			pass(func(copies []*env) {
				at := im.addLinear(linear{terms: []ir.Term{{V: l.Iter, Coef: n}}}, from, 1)
				for j, c := range copies {
					im.addRows(p, c, int64(j), at, n)
				}
			})
		})
	}
	im.env = e
	whole, left := im.divided(im.count(q.Loop), plan.PassRows)
	rows(linear{}, whole, plan.PassRows)
	rows(im.scaled(whole, plan.PassRows), left, 1)
	pass(func(copies []*env) { im.endSums(p, copies) })
}

// saveSums stores the accumulators of the copies until the next pass.
func (im *emitter) saveSums(p *openBand, copies []*env) {
	for j, c := range copies {
		for i, u := range p.MultiPass.Loop.Updates {
			im.Store(im.sumPlace(p, i, int64(j)), im.Splat(im.register(c, u.Slot)))
		}
	}
}

// reloadSums reloads the accumulators that saveSums stored.
func (im *emitter) reloadSums(p *openBand, copies []*env) {
	for j, c := range copies {
		for i, u := range p.MultiPass.Loop.Updates {
			c.regs.set(u.Slot, im.Load(im.sumPlace(p, i, int64(j)), im.Lanes, nil))
		}
	}
}

// endSums emits the epilogue.
func (im *emitter) endSums(p *openBand, copies []*env) {
	sum := p.MultiPass.Loop
	im.bodyBefore(p.Leaf, sum, copies)
	im.reloadSums(p, copies)
	at := slices.IndexFunc(p.Leaf.Parts, func(x analysis.Part) bool { return x.Sub == sum })
	im.body(&analysis.Region{Parts: p.Leaf.Parts[at+1:]}, copies)
}

// bodyBefore emits the parts of a region before one of its loops.
func (im *emitter) bodyBefore(r, sum *analysis.Region, copies []*env) {
	at := slices.IndexFunc(r.Parts, func(x analysis.Part) bool { return x.Sub == sum })
	im.body(&analysis.Region{Parts: r.Parts[:at]}, copies)
}

// sumPlace is the place of accumulator i of copy j of the current tile.
func (im *emitter) sumPlace(p *openBand, i int, j int64) *ir.Place {
	q, a := p.MultiPass, p.at(p.Vec)
	at := im.timesLinear(a.number, a.Tile())
	if q.SplitK != nil {
		row := p.at(p.Rows).base
		row.off += j / a.live
		at, j = im.addLinear(at, im.timesLinear(row, q.Width), 1), j%a.live
	}
	return &ir.Place{Buf: q.Sums[i], Terms: at.terms, Off: at.off + j*a.Unit, Stride: 1}
}

// addRows adds n rows, from at on, to the partial sums of unit j. The rows are added to each other first.
func (im *emitter) addRows(p *openBand, c *env, j int64, at linear, n int64) {
	q := p.MultiPass
	terms := make([][]*ir.Value, len(q.Loop.Updates))
	for k := range n {
		d := newEnv(c)
		row := at
		row.off += k
		d.linears.set(q.Loop.Rng, row)
		im.env = d
		for i, u := range q.Loop.Updates {
			for _, t := range u.Terms {
				terms[i] = append(terms[i], im.Splat(im.eval(t)))
			}
		}
	}
	for i, u := range q.Loop.Updates {
		place := im.sumPlace(p, i, j)
		sum := im.Load(place, im.Lanes, nil)
		im.Store(place, im.ALU(u.Op, sum.Kind, sum, im.tree(u.Op, sum.Kind, terms[i])))
	}
}
