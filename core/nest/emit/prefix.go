package emit

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/uop"
)

// prefix are running reductions whose steps are the lanes of vectors.
type prefix struct {
	updates []*analysis.Update
	// descending: the first step is in the last lane.
	descending bool
}

// prefixes emits a loop of running reductions, a vector of steps at a time: the lanes of a vector are combined with the lanes before them in
// log2(lanes) rounds, each of which combines the second half of a group with the last lane of the first half (Sklansky, 1960): the first rounds stay
// within 16 bytes, which processors permute faster. Then the result of the previous vector is combined with all lanes. Steps behind the last whole
// vector are masked, or done one by one.
func (im *emitter) prefixes(a *plan.Axis, copies []*env) {
	r, lanes := a.Region, int64(im.Lanes)
	updates, _ := r.Prefixes()
	p := &prefix{updates, a.Descending}
	all := im.span(r)
	vectors, rest := all.n/lanes, all.n%lanes
	im.Builder.Loop(r.Label()+" vectors", im.Int(ir.I64, vectors), func(l *ir.Loop) {
		vector := make([]*env, len(copies))
		for i, e := range copies {
			vector[i] = newEnv(e)
			vector[i].vector = true
		}
		im.carried(l, r, vector, func(inner []*env) {
			im.steps(p, r, inner, im.addLinear(all.from, linear{terms: []ir.Term{{V: l.Iter, Coef: lanes}}}, 1), nil)
			for _, e := range inner {
				for _, u := range updates {
					v := e.own(u.Slot)
					e.regs.set(u.Slot, im.New(ir.Spread, v.Kind, im.Lanes, p.lastStep(im.Lanes)*0x1111111111111111, v))
				}
			}
		})
		for i, e := range copies {
			for _, u := range updates {
				v := vector[i].own(u.Slot)
				e.regs.set(u.Slot, im.New(ir.Extract, v.Kind, 1, 0, v))
			}
		}
	})
	behind := im.addLinear(all.from, linear{off: vectors * lanes}, 1)
	switch {
	case rest == 0:
	case !im.planned.Masks:
		im.env = copies[0]
		im.sequentialIterations(r, copies, behind, im.Int(ir.I64, rest))
	default:
		tail := im.lanesUpTo(rest)
		if p.descending {
			tail = im.lanesFrom(lanes - rest)
		}
		inner := make([]*env, len(copies))
		for i, e := range copies {
			inner[i] = newEnv(e)
		}
		im.steps(p, r, inner, behind, tail)
	}
}

// steps emits a vector of steps of each copy, from an iteration on; lanes that tail masks are left out.
func (im *emitter) steps(p *prefix, r *analysis.Region, copies []*env, from linear, tail *ir.Value) {
	at := linear{lane: 1}
	if p.descending {
		at = linear{off: int64(im.Lanes) - 1, lane: -1}
	}
	for _, e := range copies {
		e.vector, e.prefix, e.tail = true, p, tail
		e.linears.set(r.Rng, im.addLinear(from, at, 1))
	}
	im.body(r, copies)
}

// lastStep is the lane of the last step of a vector.
func (p *prefix) lastStep(lanes int) uint64 {
	if p.descending {
		return 0
	}
	return uint64(lanes - 1)
}

// earlier returns the vector that a round of a running sum adds: each lane within 16 bytes gets the lane at distance half before it (Kogge and Stone,
// 1973), the second half of 32 bytes the last lane of the first half. Lanes that nothing is added to get zero, so that no mask is needed. It is nil
// for rounds of other widths. A zero added to -0 is harmless, since running sums start from +0.
func (im *emitter) earlier(v *ir.Value, half int64, descending bool) *ir.Value {
	bytes := half * v.Kind.Width()
	if bytes > 16 || bytes == 16 && 2*half != int64(im.Lanes) {
		return nil
	}
	if bytes == 16 {
		pattern := uint64(0)
		for lane := range int64(im.Lanes) {
			last := lane &^ (half - 1)
			if !descending {
				last += half - 1
			}
			pattern |= uint64(last) << (4 * lane)
		}
		v = im.New(ir.Spread, v.Kind, im.Lanes, pattern, v)
	}
	if descending {
		half = -half
	}
	return im.New(ir.ShiftLanes, v.Kind, im.Lanes, uint64(half), v)
}

// running is the value of the register of a running reduction after each of the steps of a vector.
func (im *emitter) running(p *prefix, st *uop.UOp) *ir.Value {
	for _, u := range p.updates {
		if !u.Stores(st) {
			continue
		}
		k := analysis.KindFor(u.Slot.Reg.DType.Base())
		v := im.eval(u.Terms[0])
		for _, t := range u.Terms[1:] {
			v = im.ALU(u.Op, k, im.eval(t), v)
		}
		v = im.Splat(v)
		for half := int64(1); half < int64(im.Lanes); half *= 2 {
			if u.Op == ir.Add {
				if earlier := im.earlier(v, half, p.descending); earlier != nil {
					v = im.ALU(u.Op, k, earlier, v)
					continue
				}
			}
			pattern := uint64(0)
			for lane := range int64(im.Lanes) {
				from, first := lane, lane&^(2*half-1)
				switch {
				case p.descending && lane&half == 0:
					from = first + half
				case !p.descending && lane&half != 0:
					from = first + half - 1
				}
				pattern |= uint64(from) << (4 * lane)
			}
			next := im.ALU(u.Op, k, im.New(ir.Spread, v.Kind, im.Lanes, pattern, v), v)
			if u.Op != ir.Max { // lanes that keep their value are combined with themselves, which changes no maximum
				next = im.Where(v.Kind, im.lanesWith(half, !p.descending), next, v)
			}
			v = next
		}
		return im.ALU(u.Op, k, im.register(im.env, u.Slot), v)
	}
	ir.Fail("a register of a running reduction is stored to by something else")
	return nil
}
