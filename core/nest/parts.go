package nest

import (
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// A product whose sums are long is made in parts of the sums. What is packed for one part lies in the near caches while
// all tiles use it; the sums under way lie in memory meanwhile.

const (
	// partsFrom is the share of the second cache that two vectors of columns take from which on sums are made in parts,
	// partsRoom the share that sums under way may take.
	partsFrom, partsRoom = 8, 4
)

// inPartsIfLong says that the only sum of a product is made in parts, if it is long, and reports whether it is.
func (im *importer) inPartsIfLong(p *plan, vec, rows *axis, acc []access) bool {
	in := p.leaf.loops()
	if len(in) != 1 || p.want[knobParts] == off || !p.masks && vec.n%int64(im.Lanes) != 0 {
		return false
	}
	sum := seriesOf(in[0])
	if sum == nil {
		return false
	}
	for _, u := range sum.innermost().updates {
		if kindFor(u.slot.reg.DType.Base()).Size() < 4 {
			return false // the register is wider than what it holds
		}
	}
	column := 2 * int64(im.Lanes) * element
	if p.want[knobParts] == open && (sum.steps*column < im.m.L2/partsFrom || rows.n*vec.n*element > im.m.L2/partsRoom || !im.allMove(p, vec, rows, acc)) {
		return false
	}
	each := sum.steps / in[0].trip()
	steps := p.want.or(knobParts, im.m.L1/2/column, sum.steps)
	parts := (sum.steps + steps - 1) / steps
	n := (in[0].trip() + parts - 1) / parts
	if lanes := int64(im.Lanes); each == 1 {
		n = (n + lanes - 1) / lanes * lanes
	}
	if n >= in[0].trip() {
		return false
	}
	sum.count, sum.steps = n, n*each
	p.passes, p.sums = &passes{sum: in[0], parts: sum}, []*series{sum}
	return true
}

// allMove reports whether all operands of a sum depend on every other axis: nothing that is packed for one iteration
// of it would do for the next.
func (im *importer) allMove(p *plan, vec, rows *axis, acc []access) bool {
	for _, a := range p.axes {
		if a == vec || a == rows || a.n == 1 {
			continue
		}
		for _, x := range acc {
			if x.times > 1 && !im.slopes(a.r.rng).of(x.u).matters {
				return false
			}
		}
	}
	return true
}

// cacheWays is about how many lines of the same place of the second cache it can hold.
const cacheWays = 16

// compete reports whether the rows of a part lie at such a distance that the second cache cannot hold all of them.
func (im *importer) compete(p *plan, rows *axis, at slope, load *uop.UOp) bool {
	if p.passes == nil || at.odd {
		return false
	}
	step, way := at.step*int64(load.DType.Itemsize()), im.m.L2/cacheWays
	for way > 0 && step%way != 0 {
		way /= 2
	}
	return rows.n*way > im.m.L2
}

// reserveParts makes the passes over the levels that follow, with memory for the sums under way.
func (im *importer) reserveParts(p *plan) {
	q := p.passes
	if q == nil {
		return
	}
	a := p.vec
	tiles := a.group
	if tiles == 0 {
		tiles = a.full() + min(a.rest(), 1)
	}
	q.at, q.width = len(p.levels), tiles*a.tile()
	for _, u := range q.sum.updates {
		b := im.scratch(kindFor(u.slot.reg.DType.Base()).Register(), p.rows.n*q.width)
		b.Read, b.Written = true, true
		q.bufs = append(q.bufs, b)
	}
}

// inParts makes the passes: one that begins the sums, one for each part, and one that ends them.
func (im *importer) inParts(p *plan, e *env) {
	q := p.passes
	pass := func(adding bool, work func(copies []*env)) {
		q.work, q.adding = work, adding
		im.levels(p, q.at, e)
		q.work, q.adding = nil, false
	}
	pass(false, func(copies []*env) {
		im.until(p.leaf, q.sum, copies)
		im.keepSums(p, copies)
	})
	sum := q.parts
	n, whole := sum.count, q.sum.trip()
	part := func(from, parts, count int64) {
		if parts == 0 {
			return
		}
		im.Builder.Loop(q.sum.label()+" parts", im.Int(ir.I64, parts), func(l *ir.Loop) {
			sum.from, sum.count = linear{terms: []ir.Term{{V: l.Iter, Coef: n}}, off: from}, count
			pass(true, func(copies []*env) {
				im.takeSums(p, copies)
				im.reduce(q.sum, copies)
				im.keepSums(p, copies)
			})
		})
	}
	part(0, whole/n, n)
	part(whole/n*n, min(whole%n, 1), whole%n)
	sum.from, sum.count = linear{}, n
	pass(false, func(copies []*env) { im.endSums(p, copies) })
}

// adds reports whether operands are to be packed: not in passes that add nothing.
func (p *plan) adds() bool { return p.passes == nil || p.passes.parts == nil || p.passes.adding }

// span are the iterations of a loop that are at work: all, unless it is the outermost of a sum in parts.
func (im *importer) span(r *region) span {
	if p := im.at; p != nil && p.passes != nil && p.passes.parts != nil && p.passes.sum == r {
		return span{p.passes.parts.from, p.passes.parts.count}
	}
	return span{n: r.trip()}
}
