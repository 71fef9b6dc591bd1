package emit

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
)

// fillPacks packs the operands that are packed before a level.
func (im *emitter) fillPacks(p *openBand, level int, e *env) {
	done := map[*plan.Axis]bool{}
	for _, q := range p.Packs {
		// Remaining lanes of machines without masks run scalar.
		if q.At == level && !done[q.Axis] && p.at(p.Vec).vec {
			done[q.Axis] = true
			im.fillTiles(p, q, e)
		}
	}
}

// fillTiles packs, for the tiles of the axis of a pack, all operands of that axis.
func (im *emitter) fillTiles(p *openBand, of *plan.Pack, e *env) {
	a, vec := p.at(of.Axis), p.at(p.Vec)
	fill := func(tile linear, base linear, live int64, last *ir.Value) {
		copies := inside([]*env{e})
		if a != vec {
			copies = rowsOf(copies, a, base, live)
			base, live, last = vec.base, vec.live, vec.last
		}
		copies = vectorsOf(copies, vec, base, live, last)
		for _, sum := range p.Sums {
			packs := slices.DeleteFunc(p.PacksOf(sum), func(q *plan.Pack) bool { return q.Axis != of.Axis })
			if len(packs) > 0 {
				im.fillSum(p, packs, sum, copies, tile)
			}
		}
	}
	if of.OneTile {
		fill(linear{}, a.base, a.live, a.last)
		return
	}
	w := a.win
	if a.Full() > 0 {
		im.Builder.Loop(a.Region.Label()+" pack", w.count, func(l *ir.Loop) {
			base := im.addLinear(im.scaled(w.lo, a.Tile()), linear{terms: []ir.Term{{V: l.Iter, Coef: a.Tile()}}}, 1)
			fill(linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}, base, a.Units, nil)
		})
	}
	if a.Rest() == 0 {
		return
	}
	im.emitIf(a.Region.Label()+" pack rest", w.tail, func() {
		base := linear{off: a.Full() * a.Tile()}
		n := a.Rest()
		var last *ir.Value
		switch lanes := n % a.Unit; {
		case lanes == 0:
		case p.Masks:
			last = im.lanesUpTo(lanes)
		case a.Overlaps:
			a.back = a.Unit - lanes
		default:
			n -= lanes
		}
		if n > 0 {
			fill(im.scaled(w.count, 1), base, (n+a.Unit-1)/a.Unit, last)
		}
		a.back = 0
	})
}

// rowsOf binds copies of environments to the iterations of a tile.
func rowsOf(es []*env, a *tiling, base linear, live int64) (copies []*env) {
	for _, e := range es {
		for j := range live {
			d, at := newEnv(e), base
			at.off += j
			d.linears.set(a.Region.Rng, at)
			copies = append(copies, d)
		}
	}
	return copies
}

// vectorsOf binds copies of environments to the vectors of a tile; last masks the last one, nil for whole vectors.
func vectorsOf(es []*env, a *tiling, base linear, live int64, last *ir.Value) (copies []*env) {
	for _, e := range es {
		for j := range live {
			d, at := newEnv(e), base
			at.off += j * a.Unit
			at.lane = 1
			if j == live-1 {
				at.off -= a.back
				d.tail = last
			}
			d.linears.set(a.Region.Rng, at)
			d.vector = true
			copies = append(copies, d)
		}
	}
	return copies
}

// fillSum packs the operands of a reduction for one tile.
func (im *emitter) fillSum(p *openBand, packs []*plan.Pack, sum *plan.SumLoops, copies []*env, tile linear) {
	if !sum.OneLoop {
		im.fillTile(p, packs, sum, 0, span{p.part.from, p.trip(sum, 0)}, copies, tile, linear{})
		return
	}
	// Loops whose packed loads have a single stride are collapsed into one.
	last := len(sum.Loops) - 1
	inner := make([]*env, len(copies))
	for i, e := range copies {
		inner[i] = newEnv(e)
		for _, r := range sum.Loops[:last] {
			inner[i].linears.set(r.Rng, linear{})
		}
	}
	each := int64(1) // steps of an iteration of the outermost loop
	for i := 1; i <= last; i++ {
		each *= p.trip(sum, i)
	}
	im.fillTile(p, packs, sum, last, span{im.timesLinear(p.part.from, each), p.trip(sum, 0) * each}, inner, tile, linear{})
}

// span is an interval of iterations of a loop.
type span struct {
	from linear
	n    int64
}

// fillTile emits the loops of a sum, from loop i on and over a span of it, around the computation of the packed vectors of one tile. The
// innermost loop is unrolled by the number of lanes, so that vectors can be transposed in registers.
func (im *emitter) fillTile(p *openBand, packs []*plan.Pack, sum *plan.SumLoops, depth int, s span, copies []*env, tile, step linear) {
	r, side, n := sum.Loops[depth], int64(1), s.n
	innermost := depth == len(sum.Loops)-1
	if innermost && n >= int64(im.Lanes) {
		side = int64(im.Lanes)
	}
	part := func(from, count, side int64) {
		if count == 0 {
			return
		}
		im.Builder.Loop(r.Label()+" pack", im.Int(ir.I64, count), func(l *ir.Loop) {
			steps := make([]packStep, side)
			for i := range steps {
				at := linear{terms: []ir.Term{{V: l.Iter, Coef: side}}, off: from + int64(i)}
				iteration := im.addLinear(s.from, at, 1)
				inner := make([]*env, len(copies))
				for j, e := range copies {
					inner[j] = newEnv(e)
					inner[j].linears.set(r.Rng, iteration)
					if side > 1 {
						inner[j].transpose = &transposeLoop{r.Rng, int64(i)}
					}
				}
				steps[i] = packStep{inner, im.addLinear(im.timesLinear(step, n), at, 1)}
			}
			if !innermost {
				im.fillTile(p, packs, sum, depth+1, span{n: p.trip(sum, depth+1)}, steps[0].copies, tile, steps[0].number)
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

// fillSteps stores several steps of the packs, unit by unit, so that a transposed square is stored before the next one is loaded.
func (im *emitter) fillSteps(packs []*plan.Pack, tile linear, steps []packStep) {
	for _, q := range packs {
		for j := range steps[0].copies {
			for _, s := range steps {
				im.env = s.copies[j]
				im.Store(im.packPlace(q, tile, s.number, int64(j)), im.Splat(im.eval(q.U)))
			}
		}
	}
}

// packPlace is the place of vector j of a step of a tile.
func (im *emitter) packPlace(q *plan.Pack, tile, step linear, j int64) *ir.Place {
	at := im.addLinear(im.timesLinear(tile, q.Sum.Steps*q.Width), im.timesLinear(step, q.Width), 1)
	return &ir.Place{Buf: q.Buf, Terms: at.terms, Off: at.off + j*int64(im.Lanes), Stride: 1}
}

// packed replaces packed operands by loads from the pack, for an iteration of the innermost loop.
func (im *emitter) packed(r *analysis.Region, copies []*env) {
	p := im.at
	if p == nil || len(p.Packs)+len(p.RowPacks) == 0 {
		return
	}
	i := slices.IndexFunc(p.Sums, func(s *plan.SumLoops) bool { return s.Innermost() == r })
	if i < 0 {
		return
	}
	sum := p.Sums[i]
	for i, e := range copies {
		im.env = e
		step := linear{}
		for i, c := range sum.Loops {
			step = im.addLinear(im.timesLinear(step, c.Trip()), im.linearOf(c.Rng), 1)
			if i == 0 {
				step = im.addLinear(step, p.part.from, -1)
			}
		}
		im.packedRows(e, sum, int64(i)/p.at(p.Vec).live, step)
		if !e.vector {
			continue
		}
		for _, q := range p.Packs {
			if q.Sum != sum {
				continue
			}
			tile := p.at(q.Axis).number
			if q.OneTile {
				tile = linear{}
			}
			j := p.unit(q.Axis, int64(i))
			if q.Axis != p.Vec {
				j = j*p.at(p.Vec).live + p.unit(p.Vec, int64(i))
			}
			e.vals.set(q.U, im.Load(im.packPlace(q, tile, step, j), im.Lanes, nil))
		}
	}
}

// unit is the number of the unit of an axis in a copy of the leaf.
func (p *openBand) unit(of *plan.Axis, i int64) int64 {
	for _, a := range slices.Backward(p.Axes) {
		if a.Plain() {
			continue
		}
		if n := p.at(a).live; a != of {
			i /= n
		} else {
			return i % n
		}
	}
	return 0
}
