package emit

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/uop"
)

// reduce emits a reduction loop for unrolled copies of the surrounding iteration.
func (im *emitter) reduce(r *analysis.Region, copies []*env) {
	switch n := im.planned.ReductionOf[r]; {
	case n.Form == plan.InStages:
		im.inStages(im.at.Workgroup.Of(r), copies)
	case n.Form == plan.InOnlineSoftmax:
		im.onlineSoftmax(im.planned.Online, copies)
	case n.Form == plan.AcrossLanes:
		im.acrossLanes(n, copies)
	case n.Form == plan.AroundVectors:
		im.aroundVectors(r, copies)
	case n.Form == plan.Sequential && n.FullyUnrolled(int64(len(copies))):
		im.unrollFully(r, copies)
	case n.Form == plan.Sequential:
		im.sequential(r, copies)
	case n.Form == plan.Along:
		im.vectorReduction(n, copies)
	case n.Form == plan.AlongUnknown:
		im.vectorReductionDynamic(n, copies)
	default:
		im.unrolled(n, copies)
	}
}

// vectorReductionDynamic vectorizes a loop whose trip count is known only at run time: whole iterations of all accumulators, then a masked
// one, or scalar ones on machines without masks.
func (im *emitter) vectorReductionDynamic(p *plan.Reduction, copies []*env) {
	r, lanes := p.Loop, p.Lanes
	ways := p.Ways(int64(len(copies)), -1)
	step := ways * lanes
	im.env = copies[0]
	n := im.count(r)
	count, left := im.divided(n, step)
	var s *sums
	im.Builder.Loop(r.Label(), count, func(l *ir.Loop) {
		s = im.newSums(l, r, copies, int(ways), true)
		s.vectors(p, ways)
	})
	done := im.scaled(count, step)
	if im.planned.Masks && p.Multiple%step != 0 {
		once := im.Do(ir.Cast, ir.I64, im.Do(ir.Less, ir.Bool, im.Int(ir.I64, 0), left))
		im.Builder.Loop(r.Label()+" rest", once, func(l *ir.Loop) {
			s = s.resume(l, int(ways))
			for w := range ways {
				s.step(int(w), im.addLinear(done, linear{off: w * lanes, lane: 1}, 1), im.lanesBelow(left, linear{off: w * lanes}), true)
			}
		})
	}
	s.finish(true)
	if !im.planned.Masks && p.Multiple%step != 0 {
		im.env = copies[0]
		im.scalarIterations(r, copies, left, done)
	}
}

// lanesBelow is a mask of the lanes whose iteration, start plus the lane, is below n.
func (im *emitter) lanesBelow(n *ir.Value, start linear) *ir.Value {
	left := im.Do(ir.Sub, ir.I64, n, im.valueOf(start, ir.I64))
	return im.Do(ir.Less, ir.Bool, im.New(ir.Lane, ir.I32, im.Lanes, 0), im.Splat(im.Do(ir.Cast, ir.I32, left)))
}

// sums are the accumulators of a loop, several for each register of each copy; they are combined after the loop.
type sums struct {
	im     *emitter
	r      *analysis.Region
	l      *ir.Loop
	copies []*env
	ways   int
	phis   []*ir.PhiVar
}

// newSums makes the phis of the accumulators, `ways` for each register.
func (im *emitter) newSums(l *ir.Loop, r *analysis.Region, copies []*env, ways int, vectors bool) *sums {
	return im.sumsFrom(l, r, copies, ways, im.firstSums(r, copies, ways, vectors))
}

// firstSums are the initial values of accumulators. Vectors begin with the neutral element in all lanes.
func (im *emitter) firstSums(r *analysis.Region, copies []*env, ways int, vectors bool) []*ir.Value {
	var out []*ir.Value
	for _, e := range copies {
		for w := range ways {
			for _, u := range r.Updates {
				init := im.register(e, u.Slot)
				if (w > 0 || vectors) && u.Op != ir.Max {
					init = im.neutral(u.Op, init.Kind)
				}
				if vectors || e.vector {
					init = im.Splat(init)
				}
				out = append(out, init)
			}
		}
	}
	return out
}

// sumsFrom makes the phis of accumulators with the given initial values.
func (im *emitter) sumsFrom(l *ir.Loop, r *analysis.Region, copies []*env, ways int, first []*ir.Value) *sums {
	s := &sums{im: im, r: r, l: l, copies: copies, ways: ways}
	for _, init := range first {
		s.phis = append(s.phis, im.Phi(l, init))
	}
	return s
}

// resume continues the first ways of the accumulators in another loop, from their final values.
func (s *sums) resume(l *ir.Loop, ways int) *sums {
	next := *s
	next.l, next.phis = l, slices.Clone(s.phis)
	for i, p := range s.phis {
		if i/len(s.r.Updates)%s.ways < ways {
			next.phis[i] = s.im.Phi(l, s.im.Final(p))
		}
	}
	return &next
}

func (s *sums) phi(copy, way, update int) *ir.PhiVar {
	return s.phis[(copy*s.ways+way)*len(s.r.Updates)+update]
}

// step emits one iteration of one accumulator of each register, with the range bound to at; lanes that tail masks off add nothing, and are
// not loaded on machines with masks.
func (s *sums) step(way int, at linear, tail *ir.Value, vectors bool) {
	im := s.im
	inner := make([]*env, len(s.copies))
	for i, e := range s.copies {
		d := newEnv(e)
		d.linears.set(s.r.Rng, at)
		d.vector = d.vector || vectors
		if vectors && im.planned.Masks {
			d.tail = im.andGates(d.tail, tail)
		}
		for j, u := range s.r.Updates {
			p := s.phi(i, way, j)
			d.regs.set(u.Slot, p.V)
			if p.Next != nil {
				d.regs.set(u.Slot, p.Next)
			}
		}
		inner[i] = d
	}
	before := make([]*ir.Value, 0, len(s.phis))
	for _, d := range inner {
		for _, u := range s.r.Updates {
			before = append(before, d.own(u.Slot))
		}
	}
	im.packed(s.r, inner)
	im.body(s.r, inner)
	for i, d := range inner {
		for j, u := range s.r.Updates {
			p := s.phi(i, way, j)
			next := im.fused(im.sameLanes(p, d.own(u.Slot)), before[i*len(s.r.Updates)+j])
			if tail != nil {
				next = im.ALU(ir.Where, p.V.Kind, tail, next, before[i*len(s.r.Updates)+j])
			}
			p.Next = next
		}
	}
}

// vectors emits an iteration of a vectorized loop: a step of each accumulator, after the prefetches for a later iteration.
func (s *sums) vectors(p *plan.Reduction, ways int64) {
	at := func(way int64) linear {
		return linear{terms: []ir.Term{{V: s.l.Iter, Coef: ways * p.Lanes}}, off: way * p.Lanes, lane: 1}
	}
	if s.im.planned.PrefetchesBy(plan.Stream, s.r) != nil {
		var inner []*env
		for _, e := range s.copies {
			for w := range ways {
				d := newEnv(e)
				d.linears.set(s.r.Rng, at(w))
				inner = append(inner, d)
			}
		}
		s.im.prefetch(s.r, plan.Stream, inner)
	}
	for w := range ways {
		s.step(int(w), at(w), nil, true)
	}
}

// fused emits a sum with a fused multiply-add for each product among its terms, if the machine has it.
func (im *emitter) fused(v, sum *ir.Value) *ir.Value {
	if !im.Machine.FMA || v.Op != ir.Add || v.Kind != ir.F32 && v.Kind != ir.F64 {
		return v
	}
	for i, a := range v.Args {
		if adds(a, sum) {
			return im.accumulateTerm(im.fused(a, sum), v.Args[1-i])
		}
	}
	return v
}

// adds reports whether a value is sum, or adds other terms to it.
func adds(v, sum *ir.Value) bool {
	return v == sum || v.Op == ir.Add && (adds(v.Args[0], sum) || adds(v.Args[1], sum))
}

// accumulateTerm adds a term to a sum: products by fused multiply-add, sums of products term by term.
func (im *emitter) accumulateTerm(sum, term *ir.Value) *ir.Value {
	switch {
	case term.Op == ir.Mul:
		return im.New(ir.FMA, term.Kind, term.Lanes, 0, term.Args[0], term.Args[1], sum)
	case term.Op == ir.Add && hasProduct(term):
		return im.accumulateTerm(im.accumulateTerm(sum, term.Args[0]), term.Args[1])
	}
	return im.ALU(ir.Add, sum.Kind, sum, term)
}

// hasProduct reports whether a sum has a product among its terms.
func hasProduct(v *ir.Value) bool {
	return v.Op == ir.Mul || v.Op == ir.Add && (hasProduct(v.Args[0]) || hasProduct(v.Args[1]))
}

// finals are the values of the accumulators after the loop.
func (s *sums) finals() []*ir.Value {
	out := make([]*ir.Value, len(s.phis))
	for i, p := range s.phis {
		out[i] = s.im.Final(p)
	}
	return out
}

// finish combines the accumulators and binds the registers to the results.
func (s *sums) finish(vectors bool) {
	s.im.combine(s.r, s.copies, s.ways, s.finals(), vectors, false)
}

// combine combines the values of accumulators and binds the registers to the results. apart: the registers hold partial results of scalar iterations,
// which are combined with them.
func (im *emitter) combine(r *analysis.Region, copies []*env, ways int, values []*ir.Value, vectors, apart bool) {
	for i, e := range copies {
		for j, u := range r.Updates {
			parts := make([]*ir.Value, ways)
			for w := range parts {
				parts[w] = values[(i*ways+w)*len(r.Updates)+j]
			}
			// Results wrap as the register does: the kind of a value may be that of a machine register, which is wider.
			k := analysis.KindFor(u.Slot.Reg.DType.Base())
			v := im.tree(u.Op, k, parts)
			if vectors {
				wide := ir.Arithmetic(k)
				lanes, left := 1, uint64(0)
				if im.at != nil && im.at.Split != nil {
					lanes, left = im.Lanes, uint64(im.at.Split.Stride)
				}
				v = im.New(lanesOp[u.Op], wide, lanes, left, im.ALU(ir.Cast, wide, v))
				if u.Op != ir.Max || apart {
					v = im.ALU(u.Op, k, im.register(e, u.Slot), v)
				}
			}
			e.regs.set(u.Slot, v)
		}
	}
}

var lanesOp = map[ir.Op]ir.Op{ir.Add: ir.Sum, ir.Mul: ir.Product, ir.Max: ir.MaxLanes, ir.And: ir.AndAll, ir.Or: ir.OrAll, ir.Xor: ir.XorAll}

// tree reduces values pairwise, as a balanced tree.
func (im *emitter) tree(op ir.Op, k ir.Kind, vs []*ir.Value) *ir.Value {
	if len(vs) == 1 {
		return vs[0]
	}
	mid := (len(vs) + 1) / 2
	return im.ALU(op, k, im.tree(op, k, vs[:mid]), im.tree(op, k, vs[mid:]))
}

// neutral is the neutral element of an operation.
func (im *emitter) neutral(op ir.Op, k ir.Kind) *ir.Value {
	switch op {
	case ir.Mul:
		return im.Constant(k, k.Bits(uop.Int(1)))
	case ir.And:
		return im.Constant(k, k.Bits(uop.Int(-1)))
	}
	return im.Constant(k, 0)
}

// vectorReduction vectorizes a reduction loop.
func (im *emitter) vectorReduction(p *plan.Reduction, copies []*env) {
	if w := im.widthOf(p, copies); w.vectors() > 0 {
		last := im.vectorIterations(p, w, copies, im.firstSums(p.Loop, copies, int(w.ways), true))
		im.combine(p.Loop, copies, int(w.ways), last, true, false)
	}
	im.vectorRemainder(p, copies)
}

// width splits the iterations of a vectorized loop: full iterations of all accumulators, rest vectors, then scalar iterations from done on.
type width struct{ ways, full, rest, done int64 }

func (w width) vectors() int64 { return w.full*w.ways + w.rest }

func (im *emitter) widthOf(p *plan.Reduction, copies []*env) width {
	n, lanes := p.Loop.Trip(), p.Lanes
	w := width{ways: p.Ways(int64(len(copies)), n)}
	w.full = n / (w.ways * lanes)
	w.rest = n % (w.ways * lanes) / lanes
	if p.Held {
		w.full, w.rest = 0, n/lanes
	}
	if n%lanes > 0 && (im.planned.Masks || n > lanes) {
		w.rest++
	}
	if w.full == 0 && w.rest > 0 {
		w.ways = min(w.ways, w.rest)
	}
	w.done = min(w.vectors()*lanes, n)
	return w
}

// vectorIterations emits the vectors of a loop, whose accumulators have the given initial values, and returns the final values.
func (im *emitter) vectorIterations(p *plan.Reduction, w width, copies []*env, values []*ir.Value) []*ir.Value {
	r, lanes := p.Loop, p.Lanes
	step := w.ways * lanes
	var s *sums
	if w.full > 0 {
		im.Builder.Loop(r.Label(), im.Int(ir.I64, w.full), func(l *ir.Loop) {
			s = im.sumsFrom(l, r, copies, int(w.ways), values)
			s.vectors(p, w.ways)
		})
	}
	if w.rest > 0 {
		// The remainder is a loop of one iteration that continues the same accumulators.
		im.Builder.Loop(r.Label()+" rest", im.Int(ir.I64, 1), func(l *ir.Loop) {
			if s == nil {
				s = im.sumsFrom(l, r, copies, int(w.ways), values)
			} else {
				s = s.resume(l, int(w.rest))
			}
			for i := range w.rest {
				from := w.full*step + i*lanes
				var tail *ir.Value
				switch left := r.Trip() - from; {
				case left >= lanes:
				case im.planned.Masks:
					tail = im.lanesUpTo(left)
				default: // the last vector overlaps the one before
					from, tail = r.Trip()-lanes, im.lanesFrom(lanes-left)
				}
				s.step(int(i)%s.ways, linear{off: from, lane: 1}, tail, true)
			}
		})
	}
	return s.finals()
}

// vectorRemainder emits the scalar iterations behind the vectors of a loop.
func (im *emitter) vectorRemainder(p *plan.Reduction, copies []*env) {
	if done, n := im.widthOf(p, copies).done, p.Loop.Trip(); done < n {
		im.scalarRange(p.Loop, copies, span{linear{off: done}, n - done})
	}
}

// aroundVectors emits a loop around a vectorized one: the accumulators stay vectors until the outer loop ends.
func (im *emitter) aroundVectors(r *analysis.Region, copies []*env) {
	p := im.planned.ReductionOf[r.Innermost()]
	w := im.widthOf(p, copies)
	last := im.accumulate(p, w, r, copies, im.firstSums(p.Loop, copies, int(w.ways), true))
	im.combine(p.Loop, copies, int(w.ways), last, true, w.done < p.Loop.Trip())
}

// accumulate emits a loop and its inner loops down to a vectorized one; it returns the final accumulators.
func (im *emitter) accumulate(p *plan.Reduction, w width, r *analysis.Region, copies []*env, values []*ir.Value) []*ir.Value {
	for _, b := range im.beginReadOnly(r) {
		defer im.EndReadOnly(b)
	}
	if r == p.Loop {
		values = im.vectorIterations(p, w, copies, values)
		im.vectorRemainder(p, copies)
		return values
	}
	var s *sums
	im.Builder.Loop(r.Label(), im.Int(ir.I64, r.Trip()), func(l *ir.Loop) {
		s = im.sumsFrom(l, p.Loop, copies, int(w.ways), values)
		body := func(inner []*env) {
			for _, e := range inner {
				e.linears.set(r.Rng, linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}})
			}
			next := make([]*ir.Value, len(s.phis))
			for i, phi := range s.phis {
				next[i] = phi.V
			}
			for _, part := range r.Parts {
				if part.Sub != nil {
					next = im.accumulate(p, w, part.Sub, inner, next)
				}
			}
			for i, phi := range s.phis {
				phi.Next = next[i]
			}
		}
		if w.done < p.Loop.Trip() {
			im.carried(l, r, copies, body) // the registers accumulate the scalar iterations
		} else {
			body(inside(copies))
		}
	})
	return s.finals()
}

// scalarRange emits a scalar loop over part of a range.
func (im *emitter) scalarRange(r *analysis.Region, copies []*env, part span) {
	im.scalarIterations(r, copies, im.Int(ir.I64, part.n), part.from)
}

// scalarIterations emits a scalar loop over a number of iterations of a range, from a given one on.
func (im *emitter) scalarIterations(r *analysis.Region, copies []*env, count *ir.Value, from linear) {
	var s *sums
	im.Builder.Loop(r.Label(), count, func(l *ir.Loop) {
		s = im.newSums(l, r, copies, 1, false)
		s.step(0, im.addLinear(from, linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}, 1), nil, false)
	})
	s.finish(false)
}

// unrolled emits a loop unrolled by the number of ways, so that enough independent accumulators hide the latency, and by the
// number of rounds.
func (im *emitter) unrolled(p *plan.Reduction, copies []*env) {
	r := p.Loop
	all := im.span(r)
	n, rest := all.n, int64(0)
	ways := p.Ways(int64(len(copies)), n)
	steps := ways * p.Rounds(int64(len(copies)), ways, max(n/ways, -1))
	var count *ir.Value
	if n < 0 {
		im.env = copies[0]
		count = im.Do(ir.Div, ir.I64, im.count(r), im.Int(ir.I64, steps))
	} else {
		count, rest = im.Int(ir.I64, n/steps), n%steps
	}
	if n < 0 || n >= steps {
		var s *sums
		im.Builder.Loop(r.Label(), count, func(l *ir.Loop) {
			s = im.newSums(l, r, copies, int(ways), false)
			for w := range steps {
				s.step(int(w%ways), im.addLinear(all.from, linear{terms: []ir.Term{{V: l.Iter, Coef: steps}}, off: w}, 1), nil, false)
			}
		})
		s.finish(false)
	}
	if rest > 0 {
		im.scalarRange(r, copies, span{im.addLinear(all.from, linear{off: n - rest}, 1), rest})
	}
}
