package emit

import (
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
)

// bind binds the loops of an axis to the iteration at.
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

// spread emits a load in which groups of lanes read the same element, or lanes read in reverse order, as a contiguous load and a
// permutation; nil for other loads.
func (im *emitter) spread(t target, k ir.Kind) *ir.Value {
	l := im.addressOf(t.index)
	if im.Machine.Invocations || l.index != nil || k == ir.Bool || l.slow == 0 && t.gate != nil {
		return nil
	}
	if l.slow == 0 {
		return im.reversedTail(t, k, l)
	}
	wanted := []uint64(nil) // the lanes whose gate is true, nil for all
	if t.gate != nil {
		if wanted = im.ConstLanes(im.eval(t.gate)); wanted == nil || im.env.rows != nil {
			return nil
		}
	}
	lanes := int64(im.Lanes)
	if tail := im.env.tail; tail != nil {
		lanes = ir.ConstInt(tail.Args[1])
	}
	if l.lane != 0 && l.slow+l.lane*l.split == 1 && l.split <= 4 && wanted == nil {
		return im.interleaved(t, k, l, lanes)
	}
	if l.from != 0 {
		return nil
	}
	pattern, ok := plan.Spreads(l.lane, l.slow, l.split, lanes, int64(im.Lanes))
	if !ok {
		return nil
	}
	first, last := int64(im.Lanes), int64(-1)
	for i := range lanes {
		if from := int64(pattern >> (4 * i) & 15); wanted == nil || wanted[i] != 0 {
			first, last = min(first, from), max(last, from)
		}
	}
	if last < 0 {
		return nil
	}
	at := &ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off, Stride: 1}
	if last+1 < int64(im.Lanes) {
		at.Gate = im.lanesUpTo(last + 1)
	}
	if first > 0 {
		at.Gate = im.andMasks(im.lanesFrom(first), at.Gate)
	}
	v := im.LoadAs(k, at, im.Lanes, im.Splat(im.Constant(k, 0)))
	return im.New(ir.Spread, v.Kind, im.Lanes, pattern, v)
}

// reversedTail emits a masked load in reverse order, at the end of an axis, as a contiguous load and a permutation; nil for other loads. A
// masked reversed load would be a gather.
func (im *emitter) reversedTail(t target, k ir.Kind, l linear) *ir.Value {
	tail := im.env.tail
	if l.lane != -1 || tail == nil || tail.Args[1].Op != ir.Const || im.env.rows != nil {
		return nil
	}
	n := ir.ConstInt(tail.Args[1])
	pattern := uint64(0)
	for i := range n {
		pattern |= uint64(n-1-i) << (4 * i)
	}
	at := &ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off - (n - 1), Stride: 1, Gate: im.lanesUpTo(n)}
	v := im.LoadAs(k, at, im.Lanes, im.Splat(im.Constant(k, 0)))
	return im.New(ir.Spread, v.Kind, im.Lanes, pattern, v)
}

// interleaved emits a load whose lanes alternate between several contiguous rows.
func (im *emitter) interleaved(t target, k ir.Kind, l linear, lanes int64) *ir.Value {
	var out *ir.Value
	turn := im.valueOf(linear{off: l.from, lane: 1, slow: -l.split, split: l.split, from: l.from}, ir.I32)
	for r := range l.split {
		first := (r - l.from + l.split) % l.split // lane of the row
		if first >= lanes {
			continue
		}
		at := &ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off + l.lane*(r-l.from) + (first+l.from)/l.split, Stride: 1}
		at.Gate = im.lanesUpTo((lanes - first + l.split - 1) / l.split)
		v := im.LoadAs(k, at, im.Lanes, im.Splat(im.Constant(k, 0)))
		pattern := uint64(0)
		for i := first; i < lanes; i += l.split {
			pattern |= uint64((i-first)/l.split) << (4 * i)
		}
		if v = im.New(ir.Spread, v.Kind, im.Lanes, pattern, v); out == nil {
			out = v
		} else {
			out = im.Do(ir.Where, v.Kind, im.Do(ir.Equal, ir.Bool, turn, im.Int(ir.I32, r)), v, out)
		}
	}
	return out
}

// andMasks is the conjunction of two masks; the second may be nil for all lanes.
func (im *emitter) andMasks(x, y *ir.Value) *ir.Value {
	if y == nil {
		return x
	}
	return im.ALU(ir.And, ir.Bool, x, y)
}

// lanesUpTo is a mask of the first n lanes.
func (im *emitter) lanesUpTo(n int64) *ir.Value {
	return im.Do(ir.Less, ir.Bool, im.New(ir.Lane, ir.I32, im.Lanes, 0), im.Int(ir.I32, n))
}

// lanesFrom is a mask of the lanes from lane n on.
func (im *emitter) lanesFrom(n int64) *ir.Value {
	return im.Do(ir.Less, ir.Bool, im.Int(ir.I32, n-1), im.New(ir.Lane, ir.I32, im.Lanes, 0))
}

// lanesWith is a mask of the lanes whose number has a bit, or has it not.
func (im *emitter) lanesWith(bit int64, set bool) *ir.Value {
	zero, found := im.Int(ir.I32, 0), im.Do(ir.And, ir.I32, im.New(ir.Lane, ir.I32, im.Lanes, 0), im.Int(ir.I32, bit))
	if set {
		return im.Do(ir.NotEqual, ir.Bool, found, zero)
	}
	return im.Do(ir.Equal, ir.Bool, found, zero)
}
