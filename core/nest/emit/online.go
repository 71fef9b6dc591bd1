package emit

import (
	"math"
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/uop"
)

// onlineSoftmax emits the second product, with the first one and the softmax inside its loop, for the register tile of each lane. As long as all
// scores of a row are minus infinity, its exponentials are 0, so its result is NaN only if no score is greater.
func (im *emitter) onlineSoftmax(q *plan.OnlineSoftmax, copies []*env) {
	for _, b := range q.Unused {
		im.BeginReadOnly(b) // scores are not stored
		defer im.EndReadOnly(b)
	}
	results, sum := im.at, q.Product.Innermost()
	across := int(results.Workgroup.Across())
	rows := len(copies) / across
	lowest, zero := im.Splat(im.Float(ir.F32, math.Inf(-1))), im.Splat(im.Constant(ir.F32, 0))
	im.env = results.around
	count := im.Int(ir.I64, (q.Count+q.Wide-1)/q.Wide)
	if q.Blocks != nil {
		count = im.count(q.Blocks)
	}
	first := slices.Concat(slices.Repeat([]*ir.Value{lowest}, rows), slices.Repeat([]*ir.Value{zero}, rows), im.firstSums(sum, copies, 1, false))
	var phis []*ir.PhiVar
	im.Builder.Loop(sum.Label()+" columns", count, func(l *ir.Loop) {
		var now []*ir.Value
		for _, v := range first {
			p := im.Phi(l, v)
			phis, now = append(phis, p), append(now, p.V)
		}
		most, total, sums := now[:rows], now[rows:2*rows], now[2*rows:]
		scores, at := im.scores(q, results, l.Iter)
		wide := len(scores) / rows
		greatest := make([]*ir.Value, rows)
		for i := range greatest {
			greatest[i] = im.tree(ir.Max, ir.F32, scores[i*wide:(i+1)*wide])
		}
		greatest = im.alongRows(q, ir.Max, greatest)
		next := slices.Clone(now)
		for i := range rows {
			next[i] = im.ALU(ir.Max, ir.F32, most[i], greatest[i])
			max := im.ALU(ir.Where, ir.F32, im.ALU(ir.Equal, ir.Bool, next[i], lowest), zero, next[i])
			again := im.exp(q, results, most[i], max)
			exps := make([]*ir.Value, wide)
			for j := range exps {
				exps[j] = im.exp(q, results, scores[i*wide+j], max)
				scores[i*wide+j] = im.weighted(q, results, exps[j], at[i*wide+j], l.Iter)
			}
			next[rows+i] = im.ALU(ir.Add, ir.F32, im.ALU(ir.Mul, ir.F32, total[i], again), im.tree(ir.Add, ir.F32, exps))
			for j := range across {
				next[2*rows+i*across+j] = im.ALU(ir.Mul, ir.F32, sums[i*across+j], again)
			}
		}
		copy(next[2*rows:], im.addOnline(q, copies, scores, next[2*rows:], l.Iter))
		for i, p := range phis {
			p.Next = next[i]
		}
	})
	last := make([]*ir.Value, len(phis))
	for i, p := range phis {
		last[i] = im.Final(p)
	}
	total := im.alongRows(q, ir.Add, last[rows:2*rows])
	for i := range rows {
		d := newEnv(results.around)
		d.vector = true
		d.regs.set(q.Total, total[i])
		im.env = d
		for j := range across {
			v := &last[2*rows+i*across+j]
			for _, w := range q.RowWeights {
				*v = im.times(*v, w)
			}
		}
	}
	im.combine(sum, copies, 1, last[2*rows:], false, false)
}

// scores emits the scores of a step, row by row, and returns them with their environments. Scores beyond the edges are minus infinity.
func (im *emitter) scores(q *plan.OnlineSoftmax, results *openBand, step *ir.Value) (scores []*ir.Value, copies []*env) {
	p := &openBand{Band: q.Scores, tilings: map[*plan.Axis]*tiling{}}
	around := newEnv(results.around)
	for _, a := range p.Axes {
		p.tilings[a] = &tiling{Axis: a, vec: true, live: a.Units}
	}
	at := linear{terms: []ir.Term{{V: step, Coef: 1}}}
	if q.Blocks != nil {
		around.linears.set(q.Blocks.Rng, at)
	} else {
		p.at(p.Workgroup.Columns).base = im.timesLinear(at, q.Wide)
	}
	copies = im.copies(p, []*env{around})
	im.at = p
	for _, part := range p.Leaf.Parts {
		switch {
		case part.Sub != nil:
			im.loops(part.Sub, copies)
		case part.U.Op == uop.Store && analysis.IsRegister(part.U):
			for _, d := range copies {
				im.env = d
				im.effect(part.U)
			}
		}
	}
	lowest := im.Splat(im.Float(ir.F32, math.Inf(-1)))
	for _, d := range copies {
		im.env = d
		v := im.Splat(im.eval(q.Score))
		if d.tail != nil {
			v = im.ALU(ir.Where, ir.F32, d.tail, v, lowest)
		}
		scores = append(scores, v)
	}
	im.at = results
	return scores, copies
}

// exp is the exponential of a score minus the maximum of its row.
func (im *emitter) exp(q *plan.OnlineSoftmax, results *openBand, score, max *ir.Value) *ir.Value {
	d := newEnv(results.around)
	d.vector = true
	d.vals.set(q.Load, score)
	d.regs.set(q.Max, max)
	im.env = d
	return im.Splat(im.eval(q.Exp))
}

// weighted multiplies an exponential by its factors.
func (im *emitter) weighted(q *plan.OnlineSoftmax, results *openBand, v *ir.Value, score *env, step *ir.Value) *ir.Value {
	if len(q.Weights) == 0 {
		return v
	}
	d := newEnv(results.around)
	d.vector, d.tail = true, score.tail
	w := q.Scores.Workgroup
	row, _ := score.linear(w.Rows.Region.Rng)
	column, _ := score.linear(w.Columns.Region.Rng)
	d.linears.set(q.Row.Rng, row)
	if q.Blocks != nil {
		column = im.addLinear(column, linear{terms: []ir.Term{{V: step, Coef: q.Wide}}}, 1)
	}
	im.bindSteps(d, &plan.SumLoops{Loops: q.Columns}, column)
	im.env = d
	for _, w := range q.Weights {
		v = im.times(v, w)
	}
	return v
}

// times is a value times a factor.
func (im *emitter) times(v *ir.Value, w plan.Weight) *ir.Value {
	by := im.Splat(im.eval(w.U))
	switch {
	case by.Kind == ir.Bool:
		return im.ALU(ir.Where, v.Kind, by, v, im.Splat(im.Constant(v.Kind, 0)))
	case w.Divides:
		by = im.ALU(ir.Div, v.Kind, im.Constant(v.Kind, v.Kind.FloatBits(1)), by)
	}
	return im.ALU(ir.Mul, v.Kind, v, by)
}

// alongRows reduces a value of each row over the lanes of the row.
func (im *emitter) alongRows(q *plan.OnlineSoftmax, op ir.Op, values []*ir.Value) []*ir.Value {
	w := q.Scores.Workgroup
	down, across := w.Rows.Spread, w.Columns.Spread
	tile := w.Rows.Tile()
	row, column := im.laneAlong(down), im.laneAlong(across)
	im.Barrier()
	to := im.Do(ir.Add, ir.I32, im.timesInt(column, tile), im.timesInt(row, down.Adjacent))
	for i, v := range values {
		im.Store(&ir.Place{Buf: q.Exchange, Index: to, Off: down.First(int64(i))}, v)
	}
	im.Barrier()
	parts := make([][]*ir.Value, len(values))
	for x := range across.Lanes {
		for i := int64(0); i < int64(len(values)); i += 4 {
			v := im.LoadQuad(&ir.Place{Buf: q.Exchange, Index: row, Off: (x*tile + down.First(i)) / 4}, im.Lanes)
			for j := range int64(4) {
				parts[i+j] = append(parts[i+j], im.New(ir.QuadPart, v.Kind, v.Lanes, uint64(j), v))
			}
		}
	}
	out := make([]*ir.Value, len(values))
	for i, p := range parts {
		out[i] = im.tree(op, ir.F32, p)
	}
	return out
}

// addOnline adds the terms of a step to the sums, a few columns at a time: the exponentials and the other operand are stored to workgroup
// memory.
func (im *emitter) addOnline(q *plan.OnlineSoftmax, copies []*env, exps, values []*ir.Value, step *ir.Value) []*ir.Value {
	p := q.Product
	others := *p
	others.Operands = p.Operands[1:]
	w := q.Scores.Workgroup
	down, across := w.Rows.Spread, w.Columns.Spread
	row, column := im.timesInt(im.laneAlong(down), down.Adjacent), im.laneAlong(across)
	here := linear{terms: []ir.Term{{V: step, Coef: q.Wide}}}
	wide := int64(len(exps)) / w.Rows.Units
	var all *sums
	im.Builder.Loop(p.Innermost().Label()+" stages", im.Int(ir.I64, (q.Wide+p.Stage-1)/p.Stage), func(l *ir.Loop) {
		all = im.sumsFrom(l, p.Innermost(), copies, 1, values)
		from := linear{terms: []ir.Term{{V: l.Iter, Coef: p.Stage}}}
		loaded := im.loadStage(&others, func(d *env, step linear) {
			at := im.addLinear(from, step, 1)
			if q.Wide%p.Stage != 0 {
				at = im.clampPosition(at, q.Wide, im.Int(ir.I32, q.Wide))
			}
			if at = im.addLinear(here, at, 1); q.Count%q.Wide != 0 {
				at = im.clampPosition(at, q.Count, im.Int(ir.I32, q.Count))
			}
			im.bindSteps(d, p.SumLoops, at)
		})
		im.storeStage(&others, loaded, func() {
			// The columns of a stage are those of neighbouring lanes.
			stage := im.Splat(im.intCast(ir.I32, l.Iter))
			gate := im.Do(ir.Equal, ir.Bool, im.Do(ir.Shr, ir.I32, column, im.log2(p.Stage/across.Adjacent)), stage)
			at := im.Do(ir.Sub, ir.I32, im.timesInt(column, across.Adjacent), im.timesInt(stage, p.Stage))
			to := im.Do(ir.Add, ir.I32, im.timesInt(at, q.Exps.Row), row)
			for i, v := range exps {
				unit, row := int64(i)%wide, int64(i)/wide
				im.Store(&ir.Place{Buf: q.Exps.Buf, Index: to, Off: unit*q.Exps.Row + row, Gate: gate}, v)
			}
		})
		first := make([]*ir.Value, len(all.phis))
		for i, phi := range all.phis {
			first[i] = phi.V
		}
		for i, v := range im.addStage(p, copies, im.addLinear(here, from, 1), p.Stage, first) {
			all.phis[i].Next = v
		}
	})
	return all.finals()
}
