package nest

import (
	"slices"

	"polygrad/core/kinds"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// rowPack is an operand that belongs to the rows of a product: kept for a block of rows, for each tile and each step
// of the sum its rows side by side, each to be spread over a vector. Rows need that if they lie far apart along the
// sum, or if more than a load makes them.
type rowPack struct {
	u      *uop.UOp
	series *series
	buf    *ir.Buffer
	way    rowWay
}

// rowWay is how a pack of rows is filled: one by one, by vectors of rows, or by vectors of steps, which are turned.
type rowWay uint8

const (
	oneByOne rowWay = iota
	byRows
	bySteps
)

// rowPackTiles is how many tiles of columns must use a packed row that needs no more than a load.
const rowPackTiles = 4

// findRowPacks lists the operands of the rows of a sum that are worth packing.
func (im *importer) findRowPacks(p *plan, sum *series, vec, rows *axis) []*rowPack {
	in, k, always := sum.innermost(), sum.steps, p.want[knobRowPacks] == on
	byLane, byRow, byStep := im.slopes(vec.r.rng), im.slopes(rows.r.rng), im.slopes(in.rng)
	reuse := (vec.n + vec.tile() - 1) / vec.tile()
	if k < int64(im.Lanes) || !im.m.Masks || p.want[knobRowPacks] == off {
		return nil
	}
	var out []*rowPack
	seen := map[*uop.UOp]bool{}
	var find func(u *uop.UOp)
	find = func(u *uop.UOp) {
		if seen[u] || im.indexOnly(u) || !byRow.of(u).matters {
			return
		}
		seen[u] = true
		if byLane.of(u).matters {
			for _, s := range u.Src {
				find(s)
			}
			return
		}
		if k := kinds.Of[u.DType.Scalar()]; u.DType.IsPtr() || k.Width() == 0 || u.Op == uop.Load && u.Src[0].DType.Space == uop.Reg || !im.collected(sum, u) {
			return
		}
		q := &rowPack{u: u, series: sum}
		switch {
		case im.neighbours(u, byRow, map[*uop.UOp]bool{}):
			q.way = byRows
		case im.neighbours(u, byStep, map[*uop.UOp]bool{}):
			q.way = bySteps
		}
		plain := u.Op == uop.Load && u.DType.Itemsize() >= 4
		how, need, competes := scattered, int64(0), false
		if plain && len(u.Src) == 1 {
			how, need = im.reach(u, byStep, k, rows)
			competes = im.compete(p, rows, byRow.of(u.Src[0]), u)
		}
		if (plain || q.way == oneByOne) && !always && (!competes && p.loadable(im, how, need) || reuse < rowPackTiles) {
			return
		}
		out = append(out, q)
	}
	for _, up := range in.updates {
		for _, t := range up.terms {
			find(t)
		}
	}
	return out
}

// reach is how rows lie in memory along the loop that collects.
type reach uint8

const (
	scattered reach = iota // at distances that vary
	nearby                 // not far from each other
	stepped                // far from each other, but in the second cache, and a tile has most of a line
	apart                  // farther
)

// reach tells how what a load brings for k steps and all rows lies, and how much of a cache it needs.
func (im *importer) reach(u *uop.UOp, byStep *slopes, k int64, rows *axis) (how reach, need int64) {
	step, ok := im.distance(u, byStep)
	size := int64(u.DType.Itemsize())
	need = spread(step, k, rows.n*size)
	switch {
	case !ok:
		return scattered, 0
	case step < farStep:
		return nearby, need
	case need <= im.m.L2/8 && im.tall()*size >= line/2:
		return stepped, need
	}
	return apart, need
}

// loadable reports whether rows need not be packed. It notes what they ask of the order of loops and of the caches.
func (p *plan) loadable(im *importer, how reach, need int64) bool {
	switch how {
	case nearby:
		p.far = p.far || need > im.m.L3
	case stepped:
		p.strided += need
	case apart:
		p.far = true
	}
	return how == nearby || how == stepped
}

// neighbours reports whether all that a value loads lies side by side along a range, or does not move with it.
func (im *importer) neighbours(u *uop.UOp, s *slopes, seen map[*uop.UOp]bool) bool {
	if seen[u] || !s.of(u).matters {
		return true
	}
	seen[u] = true
	if u.Op == uop.Load {
		if at := s.of(u.Src[0]); at.odd || at.step != 1 || im.bufs[definition(u.Src[0])].Kind.Size() < im.m.MaskedSize {
			return false
		}
	}
	for _, src := range u.Src {
		if src.Op != uop.Index && !im.neighbours(src, s, seen) {
			return false
		}
	}
	return true
}

// width is the room of a tile's rows in a step.
func (a *axis) width(lanes int) int64 {
	return (a.tile() + int64(lanes) - 1) / int64(lanes) * int64(lanes)
}

// fillRowPacks computes the packs of the block of rows at work.
func (im *importer) fillRowPacks(p *plan, e *env) {
	a, w := p.rows, p.rows.win
	width := a.width(im.Lanes)
	fill := func(tile, base linear, live int64) {
		for _, sum := range p.sums {
			packs := slices.DeleteFunc(slices.Clone(p.rowPacks), func(q *rowPack) bool { return q.series != sum })
			if len(packs) == 0 {
				continue
			}
			im.rowSteps(sum, 0, newEnv(e), linear{}, func(r *region, e *env, step linear, n int64) {
				for _, q := range packs {
					at := im.addLinear(im.timesLinear(tile, sum.steps*width), im.timesLinear(step, width), 1)
					im.fillRows(q, a, r, e, at, base, live, n)
				}
			})
		}
	}
	if a.full() > 0 {
		im.Builder.Loop(a.r.label()+" pack", w.count, func(l *ir.Loop) {
			base := im.addLinear(im.scaled(w.lo, a.tile()), linear{terms: []ir.Term{{V: l.Iter, Coef: a.tile()}}}, 1)
			fill(linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}, base, a.tile())
		})
	}
	if a.rest() > 0 {
		im.onceIf(a.r.label()+" pack rest", w.tail, func() {
			fill(im.scaled(w.count, 1), linear{off: a.full() * a.tile()}, a.rest())
		})
	}
}

// rowSteps makes the loops of a sum, from one on, around body, which gets several steps of the innermost one at a time.
func (im *importer) rowSteps(sum *series, depth int, e *env, step linear, body func(r *region, e *env, step linear, n int64)) {
	r, together := sum.loops[depth], int64(1)
	innermost := depth == len(sum.loops)-1
	if innermost {
		together = int64(im.Lanes)
	}
	first := linear{}
	if depth == 0 {
		first = sum.from
	}
	part := func(from, count, n int64) {
		if count == 0 {
			return
		}
		im.Builder.Loop(r.label()+" pack", im.Int(ir.I64, count), func(l *ir.Loop) {
			inner := newEnv(e)
			at := linear{terms: []ir.Term{{V: l.Iter, Coef: together}}, off: from}
			inner.linears.set(r.rng, im.addLinear(first, at, 1))
			now := im.addLinear(im.timesLinear(step, r.trip()), at, 1)
			if innermost {
				body(r, inner, now, n)
			} else {
				im.rowSteps(sum, depth+1, inner, now, body)
			}
		})
	}
	n := sum.trip(depth)
	part(0, n/together, together)
	part(n/together*together, min(n%together, 1), n%together)
}

// fillRows stores the rows of so many steps of a tile, from the step that e is bound to on.
func (im *importer) fillRows(q *rowPack, a *axis, r *region, e *env, at, base linear, live, steps int64) {
	width, lanes := a.width(im.Lanes), int64(im.Lanes)
	to := func(step, row int64) *ir.Place {
		return &ir.Place{Buf: q.buf, Terms: at.terms, Off: at.off + step*width + row}
	}
	value := func(step, row int64, set func(d *env, step, row *linear)) *ir.Value {
		d := newEnv(e)
		s, w := im.bound(e, r), base
		s.off += step
		w.off += row
		set(d, &s, &w)
		d.linears.set(r.rng, s)
		d.linears.set(a.r.rng, w)
		im.env = d
		return im.eval(q.u)
	}
	tail := func(left int64) *ir.Value {
		if left >= lanes {
			return nil
		}
		return im.Do(ir.Less, ir.Bool, im.New(ir.Lane, ir.I32, im.Lanes, 0), im.Int(ir.I32, left))
	}
	switch q.way {
	case byRows:
		for step := range steps {
			for row := int64(0); row < live; row += lanes {
				v := value(step, row, func(d *env, _, w *linear) { w.lane, d.vector, d.tail = 1, true, tail(live-row) })
				p := to(step, row)
				p.Stride = 1
				im.Store(p, im.Splat(v))
			}
		}
	case bySteps:
		for first := int64(0); first < live; first += lanes {
			rows := make([]*ir.Value, lanes)
			for i := range rows {
				// Rows behind the last one are never used: they stand for it.
				row := min(first+int64(i), live-1)
				rows[i] = im.Splat(value(0, row, func(d *env, s, _ *linear) { s.lane, d.vector, d.tail = 1, true, tail(steps) }))
			}
			for step := range steps {
				p := to(step, first)
				p.Stride = 1
				im.Store(p, im.Transposed(rows, step))
			}
		}
	default:
		for step := range steps {
			for row := range live {
				im.Store(to(step, row), value(step, row, func(*env, *linear, *linear) {}))
			}
		}
	}
}

// bound is what the range of a loop is bound to.
func (im *importer) bound(e *env, r *region) linear {
	l, ok := e.linear(r.rng)
	if !ok {
		ir.Fail("the range %s is used outside of its loop", r.rng.Arg)
	}
	return l
}

// packedRows makes the operands that were packed loads of what is kept, for the step of an iteration.
func (im *importer) packedRows(e *env, sum *series, row int64, step linear) {
	p := im.at
	a, width := p.rows, p.rows.width(im.Lanes)
	for _, q := range p.rowPacks {
		if q.series != sum {
			continue
		}
		at := im.addLinear(im.timesLinear(a.number, sum.steps*width), im.timesLinear(step, width), 1)
		e.vals.set(q.u, im.Load(&ir.Place{Buf: q.buf, Terms: at.terms, Off: at.off + row}, 1, nil))
	}
}
