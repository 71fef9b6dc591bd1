package nest

import (
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// Two loops may be one axis of vectors: where both lie side by side in memory, the inner one is too short to fill
// vectors. What depends on the outer one only, such as what belongs to all elements of a window, has each of its
// elements in several lanes; it is loaded once and spread in registers.

// paired makes one axis of two, the lanes of whose vectors are iterations of both: as many whole runs of the inner one as
// there is room for.
func (im *importer) paired(outer, inner *axis) *axis {
	lanes := int64(im.Lanes)
	return &axis{r: outer.r, inner: inner.r, split: inner.n, n: outer.n * inner.n, place: inner.place, jam: 1, unit: lanes - lanes%inner.n}
}

// pairCost is what the accesses of a leaf cost if the lanes of vectors are iterations of a pair.
func (im *importer) pairCost(acc []access, a *axis) float64 {
	outer, inner := im.slopes(a.r.rng), im.slopes(a.inner.rng)
	sum := 0.0
	for _, x := range acc {
		o, i := outer.of(x.u.Src[0]), inner.of(x.u.Src[0])
		both := slope{i.step, o.matters || i.matters, o.odd || i.odd || o.step != i.step*a.split}
		cost := costOf(both, x.u.Op)
		if both.odd && !o.odd && !i.odd && x.u.Op == uop.Load && len(x.u.Src[0].Src) == 2 && x.u.DType != uop.Bool {
			if _, ok := im.spreads(linear{lane: i.step, slow: o.step - i.step*a.split, split: a.split}, a.unit); ok {
				cost = costSpread
			}
		}
		sum += x.times * cost
	}
	return sum
}

// bestPair is the pair of axes that costs least, if that is less than best.
func (im *importer) bestPair(p *plan, acc []access, best float64) *axis {
	var found *axis
	lanes := int64(im.Lanes)
	for _, o := range p.axes {
		for _, i := range p.axes {
			if o == i || o.n < 2 || i.n < 2 || i.n > lanes/2 || !p.masks || !p.want.allows(knobVector, i) {
				continue
			}
			a := im.paired(o, i)
			vectors := (a.n + a.unit - 1) / a.unit
			if cost := im.pairCost(acc, a) * float64(vectors*lanes) / float64(a.n); cost < best {
				found, best = a, cost
			}
		}
	}
	return found
}

// bind says what the loops of an axis are in an environment: the iteration at.
func (a *axis) bind(e *env, at linear) {
	if a.inner == nil {
		e.linears.set(a.r.rng, at)
		return
	}
	outer := linear{off: at.off / a.split, slow: 1, split: a.split}
	for _, t := range at.terms {
		outer.terms = append(outer.terms, ir.Term{V: t.V, Coef: t.Coef / a.split})
	}
	e.linears.set(a.r.rng, outer)
	e.linears.set(a.inner.rng, linear{lane: 1, slow: -a.split, split: a.split})
}

// spreads is the lanes of one vector of neighbours that the first so many lanes of a linear form are, four bits for
// each; ok is false if they are in no such vector.
func (im *importer) spreads(l linear, lanes int64) (pattern uint64, ok bool) {
	for i := range lanes {
		at := l.lane*i + l.slow*(i/l.split)
		if at < 0 || at >= int64(im.Lanes) {
			return 0, false
		}
		pattern |= uint64(at) << (4 * i)
	}
	return pattern, true
}

// spread is a load of which several lanes are one element, nil if it is none.
func (im *importer) spread(t target, k ir.Kind) *ir.Value {
	l := im.linearOf(t.index)
	if l.slow == 0 || l.index != nil || t.gate != nil || k == ir.Bool {
		return nil
	}
	lanes := int64(im.Lanes)
	if tail := im.env.tail; tail != nil {
		lanes = ir.ConstInt(tail.Args[1])
	}
	pattern, ok := im.spreads(l, lanes)
	if !ok {
		return nil
	}
	last := uint64(0)
	for i := range lanes {
		last = max(last, pattern>>(4*i)&15)
	}
	at := &ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off, Stride: 1}
	if int(last)+1 < im.Lanes {
		at.Gate = im.lanesUpTo(int64(last) + 1)
	}
	v := im.LoadAs(k, at, im.Lanes, im.Splat(im.Constant(k, 0)))
	return im.New(ir.Spread, v.Kind, im.Lanes, pattern, v)
}

// lanesUpTo opens the first n lanes.
func (im *importer) lanesUpTo(n int64) *ir.Value {
	return im.Do(ir.Less, ir.Bool, im.New(ir.Lane, ir.I32, im.Lanes, 0), im.Int(ir.I32, n))
}
