package nest

import (
	"slices"

	"polygrad/core/kinds"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// pack is an operand of a product of matrices that is computed once for a block of columns and kept in scratch
// memory in the order of use: an expression that does not depend on the rows, whatever it loads from and however.
type pack struct {
	u      *uop.UOp
	series *series
	vec    *axis
	buf    *ir.Buffer
}

const (
	// line is the size of a line of the caches in bytes: two of them come together, of one step those of a tile.
	line = 64
	// farStep is the distance in bytes of steps from which on they lie on too many pages, if they are many.
	farStep = 1 << 10
)

// packTiles is how many tiles of rows must use a packed column, if vectors of it can be loaded as they lie; half of that if
// what is packed lies in the nearest cache until it is used.
const packTiles = 6

// findPacks lists the operands of a sum that are worth packing.
func (im *importer) findPacks(p *plan, sum *series, vec, rows *axis, walks []level) []*pack {
	in, k, always := sum.innermost(), sum.steps, p.want[knobPacks] == on
	byLane, byRow, byStep := im.slopes(vec.r.rng), im.slopes(rows.r.rng), im.slopes(in.rng)
	reuse := rows.n / rows.tile()
	least := int64(packTiles)
	if k*vec.tile()*4 <= im.m.L1 {
		least /= 2
	}
	if k*vec.tile()*4 > im.m.L3 || p.want[knobPacks] == off {
		return nil
	}
	often := reuse
	for _, w := range walks {
		often *= max(w.a.n, 1)
	}
	var out []*pack
	seen := map[*uop.UOp]bool{}
	var find func(u *uop.UOp)
	find = func(u *uop.UOp) {
		reuse := reuse
		if seen[u] || im.indexOnly(u) || !byLane.of(u).matters {
			return
		}
		seen[u] = true
		if byRow.of(u).matters {
			for _, s := range u.Src {
				find(s)
			}
			return
		}
		if k := kinds.Of[u.DType.Scalar()]; u.DType.IsPtr() || k.Width() == 0 || u.Op == uop.Load && u.Src[0].DType.Space == uop.Reg {
			return
		}
		if !byStep.of(u).matters && !im.collected(sum, u) {
			return
		}
		if !im.movesWith(u, walks) {
			reuse = often
		}
		if u.Op == uop.Load && len(u.Src) == 1 && u.DType.Itemsize() >= 4 && !always {
			if s := byLane.of(u.Src[0]); s.step == 1 && !s.odd {
				detour := im.detour(u, byStep, k, vec.n, vec.tile(), p.strided)
				if detour == 0 || reuse < least && (reuse < 2 || !im.lost(u, byStep, k, vec.tile())) {
					p.far = p.far || detour > 0
					return
				}
			}
		}
		if reuse < 2 && !always && !im.turns(u, byStep) {
			return
		}
		out = append(out, &pack{u: u, series: sum, vec: vec})
	}
	for _, up := range in.updates {
		for _, t := range up.terms {
			find(t)
		}
	}
	return out
}

// detour is what a vector of neighbours costs more where it lies than in a pack, for a load in k steps of so many
// columns: nothing if all of them stay in the second cache, in which rows need so much already, and no vector lies across
// two lines.
func (im *importer) detour(u *uop.UOp, byStep *slopes, k, columns, tile, strided int64) float64 {
	step, ok := im.distance(u, byStep)
	size, lanes := int64(u.DType.Itemsize()), int64(im.Lanes)
	room := im.m.L2 / 2
	if strided > 0 {
		room = room/2 - strided
	}
	switch {
	case ok && step < lanes*size:
		return 0 // they overlap
	case !ok || spread(step, k, columns*size) > room || step >= farStep && tile*size < 2*line:
		return costFar
	case step%(lanes*size) != 0 && k*tile*size > im.m.L1/2:
		return costNext
	}
	return 0
}

// lost reports whether the columns of a tile push each other out of the second cache, so that each tile of rows fetches them
// from beyond it.
func (im *importer) lost(u *uop.UOp, byStep *slopes, k, tile int64) bool {
	step, ok := im.distance(u, byStep)
	return ok && spread(step, k, tile*int64(u.DType.Itemsize())) > im.m.L2
}

// turns reports whether vectors of what is loaded can be turned in registers.
func (im *importer) turns(u *uop.UOp, byStep *slopes) bool {
	s := byStep.of(u.Src[0])
	return u.Op == uop.Load && len(u.Src) == 1 && s.step == 1 && !s.odd && u.DType.Itemsize() >= 4
}

// distance is that in bytes between what a load brings in one step of a sum and the next; ok is false if it varies.
func (im *importer) distance(u *uop.UOp, byStep *slopes) (bytes int64, ok bool) {
	t := byStep.of(u.Src[0])
	return max(t.step, -t.step) * int64(u.DType.Itemsize()), !t.odd
}

// spread is how much of a cache k pieces of memory of so many bytes need at such a distance from each other: those at a
// multiple of a large power of two share few places.
func spread(distance, k, bytes int64) int64 { return k * max(bytes, distance&-distance) }

// collected reports whether a value depends on any of the loops that collect.
func (im *importer) collected(sum *series, u *uop.UOp) bool {
	return slices.ContainsFunc(sum.loops, func(r *region) bool { return im.slopes(r.rng).of(u).matters })
}

// make reserves the scratch memory: for each tile of a block, for each step of the sum, its vectors.
func (q *pack) make(im *importer, vec *axis) {
	q.buf = im.scratch(kindFor(q.u.DType).Register(), vec.group*q.series.steps*vec.tile())
}

// fillPacks computes the packs of the block at work.
func (im *importer) fillPacks(p *plan, e *env) {
	a := p.packs[0].vec
	fill := func(tile linear, base linear, live int64, last *ir.Value) {
		copies := make([]*env, live)
		for j := range copies {
			d := newEnv(e)
			at := base
			at.off += int64(j) * a.unit
			at.lane = 1
			d.linears.set(a.r.rng, at)
			d.vector = true
			if int64(j) == live-1 {
				d.tail = last
			}
			copies[j] = d
		}
		for _, sum := range p.sums {
			if packs := p.packsOf(sum); len(packs) > 0 {
				im.fillSum(packs, sum, copies, tile)
			}
		}
	}
	w := a.win
	if a.full() > 0 {
		im.Builder.Loop(a.r.label()+" pack", w.count, func(l *ir.Loop) {
			base := im.addLinear(im.scaled(w.lo, a.tile()), linear{terms: []ir.Term{{V: l.Iter, Coef: a.tile()}}}, 1)
			fill(linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}, base, a.jam, nil)
		})
	}
	if a.rest() == 0 {
		return
	}
	im.onceIf(a.r.label()+" pack rest", w.tail, func() {
		base := linear{off: a.full() * a.tile()}
		n := a.rest()
		var last *ir.Value
		if lanes := n % a.unit; !p.masks {
			n -= lanes
		} else if lanes > 0 {
			last = im.Do(ir.Less, ir.Bool, im.New(ir.Lane, ir.I32, im.Lanes, 0), im.Int(ir.I32, lanes))
		}
		if n > 0 {
			fill(im.scaled(w.count, 1), base, (n+a.unit-1)/a.unit, last)
		}
	})
}

// packsOf are the packs of a sum.
func (p *plan) packsOf(sum *series) []*pack {
	return slices.DeleteFunc(slices.Clone(p.packs), func(q *pack) bool { return q.series != sum })
}

// fillSum fills the packs of a sum for a tile.
func (im *importer) fillSum(packs []*pack, sum *series, copies []*env, tile linear) {
	if !im.oneLoop(packs, sum) {
		im.fillTile(packs, sum, 0, span{sum.from, sum.trip(0)}, copies, tile, linear{})
		return
	}
	// What moves with the loops together as with a single one is gone through by a single one.
	last := len(sum.loops) - 1
	inner := make([]*env, len(copies))
	for i, e := range copies {
		inner[i] = newEnv(e)
		for _, r := range sum.loops[:last] {
			inner[i].linears.set(r.rng, linear{})
		}
	}
	each := int64(1) // steps of an iteration of the outermost loop
	for i := 1; i <= last; i++ {
		each *= sum.trip(i)
	}
	im.fillTile(packs, sum, last, span{im.timesLinear(sum.from, each), sum.trip(0) * each}, inner, tile, linear{})
}

// oneLoop reports whether the packs are loads whose indices grow by the same step with each iteration of the loops
// that collect, of the inner ones as of the outer ones.
func (im *importer) oneLoop(packs []*pack, sum *series) bool {
	last := len(sum.loops) - 1
	for _, q := range packs {
		if q.u.Op != uop.Load || len(q.u.Src[0].Src) != 2 {
			return false
		}
		r := sum.loops[last]
		s := im.slopes(r.rng).of(q.u.Src[0])
		step := s.step * r.trip()
		for i := last - 1; i >= 0; i-- {
			o := im.slopes(sum.loops[i].rng).of(q.u.Src[0])
			if s.odd || o.odd || o.step != step {
				return false
			}
			step *= sum.loops[i].trip()
		}
	}
	return true
}

// span are so many iterations of a loop, from one on.
type span struct {
	from linear
	n    int64
}

// fillTile makes the loops of a sum, from one on, of which it goes through a span, around the computation of the
// packs' vectors for one tile. Of the innermost one as many iterations are done side by side as there are lanes, so
// that vectors can be turned.
func (im *importer) fillTile(packs []*pack, sum *series, depth int, s span, copies []*env, tile, step linear) {
	r, side, n := sum.loops[depth], int64(1), s.n
	innermost := depth == len(sum.loops)-1
	if innermost && n >= int64(im.Lanes) {
		side = int64(im.Lanes)
	}
	part := func(from, count, side int64) {
		if count == 0 {
			return
		}
		im.Builder.Loop(r.label()+" pack", im.Int(ir.I64, count), func(l *ir.Loop) {
			steps := make([]packStep, side)
			for i := range steps {
				at := linear{terms: []ir.Term{{V: l.Iter, Coef: side}}, off: from + int64(i)}
				iteration := im.addLinear(s.from, at, 1)
				inner := make([]*env, len(copies))
				for j, e := range copies {
					inner[j] = newEnv(e)
					inner[j].linears.set(r.rng, iteration)
					if side > 1 {
						inner[j].cross = &cross{r.rng, int64(i)}
					}
				}
				steps[i] = packStep{inner, im.addLinear(im.timesLinear(step, n), at, 1)}
			}
			if !innermost {
				im.fillTile(packs, sum, depth+1, span{n: sum.trip(depth + 1)}, steps[0].copies, tile, steps[0].number)
				return
			}
			im.fillSteps(packs, tile, steps)
		})
	}
	part(0, n/side, side)
	part(n/side*side, n%side, 1)
}

// packStep is one step of the sum, for the units of a tile.
type packStep struct {
	copies []*env
	number linear
}

// fillSteps stores the packs of some steps, unit by unit: what is turned together is used up before the next.
func (im *importer) fillSteps(packs []*pack, tile linear, steps []packStep) {
	for _, q := range packs {
		for j := range steps[0].copies {
			for _, s := range steps {
				im.env = s.copies[j]
				im.Store(q.place(im, tile, s.number, int64(j)), im.Splat(im.eval(q.u)))
			}
		}
	}
}

// place is where the vector number j of a step of a tile is kept.
func (q *pack) place(im *importer, tile, step linear, j int64) *ir.Place {
	t := q.vec.tile()
	at := im.addLinear(im.timesLinear(tile, q.series.steps*t), im.timesLinear(step, t), 1)
	return &ir.Place{Buf: q.buf, Terms: at.terms, Off: at.off + j*q.vec.unit, Stride: 1}
}

// packed makes the operands that were packed loads of what is kept, for an iteration of the innermost loop.
func (im *importer) packed(r *region, copies []*env) {
	p := im.at
	if p == nil || len(p.packs)+len(p.rowPacks) == 0 {
		return
	}
	i := slices.IndexFunc(p.sums, func(s *series) bool { return s.innermost() == r })
	if i < 0 {
		return
	}
	sum := p.sums[i]
	for i, e := range copies {
		im.env = e
		step := linear{}
		for i, c := range sum.loops {
			step = im.addLinear(im.timesLinear(step, c.trip()), im.linearOf(c.rng), 1)
			if i == 0 {
				step = im.addLinear(step, sum.from, -1)
			}
		}
		im.packedRows(e, sum, int64(i)/p.vec.live, step)
		if !e.vector {
			continue
		}
		for _, q := range p.packs {
			if q.series == sum {
				at := q.place(im, q.vec.number, step, int64(i)%q.vec.live)
				e.vals.set(q.u, im.Load(at, im.Lanes, nil))
			}
		}
	}
}
