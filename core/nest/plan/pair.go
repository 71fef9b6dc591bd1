package plan

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/uop"
)

// Two loops may be fused into one vector axis where both are contiguous in memory and the inner one is too short to fill
// vectors. A value that depends on the outer loop only, such as one for all elements of a window, has each element in
// several lanes: it is loaded once and permuted in registers.

// paired fuses two axes into one vector axis: a vector has as many whole runs of the inner axis as fit.
func (pl *planner) paired(outer, inner *Axis) *Axis {
	lanes := int64(pl.Lanes)
	return &Axis{Region: outer.Region, Inner: inner.Region, Split: inner.Count, Count: outer.Count * inner.Count, Number: inner.Number, Units: 1, Unit: lanes - lanes%inner.Count}
}

// pairCost is the cost of the accesses of a leaf if a pair is vectorized.
func (pl *planner) pairCost(acc []analysis.Access, a *Axis) float64 {
	outer, inner := pl.Slopes(a.Region.Rng), pl.Slopes(a.Inner.Rng)
	sum := 0.0
	for _, x := range acc {
		o, i := outer.Of(x.U.Src[0]), inner.Of(x.U.Src[0])
		both := analysis.Slope{Step: i.Step, Depends: o.Depends || i.Depends, Irregular: o.Irregular || i.Irregular || o.Step != i.Step*a.Split}
		cost := costOf(both, x.U)
		if both.Irregular && !o.Irregular && !i.Irregular && x.U.Op == uop.Load && len(x.U.Src[0].Src) == 2 && x.U.DType != uop.Bool {
			if _, ok := Spreads(i.Step, o.Step-i.Step*a.Split, a.Split, a.Unit, int64(pl.Lanes)); ok {
				cost = costSpread
			}
		}
		sum += x.Times * cost
	}
	return sum
}

// bestPair is the cheapest pair of axes, with the arithmetic of a vector, if it costs less than best.
func (pl *planner) bestPair(p *Band, acc []analysis.Access, arithmetic, best float64) *Axis {
	var found *Axis
	lanes := int64(pl.Lanes)
	for _, o := range p.Axes {
		for _, i := range p.Axes {
			if o == i || o.Dynamic || i.Dynamic || o.Count < 2 || i.Count < 2 || i.Count > lanes/2 || !p.Masks || !p.want.allows(knobVectorAxis, i) {
				continue
			}
			a := pl.paired(o, i)
			vectors := (a.Count + a.Unit - 1) / a.Unit
			if cost := (pl.pairCost(acc, a) + arithmetic) * float64(vectors*lanes) / float64(a.Count); cost < best {
				found, best = a, cost
			}
		}
	}
	return found
}

// Spreads is the permutation, four bits per lane, that turns one contiguous vector into the first n lanes of an access that moves by step
// each lane and additionally by slow every split lanes; ok is false if the elements do not fit one vector.
func Spreads(step, slow, split, lanes, vector int64) (pattern uint64, ok bool) {
	for i := range lanes {
		at := step*i + slow*(i/split)
		if at < 0 || at >= vector {
			return 0, false
		}
		pattern |= uint64(at) << (4 * i)
	}
	return pattern, true
}
