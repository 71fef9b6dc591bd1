package nest

import (
	"polygrad/core/nest/ir"
	"slices"
)

// A sum over the rows of a matrix, with results side by side, would walk down one strip of columns after the other,
// each step a page further. Instead the rows are gone through a few at a time, over a block of columns whose sums lie
// in the nearest cache meanwhile: one pass begins the sums, one for each few rows goes on with them, and one ends them.

const (
	// passRows is how many rows are added in one pass.
	passRows = 8
	// passStep is the distance of rows in bytes from which on passes pay, and passMin the least number of rows.
	passStep = 2 << 10
	passMin  = 32
)

// passes says how a sum is made in passes.
type passes struct {
	sum  *region
	bufs []*ir.Buffer // of the sums under way, one for each register
	at   int          // the level that each pass goes through
	work func(copies []*env)
	// parts is the sum of a product that is made in parts, nil for others; adding is a pass that adds a part.
	parts  *series
	adding bool
	width  int64 // of a row of the sums under way, for parts
}

// planPasses lays a sum out in passes if that pays.
func (im *importer) planPasses(p *plan, vec *axis, acc []access) bool {
	in := p.leaf.loops()
	least, farthest := int64(passMin), int64(passStep)
	switch p.want[knobPasses] {
	case off:
		return false
	case on:
		least, farthest = 2*passRows, 0
	}
	if len(in) != 1 || len(in[0].loops()) > 0 || !in[0].simple() || in[0].trip() < least {
		return false
	}
	r := in[0]
	along, across := im.slopes(r.rng), im.slopes(vec.r.rng)
	far := 0
	for _, a := range acc {
		if a.times < 2 {
			continue
		}
		s, c := along.of(a.u.Src[0]), across.of(a.u.Src[0])
		if !c.matters {
			continue
		}
		if c.step != 1 || c.odd || s.odd || max(s.step, -s.step)*int64(a.u.DType.Itemsize()) < farthest {
			return false
		}
		far++
	}
	for _, u := range r.updates {
		if kindFor(u.slot.reg.DType.Base()).Size() < 4 {
			return false // the register is wider than what it holds
		}
	}
	lanes := int64(im.Lanes)
	if far == 0 || vec.n < 8*lanes || !p.masks && vec.n%(2*lanes) != 0 {
		return false
	}
	vec.jam = p.want.or(knobWide, 2, vec.n/lanes)
	if !p.masks && vec.n%vec.tile() != 0 {
		vec.jam = 2
	}
	element := int64(4)
	if lanes == int64(im.m.WideLanes) {
		element = 8
	}
	tilesAcross := vec.full() + min(vec.rest(), 1)
	vec.group = p.want.or(knobAcross, share(tilesAcross, max(im.m.L1/4/(vec.tile()*element), 1), int64(im.m.Threads)), tilesAcross)
	vec.win = vec.whole(im)
	for _, a := range p.axes {
		if a.plain() {
			p.levels = append(p.levels, level{a, walk})
		}
	}
	p.levels = append(p.levels, level{vec, block}, level{vec, tiles})
	q := &passes{sum: r, at: len(p.levels) - 1}
	for _, u := range r.updates {
		b := im.scratch(kindFor(u.slot.reg.DType.Base()).Register(), vec.group*vec.tile())
		b.Read, b.Written = true, true
		q.bufs = append(q.bufs, b)
	}
	p.passes, p.vec = q, vec
	return true
}

// inPasses makes the passes over the window of the columns.
func (im *importer) inPasses(p *plan, e *env) {
	q := p.passes
	pass := func(work func(copies []*env)) {
		q.work = work
		im.levels(p, q.at, e)
		q.work = nil
	}
	pass(func(copies []*env) {
		im.until(p.leaf, q.sum, copies)
		im.keepSums(p, copies)
	})
	rows := func(from, count, n int64) {
		if count == 0 {
			return
		}
		im.Builder.Loop(q.sum.label(), im.Int(ir.I64, count), func(l *ir.Loop) {
			pass(func(copies []*env) {
				at := linear{terms: []ir.Term{{V: l.Iter, Coef: n}}, off: from}
				for j, c := range copies {
					im.addRows(p, c, int64(j), at, n)
				}
			})
		})
	}
	n := q.sum.trip()
	rows(0, n/passRows, passRows)
	rows(n/passRows*passRows, n%passRows, 1)
	pass(func(copies []*env) { im.endSums(p, copies) })
}

// keepSums stores the sums of copies until the next pass.
func (im *importer) keepSums(p *plan, copies []*env) {
	for j, c := range copies {
		for i, u := range p.passes.sum.updates {
			im.Store(p.passes.place(im, p, i, int64(j)), im.Splat(im.register(c, u.slot)))
		}
	}
}

// takeSums loads them again.
func (im *importer) takeSums(p *plan, copies []*env) {
	for j, c := range copies {
		for i, u := range p.passes.sum.updates {
			c.regs.set(u.slot, im.Load(p.passes.place(im, p, i, int64(j)), im.Lanes, nil))
		}
	}
}

// endSums makes what follows the sums.
func (im *importer) endSums(p *plan, copies []*env) {
	sum := p.passes.sum
	im.until(p.leaf, sum, copies)
	im.takeSums(p, copies)
	at := slices.IndexFunc(p.leaf.parts, func(x part) bool { return x.sub == sum })
	im.body(&region{parts: p.leaf.parts[at+1:]}, copies)
}

// until makes what a region contains before one of its loops.
func (im *importer) until(r, sum *region, copies []*env) {
	at := slices.IndexFunc(r.parts, func(x part) bool { return x.sub == sum })
	im.body(&region{parts: r.parts[:at]}, copies)
}

// place is where the sums number i of copy j of the tile at work are kept.
func (q *passes) place(im *importer, p *plan, i int, j int64) *ir.Place {
	a := p.vec
	at := im.timesLinear(a.number, a.tile())
	if q.parts != nil {
		row := p.rows.base
		row.off += j / a.live
		at, j = im.addLinear(at, im.timesLinear(row, q.width), 1), j%a.live
	}
	return &ir.Place{Buf: q.bufs[i], Terms: at.terms, Off: at.off + j*a.unit, Stride: 1}
}

// addRows goes on with the sums of unit j: n rows from at on. Their terms are combined before they are added.
func (im *importer) addRows(p *plan, c *env, j int64, at linear, n int64) {
	q := p.passes
	terms := make([][]*ir.Value, len(q.sum.updates))
	for k := range n {
		d := newEnv(c)
		row := at
		row.off += k
		d.linears.set(q.sum.rng, row)
		im.env = d
		for i, u := range q.sum.updates {
			for _, t := range u.terms {
				terms[i] = append(terms[i], im.Splat(im.eval(t)))
			}
		}
	}
	for i, u := range q.sum.updates {
		place := q.place(im, p, i, j)
		sum := im.Load(place, im.Lanes, nil)
		im.Store(place, im.ALU(u.op, sum.Kind, sum, im.tree(u.op, terms[i])))
	}
}
