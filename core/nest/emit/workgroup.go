package emit

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
)

// bindSpread binds an axis that is distributed over lanes to unit i of the current tile.
func (im *emitter) bindSpread(d *env, a *tiling, i int64) {
	s := a.Spread
	at := a.base
	at.off += s.First(i)
	most := float64((s.Lanes - 1) * s.Adjacent)
	at = im.addLinear(at, linear{index: im.timesInt(im.laneAlong(s), s.Adjacent), high: most}, 1)
	d.vector = true
	if a.Dynamic || a.Count%a.Tile() != 0 {
		d.tail = im.andGates(d.tail, im.Do(ir.Less, ir.Bool, im.valueOf(at, ir.I32), im.Splat(im.intCast(ir.I32, im.count(a.Region)))))
	}
	a.bind(d, at)
}

// laneAlong is the position of each lane along an axis.
func (im *emitter) laneAlong(s *plan.Spread) *ir.Value {
	v := im.New(ir.Lane, ir.I32, im.Lanes, 0)
	if s.Stride > 1 {
		v = im.Do(ir.Shr, ir.I32, v, im.log2(s.Stride))
	}
	if s.Lanes*s.Stride < int64(im.Lanes) {
		v = im.Do(ir.And, ir.I32, v, im.Int(ir.I32, s.Lanes-1))
	}
	return v
}

// andGates is the conjunction of two gates, each nil for all lanes.
func (im *emitter) andGates(x, y *ir.Value) *ir.Value {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return im.ALU(ir.And, ir.Bool, im.Splat(x), im.Splat(y))
}

// log2 is the logarithm of a power of two.
func (im *emitter) log2(n int64) *ir.Value {
	bits := int64(0)
	for ; n > 1; n /= 2 {
		bits++
	}
	return im.Int(ir.I32, bits)
}

// unrolledSteps is the approximate number of multiply-adds of a lane in an iteration of the loop over the steps of a stage.
const unrolledSteps = 256

// inStages emits a sum with staged operands, for the register tile of each lane. Stages are not double-buffered: loading the next one into
// registers during the computation made no difference on an H200.
func (im *emitter) inStages(q *plan.StagedSum, copies []*env) {
	in := q.Innermost()
	values := im.firstSums(in, copies, 1, false)
	full, rest := q.Steps/q.Stage, q.Steps%q.Stage
	stage := func(from linear, steps int64) {
		im.storeStage(q, im.loadStage(q, func(d *env, step linear) {
			if steps < q.Stage {
				step = im.clampPosition(step, steps, im.Int(ir.I32, steps))
			}
			im.bindStaged(d, q, from, step)
		}), nil)
		values = im.addStage(q, copies, from, steps, values)
	}
	if full > 0 {
		var s *sums
		im.Builder.Loop(q.Loops[0].Label()+" stages", im.Int(ir.I64, full), func(l *ir.Loop) {
			s = im.sumsFrom(l, in, copies, 1, values)
			for i, phi := range s.phis {
				values[i] = phi.V
			}
			im.bindStage(q, l.Iter)
			stage(linear{terms: []ir.Term{{V: l.Iter, Coef: q.Stage}}}, q.Stage)
			for i, v := range values {
				s.phis[i].Next = v
			}
		})
		values = s.finals()
	}
	if rest > 0 {
		stage(linear{off: full * q.Stage}, rest)
	}
	im.combine(in, copies, 1, values, false, false)
}

// loadStage computes what each lane stages of the operands; bind binds the loops of the sum to a step of the stage.
func (im *emitter) loadStage(q *plan.StagedSum, bind func(d *env, step linear)) []*ir.Value {
	var out []*ir.Value
	for _, o := range q.Operands {
		a := im.at.at(o.Axis)
		for i := range im.stagedPerLane(q, o) {
			row, step, inside := im.stagedElement(q, o, i)
			d := newEnv(im.at.around)
			d.vector, d.tail = true, inside
			if outer := im.at.Workgroup.OuterColumns; outer != nil && a.Axis == im.at.Workgroup.Columns {
				// Columns are along two axes.
				v := im.valueOf(row, ir.I32)
				line := im.Do(ir.Shr, ir.I32, v, im.log2(a.Tile()))
				im.bindTile(d, im.at.at(outer), linear{index: line, high: float64(outer.Tile() - 1)})
				row = linear{index: im.Do(ir.And, ir.I32, v, im.Int(ir.I32, a.Tile()-1)), high: float64(a.Tile() - 1)}
			}
			im.bindTile(d, a, row)
			bind(d, step)
			im.env = d
			out = append(out, im.Splat(im.eval(o.U)))
		}
	}
	return out
}

// bindTile binds an axis to positions in the current tile.
func (im *emitter) bindTile(d *env, a *tiling, row linear) {
	at := im.addLinear(a.base, row, 1)
	if a.Dynamic || a.Count%a.Tile() != 0 {
		at = im.clampPosition(at, a.Count, im.intCast(ir.I32, im.count(a.Region)))
	}
	a.bind(d, at)
}

// clampPosition clamps a position of each lane to an axis of count iterations, whose upper bound is most: values loaded beyond an edge are not used,
// and conditional loads would run one after the other.
func (im *emitter) clampPosition(l linear, most int64, count *ir.Value) linear {
	v := im.Splat(im.valueOf(l, ir.I32))
	last := im.Splat(im.Do(ir.Sub, ir.I32, count, im.Int(ir.I32, 1)))
	return linear{index: im.Do(ir.Where, ir.I32, im.Do(ir.Less, ir.Bool, v, last), v, last), high: float64(most - 1)}
}

// storeStage stores the loaded elements to workgroup memory after a barrier; more, if not nil, stores further elements.
func (im *emitter) storeStage(q *plan.StagedSum, values []*ir.Value, more func()) {
	im.Barrier()
	if more != nil {
		more()
	}
	n := 0
	for _, o := range q.Operands {
		for i := range im.stagedPerLane(q, o) {
			row, step, inside := im.stagedElement(q, o, i)
			to := im.addLinear(im.timesLinear(step, o.Row), row, 1)
			im.Store(&ir.Place{Buf: o.Buf, Terms: to.terms, Off: to.off, Index: to.index, Gate: inside}, values[n])
			n++
		}
	}
	im.Barrier()
}

// stagedPerLane is the number of elements of an operand that a lane stages.
func (im *emitter) stagedPerLane(q *plan.StagedSum, o *plan.Staged) int64 {
	lanes := int64(im.Lanes)
	return (im.at.Workgroup.Tile(o.Axis)*q.Stage + lanes - 1) / lanes
}

// stagedElement is the row in the tile and the step in the stage of the i-th element that a lane stages; inside masks the lanes that have
// one, nil for all.
func (im *emitter) stagedElement(q *plan.StagedSum, o *plan.Staged, i int64) (row, step linear, inside *ir.Value) {
	lanes := int64(im.Lanes)
	lane := func(below, n int64) linear {
		return linear{index: im.laneAlong(&plan.Spread{Lanes: n, Stride: below}), high: float64(n - 1)}
	}
	fast, n := im.at.Workgroup.Tile(o.Axis), q.Stage
	if o.Along {
		fast, n = n, fast
	}
	var x, y linear // along the direction of neighbouring lanes, and across
	if fast <= lanes {
		below := min(lanes/fast, n)
		x, y = lane(1, fast), lane(fast, below)
		y.off = i * below
		if fast*n < lanes {
			inside = im.Do(ir.Less, ir.Bool, im.New(ir.Lane, ir.I32, im.Lanes, 0), im.Int(ir.I32, fast*n))
		}
	} else {
		x, y = lane(1, lanes), linear{off: i * lanes / fast}
		x.off = i * lanes % fast
	}
	if o.Along {
		return y, x, inside
	}
	return x, y, inside
}

// addStage adds a number of staged steps to accumulators.
func (im *emitter) addStage(q *plan.StagedSum, copies []*env, from linear, steps int64, values []*ir.Value) []*ir.Value {
	together := max(min(unrolledSteps/int64(len(copies)), steps), 1)
	done := int64(0)
	if n := steps / together; n > 1 {
		var s *sums
		im.Builder.Loop(q.Loops[0].Label()+" steps", im.Int(ir.I64, n), func(l *ir.Loop) {
			s = im.sumsFrom(l, q.Innermost(), copies, 1, values)
			for i := range together {
				im.stagedStep(s, q, from, linear{terms: []ir.Term{{V: l.Iter, Coef: together}}, off: i})
			}
		})
		values, done = s.finals(), n*together
	}
	if done == steps {
		return values
	}
	// The remainder is a loop of one iteration that continues the same accumulators.
	var s *sums
	im.Builder.Loop(q.Loops[0].Label()+" steps", im.Int(ir.I64, 1), func(l *ir.Loop) {
		s = im.sumsFrom(l, q.Innermost(), copies, 1, values)
		for i := done; i < steps; i++ {
			im.stagedStep(s, q, from, linear{off: i})
		}
	})
	return s.finals()
}

// stagedStep adds a step of a stage: the operands of the copies are read four at a time.
func (im *emitter) stagedStep(s *sums, q *plan.StagedSum, from, step linear) {
	w := im.at.Workgroup
	outer := im.env
	read := map[*plan.Staged][]*ir.Value{}
	for _, o := range q.Operands {
		sp, units := w.Spread(o.Axis), w.Across()
		if o.Axis == w.Rows {
			units = w.Rows.Units
		}
		for i := int64(0); i < units; i += sp.Adjacent {
			at := im.timesLinear(step, o.Row/4)
			at.off += sp.First(i) / 4
			v := im.LoadQuad(&ir.Place{Buf: o.Buf, Terms: at.terms, Off: at.off, Index: im.laneAlong(sp)}, im.Lanes)
			for j := range sp.Adjacent {
				read[o] = append(read[o], im.New(ir.QuadPart, v.Kind, v.Lanes, uint64(j), v))
			}
		}
	}
	copies := s.copies
	s.copies = inside(copies)
	for i, d := range s.copies {
		im.bindStaged(d, q, from, step)
		row, column := int64(i)/w.Across(), int64(i)%w.Across()
		for _, o := range q.Operands {
			unit := column
			if o.Axis == w.Rows {
				unit = row
			}
			d.vals.set(o.U, read[o][unit])
		}
	}
	im.env = outer
	at, _ := s.copies[0].linear(q.Innermost().Rng)
	s.step(0, at, nil, false)
	s.copies = copies
}

// bindStage computes the position of a stage: its first iteration of the loop of steps, and the iterations of the other loops.
func (im *emitter) bindStage(q *plan.StagedSum, number *ir.Value) {
	im.at.stage = nil
	if q.Inner == nil {
		return
	}
	im.at.stage = map[*analysis.Region]linear{}
	part := func(r *analysis.Region, n, times int64) {
		c := im.Int(ir.I64, n)
		im.at.stage[r] = im.scaled(im.Do(ir.Mod, ir.I64, number, c), times)
		number = im.Do(ir.Div, ir.I64, number, c)
	}
	part(q.Inner, q.Inner.Trip()/q.Stage, q.Stage)
	for _, r := range slices.Backward(q.Loops) {
		if r != q.Inner {
			part(r, r.Trip(), 1)
		}
	}
}

// bindStaged binds the loops of a sum to a step of the current stage.
func (im *emitter) bindStaged(d *env, q *plan.StagedSum, from, step linear) {
	if q.Inner == nil {
		im.bindSteps(d, q.SumLoops, im.addLinear(from, step, 1))
		return
	}
	for _, r := range q.Loops {
		at := im.at.stage[r]
		if r == q.Inner {
			at = im.addLinear(at, step, 1)
		}
		d.linears.set(r.Rng, at)
	}
}

// bindSteps binds the loops of a sum to a step.
func (im *emitter) bindSteps(d *env, sum *plan.SumLoops, step linear) {
	if len(sum.Loops) == 1 {
		d.linears.set(sum.Loops[0].Rng, step)
		return
	}
	at := im.valueOf(step, ir.I32)
	for i := len(sum.Loops) - 1; i >= 0; i-- {
		r, part := sum.Loops[i], at
		if n := im.Int(ir.I32, r.Trip()); i > 0 {
			part, at = im.Do(ir.Mod, ir.I32, at, n), im.Do(ir.Div, ir.I32, at, n)
		}
		if part.Lanes > 1 {
			d.linears.set(r.Rng, linear{index: part, high: float64(r.Trip() - 1)})
		} else {
			d.linears.set(r.Rng, linear{terms: []ir.Term{{V: im.intCast(ir.I64, part), Coef: 1}}})
		}
	}
}

// acrossLanes emits a sum whose steps are distributed cyclically over lanes, so that neighbouring lanes load adjacent elements.
func (im *emitter) acrossLanes(p *plan.Reduction, copies []*env) {
	sp, q := im.at.Split, p.Series
	in := q.Innermost()
	each, rest := q.Steps/sp.Lanes, q.Steps%sp.Lanes
	ways := max(min(p.Ways(int64(len(copies)), each), each), 1)
	lane := linear{index: im.laneAlong(sp), high: float64(sp.Lanes - 1)}
	step := func(s *sums, way int64, i linear, tail *ir.Value) {
		outer := s.copies
		s.copies = inside(outer)
		for _, d := range s.copies {
			im.bindSteps(d, q, im.addLinear(im.timesLinear(i, sp.Lanes), lane, 1))
		}
		at, _ := s.copies[0].linear(in.Rng)
		s.step(int(way), at, tail, true)
		s.copies = outer
	}
	var s *sums
	values := im.firstSums(in, copies, int(ways), true)
	if n := each / ways; n > 0 {
		im.Builder.Loop(q.Loops[0].Label(), im.Int(ir.I64, n), func(l *ir.Loop) {
			s = im.sumsFrom(l, in, copies, int(ways), values)
			for w := range ways {
				step(s, w, linear{terms: []ir.Term{{V: l.Iter, Coef: ways}}, off: w}, nil)
			}
		})
	}
	if left := each%ways + min(rest, 1); left > 0 {
		im.Builder.Loop(q.Loops[0].Label()+" rest", im.Int(ir.I64, 1), func(l *ir.Loop) {
			if s == nil {
				s = im.sumsFrom(l, in, copies, int(ways), values)
			} else {
				s = s.resume(l, int(min(left, ways)))
			}
			for w := range left {
				i := each/ways*ways + w
				var tail *ir.Value
				if i == each {
					tail = im.Do(ir.Less, ir.Bool, im.laneAlong(sp), im.Int(ir.I32, rest))
				}
				step(s, w%ways, linear{off: i}, tail)
			}
		})
	}
	im.combine(in, copies, int(ways), s.finals(), true, false)
}
