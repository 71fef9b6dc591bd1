package nest

import "polygrad/core/uop"

// rowPack is an operand that belongs to the rows of a product: kept for a block of rows, for each tile and each step
// of the sum its rows side by side, each to be spread over a vector. Rows need that if they lie far apart along the
// sum, or if more than a load makes them.
type rowPack struct {
	u   *uop.UOp
	buf *Buffer
	// wide says that vectors of rows are made at once.
	wide bool
}

// rowPackTiles is how many tiles of columns must use a packed row.
const rowPackTiles = 4

// findRowPacks lists the operands of the rows that are worth packing.
func (im *importer) findRowPacks(leaf *region, vec, rows *axis, k int64) []*rowPack {
	in := leaf.loops()[0].innermost()
	byLane, byRow, byStep := im.slopes(vec.r.rng), im.slopes(rows.r.rng), im.slopes(in.rng)
	if (vec.n+vec.tile()-1)/vec.tile() < rowPackTiles || k < int64(im.Lanes) {
		return nil
	}
	var out []*rowPack
	seen := map[*uop.UOp]bool{}
	var find func(u *uop.UOp)
	find = func(u *uop.UOp) {
		if seen[u] || u.Op == uop.Range || !byRow.of(u).matters {
			return
		}
		seen[u] = true
		if byLane.of(u).matters {
			for _, s := range u.Src {
				find(s)
			}
			return
		}
		if k := kindOf[u.DType.Scalar()]; u.DType.IsPtr() || k.Width() == 0 || u.Op == uop.Load && u.Src[0].DType.Space == uop.Reg || !im.collected(leaf, u) {
			return
		}
		if u.Op == uop.Load && len(u.Src) == 1 && u.DType.Itemsize() >= 4 {
			t := byStep.of(u.Src[0])
			if max(t.step, -t.step)*int64(u.DType.Itemsize()) < farStep && !t.odd {
				return
			}
		}
		out = append(out, &rowPack{u: u, wide: im.m.Masks && im.neighbours(u, byRow, map[*uop.UOp]bool{})})
	}
	for _, up := range in.updates {
		for _, t := range up.terms {
			find(t)
		}
	}
	return out
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
	k := p.steps()
	fill := func(tile, base linear, live int64) {
		im.rowSteps(p, p.leaf.loops()[0], newEnv(e), linear{}, func(e *env, step linear) {
			for _, q := range p.rowPacks {
				at := im.addLinear(im.timesLinear(tile, k*a.width(im.Lanes)), im.timesLinear(step, a.width(im.Lanes)), 1)
				im.fillRows(q, a, e, at, base, live)
			}
		})
	}
	if a.full() > 0 {
		im.Builder.Loop(a.r.label()+" pack", w.count, func(l *Loop) {
			base := im.addLinear(im.scaled(w.lo, a.tile()), linear{terms: []Term{{l.Iter, a.tile()}}}, 1)
			fill(linear{terms: []Term{{l.Iter, 1}}}, base, a.tile())
		})
	}
	if a.rest() > 0 {
		im.onceIf(a.r.label()+" pack rest", w.tail, func() {
			fill(im.scaled(w.count, 1), linear{off: a.full() * a.tile()}, a.rest())
		})
	}
}

// rowSteps makes the loops that collect around body.
func (im *importer) rowSteps(p *plan, r *region, e *env, step linear, body func(e *env, step linear)) {
	im.Builder.Loop(r.label()+" pack", im.Int(I64, r.trip()), func(l *Loop) {
		inner := newEnv(e)
		at := linear{terms: []Term{{l.Iter, 1}}}
		inner.linears.set(r.rng, at)
		step = im.addLinear(im.timesLinear(step, r.trip()), at, 1)
		if in := r.loops(); len(in) > 0 {
			im.rowSteps(p, in[0], inner, step, body)
			return
		}
		body(inner, step)
	})
}

// fillRows stores the rows of one step of a tile.
func (im *importer) fillRows(q *rowPack, a *axis, e *env, at, base linear, live int64) {
	unit := int64(1)
	if q.wide {
		unit = int64(im.Lanes)
	}
	for i := int64(0); i < live; i += unit {
		d := newEnv(e)
		row := base
		row.off += i
		if q.wide {
			row.lane, d.vector = 1, true
			if left := live - i; left < unit {
				d.tail = im.Do(Less, Bool, im.New(Lane, I32, im.Lanes, 0), im.Int(I32, left))
			}
		}
		d.linears.set(a.r.rng, row)
		im.env = d
		v := im.eval(q.u)
		to := &Place{Buf: q.buf, Terms: at.terms, Off: at.off + i}
		if q.wide {
			to.Stride, v = 1, im.Splat(v)
		}
		im.Store(to, v)
	}
}

// steps is the number of steps of the leaf's sum.
func (p *plan) steps() int64 {
	k := int64(1)
	for r := p.leaf.loops()[0]; ; r = r.loops()[0] {
		k *= r.trip()
		if len(r.loops()) == 0 {
			return k
		}
	}
}

// packedRows makes the operands that were packed loads of what is kept, for the step of an iteration.
func (im *importer) packedRows(e *env, row int64, step linear) {
	p := im.at
	a, width := p.rows, p.rows.width(im.Lanes)
	for _, q := range p.rowPacks {
		at := im.addLinear(im.timesLinear(a.number, p.steps()*width), im.timesLinear(step, width), 1)
		e.vals.set(q.u, im.Load(&Place{Buf: q.buf, Terms: at.terms, Off: at.off + row}, 1, nil))
	}
}
