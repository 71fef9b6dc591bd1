package emit

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
)

// fillRowPacks packs the operands of the current block of rows.
func (im *emitter) fillRowPacks(p *openBand, e *env) {
	a := p.at(p.Rows)
	w := a.win
	width := a.Width(im.Lanes)
	fill := func(tile, base linear, live int64, way func(*plan.RowPack) *plan.RowPack) {
		for _, sum := range p.Sums {
			packs := slices.DeleteFunc(slices.Clone(p.RowPacks), func(q *plan.RowPack) bool { return q.Sum != sum })
			if len(packs) == 0 {
				continue
			}
			im.rowSteps(p, sum, 0, newEnv(e), linear{}, func(r *analysis.Region, e *env, step linear, n int64) {
				for _, q := range packs {
					at := im.addLinear(im.timesLinear(tile, sum.Steps*width), im.timesLinear(step, width), 1)
					at = im.addLinear(at, a.inTile, a.room(im.Lanes))
					im.fillRows(way(q), a.Axis, r, e, at, base, live, n)
				}
			})
		}
	}
	planned := func(q *plan.RowPack) *plan.RowPack { return q }
	if a.Dynamic || a.Full() > 0 {
		im.Builder.Loop(a.Region.Label()+" pack", w.count, func(l *ir.Loop) {
			base := im.addLinear(im.scaled(w.lo, a.Tile()), linear{terms: []ir.Term{{V: l.Iter, Coef: a.Tile()}}}, 1)
			fill(linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}, base, a.Tile(), planned)
		})
	}
	if a.Dynamic {
		im.eachRemaining(a, a.Region.Label()+" pack rest", func(base linear) { fill(im.scaled(w.count, 1), base, 1, (*plan.RowPack).Single) })
	} else if a.Rest() > 0 {
		im.emitIf(a.Region.Label()+" pack rest", w.tail, func() {
			fill(im.scaled(w.count, 1), linear{off: a.Full() * a.Tile()}, a.Rest(), planned)
		})
	}
}

// rowSteps emits the loops of a sum, from loop i on, around body, which gets several steps of the innermost loop at a time.
func (im *emitter) rowSteps(p *openBand, sum *plan.SumLoops, depth int, e *env, step linear, body func(r *analysis.Region, e *env, step linear, n int64)) {
	r, together := sum.Loops[depth], int64(1)
	innermost := depth == len(sum.Loops)-1
	if innermost {
		together = int64(im.Lanes)
	}
	first := linear{}
	if depth == 0 {
		first = p.part.from
	}
	part := func(from, count, n int64) {
		if count == 0 {
			return
		}
		im.Builder.Loop(r.Label()+" pack", im.Int(ir.I64, count), func(l *ir.Loop) {
			inner := newEnv(e)
			at := linear{terms: []ir.Term{{V: l.Iter, Coef: together}}, off: from}
			inner.linears.set(r.Rng, im.addLinear(first, at, 1))
			now := im.addLinear(im.timesLinear(step, r.Trip()), at, 1)
			if innermost {
				body(r, inner, now, n)
			} else {
				im.rowSteps(p, sum, depth+1, inner, now, body)
			}
		})
	}
	n := p.trip(sum, depth)
	part(0, n/together, together)
	part(n/together*together, min(n%together, 1), n%together)
}

// fillRows stores the rows of several steps of a tile, beginning with the step that e is bound to.
func (im *emitter) fillRows(q *plan.RowPack, a *plan.Axis, r *analysis.Region, e *env, at, base linear, live, steps int64) {
	width, lanes := a.Width(im.Lanes), int64(im.Lanes)
	to := func(step, row int64) *ir.Place {
		return &ir.Place{Buf: q.Buf, Terms: at.terms, Off: at.off + step*width + row}
	}
	value := func(step, row int64, set func(d *env, step, row *linear)) *ir.Value {
		d := newEnv(e)
		s, w := im.bound(e, r), base
		s.off += step
		w.off += row
		set(d, &s, &w)
		d.linears.set(r.Rng, s)
		d.linears.set(a.Region.Rng, w)
		im.env = d
		return im.eval(q.U)
	}
	tail := func(left int64) *ir.Value {
		if left >= lanes {
			return nil
		}
		return im.Do(ir.Less, ir.Bool, im.New(ir.Lane, ir.I32, im.Lanes, 0), im.Int(ir.I32, left))
	}
	switch q.Method {
	case plan.ByRows:
		for step := range steps {
			for row := int64(0); row < live; row += lanes {
				v := value(step, row, func(d *env, _, w *linear) { w.lane, d.vector, d.tail = 1, true, tail(live-row) })
				p := to(step, row)
				p.Stride = 1
				im.Store(p, im.Splat(v))
			}
		}
	case plan.BySteps:
		for first := int64(0); first < live; first += lanes {
			rows := make([]*ir.Value, lanes)
			for i := range rows {
				// Rows beyond the last are unused copies of it.
				row := min(first+int64(i), live-1)
				rows[i] = im.Splat(value(0, row, func(d *env, s, _ *linear) { s.lane, d.vector, d.tail = 1, true, tail(steps) }))
			}
			for step := range steps {
				p := to(step, first)
				p.Stride = 1
				im.Store(p, im.Transposed(rows, step))
			}
		}
	case plan.Broadcast:
		several := q.Vectors && steps == lanes
		for row := range live {
			var v *ir.Value
			if several {
				v = im.Splat(value(0, row, func(d *env, s, _ *linear) { s.lane, d.vector = 1, true }))
			}
			for step := range steps {
				p := to(step, row*lanes)
				p.Stride = 1
				if several {
					im.Store(p, im.Splat(im.New(ir.Extract, v.Kind, 1, uint64(step), v)))
				} else {
					im.Store(p, im.Splat(value(step, row, func(*env, *linear, *linear) {})))
				}
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

// bound is the binding of the range of a loop.
func (im *emitter) bound(e *env, r *analysis.Region) linear {
	l, ok := e.linear(r.Rng)
	if !ok {
		ir.Fail("the range %s is used outside of its loop", r.Rng.Arg)
	}
	return l
}

// room is the number of elements of a row in a step of packed rows.
func (a *tiling) room(lanes int) int64 {
	if a.Broadcast {
		return int64(lanes)
	}
	return 1
}

// packedRows replaces packed row operands by loads from the pack, for the step of an iteration.
func (im *emitter) packedRows(e *env, sum *plan.SumLoops, row int64, step linear) {
	p := im.at
	a, width := p.at(p.Rows), p.Rows.Width(im.Lanes)
	for _, q := range p.RowPacks {
		if q.Sum != sum {
			continue
		}
		at := im.addLinear(im.timesLinear(a.number, sum.Steps*width), im.timesLinear(step, width), 1)
		at = im.addLinear(at, a.inTile, a.room(im.Lanes))
		place, lanes := &ir.Place{Buf: q.Buf, Terms: at.terms, Off: at.off + row}, 1
		if a.Broadcast {
			place.Off = at.off + row*int64(im.Lanes)
		}
		if a.Broadcast && e.vector {
			lanes, place.Stride = im.Lanes, 1
		}
		e.vals.set(q.U, im.Load(place, lanes, nil))
	}
}
