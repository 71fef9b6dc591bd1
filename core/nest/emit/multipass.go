package emit

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
)

// multiPass emits a sum in passes: the first initialises the accumulators, the next ones each add a part (of the steps of a split-K sum, else a few
// rows), and the last one emits the epilogue.
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
	parts := func(from linear, count *ir.Value, n int64) {
		if count.Op == ir.Const && ir.ConstInt(count) == 0 {
			return
		}
		im.Builder.Loop(q.Loop.Label()+" parts", count, func(l *ir.Loop) {
			p.part = span{im.addLinear(linear{terms: []ir.Term{{V: l.Iter, Coef: n}}}, from, 1), n}
			pass(func(copies []*env) {
				if q.SplitK == nil {
					im.addRows(p, copies)
					return
				}
				im.reloadSums(p, copies)
				im.reduce(q.Loop, copies)
				im.saveSums(p, copies)
			})
		})
	}
	if q.SplitK != nil {
		n, whole := q.SplitK.Count, q.Loop.Trip()
		parts(linear{}, im.Int(ir.I64, whole/n), n)
		parts(linear{off: whole / n * n}, im.Int(ir.I64, min(whole%n, 1)), whole%n)
	} else {
		im.env = e
		whole, left := im.divided(im.count(q.Loop), plan.PassRows)
		parts(linear{}, whole, plan.PassRows)
		parts(im.scaled(whole, plan.PassRows), left, 1)
	}
	p.part = span{}
	pass(func(copies []*env) { im.endSums(p, copies) })
}

// packs reports whether the current pass uses packed operands: with split-K only passes that accumulate do.
func (p *openBand) packs() bool {
	return p.MultiPass == nil || p.MultiPass.SplitK == nil || p.part.n > 0
}

// span is the range of iterations to run: all, or the current part of the outermost loop with split-K.
func (im *emitter) span(r *analysis.Region) span {
	if p := im.at; p != nil && p.MultiPass != nil && p.MultiPass.SplitK != nil && p.MultiPass.Loop == r {
		return p.part
	}
	return span{n: r.Trip()}
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

// addRows adds the rows of the current part to the partial sums of the copies. The rows are added to each other first.
func (im *emitter) addRows(p *openBand, copies []*env) {
	q := p.MultiPass
	for j, c := range copies {
		terms := make([][]*ir.Value, len(q.Loop.Updates))
		for k := range p.part.n {
			d := newEnv(c)
			row := p.part.from
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
			place := im.sumPlace(p, i, int64(j))
			sum := im.Load(place, im.Lanes, nil)
			im.Store(place, im.ALU(u.Op, sum.Kind, sum, im.tree(u.Op, sum.Kind, terms[i])))
		}
	}
}
