package emit

import (
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
)

// bind says what the loops of an axis are in an environment: the iteration at.
func (a *tiling) bind(e *env, at linear) {
	if a.Inner == nil {
		e.linears.set(a.Region.Rng, at)
		return
	}
	outer := linear{off: at.off / a.Split, slow: 1, split: a.Split}
	for _, t := range at.terms {
		outer.terms = append(outer.terms, ir.Term{V: t.V, Coef: t.Coef / a.Split})
	}
	e.linears.set(a.Region.Rng, outer)
	e.linears.set(a.Inner.Rng, linear{lane: 1, slow: -a.Split, split: a.Split})
}

// spread is a load in which groups of lanes read one element, nil if the load has another form.
func (im *emitter) spread(t target, k ir.Kind) *ir.Value {
	l := im.linearOf(t.index)
	if l.slow == 0 || l.index != nil || t.gate != nil || k == ir.Bool {
		return nil
	}
	lanes := int64(im.Lanes)
	if tail := im.env.tail; tail != nil {
		lanes = ir.ConstInt(tail.Args[1])
	}
	pattern, ok := plan.Spreads(l.lane, l.slow, l.split, lanes, int64(im.Lanes))
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

// lanesUpTo is a mask of the first n lanes.
func (im *emitter) lanesUpTo(n int64) *ir.Value {
	return im.Do(ir.Less, ir.Bool, im.New(ir.Lane, ir.I32, im.Lanes, 0), im.Int(ir.I32, n))
}

// lanesFrom is a mask of the lanes from lane n on.
func (im *emitter) lanesFrom(n int64) *ir.Value {
	return im.Do(ir.Less, ir.Bool, im.Int(ir.I32, n-1), im.New(ir.Lane, ir.I32, im.Lanes, 0))
}
